//! Calls without streaming, on both bindings: what is sent, what is read, and errors.

use llamon_client::{Binding, Client, Outgoing, Reply};
use llamon_core::a2a::{ErrorCode, ListTasksRequest, TaskRequest, TaskState};
use llamon_core::{Limits, Part};
use support::{Action, Server, both, json, response, result, task};

#[expect(dead_code, reason = "each test file uses a part of the support")]
mod support;

const BINDINGS: [Binding; 2] = [Binding::JsonRpc, Binding::Rest];

/// A client of a server that answers every call with what `act` says; requests count from 0.
async fn client(
    binding: Binding,
    act: impl Fn(usize) -> Action + Send + Sync + 'static,
) -> (Client, Server) {
    let server = Server::start(move |_, _, _| Action::Reset).await;
    drop(server);
    let server = Server::start(move |number, _, _| act(number)).await;
    let address = server
        .url("")
        .replace("http://", "")
        .parse()
        .expect("an address");
    let client = Client::builder()
        .binding(binding)
        .with_card(&both(address), &server.url(""))
        .expect("a client");
    (client, server)
}

/// A client whose calls are all answered with `value`, as the binding puts it.
async fn answering(binding: Binding, value: &str) -> (Client, Server) {
    let body = match binding {
        Binding::JsonRpc => result(value),
        _ => value.to_owned(),
    };
    client(binding, move |_| json(&body)).await
}

#[tokio::test]
async fn each_call_is_put_into_its_binding() {
    let mut list = ListTasksRequest::default();
    list.context_id = Some("c 1".into());
    list.status = Some(TaskState::Working);
    list.include_artifacts = true;
    let mut get = TaskRequest::new("t/1");
    get.history_length = Some(2);
    let message = || {
        Outgoing::text("hi")
            .in_task("t1")
            .in_context("c1")
            .return_immediately()
            .history_length(0)
            .message_id("m1")
    };
    let sent = r#"{"message":{"messageId":"m1","contextId":"c1","taskId":"t1","role":"ROLE_USER","parts":[{"text":"hi"}]},"configuration":{"historyLength":0,"returnImmediately":true}}"#;
    let rpc = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":"1","method":"{method}","params":{params}}}"#)
    };
    let expected = [
        (Binding::JsonRpc, "POST /rpc", rpc("SendMessage", sent)),
        (
            Binding::JsonRpc,
            "POST /rpc",
            rpc("GetTask", r#"{"id":"t/1","historyLength":2}"#),
        ),
        (
            Binding::JsonRpc,
            "POST /rpc",
            rpc(
                "ListTasks",
                r#"{"contextId":"c 1","status":"TASK_STATE_WORKING","includeArtifacts":true}"#,
            ),
        ),
        (
            Binding::JsonRpc,
            "POST /rpc",
            rpc("CancelTask", r#"{"id":"t/1"}"#),
        ),
        (Binding::Rest, "POST /rest/message:send", sent.to_owned()),
        (
            Binding::Rest,
            "GET /rest/tasks/t%2F1?historyLength=2",
            String::new(),
        ),
        (
            Binding::Rest,
            "GET /rest/tasks?contextId=c+1&status=TASK_STATE_WORKING&includeArtifacts=true",
            String::new(),
        ),
        (
            Binding::Rest,
            "POST /rest/tasks/t%2F1:cancel",
            "{}".to_owned(),
        ),
    ];
    let mut expected = expected.iter();
    for binding in BINDINGS {
        // An error for every call: only what is sent matters here.
        let (client, server) = answering(binding, "7").await;
        assert!(client.send(message()).await.is_err());
        assert!(client.get_with(get.clone()).await.is_err());
        assert!(client.list(list.clone()).await.is_err());
        assert!(client.cancel("t/1").await.is_err());
        for request in server.requests() {
            let (wanted, line, body) = expected.next().unwrap();
            assert_eq!(*wanted, binding);
            assert_eq!(request.line, format!("{line} HTTP/1.1"));
            assert_eq!(request.body, *body);
            assert_eq!(request.header("a2a-version"), Some("1.0"));
            let (sent, accepted) = match binding {
                Binding::JsonRpc => ("application/json", "application/json"),
                _ => (
                    "application/a2a+json",
                    "application/a2a+json, application/json",
                ),
            };
            assert_eq!(request.header("accept"), Some(accepted));
            let sent = (!request.body.is_empty()).then_some(sent);
            assert_eq!(request.header("content-type"), sent);
        }
    }
    assert!(expected.next().is_none());
}

#[tokio::test]
async fn a_reply_is_seen_as_text_data_and_files_token_for_token() {
    let data = r#"{"b":1e400,"b":1.0,"a":[9007199254740993,"\ud800","é"]}"#;
    let artifact = format!(
        r#"{{"artifactId":"response","parts":[{{"text":"two "}},{{"data":{data},"x":1}},{{"text":"parts"}},{{"data":null}},{{"raw":"QUJD","filename":"a.txt"}}]}}"#
    );
    for binding in BINDINGS {
        let value = format!(r#"{{"task":{}}}"#, task("COMPLETED", &artifact));
        let (client, _server) = answering(binding, &value).await;
        let reply = client.send("hi").await.unwrap();
        assert_eq!(reply.text(), "two parts");
        assert_eq!(reply.data(), [data, "null"]);
        let files = reply.files();
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].file_content().unwrap(), "ABC");
        assert_eq!(reply.state(), Some(TaskState::Completed));
        assert_eq!(reply.task().unwrap().id, "t1".into());
        assert_eq!(reply.context_id(), Some("c1"));
        assert_eq!(reply.status_text(), None);
        assert!(reply.message().is_none());
        let unknown = format!(r#"{{"data":{data},"x":1}}"#);
        assert!(
            reply
                .payload()
                .parts()
                .iter()
                .any(|part| part.json() == unknown)
        );
    }
}

#[tokio::test]
async fn a_pretty_printed_answer_keeps_its_tokens() {
    let body = "{\r\n  \"task\": {\r\n    \"id\": \"t1\",\r\n    \"status\": { \"state\": \"TASK_STATE_COMPLETED\" },\r\n    \"artifacts\": [ { \"artifactId\": \"a\", \"parts\": [\r\n      { \"data\": { \"n\": 1.0,\r\n \"n\": 1e400 } } ] } ]\r\n  }\r\n}";
    let (client, _server) = answering(Binding::Rest, body).await;
    let reply = client.send("hi").await.unwrap();
    assert_eq!(reply.data(), [r#"{"n":1.0,"n":1e400}"#]);
    assert_eq!(reply.context_id(), None);
}

#[tokio::test]
async fn a_direct_message_and_a_question_are_replies() {
    for binding in BINDINGS {
        let message = r#"{"message":{"messageId":"m","contextId":"c2","role":"ROLE_AGENT","parts":[{"text":"hello"},{"data":3}]}}"#;
        let (client, _server) = answering(binding, message).await;
        let reply = client.send("hi").await.unwrap();
        assert_eq!(
            (reply.text(), reply.data()),
            ("hello".to_owned(), vec!["3".to_owned()])
        );
        assert!(reply.task().is_none() && reply.state().is_none());
        assert_eq!(reply.message().unwrap().message_id, "m");
        assert_eq!(reply.context_id(), Some("c2"));

        let question = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"q","role":"ROLE_AGENT","parts":[{"text":"which"},{"text":"one?"}]}}}}"#;
        let (client, _server) = answering(binding, question).await;
        let reply = client.send("hi").await.unwrap();
        assert_eq!(reply.state(), Some(TaskState::InputRequired));
        assert_eq!(reply.status_text().as_deref(), Some("which\none?"));
        assert_eq!(reply.text(), "");
    }
}

