use std::fmt;

/// Why a backend did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such task, or no such push configuration, in this scope.
    NotFound,
    /// The task has ended.
    Terminal,
    /// The task has another generation, or a turn is at work on it.
    Conflict,
    /// Somebody else has taken the turn over; nothing of this attempt is accepted any more.
    Fenced,
    /// A cancel was accepted before.
    CancelRequested,
    /// The message's id came before with another message.
    OtherMessage,
    /// There is no room at the moment: the limit's name and value.
    Full {
        /// The limit's name.
        limit: &'static str,
        /// The limit's value.
        allowed: usize,
    },
    /// The store has no space to write to. Reading still works, and writing will when there is
    /// space again. Nothing was changed.
    NoSpace(String),
    /// The page token is none of this backend's.
    PageToken,
    /// The backend failed; the text is for the log. A change may have happened whole, or not at
    /// all.
    Failed(String),
}

impl StoreError {
    /// Whether the same call may succeed a little later.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::NoSpace(_) | Self::Failed(_) | Self::Full { .. })
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("there is no such task"),
            Self::Terminal => f.write_str("the task has ended"),
            Self::Conflict => f.write_str("the task was changed by somebody else"),
            Self::Fenced => f.write_str("another attempt has taken the turn over"),
            Self::CancelRequested => f.write_str("the task is being canceled"),
            Self::OtherMessage => f.write_str("the message's id was used for another message"),
            Self::Full { limit, allowed } => {
                write!(f, "the limit {limit} is reached, which is {allowed}")
            }
            Self::NoSpace(reason) => write!(f, "the store has no space to write to: {reason}"),
            Self::PageToken => f.write_str("the page token is not one of this server's"),
            Self::Failed(reason) => write!(f, "the store failed: {reason}"),
        }
    }
}

impl std::error::Error for StoreError {}
