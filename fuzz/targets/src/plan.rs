use std::collections::HashSet;

use llamon_flow::check::{Cards, check};
use llamon_flow::picture::{Format, Picture};
use llamon_flow::{Finding, Plan};

/// A text that may be a plan. What is wrong with it is said, at a place that it has; what is read
/// has an order, can be checked and drawn, and is the same plan when it is stored and read again.
pub fn plan(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match Plan::from_yaml(text) {
        Err(error) => {
            assert!(!error.findings().is_empty(), "nothing is wrong: {text:?}");
            said(text, error.findings());
        }
        Ok(plan) => {
            ordered(&plan);
            said(text, check(&plan, &Cards::unknown()).findings());
            let drawn = Picture::of_plan(&plan);
            for format in [Format::Mermaid, Format::Dot] {
                assert!(drawn.render(format).is_ok(), "no {format:?} of {text:?}");
            }
            stored(text, &plan);
        }
    }
}

fn said(text: &str, findings: &[Finding]) {
    // Carriage returns and line separators may end a line, too.
    let lines = text.chars().filter(|c| c.is_whitespace()).count() as u64 + 2;
    for finding in findings {
        assert!(!finding.message().is_empty(), "{finding:?} of {text:?}");
        if let Some(place) = finding.place() {
            assert!(u64::from(place.line) <= lines, "{finding:?} of {text:?}");
        }
    }
}

/// Each step once, after all that it needs.
fn ordered(plan: &Plan) {
    let mut done = HashSet::new();
    for step in plan.order() {
        for need in plan.steps()[*step].needs() {
            assert!(done.contains(need), "{step} comes before {need}: {plan:?}");
        }
        assert!(done.insert(*step), "{step} comes twice: {plan:?}");
    }
    assert_eq!(done.len(), plan.steps().len(), "{plan:?}");
}

fn stored(text: &str, plan: &Plan) {
    let json = plan.to_json();
    match Plan::from_yaml(&json) {
        Ok(again) => assert_eq!(again.to_json(), json, "it changes: {text:?}"),
        Err(error) => panic!("what is stored of {text:?} cannot be read: {error}\n{json}"),
    }
}
