//! `llamon demo`: the two runs differ exactly as the policy says.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::support::{Running, file, llamon};

#[derive(Deserialize)]
struct Demo<'a> {
    #[serde(borrow)]
    runs: Vec<Run<'a>>,
    #[serde(default)]
    agents: Vec<Agent>,
}

#[derive(Deserialize)]
struct Run<'a> {
    policy: String,
    #[serde(borrow)]
    hops: Vec<Hop<'a>>,
    report: String,
}

#[derive(Deserialize)]
struct Hop<'a> {
    agent: String,
    #[serde(borrow)]
    arrived: Payload<'a>,
    #[serde(borrow)]
    produced: Payload<'a>,
    #[serde(borrow)]
    answer: Payload<'a>,
}

#[derive(Deserialize)]
struct Payload<'a> {
    text: String,
    #[serde(borrow)]
    data: Vec<&'a RawValue>,
    #[serde(borrow)]
    files: Vec<&'a RawValue>,
    parts: Sizes,
    bytes: Sizes,
}

#[derive(Deserialize)]
struct Sizes {
    text: usize,
    data: usize,
    files: usize,
}

#[derive(Deserialize)]
struct Agent {
    policy: String,
    agent: String,
    url: String,
}

/// The texts of the first list, then those of the others.
fn joined<'a>(lists: &[&[&'a RawValue]]) -> Vec<&'a str> {
    let lists = lists.iter().flat_map(|list| list.iter());
    lists.map(|raw| raw.get()).collect()
}

