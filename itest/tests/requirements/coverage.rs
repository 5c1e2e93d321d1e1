//! Every id has its test, and every test its id.

use std::collections::{BTreeMap, BTreeSet};

/// The kit's ids, one a line.
const IDS: &str = include_str!("ids.txt");

const SOURCES: [&str; 9] = [
    include_str!("auth.rs"),
    include_str!("bindings.rs"),
    include_str!("card.rs"),
    include_str!("core.rs"),
    include_str!("data_model.rs"),
    include_str!("multi_turn.rs"),
    include_str!("push.rs"),
    include_str!("streams.rs"),
    include_str!("versions.rs"),
];

/// Tests that are where what they test is, among others.
const ELSEWHERE: &str = include_str!("../../../crates/client/tests/signing.rs");

#[test]
fn every_requirement_has_a_test_and_every_test_a_requirement() {
    let ids: BTreeMap<String, &str> = IDS.lines().map(|id| (beginning(id), id)).collect();
    let own: Vec<&str> = SOURCES.into_iter().flat_map(tests).collect();
    let mut tested = BTreeSet::new();
    for test in own {
        let found = ids
            .iter()
            .find(|(beginning, _)| test.starts_with(beginning.as_str()));
        let (_, id) = found.unwrap_or_else(|| panic!("{test} begins with no id of ids.txt"));
        tested.insert(*id);
    }
    for test in tests(ELSEWHERE) {
        let found = ids
            .iter()
            .find(|(beginning, _)| test.starts_with(beginning.as_str()));
        tested.extend(found.map(|(_, id)| *id));
    }
    let missing: Vec<&&str> = ids.values().filter(|id| !tested.contains(*id)).collect();
    assert!(missing.is_empty(), "no test: {missing:?}");
    assert!(ids.len() > 100, "the list is whole");
}

/// What the name of an id's test begins with.
fn beginning(id: &str) -> String {
    format!("{}_", id.to_ascii_lowercase().replace('-', "_"))
}

/// The names of the tests in a file.
fn tests(source: &str) -> Vec<&str> {
    let mut lines = source.lines();
    let mut names = Vec::new();
    while let Some(line) = lines.next() {
        if matches!(line, "#[test]" | "#[tokio::test]") {
            let line = lines.next().expect("a function");
            let name = line.trim_start_matches("async ").trim_start_matches("fn ");
            names.push(name.split('(').next().expect("a name"));
        }
    }
    names
}
