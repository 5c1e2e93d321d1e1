//! Workflows between A2A agents: a plan says which agents are called, in which order, and what
//! each of them receives. It is checked before it runs.
//!
//! ```
//! use llamon_flow::Plan;
//!
//! let plan = Plan::from_yaml("
//! name: lock-report
//! agents:
//!   inventory: https://agents.example.com/inventory
//!   audit: https://agents.example.com/audit
//! steps:
//!   packages: {agent: inventory, from: [input]}
//!   findings:
//!     agent: audit
//!     from: [packages]
//!     each: {path: '$.packages[*]', concurrency: 16}
//!     when: '@.packages.data[0].count > 0'
//! outputs: [findings]
//! ")?;
//! assert_eq!(plan.steps().len(), 2);
//!
//! // What is wrong is said with line and column.
//! let error = Plan::from_yaml("
//! steps:
//!   findings: {agent: 'https://a.example.com', from: [packages]}
//! outputs: [findings]
//! ").unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "3:53: error: step \"findings\": `from` names \"packages\"; there are input",
//! );
//! # Ok::<(), llamon_flow::PlanError>(())
//! ```
//!
//! * [`Plan`]: agents, steps and outputs, from YAML ([`Plan::from_yaml`]) or Rust
//!   ([`Plan::builder`]).
//! * [`check`]: what the agents' cards say about a plan, and where parts arrive more than once.
//! * [`picture`]: plans and runs as Mermaid, DOT and SVG.
//! * [`data`]: what each step receives, as pure functions of the plan and the answers so far.

#[cfg(feature = "agent")]
mod agent;
pub mod check;
mod clock;
pub mod data;
mod expression;
mod finding;
pub mod picture;
mod plan;
pub mod run;
pub mod store;

#[cfg(feature = "agent")]
pub use agent::WorkflowAgent;
pub use finding::{Finding, Place, PlanError, Severity};
pub use plan::{
    Agent, Ask, DEFAULT_TIMEOUT, Dedupe, Each, MAX_DOCUMENT_BYTES, MAX_NAME_CHARS, MAX_STEPS,
    OnError, Plan, PlanBuilder, PlannedEach, PlannedStep, Retry, Source, Step,
};

/// The JSON Schema (2020-12) of a plan's document, for editors.
pub const PLAN_SCHEMA: &str = include_str!("../plan.schema.json");
