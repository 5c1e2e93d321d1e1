//! What a plan is: agents, steps, and what the run answers with.

mod agent;
mod builder;
mod compile;
mod document;
mod export;
mod order;
mod places;
mod read;
mod step;

use std::collections::HashMap;
use std::time::Duration;

pub use agent::Agent;
pub use builder::PlanBuilder;
pub(crate) use places::{At, Places};
pub use step::{Ask, DEFAULT_TIMEOUT, Dedupe, Each, OnError, Retry, Step};

use crate::expression::{Condition, ItemPath, Template};
use crate::finding::{Finding, PlanError};

/// The steps that a plan may have.
pub const MAX_STEPS: usize = 10_000;
/// The bytes that a plan's document may have.
pub const MAX_DOCUMENT_BYTES: usize = 8 << 20;
/// The characters that the name of a step or an agent may have.
pub const MAX_NAME_CHARS: usize = 64;

/// A plan that was checked by itself: its names, order and expressions are right. What its
/// agents say about themselves is checked by [`check`](crate::check).
///
/// ```
/// use llamon_flow::{Agent, Plan, Step};
///
/// let plan = Plan::builder("lock-report")
///     .agent("audit", Agent::new("https://agents.example.com/audit"))
///     .step(Step::new("findings", "audit").from(["input"]))
///     .step(Step::new("summary", "audit").from(["findings"]).text("sum up: {{findings.text}}"))
///     .output("summary")
///     .build()?;
/// assert_eq!(plan.order(), [0, 1]);
/// # Ok::<(), llamon_flow::PlanError>(())
/// ```
#[derive(Debug)]
pub struct Plan {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) agents: Vec<(String, Agent)>,
    pub(crate) steps: Vec<PlannedStep>,
    pub(crate) outputs: Vec<usize>,
    pub(crate) index: HashMap<String, usize>,
    pub(crate) order: Vec<usize>,
    pub(crate) places: Places,
}

/// Where something that a step receives comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// The run's input.
    Input,
    /// A step, by its place in [`Plan::steps`].
    Step(usize),
}

/// A step in a plan: names are resolved, expressions ready for use.
#[derive(Debug)]
pub struct PlannedStep {
    pub(crate) step: Step,
    pub(crate) agent: Agent,
    /// The name in the plan's agents; `None` where the step has the URL itself.
    pub(crate) agent_name: Option<String>,
    pub(crate) from: Vec<Source>,
    pub(crate) needs: Vec<usize>,
    pub(crate) template: Option<Template>,
    pub(crate) condition: Option<Condition>,
    pub(crate) each: Option<PlannedEach>,
    pub(crate) goes_to: Option<usize>,
    /// The steps that go here when they fail.
    pub(crate) stands_in_for: Vec<usize>,
}

/// How a step's items are found.
#[derive(Debug)]
pub struct PlannedEach {
    pub(crate) of: Source,
    pub(crate) path: ItemPath,
    pub(crate) concurrency: usize,
    pub(crate) max_items: usize,
}

impl Plan {
    /// Begins a plan.
    pub fn builder(name: impl Into<String>) -> PlanBuilder {
        PlanBuilder::new(name)
    }

