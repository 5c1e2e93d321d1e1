//! The agents of the plan's steps, each in a process of its own.
//!
//! What an agent does in a turn is one line in the effects file. It answers with a text and a list
//! that are a function of what it was sent, so that a run that went wrong answers something else.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, HeaderName};
use axum::routing::{get, post};
use llamon_agent::core::Payload;
use llamon_agent::prelude::*;
use llamon_agent::server::backend::sqlite::SqliteStore;
use llamon_agent::server::{RepeatedMessages, Streaming};
use serde_json::{Value, json};

use crate::Outcome;
use crate::effects::{self, Effect};

/// Items of the list of each answer.
pub(crate) const ITEMS: usize = 6;

/// What an agent can do for a caller whose connection broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Its tasks are in a file, and it streams.
    Streaming,
    /// Its tasks are in a file, it has no streams, and it knows a message that it has had.
    Polled,
    /// It answers with messages and lists nothing: nobody can say what it has had.
    Unlisted,
    /// It answers with messages, and its list of tasks is always empty.
    Empty,
    /// As [`Kind::Streaming`], and first it asks.
    Asking,
}

impl Kind {
    /// Those of the plan that is run while they are killed.
    pub(crate) const ALL: [Self; 4] = [Self::Streaming, Self::Polled, Self::Unlisted, Self::Empty];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Streaming => "streaming",
            Self::Polled => "polled",
            Self::Unlisted => "unlisted",
            Self::Empty => "empty",
            Self::Asking => "asking",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter().chain([Self::Asking]);
        all.find(|kind| kind.as_str() == name)
    }

    /// Whether what became of a message can be found out.
    pub(crate) fn has_tasks(self) -> bool {
        matches!(self, Self::Streaming | Self::Polled | Self::Asking)
    }
}

/// `flow-kill agent KIND ADDRESS FOLDER`: serves until it is killed.
#[tokio::main]
pub(crate) async fn serve(mut args: impl Iterator<Item = String>) -> Outcome<()> {
    let usage = "usage: flow-kill agent KIND ADDRESS FOLDER";
    let kind = args
        .next()
        .and_then(|name| Kind::parse(&name))
        .ok_or(usage)?;
    let address = args.next().ok_or(usage)?;
    let folder = PathBuf::from(args.next().ok_or(usage)?);
    if kind.has_tasks() {
        serve_tasks(kind, &address, &folder).await
    } else {
        serve_messages(kind, &address, &folder).await
    }
}

/// The work of a turn, with the effect in its middle: a kill may fall on either side.
async fn work(
    folder: &Path,
    effect: Effect,
    query: &str,
    data: &[String],
) -> Outcome<(String, String)> {
    let hash = hash_of(effect.kind, query, data);
    tokio::time::sleep(Duration::from_millis(2 + hash % 12)).await;
    let folder = folder.to_owned();
    tokio::task::spawn_blocking(move || effects::append(&folder, &effect)).await??;
    tokio::time::sleep(Duration::from_millis(2 + hash % 9)).await;
    let list: Vec<String> = (0..ITEMS)
        .map(|item| format!("{hash:016x}-{item}"))
        .collect();
    Ok((format!("{hash:016x}"), json!({ "list": list }).to_string()))
}

fn hash_of(kind: Kind, query: &str, data: &[String]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (kind.as_str(), query, data).hash(&mut hasher);
    hasher.finish()
}

async fn serve_tasks(kind: Kind, address: &str, folder: &Path) -> Outcome<()> {
    let store = SqliteStore::open(folder.join(format!("{}.db", kind.as_str())))?;
    let card = AgentCard::new(kind.as_str(), "A step of a plan", "1.0.0").skill(Skill::new(
        "step",
        "Step",
        "Hashes what it is sent",
    ));
    let kept = Arc::<Path>::from(folder);
    let agent = move |turn: Turn| {
        let folder = Arc::clone(&kept);
        async move {
            if kind == Kind::Asking && turn.number() == 1 {
                return Ok(Answer::input_required("which one?")?);
            }
            let data = turn.upstream().data().filter_map(Part::data_json);
            let data: Vec<String> = data.map(str::to_owned).collect();
            let effect = Effect {
                kind,
                context: turn.context_id().to_owned(),
                message: turn.message().message_id.clone(),
                task: turn.task_id().to_owned(),
                attempt: turn.attempt(),
            };
            let worked = work(&folder, effect, turn.query(), &data).await;
            let (text, list) = worked.map_err(|error| AgentError::public(error.to_string()))?;
            if kind == Kind::Asking {
                return Ok(Answer::completed(format!("told: {}", turn.query()))?);
            }
            let payload = Payload::new().with_text(text);
            Ok::<_, AgentError>(Answer::completed(
                payload.with_part(Part::data_from_json(list)?),
            )?)
        }
    };
    let (streaming, repeats) = match kind {
        Kind::Polled => (Streaming::Off, RepeatedMessages::Recognised),
        _ => (Streaming::On, RepeatedMessages::Accepted),
    };
    let server = create_server(card, agent)
        .upstream_parts_policy("replace")
        .store(&store)
        .streaming(streaming)
        .repeated_messages(repeats)
        // The tests kill more often than a machine dies.
        .execution(Execution::AtLeastOnce {
            max_attempts: 1_000,
        })
        .await?
        .bind(address)
        .await?;
    ready(&format!("{}/", server.url()))?;
    server.serve().await?;
    Ok(())
}

