//! An authenticator of one's own.

use llamon_agent::server::{PushNotifications, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{End, Script, card, scripted, start};
use llamon_itest::http::{Request, send};
use llamon_itest::refused::code;
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, WIRES, Wire};

use crate::support::{CHALLENGE, Names, by, operations};

async fn server() -> TestServer {
    let scripts = vec![
        Script::new(End::InputRequired("which?")),
        Script::returns(&[r#"{"text":"done"}"#]),
    ];
    let builder = create_server(card("agent"), scripted(scripts))
        .push_notifications(PushNotifications::new())
        .authenticate(Names);
    start(builder).await
}

/// Begins a task that waits, and returns its id.
async fn begin(peer: &Peer, name: &str) -> String {
    let request = by(name, peer.wire.request(Op::Send(&Say::text("go"))));
    let sent = peer.read(send(&peer.url, &request).await).expect("a task");
    sent.string("task.id")
}

#[tokio::test]
async fn a_caller_that_is_not_known_is_refused_in_every_operation_with_the_challenge() {
    let server = server().await;
    for wire in WIRES {
        let peer = Peer::new(server.url(), wire);
        for (name, request) in operations(wire, "t", None) {
            for (request, reason, challenge) in [
                (request.clone(), "UNAUTHENTICATED", Some(CHALLENGE)),
                (by("mallory", request), "PERMISSION_DENIED", None),
            ] {
                let response = send(server.url(), &request).await;
                let found = response.header("www-authenticate").map(str::to_owned);
                let status = response.status;
                let refusal = peer.read(response).expect_err(name);
                assert_eq!(refusal.reason, reason, "{wire:?} {name}");
                assert_eq!(refusal.code, code(wire, reason), "{wire:?} {name}");
                assert_eq!(i64::from(status), code(Wire::Rest, reason), "{name}");
                assert_eq!(found.as_deref(), challenge, "{wire:?} {name}");
            }
        }
    }
}

#[tokio::test]
async fn nobody_is_asked_who_they_are_for_the_card_and_for_health() {
    let server = server().await;
    for path in ["/.well-known/agent-card.json", "/healthz", "/readyz"] {
        let response = send(server.url(), &Request::get(path)).await;
        assert_eq!(response.status, 200, "{path}");
    }
}

#[tokio::test]
async fn an_authenticator_that_fails_lets_nobody_in() {
    let server = server().await;
    for (name, reason, code) in [
        ("down", "UNAVAILABLE", 503),
        ("panic", "INTERNAL_ERROR", 500),
    ] {
        let peer = Peer::new(server.url(), Wire::Rest);
        let request = by(name, peer.wire.request(Op::List(&[])));
        let refusal = peer.read(send(server.url(), &request).await).unwrap_err();
        assert_eq!((&*refusal.reason, refusal.code), (reason, code), "{name}");
    }
    // And it is asked again at the next request.
    begin(&Peer::new(server.url(), Wire::Rest), "alice").await;
}

#[tokio::test]
async fn a_header_that_is_given_twice_is_no_credential() {
    let server = server().await;
    let head = "GET /tasks HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\n";
    for (line, status) in [
        ("Authorization: Name alice\r\n", 200),
        (
            "Authorization: Name bob\r\nAuthorization: Name alice\r\n",
            401,
        ),
    ] {
        let found = status_of(server.url(), &format!("{head}{line}\r\n")).await;
        assert_eq!(found, status, "{line}");
    }
}

async fn status_of(url: &str, request: &str) -> u16 {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let address = url
        .strip_prefix("http://")
        .expect("an http URL")
        .trim_end_matches('/');
    let mut socket = tokio::net::TcpStream::connect(address)
        .await
        .expect("a connection");
    socket
        .write_all(request.as_bytes())
        .await
        .expect("a server that reads");
    let mut head = [0; 12];
    socket.read_exact(&mut head).await.expect("a status line");
    let head = std::str::from_utf8(&head).expect("a status line");
    let status = head.strip_prefix("HTTP/1.1 ").expect("HTTP/1.1");
    status.parse().expect("a status")
}

#[tokio::test]
async fn a_foreign_and_a_missing_task_give_the_same_bytes_in_every_operation() {
    let server = server().await;
    for wire in WIRES {
        let peer = Peer::new(server.url(), wire);
        for (owner, others) in [
            ("alice", &["bob", "alice@acme", "bob@acme"][..]),
            ("alice@acme", &["alice", "bob@acme", "alice@globex"]),
        ] {
            let id = begin(&peer, owner).await;
            for other in others {
                let foreign = operations(wire, &id, None);
                let missing = operations(wire, "00000000-0000-4000-8000-000000000000", None);
                for ((name, foreign), (_, missing)) in foreign.into_iter().zip(missing) {
                    let foreign = send(server.url(), &by(other, foreign)).await;
                    let missing = send(server.url(), &by(other, missing)).await;
                    assert_eq!(foreign.status, missing.status, "{wire:?} {other} {name}");
                    assert_eq!(foreign.body, missing.body, "{wire:?} {other} {name}");
                    if !matches!(name, "ListTasks" | "GetExtendedAgentCard") {
                        let refusal = peer.read(foreign).expect_err(name);
                        assert_eq!(refusal.reason, "TASK_NOT_FOUND", "{name}");
                    }
                }
            }
            let get = by(owner, peer.wire.request(Op::Get(&id)));
            let task = peer.read(send(server.url(), &get).await).expect("theirs");
            assert_eq!(task.string("status.state"), "TASK_STATE_INPUT_REQUIRED");
        }
    }
}

#[tokio::test]
async fn a_turn_knows_who_asks() {
    let agent = |turn: llamon_agent::server::Turn| async move {
        let said = format!("{:?} of {:?}", turn.principal(), turn.tenant());
        Ok::<_, llamon_agent::server::AgentError>(said)
    };
    let server = start(create_server(card("agent"), agent).authenticate(Names)).await;
    for peer in WIRES.map(|wire| Peer::new(server.url(), wire)) {
        for (name, expected) in [
            ("alice", "Some(\"alice\") of None"),
            ("bob@acme", "Some(\"bob\") of Some(\"acme\")"),
        ] {
            let request = by(name, peer.wire.request(Op::Send(&Say::text("who?"))));
            let sent = peer.read(send(&peer.url, &request).await).unwrap();
            assert_eq!(sent.string("task.artifacts.0.parts.0.text"), expected);
        }
    }
}
