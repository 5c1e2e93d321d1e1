//! Agents that answer with what is no answer.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Response, header};
use axum::routing::{get, post};
use futures_util::stream;
use llamon_flow::run::{Runner, RunnerSettings};
use llamon_flow::store::{CallState, RunStore, StoredRun};
use llamon_itest::agents::card;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::support::{Log, completed, input, marker, plan, runner};

/// An agent with a card that says it streams or not, and that answers every call with this.
struct Liar {
    url: String,
    running: JoinHandle<()>,
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl Liar {
    async fn start(
        streams: bool,
        answer: impl Fn() -> Response<Body> + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut card = serde_json::to_value(card("liar")).unwrap();
        card["capabilities"] = json!({"streaming": streams});
        card["supportedInterfaces"] =
            json!([{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]);
        let card = card.to_string();
        let router = Router::new()
            .route(
                "/.well-known/agent-card.json",
                get(move || std::future::ready(answered("application/json", card.clone()))),
            )
            .route("/", post(move || std::future::ready(answer())));
        #[expect(
            clippy::disallowed_methods,
            reason = "only the runner that is tested connects to it"
        )]
        let running = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, running }
    }
}

fn answered(media_type: &str, body: impl Into<Body>) -> Response<Body> {
    Response::builder()
        .header(header::CONTENT_TYPE, media_type)
        .body(body.into())
        .unwrap()
}

fn result(result: &Value) -> Response<Body> {
    let body = json!({"jsonrpc": "2.0", "id": "1", "result": result});
    answered("application/json", body.to_string())
}

fn events(events: &[Value]) -> Response<Body> {
    let lines: String = (events.iter())
        .map(|event| json!({"jsonrpc": "2.0", "id": "1", "result": event}))
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    answered("text/event-stream", lines)
}

fn task(id: &str, state: &str) -> Value {
    json!({"task": {
        "id": id,
        "contextId": "c",
        "status": {"state": state},
        "artifacts": [{"artifactId": "response", "parts": [{"text": "a lie"}]}],
    }})
}

/// A run with a step that calls the liar beside a branch of honest agents, whose answer is the
/// run's.
async fn beside_a_branch(liar: &Liar) -> (Vec<String>, StoredRun) {
    let honest = marker("honest", "append", Log::default()).await;
    let plan = plan(&format!(
        "steps:
  good: {{agent: '{honest}', from: [input]}}
  bad: {{agent: '{liar}', from: [input], on_error: continue, timeout: 20s, retry: {{attempts: 2, backoff: 1ms}}}}
  better: {{agent: '{honest}', from: [good]}}
outputs: [better]
",
        honest = honest.url(),
        liar = liar.url
    ));
    let runner = runner();
    let (id, stand) = runner.run(&plan, input()).await.unwrap();
    let stored = runner.store().load(&id).await.unwrap();
    (completed(stand), stored)
}

fn reason_of(stored: &StoredRun, step: &str) -> String {
    let mut calls = stored.calls.iter();
    let call = calls.find(|call| call.id.step == step).unwrap();
    assert_eq!(call.state, CallState::Failed, "{call:?}");
    assert!(call.parts.is_empty(), "{call:?}");
    call.reason.clone().unwrap()
}

