//! What goes wrong: errors of the protocol, answers that are none, limits, and what is repeated.

use llamon_client::{Binding, Client, Outgoing};
use llamon_core::Limits;
use llamon_core::a2a::{ErrorCode, ListTasksRequest, TaskState};
use support::{Action, Server, answering, json, response, result, task};

#[expect(dead_code, reason = "each test file uses a part of the support")]
mod support;

const BINDINGS: [Binding; 2] = [Binding::JsonRpc, Binding::Rest];

/// A client of a server that answers every call with what `act` says; requests count from 0.
async fn client(
    binding: Binding,
    act: impl Fn(usize) -> Action + Send + Sync + 'static,
) -> (Client, Server) {
    let server = Server::start(move |number, _, _| act(number)).await;
    (server.client(Client::builder().binding(binding)), server)
}

#[tokio::test]
async fn the_protocols_errors_are_told_by_reason_then_by_code() {
    let rpc = |error: &str| format!(r#"{{"jsonrpc":"2.0","id":null,"error":{error}}}"#);
    let rest = |error: &str| format!(r#"{{"error":{error}}}"#);
    let cases = [
        (
            Binding::JsonRpc,
            200,
            rpc(r#"{"code":-32001,"message":"gone"}"#),
            ErrorCode::TaskNotFound,
        ),
        (
            Binding::JsonRpc,
            200,
            rpc(
                r#"{"code":-32603,"message":"gone","data":[{"@type":"x","reason":"PAYLOAD_TOO_LARGE"}]}"#,
            ),
            ErrorCode::PayloadTooLarge,
        ),
        (
            Binding::JsonRpc,
            400,
            rpc(r#"{"code":-32009,"message":"gone"}"#),
            ErrorCode::VersionNotSupported,
        ),
        (
            Binding::Rest,
            400,
            rest(
                r#"{"code":400,"status":"FAILED_PRECONDITION","message":"gone","details":[{"reason":"TASK_NOT_CANCELABLE"}]}"#,
            ),
            ErrorCode::TaskNotCancelable,
        ),
        (
            Binding::Rest,
            404,
            rest(r#"{"code":404,"status":"NOT_FOUND","message":"gone"}"#),
            ErrorCode::TaskNotFound,
        ),
        // A server that says success and means an error.
        (
            Binding::Rest,
            200,
            rest(r#"{"code":404,"message":"gone"}"#),
            ErrorCode::TaskNotFound,
        ),
    ];
    for (binding, status, body, code) in cases {
        let (client, _server) = client(binding, move |_| {
            Action::Send(response(status, "application/json", &body))
        })
        .await;
        let error = client.cancel("t1").await.unwrap_err();
        let protocol = error.protocol().unwrap_or_else(|| panic!("{error:?}"));
        assert_eq!(protocol.code(), code);
        assert_eq!(protocol.message(), "gone");
        assert_eq!(error.http_status(), Some(status));
        assert!(!error.is_invalid_response());
    }
}

#[tokio::test]
async fn what_is_no_answer_is_an_error_that_says_so() {
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let cases: [(Binding, u16, String, &str); 10] = [
        (Binding::JsonRpc, 200, String::new(), "is not A2A 1.0"),
        (
            Binding::JsonRpc,
            200,
            "[]".to_owned(),
            "expected an object, found an array",
        ),
        (
            Binding::JsonRpc,
            200,
            r#"{"jsonrpc":"2.0","id":"1"}"#.to_owned(),
            "has neither result nor error",
        ),
        (Binding::JsonRpc, 200, result("{}"), "one of task, message"),
        (
            Binding::JsonRpc,
            200,
            format!("{} x", result(&task("COMPLETED", ""))),
            "is not A2A 1.0",
        ),
        (
            Binding::JsonRpc,
            200,
            r#"{"error":"broken"}"#.to_owned(),
            "error: is no error object",
        ),
        (
            Binding::Rest,
            200,
            format!(r#"{{"x":{nested}}}"#),
            "nests deeper",
        ),
        (
            Binding::Rest,
            200,
            r#"{"task":{"id":"t1","status":{"state":"x"}}}"#.to_owned(),
            "task.status.state",
        ),
        (
            Binding::Rest,
            502,
            "<html>bad \u{1b}[31mgateway".to_owned(),
            r"bad \u{1b}[31mgateway",
        ),
        (
            Binding::Rest,
            401,
            String::new(),
            "asks for credentials (HTTP 401)",
        ),
    ];
    for (binding, status, body, expected) in cases {
        let (client, server) = client(binding, move |_| {
            Action::Send(response(status, "application/json", &body))
        })
        .await;
        let error = client.send("hi").await.unwrap_err();
        assert!(error.is_invalid_response(), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.protocol().is_none());
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn an_answer_over_the_limit_is_not_read() {
    let max = 4 * 1_000;
    let body = |len: usize| {
        let empty = result(&format!(r#"{{"task":{},"x":""}}"#, task("COMPLETED", "")));
        let fill = "x".repeat(len - empty.len());
        result(&format!(
            r#"{{"task":{},"x":"{fill}"}}"#,
            task("COMPLETED", "")
        ))
    };
    for (len, chunked, fits) in [
        (max, false, true),
        (max + 1, false, false),
        (max, true, true),
        (max + 1, true, false),
    ] {
        let body = body(len);
        assert_eq!(body.len(), len);
        let bytes = if chunked {
            let head = "HTTP/1.1 200 X\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
            format!("{head}{len:x}\r\n{body}\r\n0\r\n\r\n").into_bytes()
        } else {
            response(200, "application/json", body)
        };
        let server = Server::start(move |_, _, _| Action::Send(bytes.clone())).await;
        let limits = Limits::default().with_max_body_bytes(1_000);
        let client = server.client(Client::builder().limits(limits));
        let sent = client.send("hi").await;
        assert_eq!(sent.is_ok(), fits, "{len} {chunked}");
        if let Err(error) = sent {
            assert!(error.is_invalid_response());
            assert!(error.to_string().contains("max_body_bytes"), "{error}");
            assert!(error.to_string().contains("4000 bytes"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_claimed_length_allocates_nothing_and_an_early_end_is_an_error() {
    for body in ["", "{\"jsonrpc\""] {
        let head =
            "HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: 60000000\r\n\r\n";
        let bytes = format!("{head}{body}").into_bytes();
        let (client, server) = client(Binding::JsonRpc, move |_| Action::Send(bytes.clone())).await;
        let error = client.send("hi").await.unwrap_err();
        assert!(error.is_disconnected(), "{error:?}");
        assert!(
            error.to_string().contains("before the whole answer"),
            "{error}"
        );
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn reading_is_repeated_and_sending_is_not() {
    for binding in BINDINGS {
        let answer = match binding {
            Binding::JsonRpc => result(&task("WORKING", "")),
            _ => task("WORKING", ""),
        };
        let (client, server) = client(binding, move |number| match number {
            0 => Action::Reset,
            1 => Action::Send(response(503, "text/plain", "busy")),
            2 => json(&answer),
            _ => Action::Reset,
        })
        .await;
        assert_eq!(
            client.get("t1").await.unwrap().status.state,
            TaskState::Working
        );
        assert_eq!(server.requests().len(), 3);

        // From now on every connection is reset.
        let error = client.send("hi").await.unwrap_err();
        assert!(error.is_disconnected(), "{error:?}");
        assert_eq!(server.requests().len(), 4);
        assert!(client.stream("hi").await.unwrap_err().is_disconnected());
        assert_eq!(server.requests().len(), 5);
        assert!(client.cancel("t1").await.unwrap_err().is_disconnected());
        assert_eq!(server.requests().len(), 6);
        let error = client.list(ListTasksRequest::default()).await.unwrap_err();
        assert!(error.to_string().ends_with("(3 attempts)"), "{error}");
        assert_eq!(server.requests().len(), 9);
        assert!(client.subscribe("t1").await.unwrap_err().is_disconnected());
        assert_eq!(server.requests().len(), 12);
    }
}

#[tokio::test]
async fn an_error_of_the_protocol_is_not_repeated_unless_it_is_temporary() {
    let body = r#"{"error":{"code":-32001,"message":"no"}}"#;
    let (client, server) = client(Binding::JsonRpc, move |_| json(body)).await;
    assert!(client.get("t1").await.unwrap_err().protocol().is_some());
    assert_eq!(server.requests().len(), 1);
    drop(client);

    let body = r#"{"error":{"code":-32603,"message":"no","data":[{"reason":"UNAVAILABLE"}]}}"#;
    let (client, server) = self::client(Binding::JsonRpc, move |_| json(body)).await;
    assert!(client.get("t1").await.unwrap_err().is_temporary());
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn an_agent_that_says_nothing_is_a_timeout() {
    let server = Server::start(|_, _, _| Action::SendAndHold(Vec::new())).await;
    let time = std::time::Duration::from_millis(20);
    let client = server.client(Client::builder().timeout(time).idle_timeout(time));
    for error in [
        client.send("hi").await.unwrap_err(),
        client.get("t1").await.unwrap_err(),
        client.stream("hi").await.unwrap_err(),
    ] {
        assert!(error.is_timeout(), "{error:?}");
        assert!(error.to_string().contains("20ms"), "{error}");
    }
}

#[tokio::test]
async fn a_message_that_cannot_be_sent_is_not_sent() {
    let (client, server) = answering(Binding::Rest, "{}").await;
    assert!(client.send(Outgoing::new()).await.unwrap_err().is_usage());
    assert!(client.stream(Outgoing::new()).await.unwrap_err().is_usage());
    assert!(client.get("..").await.unwrap_err().is_usage());
    assert_eq!(server.requests().len(), 0);
}
