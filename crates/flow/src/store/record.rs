use std::fmt;

use jiff::Timestamp;
use llamon_core::Part;

/// A call of a run: a step, or one item of a step with `each`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId {
    /// The step's name.
    pub step: String,
    /// The item, from 0.
    pub item: Option<u32>,
}

impl CallId {
    /// The call of a step without items.
    pub fn of_step(step: impl Into<String>) -> Self {
        Self {
            step: step.into(),
            item: None,
        }
    }

    /// The call of one item.
    pub fn of_item(step: impl Into<String>, item: u32) -> Self {
        Self {
            step: step.into(),
            item: Some(item),
        }
    }

    /// Its place among the calls of its step.
    pub(crate) fn index(&self) -> usize {
        self.item.map_or(0, |item| item as usize)
    }

    pub(super) fn item_key(&self) -> i64 {
        self.item.map_or(-1, i64::from)
    }

    pub(super) fn of_key(step: String, item: i64) -> Self {
        Self {
            step,
            item: u32::try_from(item).ok(),
        }
    }

    /// The contextId that the agent is given: `run/step`, or `run/step/item`.
    pub fn context_id(&self, run: &str) -> String {
        format!("{run}/{self}")
    }
}

/// `step`, or `step/item`.
impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.item {
            None => f.write_str(&self.step),
            Some(item) => write!(f, "{}/{item}", self.step),
        }
    }
}

macro_rules! states {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// As it is written and stored.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            pub(super) fn read(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

states! {
    /// Where a run stands.
    RunState {
        /// Its steps run, wait, or wait for a process that runs them.
        Running = "running",
        /// Every step that had to has completed.
        Completed = "completed",
        /// A step failed.
        Failed = "failed",
        /// Somebody canceled it.
        Canceled = "canceled",
    }
}

states! {
    /// What a step has become, as far as it was looked at.
    StepState {
        /// Its calls are known.
        Started = "started",
        /// It had nothing to do: its condition was false, nobody went to it, or its sources were
        /// skipped.
        Skipped = "skipped",
        /// All of its calls have ended well, or it had none.
        Completed = "completed",
        /// It failed.
        Failed = "failed",
        /// It was canceled with its run.
        Canceled = "canceled",
    }
}

states! {
    /// Where a call stands.
    CallState {
        /// The message may have been sent.
        Sending = "sending",
        /// The agent has it; a task, if there is one, is known.
        Sent = "sent",
        /// The agent waits for somebody's answer.
        Asking = "asking",
        /// It has answered.
        Completed = "completed",
        /// It failed, for good.
        Failed = "failed",
        /// It was canceled with its run.
        Canceled = "canceled",
    }
}

impl RunState {
    /// Whether nothing is left to do.
    pub fn is_at_rest(self) -> bool {
        self != Self::Running
    }
}

impl CallState {
    /// Whether nothing is left to do.
    pub fn is_at_rest(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled)
    }
}

/// What a call was sent, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Parts that the step's sources gave it.
    pub received: u64,
    /// Parts of the message that was sent.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Parts sent whose text is that of an earlier part of the same message.
    pub duplicates: u64,
    /// Their bytes.
    pub duplicate_bytes: u64,
}

/// What an agent wants to know.
#[derive(Clone, Debug)]
pub struct Question {
    /// The parts of the status message.
    pub parts: Vec<Part>,
    /// Whether it wants credentials (AUTH_REQUIRED).
    pub is_auth: bool,
    /// What somebody has answered, and was not sent yet.
    pub answer: Option<Vec<Part>>,
}

/// A call as it is stored.
#[derive(Clone, Debug)]
pub struct StoredCall {
    /// Which one.
    pub id: CallId,
    /// Where it stands.
    pub state: CallState,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The id of the message of that attempt.
    pub message_id: String,
    /// The agent's task.
    pub task_id: Option<String>,
    /// The context that the agent uses.
    pub context_id: Option<String>,
    /// The question, while it is asking.
    pub question: Option<Question>,
    /// Answers that were sent.
    pub answers: u32,
    /// What was answered.
    pub parts: Vec<Part>,
    /// Why it failed.
    pub reason: Option<String>,
    /// How often it may have been sent twice, because nobody could say whether it had arrived.
    pub possibly_repeated: u32,
    /// What was sent.
    pub traffic: Traffic,
    /// When it was sent first.
    pub began: Timestamp,
    /// When it changed last.
    pub changed: Timestamp,
}

/// A step as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredStep {
    /// Its name.
    pub step: String,
    /// What it has become.
    pub state: StepState,
    /// How many items it has, for a step with `each`.
    pub items: Option<u32>,
    /// Why it was skipped or failed.
    pub reason: Option<String>,
}

/// A run as it is stored.
#[derive(Clone, Debug)]
pub struct StoredRun {
    /// Its line in a list.
    pub summary: RunSummary,
    /// The plan's text, as it was when the run began.
    pub plan: String,
    /// What the run was given.
    pub input: Vec<Part>,
    /// The steps that were looked at.
    pub steps: Vec<StoredStep>,
    /// The calls that were made or are being made, by step and item.
    pub calls: Vec<StoredCall>,
}

/// A run's line in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// The run's id.
    pub id: String,
    /// The plan's name.
    pub name: String,
    /// Where it stands.
    pub state: RunState,
    /// Why it failed.
    pub reason: Option<String>,
    /// Whether somebody wants it canceled.
    pub cancel_requested: bool,
    /// When it began.
    pub created: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// Calls that wait for an answer.
    pub questions: u64,
}
