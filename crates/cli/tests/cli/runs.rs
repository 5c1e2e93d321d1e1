//! `llamon flow run` and what goes with it: runs, which are stored.

use std::sync::{Arc, Mutex};

use llamon_agent::server::{AgentError, Answer, Turn};
use serde_json::Value;
use tokio::sync::{Notify, Semaphore};

use crate::support::{Running, file, llamon, serve};

async fn shout(turn: Turn) -> Result<String, AgentError> {
    Ok(turn.query().to_uppercase())
}

async fn ask(turn: Turn) -> Result<Answer, AgentError> {
    if turn.number() == 1 {
        return Ok(Answer::input_required("which colour?")?);
    }
    Ok(Answer::completed(turn.query().to_owned())?)
}

fn plan(first: &str, second: &str) -> String {
    format!(
        "
name: colours
steps:
  a: {{agent: '{first}', from: [input]}}
  b: {{agent: '{second}', from: [a], text: 'it is {{{{a.text}}}}'}}
outputs: [b]
"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn run_prints_the_answer_and_show_says_what_each_step_did() {
    let server = serve(shout).await;
    let (folder, path) = file("plan.yaml", plan(server.url(), server.url()).as_bytes());
    let store = folder.path().join("data/flows.db");
    let store = store.to_str().unwrap();
    let ran = llamon(&[
        "flow", "run", &path, "--store", store, "--id", "r1", "--input", "hello",
    ])
    .await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout, "IT IS HELLO\n");
    for line in ["run r1", "a: started", "a: completed", "b: completed"] {
        assert!(ran.stderr.contains(line), "{line}: {}", ran.stderr);
    }
    let shown = llamon(&["flow", "show", "r1", "--store", store]).await;
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(
        shown.stdout.starts_with("run r1 of colours: completed\n"),
        "{}",
        shown.stdout
    );
    let shown = llamon(&["flow", "show", "r1", "--store", store, "--json"]).await;
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["calls"][1]["context"], "r1/b");
    assert_eq!(shown["calls"][1]["parts"][0]["text"], "IT IS HELLO");
    let list = llamon(&["flow", "list", "--store", store, "--json"]).await;
    let list: Value = serde_json::from_str(&list.stdout).unwrap();
    assert_eq!(list[0]["run"], "r1");
    // What has ended gives its answer again.
    let again = llamon(&["flow", "resume", "r1", "--store", store]).await;
    assert_eq!((again.code, &*again.stdout), (Some(0), "IT IS HELLO\n"));
    let twice = llamon(&[
        "flow", "run", &path, "--store", store, "--id", "r1", "--input", "x",
    ])
    .await;
    assert_eq!(twice.code, Some(2), "{twice:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn graph_of_a_run_shows_what_was_sent_and_what_became_of_each_step() {
    let server = serve(shout).await;
    // The plan's own URLs are nobody's.
    let plan = "
agents: {first: 'http://127.0.0.1:9', second: 'http://127.0.0.1:9'}
steps:
  a: {agent: first, from: [input]}
  b: {agent: second, from: [a, a]}
outputs: [b]
";
    let (folder, path) = file("plan.yaml", plan.as_bytes());
    let store = folder.path().join("flows.db");
    let store = store.to_str().unwrap();
    let (first, second) = (
        format!("first={}", server.url()),
        format!("second={}", server.url()),
    );
    let ran = llamon(&[
        "flow", "run", &path, "--store", store, "--id", "r6", "--input", "x", "--agent", &first,
        "--agent", &second,
    ])
    .await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let drawn = llamon(&["flow", "graph", "r6", "--store", store]).await;
    assert_eq!(drawn.code, Some(0), "{drawn:?}");
    for line in [
        "  n2[\"a<br/>first<br/>completed\"]",
        "  n0 -->|\"1 part, 12 B\"| n2",
        "  n2 -->|\"2 parts, 24 B\"| n3",
        "  n3 -->|\"1 part, 15 B\"| n1",
    ] {
        let found = drawn.stdout.lines().any(|found| found == line);
        assert!(found, "{line}\n{}", drawn.stdout);
    }
    for (arguments, expected) in [
        (&["flow", "graph", "nobody", "--store", store][..], "nobody"),
        (&["flow", "graph", "nobody", "--store", "/none"], "no file"),
        (&["flow", "check", &path, "--agent", "x"], "NAME=URL"),
        (
            &["flow", "check", &path, "--agent", "x=http://127.0.0.1:9"],
            "its agents are: first, second",
        ),
        (&["flow", "check", &path, "--agent", "first=x"], "no URL"),
    ] {
        let wrong = llamon(arguments).await;
        assert_eq!(wrong.code, Some(2), "{wrong:?}");
        let said = wrong.stderr + &wrong.stdout;
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn show_has_the_steps_in_the_order_of_the_plan() {
    let server = serve(shout).await;
    let plan = plan(server.url(), server.url())
        .replace("  a:", "  z:")
        .replace("from: [a]", "from: [z]")
        .replace("a.text", "z.text");
    let (folder, path) = file("plan.yaml", plan.as_bytes());
    let store = folder.path().join("flows.db");
    let store = store.to_str().unwrap();
    let ran = llamon(&[
        "flow", "run", &path, "--store", store, "--id", "r5", "--input", "x",
    ])
    .await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown = llamon(&["flow", "show", "r5", "--store", store, "--json"]).await;
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["steps"][0]["step"], "z");
    assert_eq!(shown["calls"][0]["call"], "z");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_ends_with_5_and_its_answer_goes_on_with_the_run() {
    let (asks, shouts) = (serve(ask).await, serve(shout).await);
    let (folder, path) = file("plan.yaml", plan(asks.url(), shouts.url()).as_bytes());
    let store = folder.path().join("flows.db");
    let store = store.to_str().unwrap();
    let ran = llamon(&[
        "flow", "run", &path, "--store", store, "--id", "r2", "--input", "x",
    ])
    .await;
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(
        ran.stderr.contains("a: asks: which colour?"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("llamon flow answer r2"),
        "{}",
        ran.stderr
    );
    let wrong = llamon(&["flow", "answer", "r2", "b", "red", "--store", store]).await;
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(
        wrong.stderr.contains("no open question"),
        "{}",
        wrong.stderr
    );
    let ran = llamon(&[
        "flow", "answer", "r2", "a", "red", "--store", store, "--json",
    ])
    .await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let last: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["event"], "run-ended");
    assert_eq!(last["text"], "IT IS RED");
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_and_failures_have_exit_codes_of_their_own() {
    let asks = serve(ask).await;
    let (folder, path) = file("plan.yaml", plan(asks.url(), asks.url()).as_bytes());
    let store = folder.path().join("flows.db");
    let store = store.to_str().unwrap();
    let run = [
        "flow", "run", &path, "--store", store, "--input", "x", "--id",
    ];
    assert_eq!(llamon(&[&run[..], &["r3"]].concat()).await.code, Some(5));
    let canceled = llamon(&["flow", "cancel", "r3", "--store", store]).await;
    assert_eq!(canceled.code, Some(0), "{canceled:?}");
    let resumed = llamon(&["flow", "resume", "r3", "--store", store]).await;
    assert_eq!(resumed.code, Some(6), "{resumed:?}");
    // No input is a message without a part.
    let failed = llamon(&["flow", "run", &path, "--store", store]).await;
    assert_eq!(failed.code, Some(4), "{failed:?}");
    assert!(
        failed.stderr.contains("nothing to send"),
        "{}",
        failed.stderr
    );
    let unknown = llamon(&["flow", "show", "nobody", "--store", store]).await;
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    let no_store = llamon(&["flow", "list", "--store", "/nowhere/flows.db"]).await;
    assert_eq!(no_store.code, Some(2), "{no_store:?}");
}

/// `kill -9` in each step: the task runs on, `resume` finds it, and nothing is sent twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_killed_goes_on_and_sends_nothing_twice() {
    let got = Arc::new(Mutex::new(Vec::new()));
    let (begun, gate) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
    let (g, b, s) = (Arc::clone(&got), Arc::clone(&begun), Arc::clone(&gate));
    let slow = move |turn: Turn| {
        let (got, begun, gate) = (Arc::clone(&g), Arc::clone(&b), Arc::clone(&s));
        async move {
            got.lock().unwrap().push(turn.context_id().to_owned());
            begun.notify_one();
            gate.acquire().await?.forget();
            Ok::<_, AgentError>(turn.query().to_owned())
        }
    };
    let server = serve(slow).await;
    let (folder, path) = file("plan.yaml", plan(server.url(), server.url()).as_bytes());
    let store = folder.path().join("flows.db");
    let store = store.to_str().unwrap().to_owned();
    let run = [
        "flow", "run", &path, "--store", &store, "--id", "r4", "--input", "x",
    ];
    let resume = ["flow", "resume", "r4", "--store", &store];
    for args in [&run[..], &resume[..]] {
        let mut running = Running::start(args);
        // The agent has the message of the next step.
        begun.notified().await;
        running.child.kill().unwrap();
        running.child.wait().unwrap();
        gate.add_permits(1);
    }
    let ended = llamon(&resume).await;
    assert_eq!(
        (ended.code, &*ended.stdout),
        (Some(0), "it is x\n"),
        "{ended:?}"
    );
    assert_eq!(*got.lock().unwrap(), ["r4/a", "r4/b"]);
    let shown = llamon(&["flow", "show", "r4", "--store", &store, "--json"]).await;
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    for call in shown["calls"].as_array().unwrap() {
        assert_eq!(call["possiblyRepeated"], 0);
        assert_eq!(call["attempts"], 1);
    }
}
