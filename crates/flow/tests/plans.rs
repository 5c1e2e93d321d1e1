//! Plans as files: what is wrong with each, with its line and column, and no false word about
//! those that are right. `UPDATE_GOLDEN=1` writes the expected texts anew.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

use llamon_flow::check::{Cards, check};
use llamon_flow::{PLAN_SCHEMA, Plan, Severity};
use serde_json::Value;

fn golden(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(folder)
}

fn plans(folder: &str) -> Vec<(PathBuf, String)> {
    let mut plans: Vec<_> = fs::read_dir(golden(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "yaml")
        })
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect();
    plans.sort();
    plans
}

/// All findings, one a line.
fn findings(folder: &str, yaml: &str) -> String {
    let findings = match Plan::from_yaml(yaml) {
        Ok(plan) => {
            // A plan without saved cards is checked alone.
            let cards = if yaml.contains("card:") {
                Cards::saved(&plan, &golden(folder))
            } else {
                Cards::unknown()
            };
            check(&plan, &cards).findings().to_vec()
        }
        Err(error) => error.findings().to_vec(),
    };
    findings
        .iter()
        .map(|finding| format!("{finding} [{}]\n", finding.kind()))
        .collect()
}

#[test]
fn each_broken_plan_has_its_message_with_line_and_column() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let plans = plans("broken");
    assert!(plans.len() >= 25, "{} plans", plans.len());
    for (path, yaml) in plans {
        let found = findings("broken", &yaml);
        let expected = path.with_extension("txt");
        if update {
            fs::write(&expected, &found).unwrap();
        }
        assert!(!found.is_empty(), "{}: nothing found", path.display());
        for line in found.lines() {
            let place = line.split(' ').next().unwrap_or_default();
            let numbers: Vec<_> = place.trim_end_matches(':').split(':').collect();
            assert!(
                numbers.len() == 2 && numbers.iter().all(|n| n.parse::<u32>().is_ok()),
                "{line}"
            );
        }
        let expected = fs::read_to_string(&expected).unwrap_or_default();
        assert_eq!(found, expected, "{}", path.display());
    }
}

#[test]
fn nothing_is_said_about_plans_that_are_right() {
    let plans = plans("good");
    assert!(plans.len() >= 10, "{} plans", plans.len());
    for (path, yaml) in plans {
        assert_eq!(findings("good", &yaml), "", "{}", path.display());
    }
}

#[test]
fn a_plan_is_the_same_after_it_was_kept() {
    for (path, yaml) in plans("good") {
        let plan = Plan::from_yaml(&yaml).unwrap();
        let kept = plan.to_json();
        let again = Plan::from_yaml(&kept).unwrap_or_else(|error| panic!("{kept}: {error}"));
        assert_eq!(again.to_json(), kept, "{}", path.display());
        let names = |plan: &Plan| -> Vec<String> {
            plan.steps()
                .iter()
                .map(|step| step.name().to_owned())
                .collect()
        };
        assert_eq!(names(&again), names(&plan));
        assert_eq!(again.order(), plan.order());
        for (step, other) in plan.steps().iter().zip(again.steps()) {
            assert_eq!(
                (step.timeout(), step.retry(), step.ask()),
                (other.timeout(), other.retry(), other.ask())
            );
            assert_eq!(
                (step.agent(), step.on_error(), step.dedupe()),
                (other.agent(), other.on_error(), other.dedupe())
            );
            assert_eq!(step.needs(), other.needs());
        }
    }
}

#[test]
fn the_published_schema_takes_the_plans_that_are_right() {
    let schema: Value = serde_json::from_str(PLAN_SCHEMA).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for (path, yaml) in plans("good") {
        let document: Value = serde_saphyr::from_str(&yaml).unwrap();
        let error = schema
            .validate(&document)
            .err()
            .map(|error| error.to_string());
        assert_eq!(error, None, "{}", path.display());
        let kept: Value = serde_json::from_str(&Plan::from_yaml(&yaml).unwrap().to_json()).unwrap();
        assert!(schema.is_valid(&kept), "{}", path.display());
    }
    for name in [
        "unknown-field",
        "missing-agent",
        "from-is-a-text",
        "number-type",
    ] {
        let yaml = fs::read_to_string(golden("broken").join(name).with_extension("yaml")).unwrap();
        let document: Value = serde_saphyr::from_str(&yaml).unwrap();
        assert!(!schema.is_valid(&document), "{name}");
    }
}