fn ready(url: &str) -> Outcome<()> {
    let mut out = std::io::stdout();
    writeln!(out, "READY {url}")?;
    out.flush()?;
    Ok(())
}

struct Messages {
    kind: Kind,
    folder: PathBuf,
    url: String,
}

/// An agent that our server cannot be: one that has no tasks at all.
async fn serve_messages(kind: Kind, address: &str, folder: &Path) -> Outcome<()> {
    let listener = tokio::net::TcpListener::bind(address).await?;
    let url = format!("http://{}/", listener.local_addr()?);
    let messages = Messages {
        kind,
        folder: folder.to_owned(),
        url: url.clone(),
    };
    let router = Router::new()
        .route("/.well-known/agent-card.json", get(card))
        .route("/", post(answer))
        .with_state(Arc::new(messages));
    ready(&url)?;
    #[expect(
        clippy::disallowed_methods,
        reason = "only the runner that is tested connects to it"
    )]
    axum::serve(listener, router).await?;
    Ok(())
}

type JsonBody = ([(HeaderName, &'static str); 1], String);

fn body(value: &Value) -> JsonBody {
    ([(CONTENT_TYPE, "application/json")], value.to_string())
}

async fn card(State(agent): State<Arc<Messages>>) -> JsonBody {
    let name = agent.kind.as_str();
    body(&json!({
        "name": name,
        "description": "A step of a plan",
        "version": "1.0.0",
        "supportedInterfaces": [
            {"url": agent.url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": false},
        "defaultInputModes": ["text/plain", "application/json"],
        "defaultOutputModes": ["text/plain", "application/json"],
        "skills": [{"id": "step", "name": "Step", "description": "Hashes what it is sent", "tags": ["step"]}]
    }))
}

async fn answer(State(agent): State<Arc<Messages>>, request: Bytes) -> JsonBody {
    let request: Value = serde_json::from_slice(&request).unwrap_or_default();
    let outcome = match (request["method"].as_str(), agent.kind) {
        (Some("SendMessage"), _) => said(&agent, &request["params"]["message"]).await,
        (Some("ListTasks"), Kind::Empty) => {
            Ok(json!({"tasks": [], "nextPageToken": "", "pageSize": 1, "totalSize": 0}))
        }
        _ => Err(json!({"code": -32601, "message": "there is no such method"})),
    };
    let (name, value) = match outcome {
        Ok(result) => ("result", result),
        Err(error) => ("error", error),
    };
    body(&json!({"jsonrpc": "2.0", "id": request["id"], name: value}))
}

async fn said(agent: &Messages, message: &Value) -> Result<Value, Value> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let empty = Vec::new();
    let parts = message["parts"].as_array().unwrap_or(&empty);
    let texts = parts.iter().filter_map(|part| part["text"].as_str());
    let query = texts.collect::<Vec<_>>().join("\n");
    let data = parts.iter().filter_map(|part| part.get("data"));
    let data: Vec<String> = data.map(Value::to_string).collect();
    let (context, message_id) = (text(&message["contextId"]), text(&message["messageId"]));
    let effect = Effect {
        kind: agent.kind,
        context: context.clone(),
        message: message_id.clone(),
        task: "-".to_owned(),
        attempt: 1,
    };
    let worked = work(&agent.folder, effect, &query, &data).await;
    let (text, list) =
        worked.map_err(|error| json!({"code": -32603, "message": error.to_string()}))?;
    let list: Value = serde_json::from_str(&list).unwrap_or_default();
    Ok(json!({"message": {
        "messageId": format!("{message_id}/answer"),
        "contextId": context,
        "role": "ROLE_AGENT",
        "parts": [{"text": text}, {"data": list}]
    }}))
}
