use std::fmt;
use std::io;

use crate::exit::Exit;

/// An error that is expected: what went wrong, what to do next, and the exit code.
///
/// The message and the next step are lower-case fragments. Both may quote what came from
/// outside: they are cleaned where they are printed.
#[derive(Debug)]
pub(crate) struct CliError {
    exit: Exit,
    message: String,
    next: Option<String>,
}

impl CliError {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            next: None,
        }
    }

    /// Something that the user has to change before it can work.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Ctrl-C.
    pub(crate) fn interrupted() -> Self {
        Self::new(Exit::Interrupted, "interrupted")
    }

    /// Ctrl-C where it is the way to end the command: nothing is said.
    pub(crate) fn stopped() -> Self {
        Self::new(Exit::Interrupted, "")
    }

    /// A write to standard output that failed. When its reader has gone, as `head` does, there
    /// is nothing to say: the command has done what was wanted of it.
    pub(crate) fn of_stdout(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::new(Exit::Completed, "");
        }
        Self::new(
            Exit::Protocol,
            format!("cannot write to standard output: {error}"),
        )
    }

    /// The same error with what to do next.
    #[must_use]
    pub(crate) fn with_next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// What to do next.
    pub(crate) fn next(&self) -> Option<&str> {
        self.next.as_deref()
    }

    /// Whether there is nothing to print.
    pub(crate) fn is_silent(&self) -> bool {
        self.message.is_empty()
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CliError {}
