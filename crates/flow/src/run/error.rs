use std::fmt;

use crate::store::RunStoreError;

/// Why a run could not be begun or driven. That a step failed is no such error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunError {
    kind: Kind,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Usage,
    Held,
    UnknownRun,
    Store,
}

impl RunError {
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Usage,
            message: message.into(),
        }
    }

    pub(super) fn damaged(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Store,
            message: message.into(),
        }
    }

    pub(super) fn held(run: &str) -> Self {
        Self {
            kind: Kind::Held,
            message: format!(
                "run {run:?} is being run by somebody else; wait for its end, or stop that one"
            ),
        }
    }

    /// Whether somebody else runs the run.
    pub fn is_held(&self) -> bool {
        self.kind == Kind::Held
    }

    /// Whether there is no run of that id.
    pub fn is_unknown_run(&self) -> bool {
        self.kind == Kind::UnknownRun
    }

    /// Whether the caller has to change something.
    pub fn is_usage(&self) -> bool {
        self.kind == Kind::Usage
    }
}

impl From<RunStoreError> for RunError {
    fn from(error: RunStoreError) -> Self {
        Self {
            kind: if error.is_unknown_run() {
                Kind::UnknownRun
            } else {
                Kind::Store
            },
            message: error.to_string(),
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RunError {}
