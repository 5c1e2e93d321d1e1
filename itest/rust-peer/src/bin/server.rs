//! An agent on the official Rust SDK's server, over JSON-RPC and HTTP+JSON, for our client.
//!
//! It does what `interop-agent` does: what is asked for is in the message's text. Prints `READY URL`
//! once it listens on a free port of loopback, and runs until it is stopped.

use std::sync::Arc;

use a2a::{
    A2AError, AgentCard, Artifact, Message, Part, PartContent, Role, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent,
};
use a2a_server::{
    AgentExecutor, DefaultRequestHandler, ExecutorContext, HttpPushSender, HttpPushSenderConfig,
    InMemoryPushConfigStore, InMemoryTaskStore, StaticAgentCard,
};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use serde_json::json;

const BURST: usize = 1_000;

type Events = BoxStream<'static, Result<StreamResponse, A2AError>>;

struct Interop;

impl AgentExecutor for Interop {
    fn execute(&self, context: ExecutorContext) -> Events {
        let Some(message) = context.message.clone() else {
            return stream::once(async { Err(A2AError::invalid_params("no message")) }).boxed();
        };
        let query: Vec<&str> = message.parts.iter().filter_map(Part::as_text).collect();
        let query = query.join("\n");
        let turn = Turn { context };
        // A new task is stored before its agent runs.
        let stored = turn.context.stored_task.as_ref();
        if stored.is_some_and(|task| task.status.state == TaskState::InputRequired) {
            return turn.of(vec![
                turn.status(TaskState::Working, None),
                turn.artifact(vec![Part::text(format!("got: {query}"))], false),
                turn.status(TaskState::Completed, None),
            ]);
        }
        if query == "message" {
            let said = turn.say("a direct message");
            return turn.of(vec![StreamResponse::Message(said)]);
        }
        let mut events = vec![
            turn.begun(message.clone()),
            turn.status(TaskState::Working, None),
        ];
        let completed = turn.status(TaskState::Completed, None);
        match query.as_str() {
            "echo" => events.extend([turn.artifact(echo(message.parts), false), completed]),
            "stream" => {
                events.push(turn.artifact(vec![Part::text("one ")], false));
                events.push(turn.artifact(vec![Part::text("two ")], true));
                events.push(turn.artifact(vec![Part::text("three")], true));
                events.push(turn.artifact(vec![Part::data(json!({"done": true}))], true));
                events.push(completed);
            }
            "burst" => {
                let chunk = |n| turn.artifact(vec![Part::text(format!("{n} "))], n > 0);
                events.extend((0..BURST).map(chunk));
                events.push(completed);
            }
            "slow" => {
                events.push(turn.artifact(vec![Part::text("started")], false));
                return turn.of(events).chain(stream::pending()).boxed();
            }
            "fail" => {
                events.push(turn.status(TaskState::Failed, Some("the agent was asked to fail")));
            }
            "ask" => events.push(turn.status(TaskState::InputRequired, Some("which?"))),
            other => {
                let text = format!("you said: {other}");
                events.extend([turn.artifact(vec![Part::text(text)], false), completed]);
            }
        }
        turn.of(events)
    }

    fn cancel(&self, context: ExecutorContext) -> Events {
        let turn = Turn { context };
        turn.of(vec![turn.status(TaskState::Canceled, None)])
    }
}

/// The agent's own number of parts, then the parts.
fn echo(parts: Vec<Part>) -> Vec<Part> {
    let is_data = |part: &&Part| matches!(part.content, PartContent::Data(_));
    let data = parts.iter().filter(is_data).count();
    let upstream: Vec<Part> = parts
        .into_iter()
        .filter(|part| !matches!(part.content, PartContent::Text(_)))
        .collect();
    let files = upstream.len() - data;
    let own = json!({"own": true, "count": upstream.len()});
    let text = Part::text(format!("echo: {data} data, {files} files"));
    [text, Part::data(own)]
        .into_iter()
        .chain(upstream)
        .collect()
}

struct Turn {
    context: ExecutorContext,
}

impl Turn {
    fn of(&self, events: Vec<StreamResponse>) -> Events {
        stream::iter(events.into_iter().map(Ok)).boxed()
    }

    fn begun(&self, message: Message) -> StreamResponse {
        StreamResponse::Task(Task {
            id: self.context.task_id.clone(),
            context_id: self.context.context_id.clone(),
            status: status(TaskState::Submitted, None),
            artifacts: None,
            history: Some(vec![message]),
            metadata: None,
        })
    }

    fn status(&self, state: TaskState, text: Option<&str>) -> StreamResponse {
        StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
            task_id: self.context.task_id.clone(),
            context_id: self.context.context_id.clone(),
            status: status(state, text.map(|text| self.say(text))),
            metadata: None,
        })
    }

    fn artifact(&self, parts: Vec<Part>, append: bool) -> StreamResponse {
        StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: self.context.task_id.clone(),
            context_id: self.context.context_id.clone(),
            artifact: Artifact {
                artifact_id: "response".to_owned(),
                name: None,
                description: None,
                parts,
                metadata: None,
                extensions: None,
            },
            append: Some(append),
            last_chunk: None,
            metadata: None,
        })
    }

    fn say(&self, text: &str) -> Message {
        let mut message = Message::new(Role::Agent, vec![Part::text(text)]);
        message.context_id = Some(self.context.context_id.clone());
        message
    }
}

fn status(state: TaskState, message: Option<Message>) -> TaskStatus {
    let now = std::time::SystemTime::now();
    TaskStatus {
        state,
        message,
        timestamp: Some(now.into()),
    }
}

fn card(url: &str) -> Result<AgentCard, serde_json::Error> {
    let at = |binding, path| json!({"url": format!("{url}{path}"), "protocolBinding": binding, "protocolVersion": "1.0"});
    let skill = json!({"id": "interop", "name": "Interop", "description": "Does what the query says", "tags": ["test"]});
    serde_json::from_value(json!({
        "name": "interop",
        "description": "Does what the query says",
        "version": "1.0.0",
        "supportedInterfaces": [at("JSONRPC", "/rpc"), at("HTTP+JSON", "/rest")],
        "capabilities": {"streaming": true, "pushNotifications": true},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [skill],
    }))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let card = card(&url)?;
    // Our receivers are on loopback.
    let sender = HttpPushSender::new(Some(HttpPushSenderConfig {
        validate_urls: false,
        ..HttpPushSenderConfig::default()
    }));
    let handler = DefaultRequestHandler::new(Interop, InMemoryTaskStore::new())
        .with_push_notifications(InMemoryPushConfigStore::new(), sender)
        .with_capabilities(card.capabilities.clone());
    let handler = Arc::new(handler);
    let app = axum::Router::new()
        .merge(a2a_server::agent_card::agent_card_router(Arc::new(
            StaticAgentCard::new(card),
        )))
        .nest(
            "/rpc",
            a2a_server::jsonrpc::jsonrpc_router(Arc::clone(&handler)),
        )
        .nest("/rest", a2a_server::rest::rest_router(handler));
    println!("READY {url}/");
    axum::serve(listener, app).await?;
    Ok(())
}
