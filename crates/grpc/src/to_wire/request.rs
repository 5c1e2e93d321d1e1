use llamon_core::a2a::{
    ListPushConfigsRequest, ListTasksRequest, PushConfig, PushConfigRequest, Secrets,
    SendConfiguration, SendMessageRequest, TaskRequest,
};
use llamon_core::json::ReadError;

use super::{int32, message, metadata, state, text, timestamp};
use crate::wire;

/// SendMessage and SendStreamingMessage.
///
/// # Errors
/// When a value has no form in gRPC; naming the place.
pub fn send_message_request(
    request: &SendMessageRequest,
    tenant: &str,
) -> Result<wire::SendMessageRequest, ReadError> {
    let message = message(&request.message).map_err(|error| error.within("message"))?;
    let plain = request.configuration == SendConfiguration::default();
    Ok(wire::SendMessageRequest {
        tenant: tenant.to_owned(),
        message: Some(message),
        configuration: (!plain).then(|| configuration(&request.configuration)),
        metadata: metadata(request.metadata.as_deref())?,
    })
}

/// GetTask.
pub fn get_task_request(request: &TaskRequest, tenant: &str) -> wire::GetTaskRequest {
    wire::GetTaskRequest {
        tenant: tenant.to_owned(),
        id: request.id.as_ref().to_owned(),
        history_length: request.history_length.map(int32),
    }
}

/// ListTasks.
pub fn list_tasks_request(request: &ListTasksRequest, tenant: &str) -> wire::ListTasksRequest {
    wire::ListTasksRequest {
        tenant: tenant.to_owned(),
        context_id: text(request.context_id.as_deref()),
        status: request.status.map_or(0, state),
        page_size: request.page_size.map(int32),
        page_token: text(request.page_token.as_deref()),
        history_length: request.history_length.map(int32),
        status_timestamp_after: request.status_timestamp_after.map(timestamp),
        include_artifacts: request.include_artifacts.then_some(true),
    }
}

/// CancelTask.
pub fn cancel_task_request(id: &str, tenant: &str) -> wire::CancelTaskRequest {
    wire::CancelTaskRequest {
        tenant: tenant.to_owned(),
        id: id.to_owned(),
        metadata: None,
    }
}

/// SubscribeToTask.
pub fn subscribe_to_task_request(id: &str, tenant: &str) -> wire::SubscribeToTaskRequest {
    wire::SubscribeToTaskRequest {
        tenant: tenant.to_owned(),
        id: id.to_owned(),
    }
}

/// GetTaskPushNotificationConfig.
pub fn get_push_config_request(
    request: &PushConfigRequest,
    tenant: &str,
) -> wire::GetTaskPushNotificationConfigRequest {
    wire::GetTaskPushNotificationConfigRequest {
        tenant: tenant.to_owned(),
        task_id: request.task_id.as_ref().to_owned(),
        id: request.id.as_ref().to_owned(),
    }
}

/// DeleteTaskPushNotificationConfig.
pub fn delete_push_config_request(
    request: &PushConfigRequest,
    tenant: &str,
) -> wire::DeleteTaskPushNotificationConfigRequest {
    wire::DeleteTaskPushNotificationConfigRequest {
        tenant: tenant.to_owned(),
        task_id: request.task_id.as_ref().to_owned(),
        id: request.id.as_ref().to_owned(),
    }
}

/// ListTaskPushNotificationConfigs.
pub fn list_push_configs_request(
    request: &ListPushConfigsRequest,
    tenant: &str,
) -> wire::ListTaskPushNotificationConfigsRequest {
    wire::ListTaskPushNotificationConfigsRequest {
        task_id: request.task_id.as_ref().to_owned(),
        page_size: request.page_size.map_or(0, int32),
        page_token: text(request.page_token.as_deref()),
        tenant: tenant.to_owned(),
    }
}

pub(super) fn push_config(
    config: &PushConfig,
    task_id: Option<&str>,
    secrets: Secrets,
) -> wire::TaskPushNotificationConfig {
    let secret = |value: Option<&str>| match secrets {
        Secrets::Shown => text(value),
        Secrets::Hidden => String::new(),
    };
    let authentication = config.authentication.as_ref();
    wire::TaskPushNotificationConfig {
        tenant: String::new(),
        id: text(config.id.as_deref()),
        task_id: text(task_id),
        url: config.url.clone(),
        token: secret(config.token.as_deref()),
        authentication: authentication.map(|authentication| wire::AuthenticationInfo {
            scheme: authentication.scheme.clone(),
            credentials: secret(authentication.credentials.as_deref()),
        }),
    }
}

fn configuration(configuration: &SendConfiguration) -> wire::SendMessageConfiguration {
    let push = configuration.push.as_ref();
    wire::SendMessageConfiguration {
        accepted_output_modes: configuration.accepted_output_modes.clone(),
        task_push_notification_config: push.map(|push| push_config(push, None, Secrets::Shown)),
        history_length: configuration.history_length.map(int32),
        return_immediately: configuration.return_immediately,
    }
}
