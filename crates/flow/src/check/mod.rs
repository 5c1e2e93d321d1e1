//! What is wrong with a plan, or may be, before it runs: what its agents' cards say about it, and
//! where parts will arrive more than once.
//!
//! ```
//! use llamon_flow::{Plan, check::{Cards, check}};
//!
//! let plan = Plan::from_yaml("
//! steps:
//!   a: {agent: 'https://a.example.com', from: [input]}
//!   b: {agent: 'https://b.example.com', from: [a]}
//!   c: {agent: 'https://c.example.com', from: [a]}
//!   d: {agent: 'https://d.example.com', from: [b, c]}
//! outputs: [d]
//! ")?;
//! let report = check(&plan, &Cards::unknown());
//! assert!(!report.has_errors());
//! assert!(report.findings()[0].to_string().starts_with("6:49: warning: step \"d\": what a answers can arrive 2 times"));
//! # Ok::<(), llamon_flow::PlanError>(())
//! ```

mod cards;
mod contracts;
mod modes;
mod paths;
mod published;
mod schema;
mod walk;

pub use cards::Cards;
pub use paths::Growth;

use crate::finding::{self, Finding, Severity};
use crate::plan::{At, Plan, PlannedStep};

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    findings: Vec<Finding>,
    growth: Vec<Growth>,
}

impl Report {
    /// Errors and warnings, in the order of the document.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Whether one of them is an error.
    pub fn has_errors(&self) -> bool {
        let mut severities = self.findings.iter().map(Finding::severity);
        severities.any(|severity| severity == Severity::Error)
    }

    /// For each output of the plan, how many parts its answer would have if every agent appended.
    pub fn growth(&self) -> &[Growth] {
        &self.growth
    }
}

/// Checks a plan. Nothing is asked: what is known of the agents is in `cards`.
pub fn check(plan: &Plan, cards: &Cards) -> Report {
    let mut findings = cards.findings(plan);
    unused(plan, &mut findings);
    repeated_sources(plan, &mut findings);
    modes::check(plan, cards, &mut findings);
    contracts::check(plan, cards, &mut findings);
    let growth = paths::check(plan, &mut findings);
    finding::sort(&mut findings);
    Report { findings, growth }
}

/// Steps whose answer goes nowhere.
fn unused(plan: &Plan, findings: &mut Vec<Finding>) {
    let mut leads_out = vec![false; plan.steps.len()];
    let mut open: Vec<usize> = plan.outputs.clone();
    while let Some(step) = open.pop() {
        let Some(seen) = leads_out.get_mut(step).filter(|seen| !**seen) else {
            continue;
        };
        *seen = true;
        if let Some(planned) = plan.steps.get(step) {
            open.extend(&planned.needs);
            open.extend(planned.goes_to);
        }
    }
    for (at, step) in plan.steps.iter().enumerate() {
        if leads_out.get(at) == Some(&false) {
            let message = "leads to no output: it runs, and nobody reads its answer";
            findings.push(warning(plan, "unused-step", At::Step(at), step, message));
        }
    }
}

fn repeated_sources(plan: &Plan, findings: &mut Vec<Finding>) {
    for (at, step) in plan.steps.iter().enumerate() {
        let mut seen = std::collections::HashSet::new();
        for (place, source) in step.from.iter().enumerate() {
            if !seen.insert(*source) {
                let name = plan.source_name(*source);
                let message =
                    format!("`from` names {name} twice, so all of its parts arrive twice");
                findings.push(warning(
                    plan,
                    "repeated-source",
                    At::From(at, place),
                    step,
                    message,
                ));
            }
        }
    }
}

fn warning(
    plan: &Plan,
    kind: &'static str,
    at: At,
    planned: &PlannedStep,
    message: impl Into<String>,
) -> Finding {
    Finding::warning(kind, message)
        .of_step(planned.name())
        .at(plan.places.get(at))
}

fn error(
    plan: &Plan,
    kind: &'static str,
    at: At,
    planned: &PlannedStep,
    message: impl Into<String>,
) -> Finding {
    Finding::error(kind, message)
        .of_step(planned.name())
        .at(plan.places.get(at))
}