type Answer = fn() -> Response<Body>;

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_garbage_fails_its_step_alone_and_says_why() {
    let deep = || {
        let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":"1","result":{{"message":{{"messageId":"m","role":"ROLE_AGENT","parts":[{{"data":{deep}}}]}}}}}}"#
        );
        answered("application/json", body)
    };
    // Two of three bytes that a character needs.
    let no_text = || answered("application/json", vec![b'{', 0xe2, 0x82]);
    // It never ends.
    let endless = || {
        let chunk = Ok::<_, Infallible>(Bytes::from(vec![b' '; 1 << 20]));
        let body = Body::from_stream(stream::repeat_with(move || chunk.clone()));
        answered("application/json", body)
    };
    let cases: [(bool, Answer, &str); 12] = [
        (
            false,
            || answered("text/html", "<html>hello</html>"),
            "not A2A 1.0",
        ),
        (false, || answered("application/json", ""), "not A2A 1.0"),
        (
            false,
            || answered("application/json", "{\"jsonrpc\""),
            "not A2A 1.0",
        ),
        (false, no_text, "UTF-8"),
        (false, || result(&json!({})), "task"),
        (false, || result(&json!({"task": 7})), "task"),
        (false, || result(&json!({"task": {"id": "t"}})), "task"),
        (
            false,
            || result(&task("t", "TASK_STATE_DREAMING")),
            "TASK_STATE_DREAMING",
        ),
        (false, deep, "deep"),
        (false, endless, "bytes"),
        (
            true,
            || answered("text/event-stream", "data: hello\n\n"),
            "not A2A 1.0",
        ),
        (true, || answered("text/event-stream", ""), "not A2A 1.0"),
    ];
    let mut found = Vec::new();
    for (at, (streams, answer, expected)) in cases.into_iter().enumerate() {
        let liar = Liar::start(streams, answer).await;
        let (answer, stored) = beside_a_branch(&liar).await;
        assert_eq!(answer.len(), 4, "{answer:?}");
        let reason = reason_of(&stored, "bad");
        if !reason.contains(expected) {
            found.push(format!("case {at}, {expected:?}: {reason}"));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_speaks_of_another_task_fails_its_step() {
    let liar = Liar::start(true, || {
        let update = json!({"taskId": "another", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}});
        events(&[task("mine", "TASK_STATE_WORKING"), json!({"statusUpdate": update})])
    })
    .await;
    let (answer, stored) = beside_a_branch(&liar).await;
    assert_eq!(answer.len(), 4);
    let reason = reason_of(&stored, "bad");
    assert!(reason.contains("\"another\""), "{reason}");
}

/// One task is the answer to one message: who gives the same one to two steps is believed once.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_answers_with_another_step_s_task_is_believed_once() {
    for streams in [false, true] {
        let liar = Liar::start(streams, move || {
            let task = task("the-only-one", "TASK_STATE_COMPLETED");
            if streams {
                events(&[task])
            } else {
                result(&task)
            }
        })
        .await;
        let plan = plan(&format!(
            "steps:
  first: {{agent: '{liar}', from: [input]}}
  second: {{agent: '{liar}', from: [first], on_error: continue, text: again}}
outputs: [first]
",
            liar = liar.url
        ));
        let runner = runner();
        let (id, stand) = runner.run(&plan, input()).await.unwrap();
        assert_eq!(completed(stand), [r#"{"text":"a lie"}"#]);
        let stored = runner.store().load(&id).await.unwrap();
        let reason = reason_of(&stored, "second");
        assert!(
            reason.contains("\"the-only-one\"") && reason.contains("first"),
            "{reason}"
        );
    }
}

/// An agent that accepts and never answers costs its step its time, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_never_answers_fails_its_step_in_time() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let holds = tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((socket, _)) = silent.accept().await {
            open.push(socket);
        }
    });
    let honest = marker("honest", "replace", Log::default()).await;
    let plan = plan(&format!(
        "steps:
  good: {{agent: '{}', from: [input]}}
  bad: {{agent: '{url}', from: [input], on_error: continue, timeout: 300ms, retry: {{attempts: 1}}}}
outputs: [good]
",
        honest.url()
    ));
    let settings = RunnerSettings::default();
    let runner = Runner::with_settings(RunStore::in_memory().unwrap(), settings);
    let run = tokio::time::timeout(Duration::from_secs(60), runner.run(&plan, input()));
    let (id, stand) = run.await.expect("it ends").unwrap();
    assert_eq!(completed(stand).len(), 2);
    let stored = runner.store().load(&id).await.unwrap();
    let reason = reason_of(&stored, "bad");
    assert!(reason.contains("300ms"), "{reason}");
    holds.abort();
}
