use std::fmt;

use crate::json::{ReadError, ReadErrorKind};

/// The errors that A2A and its bindings define (section 5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// No such task, or not the caller's.
    TaskNotFound,
    /// The task has ended or cannot be canceled.
    TaskNotCancelable,
    /// The server sends no push notifications.
    PushNotificationNotSupported,
    /// The operation is not possible here, or not in this state.
    UnsupportedOperation,
    /// A media type is not supported.
    ContentTypeNotSupported,
    /// The agent answered with something that is not A2A.
    InvalidAgentResponse,
    /// An extended card is declared but there is none.
    ExtendedAgentCardNotConfigured,
    /// The client did not activate a required extension.
    ExtensionSupportRequired,
    /// The protocol version is not supported.
    VersionNotSupported,
    /// The body is not JSON.
    Parse,
    /// The body is JSON but no request.
    InvalidRequest,
    /// There is no such method.
    MethodNotFound,
    /// The path does not take the HTTP method.
    MethodNotAllowed,
    /// The method's parameters are wrong.
    InvalidParams,
    /// The server failed.
    Internal,
    /// The server has no room at the moment; the same request can succeed later.
    Unavailable,
    /// The body is larger than the server accepts.
    PayloadTooLarge,
    /// The caller has not said who it is, or cannot prove it.
    Unauthenticated,
    /// The caller is known and may not do this.
    PermissionDenied,
    /// The caller makes more requests than it may; the same request can succeed later.
    TooManyRequests,
}

impl ErrorCode {
    const ALL: [Self; 20] = [
        Self::TaskNotFound,
        Self::TaskNotCancelable,
        Self::PushNotificationNotSupported,
        Self::UnsupportedOperation,
        Self::ContentTypeNotSupported,
        Self::InvalidAgentResponse,
        Self::ExtendedAgentCardNotConfigured,
        Self::ExtensionSupportRequired,
        Self::VersionNotSupported,
        Self::Parse,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::MethodNotAllowed,
        Self::InvalidParams,
        Self::Internal,
        Self::Unavailable,
        Self::PayloadTooLarge,
        Self::Unauthenticated,
        Self::PermissionDenied,
        Self::TooManyRequests,
    ];

    /// Code in JSON-RPC. Codes that the specification does not have (`MethodNotAllowed`,
    /// `Unavailable`, `TooManyRequests`, `PayloadTooLarge`) share that of the nearest one and are told apart by
    /// their reason. `Unauthenticated` and `PermissionDenied`, for which it leaves the choice,
    /// share the one server error that A2A has not taken.
    pub fn jsonrpc(self) -> i32 {
        match self {
            Self::TaskNotFound => -32001,
            Self::TaskNotCancelable => -32002,
            Self::PushNotificationNotSupported => -32003,
            Self::UnsupportedOperation => -32004,
            Self::ContentTypeNotSupported => -32005,
            Self::InvalidAgentResponse => -32006,
            Self::ExtendedAgentCardNotConfigured => -32007,
            Self::ExtensionSupportRequired => -32008,
            Self::VersionNotSupported => -32009,
            Self::Parse => -32700,
            Self::InvalidRequest | Self::PayloadTooLarge => -32600,
            Self::MethodNotFound | Self::MethodNotAllowed => -32601,
            Self::InvalidParams => -32602,
            Self::Internal | Self::Unavailable | Self::TooManyRequests => -32603,
            Self::Unauthenticated | Self::PermissionDenied => -32000,
        }
    }

    /// HTTP status of the REST binding.
    pub fn http(self) -> u16 {
        match self {
            Self::Unauthenticated => 401,
            Self::PermissionDenied => 403,
            Self::TaskNotFound | Self::MethodNotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::InvalidAgentResponse | Self::Internal => 500,
            Self::Unavailable => 503,
            Self::TooManyRequests => 429,
            Self::PayloadTooLarge => 413,
            _ => 400,
        }
    }

