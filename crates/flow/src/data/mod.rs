//! What each step receives: pure functions of the plan and of what the steps before answered. A
//! runner, a picture and a test have the same answer from them.
//!
//! Nothing is removed and nothing is changed on the way: parts go on token for token, in the
//! order of `from`. Repeats are counted, and removed only where the step asks for it.
//!
//! ```
//! use llamon_core::Payload;
//! use llamon_flow::{Plan, data::{Answer, Answers, Next}};
//!
//! let plan = Plan::from_yaml("
//! steps:
//!   a: {agent: 'https://a.example.com', from: [input]}
//!   b: {agent: 'https://b.example.com', from: [a], text: 'look at {{a.text}}'}
//! outputs: [b]
//! ")?;
//! let mut answers = Answers::new(&plan, Payload::new().with_text("hello"));
//! answers.set(0, Answer::completed(Payload::new().with_text("42").with_data(&[1.0])?));
//!
//! assert_eq!(plan.next(1, &answers)?, Next::Run);
//! let message = plan.message(1, &answers, None)?;
//! let parts: Vec<&str> = message.parts().iter().map(|part| part.json()).collect();
//! assert_eq!(parts, [r#"{"text":"look at 42"}"#, r#"{"data":[1.0]}"#]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answers;
mod context;
mod items;
mod message;

pub use answers::{Answer, Answers, Outcome};
pub use items::Item;
pub use message::{Message, Origin, Repeat};

use std::fmt;

use crate::plan::{Plan, Source};

/// What becomes of a step when all that it needs has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It runs.
    Run,
    /// It is skipped.
    Skip(Skip),
}

/// Why a step is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// Its condition does not hold.
    Condition,
    /// Nobody whom it stands in for failed.
    NotNeeded,
    /// All that it receives from was skipped.
    NothingToReceive,
}

impl Skip {
    /// The reason, for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Condition => "its condition does not hold",
            Self::NotNeeded => "nothing that it stands in for failed",
            Self::NothingToReceive => "all that it receives from was skipped",
        }
    }
}

/// Data that does not fit the plan: a place that is not there, a part that cannot be parsed, too
/// many items. It fails the step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataError(String);

impl DataError {
    fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DataError {}

impl Plan {
    /// What becomes of `step`; everything that it [needs](crate::PlannedStep::needs) must have
    /// ended.
    ///
    /// # Errors
    /// When its condition reads a part that cannot be parsed.
    pub fn next(&self, step: usize, answers: &Answers) -> Result<Next, DataError> {
        let Some(planned) = self.steps.get(step) else {
            return Ok(Next::Skip(Skip::NotNeeded));
        };
        let outcome = |step: &usize| answers.get(*step).map(Answer::outcome);
        let is_stand_in = !planned.stands_in_for.is_empty();
        let is_needed = planned.stands_in_for.iter().any(|step| {
            // One that the run goes on without did not go here.
            matches!(outcome(step), Some(Outcome::Failed(_)))
        });
        if is_stand_in && !is_needed {
            return Ok(Next::Skip(Skip::NotNeeded));
        }
        let is_skipped = |source: &Source| match source {
            Source::Input => false,
            Source::Step(from) => {
                let from = self.stands_for(*from, step, answers);
                matches!(outcome(&from), Some(Outcome::Skipped))
            }
        };
        if !planned.from.is_empty() && planned.from.iter().all(is_skipped) {
            return Ok(Next::Skip(Skip::NothingToReceive));
        }
        let Some(condition) = &planned.condition else {
            return Ok(Next::Run);
        };
        let context = self.context(step, condition.references(), answers, None);
        let holds = condition.holds(&context);
        let holds = holds.map_err(|error| DataError::new(format!("`when`: {error}")))?;
        Ok(if holds {
            Next::Run
        } else {
            Next::Skip(Skip::Condition)
        })
    }

    /// The answer of the run: those of its outputs, in their order.
    pub fn answer(&self, answers: &Answers) -> llamon_core::Payload {
        let parts = self.outputs.iter().flat_map(|output| {
            let output = self.stands_for(*output, usize::MAX, answers);
            let payload = answers.get(output).map(|answer| answer.payload().clone());
            payload.unwrap_or_default().into_parts()
        });
        parts.collect::<Vec<_>>().into()
    }

    /// Who answers for `step` when `reader` asks: itself, or who stands in for it because it
    /// failed. `reader` does not stand in for anybody before itself.
    pub(crate) fn stands_for(&self, step: usize, reader: usize, answers: &Answers) -> usize {
        let mut at = step;
        // The plan has no ring of steps that go to each other.
        while let Some(next) = self.steps.get(at).and_then(|step| step.goes_to) {
            let failed = answers
                .get(at)
                .is_some_and(|answer| matches!(answer.outcome(), Outcome::Failed(_)));
            if !failed || next == reader {
                break;
            }
            at = next;
        }
        at
    }
}
