//! The baseline: an axum handler that parses the request by derive with raw parts and writes the
//! same task. No store, no engine, no limits.

use std::borrow::Cow;
use std::convert::Infallible;
use std::io::Write as _;

use axum::Router;
use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::http::header;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt as _;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Outcome;
use crate::load::STREAM_CHUNKS;

#[tokio::main]
pub(crate) async fn serve() -> Outcome<()> {
    let app = Router::new()
        .route("/", post(handle))
        .layer(DefaultBodyLimit::max(16 * 1024 * 1024));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    #[expect(clippy::disallowed_methods, reason = "the baseline is plain axum")]
    axum::serve(listener, app).await?;
    Ok(())
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    message: Message<'a>,
}

#[derive(Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow)]
    message_id: Cow<'a, str>,
    #[serde(default)]
    context_id: String,
    #[serde(default)]
    task_id: String,
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    parts: Vec<&'a RawValue>,
}

#[derive(Serialize)]
struct Reply<'a, T> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: T,
}

#[derive(Serialize)]
struct TaskResult<'a> {
    task: Task<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Task<'a> {
    id: &'a str,
    context_id: &'a str,
    status: Status,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<Artifact<'a>>,
    history: Vec<Message<'a>>,
}

#[derive(Serialize)]
struct Status {
    state: &'static str,
    timestamp: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Artifact<'a> {
    artifact_id: &'static str,
    parts: Vec<&'a RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusResult<'a> {
    status_update: StatusUpdate<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusUpdate<'a> {
    task_id: &'a str,
    context_id: &'a str,
    status: Status,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactResult<'a> {
    artifact_update: ArtifactUpdate<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactUpdate<'a> {
    task_id: &'a str,
    context_id: &'a str,
    artifact: TextArtifact,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    append: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TextArtifact {
    artifact_id: &'static str,
    parts: [Text; 1],
}

#[derive(Serialize)]
struct Text {
    text: &'static str,
}

async fn handle(body: Bytes) -> Response {
    let Ok(request) = serde_json::from_slice::<Request<'_>>(&body) else {
        return "bad request".into_response();
    };
    let ids = (
        uuid::Uuid::new_v4().to_string(),
        uuid::Uuid::new_v4().to_string(),
    );
    let mut message = request.params.message;
    message.task_id.clone_from(&ids.0);
    message.context_id.clone_from(&ids.1);
    if request.method == "SendStreamingMessage" {
        return stream(request.id, &ids, message);
    }
    let done = serde_json::from_str::<&RawValue>(r#"{"text":"done"}"#);
    let upstream = message.parts.iter().skip(1).copied();
    let parts = done.into_iter().chain(upstream).collect();
    let task = Task {
        id: &ids.0,
        context_id: &ids.1,
        status: status("TASK_STATE_COMPLETED"),
        artifacts: vec![Artifact {
            artifact_id: "response",
            parts,
        }],
        history: vec![message],
    };
    let json = serde_json::to_vec(&reply(request.id, TaskResult { task })).unwrap_or_default();
    ([(header::CONTENT_TYPE, "application/json")], json).into_response()
}

fn stream(id: &RawValue, ids: &(String, String), message: Message<'_>) -> Response {
    let mut events = Vec::with_capacity(STREAM_CHUNKS + 3);
    let task = Task {
        id: &ids.0,
        context_id: &ids.1,
        status: status("TASK_STATE_SUBMITTED"),
        artifacts: Vec::new(),
        history: vec![message],
    };
    let status_update = |state| StatusResult {
        status_update: StatusUpdate {
            task_id: &ids.0,
            context_id: &ids.1,
            status: status(state),
        },
    };
    events.push(event(&reply(id, TaskResult { task })));
    events.push(event(&reply(id, status_update("TASK_STATE_WORKING"))));
    for index in 0..STREAM_CHUNKS {
        let artifact_update = ArtifactUpdate {
            task_id: &ids.0,
            context_id: &ids.1,
            artifact: TextArtifact {
                artifact_id: "response",
                parts: [Text {
                    text: "a chunk of some tokens ",
                }],
            },
            append: index > 0,
        };
        events.push(event(&reply(id, ArtifactResult { artifact_update })));
    }
    events.push(event(&reply(id, status_update("TASK_STATE_COMPLETED"))));
    Sse::new(futures_util::stream::iter(
        events.into_iter().map(Ok::<_, Infallible>),
    ))
    .into_response()
}

fn event(value: &impl Serialize) -> Event {
    Event::default().data(serde_json::to_string(value).unwrap_or_default())
}

fn reply<T>(id: &RawValue, result: T) -> Reply<'_, T> {
    Reply {
        jsonrpc: "2.0",
        id,
        result,
    }
}

fn status(state: &'static str) -> Status {
    #[expect(clippy::disallowed_methods, reason = "the baseline injects no clock")]
    let now = jiff::Timestamp::now();
    Status {
        state,
        timestamp: format!("{now:.3}"),
    }
}