    /// Name of the gRPC status, as the REST binding's `error.status` has it.
    pub fn status(self) -> &'static str {
        match self {
            Self::TaskNotFound | Self::MethodNotFound => "NOT_FOUND",
            Self::TaskNotCancelable
            | Self::PushNotificationNotSupported
            | Self::UnsupportedOperation
            | Self::ExtendedAgentCardNotConfigured
            | Self::ExtensionSupportRequired
            | Self::VersionNotSupported => "FAILED_PRECONDITION",
            Self::InvalidAgentResponse | Self::Internal => "INTERNAL",
            Self::MethodNotAllowed => "UNIMPLEMENTED",
            Self::Unavailable => "UNAVAILABLE",
            Self::PayloadTooLarge | Self::TooManyRequests => "RESOURCE_EXHAUSTED",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::ContentTypeNotSupported
            | Self::Parse
            | Self::InvalidRequest
            | Self::InvalidParams => "INVALID_ARGUMENT",
        }
    }

    /// `reason` of the `google.rpc.ErrorInfo`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::TaskNotFound => "TASK_NOT_FOUND",
            Self::TaskNotCancelable => "TASK_NOT_CANCELABLE",
            Self::PushNotificationNotSupported => "PUSH_NOTIFICATION_NOT_SUPPORTED",
            Self::UnsupportedOperation => "UNSUPPORTED_OPERATION",
            Self::ContentTypeNotSupported => "CONTENT_TYPE_NOT_SUPPORTED",
            Self::InvalidAgentResponse => "INVALID_AGENT_RESPONSE",
            Self::ExtendedAgentCardNotConfigured => "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
            Self::ExtensionSupportRequired => "EXTENSION_SUPPORT_REQUIRED",
            Self::VersionNotSupported => "VERSION_NOT_SUPPORTED",
            Self::Parse => "PARSE_ERROR",
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::MethodNotFound => "METHOD_NOT_FOUND",
            Self::MethodNotAllowed => "METHOD_NOT_ALLOWED",
            Self::InvalidParams => "INVALID_PARAMS",
            Self::Internal => "INTERNAL_ERROR",
            Self::Unavailable => "UNAVAILABLE",
            Self::PayloadTooLarge => "PAYLOAD_TOO_LARGE",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::TooManyRequests => "TOO_MANY_REQUESTS",
        }
    }

    /// The code with this reason.
    pub fn of_reason(reason: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.reason() == reason)
    }

    /// The first code with this JSON-RPC code.
    pub fn of_jsonrpc(code: i64) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|known| i64::from(known.jsonrpc()) == code)
    }
}

/// `domain` of the `google.rpc.ErrorInfo`.
const ERROR_DOMAIN: &str = "a2a-protocol.org";
const ERROR_INFO_TYPE: &str = "type.googleapis.com/google.rpc.ErrorInfo";

/// An error of the protocol: a code and a text for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct A2aError {
    code: ErrorCode,
    message: String,
}

impl A2aError {
    /// An error of `code` that says `message`.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// The code.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The text for the caller.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// There is no such task. The text is the same for a task of somebody else.
    pub fn task_not_found() -> Self {
        Self::new(
            ErrorCode::TaskNotFound,
            "there is no such task; it was never created here, or it has been removed since",
        )
    }

    /// Something went wrong inside; the reason is in the log, not in the response.
    pub fn internal() -> Self {
        Self::new(
            ErrorCode::Internal,
            "the server failed; its log has the reason",
        )
    }

    /// Whether a later attempt of the same request can succeed.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self.code,
            ErrorCode::Unavailable | ErrorCode::TooManyRequests
        )
    }

    /// The error of an operation's parameters that could not be read.
    pub fn of_params(error: &ReadError) -> Self {
        let code = match error.kind() {
            ReadErrorKind::Syntax => ErrorCode::Parse,
            _ => ErrorCode::InvalidParams,
        };
        Self::new(code, error.to_string())
    }

    /// Appends the error as JSON-RPC's `error` object.
    pub fn write_jsonrpc(&self, out: &mut String) {
        out.push_str("{\"code\":");
        out.push_str(&self.code.jsonrpc().to_string());
        super::push_string_field(out, "message", &self.message);
        out.push_str(",\"data\":[");
        self.push_error_info(out);
        out.push_str("]}");
    }

    /// Appends the error as the REST binding's body.
    pub fn write_rest(&self, out: &mut String) {
        self.write_rest_as(self.code.http(), out);
    }

    /// The same for a response with another HTTP status than the specification's.
    pub fn write_rest_as(&self, http_status: u16, out: &mut String) {
        out.push_str("{\"error\":{\"code\":");
        out.push_str(&http_status.to_string());
        super::push_string_field(out, "status", self.code.status());
        super::push_string_field(out, "message", &self.message);
        out.push_str(",\"details\":[");
        self.push_error_info(out);
        out.push_str("]}}");
    }

    fn push_error_info(&self, out: &mut String) {
        out.push('{');
        super::push_string_field(out, "@type", ERROR_INFO_TYPE);
        super::push_string_field(out, "reason", self.code.reason());
        super::push_string_field(out, "domain", ERROR_DOMAIN);
        out.push('}');
    }
}

impl fmt::Display for A2aError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code.reason())
    }
}

impl std::error::Error for A2aError {}
