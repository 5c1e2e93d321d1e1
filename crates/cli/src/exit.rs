use std::process::ExitCode;

/// How the command ended, for the shell. The values are documented in `docs/cli.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done: the task completed, the direct answer came, or the call did what it is for.
    Completed,
    /// The agent answered with an error, with something that is not A2A, or not in time.
    Protocol,
    /// The command line, a file that it names, or the configuration is wrong. Nothing was sent.
    Usage,
    /// The agent could not be reached. Nothing was sent.
    Connect,
    /// The task failed, or the agent rejected it (or would, `explain`).
    AgentFailed,
    /// The task waits for a message or for credentials (or would, `explain`).
    InputRequired,
    /// The task was canceled.
    Canceled,
    /// Ctrl-C.
    Interrupted,
}

impl Exit {
    /// The number that the shell gets.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::Protocol => 1,
            Self::Usage => 2,
            Self::Connect => 3,
            Self::AgentFailed => 4,
            Self::InputRequired => 5,
            Self::Canceled => 6,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
