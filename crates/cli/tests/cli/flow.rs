//! `llamon flow`: plans before they run.

use llamon_agent::server::Turn;
use serde_json::Value;

use crate::support::{file, llamon, serve};

fn diamond(url: &str) -> String {
    format!(
        "
agents: {{test: '{url}'}}
steps:
  a: {{agent: test, from: [input]}}
  b: {{agent: test, from: [a]}}
  c: {{agent: test, from: [a]}}
  d: {{agent: test, from: [b, c]}}
outputs: [d]
"
    )
}

async fn quiet(_turn: Turn) -> Result<&'static str, llamon_agent::server::AgentError> {
    Ok("")
}

#[tokio::test]
async fn check_fetches_cards_and_warns_with_line_and_column() {
    let server = serve(quiet).await;
    let (_folder, path) = file("plan.yaml", diamond(server.url()).as_bytes());
    let ran = llamon(&["flow", "check", &path]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let expected = format!("{path}:7:30: warning: step \"d\": what a answers can arrive 2 times");
    assert!(ran.stdout.starts_with(&expected), "{}", ran.stdout);
    assert!(
        ran.stdout.ends_with("4 steps: 0 errors, 1 warning\n"),
        "{}",
        ran.stdout
    );

    let ran = llamon(&["flow", "check", &path, "--json"]).await;
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["findings"][0]["line"], 7);
    assert_eq!(report["growth"][0]["parts"], "7");
}

#[tokio::test]
async fn what_is_wrong_decides_the_exit_code() {
    // Nobody listens on port 1.
    let (_folder, path) = file("plan.yaml", diamond("http://127.0.0.1:1").as_bytes());
    let ran = llamon(&["flow", "check", &path]).await;
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stdout.contains(
            "4:14: error: step \"a\": the agent test at http://127.0.0.1:1 does not answer"
        ),
        "{}",
        ran.stdout
    );
    assert!(ran.stderr.contains("--offline"), "{}", ran.stderr);
    let ran = llamon(&["flow", "check", &path, "--offline"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("no saved card"), "{}", ran.stdout);

    let (_folder, path) = file(
        "plan.yaml",
        b"steps: {a: {agent: x, from: [b]}}\noutputs: [c]\n",
    );
    let ran = llamon(&["flow", "check", &path]).await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stdout.contains("3 errors, 0 warnings"),
        "{}",
        ran.stdout
    );
    assert_eq!(llamon(&["flow", "graph", &path]).await.code, Some(2));
}

#[tokio::test]
async fn graph_and_schema_print_what_other_tools_read() {
    let (_folder, path) = file("plan.yaml", diamond("http://127.0.0.1:1").as_bytes());
    for (format, begin) in [
        ("mermaid", "flowchart TD"),
        ("dot", "digraph plan"),
        ("svg", "<?xml"),
    ] {
        let ran = llamon(&["flow", "graph", &path, "--format", format]).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.starts_with(begin), "{}", ran.stdout);
    }
    let schema = llamon(&["flow", "schema"]).await;
    let schema: Value = serde_json::from_str(&schema.stdout).unwrap();
    assert_eq!(schema["title"], "llamon workflow plan");
}
