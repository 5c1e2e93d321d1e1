//! Where the steps of a run stand: what is stored, as the answers that the plan works with.

use std::collections::HashMap;

use llamon_core::{Part, Payload};

use crate::data::{Answer, Answers, Item};
use crate::plan::{OnError, Plan};
use crate::store::{CallState, StepState, StoredCall, StoredRun};

/// A step of a run.
#[derive(Debug)]
pub(super) enum StepRun {
    /// What it needs has not ended.
    Waiting,
    /// Its calls are being made.
    Started(Started),
    /// It has ended, and steps that need it can start.
    Ended,
    /// It failed, and steps that need it never start.
    Dead(String),
}

/// The calls of a step.
#[derive(Debug)]
pub(super) struct Started {
    /// `None` for a step that is one call.
    pub(super) items: Option<Vec<Item>>,
    /// By item; one for a step without.
    pub(super) calls: Vec<CallRun>,
    /// The first one that was never begun.
    pub(super) next: usize,
    /// Those that are being made or wait for an answer.
    pub(super) open: usize,
    /// Those that are being made.
    pub(super) running: usize,
}

/// A call of a step.
#[derive(Clone, Debug)]
pub(super) enum CallRun {
    NotBegun,
    Open,
    Ended(Result<Vec<Part>, String>),
}

impl Started {
    pub(super) fn new(items: Option<Vec<Item>>) -> Self {
        let calls = items.as_ref().map_or(1, Vec::len);
        Self {
            items,
            calls: vec![CallRun::NotBegun; calls],
            next: 0,
            open: 0,
            running: 0,
        }
    }

    /// The first failure.
    pub(super) fn failure(&self) -> Option<(usize, &str)> {
        let mut calls = self.calls.iter().enumerate();
        calls.find_map(|(at, call)| match call {
            CallRun::Ended(Err(reason)) => Some((at, reason.as_str())),
            _ => None,
        })
    }

    /// Why the step failed, if one of its calls did.
    pub(super) fn reason(&self) -> Option<String> {
        let (at, reason) = self.failure()?;
        Some(if self.items.is_some() {
            format!("item {at}: {reason}")
        } else {
            reason.to_owned()
        })
    }

    /// What the calls that ended well answered, in the order of the items.
    pub(super) fn payload(&self) -> Payload {
        let ended = self.calls.iter().filter_map(|call| match call {
            CallRun::Ended(Ok(parts)) => Some(parts.iter().cloned()),
            _ => None,
        });
        ended.flatten().collect::<Vec<Part>>().into()
    }
}

/// The answer that a step with these calls gives, and whether steps that need it can start.
pub(super) fn answer_of(
    on_error: &OnError,
    failure: Option<String>,
    payload: Payload,
) -> Result<Answer, String> {
    match (failure, on_error) {
        (None, _) => Ok(Answer::completed(payload)),
        (Some(reason), OnError::Continue) => Ok(Answer::failed_with(reason, payload)),
        (Some(reason), OnError::GoTo(_)) => Ok(Answer::failed(reason)),
        (Some(reason), OnError::Fail) => Err(reason),
    }
}

/// The calls of a run, by step.
pub(super) fn by_step(stored: &StoredRun) -> HashMap<&str, Vec<&StoredCall>> {
    let mut calls: HashMap<&str, Vec<&StoredCall>> = HashMap::new();
    for call in &stored.calls {
        calls.entry(&call.id.step).or_default().push(call);
    }
    calls
}

/// The answers of the steps that have ended.
pub(super) fn answers(plan: &Plan, stored: &StoredRun) -> Answers {
    let input: Payload = stored.input.clone().into();
    let mut answers = Answers::new(plan, input);
    let calls = by_step(stored);
    for step in &stored.steps {
        let Some(index) = plan.step_index(&step.step) else {
            continue;
        };
        let Some(planned) = plan.steps().get(index) else {
            continue;
        };
        let of_step = calls.get(&*step.step).map_or(&[][..], |calls| calls);
        match step.state {
            StepState::Started | StepState::Canceled => {}
            StepState::Skipped => answers.set(index, Answer::skipped()),
            StepState::Completed => {
                answers.set(index, Answer::completed(payload(of_step)));
            }
            StepState::Failed => {
                let reason = step.reason.clone();
                let reason = reason.unwrap_or_else(|| "the step failed".to_owned());
                let answer = answer_of(planned.on_error(), Some(reason.clone()), payload(of_step));
                answers.set(index, answer.unwrap_or_else(Answer::failed));
            }
        }
    }
    answers
}

/// What the calls that ended well answered; they are in the order of the items.
fn payload(calls: &[&StoredCall]) -> Payload {
    let ended = calls
        .iter()
        .filter(|call| call.state == CallState::Completed);
    ended
        .flat_map(|call| call.parts.iter().cloned())
        .collect::<Vec<Part>>()
        .into()
}
