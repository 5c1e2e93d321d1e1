//! The graphs of `itest/graph/golden`, recorded from the real LangGraph, built and run here: the same states, events,
//! questions, errors and histories, but for the differences that [`golden::differences`] lists.

mod golden {
    pub(crate) mod build;
    pub(crate) mod calls;
    pub(crate) mod compare;
    pub(crate) mod differences;
    pub(crate) mod states;
    pub(crate) mod template;
    pub(crate) mod trace;
}

use golden::build::{self, Observed};
use golden::calls::Player;
use golden::differences::{self, DIFFERENCES};
use golden::states::{Longest, Narrow, Plain, Replaced, Reply, Summed, read_question};
use golden::trace::{self, Scenario};
use llamon_graph::{CompileError, Graph, GraphState};
use serde::Serialize;
use serde_json::Value;

/// `GOLDEN=name cargo test -p llamon-graph --test golden` plays one scenario only.
fn wanted() -> Vec<Scenario> {
    let only = std::env::var("GOLDEN").unwrap_or_default();
    trace::all()
        .into_iter()
        .filter(|scenario| only.is_empty() || scenario.name == only)
        .collect()
}

#[tokio::test]
async fn every_scenario_is_as_langgraph_does_it() {
    play_all().await;
}

/// Nodes of one step that really run at the same time show nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_scenario_is_the_same_on_several_threads() {
    play_all().await;
}

/// Without its entry in the list, each scenario of the list must differ: an entry that is no longer true has to go.
#[tokio::test]
async fn every_difference_is_still_one() {
    for scenario in wanted()
        .iter()
        .filter(|scenario| differences::is_listed(&scenario.name))
    {
        let found = play(scenario).await;
        assert!(
            !found.is_empty(),
            "{} is equal to LangGraph now: take it off the list",
            scenario.name
        );
    }
}

/// The table for people says the same as the files and the list.
#[test]
fn the_readme_names_every_scenario_and_every_difference() {
    let readme = std::fs::read_to_string(trace::folder().join("README.md")).unwrap();
    let rows: Vec<Vec<&str>> = readme.lines().filter_map(row).collect();
    let in_files: Vec<String> = trace::all()
        .into_iter()
        .map(|scenario| scenario.name)
        .collect();
    for name in &in_files {
        let row = rows
            .iter()
            .find(|row| row[0] == name)
            .unwrap_or_else(|| panic!("the README has no row for {name}"));
        assert_eq!(
            row[2] == "=",
            !differences::is_listed(name),
            "the last column of {name} in the README"
        );
    }
    assert_eq!(
        rows.len(),
        in_files.len(),
        "the README has rows for scenarios that are not there"
    );
    for difference in DIFFERENCES {
        assert!(
            in_files.iter().any(|name| name == difference.scenario),
            "no scenario {}",
            difference.scenario
        );
    }
}

/// The cells of a row about a scenario.
fn row(line: &str) -> Option<Vec<&str>> {
    let cells: Vec<&str> = line
        .strip_prefix("| `")?
        .strip_suffix(" |")?
        .split(" | ")
        .collect();
    let name = cells.first()?.strip_suffix('`')?;
    (cells.len() == 3).then(|| [&[name], &cells[1..]].concat())
}

async fn play_all() {
    let mut failed = Vec::new();
    let mut played = 0;
    for mut scenario in wanted() {
        differences::expect(&mut scenario);
        let found = play(&scenario).await;
        if !found.is_empty() {
            failed.push(format!("=== {} ===\n{}", scenario.name, found.join("\n")));
        }
        played += 1;
    }
    let (differ, reports) = (failed.len(), failed.join("\n\n"));
    assert!(
        failed.is_empty(),
        "{differ} of {played} scenarios differ\n\n{reports}"
    );
    let all = std::env::var("GOLDEN").is_err();
    assert!(!all || played >= 30, "only {played} scenarios were found");
}

/// What differs, in words.
async fn play(scenario: &Scenario) -> Vec<String> {
    let reducer = |field: &str| scenario.graph.state.get(field).map(String::as_str);
    let observed = Observed::default();
    if scenario.graph.output.is_some() {
        let graph = build::declare::<Narrow>(&scenario.graph, &observed);
        let graph = graph.and_then(|graph| graph.output::<Reply>().compile());
        return play_on(scenario, graph, observed, read_question).await;
    }
    match (reducer("n"), reducer("text"), reducer("log")) {
        (Some("sum"), ..) => play_in::<Summed>(scenario, observed).await,
        (_, Some("longest"), _) => play_in::<Longest>(scenario, observed).await,
        (.., Some("replace")) => play_in::<Replaced>(scenario, observed).await,
        _ => play_in::<Plain>(scenario, observed).await,
    }
}

async fn play_in<S: GraphState + Unpin>(scenario: &Scenario, observed: Observed) -> Vec<String> {
    let graph = build::build::<S>(&scenario.graph, &observed);
    play_on(scenario, graph, observed, build::read::<S>).await
}

async fn play_on<S, O>(
    scenario: &Scenario,
    graph: Result<Graph<S, O>, CompileError>,
    observed: Observed,
    input: fn(&Value) -> Result<S::Update, serde_json::Error>,
) -> Vec<String>
where
    S: GraphState,
    O: From<S> + Serialize + Send + Unpin + 'static,
{
    let graph = match (graph, &scenario.compile_error) {
        (Ok(graph), None) => graph,
        (Ok(_), Some(_)) => return vec!["it compiles, and should be refused".to_owned()],
        (Err(error), None) => return vec![format!("it should compile: {error}")],
        (Err(error), Some(_)) if error.mistakes().len() == 1 => return Vec::new(),
        (Err(error), Some(_)) => {
            return vec![format!("one mistake, and several are told: {error}")];
        }
    };
    let graph = if scenario.saver {
        graph.with_saver(observed.saver.clone())
    } else {
        graph
    };
    Player {
        scenario,
        graph,
        observed,
        input,
    }
    .play()
    .await
}
