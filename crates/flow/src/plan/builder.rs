use super::{Agent, Places, Plan, Step, compile};
use crate::finding::PlanError;

/// A plan that is being written in Rust.
#[derive(Clone, Debug)]
#[must_use = "a plan is checked by `build`"]
pub struct PlanBuilder {
    draft: Draft,
}

/// A plan as it was written, before anything is looked up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) agents: Vec<(String, Agent)>,
    pub(crate) steps: Vec<Step>,
    pub(crate) outputs: Vec<String>,
}

impl PlanBuilder {
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self {
            draft: Draft {
                name: name.into(),
                ..Draft::default()
            },
        }
    }

    /// What the plan is for.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.draft.description = Some(description.into());
        self
    }

    /// An agent that steps can name.
    pub fn agent(mut self, name: impl Into<String>, agent: Agent) -> Self {
        self.draft.agents.push((name.into(), agent));
        self
    }

    /// A step more.
    pub fn step(mut self, step: Step) -> Self {
        self.draft.steps.push(step);
        self
    }

    /// A step whose answer is part of the run's answer.
    pub fn output(mut self, step: impl Into<String>) -> Self {
        self.draft.outputs.push(step.into());
        self
    }

    /// Checks everything that can be checked without asking the agents.
    ///
    /// # Errors
    /// With all that is wrong.
    pub fn build(self) -> Result<Plan, PlanError> {
        compile::compile(self.draft, Places::default())
    }
}
