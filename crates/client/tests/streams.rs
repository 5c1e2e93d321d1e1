//! Streams: how they are cut into chunks and lines, how they end, and what they fold to.

use futures_util::StreamExt as _;
use llamon_client::{Binding, Client, ClientError, Reply};
use llamon_core::Limits;
use llamon_core::a2a::{ErrorCode, StreamEvent, TaskState};
use support::{
    Action, Server, artifact_event, events, json, open_stream, response, result, status_event,
    stream, task, task_event,
};

#[expect(dead_code, reason = "each test file uses a part of the support")]
mod support;

const BINDINGS: [Binding; 2] = [Binding::JsonRpc, Binding::Rest];

/// A client of a server that answers each call with `act`.
async fn client(
    binding: Binding,
    act: impl Fn() -> Action + Send + Sync + 'static,
) -> (Client, Server) {
    limited(binding, Limits::default(), act).await
}

async fn limited(
    binding: Binding,
    limits: Limits,
    act: impl Fn() -> Action + Send + Sync + 'static,
) -> (Client, Server) {
    let server = Server::start(move |_, _, _| act()).await;
    // What happens to one stream; `resume.rs` has how it goes on.
    let builder = Client::builder()
        .binding(binding)
        .limits(limits)
        .resume_attempts(0);
    (server.client(builder), server)
}

/// The events as the binding puts them.
fn wrapped(binding: Binding, events: &[String]) -> Vec<String> {
    let wrap = |event: &String| match binding {
        Binding::JsonRpc => result(event),
        _ => event.clone(),
    };
    events.iter().map(wrap).collect()
}

/// What a stream of these events folds to.
async fn fold(binding: Binding, sent: &[String]) -> Result<Reply, ClientError> {
    let sent = wrapped(binding, sent);
    let (client, _server) = client(binding, move || events(&sent)).await;
    client.stream("hi").await?.finish().await
}

