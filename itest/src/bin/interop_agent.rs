//! The agent that clients of other SDKs talk to in `itest/`; what it does is in the query.
//!
//! With `--without-grpc` it speaks JSON-RPC and HTTP+JSON only.

use std::io::Write as _;

use llamon_agent::core::a2a::ProtocolVersion;
use llamon_agent::prelude::*;
use llamon_agent::server::{CardFields, GrpcAt, PushNotifications};
use serde_json::json;

async fn interop(turn: Turn) -> Result<Answer, AgentError> {
    let asked = turn.number() > 1;
    match turn.query() {
        query if asked => Ok(Answer::completed(format!("got: {query}"))?),
        "echo" => {
            let (data, files) = (
                turn.upstream().data().count(),
                turn.upstream().files().count(),
            );
            let own = json!({"own": true, "count": turn.upstream().len()});
            Ok(Answer::completed((
                format!("echo: {data} data, {files} files"),
                Json(own),
            ))?)
        }
        "stream" => {
            for chunk in ["one ", "two ", "three"] {
                turn.emit(chunk).await?;
            }
            Ok(Answer::completed(Json(json!({"done": true})))?)
        }
        "burst" => {
            for n in 0..1_000 {
                turn.emit(format!("{n} ")).await?;
            }
            Ok(Answer::completed(())?)
        }
        "slow" => {
            turn.emit("started").await?;
            turn.cancelled().await;
            Ok(Answer::completed("never seen")?)
        }
        "fail" => Err(AgentError::public("the agent was asked to fail")),
        "ask" => Ok(Answer::input_required("which?")?),
        "message" => Ok(Answer::message("a direct message")?),
        other => Ok(Answer::completed(format!("you said: {other}"))?),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let card = AgentCard::new("interop", "Does what the query says", "1.0.0").skill(Skill::new(
        "interop",
        "Interop",
        "Does what the query says",
    ));
    let receivers = PushNotifications::new().allow_loopback().allow_plain_http();
    let mut server = create_server(card, interop)
        .upstream_parts_policy("append")
        .push_notifications(receivers);
    if std::env::args().all(|argument| argument != "--without-grpc") {
        server = server.grpc(GrpcAt::SamePort);
    }
    if std::env::args().any(|argument| argument == "--also-0.3") {
        server = server
            .also_speak(ProtocolVersion::V0_3)
            .card_fields(CardFields::AlsoV0_3);
    }
    let server = server.await?.bind("127.0.0.1:0").await?;
    let mut out = std::io::stdout();
    writeln!(out, "READY {}/", server.url())?;
    out.flush()?;
    server.serve().await?;
    Ok(())
}
