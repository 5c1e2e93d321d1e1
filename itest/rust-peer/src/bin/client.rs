//! The official Rust SDK's client against our `interop-agent`, over JSON-RPC and HTTP+JSON.
//!
//! ```text
//! client http://127.0.0.1:PORT/
//! ```
//!
//! Prints one line per check and ends with "N passed, N failed"; the exit code is 1 if anything failed.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Debug;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use a2a::{
    A2AError, AuthenticationInfo, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTasksRequest, Message, Part, PartContent, Role, SendMessageConfiguration,
    SendMessageRequest, SendMessageResponse, StreamResponse, SubscribeToTaskRequest, Task,
    TaskPushNotificationConfig, TaskState,
};
use a2a_client::{A2AClient, A2AClientFactory, Transport, agent_card::AgentCardResolver};
use axum::http::HeaderMap;
use futures::StreamExt as _;
use serde_json::{Value, json};
use tokio::sync::mpsc;

const ONE_CHECK: Duration = Duration::from_secs(60);
const NOBODYS: &str = "00000000-0000-4000-8000-000000000000";

type Outcome<T = ()> = Result<T, Box<dyn Error>>;
type Check = for<'a> fn(&'a Peer) -> Pin<Box<dyn Future<Output = Outcome> + 'a>>;

macro_rules! checks {
    ($($name:ident)+) => {
        &[$((stringify!($name), |peer| Box::pin($name(peer)))),+]
    };
}

const CHECKS: &[(&str, Check)] = checks! {
    send data_of_every_kind null_data integers large streams chunks burst direct_message fails asks
        lists cancels subscribes leaving_cancels_nothing errors push_configs push
};

/// What this SDK's client cannot do: binding (or `*`), check, and a piece of what the check says then.
/// Strict: a check that is listed and passes fails the run. See README.md.
const DIFFERS: &[(&str, &str, &str)] = &[
    ("*", "integers", "got Some(Data(Number(3.0)))"),
    (
        "*",
        "null_data",
        "Object {\"count\": Number(1.0), \"own\": Bool(true)}], wanted",
    ),
];

struct Peer {
    client: A2AClient<Box<dyn Transport>>,
}

/// Text, data and files of a task's artifacts. Numbers of data are doubles: this SDK's client goes
/// through protobuf, which knows no others (see `integers`).
#[derive(Default)]
struct Answer(BTreeMap<String, Vec<Part>>);

impl Answer {
    fn of(task: &Task) -> Self {
        let artifacts = task.artifacts.iter().flatten();
        Self(
            artifacts
                .map(|artifact| (artifact.artifact_id.clone(), artifact.parts.clone()))
                .collect(),
        )
    }

    fn add(&mut self, event: &StreamResponse) -> Outcome {
        let StreamResponse::ArtifactUpdate(update) = event else {
            return Ok(());
        };
        same(
            "an update without parts",
            update.artifact.parts.is_empty(),
            false,
        )?;
        let known = self
            .0
            .entry(update.artifact.artifact_id.clone())
            .or_default();
        if update.append != Some(true) {
            known.clear();
        }
        known.extend(update.artifact.parts.iter().cloned());
        Ok(())
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.0.values().flatten()
    }

    fn text(&self) -> String {
        self.parts().filter_map(Part::as_text).collect()
    }

    fn data(&self) -> Vec<Value> {
        let data = self.parts().filter_map(|part| match &part.content {
            PartContent::Data(value) => Some(doubles(value.clone())),
            _ => None,
        });
        data.collect()
    }

    /// The parts after the agent's own two.
    fn upstream(&self) -> Vec<Part> {
        let parts = self.parts().skip(2).cloned();
        parts.map(with_doubles).collect()
    }

    fn files(&self) -> Vec<Part> {
        let is_file =
            |part: &&Part| matches!(part.content, PartContent::Raw(_) | PartContent::Url(_));
        self.parts().filter(is_file).cloned().collect()
    }
}

impl Peer {
    async fn call(&self, request: SendMessageRequest) -> Outcome<Task> {
        match self.client.send_message(&request).await? {
            SendMessageResponse::Task(task) => Ok(task),
            SendMessageResponse::Message(message) => Err(format!("no task but {message:?}").into()),
        }
    }