#[test]
fn an_agent_that_does_not_answer_is_an_error_at_its_first_step() {
    let plan = Plan::from_yaml(
        "
agents: {audit: 'http://127.0.0.1:1'}
steps:
  a: {agent: audit, from: [input]}
  b: {agent: audit, from: [a]}
outputs: [b]
",
    )
    .unwrap();
    let mut cards = Cards::unknown();
    cards.insert_failure("http://127.0.0.1:1", "connection refused");
    let report = check(&plan, &cards);
    assert!(report.has_errors());
    let [finding] = report.findings() else {
        panic!("{report:?}")
    };
    assert_eq!(finding.severity(), Severity::Error);
    assert_eq!(
        finding.to_string(),
        "4:14: error: step \"a\": the agent audit at http://127.0.0.1:1 does not answer: connection refused (1 more step calls it)"
    );
}

#[test]
fn growth_is_that_of_the_guide() {
    // Chain, a host that concatenates, diamond.
    for (steps, parts, copies) in [
        (vec!["[]", "[s0]", "[s1]"], 3, 1),
        (vec!["[]", "[s0]", "[s0, s1]", "[s0, s1, s2]"], 8, 4),
        (vec!["[]", "[s0]", "[s0]", "[s1, s2]"], 5, 2),
    ] {
        let mut yaml = String::from("steps:\n");
        for (at, from) in steps.iter().enumerate() {
            yaml.push_str(&format!(
                "  s{at}: {{agent: 'https://a.example.com', from: {from}, text: go}}\n"
            ));
        }
        yaml.push_str(&format!("outputs: [s{}]\n", steps.len() - 1));
        let report = check(&Plan::from_yaml(&yaml).unwrap(), &Cards::unknown());
        let growth = &report.growth()[0];
        assert_eq!(
            (growth.parts, growth.copies, &*growth.most),
            (parts, copies, "s0"),
            "{yaml}"
        );
    }
}

#[test]
fn ten_thousand_steps_are_read_and_checked_and_one_more_is_not() {
    let plan = |steps: usize| {
        let mut yaml =
            String::from("steps:\n  s0: {agent: 'https://a.example.com', from: [input]}\n");
        for step in 1..steps {
            let (one, other) = (step - 1, step.saturating_sub(2));
            yaml.push_str(&format!("  s{step}: {{agent: 'https://a.example.com', from: [s{one}, s{other}], when: '@.s{one}.text'}}\n"));
        }
        yaml.push_str(&format!("outputs: [s{}]\n", steps - 1));
        yaml
    };
    let largest = Plan::from_yaml(&plan(10_000)).unwrap();
    let report = check(&largest, &Cards::unknown());
    assert_eq!(report.growth()[0].parts, u128::MAX);
    assert!(largest.order().is_sorted());
    let error = Plan::from_yaml(&plan(10_001)).unwrap_err();
    assert!(
        error.findings()[0]
            .message()
            .contains("10001 steps, 10000 are allowed"),
        "{error}"
    );
}

#[test]
fn a_long_ring_is_told_in_a_line() {
    let mut yaml = String::from("steps:\n");
    for step in 0..5_000 {
        yaml.push_str(&format!(
            "  s{step}: {{agent: 'https://a.example.com', from: [s{}]}}\n",
            (step + 4_999) % 5_000
        ));
    }
    yaml.push_str("outputs: [s0]\n");
    let error = Plan::from_yaml(&yaml).unwrap_err();
    let [finding] = error.findings() else {
        panic!("{error}")
    };
    assert!(finding.message().contains("(5000 steps)"), "{finding}");
}

