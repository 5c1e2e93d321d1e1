use llamon_core::a2a::{
    ListPushConfigsResponse, ListTasksResponse, Secrets, SendResult, StatusUpdate, StreamEvent,
    Task, TaskPushConfig, TaskStatus, TaskView,
};
use llamon_core::json::ReadError;

use super::{artifact, each, int32, message, metadata, state, text, timestamp};
use crate::wire::{self, SendMessagePayload, StreamPayload};

/// A task, with what `view` asks for.
///
/// # Errors
/// When a value has no form in gRPC; naming the place.
pub fn task(task: &Task, view: TaskView) -> Result<wire::Task, ReadError> {
    let artifacts = if view.artifacts {
        &task.artifacts[..]
    } else {
        &[]
    };
    let asked = view.history_length.map_or(usize::MAX, |n| n as usize);
    let skipped = task.history.len().saturating_sub(asked);
    let newest = task.history.get(skipped..).unwrap_or_default();
    Ok(wire::Task {
        id: task.id.as_ref().to_owned(),
        context_id: task.context_id.as_ref().to_owned(),
        status: Some(status(&task.status)?),
        artifacts: each(artifacts, "artifacts", artifact)?,
        history: each(newest, "history", message)?,
        metadata: metadata(task.metadata.as_deref())?,
    })
}

/// What SendMessage answers with.
///
/// # Errors
/// When a value has no form in gRPC; naming the place.
pub fn send_message_response(
    result: &SendResult,
    view: TaskView,
) -> Result<wire::SendMessageResponse, ReadError> {
    let payload = match result {
        SendResult::Task(found) => {
            SendMessagePayload::Task(task(found, view).map_err(|e| e.within("task"))?)
        }
        SendResult::Message(found) => {
            SendMessagePayload::Message(message(found).map_err(|e| e.within("message"))?)
        }
    };
    Ok(wire::SendMessageResponse {
        payload: Some(payload),
    })
}

/// An event of a stream; `view` says what of a task is in it.
///
/// # Errors
/// When a value has no form in gRPC; naming the place.
pub fn stream_response(
    event: &StreamEvent,
    view: TaskView,
) -> Result<wire::StreamResponse, ReadError> {
    let payload = match event {
        StreamEvent::Task(found) => {
            StreamPayload::Task(task(found, view).map_err(|e| e.within("task"))?)
        }
        StreamEvent::Message(found) => {
            StreamPayload::Message(message(found).map_err(|e| e.within("message"))?)
        }
        StreamEvent::Status(update) => StreamPayload::StatusUpdate(
            status_update(update).map_err(|e| e.within("statusUpdate"))?,
        ),
        StreamEvent::Artifact(update) => {
            let artifact = artifact(&update.artifact).map_err(|e| e.within("artifact"));
            let metadata = metadata(update.metadata.as_deref());
            let within = |e: ReadError| e.within("artifactUpdate");
            StreamPayload::ArtifactUpdate(wire::TaskArtifactUpdateEvent {
                task_id: update.task_id.as_ref().to_owned(),
                context_id: update.context_id.as_ref().to_owned(),
                artifact: Some(artifact.map_err(within)?),
                append: update.append,
                last_chunk: update.last_chunk,
                metadata: metadata.map_err(within)?,
            })
        }
    };
    Ok(wire::StreamResponse {
        payload: Some(payload),
    })
}

/// What ListTasks answers with; `view` says what of each task is in it.
///
/// # Errors
/// When a value has no form in gRPC; naming the place.
pub fn list_tasks_response(
    page: &ListTasksResponse,
    view: TaskView,
) -> Result<wire::ListTasksResponse, ReadError> {
    Ok(wire::ListTasksResponse {
        tasks: each(&page.tasks, "tasks", |found| task(found, view))?,
        next_page_token: page.next_page_token.clone(),
        page_size: int32(page.page_size),
        total_size: int32(page.total_size),
    })
}

/// A push notification configuration.
pub fn push_config(config: &TaskPushConfig, secrets: Secrets) -> wire::TaskPushNotificationConfig {
    super::request::push_config(&config.config, Some(&config.task_id), secrets)
}

/// What ListTaskPushNotificationConfigs answers with.
pub fn list_push_configs_response(
    page: &ListPushConfigsResponse,
    secrets: Secrets,
) -> wire::ListTaskPushNotificationConfigsResponse {
    wire::ListTaskPushNotificationConfigsResponse {
        configs: page
            .configs
            .iter()
            .map(|config| push_config(config, secrets))
            .collect(),
        next_page_token: page.next_page_token.clone(),
    }
}

fn status(status: &TaskStatus) -> Result<wire::TaskStatus, ReadError> {
    let said = status.message.as_ref().map(message).transpose();
    let said = said.map_err(|error| error.within("message").within("status"))?;
    Ok(wire::TaskStatus {
        state: state(status.state),
        message: said,
        timestamp: status.timestamp.map(timestamp),
    })
}

fn status_update(update: &StatusUpdate) -> Result<wire::TaskStatusUpdateEvent, ReadError> {
    Ok(wire::TaskStatusUpdateEvent {
        task_id: text(Some(&update.task_id)),
        context_id: text(Some(&update.context_id)),
        status: Some(status(&update.status)?),
        metadata: metadata(update.metadata.as_deref())?,
    })
}