#[tokio::test]
async fn a_stream_is_asked_for_and_folds_to_the_answer() {
    let data = r#"{"n":1e400,"n":1.0}"#;
    let sent = [
        task_event("SUBMITTED"),
        status_event("WORKING"),
        artifact_event(false, r#"{"text":"Hel"}"#),
        artifact_event(true, r#"{"text":"lo"}"#),
        artifact_event(true, &format!(r#"{{"data":{data}}}"#)),
        status_event("COMPLETED"),
    ];
    for binding in BINDINGS {
        let wrapped = wrapped(binding, &sent);
        let (client, server) = client(binding, move || events(&wrapped)).await;
        let mut events = client.stream("hi").await.unwrap();
        assert_eq!(events.task_id(), None);
        assert!(matches!(
            events.next().await,
            Some(Ok(StreamEvent::Task(_)))
        ));
        assert_eq!(events.task_id(), Some("t1"));
        // It is a `Stream` as well, and what was taken counts too.
        let taken = events.by_ref().take(2).count().await;
        assert_eq!(taken, 2);
        let reply = events.finish().await.unwrap();
        assert_eq!(reply.text(), "Hello");
        assert_eq!(reply.data(), [data]);
        assert_eq!(reply.state(), Some(TaskState::Completed));

        let request = server.requests().remove(0);
        let (line, accept) = match binding {
            Binding::JsonRpc => ("POST /rpc HTTP/1.1", "text/event-stream, application/json"),
            _ => (
                "POST /rest/message:stream HTTP/1.1",
                "text/event-stream, application/a2a+json, application/json",
            ),
        };
        assert_eq!(request.line, line);
        assert_eq!(request.header("accept"), Some(accept));
        assert_eq!(request.header("a2a-version"), Some("1.0"));
    }
}

#[tokio::test]
async fn characters_lines_and_events_may_be_split_anywhere() {
    let event = |text: &str| result(&artifact_event(true, &format!(r#"{{"text":"{text}"}}"#)));
    let whole = format!(
        "\u{feff}: hello\r\n\r\nretry: 10\r\nid: 1\r\ndata: {}\r\n\r\n:\r\n\r\ndata:{}\r\rdata: {}\n\nevent: x\ndata: {}\r\n: within\r\n\r\n",
        result(&task_event("WORKING")),
        event("한국"),
        event("어 🦙"),
        result(&status_event("COMPLETED")),
    );
    // Every byte on its own, so that no character of several bytes arrives whole.
    for size in [1, 2, 3, 7, whole.len()] {
        let chunks: Vec<&[u8]> = whole.as_bytes().chunks(size).collect();
        let bytes = stream(&chunks);
        let (client, _server) = client(Binding::JsonRpc, move || Action::Send(bytes.clone())).await;
        let reply = client.stream("hi").await.unwrap().finish().await.unwrap();
        assert_eq!(reply.text(), "한국어 🦙", "chunks of {size}");
    }
}

#[tokio::test]
async fn an_event_on_several_data_lines_keeps_its_tokens() {
    let text = concat!(
        "data: {\"task\":\n",
        "data: {\"id\":\"t1\",\"status\":{\"state\":\"TASK_STATE_COMPLETED\"},\n",
        "data: \"artifacts\":[{\"artifactId\":\"a\",\"parts\":[{\"data\":{\"n\":1.0,\n",
        "data:  \"n\":2e1 }}]}]}}\n\n",
    );
    let bytes = stream(&[text.as_bytes()]);
    let (client, _server) = client(Binding::Rest, move || Action::Send(bytes.clone())).await;
    let reply = client.stream("hi").await.unwrap().finish().await.unwrap();
    assert_eq!(reply.data(), [r#"{"n":1.0,"n":2e1}"#]);
}

#[tokio::test]
async fn a_direct_message_is_the_answer() {
    let message = r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"hello"}]}}"#;
    for binding in BINDINGS {
        let reply = fold(binding, &[message.to_owned()]).await.unwrap();
        assert_eq!(reply.text(), "hello");
        assert!(reply.task().is_none());
    }
}

#[tokio::test]
async fn every_state_of_rest_ends_a_stream() {
    for state in [
        "COMPLETED",
        "FAILED",
        "CANCELED",
        "REJECTED",
        "INPUT_REQUIRED",
        "AUTH_REQUIRED",
    ] {
        let reply = fold(Binding::Rest, &[task_event("WORKING"), status_event(state)]).await;
        let state = TaskState::parse(&format!("TASK_STATE_{state}")).unwrap();
        assert_eq!(reply.unwrap().state(), Some(state));
    }
    // Whoever forgot to begin with the task.
    let sent = [
        artifact_event(false, r#"{"text":"a"}"#),
        status_event("COMPLETED"),
    ];
    let reply = fold(Binding::Rest, &sent).await.unwrap();
    assert_eq!(
        (reply.text(), reply.context_id()),
        ("a".to_owned(), Some("c1"))
    );
}

#[tokio::test]
async fn a_stream_that_ends_too_early_says_how_to_go_on() {
    for binding in BINDINGS {
        let error = fold(binding, &[task_event("WORKING")]).await.unwrap_err();
        assert!(error.is_interrupted_stream(), "{error:?}");
        assert_eq!(error.task_id(), Some("t1"));
        assert_eq!(
            error.to_string(),
            r#"the stream ended while the task was working; the task may run on: subscribe to task "t1" or get it"#
        );
        let error = fold(binding, &[]).await.unwrap_err();
        assert!(
            error.is_interrupted_stream() && error.task_id().is_none(),
            "{error:?}"
        );
    }
    // The connection is lost within a chunk, and within an event.
    let event = format!("data: {}\n\ndata: {{\"stat", task_event("WORKING"));
    for cut in [0, 20] {
        let mut bytes = open_stream(&[event.as_bytes()]);
        bytes.truncate(bytes.len() - cut);
        let (client, _server) = client(Binding::Rest, move || Action::Send(bytes.clone())).await;
        let mut events = client.stream("hi").await.unwrap();
        let mut last = None;
        while let Some(event) = events.next().await {
            last = Some(event);
        }
        let error = last.unwrap().unwrap_err();
        assert!(error.is_interrupted_stream(), "{error:?}");
        assert!(events.next().await.is_none());
        assert!(events.finish().await.unwrap_err().is_interrupted_stream());
    }
}

#[tokio::test]
async fn whatever_happens_after_the_last_event_is_no_error() {
    let event = format!("data: {}\n\n", task_event("COMPLETED"));
    // A connection that is lost, and one that is never closed.
    let bytes = open_stream(&[event.as_bytes()]);
    for hold in [false, true] {
        let bytes = bytes.clone();
        let (client, _server) = client(Binding::Rest, move || {
            if hold {
                Action::SendAndHold(bytes.clone())
            } else {
                Action::Send(bytes.clone())
            }
        })
        .await;
        let reply = client.stream("hi").await.unwrap().finish().await.unwrap();
        assert_eq!(reply.state(), Some(TaskState::Completed));
    }
}

#[tokio::test]
async fn an_error_within_a_stream_ends_it() {
    let cases = [
        (
            Binding::JsonRpc,
            r#"{"jsonrpc":"2.0","id":"1","error":{"code":-32603,"message":"broken"}}"#,
        ),
        (
            Binding::Rest,
            r#"{"error":{"code":500,"status":"INTERNAL","message":"broken"}}"#,
        ),
    ];
    for (binding, error) in cases {
        let mut sent = wrapped(binding, &[task_event("WORKING")]);
        sent.push(error.to_owned());
        sent.extend(wrapped(binding, &[status_event("COMPLETED")]));
        let (client, _server) = client(binding, move || events(&sent)).await;
        let mut events = client.stream("hi").await.unwrap();
        assert!(events.next().await.unwrap().is_ok());
        let error = events.next().await.unwrap().unwrap_err();
        assert_eq!(error.protocol().unwrap().code(), ErrorCode::Internal);
        assert_eq!(error.task_id(), Some("t1"));
        assert!(events.next().await.is_none());
    }
}

#[tokio::test]
async fn an_error_instead_of_a_stream_is_the_protocols() {
    let cases = [
        (
            Binding::JsonRpc,
            200,
            r#"{"error":{"code":-32004,"message":"no streams"}}"#,
        ),
        (
            Binding::Rest,
            400,
            r#"{"error":{"code":400,"details":[{"reason":"UNSUPPORTED_OPERATION"}]}}"#,
        ),
    ];
    for (binding, status, body) in cases {
        let (client, _server) = client(binding, move || {
            Action::Send(response(status, "application/json", body))
        })
        .await;
        for error in [
            client.stream("hi").await.unwrap_err(),
            client.subscribe("t1").await.unwrap_err(),
        ] {
            assert_eq!(
                error.protocol().unwrap().code(),
                ErrorCode::UnsupportedOperation
            );
        }
    }
    let body = format!(r#"{{"task":{}}}"#, task("COMPLETED", ""));
    let (client, _server) = client(Binding::Rest, move || json(&body)).await;
    let error = client.stream("hi").await.unwrap_err();
    assert!(error.is_invalid_response(), "{error:?}");
    assert!(error.to_string().contains("text/event-stream"), "{error}");
}

#[tokio::test]
async fn what_is_no_event_is_an_error() {
    let cases: [(&[u8], &str); 3] = [
        (b"data: hello\n\n", "is not A2A 1.0"),
        (
            b"data: {}\n\n",
            "one of task, message, statusUpdate and artifactUpdate",
        ),
        (b"data: \xff\xfe\n\n", "is no event stream"),
    ];
    for (text, expected) in cases {
        let bytes = stream(&[text]);
        let (client, _server) = client(Binding::Rest, move || Action::Send(bytes.clone())).await;
        let error = client
            .stream("hi")
            .await
            .unwrap()
            .finish()
            .await
            .unwrap_err();
        assert!(error.is_invalid_response(), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn an_event_over_the_limit_is_not_kept() {
    let limits = || Limits::default().with_max_body_bytes(1_000);
    let event = |len: usize| {
        let empty = task_event("COMPLETED").len() + "data: ,\"x\":\"\"".len();
        let task = task_event("COMPLETED");
        let task = task.strip_suffix('}').unwrap();
        format!("data: {task},\"x\":\"{}\"}}\n\n", "x".repeat(len - empty))
    };
    for (len, fits) in [(4_000, true), (4_001, false)] {
        let text = event(len);
        assert_eq!(text.len(), len + 2);
        // Keep-alives before it do not count.
        let text = format!("{}{text}", ": keep-alive\n\n".repeat(1_000));
        let bytes = stream(&[text.as_bytes()]);
        let (client, _server) =
            limited(Binding::Rest, limits(), move || Action::Send(bytes.clone())).await;
        let finished = client.stream("hi").await.unwrap().finish().await;
        assert_eq!(finished.is_ok(), fits, "{len}");
        if let Err(error) = finished {
            assert!(error.is_invalid_response(), "{error:?}");
            assert!(error.to_string().contains("max_body_bytes"), "{error}");
        }
    }
    // An event that never ends, on a connection that stays open.
    let endless = [b"data: ".as_slice(), &[b'x'; 10_000]].concat();
    let bytes = open_stream(&[&endless]);
    let (client, _server) = limited(Binding::Rest, limits(), move || {
        Action::SendAndHold(bytes.clone())
    })
    .await;
    let error = client
        .stream("hi")
        .await
        .unwrap()
        .finish()
        .await
        .unwrap_err();
    assert!(error.is_invalid_response(), "{error:?}");
}

#[tokio::test]
async fn an_answer_over_the_limit_is_not_folded_but_its_events_come() {
    let limits = Limits::default().with_max_body_bytes(1_000);
    let chunk = artifact_event(true, &format!(r#"{{"text":"{}"}}"#, "x".repeat(500)));
    let mut sent = vec![task_event("WORKING")];
    sent.extend(std::iter::repeat_n(chunk, 10));
    sent.push(status_event("COMPLETED"));
    let (client, _server) = limited(Binding::Rest, limits, move || events(&sent)).await;
    let mut stream = client.stream("hi").await.unwrap();
    let mut count = 0;
    while let Some(event) = stream.next().await {
        event.unwrap();
        count += 1;
    }
    assert_eq!(count, 12);
    let error = stream.finish().await.unwrap_err();
    assert!(error.is_invalid_response(), "{error:?}");
    assert!(error.to_string().contains("max_body_bytes"), "{error}");
}

#[tokio::test]
async fn a_subscription_goes_on_over_a_question_and_ends_at_the_end() {
    let sent = [
        task_event("INPUT_REQUIRED"),
        status_event("WORKING"),
        status_event("COMPLETED"),
    ];
    for binding in BINDINGS {
        let sent = wrapped(binding, &sent);
        let (client, server) = client(binding, move || events(&sent)).await;
        let events = client.subscribe("t:1").await.unwrap();
        assert_eq!(events.task_id(), Some("t:1"));
        let reply = events.finish().await.unwrap();
        assert_eq!(reply.state(), Some(TaskState::Completed));
        let request = server.requests().remove(0);
        match binding {
            Binding::JsonRpc => assert!(
                request
                    .body
                    .contains(r#""SubscribeToTask","params":{"id":"t:1"}"#)
            ),
            _ => assert_eq!(request.line, "POST /rest/tasks/t%3A1:subscribe HTTP/1.1"),
        }
    }
}

#[tokio::test]
async fn a_server_that_subscribes_by_get_is_asked_by_get() {
    let server = Server::start(|_, request, _| {
        if request.line.starts_with("POST") {
            return Action::Send(response(405, "text/plain", "Method Not Allowed"));
        }
        events(&[task_event("COMPLETED")])
    })
    .await;
    let client = server.client(Client::builder().binding(Binding::Rest));
    assert!(client.subscribe("t1").await.unwrap().finish().await.is_ok());
    let lines: Vec<String> = server.requests().into_iter().map(|r| r.line).collect();
    let path = "/rest/tasks/t1:subscribe HTTP/1.1";
    assert_eq!(lines, [format!("POST {path}"), format!("GET {path}")]);
}

#[tokio::test]
async fn a_silent_stream_is_a_timeout() {
    let event = format!("data: {}\n\n", task_event("WORKING"));
    let bytes = open_stream(&[event.as_bytes()]);
    let server = Server::start(move |_, _, _| Action::SendAndHold(bytes.clone())).await;
    let builder = Client::builder()
        .binding(Binding::Rest)
        .resume_attempts(0)
        .idle_timeout(std::time::Duration::from_millis(50));
    let client = server.client(builder);
    let mut events = client.stream("hi").await.unwrap();
    assert!(events.next().await.unwrap().is_ok());
    let error = events.next().await.unwrap().unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert_eq!(error.task_id(), Some("t1"));
    assert!(error.to_string().contains("subscribe to task"), "{error}");
    assert!(events.next().await.is_none());
}
