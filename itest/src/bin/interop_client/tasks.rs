//! Tasks: reading, listing, canceling, following and answering them.

use std::sync::Arc;

use llamon_agent::a2a::{
    ErrorCode, ListTasksRequest, Message, Role, StreamEvent, TaskRequest, TaskState,
};
use llamon_agent::client::{Outgoing, Reply};

use crate::peer::{Events, Outcome, Peer, is_error, next, said, same, task_id};

const NOBODYS: &str = "00000000-0000-4000-8000-000000000000";

pub(crate) async fn get_with_history(peer: &Peer) -> Outcome {
    let id = task_id(&peer.send("echo").await?)?;
    let with = |length| {
        let mut request = TaskRequest::new(id.as_str());
        request.history_length = Some(length);
        peer.client.get_with(request)
    };
    let said_by_us = |history: &[Message]| {
        let ours = history.iter().filter(|message| message.role == Role::User);
        ours.map(Message::query).collect::<Vec<_>>()
    };
    let task = with(100).await.map_err(said)?;
    same(
        "history",
        said_by_us(&task.history),
        vec!["echo".to_owned()],
    )?;
    let task = with(0).await.map_err(said)?;
    same("history of length 0", task.history.len(), 0)
}

pub(crate) async fn list(peer: &Peer) -> Outcome {
    let (context, first, second) = two_tasks(peer).await?;
    let mut request = ListTasksRequest::default();
    request.context_id = Some(context.into());
    let page = peer.client.list(request.clone()).await.map_err(said)?;
    let ids: Vec<&str> = page.tasks.iter().map(|task| &*task.id).collect();
    same("newest first", ids, vec![second.as_str(), first.as_str()])?;
    let artifacts: Vec<usize> = page.tasks.iter().map(|task| task.artifacts.len()).collect();
    same("artifacts that nobody asked for", artifacts, vec![0, 0])?;
    request.include_artifacts = true;
    request.status = Some(TaskState::Completed);
    let page = peer.client.list(request).await.map_err(said)?;
    let found: Vec<(&str, usize)> = page
        .tasks
        .iter()
        .map(|task| (&*task.id, task.artifacts.len()))
        .collect();
    same(
        "completed, with artifacts",
        found,
        vec![(first.as_str(), 1)],
    )
}

pub(crate) async fn list_pages(peer: &Peer) -> Outcome {
    let (context, first, second) = two_tasks(peer).await?;
    let mut request = ListTasksRequest::default();
    request.context_id = Some(context.into());
    request.page_size = Some(1);
    let mut ids = Vec::new();
    for _ in 0..3 {
        let page = peer.client.list(request.clone()).await.map_err(said)?;
        same("total size", page.total_size, 2)?;
        ids.extend(page.tasks.iter().map(|task| task.id.to_string()));
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = Some(page.next_page_token);
    }
    same("all pages", ids, vec![second, first])
}

/// A context with a task that completed and, later, one that failed.
async fn two_tasks(peer: &Peer) -> Outcome<(String, String, String)> {
    // Times have milliseconds; two tasks within one have no order.
    for _ in 0..20 {
        let first = peer.send("echo").await?;
        let context = first.context_id().ok_or("no context")?.to_owned();
        let message = Outgoing::text("fail").in_context(context.as_str());
        let second = peer.send(message).await?;
        same("context", second.context_id(), Some(context.as_str()))?;
        let at = |reply: &Reply| reply.task().and_then(|task| task.status.timestamp);
        if at(&second) > at(&first) {
            return Ok((context, task_id(&first)?, task_id(&second)?));
        }
    }
    Err("the second task is never later than the first".to_owned())
}

pub(crate) async fn cancel(peer: &Peer) -> Outcome {
    let id = peer.slow().await?;
    peer.cancel(&id).await?;
    let task = peer.get(&id).await?;
    same("state", task.status.state, TaskState::Canceled)
}

pub(crate) async fn cancel_completed(peer: &Peer) -> Outcome {
    let id = task_id(&peer.send("echo").await?)?;
    let late = peer.client.cancel(&id).await;
    is_error("cancel", late, ErrorCode::TaskNotCancelable)
}