    async fn send(&self, text: &str, parts: Vec<Part>) -> Outcome<Task> {
        self.call(request(text, parts)).await
    }

    async fn slow(&self) -> Outcome<Task> {
        let mut slow = request("slow", Vec::new());
        slow.configuration = Some(SendMessageConfiguration {
            return_immediately: Some(true),
            ..configuration()
        });
        let task = self.call(slow).await?;
        same("ended", task.status.state.is_terminal(), false)?;
        Ok(task)
    }

    /// All events until the server closes, with the rules that hold for every stream of ours.
    async fn stream(
        &self,
        request: SendMessageRequest,
    ) -> Outcome<(Task, TaskState, Answer, usize)> {
        let mut stream = self.client.send_streaming_message(&request).await?;
        let Some(StreamResponse::Task(task)) = stream.next().await.transpose()? else {
            return Err("the first event is no task".into());
        };
        let (mut answer, mut state, mut updates) = (Answer::of(&task), None, 0);
        while let Some(event) = stream.next().await.transpose()? {
            answer.add(&event)?;
            state = match event {
                StreamResponse::StatusUpdate(update) => Some(update.status.state),
                _ => None,
            };
            updates += 1;
        }
        let state = state.ok_or("the last event is no status update")?;
        Ok((task, state, answer, updates))
    }

    async fn get(&self, id: &str, history_length: Option<i32>) -> Result<Task, A2AError> {
        let request = GetTaskRequest {
            id: id.to_owned(),
            history_length,
            tenant: None,
        };
        self.client.get_task(&request).await
    }

    async fn cancel(&self, id: &str) -> Result<Task, A2AError> {
        let request = CancelTaskRequest {
            id: id.to_owned(),
            metadata: None,
            tenant: None,
        };
        self.client.cancel_task(&request).await
    }

    async fn subscribe(
        &self,
        id: &str,
    ) -> Result<futures::stream::BoxStream<'static, Result<StreamResponse, A2AError>>, A2AError>
    {
        let request = SubscribeToTaskRequest {
            id: id.to_owned(),
            tenant: None,
        };
        self.client.subscribe_to_task(&request).await
    }
}

fn request(text: &str, parts: Vec<Part>) -> SendMessageRequest {
    let parts = std::iter::once(Part::text(text)).chain(parts).collect();
    SendMessageRequest {
        message: Message::new(Role::User, parts),
        configuration: None,
        metadata: None,
        tenant: None,
    }
}

fn in_task(text: &str, id: &str) -> SendMessageRequest {
    let mut request = request(text, Vec::new());
    request.message.task_id = Some(id.to_owned());
    request
}

fn configuration() -> SendMessageConfiguration {
    SendMessageConfiguration {
        accepted_output_modes: None,
        task_push_notification_config: None,
        history_length: None,
        return_immediately: None,
    }
}

fn same<T: PartialEq + Debug>(what: &str, got: T, wanted: T) -> Outcome {
    if got == wanted {
        return Ok(());
    }
    let shown = |value: T| format!("{value:?}").chars().take(300).collect::<String>();
    Err(format!("{what}: got {}, wanted {}", shown(got), shown(wanted)).into())
}

fn is_error<T>(what: &str, got: Result<T, A2AError>, code: i32) -> Outcome {
    match got {
        Ok(_) => Err(format!("{what}: no error").into()),
        Err(error) => same(&format!("{what} ({error})"), error.code, code),
    }
}

fn same_data(got: Vec<Value>, wanted: Vec<Value>) -> Outcome {
    same("data", got, wanted.into_iter().map(doubles).collect())
}

fn with_doubles(mut part: Part) -> Part {
    if let PartContent::Data(value) = part.content {
        part.content = PartContent::Data(doubles(value));
    }
    part
}

fn doubles(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Null, Value::from),
        Value::Array(items) => items.into_iter().map(doubles).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(key, value)| (key, doubles(value)))
            .collect(),
        other => other,
    }
}

fn words(message: Option<&Message>) -> Option<&str> {
    message.and_then(Message::text)
}

fn nested() -> Value {
    json!({"z": 1, "a": [3, -1.5, 1e21], "text": "a \"quote\", \\, 한국어, 🦀", "none": null, "deep": {"of": [{}, []]}})
}