#[test]
fn documents_that_are_bombs_are_refused() {
    let deep = format!("steps: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_map = format!("steps: {}1{}", "{a: ".repeat(50_000), "}".repeat(50_000));
    let large = format!("description: {}", "x".repeat(9 << 20));
    let mut aliases = format!(
        "steps:\n  a: &a {{agent: 'https://a.example.com', text: '{}'}}\n",
        "x".repeat(1 << 20)
    );
    for step in 0..9_000 {
        aliases.push_str(&format!("  b{step}: *a\n"));
    }
    let mut doubling = String::from(
        "agents:\n  a:\n    url: 'https://a.example.com'\n    trust_origins: &a0 [x, x]\n",
    );
    for level in 1..40 {
        doubling.push_str(&format!(
            "  a{level}: {{url: x, trust_origins: &a{level} [*a{0}, *a{0}]}}\n",
            level - 1
        ));
    }
    let condition = format!(
        "steps:\n  a: {{agent: 'https://a.example.com', from: [input], when: \"{}@.input.text{}\"}}\noutputs: [a]\n",
        "(".repeat(2_000),
        ")".repeat(2_000)
    );
    let template = format!(
        "steps:\n  a: {{agent: 'https://a.example.com', from: [input], text: \"{}\"}}\noutputs: [a]\n",
        "{{input.text}}".repeat(1_001)
    );
    for (document, expected) in [
        (deep, ""),
        (deep_map, ""),
        (large, "8388608 are allowed"),
        (doubling, ""),
        (aliases, ""),
        (condition, "deeper than 16"),
        (template, "more than 1000 places"),
    ] {
        let error = Plan::from_yaml(&document).unwrap_err().to_string();
        assert!(error.contains(expected) && error.len() < 1_000, "{error}");
    }
}

#[test]
fn the_demo_is_a_plan_that_is_right() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/lock-report.yaml"
    );
    let plan = Plan::from_yaml(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(check(&plan, &Cards::unknown()).findings(), []);
}

/// What a step waits for does not grow with the stand-ins between, so that a small document cannot
/// become a large plan.
#[test]
fn a_step_waits_for_the_first_and_the_last_of_a_chain_of_stand_ins() {
    const CHAIN: usize = 3_000;
    let mut yaml = String::from("steps:\n");
    for step in 0..CHAIN {
        let next = step + 1;
        let goes_on = if next < CHAIN {
            format!(", on_error: {{goto: s{next}}}")
        } else {
            String::new()
        };
        let text = if step == 0 {
            ""
        } else {
            ", text: '{{s0.error}}'"
        };
        yaml.push_str(&format!(
            "  s{step}: {{agent: 'https://a.example.com', from: [input]{text}{goes_on}}}\n"
        ));
    }
    for reader in 0..CHAIN {
        yaml.push_str(&format!(
            "  r{reader}: {{agent: 'https://a.example.com', from: [s{}]}}\n",
            reader % 3
        ));
    }
    yaml.push_str("outputs: [r0]\n");
    let plan = Plan::from_yaml(&yaml).unwrap();
    let needs = |step: usize| plan.steps()[step].needs().to_vec();
    assert_eq!(needs(0), [0usize; 0]);
    assert_eq!(needs(1), [0]);
    // One of the chain waits for those before it, and for none after it.
    assert_eq!(needs(7), [0, 6]);
    assert_eq!(needs(CHAIN), [0, CHAIN - 1]);
    assert_eq!(needs(CHAIN + 2), [2, CHAIN - 1]);
}

/// Two chains that meet at each of their steps have no producer in common.
#[test]
fn sources_without_a_common_producer_are_no_repeat_however_many_there_are() {
    const CHAIN: usize = 3_000;
    let mut yaml = String::from("steps:\n");
    for step in 0..CHAIN {
        let (a, b) = match step.checked_sub(1) {
            None => ("from: [input]".to_owned(), "text: begin".to_owned()),
            Some(before) => (format!("from: [a{before}]"), format!("from: [b{before}]")),
        };
        yaml.push_str(&format!(
            "  a{step}: {{agent: 'https://a.example.com', {a}}}\n  b{step}: {{agent: 'https://a.example.com', {b}}}\n  j{step}: {{agent: 'https://a.example.com', from: [a{step}, b{step}]}}\n"
        ));
    }
    yaml.push_str(&format!(
        "  both: {{agent: 'https://a.example.com', from: [j1, j2]}}\noutputs: [both, j{}]\n",
        CHAIN - 1
    ));
    let plan = Plan::from_yaml(&yaml).unwrap();
    let report = check(&plan, &Cards::unknown());
    let kinds = |kind: &str| {
        let all = report.findings().iter();
        all.filter(|finding| finding.kind() == kind).count()
    };
    assert_eq!(kinds("repeated-parts"), 1);
    assert_eq!(kinds("not-looked-at"), 0);
}
