//! The operations of push notifications, as all bindings have them.

use llamon_core::a2a::{
    A2aError, ListPushConfigsRequest, PushConfigRequest, Secrets, TaskPushConfig,
};
use llamon_core::json::{ReadError, Reader};

use crate::auth::Operation;
use crate::handler::Handler;
use crate::scope::Scope;

/// Which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PushMethod {
    Create,
    Get,
    List,
    Delete,
}

/// One of them with its parameters.
pub(super) enum PushCall {
    Create(TaskPushConfig),
    Get(PushConfigRequest),
    List(ListPushConfigsRequest),
    Delete(PushConfigRequest),
}

impl PushMethod {
    pub(super) fn of_name(name: &str) -> Option<Self> {
        match name {
            "CreateTaskPushNotificationConfig" => Some(Self::Create),
            "GetTaskPushNotificationConfig" => Some(Self::Get),
            "ListTaskPushNotificationConfigs" => Some(Self::List),
            "DeleteTaskPushNotificationConfig" => Some(Self::Delete),
            _ => None,
        }
    }

    /// Reads its parameters.
    pub(super) fn read(self, reader: &mut Reader<'_>) -> Result<PushCall, ReadError> {
        match self {
            Self::Create => TaskPushConfig::read(reader).map(PushCall::Create),
            Self::Get => PushConfigRequest::read(reader).map(PushCall::Get),
            Self::List => ListPushConfigsRequest::read(reader).map(PushCall::List),
            Self::Delete => PushConfigRequest::read(reader).map(PushCall::Delete),
        }
    }
}

impl PushCall {
    /// The tenant that it names.
    pub(super) fn tenant(&self) -> Option<&str> {
        let tenant = match self {
            Self::Create(request) => &request.tenant,
            Self::Get(request) | Self::Delete(request) => &request.tenant,
            Self::List(request) => &request.tenant,
        };
        tenant.as_deref()
    }

    pub(super) fn operation(&self) -> Operation {
        match self {
            Self::Create(_) => Operation::CreateTaskPushNotificationConfig,
            Self::Get(_) => Operation::GetTaskPushNotificationConfig,
            Self::List(_) => Operation::ListTaskPushNotificationConfigs,
            Self::Delete(_) => Operation::DeleteTaskPushNotificationConfig,
        }
    }

    /// Calls it; the answer is JSON, without secrets.
    pub(super) async fn run(self, handler: &Handler, scope: &Scope) -> Result<String, A2aError> {
        let mut out = String::new();
        match self {
            Self::Create(request) => {
                let created = handler.create_push(scope, request).await?;
                created.write(&mut out, Secrets::Hidden);
            }
            Self::Get(request) => {
                let found = handler.get_push(scope, request).await?;
                found.write(&mut out, Secrets::Hidden);
            }
            Self::List(request) => {
                let page = handler.list_push(scope, &request).await?;
                page.write(&mut out, Secrets::Hidden);
            }
            Self::Delete(request) => {
                handler.delete_push(scope, &request).await?;
                out.push_str("{}");
            }
        }
        Ok(out)
    }
}