fn upstream() -> Vec<Part> {
    let mut first = Part::data(nested());
    first.metadata = Some([("origin".to_owned(), json!("rust-peer"))].into());
    let bytes: Vec<u8> = (0..=255).collect();
    vec![
        first,
        Part::raw(bytes.repeat(256))
            .with_filename("all-bytes.bin")
            .with_media_type("application/octet-stream"),
        Part::data(json!(["a list", {}, [], true])),
        Part::url("https://files.invalid/p%C3%A1gina?q=a%20b&n=1")
            .with_filename("page.html")
            .with_media_type("text/html"),
    ]
}

fn is_echo(answer: &Answer) -> Outcome {
    same("text", answer.text().as_str(), "echo: 2 data, 2 files")?;
    let own = json!({"own": true, "count": 4});
    same_data(
        answer.data(),
        vec![own, nested(), json!(["a list", {}, [], true])],
    )?;
    let sent = upstream();
    same(
        "files",
        answer.files(),
        vec![sent[1].clone(), sent[3].clone()],
    )?;
    same(
        "upstream",
        answer.upstream(),
        sent.into_iter().map(with_doubles).collect(),
    )
}

// === the checks ===

async fn send(peer: &Peer) -> Outcome {
    let task = peer.send("echo", upstream()).await?;
    same("state", task.status.state.clone(), TaskState::Completed)?;
    is_echo(&Answer::of(&task))?;
    is_echo(&Answer::of(&peer.get(&task.id, None).await?))
}

async fn data_of_every_kind(peer: &Peer) -> Outcome {
    for value in [
        json!({}),
        json!([]),
        json!([[null]]),
        json!("a string"),
        json!(""),
        json!(true),
        json!(-1.5),
    ] {
        let task = peer.send("echo", vec![Part::data(value.clone())]).await?;
        same_data(
            Answer::of(&task).data(),
            vec![json!({"own": true, "count": 1}), value],
        )?;
    }
    Ok(())
}

async fn null_data(peer: &Peer) -> Outcome {
    let task = peer.send("echo", vec![Part::data(Value::Null)]).await?;
    same_data(
        Answer::of(&task).data(),
        vec![json!({"own": true, "count": 1}), Value::Null],
    )
}

/// As they are, and not as doubles.
async fn integers(peer: &Peer) -> Outcome {
    for value in [
        json!(3),
        json!(9_007_199_254_740_993_u64),
        json!(u64::MAX),
        json!(i64::MIN),
    ] {
        let task = peer.send("echo", vec![Part::data(value.clone())]).await?;
        let last = Answer::of(&task)
            .parts()
            .last()
            .map(|part| part.content.clone());
        same("integer", last, Some(PartContent::Data(value)))?;
    }
    Ok(())
}

async fn large(peer: &Peer) -> Outcome {
    let parts = vec![
        Part::raw(b"0123456789".repeat(300_000)),
        Part::data((0..80_000).collect()),
    ];
    let task = peer.send("echo", parts.clone()).await?;
    let sent: Vec<Part> = parts.into_iter().map(with_doubles).collect();
    same("the same parts", Answer::of(&task).upstream() == sent, true)
}

async fn streams(peer: &Peer) -> Outcome {
    let (task, state, answer, _) = peer.stream(request("echo", upstream())).await?;
    same("state", state, TaskState::Completed)?;
    is_echo(&answer)?;
    is_echo(&Answer::of(&peer.get(&task.id, None).await?))
}

async fn chunks(peer: &Peer) -> Outcome {
    let (_, _, answer, updates) = peer
        .stream(request(
            "stream",
            vec![Part::data(json!({"from": "upstream"}))],
        ))
        .await?;
    same("more than one chunk", updates > 2, true)?;
    same("text", answer.text().as_str(), "one two three")?;
    same_data(
        answer.data(),
        vec![json!({"done": true}), json!({"from": "upstream"})],
    )
}

async fn burst(peer: &Peer) -> Outcome {
    let (_, _, answer, _) = peer.stream(request("burst", Vec::new())).await?;
    let wanted: String = (0..1_000).map(|n| format!("{n} ")).collect();
    same("text", answer.text(), wanted)
}

async fn direct_message(peer: &Peer) -> Outcome {
    match peer
        .client
        .send_message(&request("message", Vec::new()))
        .await?
    {
        SendMessageResponse::Message(message) => {
            same("text", message.text(), Some("a direct message"))
        }
        SendMessageResponse::Task(task) => Err(format!("a task: {task:?}").into()),
    }
}

