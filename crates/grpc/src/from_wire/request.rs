use llamon_core::Limits;
use llamon_core::a2a::{
    ListPushConfigsRequest, ListTasksRequest, PushConfig, PushConfigRequest, Role,
    SendConfiguration, SendMessageRequest, TaskPushConfig, TaskRequest,
};
use llamon_core::json::ReadError;

use super::{count, id, message, metadata, missing, not_empty, required_id, state, timestamp};
use crate::wire;

/// SendMessage and SendStreamingMessage.
///
/// # Errors
/// When `message` or its parts are missing, when it speaks as the agent, or a field is wrong; naming
/// it.
pub fn send_message_request(
    request: wire::SendMessageRequest,
    limits: &Limits,
) -> Result<SendMessageRequest, ReadError> {
    let said = request.message.ok_or_else(|| missing("message"))?;
    let said = message(said, limits).map_err(|error| error.within("message"))?;
    if said.parts.is_empty() {
        return Err(missing("parts").within("message"));
    }
    if said.role == Role::Agent {
        let wrong = ReadError::invalid("is ROLE_AGENT; a client speaks as ROLE_USER");
        return Err(wrong.within("role").within("message"));
    }
    let mut made = SendMessageRequest::new(said);
    if let Some(wire) = request.configuration {
        made.configuration = configuration(wire).map_err(|error| error.within("configuration"))?;
    }
    made.metadata = metadata(request.metadata, limits)?;
    made.tenant = not_empty(request.tenant);
    Ok(made)
}

/// GetTask.
///
/// # Errors
/// When `id` is missing or a field is wrong; naming it.
pub fn get_task_request(request: wire::GetTaskRequest) -> Result<TaskRequest, ReadError> {
    let mut made = TaskRequest::new(required_id(request.id, "id")?);
    made.history_length = optional_count(request.history_length, "historyLength")?;
    made.tenant = not_empty(request.tenant);
    Ok(made)
}

/// CancelTask.
///
/// # Errors
/// When `id` is missing.
pub fn cancel_task_request(request: wire::CancelTaskRequest) -> Result<TaskRequest, ReadError> {
    let mut made = TaskRequest::new(required_id(request.id, "id")?);
    made.tenant = not_empty(request.tenant);
    Ok(made)
}

/// SubscribeToTask.
///
/// # Errors
/// When `id` is missing.
pub fn subscribe_to_task_request(
    request: wire::SubscribeToTaskRequest,
) -> Result<TaskRequest, ReadError> {
    let mut made = TaskRequest::new(required_id(request.id, "id")?);
    made.tenant = not_empty(request.tenant);
    Ok(made)
}

/// ListTasks.
///
/// # Errors
/// When a field is wrong; naming it.
pub fn list_tasks_request(request: wire::ListTasksRequest) -> Result<ListTasksRequest, ReadError> {
    let mut made = ListTasksRequest::default();
    made.context_id = id(request.context_id);
    made.status = state(request.status, "status")?;
    let after = request.status_timestamp_after;
    made.status_timestamp_after = after
        .map(|at| timestamp(at, "statusTimestampAfter"))
        .transpose()?;
    made.page_size = optional_count(request.page_size, "pageSize")?;
    made.page_token = not_empty(request.page_token);
    made.history_length = optional_count(request.history_length, "historyLength")?;
    made.include_artifacts = request.include_artifacts.unwrap_or_default();
    made.tenant = not_empty(request.tenant);
    Ok(made)
}

/// CreateTaskPushNotificationConfig, and what it is answered with.
///
/// # Errors
/// When `taskId` or `url` is missing, or a field is wrong; naming it.
pub fn push_config(config: wire::TaskPushNotificationConfig) -> Result<TaskPushConfig, ReadError> {
    let mut config = config;
    let task_id = required_id(std::mem::take(&mut config.task_id), "taskId")?;
    let tenant = not_empty(std::mem::take(&mut config.tenant));
    let mut made = TaskPushConfig::new(task_id, inline_config(config)?);
    made.tenant = tenant;
    Ok(made)
}

/// GetTaskPushNotificationConfig.
///
/// # Errors
/// When `taskId` or `id` is missing.
pub fn get_push_config_request(
    request: wire::GetTaskPushNotificationConfigRequest,
) -> Result<PushConfigRequest, ReadError> {
    let task_id = required_id(request.task_id, "taskId")?;
    let mut made = PushConfigRequest::new(task_id, required_id(request.id, "id")?);
    made.tenant = not_empty(request.tenant);
    Ok(made)
}

/// DeleteTaskPushNotificationConfig.
///
/// # Errors
/// When `taskId` or `id` is missing.
pub fn delete_push_config_request(
    request: wire::DeleteTaskPushNotificationConfigRequest,
) -> Result<PushConfigRequest, ReadError> {
    let task_id = required_id(request.task_id, "taskId")?;
    let mut made = PushConfigRequest::new(task_id, required_id(request.id, "id")?);
    made.tenant = not_empty(request.tenant);
    Ok(made)
}

/// ListTaskPushNotificationConfigs.
///
/// # Errors
/// When `taskId` is missing or a field is wrong; naming it.
pub fn list_push_configs_request(
    request: wire::ListTaskPushNotificationConfigsRequest,
) -> Result<ListPushConfigsRequest, ReadError> {
    let mut made = ListPushConfigsRequest::new(required_id(request.task_id, "taskId")?);
    let page_size = count(request.page_size, "pageSize")?;
    made.page_size = (page_size > 0).then_some(page_size);
    made.page_token = not_empty(request.page_token);
    made.tenant = not_empty(request.tenant);
    Ok(made)
}

fn configuration(wire: wire::SendMessageConfiguration) -> Result<SendConfiguration, ReadError> {
    let mut made = SendConfiguration::default();
    made.accepted_output_modes = wire.accepted_output_modes;
    made.history_length = optional_count(wire.history_length, "historyLength")?;
    made.return_immediately = wire.return_immediately;
    let push = wire.task_push_notification_config.map(inline_config);
    made.push = push
        .transpose()
        .map_err(|error| error.within("taskPushNotificationConfig"))?;
    Ok(made)
}

/// A configuration whose task is said elsewhere.
fn inline_config(wire: wire::TaskPushNotificationConfig) -> Result<PushConfig, ReadError> {
    let mut made = PushConfig::new(not_empty(wire.url).ok_or_else(|| missing("url"))?);
    made.id = id(wire.id);
    made.token = not_empty(wire.token);
    if let Some(wire) = wire.authentication {
        let scheme = not_empty(wire.scheme);
        let scheme = scheme.ok_or_else(|| missing("scheme").within("authentication"))?;
        made = made.with_authentication(scheme, wire.credentials);
        if let Some(authentication) = &mut made.authentication {
            authentication.credentials = authentication.credentials.take().and_then(not_empty);
        }
    }
    Ok(made)
}

fn optional_count(number: Option<i32>, field: &'static str) -> Result<Option<u32>, ReadError> {
    number.map(|number| count(number, field)).transpose()
}
