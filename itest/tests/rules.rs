//! Cases that implementations get wrong and that no other file here has by name; the whole list is
//! in docs/conformance.md.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use llamon_agent::core::Json;
use llamon_agent::server::{AgentError, Answer, Clock, Turn, create_server};
use llamon_itest::agents::{End, Gate, Script, card, serve_scripts, start};
use llamon_itest::http::send;
use llamon_itest::refused::send_request;
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, WIRES, Wire, envelope, peers};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

#[tokio::test]
async fn an_object_that_an_agent_returns_is_a_data_part_and_not_json_in_a_text() {
    let agent = |_: Turn| async { Ok::<_, AgentError>(Json(serde_json::json!({"sum": 3}))) };
    let server = start(create_server(card("agent"), agent)).await;
    for peer in peers(server.url()) {
        let task = peer.send(&Say::text("go")).await;
        let parts = task.at("artifacts.0.parts").items();
        assert_eq!(parts.len(), 1, "{:?}", peer.wire);
        assert_eq!(parts[0].text(), r#"{"data":{"sum":3}}"#, "{:?}", peer.wire);
    }
}

#[tokio::test]
async fn three_artifacts_are_all_read_in_the_order_in_which_they_were_made() {
    let agent = |turn: Turn| async move {
        for name in ["first", "second", "third"] {
            turn.artifact(name).emit(name).await?;
        }
        Ok::<_, AgentError>(Answer::completed(())?)
    };
    let server = start(create_server(card("agent"), agent)).await;
    let reply = server.send("go").await.expect("an answer");
    assert_eq!(reply.text(), "first\nsecond\nthird");
    for peer in peers(server.url()) {
        let task = peer.send(&Say::text("go")).await;
        let artifacts = task.list("artifacts");
        let names: Vec<String> = artifacts.iter().map(|one| one.string("name")).collect();
        assert_eq!(names, ["first", "second", "third"], "{:?}", peer.wire);
    }
}

#[tokio::test]
async fn a_message_with_metadata_and_no_parts_is_refused_with_a_clear_error() {
    let server = serve_scripts("append", vec![Script::returns(&[r#"{"text":"done"}"#])]).await;
    for peer in peers(server.url()) {
        let params = r#"{"message":{"messageId":"m","role":"ROLE_USER","metadata":{"a":1}}}"#;
        let response = send(&peer.url, &send_request(peer.wire, params)).await;
        let refusal = peer.read(response).expect_err("no parts");
        assert_eq!(refusal.reason, "INVALID_PARAMS");
        assert!(refusal.message.contains("message.parts"), "{refusal:?}");
    }
}

#[tokio::test]
async fn two_events_in_one_millisecond_are_two_events_in_their_order() {
    let agent = |turn: Turn| async move {
        for text in ["a", "b"] {
            turn.status(text).await?;
        }
        Ok::<_, AgentError>("done")
    };
    // Time stands still.
    let now: SystemTime = UNIX_EPOCH + Duration::from_secs(1_900_000_000);
    let builder = create_server(card("agent"), agent).clock(Clock::of(move || now));
    let server = start(builder).await;
    for peer in peers(server.url()) {
        let (_, events) = peer.begin(&Say::text("go")).await;
        let said: Vec<String> = (events.rest().await.iter())
            .filter(|event| event.find("statusUpdate.status.message").is_some())
            .map(|event| event.string("statusUpdate.status.message.parts.0.text"))
            .collect();
        assert_eq!(said, ["a", "b"], "{:?}", peer.wire);
        let page = peer
            .call(Op::List(&[("pageSize", "1")]))
            .await
            .expect("a page");
        assert_eq!(page.list("tasks").len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_exactly_as_the_task_ends_gets_the_end_or_is_told_of_it() {
    const RACES: usize = 100;
    let gates: Arc<Vec<Gate>> = Arc::new((0..RACES).map(|_| Gate::new()).collect());
    let of_agent = Arc::clone(&gates);
    let agent = move |turn: Turn| {
        let gates = Arc::clone(&of_agent);
        async move {
            let number: usize = turn.query().parse()?;
            gates[number].pass().await;
            Ok::<_, AgentError>("done")
        }
    };
    let server = start(create_server(card("agent"), agent)).await;
    for (number, gate) in gates.iter().enumerate() {
        let peer = &peers(server.url())[number % 2];
        let say = Say::text(&number.to_string()).at_once();
        let id = peer.send(&say).await.string("id");
        let opening = tokio::spawn({
            let gate = gate.clone();
            async move {
                for _ in 0..number % 20 {
                    tokio::task::yield_now().await;
                }
                gate.open();
            }
        });
        match peer.open(Op::Subscribe(&id)).await {
            Ok(events) => {
                let events = events.rest().await;
                assert!(events[0].find("task").is_some(), "{events:?}");
                let last = events.last().expect("an event");
                let state = last.string("statusUpdate.status.state");
                assert_eq!(state, "TASK_STATE_COMPLETED");
            }
            Err(refusal) => assert_eq!(refusal.reason, "UNSUPPORTED_OPERATION"),
        }
        opening.await.expect("it is opened");
    }
}

#[tokio::test]
async fn a_character_of_three_bytes_may_be_split_over_chunks() {
    let server = serve_scripts("append", vec![Script::new(End::Completed(Vec::new()))]).await;
    for wire in WIRES {
        let body = match wire {
            Wire::Rest => Say::text("한").json(),
            Wire::JsonRpc => envelope("SendMessage", &Say::text("한").json()),
        };
        let path = match wire {
            Wire::Rest => "/message:send",
            Wire::JsonRpc => "/",
        };
        let at = body.find('한').expect("the character") + 1;
        let (begin, end) = body.as_bytes().split_at(at);
        let authority = server.url().strip_prefix("http://").expect("an http URL");
        let authority = authority.trim_end_matches('/');
        let mut socket = tokio::net::TcpStream::connect(authority)
            .await
            .expect("a connection");
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {authority}\r\nA2A-Version: 1.0\r\n\
             Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\
             Connection: close\r\n\r\n"
        );
        socket.write_all(head.as_bytes()).await.expect("a reader");
        for chunk in [begin, end, b""] {
            let size = format!("{:x}\r\n", chunk.len());
            let framed = [size.as_bytes(), chunk, b"\r\n"].concat();
            socket.write_all(&framed).await.expect("a reader");
            socket.flush().await.expect("a reader");
        }
        let mut response = String::new();
        socket
            .read_to_string(&mut response)
            .await
            .expect("a response");
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        assert!(response.contains("한"), "{response}");
        assert!(response.contains("TASK_STATE_COMPLETED"), "{response}");
    }
}