async fn fails(peer: &Peer) -> Outcome {
    let task = peer.send("fail", vec![Part::data(json!({}))]).await?;
    same("state", task.status.state.clone(), TaskState::Failed)?;
    same(
        "reason",
        words(task.status.message.as_ref()),
        Some("the agent was asked to fail"),
    )?;
    same(
        "data of a failed turn",
        Answer::of(&task).data(),
        Vec::new(),
    )
}

async fn asks(peer: &Peer) -> Outcome {
    let task = peer.send("ask", Vec::new()).await?;
    same("state", task.status.state.clone(), TaskState::InputRequired)?;
    same(
        "question",
        words(task.status.message.as_ref()),
        Some("which?"),
    )?;
    let done = peer.call(in_task("this one", &task.id)).await?;
    same("context", &done.context_id, &task.context_id)?;
    same("text", Answer::of(&done).text().as_str(), "got: this one")?;
    let history = peer
        .get(&task.id, Some(100))
        .await?
        .history
        .unwrap_or_default();
    let ours = history.iter().filter(|message| message.role == Role::User);
    same(
        "history",
        ours.filter_map(Message::text).collect(),
        vec!["ask", "this one"],
    )?;
    let none = peer
        .get(&task.id, Some(0))
        .await?
        .history
        .unwrap_or_default();
    same("history of length 0", none.len(), 0)?;
    let (task, state, _, _) = peer.stream(request("ask", Vec::new())).await?;
    same("state of the stream", state, TaskState::InputRequired)?;
    let (again, state, answer, _) = peer.stream(in_task("this one", &task.id)).await?;
    same("task", again.id, task.id)?;
    same("state", state, TaskState::Completed)?;
    same("text", answer.text().as_str(), "got: this one")
}

async fn lists(peer: &Peer) -> Outcome {
    let first = peer.send("echo", Vec::new()).await?;
    let mut second = request("fail", Vec::new());
    second.message.context_id = Some(first.context_id.clone());
    let second = peer.call(second).await?;
    let list = ListTasksRequest {
        context_id: Some(first.context_id.clone()),
        status: None,
        page_size: None,
        page_token: None,
        history_length: None,
        status_timestamp_after: None,
        include_artifacts: None,
        tenant: None,
    };
    let all = peer.client.list_tasks(&list).await?;
    let mut ids: Vec<&str> = all.tasks.iter().map(|task| task.id.as_str()).collect();
    ids.sort_unstable();
    let mut both = vec![first.id.as_str(), second.id.as_str()];
    both.sort_unstable();
    same("ids", ids, both)?;
    same("total size", all.total_size, 2)?;
    let done = ListTasksRequest {
        status: Some(TaskState::Completed),
        include_artifacts: Some(true),
        ..list.clone()
    };
    let done = peer.client.list_tasks(&done).await?;
    let found = done
        .tasks
        .iter()
        .map(|task| (&task.id, task.artifacts.iter().flatten().count()));
    same(
        "completed, with artifacts",
        found.collect(),
        vec![(&first.id, 1)],
    )?;
    let page = ListTasksRequest {
        page_size: Some(1),
        ..list
    };
    let one = peer.client.list_tasks(&page).await?;
    let rest = ListTasksRequest {
        page_token: Some(one.next_page_token.clone()),
        ..page
    };
    let two = peer.client.list_tasks(&rest).await?;
    let ids: Vec<&String> = one
        .tasks
        .iter()
        .chain(&two.tasks)
        .map(|task| &task.id)
        .collect();
    same(
        "two pages of one",
        ids,
        all.tasks.iter().map(|task| &task.id).collect(),
    )?;
    same("the last token", two.next_page_token.as_str(), "")
}

async fn cancels(peer: &Peer) -> Outcome {
    let task = peer.slow().await?;
    same(
        "state",
        peer.cancel(&task.id).await?.status.state,
        TaskState::Canceled,
    )?;
    same(
        "state",
        peer.get(&task.id, None).await?.status.state,
        TaskState::Canceled,
    )?;
    is_error(
        "again",
        peer.cancel(&task.id).await,
        a2a::error_code::TASK_NOT_CANCELABLE,
    )
}

