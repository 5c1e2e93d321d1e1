use std::fmt;
use std::sync::Arc;

use llamon_core::a2a::A2aError;

use crate::egress::EgressError;

/// Why a call failed. What kind of failure it was is asked with the predicates; exactly one of
/// them holds.
///
/// Texts from the agent are part of the message as they came: whoever prints it on a terminal
/// removes control characters first.
pub struct ClientError(Box<Inner>);

struct Inner {
    kind: Kind,
    message: String,
    status: Option<u16>,
    task_id: Option<Arc<str>>,
}

#[derive(Debug)]
enum Kind {
    Usage,
    Connect,
    Timeout,
    Disconnected,
    Protocol(A2aError),
    InvalidResponse,
    InterruptedStream,
    UntrustedCard,
}

impl ClientError {
    /// Whether the caller has to change something before it can work: a bad URL, an interface at
    /// an address that nobody named and that is refused, a card without an interface that this client speaks, a
    /// message without parts.
    pub fn is_usage(&self) -> bool {
        matches!(self.0.kind, Kind::Usage)
    }

    /// Whether no connection could be made, within the time that is allowed for it. Nothing was
    /// sent.
    pub fn is_connect(&self) -> bool {
        matches!(self.0.kind, Kind::Connect)
    }

    /// Whether the agent took longer than the call's time, or its stream was silent for longer
    /// than the idle time. The agent's task may run on.
    pub fn is_timeout(&self) -> bool {
        matches!(self.0.kind, Kind::Timeout)
    }

    /// Whether the connection was lost before the whole answer arrived. The agent may have got
    /// the request.
    pub fn is_disconnected(&self) -> bool {
        matches!(self.0.kind, Kind::Disconnected)
    }

    /// The protocol's error, if the agent answered with one (A2A section 5.4).
    pub fn protocol(&self) -> Option<&A2aError> {
        match &self.0.kind {
            Kind::Protocol(error) => Some(error),
            _ => None,
        }
    }

    /// Whether the agent's answer is not A2A 1.0: another HTTP status, another media type, not
    /// JSON, a required field missing, or larger than the limit.
    pub fn is_invalid_response(&self) -> bool {
        matches!(self.0.kind, Kind::InvalidResponse)
    }

    /// Whether a stream ended before its task came to rest. The task may run on:
    /// [`Client::subscribe`](crate::Client::subscribe) with [`ClientError::task_id`] follows it.
    pub fn is_interrupted_stream(&self) -> bool {
        matches!(self.0.kind, Kind::InterruptedStream)
    }

    /// Whether the agent's card has no signature by a key that is trusted
    /// ([`ClientBuilder::verify_card`](crate::ClientBuilder::verify_card)).
    pub fn is_untrusted_card(&self) -> bool {
        matches!(self.0.kind, Kind::UntrustedCard)
    }

    /// The task whose stream ended too early, if it was known.
    pub fn task_id(&self) -> Option<&str> {
        self.0.task_id.as_deref()
    }

    /// The status of the HTTP response that the error was made of, if there was one.
    pub fn http_status(&self) -> Option<u16> {
        self.0.status
    }

    /// Whether the same request could succeed a moment later: no connection, a lost one, or a
    /// server that says it has no room.
    pub fn is_temporary(&self) -> bool {
        match &self.0.kind {
            Kind::Connect | Kind::Disconnected => true,
            Kind::Protocol(error) => error.is_temporary(),
            Kind::InvalidResponse => matches!(self.0.status, Some(429 | 502 | 503 | 504)),
            Kind::Usage | Kind::Timeout | Kind::InterruptedStream | Kind::UntrustedCard => false,
        }
    }
}

impl ClientError {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    pub(crate) fn timeout(message: impl Into<String>) -> Self {
        Self::new(Kind::Timeout, message)
    }

    pub(crate) fn of_protocol(error: A2aError) -> Self {
        let message = format!("the agent answered with an error: {error}");
        Self::new(Kind::Protocol(error), message)
    }

    pub(crate) fn invalid_response(message: impl Into<String>) -> Self {
        Self::new(Kind::InvalidResponse, message)
    }

    pub(crate) fn interrupted_stream(message: impl Into<String>) -> Self {
        Self::new(Kind::InterruptedStream, message)
    }

    pub(crate) fn untrusted_card(message: impl Into<String>) -> Self {
        Self::new(Kind::UntrustedCard, message)
    }

    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    pub(crate) fn with_task(mut self, task_id: Option<Arc<str>>) -> Self {
        self.0.task_id = task_id;
        self
    }

    pub(crate) fn after_attempts(mut self, attempts: u32) -> Self {
        if attempts > 1 {
            self.0.message.push_str(&format!(" ({attempts} attempts)"));
        }
        self
    }

    fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            status: None,
            task_id: None,
        }))
    }
}

impl From<EgressError> for ClientError {
    fn from(error: EgressError) -> Self {
        let kind = if error.is_refused() || error.is_usage() {
            Kind::Usage
        } else if error.is_unresolved() || error.is_connect() {
            Kind::Connect
        } else if error.is_timeout() {
            Kind::Timeout
        } else if error.is_disconnected() {
            Kind::Disconnected
        } else {
            Kind::InvalidResponse
        };
        Self::new(kind, error.to_string())
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.0.kind {
            Kind::Protocol(error) => error.code().reason(),
            Kind::Usage => "usage",
            Kind::Connect => "connect",
            Kind::Timeout => "timeout",
            Kind::Disconnected => "disconnected",
            Kind::InvalidResponse => "invalid response",
            Kind::UntrustedCard => "untrusted card",
            Kind::InterruptedStream => "interrupted stream",
        };
        write!(f, "ClientError({kind}: {})", self.0.message)
    }
}

impl std::error::Error for ClientError {}
