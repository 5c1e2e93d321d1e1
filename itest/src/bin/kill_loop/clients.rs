//! Who sends tasks, and what was acknowledged to them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use llamon_agent::a2a::{ListTasksRequest, StreamEvent, Task, TaskFold, TaskState};
use llamon_agent::client::{Client, Outgoing};
use llamon_itest::durable::{answer_of, text_of};

use crate::figures::Figures;
use crate::receiver::Receiver;
use crate::{SENDERS, TASKS};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// How long a killed server may take to finish what it had begun.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Blocking,
    Streaming,
    Push,
}

/// What a client knows when its server has died.
pub(crate) struct Sent {
    pub(crate) kind: Kind,
    pub(crate) query: String,
    /// The task, if the client was told of it.
    pub(crate) task: Option<Task>,
}

fn query_of(round: usize, index: usize) -> String {
    let words = 3 + index % 9;
    let mut query = format!("round-{round}-task-{index}");
    for word in 0..words {
        query.push_str(&format!(" w{word}"));
    }
    query
}

/// Sends a round's tasks, some at a time, until they are done or the server is gone.
pub(crate) async fn send_all(url: &str, receiver: &Arc<Receiver>, round: usize) -> Vec<Sent> {
    let Ok(client) = Client::discover(url).await else {
        return Vec::new();
    };
    let send = |index: usize| {
        let (client, receiver) = (client.clone(), Arc::clone(receiver));
        async move {
            let query = query_of(round, index);
            let kind = [Kind::Blocking, Kind::Streaming, Kind::Push][index % 3];
            let task = match kind {
                Kind::Blocking => send(&client, &query).await,
                Kind::Streaming => stream_of(&client, &query).await,
                Kind::Push => push(&client, &query, &receiver).await,
            };
            Sent { kind, query, task }
        }
    };
    let sends = stream::iter((0..TASKS).map(send));
    sends.buffer_unordered(SENDERS).collect().await
}

fn message(query: &str) -> Outgoing {
    let upstream = llamon_agent::core::Part::data(&query).expect("a data part");
    Outgoing::text(query).with_part(upstream)
}

async fn send(client: &Client, query: &str) -> Option<Task> {
    let reply = client.send(message(query)).await.ok()?;
    reply.task().cloned()
}

/// What the stream has told until it ended or broke, folded.
async fn stream_of(client: &Client, query: &str) -> Option<Task> {
    let mut events = client.stream(message(query)).await.ok()?;
    let mut fold: Option<TaskFold> = None;
    while let Some(Ok(event)) = events.next().await {
        match (&mut fold, event) {
            (Some(fold), event) => fold.apply(&event),
            (None, StreamEvent::Task(task)) => fold = Some(TaskFold::new(Task::clone(&task))),
            (None, _) => return None,
        }
    }
    fold.map(TaskFold::into_task)
}

async fn push(client: &Client, query: &str, receiver: &Receiver) -> Option<Task> {
    let outgoing = message(query)
        .return_immediately()
        .with_push(receiver.config());
    let reply = client.send(outgoing).await.ok()?;
    reply.task().cloned()
}

/// Checks that each task that was acknowledged ends as if nothing had happened, and that what was
/// seen of it before is how it began.
pub(crate) async fn check_all(url: &str, sent: &[Sent], figures: &mut Figures) -> Result<()> {
    let client = Client::discover(url).await?;
    for sent in sent {
        figures.sent += 1;
        let Some(seen) = &sent.task else {
            continue;
        };
        figures.acknowledged += 1;
        let task = tokio::time::timeout(PATIENCE, finished(&client, &seen.id));
        let task = task
            .await
            .map_err(|_| format!("the task of {:?} does not end", sent.query))??;
        figures.finished_before += usize::from(seen.status.state.is_terminal());
        check_task(&sent.query, &task).map_err(|error| format!("{:?}: {error}", sent.kind))?;
        if seen.status.state.is_terminal() && *seen != task {
            return Err(format!(
                "{:?} was another one before: {seen:?}, {task:?}",
                sent.query
            )
            .into());
        }
        let (before, after) = (text(seen), text(&task));
        if !after.starts_with(&before) {
            return Err(
                format!("{:?}: {before:?} was seen, {after:?} is stored", sent.query).into(),
            );
        }
    }
    Ok(())
}

async fn finished(client: &Client, id: &str) -> Result<Task> {
    loop {
        let task = client.get(id).await?;
        if task.status.state.is_terminal() {
            return Ok(task);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn text(task: &Task) -> String {
    let response = task
        .artifacts
        .iter()
        .find(|artifact| &*artifact.artifact_id == "response");
    let parts = response.iter().flat_map(|artifact| &artifact.parts);
    parts.filter_map(|part| part.as_text()).collect()
}

fn check_task(query: &str, task: &Task) -> Result<()> {
    let wrong = |what: &str| Err(format!("{what} of {query:?} is wrong: {task:?}").into());
    if task.status.state != TaskState::Completed {
        return wrong("the state");
    }
    if text(task) != text_of(query) {
        return wrong("the text");
    }
    let [response] = &task.artifacts[..] else {
        return wrong("the number of artifacts");
    };
    let data: Vec<&str> = (response.parts.iter())
        .filter(|part| part.as_text().is_none())
        .map(|part| part.content_json())
        .collect();
    let (own, upstream) = (answer_of(query, 1).to_string(), format!("{query:?}"));
    if data != [own, upstream] {
        return wrong("the data");
    }
    if task.history.len() != 1 {
        return wrong("the history");
    }
    Ok(())
}

/// Checks that no task waits or works any more, and that each says what it was asked.
pub(crate) async fn check_nothing_is_left(url: &str) -> Result<()> {
    let client = Client::discover(url).await?;
    for state in [TaskState::Submitted, TaskState::Working] {
        let all_done = async {
            loop {
                let mut request = ListTasksRequest::default();
                request.status = Some(state);
                if client.list(request).await?.tasks.is_empty() {
                    return Ok::<_, llamon_agent::client::ClientError>(());
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let done = tokio::time::timeout(PATIENCE, all_done).await;
        done.map_err(|_| format!("a task is {state} for ever"))??;
    }
    let mut ids = HashSet::new();
    let mut request = ListTasksRequest::default();
    request.page_size = Some(100);
    request.include_artifacts = true;
    loop {
        let page = client.list(request.clone()).await?;
        for task in &page.tasks {
            if !ids.insert(task.id.clone()) {
                return Err(format!("the task {} is listed twice", task.id).into());
            }
        }
        if page.next_page_token.is_empty() {
            return Ok(());
        }
        request.page_token = Some(page.next_page_token.clone());
    }
}
