//! Part bodies that pass through `append` token for token. They stand in `golden/parts/`, one
//! in a file, as they are on the wire.

use std::path::Path;

use llamon_agent::client::{Binding, Outgoing};
use llamon_agent::core::Part;
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{Script, serve_scripts};
use llamon_itest::matrix::streaming;
use llamon_itest::raw::{Raw, without_white};
use llamon_itest::say::Say;
use llamon_itest::wire::{Peer, peers};

const OWN: &str = r#"{"data":"own"}"#;

/// The names and the bodies.
fn golden() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/parts");
    let mut bodies = Vec::new();
    for entry in std::fs::read_dir(directory).expect("the golden parts") {
        let path = entry.expect("an entry").path();
        let body = std::fs::read_to_string(&path).expect("a body of UTF-8");
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let body = body.strip_suffix('\n').expect("one line");
        assert!(!body.contains(['\n', '\r']), "{name} has one line");
        bodies.push((name, body.to_owned()));
    }
    bodies.sort();
    assert_eq!(bodies.len(), 40);
    bodies
}

/// The same tokens, each on a line of its own.
fn pretty(json: &str, line_end: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut in_string = false;
    let mut escaped = false;
    for char in json.chars() {
        if in_string {
            out.push(char);
            in_string = escaped || char != '"';
            escaped = char == '\\' && !escaped;
            continue;
        }
        in_string = char == '"';
        match char {
            '{' | '[' | ',' => {
                out.push(char);
                out.push_str(line_end);
                out.push('\t');
            }
            '}' | ']' => {
                out.push_str(line_end);
                out.push(char);
            }
            ':' => out.push_str(" :  "),
            _ => out.push(char),
        }
    }
    out
}

async fn server() -> TestServer {
    serve_scripts("append", vec![Script::returns(&[OWN])]).await
}

/// The parts of the answer and of the message in the history, of each way there is to get them.
async fn passed(peer: &Peer, parts: &[String]) -> Vec<(&'static str, Vec<Raw>)> {
    let say = Say::parts(parts);
    let task = peer.send(&say).await;
    let got = peer.get(&task.string("id")).await;
    let (streamed, events) = streaming(peer, std::slice::from_ref(&say)).await;
    let streamed_id = streamed.task_id.clone().expect("a task");
    let got_streamed = peer.get(&streamed_id).await;
    vec![
        ("the blocking result", task.list("artifacts.0.parts")),
        (
            "its history",
            [vec![Raw::parse(OWN)], task.list("history.0.parts")].concat(),
        ),
        ("GetTask", got.list("artifacts.0.parts")),
        ("the stream", streamed.artifacts[0].1.clone()),
        (
            "its history",
            [
                vec![Raw::parse(OWN)],
                events[0].list("task.history.0.parts"),
            ]
            .concat(),
        ),
        (
            "GetTask of the stream's task",
            got_streamed.list("artifacts.0.parts"),
        ),
    ]
}

/// Sends the bodies as `write` spells them, each alone and all together, on both bindings.
async fn assert_pass(write: impl Fn(&str) -> String) {
    let server = server().await;
    let golden = golden();
    for peer in peers(server.url()) {
        for (name, body) in &golden {
            let sent = write(body);
            for (way, parts) in passed(&peer, std::slice::from_ref(&sent)).await {
                assert_eq!(parts.len(), 2, "{way}, {:?}", peer.wire);
                let passed = parts[1].text();
                assert_same(
                    passed,
                    body,
                    &sent,
                    &format!("{name}: {way}, {:?}", peer.wire),
                );
            }
        }
        let sent: Vec<String> = golden.iter().map(|(_, body)| write(body)).collect();
        for (way, parts) in passed(&peer, &sent).await {
            assert_eq!(parts.len(), 41, "{way}");
            for ((part, (name, body)), sent) in parts[1..].iter().zip(&golden).zip(&sent) {
                assert_same(part.text(), body, sent, &format!("{name} among all: {way}"));
            }
        }
    }
}