pub(crate) async fn cancel_canceled(peer: &Peer) -> Outcome {
    let id = peer.slow().await?;
    peer.cancel(&id).await?;
    let again = peer.client.cancel(&id).await;
    is_error("cancel", again, ErrorCode::TaskNotCancelable)
}

pub(crate) async fn subscribe(peer: &Peer) -> Outcome {
    let id = peer.slow().await?;
    let mut stream = peer.client.subscribe(&id).await.map_err(said)?;
    match next(&mut stream).await? {
        StreamEvent::Task(task) => same("task", &*task.id, id.as_str())?,
        other => return Err(format!("the first event is no task: {other:?}")),
    }
    peer.cancel(&id).await?;
    let reply = stream.finish().await.map_err(said)?;
    same("state", reply.state(), Some(TaskState::Canceled))
}

pub(crate) async fn subscribe_ended(peer: &Peer) -> Outcome {
    let id = task_id(&peer.send("echo").await?)?;
    let late = peer.client.subscribe(&id).await;
    is_error("subscribe", late, ErrorCode::UnsupportedOperation)
}

/// A client that goes away cancels nothing.
pub(crate) async fn leaving(peer: &Peer) -> Outcome {
    let mut stream = peer.client.stream("slow").await.map_err(said)?;
    while !matches!(next(&mut stream).await?, StreamEvent::Artifact(_)) {}
    let id = stream.task_id().ok_or("no task")?.to_owned();
    drop(stream);
    // One of the peer's threads has to see that the connection is closed: a few round trips.
    for _ in 0..5 {
        let task = peer.get(&id).await?;
        same("state", task.status.state, TaskState::Working)?;
        same("text", &*task.payload().text(), "started")?;
    }
    peer.cancel(&id).await.map(drop)
}

pub(crate) async fn unknown_task(peer: &Peer) -> Outcome {
    let wanted = ErrorCode::TaskNotFound;
    let client = &peer.client;
    is_error("get", client.get(NOBODYS).await, wanted)?;
    is_error("cancel", client.cancel(NOBODYS).await, wanted)?;
    let message = Outgoing::text("echo").in_task(NOBODYS);
    is_error("send", client.send(message).await, wanted)?;
    is_error("subscribe", client.subscribe(NOBODYS).await, wanted)
}

pub(crate) async fn ended_task(peer: &Peer) -> Outcome {
    let id: Arc<str> = task_id(&peer.send("echo").await?)?.into();
    let late = || Outgoing::text("echo").in_task(Arc::clone(&id));
    let wanted = ErrorCode::UnsupportedOperation;
    is_error("send", peer.client.send(late()).await, wanted)
}

pub(crate) async fn asks(peer: &Peer) -> Outcome {
    let asked = peer.send("ask").await?;
    same("state", asked.state(), Some(TaskState::InputRequired))?;
    same("question", asked.status_text().as_deref(), Some("which?"))?;
    let id = task_id(&asked)?;
    // The context is the task's (A2A section 3.4.1).
    let answered = peer
        .send(Outgoing::text("this one").in_task(id.as_str()))
        .await?;
    same("task", task_id(&answered)?, id)?;
    same("context", answered.context_id(), asked.context_id())?;
    same("state", answered.state(), Some(TaskState::Completed))?;
    same("text", answered.text().as_str(), "got: this one")
}

pub(crate) async fn asks_in_a_stream(peer: &Peer) -> Outcome {
    let (id, _, answered) = asked_and_answered(peer).await?;
    same("task", task_id(&answered)?, id)?;
    same("state", answered.state(), Some(TaskState::Completed))?;
    same("text", answered.text().as_str(), "got: this one")
}

pub(crate) async fn an_answers_stream_begins_with_the_task(peer: &Peer) -> Outcome {
    let (_, events, _) = asked_and_answered(peer).await?;
    events.begin_with_the_task()
}

async fn asked_and_answered(peer: &Peer) -> Outcome<(String, Events, Reply)> {
    let (_, asked) = peer.stream("ask").await?;
    same("state", asked.state(), Some(TaskState::InputRequired))?;
    same("question", asked.status_text().as_deref(), Some("which?"))?;
    let id = task_id(&asked)?;
    let answer = Outgoing::text("this one").in_task(id.as_str());
    let (events, answered) = peer.stream(answer).await?;
    Ok((id, events, answered))
}
