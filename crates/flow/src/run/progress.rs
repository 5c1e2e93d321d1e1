use llamon_core::Part;

use crate::store::{CallId, CallState, RunState, StepState};

/// What happens in a run. It is told after it is stored.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// A step is ready: it has this many calls to make.
    StepStarted {
        /// Its name.
        step: &'a str,
        /// How many items it has, for a step with `each`.
        items: Option<u32>,
    },
    /// A step has ended.
    StepEnded {
        /// Its name.
        step: &'a str,
        /// How.
        state: StepState,
        /// Why it was skipped or failed.
        reason: Option<&'a str>,
    },
    /// A message is sent.
    Sending {
        /// Of which call.
        call: &'a CallId,
        /// The attempt, from 1.
        attempt: u32,
        /// How many parts it has.
        parts: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// The agent says what it is doing.
    Status {
        /// Of which call.
        call: &'a CallId,
        /// What it says.
        text: &'a str,
    },
    /// An attempt has failed, and another one follows.
    Retrying {
        /// Of which call.
        call: &'a CallId,
        /// Why.
        reason: &'a str,
    },
    /// The agent asks.
    Asking {
        /// Of which call.
        call: &'a CallId,
        /// The question.
        question: &'a [Part],
        /// Whether it wants credentials.
        is_auth: bool,
    },
    /// A question was answered.
    Answered {
        /// Of which call.
        call: &'a CallId,
    },
    /// A call is at rest.
    CallEnded {
        /// Which one.
        call: &'a CallId,
        /// How.
        state: CallState,
        /// Parts of the answer.
        parts: usize,
        /// Their bytes.
        bytes: usize,
        /// Why it failed.
        reason: Option<&'a str>,
    },
    /// The run is at rest.
    RunEnded {
        /// How.
        state: RunState,
        /// Why it failed.
        reason: Option<&'a str>,
    },
}

/// Who is told what happens in a run. It is called between steps of the runner's work and must
/// return soon.
pub trait Watch: Send + Sync {
    /// Something has happened.
    fn see(&self, progress: Progress<'_>);
}

/// Nobody.
impl Watch for () {
    fn see(&self, _: Progress<'_>) {}
}

/// A function.
impl<F: Fn(Progress<'_>) + Send + Sync> Watch for F {
    fn see(&self, progress: Progress<'_>) {
        self(progress);
    }
}