async fn subscribes(peer: &Peer) -> Outcome {
    let task = peer.slow().await?;
    let mut stream = peer.subscribe(&task.id).await?;
    match stream.next().await.transpose()? {
        Some(StreamResponse::Task(first)) => same("task", &first.id, &task.id)?,
        other => return Err(format!("the first event is {other:?}").into()),
    }
    peer.cancel(&task.id).await?;
    let mut last = None;
    while let Some(event) = stream.next().await.transpose()? {
        last = Some(event);
    }
    match last {
        Some(StreamResponse::StatusUpdate(update)) => {
            same("state", update.status.state, TaskState::Canceled)?
        }
        other => return Err(format!("the last event is {other:?}").into()),
    }
    is_error(
        "subscribe to what has ended",
        first_of(peer, &task.id).await,
        a2a::error_code::UNSUPPORTED_OPERATION,
    )
}

/// The error comes as the stream's first item or instead of the stream.
async fn first_of(peer: &Peer, id: &str) -> Result<Option<StreamResponse>, A2AError> {
    peer.subscribe(id).await?.next().await.transpose()
}

async fn leaving_cancels_nothing(peer: &Peer) -> Outcome {
    let mut stream = peer
        .client
        .send_streaming_message(&request("slow", Vec::new()))
        .await?;
    let id = loop {
        match stream.next().await.ok_or("the stream ended")?? {
            StreamResponse::ArtifactUpdate(update) => break update.task_id,
            _ => continue,
        }
    };
    drop(stream);
    let task = peer.get(&id, None).await?;
    same("state", task.status.state.clone(), TaskState::Working)?;
    same("text", Answer::of(&task).text().as_str(), "started")?;
    same(
        "state",
        peer.cancel(&id).await?.status.state,
        TaskState::Canceled,
    )
}

async fn errors(peer: &Peer) -> Outcome {
    let not_found = a2a::error_code::TASK_NOT_FOUND;
    is_error("get", peer.get(NOBODYS, None).await, not_found)?;
    is_error("cancel", peer.cancel(NOBODYS).await, not_found)?;
    is_error("subscribe", first_of(peer, NOBODYS).await, not_found)?;
    let lost = peer.client.send_message(&in_task("echo", NOBODYS)).await;
    is_error("send", lost, not_found)?;
    let task = peer.send("echo", Vec::new()).await?;
    let late = peer.client.send_message(&in_task("echo", &task.id)).await;
    is_error(
        "send to what has ended",
        late,
        a2a::error_code::UNSUPPORTED_OPERATION,
    )
}

async fn push_configs(peer: &Peer) -> Outcome {
    let task = peer.send("ask", Vec::new()).await?;
    let config = TaskPushNotificationConfig {
        id: Some("c-1".to_owned()),
        authentication: Some(bearer()),
        ..receiver_at("http://127.0.0.1:8009/hook", &task.id)
    };
    let created = peer.client.create_push_config(&config).await?;
    let named = GetTaskPushNotificationConfigRequest {
        task_id: task.id.clone(),
        id: "c-1".to_owned(),
        tenant: None,
    };
    let got = peer.client.get_push_config(&named).await?;
    for seen in [created, got] {
        same("url", &seen.url, &config.url)?;
        same("id", seen.id.as_deref(), Some("c-1"))?;
        let secrets = (
            seen.token,
            seen.authentication.and_then(|given| given.credentials),
        );
        same("secrets that are given back", secrets, (None, None))?;
    }
    let listing = ListTaskPushNotificationConfigsRequest {
        task_id: task.id.clone(),
        page_size: None,
        page_token: None,
        tenant: None,
    };
    same(
        "list",
        peer.client.list_push_configs(&listing).await?.configs.len(),
        1,
    )?;
    let named = DeleteTaskPushNotificationConfigRequest {
        task_id: task.id,
        id: "c-1".to_owned(),
        tenant: None,
    };
    peer.client.delete_push_config(&named).await?;
    same(
        "list after deletion",
        peer.client.list_push_configs(&listing).await?.configs.len(),
        0,
    )
}

