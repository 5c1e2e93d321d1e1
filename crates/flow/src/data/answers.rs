use llamon_core::Payload;

use crate::plan::{Plan, Source};

/// The run's input, and what the steps that have ended answered.
#[derive(Clone, Debug)]
pub struct Answers {
    input: Payload,
    steps: Vec<Option<Answer>>,
}

impl Answers {
    /// No step has ended yet.
    pub fn new(plan: &Plan, input: Payload) -> Self {
        Self {
            input,
            steps: vec![None; plan.steps.len()],
        }
    }

    /// A step has ended.
    pub fn set(&mut self, step: usize, answer: Answer) {
        if let Some(slot) = self.steps.get_mut(step) {
            *slot = Some(answer);
        }
    }

    /// How a step ended; `None` where it has not.
    pub fn get(&self, step: usize) -> Option<&Answer> {
        self.steps.get(step)?.as_ref()
    }

    /// The run's input.
    pub fn input(&self) -> &Payload {
        &self.input
    }

    pub(super) fn payload(&self, source: Source) -> &Payload {
        const NOTHING: &Payload = &Payload::new();
        match source {
            Source::Input => &self.input,
            Source::Step(step) => self.get(step).map_or(NOTHING, Answer::payload),
        }
    }
}

/// How a step ended, and what it gives to the steps after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    outcome: Outcome,
    payload: Payload,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It completed. With `on_error: continue` and a failure, what failed is said.
    Completed,
    /// It did not run.
    Skipped,
    /// It failed, for this reason.
    Failed(String),
}

impl Outcome {
    /// `completed`, `skipped` or `failed`, as conditions read it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Skipped => "skipped",
            Self::Failed(_) => "failed",
        }
    }
}

impl Answer {
    /// The step completed with this answer; of a step with items, all answers in their order.
    pub fn completed(payload: Payload) -> Self {
        Self {
            outcome: Outcome::Completed,
            payload,
        }
    }

    /// The step was skipped.
    pub fn skipped() -> Self {
        Self {
            outcome: Outcome::Skipped,
            payload: Payload::new(),
        }
    }

    /// The step failed and gives nothing; the reason is for people and for `{{step.error}}`.
    pub fn failed(error: impl Into<String>) -> Self {
        Self::failed_with(error, Payload::new())
    }

    /// The step failed, `on_error: continue`, and gives what its items that finished answered.
    pub fn failed_with(error: impl Into<String>, payload: Payload) -> Self {
        Self {
            outcome: Outcome::Failed(error.into()),
            payload,
        }
    }

    /// How the step ended.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// What it gives to the steps after it.
    pub fn payload(&self) -> &Payload {
        &self.payload
    }
}
