use std::fmt;

use crate::json::ReadError;

/// A task's state (section 4.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// Accepted, not running yet.
    Submitted,
    /// A turn is running.
    Working,
    /// Ended as asked.
    Completed,
    /// Ended by an error.
    Failed,
    /// Ended by a cancel.
    Canceled,
    /// The agent declined it.
    Rejected,
    /// Waits for a message.
    InputRequired,
    /// Waits for credentials.
    AuthRequired,
}

impl TaskState {
    /// All states, in the specification's order.
    pub const ALL: [Self; 8] = [
        Self::Submitted,
        Self::Working,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::Rejected,
        Self::InputRequired,
        Self::AuthRequired,
    ];

    /// The name on the wire (`TASK_STATE_WORKING`).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "TASK_STATE_SUBMITTED",
            Self::Working => "TASK_STATE_WORKING",
            Self::Completed => "TASK_STATE_COMPLETED",
            Self::Failed => "TASK_STATE_FAILED",
            Self::Canceled => "TASK_STATE_CANCELED",
            Self::Rejected => "TASK_STATE_REJECTED",
            Self::InputRequired => "TASK_STATE_INPUT_REQUIRED",
            Self::AuthRequired => "TASK_STATE_AUTH_REQUIRED",
        }
    }

    /// Reads a name from the wire.
    ///
    /// # Errors
    /// With the names that exist.
    pub fn parse(name: &str) -> Result<Self, ReadError> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == name)
            .ok_or_else(|| {
                let shown: String = name.chars().take(40).collect();
                let names = Self::ALL.map(Self::as_str).join(", ");
                ReadError::invalid(format!("{shown:?} is no task state; there are {names}"))
            })
    }

    /// Whether the task has ended; nothing is written after that.
    pub fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Canceled | Self::Rejected
        )
    }

    /// Whether the task waits for its client.
    pub fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }

    /// Whether no turn is running or about to: what a blocking send waits for.
    pub fn is_settled(self) -> bool {
        self.is_terminal() || self.is_interrupted()
    }

    /// Whether a task in this state may go on to `next`.
    ///
    /// The first terminal state wins. A waiting task is submitted again by its answer; a running
    /// one never is.
    pub fn may_become(self, next: Self) -> bool {
        match (self, next) {
            (from, _) if from.is_terminal() => false,
            (Self::Working, Self::Submitted) => false,
            _ => true,
        }
    }
}

impl fmt::Display for TaskState {
    /// The short name (`input-required`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Rejected => "rejected",
            Self::InputRequired => "input-required",
            Self::AuthRequired => "auth-required",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::TaskState;

    #[test]
    fn nothing_follows_a_terminal_state() {
        for from in TaskState::ALL {
            for to in TaskState::ALL {
                let backwards = from == TaskState::Working && to == TaskState::Submitted;
                let expected = !from.is_terminal() && !backwards;
                assert_eq!(from.may_become(to), expected, "{from} to {to}");
            }
        }
    }

    #[test]
    fn the_short_name_is_the_end_of_the_name_on_the_wire() {
        for state in TaskState::ALL {
            let short = state.to_string().to_uppercase().replace('-', "_");
            assert_eq!(format!("TASK_STATE_{short}"), state.as_str());
        }
    }
}