async fn demo_json(args: &[&str]) -> String {
    let ran = llamon(&[&["demo", "--json"][..], args].concat()).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stderr, "");
    assert_eq!(ran.stdout.lines().count(), 1);
    ran.stdout
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runs_differ_exactly_as_the_policy_says() {
    let json = demo_json(&[]).await;
    let demo: Demo<'_> = serde_json::from_str(&json).unwrap();
    let policies: Vec<&str> = demo.runs.iter().map(|run| &*run.policy).collect();
    assert_eq!(policies, ["replace", "append"]);
    for run in &demo.runs {
        let names: Vec<&str> = run.hops.iter().map(|hop| &*hop.agent).collect();
        assert_eq!(names, ["inventory", "audit", "report"]);
        for hop in &run.hops {
            let kept: [&[&RawValue]; 2] = if run.policy == "append" {
                [&hop.arrived.data, &hop.arrived.files]
            } else {
                [&[], &[]]
            };
            let data = joined(&[&hop.produced.data, kept[0]]);
            let files = joined(&[&hop.produced.files, kept[1]]);
            assert_eq!(joined(&[&hop.answer.data]), data, "{}", hop.agent);
            assert_eq!(joined(&[&hop.answer.files]), files, "{}", hop.agent);
            assert_eq!(hop.answer.text, hop.produced.text);
            for payload in [&hop.arrived, &hop.produced, &hop.answer] {
                assert_eq!(payload.parts.data, payload.data.len());
                assert_eq!(payload.parts.files, payload.files.len());
                assert_eq!(payload.parts.text, 1);
                // {"data":...} around each.
                let data: usize = payload.data.iter().map(|raw| raw.get().len() + 9).sum();
                assert_eq!(payload.bytes.data, data);
                let files: usize = payload.files.iter().map(|raw| raw.get().len()).sum();
                assert_eq!(payload.bytes.files, files);
                assert!(payload.bytes.text > payload.text.len());
            }
        }
        // What one agent answered is what arrived at the next.
        for pair in run.hops.windows(2) {
            assert_eq!(pair[1].arrived.text, pair[0].answer.text);
            assert_eq!(
                joined(&[&pair[1].arrived.data]),
                joined(&[&pair[0].answer.data])
            );
            assert_eq!(
                joined(&[&pair[1].arrived.files]),
                joined(&[&pair[0].answer.files])
            );
        }
        assert_eq!(run.report, run.hops[2].answer.text);
    }
    // The agents are the same; only what they kept differs.
    let [replace, append] = demo.runs.as_slice() else {
        panic!("there are two runs");
    };
    for index in 0..2 {
        let produced = |run: &Run<'_>| joined(&[&run.hops[index].produced.data]).concat();
        assert_eq!(produced(replace), produced(append));
    }
    assert!(replace.hops[1].arrived.files.is_empty());
    assert_eq!(append.hops[2].answer.files.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_is_of_what_arrived() {
    let json = demo_json(&[]).await;
    let demo: Demo<'_> = serde_json::from_str(&json).unwrap();
    for run in &demo.runs {
        let report = &run.report;
        assert!(report.starts_with("# Dependency report\n"), "{report}");
        for title in [
            "## Several versions",
            "## Not from a registry",
            "## Largest fans",
        ] {
            assert!(report.contains(title), "{report}");
        }
        let has_groups = report.contains("## Groups");
        let misses_groups = report.contains("- package groups of inventory");
        let is_append = run.policy == "append";
        assert_eq!(
            (has_groups, misses_groups),
            (is_append, !is_append),
            "{report}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tables_are_ascii_and_fit() {
    let ran = llamon(&["demo"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stderr, "");
    let (table, rest) = ran
        .stdout
        .split_once("\n\nChecked, token for token:")
        .unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines.iter().all(|line| line.len() <= 100), "{table}");
    let table = table.split_once("\n\n").unwrap().1;
    assert!(table.is_ascii(), "{table}");
    assert!(table.contains("replace") && table.contains("append"));
    assert_eq!(table.matches("went out").count(), 3);
    assert!(rest.contains("--- the report under replace ---"));
    assert!(rest.contains("--- the report under append ---"));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_policy_is_one_run() {
    for policy in ["replace", "append"] {
        let json = demo_json(&["--policy", policy]).await;
        let demo: Demo<'_> = serde_json::from_str(&json).unwrap();
        assert_eq!(demo.runs.len(), 1);
        assert_eq!(demo.runs[0].policy, policy);
        assert!(demo.agents.is_empty());
    }
}

const SMALL: &[u8] = br#"version = 4

[[package]]
name = "mine"
version = "0.1.0"
dependencies = ["dup 1.0.0", "dup 2.0.0", "fork"]

[[package]]
name = "dup"
version = "1.0.0"
source = "registry+https://registry.example/index"

[[package]]
name = "dup"
version = "2.0.0"
source = "registry+https://registry.example/index"

[[package]]
name = "fork"
version = "0.3.0"
source = "git+https://example.com/fork#0123456789abcdef0123456789abcdef01234567"
"#;

#[tokio::test(flavor = "multi_thread")]
async fn any_lock_file_will_do() {
    let (_folder, path) = file("other.lock", SMALL);
    let ran = llamon(&["demo", "--input", &path, "--policy", "append"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("- dup: 1.0.0, 2.0.0\n"), "{ran:?}");
    assert!(
        ran.stdout
            .contains("- fork 0.3.0 from https://example.com/fork"),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains("- mine 0.1.0 depends on 3 packages"),
        "{ran:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_none_is_a_usage_error() {
    let (_folder, path) = file("Cargo.toml", b"[package]\nname = \"a\"\n");
    for input in [&*path, "/nowhere/Cargo.lock"] {
        let ran = llamon(&["demo", "--json", "--input", input]).await;
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{ran:?}");
        assert!(
            ran.stderr.contains(input) && ran.stderr.contains("next: "),
            "{ran:?}"
        );
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn kept_agents_can_be_called_until_ctrl_c() {
    let store = tempfile::tempdir().unwrap();
    let db = store.path().join("demo.db");
    let db = db.to_str().unwrap();
    let running = Running::start(&["demo", "--keep", "--json", "--store", db]);
    let (running, json) = running.line().await;
    let demo: Demo<'_> = serde_json::from_str(&json).unwrap();
    assert_eq!(demo.agents.len(), 6);
    let (_folder, path) = file("Cargo.lock", SMALL);
    for agent in &demo.agents {
        let ran = llamon(&["send", &agent.url, "hi", "--file", &path, "--json"]).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let keeps = ran.stdout.contains(r#""filename":"Cargo.lock""#);
        assert_eq!(keeps, agent.policy == "append", "{ran:?}");
        let expected = match &*agent.agent {
            "inventory" => "4 packages in 3 groups",
            "audit" => "No package groups arrived",
            _ => "Did not arrive",
        };
        assert!(ran.stdout.contains(expected), "{ran:?}");
    }
    running.interrupt();
    let ran = running.wait().await;
    assert_eq!(ran.code, Some(130), "{ran:?}");
    // Each of the six agents has its own run's task and the one that was sent here.
    let ran = llamon(&["store", "stats", db, "--json"]).await;
    assert!(ran.stdout.contains(r#""finishedTasks":12"#), "{ran:?}");
    let ran = llamon(&["store", "check", db]).await;
    assert!(
        ran.code == Some(0) && ran.stdout.contains("12 tasks, all whole"),
        "{ran:?}"
    );
    let copy = store.path().join("copy.db");
    let ran = llamon(&["store", "backup", db, copy.to_str().unwrap()]).await;
    assert!(ran.code == Some(0) && copy.exists(), "{ran:?}");
    let ran = llamon(&["store", "gc", db, "--max-finished", "5"]).await;
    assert!(
        ran.stdout.starts_with("removed 7 finished tasks"),
        "{ran:?}"
    );
    let missing = store.path().join("none.db");
    let ran = llamon(&["store", "check", missing.to_str().unwrap()]).await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(!missing.exists());
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn kept_agents_are_shown_with_calls_to_try() {
    let store = tempfile::tempdir().unwrap();
    let path = store.path().join("demo.db");
    let path = path.to_str().unwrap();
    let args = ["demo", "--keep", "--policy", "append", "--store", path];
    let mut running = Running::start(&args);
    let mut shown = String::new();
    // The last line of what is printed.
    while !shown.contains("llamon task list http") {
        let (on, line) = running.line().await;
        running = on;
        shown.push_str(&line);
        shown.push('\n');
    }
    assert!(shown.contains("stay up until Ctrl-C"), "{shown}");
    assert_eq!(shown.matches("  append   ").count(), 3, "{shown}");
    let call = shown.lines().find(|line| line.contains("--data")).unwrap();
    let url = call.split_whitespace().nth(2).unwrap();
    let data = call.split('\'').nth(3).unwrap();
    let ran = llamon(&["send", url, "check it", "--data", data]).await;
    assert!(ran.stdout.starts_with("1 package checked"), "{ran:?}");
    running.interrupt();
    assert_eq!(running.wait().await.code, Some(130));
}