/// Byte for byte where no line ended in the part; the same tokens where one did.
fn assert_same(passed: &str, body: &str, sent: &str, what: &str) {
    if sent == body {
        assert_eq!(passed, body, "{what}");
    }
    assert_eq!(without_white(passed), without_white(body), "{what}");
    assert!(!passed.contains(['\n', '\r']), "{what}");
}

#[test]
fn pretty_printing_changes_no_token() {
    for (name, body) in golden() {
        for line_end in ["\n", "\r\n"] {
            let pretty = pretty(&body, line_end);
            assert!(pretty.contains(line_end), "{name}");
            assert_eq!(without_white(&pretty), without_white(&body), "{name}");
        }
    }
}

#[tokio::test]
async fn golden_bodies_pass_token_for_token() {
    assert_pass(str::to_owned).await;
}

#[tokio::test]
async fn golden_bodies_pretty_printed_with_lf_pass_token_for_token() {
    assert_pass(|body| pretty(body, "\n")).await;
}

#[tokio::test]
async fn golden_bodies_pretty_printed_with_crlf_pass_token_for_token() {
    assert_pass(|body| pretty(body, "\r\n")).await;
}

#[tokio::test]
async fn five_mib_of_base64_pass_in_both_alphabets() {
    let server = server().await;
    let part = |more: &str| {
        let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let raw: String = digits
            .chars()
            .chain(more.chars())
            .cycle()
            .take(5 << 20)
            .collect();
        format!(r#"{{"filename":"large.bin","raw":"{raw}"}}"#)
    };
    let bodies = [part("+/"), part("-_")];
    let sent = [bodies[0].clone(), pretty(&bodies[1], "\r\n")];
    for peer in peers(server.url()) {
        for (way, parts) in passed(&peer, &sent).await {
            assert_eq!(parts.len(), 3, "{way}");
            for (part, body) in parts[1..].iter().zip(&bodies) {
                // Not with assert_eq: it would print all of it.
                assert!(part.text() == body, "{way}, {:?}", peer.wire);
            }
        }
    }
}

#[tokio::test]
async fn golden_bodies_pass_three_servers_and_the_client_between_them() {
    let servers = [server().await, server().await, server().await];
    let golden = golden();
    for binding in [Binding::JsonRpc, Binding::Rest] {
        for stream in [false, true] {
            let mut message = Outgoing::new();
            for (_, body) in &golden {
                message = message.with_part(Part::from_json(body.as_str()).unwrap());
            }
            let mut last = Vec::new();
            for server in &servers {
                let client = server.client_with(binding).await.unwrap();
                let reply = if stream {
                    client
                        .stream(message)
                        .await
                        .unwrap()
                        .finish()
                        .await
                        .unwrap()
                } else {
                    client.send(message).await.unwrap()
                };
                last = reply.payload().into_parts();
                message = Outgoing::from(reply.payload());
            }
            assert_eq!(last.len(), 43);
            for (part, (name, body)) in last[3..].iter().zip(&golden) {
                assert_eq!(part.json(), body, "{name}, {binding}, stream: {stream}");
            }
        }
    }
}

#[tokio::test]
async fn a_follower_gets_the_same_bytes() {
    // The snapshot that a subscription begins with is written from the same texts.
    let scripts = vec![
        Script::new(llamon_itest::agents::End::InputRequired("which?")),
        Script::returns(&[OWN]),
    ];
    let server = serve_scripts("append", scripts).await;
    let golden: Vec<String> = golden().into_iter().map(|(_, body)| body).collect();
    for peer in peers(server.url()) {
        let say = Say::parts(&golden);
        let id = peer.send(&say).await.string("id");
        let follower = peer
            .open(llamon_itest::wire::Op::Subscribe(&id))
            .await
            .unwrap();
        peer.send(&say.in_task(&id)).await;
        let mut events = follower.rest().await;
        let snapshot = events.remove(0);
        let texts = |parts: Vec<Raw>| -> Vec<String> {
            parts.iter().map(|part| part.text().to_owned()).collect()
        };
        assert_eq!(texts(snapshot.list("task.history.0.parts")), golden);
        let update = events.iter().find_map(|event| event.find("artifactUpdate"));
        assert_eq!(texts(update.unwrap().list("artifact.parts"))[1..], golden);
    }
}
