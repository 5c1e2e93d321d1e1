use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use llamon_core::a2a::{
    BINDING_JSONRPC, BINDING_REST, ListPushConfigsRequest, ListTasksRequest, ProtocolVersion,
    PushConfigRequest, Secrets, SendMessageRequest, TaskPushConfig, TaskRequest,
};
use url::Url;

use crate::answer::Form;
use crate::egress::Request;
use crate::error::ClientError;
use crate::{jsonrpc, rest, v03};

/// How calls are put into HTTP (A2A sections 9 and 11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Binding {
    /// JSON-RPC 2.0: every call is a POST to one URL. `JSONRPC` on a card.
    JsonRpc,
    /// One URL per operation. `HTTP+JSON` on a card.
    Rest,
    /// Protobuf over HTTP/2 (section 10). `GRPC` on a card, whose `host:port` is called in plaintext.
    /// It is used where it is asked for or the card has nothing else.
    #[cfg(feature = "grpc")]
    Grpc,
}

impl Binding {
    /// Those that this client speaks.
    pub(crate) const ALL: &[Self] = &[
        Self::JsonRpc,
        Self::Rest,
        #[cfg(feature = "grpc")]
        Self::Grpc,
    ];

    /// The name on a card.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JsonRpc => BINDING_JSONRPC,
            Self::Rest => BINDING_REST,
            #[cfg(feature = "grpc")]
            Self::Grpc => llamon_core::a2a::BINDING_GRPC,
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|binding| binding.as_str() == name)
    }

    /// Whether it carries JSON, token for token.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Self::JsonRpc | Self::Rest)
    }

    /// The URL of an interface as it is written on a card.
    pub(crate) fn url(self, written: &str) -> Cow<'_, str> {
        // A gRPC target without a scheme is host and port, in plaintext.
        if self.is_text() || written.contains("://") {
            return Cow::Borrowed(written);
        }
        Cow::Owned(format!("http://{written}"))
    }

    pub(crate) fn request(
        self,
        endpoint: &Endpoint,
        operation: &Operation,
    ) -> Result<Request, ClientError> {
        if endpoint.version == ProtocolVersion::V0_3 {
            return v03::request(endpoint, operation);
        }
        match self {
            Self::JsonRpc => Ok(jsonrpc::request(endpoint, operation)),
            Self::Rest => rest::request(endpoint, operation),
            #[cfg(feature = "grpc")]
            Self::Grpc => crate::grpc::request(endpoint, operation),
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
    pub(crate) version: ProtocolVersion,
    /// Empty where there is none.
    pub(crate) tenant: String,
}

impl Endpoint {
    /// How an operation is answered.
    pub(crate) fn form(&self, operation: &Operation) -> Form {
        match self.version {
            ProtocolVersion::V0_3 => Form::V03(v03::Answer::new(self.binding, operation)),
            _ => Form::of(self.binding),
        }
    }
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
