use std::fmt;
use std::io;

use crate::config_error::ConfigError;

/// Why a server does not serve.
pub struct ServeError(Cause);

enum Cause {
    Config(ConfigError),
    Bind { address: String, error: io::Error },
    Listen(io::Error),
}

impl ServeError {
    /// The mistake in the configuration, if it is one.
    pub fn config(&self) -> Option<&ConfigError> {
        match &self.0 {
            Cause::Config(error) => Some(error),
            Cause::Bind { .. } | Cause::Listen(_) => None,
        }
    }

    /// Whether the address could not be bound.
    pub fn is_bind(&self) -> bool {
        matches!(self.0, Cause::Bind { .. })
    }

    pub(crate) fn bind(address: impl Into<String>, error: io::Error) -> Self {
        Self(Cause::Bind {
            address: address.into(),
            error,
        })
    }

    pub(crate) fn listen(error: io::Error) -> Self {
        Self(Cause::Listen(error))
    }
}

impl From<ConfigError> for ServeError {
    fn from(error: ConfigError) -> Self {
        Self(Cause::Config(error))
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Cause::Config(error) => error.fmt(f),
            Cause::Bind { address, error } => {
                write!(
                    f,
                    "cannot listen on {address}: {error}; choose another port, or 0 for any free one"
                )
            }
            Cause::Listen(error) => write!(f, "the listener broke: {error}"),
        }
    }
}

impl fmt::Debug for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What `main` prints when it returns the error.
        write!(f, "ServeError({self})")
    }
}

impl std::error::Error for ServeError {}
