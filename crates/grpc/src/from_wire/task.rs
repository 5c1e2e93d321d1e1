use std::sync::Arc;

use llamon_core::Limits;
use llamon_core::a2a::{
    ArtifactUpdate, ListPushConfigsResponse, ListTasksResponse, SendResult, StatusUpdate,
    StreamEvent, Task, TaskStatus,
};
use llamon_core::json::ReadError;

use super::{
    artifact, each, message, metadata, missing, push_config, required_id, state, timestamp,
};
use crate::wire::{self, SendMessagePayload, StreamPayload};

/// A task.
///
/// # Errors
/// When `id` or `status` is missing, or a field is wrong; naming it.
pub fn task(task: wire::Task, limits: &Limits) -> Result<Task, ReadError> {
    let id = required_id(task.id, "id")?;
    let mut made = Task::new(id, task.context_id.into(), status(task.status, limits)?);
    made.artifacts = each(task.artifacts, "artifacts", |wire| artifact(wire, limits))?;
    made.history = each(task.history, "history", |wire| message(wire, limits))?;
    made.metadata = metadata(task.metadata, limits)?;
    Ok(made)
}

/// What SendMessage answers with.
///
/// # Errors
/// When it is neither, or a field is wrong; naming it.
pub fn send_message_response(
    response: wire::SendMessageResponse,
    limits: &Limits,
) -> Result<SendResult, ReadError> {
    match response.payload {
        Some(SendMessagePayload::Task(wire)) => {
            let task = task(wire, limits).map_err(|e| e.within("task"))?;
            Ok(SendResult::Task(Arc::new(task)))
        }
        Some(SendMessagePayload::Message(wire)) => {
            let message = message(wire, limits).map_err(|e| e.within("message"))?;
            Ok(SendResult::Message(Arc::new(message)))
        }
        None => Err(missing("one of task and message")),
    }
}

/// An event of a stream.
///
/// # Errors
/// When it is none of the four, or a field is wrong; naming it.
pub fn stream_response(
    response: wire::StreamResponse,
    limits: &Limits,
) -> Result<StreamEvent, ReadError> {
    match response.payload {
        Some(StreamPayload::Task(wire)) => {
            let task = task(wire, limits).map_err(|e| e.within("task"))?;
            Ok(StreamEvent::Task(Arc::new(task)))
        }
        Some(StreamPayload::Message(wire)) => {
            let message = message(wire, limits).map_err(|e| e.within("message"))?;
            Ok(StreamEvent::Message(Arc::new(message)))
        }
        Some(StreamPayload::StatusUpdate(wire)) => {
            let update = status_update(wire, limits);
            Ok(StreamEvent::Status(
                update.map_err(|e| e.within("statusUpdate"))?,
            ))
        }
        Some(StreamPayload::ArtifactUpdate(wire)) => {
            let update = artifact_update(wire, limits);
            Ok(StreamEvent::Artifact(
                update.map_err(|e| e.within("artifactUpdate"))?,
            ))
        }
        None => Err(missing(
            "one of task, message, statusUpdate and artifactUpdate",
        )),
    }
}

/// What ListTasks answers with.
///
/// # Errors
/// When a field is wrong; naming it.
pub fn list_tasks_response(
    page: wire::ListTasksResponse,
    limits: &Limits,
) -> Result<ListTasksResponse, ReadError> {
    let tasks = each(page.tasks, "tasks", |wire| task(wire, limits).map(Arc::new))?;
    let page_size = super::count(page.page_size, "pageSize")?;
    let total_size = super::count(page.total_size, "totalSize")?;
    Ok(ListTasksResponse::new(
        tasks,
        page.next_page_token,
        page_size,
        total_size as usize,
    ))
}

/// What ListTaskPushNotificationConfigs answers with.
///
/// # Errors
/// When a field is wrong; naming it.
pub fn list_push_configs_response(
    page: wire::ListTaskPushNotificationConfigsResponse,
) -> Result<ListPushConfigsResponse, ReadError> {
    let mut made = ListPushConfigsResponse::default();
    made.configs = each(page.configs, "configs", push_config)?;
    made.next_page_token = page.next_page_token;
    Ok(made)
}

fn status(status: Option<wire::TaskStatus>, limits: &Limits) -> Result<TaskStatus, ReadError> {
    let status = status.ok_or_else(|| missing("status"))?;
    let read = || {
        let state = state(status.state, "state")?.ok_or_else(|| missing("state"))?;
        let at = status.timestamp.map(|at| timestamp(at, "timestamp"));
        let mut made = TaskStatus::new(state, llamon_core::Timestamp::from_micros(0));
        made.timestamp = at.transpose()?;
        let said = status.message.map(|wire| message(wire, limits));
        made.message = said.transpose().map_err(|e| e.within("message"))?;
        Ok(made)
    };
    read().map_err(|error: ReadError| error.within("status"))
}

fn status_update(
    update: wire::TaskStatusUpdateEvent,
    limits: &Limits,
) -> Result<StatusUpdate, ReadError> {
    let task_id = required_id(update.task_id, "taskId")?;
    let status = status(update.status, limits)?;
    let mut made = StatusUpdate::new(task_id, update.context_id.into(), status);
    made.metadata = metadata(update.metadata, limits)?;
    Ok(made)
}

fn artifact_update(
    update: wire::TaskArtifactUpdateEvent,
    limits: &Limits,
) -> Result<ArtifactUpdate, ReadError> {
    let task_id = required_id(update.task_id, "taskId")?;
    let chunk = update.artifact.ok_or_else(|| missing("artifact"))?;
    let chunk = artifact(chunk, limits).map_err(|error| error.within("artifact"))?;
    let mut made = ArtifactUpdate::new(task_id, update.context_id.into(), chunk);
    made.append = update.append;
    made.last_chunk = update.last_chunk;
    made.metadata = metadata(update.metadata, limits)?;
    Ok(made)
}