/// One receiver comes with the message, one is added while the task waits; both hear of the end.
async fn push(peer: &Peer) -> Outcome {
    let (mut inline, mut added) = (Receiver::start().await?, Receiver::start().await?);
    let mut ask = request("ask", Vec::new());
    ask.configuration = Some(SendMessageConfiguration {
        task_push_notification_config: Some(TaskPushNotificationConfig {
            authentication: Some(bearer()),
            ..receiver_at(&inline.url, "")
        }),
        ..configuration()
    });
    let task = peer.call(ask).await?;
    let config = TaskPushNotificationConfig {
        token: Some("a token".to_owned()),
        ..receiver_at(&added.url, &task.id)
    };
    peer.client.create_push_config(&config).await?;
    peer.call(in_task("this one", &task.id)).await?;
    inline
        .until_the_end_of(&task.id, "authorization", "Bearer secret")
        .await?;
    added
        .until_the_end_of(&task.id, "x-a2a-notification-token", "a token")
        .await
}

fn bearer() -> AuthenticationInfo {
    AuthenticationInfo {
        scheme: "Bearer".to_owned(),
        credentials: Some("secret".to_owned()),
    }
}

fn receiver_at(url: &str, task_id: &str) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        url: url.to_owned(),
        id: None,
        task_id: task_id.to_owned(),
        token: None,
        authentication: None,
        tenant: None,
    }
}

struct Receiver {
    url: String,
    arrived: mpsc::UnboundedReceiver<(HeaderMap, String)>,
}

impl Receiver {
    async fn start() -> Outcome<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/hook", listener.local_addr()?);
        let (keep, arrived) = mpsc::unbounded_channel();
        let hook = axum::routing::post(move |headers: HeaderMap, body: String| async move {
            let _ = keep.send((headers, body));
        });
        let app = axum::Router::new().route("/hook", hook);
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok(Self { url, arrived })
    }

    async fn until_the_end_of(&mut self, task: &str, header: &str, value: &str) -> Outcome {
        loop {
            let (headers, body) = self.arrived.recv().await.ok_or("the receiver is gone")?;
            same(
                header,
                headers.get(header).and_then(|it| it.to_str().ok()),
                Some(value),
            )?;
            match serde_json::from_str(&body)? {
                StreamResponse::Task(seen) => same("task", seen.id.as_str(), task)?,
                StreamResponse::ArtifactUpdate(seen) => same("task", seen.task_id.as_str(), task)?,
                StreamResponse::StatusUpdate(seen) => {
                    same("task", seen.task_id.as_str(), task)?;
                    if seen.status.state == TaskState::Completed {
                        return Ok(());
                    }
                }
                StreamResponse::Message(seen) => return Err(format!("a message: {seen:?}").into()),
            }
        }
    }
}

// === running them ===

#[tokio::main]
async fn main() -> Outcome<ExitCode> {
    let url = std::env::args().nth(1).ok_or("no URL")?;
    let card = AgentCardResolver::new(None).resolve(&url).await?;
    let (mut passed, mut failed) = (0, 0);
    for binding in ["JSONRPC", "HTTP+JSON"] {
        let mut only = card.clone();
        only.supported_interfaces
            .retain(|interface| interface.protocol_binding == binding);
        let client = A2AClientFactory::builder()
            .build()
            .create_from_card(&only)
            .await?;
        let peer = Peer { client };
        for (name, check) in CHECKS {
            let began = Instant::now();
            let outcome = match tokio::time::timeout(ONE_CHECK, check(&peer)).await {
                Ok(outcome) => outcome.map_err(|error| error.to_string()),
                Err(_) => Err(format!("no end within {ONE_CHECK:?}")),
            };
            let known = DIFFERS
                .iter()
                .find(|(on, check, _)| (*on == "*" || *on == binding) && check == name);
            let (good, line) = match (outcome, known) {
                (Ok(()), None) => (true, format!("ok    {binding} {name}")),
                (Ok(()), Some(_)) => (
                    false,
                    format!("FAIL {binding} {name}: passes, but it is listed as known"),
                ),
                (Err(error), Some((_, _, says))) if error.contains(says) => {
                    (true, format!("known {binding} {name}: {error}"))
                }
                (Err(error), _) => (false, format!("FAIL {binding} {name}: {error}")),
            };
            println!("{line} ({} ms)", began.elapsed().as_millis());
            *(if good { &mut passed } else { &mut failed }) += 1;
        }
    }
    println!("{passed} passed, {failed} failed");
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
