use std::fmt;
use std::sync::Arc;

use llamon_core::a2a::{
    BINDING_JSONRPC, BINDING_REST, ListPushConfigsRequest, ListTasksRequest, PushConfigRequest,
    Secrets, SendMessageRequest, TaskPushConfig, TaskRequest,
};
use url::Url;

use crate::egress::Request;
use crate::error::ClientError;
use crate::{jsonrpc, rest};

/// How calls are put into HTTP (A2A sections 9 and 11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Binding {
    /// JSON-RPC 2.0: every call is a POST to one URL. `JSONRPC` on a card.
    JsonRpc,
    /// One URL per operation. `HTTP+JSON` on a card.
    Rest,
}

impl Binding {
    /// Those that this client speaks.
    pub(crate) const ALL: [Self; 2] = [Self::JsonRpc, Self::Rest];

    /// The name on a card.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JsonRpc => BINDING_JSONRPC,
            Self::Rest => BINDING_REST,
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|binding| binding.as_str() == name)
    }

    pub(crate) fn request(
        self,
        endpoint: &Endpoint,
        operation: &Operation,
    ) -> Result<Request, ClientError> {
        match self {
            Self::JsonRpc => Ok(jsonrpc::request(endpoint, operation)),
            Self::Rest => rest::request(endpoint, operation),
        }
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The interface that a client uses.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) url: Url,
    pub(crate) binding: Binding,
    /// Empty where there is none.
    pub(crate) tenant: String,
}

/// A call, before it is put into a binding.
pub(crate) enum Operation {
    Send(SendMessageRequest),
    Stream(SendMessageRequest),
    Get(TaskRequest),
    List(ListTasksRequest),
    Cancel(Arc<str>),
    Subscribe(Arc<str>),
    CreatePush(TaskPushConfig),
    GetPush(PushConfigRequest),
    ListPush(ListPushConfigsRequest),
    DeletePush(PushConfigRequest),
    ExtendedCard,
}

impl Operation {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Send(_) => "SendMessage",
            Self::Stream(_) => "SendStreamingMessage",
            Self::Get(_) => "GetTask",
            Self::List(_) => "ListTasks",
            Self::Cancel(_) => "CancelTask",
            Self::Subscribe(_) => "SubscribeToTask",
            Self::CreatePush(_) => "CreateTaskPushNotificationConfig",
            Self::GetPush(_) => "GetTaskPushNotificationConfig",
            Self::ListPush(_) => "ListTaskPushNotificationConfigs",
            Self::DeletePush(_) => "DeleteTaskPushNotificationConfig",
            Self::ExtendedCard => "GetExtendedAgentCard",
        }
    }

    /// Whether doing it twice does the same as doing it once.
    pub(crate) fn is_idempotent(&self) -> bool {
        match self {
            Self::Send(_) | Self::Stream(_) | Self::Cancel(_) => false,
            Self::Get(_) | Self::List(_) | Self::Subscribe(_) => true,
            Self::GetPush(_) | Self::ListPush(_) | Self::DeletePush(_) => true,
            Self::ExtendedCard => true,
            // Without an id, each time is another configuration.
            Self::CreatePush(request) => request.config.id.is_some(),
        }
    }

    pub(crate) fn is_stream(&self) -> bool {
        matches!(self, Self::Stream(_) | Self::Subscribe(_))
    }

    /// Appends the request's JSON.
    pub(crate) fn write(&self, out: &mut String) {
        match self {
            Self::Send(request) | Self::Stream(request) => request.write(out),
            Self::Get(request) => request.write(out),
            Self::List(request) => request.write(out),
            Self::Cancel(id) | Self::Subscribe(id) => TaskRequest::new(Arc::clone(id)).write(out),
            Self::CreatePush(request) => request.write(out, Secrets::Shown),
            Self::GetPush(request) | Self::DeletePush(request) => request.write(out),
            Self::ListPush(request) => request.write(out),
            Self::ExtendedCard => out.push_str("{}"),
        }
    }
}
