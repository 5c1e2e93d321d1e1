//! Published contracts that nothing before a step can satisfy, or only if agents between append.

use super::cards::Cards;
use super::modes::{fits, gives};
use super::published::{Contract, Kind};
use super::schema::{Schema, conflict};
use super::walk::{Place, follow};
use super::{error, warning};
use crate::finding::Finding;
use crate::plan::{At, Plan, PlannedStep, Source};

/// Steps that a message names.
const MAX_LISTED: usize = 4;

pub(super) fn check(plan: &Plan, cards: &Cards, findings: &mut Vec<Finding>) {
    for (at, step) in plan.steps.iter().enumerate() {
        let contracts = cards.published(step).map(|published| &*published.contracts);
        for contract in contracts.unwrap_or_default() {
            if contract.required && contract.kind != Kind::Other {
                findings.extend(check_one(plan, cards, at, step, contract));
            }
        }
    }
}

fn check_one(
    plan: &Plan,
    cards: &Cards,
    at: usize,
    step: &PlannedStep,
    contract: &Contract,
) -> Option<Finding> {
    if contract.kind == Kind::Text && step.template.is_some() {
        return None;
    }
    let mut reasons = Vec::new();
    for source in &step.from {
        let is_item = step.each.as_ref().is_some_and(|each| each.of == *source);
        let reason = if is_item {
            item_cannot(plan, cards, step, *source, contract)
        } else {
            cannot(plan, cards, *source, contract)
        };
        // One source that may have it is enough.
        reasons.push((*source, reason?));
    }
    let place = At::Field(at, "from");
    let name = &contract.name;
    let reasons: Vec<String> = (reasons.iter().take(MAX_LISTED))
        .map(|(source, reason)| format!("{}: {reason}", plan.source_name(*source)))
        .collect();
    let reasons = if reasons.is_empty() {
        "`from` is empty".to_owned()
    } else {
        reasons.join("; ")
    };
    let farther = farther(plan, cards, step, contract);
    if farther.is_empty() {
        let message =
            format!("its agent needs {name:?}, which nothing before it can give ({reasons})");
        return Some(error(plan, "unsatisfied-contract", place, step, message));
    }
    let listed: Vec<&str> = (farther.iter().take(MAX_LISTED))
        .map(|source| plan.source_name(*source))
        .collect();
    let between: Vec<&str> = (step.from.iter())
        .filter(|source| **source != Source::Input)
        .take(MAX_LISTED)
        .map(|source| plan.source_name(*source))
        .collect();
    let message = format!(
        "its agent needs {name:?}, which can only come from {} and only arrives if {} appends ({reasons}); whether an agent appends cannot be seen from outside, so name the source in `from`",
        listed.join(" or "),
        between.join(" or "),
    );
    Some(warning(plan, "needs-append", place, step, message))
}

/// What is farther up and may give the input, if everything between hands it on.
fn farther(plan: &Plan, cards: &Cards, step: &PlannedStep, contract: &Contract) -> Vec<Source> {
    let mut found = Vec::new();
    if contract.kind == Kind::Text {
        // A policy never carries texts.
        return found;
    }
    let mut seen = vec![false; plan.steps.len()];
    let mut open: Vec<usize> = steps_of(step);
    let mut has_input = false;
    while let Some(at) = open.pop() {
        let (Some(between), Some(seen)) = (plan.steps.get(at), seen.get_mut(at)) else {
            continue;
        };
        if std::mem::replace(seen, true) {
            continue;
        }
        for source in passed_on(between) {
            match source {
                Source::Input => has_input = true,
                Source::Step(from) => {
                    if cannot(plan, cards, source, contract).is_none() && !found.contains(&source) {
                        found.push(source);
                    }
                    open.push(from);
                }
            }
        }
    }
    found.sort_unstable();
    if has_input {
        found.insert(0, Source::Input);
    }
    found
}

/// The sources whose parts a step's agent gets whole.
pub(super) fn passed_on(step: &PlannedStep) -> impl Iterator<Item = Source> {
    let items = step.each.as_ref().map(|each| each.of);
    step.from
        .iter()
        .copied()
        .filter(move |source| Some(*source) != items)
}

fn steps_of(step: &PlannedStep) -> Vec<usize> {
    passed_on(step)
        .filter_map(|source| match source {
            Source::Input => None,
            Source::Step(step) => Some(step),
        })
        .collect()
}

/// Why an answer of `source` itself can never be the input; `None` where it may be.
fn cannot(plan: &Plan, cards: &Cards, source: Source, contract: &Contract) -> Option<String> {
    let Source::Step(step) = source else {
        return None;
    };
    let step = plan.steps.get(step)?;
    let modes = gives(cards.card(step)?);
    let has_mode = |wanted: &str| modes.is_empty() || modes.iter().any(|mode| fits(mode, wanted));
    let shown = || modes.join(", ");
    match contract.kind {
        Kind::Text if has_mode("text/*") => None,
        Kind::Text => Some(format!("it gives {}, and text is wanted", shown())),
        Kind::File => {
            let wanted = contract.media_type.as_deref()?;
            (!has_mode(wanted)).then(|| format!("it gives {}, and {wanted} is wanted", shown()))
        }
        Kind::Data => {
            let output = cards.published(step)?.output_schema.as_ref()?;
            data_cannot(Schema::new(output), contract)
        }
        Kind::Other => None,
    }
}

/// The same for an item, which is a data part with a place of the source's answer.
fn item_cannot(
    plan: &Plan,
    cards: &Cards,
    step: &PlannedStep,
    source: Source,
    contract: &Contract,
) -> Option<String> {
    if contract.kind != Kind::Data {
        return Some("an item is data".to_owned());
    }
    let path = step.each.as_ref()?.path();
    let Source::Step(from) = source else {
        return None;
    };
    let output = cards
        .published(plan.steps.get(from)?)?
        .output_schema
        .as_ref()?;
    match follow(Schema::new(output), path) {
        Place::Schema(item) => data_cannot(item, contract),
        Place::Nowhere => Some(format!("it has nothing at {path}")),
        Place::Unknown => None,
    }
}

fn data_cannot(given: Schema<'_>, contract: &Contract) -> Option<String> {
    let select = contract.select.as_deref().unwrap_or_default();
    match follow(given, select) {
        Place::Unknown => None,
        Place::Nowhere => Some(format!("it has nothing at {select}")),
        Place::Schema(place) => {
            let wanted = Schema::new(contract.schema.as_ref()?);
            let reason = conflict(wanted, place)?;
            Some(if select.is_empty() {
                reason
            } else {
                format!("{reason} below {select}")
            })
        }
    }
}
