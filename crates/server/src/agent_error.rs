use std::error::Error;
use std::fmt;

use llamon_core::LimitExceeded;

/// Why a turn failed.
///
/// Any error becomes one with `?`: the task ends FAILED with a general text and the id of a log
/// line, since an error's text may hold what a stranger must not read. Only what is made with
/// [`AgentError::public`] reaches the caller as it is. The type is no `std::error::Error` itself,
/// which is what lets `?` take every other one.
///
/// ```
/// use llamon_server::AgentError;
/// fn port(text: &str) -> Result<u16, AgentError> {
///     if text.is_empty() {
///         return Err(AgentError::public("the port is missing"));
///     }
///     Ok(text.parse::<u16>()?)
/// }
/// assert!(port("http").is_err());
/// ```
pub struct AgentError(Cause);

pub(crate) enum Cause {
    Public(String),
    Internal(Box<dyn Error + Send + Sync>),
    Limit(LimitExceeded),
    Ended,
}

impl AgentError {
    /// An error whose text is for the caller.
    pub fn public(message: impl Into<String>) -> Self {
        Self(Cause::Public(message.into()))
    }

    /// Whether the turn had ended, by a cancel for instance, before the call that failed.
    pub fn is_turn_ended(&self) -> bool {
        matches!(self.0, Cause::Ended)
    }

    pub(crate) fn limit(limit: LimitExceeded) -> Self {
        Self(Cause::Limit(limit))
    }

    pub(crate) fn ended() -> Self {
        Self(Cause::Ended)
    }

    pub(crate) fn into_cause(self) -> Cause {
        self.0
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for AgentError {
    fn from(error: E) -> Self {
        Self(Cause::Internal(error.into()))
    }
}

impl fmt::Debug for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Cause::Public(message) => write!(f, "AgentError::public({message:?})"),
            Cause::Internal(error) => write!(f, "AgentError({error:?})"),
            Cause::Limit(limit) => write!(f, "AgentError({limit})"),
            Cause::Ended => f.write_str("AgentError(the turn has ended)"),
        }
    }
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Cause::Public(message) => f.write_str(message),
            Cause::Internal(error) => error.fmt(f),
            Cause::Limit(limit) => limit.fmt(f),
            Cause::Ended => f.write_str("the turn has ended, nothing can be added to it"),
        }
    }
}
