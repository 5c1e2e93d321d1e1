//! Streams that break: how they go on, what of it the caller sees, and when it is given up.

use std::time::Duration;

use llamon_client::{Binding, Client, ClientBuilder, EventStream, Outgoing};
use llamon_core::a2a::{StreamEvent, TaskState};
use support::{
    Action, Request, Server, artifact_event, events, json, open_stream, response, result,
    status_event, stream, task, task_event,
};

#[expect(dead_code, reason = "each test file uses a part of the support")]
mod support;

const BINDINGS: [Binding; 2] = [Binding::JsonRpc, Binding::Rest];

fn value(binding: Binding, value: &str) -> String {
    match binding {
        Binding::JsonRpc => result(value),
        _ => value.to_owned(),
    }
}

fn with_artifact(state: &str, parts: &str) -> String {
    let artifact = format!(r#"{{"artifactId":"response","parts":[{parts}]}}"#);
    format!(r#"{{"task":{}}}"#, task(state, &artifact))
}

/// How a stream ends although its task goes on.
#[derive(Clone, Copy, Debug)]
enum How {
    Lost,
    LostWithinAnEvent,
    EndedByTheServer,
    Silent,
}

/// A stream of these events that breaks then.
fn broken(binding: Binding, how: How, sent: &[String]) -> Action {
    let mut text: String = sent
        .iter()
        .map(|event| format!("data: {}\n\n", value(binding, event)))
        .collect();
    if matches!(how, How::LostWithinAnEvent) {
        text.push_str("data: {\"statusUp");
    }
    let chunks = [text.as_bytes()];
    match how {
        How::Lost | How::LostWithinAnEvent => Action::Send(open_stream(&chunks)),
        How::EndedByTheServer => Action::Send(stream(&chunks)),
        How::Silent => Action::SendAndHold(open_stream(&chunks)),
    }
}

fn whole(binding: Binding, sent: &[String]) -> Action {
    let sent: Vec<String> = sent.iter().map(|event| value(binding, event)).collect();
    events(&sent)
}

/// A server that answers its requests with these actions, one after the other.
async fn server(act: impl Fn(usize, &Request) -> Action + Send + Sync + 'static) -> Server {
    Server::start(move |number, request, _| act(number, request)).await
}

fn client(binding: Binding, server: &Server) -> Client {
    server.client(builder(binding))
}

fn builder(binding: Binding) -> ClientBuilder {
    Client::builder()
        .binding(binding)
        .idle_timeout(Duration::from_millis(300))
}

/// The events as `+text` where a text is appended, `=text` where it is set, `task` and states.
async fn shown(stream: &mut EventStream) -> Vec<String> {
    let mut shown = Vec::new();
    while let Some(event) = stream.next().await {
        shown.push(match event {
            Ok(StreamEvent::Task(task)) => format!("task {}", task.status.state),
            Ok(StreamEvent::Status(update)) => update.status.state.to_string(),
            Ok(StreamEvent::Artifact(update)) => {
                let parts = update.artifact.parts.iter();
                let parts: Vec<&str> = parts.map(|part| part.content_json()).collect();
                let sign = if update.append { '+' } else { '=' };
                format!("{sign}{}", parts.join(","))
            }
            Ok(StreamEvent::Message(_)) => "message".to_owned(),
            Err(error) => format!("error: {error}"),
        });
    }
    shown
}

fn is_subscribe(request: &Request) -> bool {
    request.line.contains(":subscribe") || request.body.contains("SubscribeToTask")
}

#[tokio::test]
async fn a_stream_that_breaks_goes_on_and_nothing_comes_twice() {
    for binding in BINDINGS {
        for how in [
            How::Lost,
            How::LostWithinAnEvent,
            How::EndedByTheServer,
            How::Silent,
        ] {
            let server = server(move |number, _| {
                match number {
                    0 => broken(
                        binding,
                        how,
                        &[
                            task_event("WORKING"),
                            artifact_event(false, r#"{"text":"Hel"}"#),
                        ],
                    ),
                    // A text has grown and data was added meanwhile.
                    1 => broken(
                        binding,
                        how,
                        &[with_artifact(
                            "WORKING",
                            r#"{"text":"Hello"},{"data":1e400}"#,
                        )],
                    ),
                    _ => whole(
                        binding,
                        &[
                            with_artifact("WORKING", r#"{"text":"Hello"},{"data":1e400}"#),
                            artifact_event(true, r#"{"data":2}"#),
                            status_event("COMPLETED"),
                        ],
                    ),
                }
            })
            .await;
            let mut stream = client(binding, &server).stream("hi").await.unwrap();
            let shown = shown(&mut stream).await;
            let expected = [
                "task working",
                r#"="Hel""#,
                r#"+"lo",1e400"#,
                "+2",
                "completed",
            ];
            assert_eq!(shown, expected, "{binding} {how:?}");
            let reply = stream.finish().await.unwrap();
            assert_eq!(reply.text(), "Hello");
            assert_eq!(reply.data(), ["1e400", "2"]);
            assert_eq!(reply.state(), Some(TaskState::Completed));
            let requests = server.requests();
            assert_eq!(requests.len(), 3);
            assert!(!is_subscribe(&requests[0]));
            assert!(requests[1..].iter().all(is_subscribe));
        }
    }
}

#[tokio::test]
async fn a_task_that_ended_meanwhile_is_completed() {
    for binding in BINDINGS {
        let server = server(move |number, _| match number {
            0 => broken(
                binding,
                How::Lost,
                &[
                    task_event("WORKING"),
                    artifact_event(false, r#"{"text":"Hel"}"#),
                ],
            ),
            1 => {
                let body = match binding {
                    Binding::JsonRpc => r#"{"error":{"code":-32004,"message":"ended"}}"#,
                    _ => r#"{"error":{"code":400,"details":[{"reason":"UNSUPPORTED_OPERATION"}]}}"#,
                };
                let status = if binding == Binding::Rest { 400 } else { 200 };
                Action::Send(response(status, "application/json", body))
            }
            _ => json(value(
                binding,
                &task(
                    "FAILED",
                    r#"{"artifactId":"response","parts":[{"text":"Hello"}]},{"artifactId":"more","parts":[{"data":1}]}"#,
                ),
            )),
        })
        .await;
        let mut stream = client(binding, &server).stream("hi").await.unwrap();
        let shown = shown(&mut stream).await;
        let expected = ["task working", r#"="Hel""#, r#"+"lo""#, "=1", "failed"];
        assert_eq!(shown, expected);
        let reply = stream.finish().await.unwrap();
        assert_eq!(reply.state(), Some(TaskState::Failed));
        assert_eq!(reply.text(), "Hello");
    }
}

#[tokio::test]
async fn what_did_not_only_grow_is_replaced_once() {
    let server = server(|number, _| match number {
        0 => broken(
            Binding::Rest,
            How::Lost,
            &[
                task_event("WORKING"),
                artifact_event(false, r#"{"text":"first try"}"#),
            ],
        ),
        _ => whole(
            Binding::Rest,
            &[
                with_artifact("WORKING", r#"{"text":"second"}"#),
                artifact_event(true, r#"{"text":" try"}"#),
                status_event("COMPLETED"),
            ],
        ),
    })
    .await;
    let mut stream = client(Binding::Rest, &server).stream("hi").await.unwrap();
    let expected = [
        "task working",
        r#"="first try""#,
        r#"="second""#,
        r#"+" try""#,
        "completed",
    ];
    assert_eq!(shown(&mut stream).await, expected);
    assert_eq!(stream.finish().await.unwrap().text(), "second try");
}

#[tokio::test]
async fn an_answer_ends_where_the_task_waits_although_a_subscription_would_go_on() {
    for in_snapshot in [true, false] {
        let server = server(move |number, _| match number {
            0 => broken(Binding::Rest, How::Lost, &[task_event("WORKING")]),
            _ if in_snapshot => broken(
                Binding::Rest,
                How::Silent,
                &[with_artifact("INPUT_REQUIRED", r#"{"text":"so far"}"#)],
            ),
            _ => broken(
                Binding::Rest,
                How::Silent,
                &[
                    with_artifact("WORKING", r#"{"text":"so far"}"#),
                    status_event("INPUT_REQUIRED"),
                ],
            ),
        })
        .await;
        let mut stream = client(Binding::Rest, &server).stream("hi").await.unwrap();
        let expected = ["task working", r#"="so far""#, "input-required"];
        assert_eq!(shown(&mut stream).await, expected);
        let reply = stream.finish().await.unwrap();
        assert_eq!(reply.state(), Some(TaskState::InputRequired));
        assert_eq!(server.requests().len(), 2);
    }
}

#[tokio::test]
async fn a_subscription_is_continued_from_its_very_beginning_and_over_a_question() {
    let server = server(|number, _| match number {
        0 => broken(Binding::Rest, How::Lost, &[]),
        1 => broken(Binding::Rest, How::Lost, &[task_event("INPUT_REQUIRED")]),
        _ => whole(
            Binding::Rest,
            &[task_event("WORKING"), status_event("COMPLETED")],
        ),
    })
    .await;
    let mut stream = client(Binding::Rest, &server)
        .subscribe("t1")
        .await
        .unwrap();
    let expected = ["task input-required", "working", "completed"];
    assert_eq!(shown(&mut stream).await, expected);
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_message_is_never_sent_again() {
    // Whether the agent has got it is not known: the stream broke before its first event.
    for how in [How::Lost, How::EndedByTheServer] {
        let server = server(move |_, _| broken(Binding::Rest, how, &[])).await;
        let message = Outgoing::text("hi").in_task("t1");
        let mut stream = client(Binding::Rest, &server)
            .stream(message)
            .await
            .unwrap();
        let error = stream.next().await.unwrap().unwrap_err();
        assert!(error.is_interrupted_stream(), "{error:?}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn it_is_given_up_when_nothing_new_comes() {
    let working = || task_event("WORKING");
    type Act = fn() -> Action;
    let cases: [(Act, usize, &str); 4] = [
        // No server, a busy one, and one that breaks off again and again.
        (|| Action::Reset, 3, "could not be continued (attempt 3): "),
        (
            || Action::Send(response(503, "text/plain", "busy")),
            3,
            "could not be continued (attempt 3): ",
        ),
        (
            || broken(Binding::Rest, How::Lost, &[task_event("WORKING")]),
            3,
            "was continued 3 times without anything new",
        ),
        // A task that is gone is not asked for again and again.
        (
            || {
                Action::Send(response(
                    404,
                    "application/json",
                    r#"{"error":{"code":404,"message":"no such task"}}"#,
                ))
            },
            2,
            "could not be continued (attempt 1): the agent answered with an error: ",
        ),
    ];
    for (act, further, expected) in cases {
        let server = server(move |number, _| match number {
            0 => broken(Binding::Rest, How::Lost, &[working()]),
            _ => act(),
        })
        .await;
        let builder = builder(Binding::Rest).resume_attempts(3);
        let mut stream = server.client(builder).stream("hi").await.unwrap();
        assert!(stream.next().await.unwrap().is_ok());
        let error = stream.next().await.unwrap().unwrap_err();
        assert!(error.is_interrupted_stream(), "{error:?}");
        assert_eq!(error.task_id(), Some("t1"));
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.to_string().contains(r#"subscribe to task "t1""#));
        assert!(stream.next().await.is_none());
        assert_eq!(server.requests().len(), 1 + further, "{expected}");
    }
}

#[tokio::test]
async fn each_news_begins_the_count_anew() {
    const BREAKS: usize = 6;
    let server = server(|number, _| {
        let text = format!(r#"{{"text":"{}"}}"#, "x".repeat(number + 1));
        if number < BREAKS {
            broken(Binding::Rest, How::Lost, &[with_artifact("WORKING", &text)])
        } else {
            whole(Binding::Rest, &[with_artifact("COMPLETED", &text)])
        }
    })
    .await;
    let builder = builder(Binding::Rest).resume_attempts(1);
    let stream = server.client(builder).stream("hi").await.unwrap();
    let reply = stream.finish().await.unwrap();
    assert_eq!(reply.text(), "x".repeat(BREAKS + 1));
    assert_eq!(server.requests().len(), BREAKS + 1);
}

#[tokio::test]
async fn it_can_be_switched_off() {
    for how in [How::Lost, How::EndedByTheServer, How::Silent] {
        let server = server(move |_, _| broken(Binding::Rest, how, &[task_event("WORKING")])).await;
        let builder = builder(Binding::Rest).resume_attempts(0);
        let stream = server.client(builder).stream("hi").await.unwrap();
        let error = stream.finish().await.unwrap_err();
        assert_eq!(error.is_timeout(), matches!(how, How::Silent), "{error:?}");
        assert_eq!(error.task_id(), Some("t1"));
        assert!(!error.to_string().contains("continued"), "{error}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn an_error_of_the_agent_is_not_a_break() {
    for last in [
        r#"{"error":{"code":500,"status":"INTERNAL","message":"broken"}}"#,
        "hello",
    ] {
        let sent = [task_event("WORKING"), last.to_owned()];
        let server = server(move |_, _| broken(Binding::Rest, How::Lost, &sent)).await;
        let stream = client(Binding::Rest, &server).stream("hi").await.unwrap();
        assert!(!stream.finish().await.unwrap_err().is_interrupted_stream());
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_continuation_that_does_not_begin_with_the_task_is_not_guessed_at() {
    for state in ["COMPLETED", "WORKING"] {
        let server = server(move |number, _| match number {
            0 => broken(
                Binding::Rest,
                How::Lost,
                &[
                    task_event("WORKING"),
                    artifact_event(false, r#"{"text":"Hel"}"#),
                ],
            ),
            1 => whole(
                Binding::Rest,
                &[
                    artifact_event(true, r#"{"text":"lo"}"#),
                    status_event("COMPLETED"),
                ],
            ),
            _ => json(task(
                state,
                r#"{"artifactId":"response","parts":[{"text":"Hello, you"}]}"#,
            )),
        })
        .await;
        let mut stream = client(Binding::Rest, &server).stream("hi").await.unwrap();
        let shown = shown(&mut stream).await;
        if state == "COMPLETED" {
            let expected = ["task working", r#"="Hel""#, r#"+"lo, you""#, "completed"];
            assert_eq!(shown, expected);
            assert_eq!(stream.finish().await.unwrap().text(), "Hello, you");
        } else {
            assert!(
                shown[2].contains("does not begin with the task"),
                "{shown:?}"
            );
            assert!(stream.finish().await.unwrap_err().is_interrupted_stream());
        }
    }
}

#[tokio::test]
async fn a_continuation_says_who_asks_and_what_is_supported() {
    let server = server(|number, _| match number {
        0 => broken(Binding::Rest, How::Lost, &[task_event("WORKING")]),
        _ => whole(Binding::Rest, &[task_event("COMPLETED")]),
    })
    .await;
    let builder = builder(Binding::Rest).bearer("s3cret").extension("urn:a");
    let message = Outgoing::text("hi").extension("urn:b");
    let stream = server.client(builder).stream(message).await.unwrap();
    stream.finish().await.unwrap();
    for request in server.requests() {
        assert_eq!(request.header("authorization"), Some("Bearer s3cret"));
        assert_eq!(request.header("a2a-extensions"), Some("urn:a,urn:b"));
    }
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn an_event_that_nobody_waited_for_is_not_lost_while_the_stream_is_continued() {
    let server = server(|number, _| match number {
        0 => broken(Binding::Rest, How::Lost, &[task_event("WORKING")]),
        _ => whole(
            Binding::Rest,
            &[
                with_artifact("WORKING", r#"{"text":"a"}"#),
                artifact_event(true, r#"{"text":"b"}"#),
                status_event("COMPLETED"),
            ],
        ),
    })
    .await;
    let mut stream = client(Binding::Rest, &server).stream("hi").await.unwrap();
    let mut shown = Vec::new();
    loop {
        // Each wait is given up after a moment, and another one begun.
        let wait = tokio::time::timeout(Duration::from_millis(1), stream.next());
        match wait.await {
            Ok(Some(event)) => shown.push(event.unwrap()),
            Ok(None) => break,
            Err(_) => {}
        }
    }
    assert_eq!(shown.len(), 4);
    assert_eq!(stream.finish().await.unwrap().text(), "ab");
    assert_eq!(server.requests().len(), 2);
}
