//! Agents that answer without tasks: nobody can say whether a message has reached them.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use llamon_agent::core::Payload;
use llamon_flow::run::Runner;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::support::{completed, plan, runner};

/// An agent that answers its second message and not its first, with a list of a test's choice.
struct Agent {
    url: String,
    list: Value,
    /// The ids of its messages.
    got: Mutex<Vec<String>>,
    begun: Notify,
}

async fn start(list: Value) -> Arc<Agent> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let agent = Arc::new(Agent {
        url: format!("http://{}/", listener.local_addr().unwrap()),
        list,
        got: Mutex::default(),
        begun: Notify::new(),
    });
    let router = Router::new()
        .route("/.well-known/agent-card.json", get(card))
        .route("/", post(answer))
        .with_state(Arc::clone(&agent));
    #[expect(clippy::disallowed_methods, reason = "only the runner connects to it")]
    tokio::spawn(async move { axum::serve(listener, router).await });
    agent
}

async fn card(State(agent): State<Arc<Agent>>) -> impl IntoResponse {
    let card = json!({
        "name": "messages", "description": "Has no tasks", "version": "1.0.0",
        "supportedInterfaces": [
            {"url": agent.url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": false},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "S", "description": "Answers", "tags": ["s"]}]
    });
    ([(CONTENT_TYPE, "application/json")], card.to_string())
}

async fn answer(State(agent): State<Arc<Agent>>, request: Bytes) -> impl IntoResponse {
    let request: Value = serde_json::from_slice(&request).unwrap();
    let mut reply = json!({"jsonrpc": "2.0", "id": request["id"]});
    if request["method"] == "ListTasks" {
        let is_of_context = request["params"].get("contextId").is_some();
        match &agent.list {
            Value::Array(tasks) => {
                let tasks = if is_of_context { &[][..] } else { tasks };
                reply["result"] = json!({"tasks": tasks, "nextPageToken": "", "pageSize": 1, "totalSize": tasks.len()});
            }
            error => reply["error"] = error.clone(),
        }
    } else {
        let message = &request["params"]["message"];
        let count = {
            let mut got = agent.got.lock().unwrap();
            got.push(message["messageId"].as_str().unwrap().to_owned());
            got.len()
        };
        agent.begun.notify_one();
        if count == 1 {
            std::future::pending::<()>().await;
        }
        reply["result"] = json!({"message": {
            "messageId": "answer", "contextId": message["contextId"], "role": "ROLE_AGENT",
            "parts": [{"text": "done"}]
        }});
    }
    ([(CONTENT_TYPE, "application/json")], reply.to_string())
}

/// Runs until the agent has the message, dies, and goes on: how often the run says that the
/// message may have been sent twice.
async fn repeats(agent: &Arc<Agent>) -> u32 {
    let plan = plan(&format!(
        "steps:\n  s: {{agent: '{}', from: [input]}}\noutputs: [s]\n",
        agent.url
    ));
    let runner: Runner = runner();
    let id = runner
        .begin(&plan, Payload::new().with_text("begin"))
        .await
        .unwrap();
    let (driver, run) = (runner.clone(), id.clone());
    let driven =
        tokio::spawn(async move { driver.drive(&run, &(), &CancellationToken::new()).await });
    agent.begun.notified().await;
    driven.abort();
    assert!(driven.await.unwrap_err().is_cancelled());
    let stand = runner.drive(&id, &(), &CancellationToken::new()).await;
    completed(stand.unwrap());
    let message = format!("{id}/s/1");
    assert_eq!(*agent.got.lock().unwrap(), [message.clone(), message]);
    let stored = runner.store().load(&id).await.unwrap();
    stored.calls[0].possibly_repeated
}

/// What is sent again is counted, but where the agent's list shows that it has tasks and not this
/// one.
#[tokio::test(flavor = "multi_thread")]
async fn what_may_have_arrived_and_is_sent_again_is_reported() {
    let other =
        json!({"id": "t", "contextId": "other", "status": {"state": "TASK_STATE_COMPLETED"}});
    for (list, expected) in [
        (json!({"code": -32601, "message": "no such method"}), 1),
        (json!({"code": -32004, "message": "no list"}), 1),
        (json!([]), 1),
        (json!([other]), 0),
    ] {
        let agent = start(list.clone()).await;
        assert_eq!(repeats(&agent).await, expected, "{list}");
    }
}
