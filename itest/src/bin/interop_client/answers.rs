//! Messages and their answers: parts there and back, blocking and streamed.

use llamon_agent::a2a::TaskState;
use llamon_agent::client::{Outgoing, Reply};
use llamon_agent::core::Part;

use crate::peer::{Outcome, Peer, said, same, same_data, same_files};

/// As many chunks as the agent sends for `burst`.
const BURST: usize = 1_000;

const NESTED: &str = r#"{"order":{"items":[{"sku":"a-1","n":3,"price":12.5},{"sku":"b","n":0}],"open":true,"note":null},"text":"a \"quote\", \\, 한국어, 🦀, \t"}"#;

/// The answer to `echo` with these parts: the agent's own number of them, then the parts.
async fn echo_of(peer: &Peer, parts: &[Part]) -> Outcome<Reply> {
    let reply = peer.send(message(parts)).await?;
    is_echo(&reply, parts)?;
    Ok(reply)
}

fn message(parts: &[Part]) -> Outgoing {
    let message = Outgoing::text("echo");
    parts
        .iter()
        .fold(message, |message, part| message.with_part(part.clone()))
}

fn is_echo(reply: &Reply, parts: &[Part]) -> Outcome {
    same("state", reply.state(), Some(TaskState::Completed))?;
    let data = parts.iter().filter_map(Part::data_json);
    let data: Vec<String> = data.map(str::to_owned).collect();
    let files: Vec<Part> = parts
        .iter()
        .filter(|part| part.kind().is_file())
        .cloned()
        .collect();
    let text = format!("echo: {} data, {} files", data.len(), files.len());
    same("text", reply.text(), text)?;
    let own = format!(r#"{{"own":true,"count":{}}}"#, parts.len());
    let wanted: Vec<String> = std::iter::once(own).chain(data).collect();
    same_data(&reply.data(), &wanted)?;
    same_files(&reply.files(), &files)
}

fn data(json: &str) -> Part {
    Part::data_from_json(json).expect("JSON")
}

fn mixed() -> Vec<Part> {
    vec![
        data(NESTED),
        Part::file_bytes("a file").with_filename("a.txt"),
        data("[1,[],{}]"),
    ]
}

/// The data that came back, token for token: the agent's own is not among it.
fn tokens_are(reply: &Reply, json: &str) -> Outcome {
    same(
        "tokens",
        reply.data().last().map(String::as_str),
        Some(json),
    )
}

pub(crate) async fn echo(peer: &Peer) -> Outcome {
    let parts = mixed();
    let reply = echo_of(peer, &parts).await?;
    let id = crate::peer::task_id(&reply)?;
    let task = peer.get(&id).await?;
    same("GetTask", task.payload().data().count(), 3)?;
    same("artifacts", task.artifacts.len(), 1)
}

pub(crate) async fn data_of_every_kind(peer: &Peer) -> Outcome {
    for json in [
        "{}",
        "[]",
        "[[null]]",
        "\"a string\"",
        "\"\"",
        "true",
        "false",
        "-1.5",
        "0",
    ] {
        let said = echo_of(peer, &[data(json)]).await;
        said.map_err(|error| format!("{json}: {error}"))?;
    }
    Ok(())
}

pub(crate) async fn null_data(peer: &Peer) -> Outcome {
    echo_of(peer, &[data("null")]).await.map(drop)
}

/// Numbers, escapes and the order of keys as they were written.
pub(crate) async fn tokens(peer: &Peer) -> Outcome {
    let json = r#"{"z":1.0,"a":3,"e":1E2,"u":"\u00e9"}"#;
    let reply = echo_of(peer, &[data(json)]).await?;
    tokens_are(&reply, json)
}

/// Integers that a double cannot hold.
pub(crate) async fn big_integers(peer: &Peer) -> Outcome {
    for json in [
        "9007199254740993",
        "18446744073709551615",
        "123456789012345678901234567890",
    ] {
        let reply = echo_of(peer, &[data(json)]).await?;
        tokens_are(&reply, json)?;
    }
    Ok(())
}

pub(crate) async fn files(peer: &Peer) -> Outcome {
    let bytes: Vec<u8> = (0..=255).collect();
    let parts = [
        Part::file_bytes(bytes.repeat(256))
            .with_filename("모든 바이트.bin")
            .with_media_type("application/octet-stream"),
        Part::file_url("https://files.invalid/p%C3%A1gina?q=a%20b&n=1")
            .with_filename("page.html")
            .with_media_type("text/html"),
        Part::file_bytes("x"),
    ];
    echo_of(peer, &parts).await.map(drop)
}

pub(crate) async fn part_metadata(peer: &Peer) -> Outcome {
    let metadata = serde_json::json!({"origin": "us", "nested": {"a": ["b"]}});
    let part = data("{}")
        .with_media_type("application/json")
        .with_metadata(&metadata)
        .map_err(|error| error.to_string())?;
    let reply = echo_of(peer, &[part]).await?;
    let payload = reply.payload();
    let back = payload.parts().last().ok_or("no parts")?;
    let kept = back.metadata_json().unwrap_or("null");
    let kept: serde_json::Value = serde_json::from_str(kept).map_err(|error| error.to_string())?;
    same("metadata", kept, metadata)?;
    same(
        "media type",
        back.media_type().as_deref(),
        Some("application/json"),
    )
}

/// Three megabytes of file and half a megabyte of data.
pub(crate) async fn large(peer: &Peer) -> Outcome {
    let bytes: Vec<u8> = (0_u32..3 << 20)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let numbers: Vec<u32> = (0..80_000).collect();
    let numbers = Part::data(&numbers).map_err(|error| error.to_string())?;
    let parts = [Part::file_bytes(bytes).with_filename("big.bin"), numbers];
    echo_of(peer, &parts).await.map(drop)
}

pub(crate) async fn stream(peer: &Peer) -> Outcome {
    let parts = mixed();
    let (events, reply) = peer.stream(message(&parts)).await?;
    events.begin_with_the_task()?;
    is_echo(&reply, &parts)
}

/// Chunks of one artifact, in a stream and without.
pub(crate) async fn chunks(peer: &Peer) -> Outcome {
    let (events, reply) = peer.stream("stream").await?;
    same("more than one update", events.artifact_updates() > 1, true)?;
    let blocking = peer.send("stream").await?;
    for reply in [reply, blocking] {
        same("state", reply.state(), Some(TaskState::Completed))?;
        same("text", reply.text().as_str(), "one two three")?;
        same_data(&reply.data(), &[r#"{"done":true}"#.to_owned()])?;
    }
    Ok(())
}

/// Many events without a pause between them.
pub(crate) async fn burst(peer: &Peer) -> Outcome {
    let (_, reply) = peer.stream("burst").await?;
    let wanted: String = (0..BURST).map(|n| format!("{n} ")).collect();
    same("text", reply.text(), wanted)
}

pub(crate) async fn direct_message(peer: &Peer) -> Outcome {
    let reply = peer.send("message").await?;
    same("a task", reply.task().is_some(), false)?;
    same("text", reply.text().as_str(), "a direct message")?;
    let stream = peer.client.stream("message").await.map_err(said)?;
    let reply = stream.finish().await.map_err(said)?;
    same(
        "text of the stream",
        reply.text().as_str(),
        "a direct message",
    )
}

pub(crate) async fn fails(peer: &Peer) -> Outcome {
    let blocking = peer.send("fail").await?;
    let (_, streamed) = peer.stream("fail").await?;
    for reply in [blocking, streamed] {
        same("state", reply.state(), Some(TaskState::Failed))?;
        let said = reply.status_text().unwrap_or_default();
        same("reason", said.as_str(), "the agent was asked to fail")?;
    }
    Ok(())
}
