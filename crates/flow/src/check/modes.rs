//! Media types that can't match: what an agent gives and what the next one takes.

use llamon_core::a2a::AgentCard;

use super::cards::Cards;
use super::error;
use crate::finding::Finding;
use crate::plan::{At, Plan, Source};

const TEXT: &str = "text/plain";
const JSON: &str = "application/json";

pub(super) fn check(plan: &Plan, cards: &Cards, findings: &mut Vec<Finding>) {
    for (at, step) in plan.steps.iter().enumerate() {
        let Some(takes) = cards
            .card(step)
            .map(takes)
            .filter(|takes| !takes.is_empty())
        else {
            continue;
        };
        let takes_any = |mode: &str| takes.iter().any(|taken| fits(taken, mode));
        let shown = takes.join(", ");
        if step.template.is_some() && !takes_any(TEXT) {
            let message = format!("is sent a text, and its agent takes {shown}");
            findings.push(error(
                plan,
                "media-type",
                At::Field(at, "text"),
                step,
                message,
            ));
        }
        for (place, source) in step.from.iter().enumerate() {
            let at = At::From(at, place);
            if step.each.as_ref().is_some_and(|each| each.of == *source) {
                if !takes_any(JSON) {
                    let message =
                        format!("is sent items, which are {JSON}, and its agent takes {shown}");
                    findings.push(error(plan, "media-type", at, step, message));
                }
                continue;
            }
            let Source::Step(from) = source else {
                continue;
            };
            let gives = (plan.steps.get(*from))
                .and_then(|from| cards.card(from))
                .map(gives);
            let Some(mut gives) = gives.filter(|gives| !gives.is_empty()) else {
                continue;
            };
            if step.template.is_some() {
                // Texts are replaced by the step's own.
                gives.retain(|mode| !mode.starts_with("text/"));
            }
            if !gives.is_empty() && !gives.iter().any(|given| takes_any(given)) {
                let name = plan.source_name(*source);
                let message = format!(
                    "its agent takes {shown}, and {name} gives {}",
                    gives.join(", ")
                );
                findings.push(error(plan, "media-type", at, step, message));
            }
        }
    }
}

fn takes(card: &AgentCard) -> Vec<&str> {
    let skills = card.skills.iter().flat_map(|skill| &skill.input_modes);
    distinct(card.default_input_modes.iter().chain(skills))
}

/// What an agent gives, by its card and skills.
pub(super) fn gives(card: &AgentCard) -> Vec<&str> {
    let skills = card.skills.iter().flat_map(|skill| &skill.output_modes);
    distinct(card.default_output_modes.iter().chain(skills))
}

fn distinct<'m>(modes: impl Iterator<Item = &'m String>) -> Vec<&'m str> {
    let mut distinct = Vec::new();
    for mode in modes {
        if !distinct.contains(&mode.as_str()) {
            distinct.push(mode.as_str());
        }
    }
    distinct
}

/// Whether two media types or patterns of them have one in common. What is no media type (`text`,
/// as cards of before 1.0 had it) is in nobody's way.
pub(super) fn fits(one: &str, other: &str) -> bool {
    let essence = |mode: &str| {
        let mode = mode.split(';').next().unwrap_or_default().trim();
        mode.to_ascii_lowercase()
    };
    let (one, other) = (essence(one), essence(other));
    let (Some((kind, subtype)), Some((other_kind, other_subtype))) =
        (one.split_once('/'), other.split_once('/'))
    else {
        return true;
    };
    let meets = |a: &str, b: &str| a == b || a.contains('*') || b.contains('*');
    // A structured suffix says that it is JSON, too (RFC 6839).
    let is_json = |subtype: &str| subtype == "json" || subtype.ends_with("+json");
    meets(kind, other_kind)
        && (meets(subtype, other_subtype) || (is_json(subtype) && is_json(other_subtype)))
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn media_types_fit_by_essence_pattern_and_suffix() {
        for (one, other, expected) in [
            ("text/plain", "text/plain; charset=utf-8", true),
            ("image/*", "image/png", true),
            ("*/*", "video/mp4", true),
            ("application/json", "application/geo+json", true),
            ("TEXT/plain", "text/Plain", true),
            ("text", "application/json", true),
            ("text/plain", "text/html", false),
            ("image/*", "application/json", false),
        ] {
            assert_eq!(fits(one, other), expected, "{one} {other}");
            assert_eq!(fits(other, one), expected, "{other} {one}");
        }
    }
}