#[tokio::test]
async fn get_list_and_cancel_return_their_types() {
    for binding in BINDINGS {
        let (client, _server) = answering(binding, &task("WORKING", "")).await;
        assert_eq!(
            client.get("t1").await.unwrap().status.state,
            TaskState::Working
        );
        assert_eq!(client.cancel("t1").await.unwrap().id, "t1".into());
        let page = format!(
            r#"{{"tasks":[{}],"nextPageToken":"n","pageSize":1,"totalSize":2}}"#,
            task("CANCELED", "")
        );
        let (client, _server) = answering(binding, &page).await;
        let page = client.list(ListTasksRequest::default()).await.unwrap();
        assert_eq!(page.tasks.len(), 1);
        assert_eq!(
            (&*page.next_page_token, page.page_size, page.total_size),
            ("n", 1, 2)
        );
    }
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
async fn data_as_deep_as_a_server_accepts_comes_back() {
    let limits = Limits::default();
    // A message's data stands four levels deep in a REST request.
    let depth = limits.max_json_depth as usize - 4;
    let data = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let artifact = format!(r#"{{"artifactId":"a","parts":[{{"data":{data}}}]}}"#);
    for binding in BINDINGS {
        let page = format!(r#"{{"tasks":[{}]}}"#, task("COMPLETED", &artifact));
        let (client, _server) = answering(binding, &page).await;
        let page = client.list(ListTasksRequest::default()).await.unwrap();
        assert_eq!(page.tasks[0].payload().data().next(), Some(&*data));
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
        let address = server.url("").replace("http://", "").parse().unwrap();
        let client = Client::builder()
            .limits(Limits::default().with_max_body_bytes(1_000))
            .with_card(&both(address), &server.url(""))
            .unwrap();
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
    let address = server.url("").replace("http://", "").parse().unwrap();
    let time = std::time::Duration::from_millis(20);
    let client = Client::builder()
        .timeout(time)
        .idle_timeout(time)
        .with_card(&both(address), &server.url(""))
        .unwrap();
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

#[tokio::test]
async fn a_payload_goes_on_token_for_token() {
    let part = r#"{"data":{"n":1e400,"n":1.0},"x-unknown":[ ]}"#;
    let artifact = format!(r#"{{"artifactId":"a","parts":[{{"text":"so"}},{part}]}}"#);
    let value = format!(r#"{{"task":{}}}"#, task("COMPLETED", &artifact));
    let (client, server) = answering(Binding::JsonRpc, &value).await;
    let reply: Reply = client
        .send(
            Part::from_json(part)
                .map(|part| Outgoing::new().with_part(part))
                .unwrap(),
        )
        .await
        .unwrap();
    client.send(reply.payload()).await.unwrap();
    for (request, parts) in server.requests().iter().zip([
        format!("\"parts\":[{part}]"),
        format!("\"parts\":[{{\"text\":\"so\"}},{part}]"),
    ]) {
        assert!(request.body.contains(&parts), "{}", request.body);
    }
}

#[test]
fn clients_and_their_futures_can_move_between_threads() {
    fn sendable<T: Send>(_: &T) {}
    fn shareable<T: Send + Sync + Clone>() {}
    shareable::<Client>();
    let client = Client::builder()
        .with_card(&both(([127, 0, 0, 1], 1).into()), "http://127.0.0.1:1")
        .unwrap();
    sendable(&Client::discover("http://127.0.0.1:1"));
    sendable(&client.send("hi"));
    sendable(&client.stream("hi"));
    sendable(&client.get("t1"));
    sendable(&client.subscribe("t1"));
}