    /// The same plan with an agent that is somewhere else, such as in a test.
    ///
    /// ```
    /// # use llamon_flow::{Agent, Plan, Step};
    /// let plan = Plan::builder("p")
    ///     .agent("audit", Agent::new("https://agents.example.com/audit"))
    ///     .step(Step::new("findings", "audit").from(["input"]))
    ///     .output("findings")
    ///     .build()?;
    /// let here = plan.with_agent_at("audit", "http://127.0.0.1:8082")?;
    /// assert_eq!(here.steps()[0].agent().url(), "http://127.0.0.1:8082");
    /// assert!(here.with_agent_at("nobody", "http://127.0.0.1:8082").is_err());
    /// # Ok::<(), llamon_flow::PlanError>(())
    /// ```
    ///
    /// # Errors
    /// When the plan names no such agent, and when it is no URL.
    pub fn with_agent_at(mut self, name: &str, url: &str) -> Result<Self, PlanError> {
        if let Some(problem) = compile::bad_url(url) {
            let message = format!("the agent {name:?}: {problem}");
            return Err(PlanError::new(vec![Finding::error("bad-url", message)]));
        }
        let mut agents = self.agents.iter_mut();
        let Some((_, agent)) = agents.find(|(known, _)| known == name) else {
            let known: Vec<&str> = self.agents.iter().map(|(known, _)| &**known).collect();
            let message = format!(
                "the plan names no agent {name:?}; its agents are: {}",
                known.join(", ")
            );
            return Err(PlanError::new(vec![Finding::error(
                "unknown-agent",
                message,
            )]));
        };
        url.clone_into(&mut agent.url);
        for step in &mut self.steps {
            if step.agent_name.as_deref() == Some(name) {
                url.clone_into(&mut step.agent.url);
            }
        }
        Ok(self)
    }

    /// The plan's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is for.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// All steps, in the order of the document. Steps are known by their place in it.
    pub fn steps(&self) -> &[PlannedStep] {
        &self.steps
    }

    /// The step of this name.
    pub fn step(&self, name: &str) -> Option<&PlannedStep> {
        self.steps.get(*self.index.get(name)?)
    }

    /// The place of the step of this name in [`Plan::steps`].
    pub fn step_index(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// The steps whose answers are the run's answer, in this order.
    pub fn outputs(&self) -> &[usize] {
        &self.outputs
    }

    /// All steps, each after those that it needs.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// What a source is called: a step's name, or `input`.
    pub fn source_name(&self, source: Source) -> &str {
        match source {
            Source::Input => INPUT,
            Source::Step(step) => self.steps.get(step).map_or("", PlannedStep::name),
        }
    }
}

impl PlannedStep {
    /// The step's name, which is its identity in a run.
    pub fn name(&self) -> &str {
        &self.step.name
    }

    /// The agent that it calls.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// What the agent is called: its name in the plan, or its URL.
    pub fn agent_name(&self) -> &str {
        self.agent_name.as_deref().unwrap_or(&self.agent.url)
    }

    /// What the step receives, in this order.
    pub fn from(&self) -> &[Source] {
        &self.from
    }

    /// The steps that must have ended before this one starts, each once: those in `from`, those
    /// that its text and condition name, what stands in for these, and those that go here.
    pub fn needs(&self) -> &[usize] {
        &self.needs
    }

    /// Whether it is called for each item.
    pub fn each(&self) -> Option<&PlannedEach> {
        self.each.as_ref()
    }

    /// How long one attempt may take.
    pub fn timeout(&self) -> Duration {
        self.step.timeout
    }

    /// How often a call is attempted.
    pub fn retry(&self) -> Retry {
        self.step.retry
    }

    /// What happens when it fails.
    pub fn on_error(&self) -> &OnError {
        &self.step.on_error
    }

    /// The step that stands in for it when it fails.
    pub fn goes_to(&self) -> Option<usize> {
        self.goes_to
    }

    /// The steps that it stands in for; it runs only if one of them failed. None for a step that
    /// nobody goes to.
    pub fn stands_in_for(&self) -> &[usize] {
        &self.stands_in_for
    }

    /// What happens when the agent asks.
    pub fn ask(&self) -> Ask {
        self.step.ask
    }

    /// Whether repeated parts are sent.
    pub fn dedupe(&self) -> Dedupe {
        self.step.dedupe
    }
}

impl PlannedEach {
    /// The source whose data has the items.
    pub fn of(&self) -> Source {
        self.of
    }

    /// The path to the items.
    pub fn path(&self) -> &str {
        self.path.as_str()
    }

    /// How many calls run at once.
    pub fn concurrency(&self) -> usize {
        self.concurrency
    }

    /// How many items there may be.
    pub fn max_items(&self) -> usize {
        self.max_items
    }
}

/// The name of the run's input in a plan.
pub(crate) const INPUT: &str = "input";
/// The name of an item in a template.
pub(crate) const ITEM: &str = "item";
