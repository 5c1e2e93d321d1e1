//! What a turn writes to its backend, and what becomes of it when the backend fails.

use std::sync::{Arc, Mutex};

use llamon_agent::a2a::{StreamEvent, TaskState};
use llamon_agent::core::Limits;
use llamon_agent::server::backend::{Backend, MemoryBackend, StoreError};
use llamon_agent::server::create_server;
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{End, Script, card, scripted, start};
use llamon_itest::hooked::{Call, Hook, Hooked, When};
use llamon_itest::matrix::everywhere;
use llamon_itest::outcome::{Content, Outcome};
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Wire, peers};

const OWN: &str = r#"{"data":"own"}"#;
const UP: &str = r#"{"data":"up"}"#;

/// Notes every commit and fails when it is told to.
struct Watch {
    commits: Mutex<Vec<Vec<StreamEvent>>>,
    fails: fn(Call<'_>) -> bool,
}

impl Hook for Watch {
    fn at(&self, when: When, call: Call<'_>) -> Result<(), StoreError> {
        if when == When::Before && (self.fails)(call) {
            return Err(StoreError::Failed("no space on /secret/disk".to_owned()));
        }
        if let (When::After, Call::Commit(commit)) = (when, call) {
            let events = commit.events.clone();
            self.commits.lock().expect("a lock").push(events);
        }
        Ok(())
    }
}

type Watched = Hooked<Watch>;

fn watched(fails: fn(Call<'_>) -> bool) -> Arc<Watched> {
    let watch = Watch {
        commits: Mutex::default(),
        fails,
    };
    Hooked::new(Arc::new(MemoryBackend::new(Limits::default())), watch)
}

fn commits(backend: &Watched) -> Vec<Vec<StreamEvent>> {
    backend.hook().commits.lock().expect("a lock").clone()
}

async fn server(backend: &Arc<Watched>, script: Script) -> TestServer {
    let builder = create_server(card("agent"), scripted(vec![script]))
        .upstream_parts_policy("append")
        .backend(Arc::clone(backend) as Arc<dyn Backend>);
    start(builder).await
}

fn say() -> Say {
    Say::text("go").with(&[UP])
}

/// The texts of the parts that a commit brings, and the state.
fn shown(commit: &[StreamEvent]) -> (Vec<String>, Option<TaskState>) {
    let mut parts = Vec::new();
    for event in commit {
        if let StreamEvent::Artifact(update) = event {
            let texts = update
                .artifact
                .parts
                .iter()
                .map(|part| part.json().to_owned());
            parts.extend(texts);
        }
    }
    (
        parts,
        commit.iter().filter_map(StreamEvent::state).next_back(),
    )
}

#[tokio::test]
async fn the_upstream_parts_and_the_final_status_are_one_commit() {
    let scripts = [
        Script::returns(&[OWN]),
        Script::returns(&[]).emitting(&[OWN]),
        Script::returns(&[])
            .emitting(&[r#"{"text":"a"}"#])
            .emitting(&[OWN]),
        Script::returns(&[OWN, r#"{"text":"b"}"#]).emitting(&[r#"{"text":"a"}"#]),
    ];
    for script in scripts {
        let backend = watched(|_| false);
        let server = server(&backend, script.clone()).await;
        for peer in peers(server.url()) {
            peer.send(&say()).await;
            let commits = commits(&backend);
            let with_upstream: Vec<_> = commits
                .iter()
                .map(|commit| shown(commit))
                .filter(|(parts, _)| parts.iter().any(|part| part == UP))
                .collect();
            let [.., (_, state)] = &with_upstream[..] else {
                panic!("no commit has upstream parts: {script:?}");
            };
            assert_eq!(*state, Some(TaskState::Completed), "{script:?}");
            let ends = commits
                .iter()
                .filter(|commit| shown(commit).1 == Some(TaskState::Completed));
            assert_eq!(ends.count(), with_upstream.len(), "{script:?}");
        }
    }
}

#[tokio::test]
async fn a_task_that_cannot_be_created_is_an_error_that_says_nothing_of_the_store() {
    let backend = watched(|call| matches!(call, Call::Create(_)));
    let server = server(&backend, Script::returns(&[OWN])).await;
    for peer in peers(server.url()) {
        let refused = [
            peer.call(Op::Send(&say())).await.unwrap_err(),
            peer.open(Op::Stream(&say())).await.unwrap_err(),
        ];
        for refusal in refused {
            let code = if peer.wire == Wire::JsonRpc {
                -32603
            } else {
                500
            };
            assert_eq!((refusal.code, &*refusal.reason), (code, "INTERNAL_ERROR"));
            assert!(!refusal.body.contains("secret"), "{refusal:?}");
        }
        let listed = peer.call(Op::List(&[])).await.unwrap();
        assert_eq!(listed.at("totalSize").text(), "0");
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_stored_fails_the_task() {
    let completes = |call: Call<'_>| match call {
        Call::Commit(commit) => shown(&commit.events).1 == Some(TaskState::Completed),
        _ => false,
    };
    let backend = watched(completes);
    let script = Script::returns(&[OWN]).emitting(&[r#"{"text":"so far"}"#]);
    let server = server(&backend, script).await;
    let outcome = everywhere(&server, &[say()]).await;
    assert_eq!(outcome.state, "TASK_STATE_FAILED");
    assert!(!outcome.said.contains("secret"), "{}", outcome.said);
    assert!(
        outcome
            .content()
            .is_same(&Content::expect("so far", &[], &[]))
    );
}

#[tokio::test]
async fn a_chunk_that_cannot_be_stored_fails_the_task() {
    let has_own = |call: Call<'_>| match call {
        Call::Commit(commit) => shown(&commit.events).0.iter().any(|part| part == OWN),
        _ => false,
    };
    let backend = watched(has_own);
    let script = Script::returns(&[])
        .emitting(&[r#"{"text":"so far"}"#])
        .emitting(&[OWN]);
    let server = server(&backend, script).await;
    let outcome = everywhere(&server, &[say()]).await;
    assert_eq!(outcome.state, "TASK_STATE_FAILED");
    assert!(!outcome.said.contains("secret"), "{}", outcome.said);
    assert!(
        outcome
            .content()
            .is_same(&Content::expect("so far", &[], &[]))
    );
}

#[tokio::test]
async fn a_turn_whose_first_word_cannot_be_stored_fails() {
    let working = |call: Call<'_>| match call {
        Call::Commit(commit) => shown(&commit.events).1 == Some(TaskState::Working),
        _ => false,
    };
    let backend = watched(working);
    let server = server(&backend, Script::new(End::Completed(Vec::new()))).await;
    for peer in peers(server.url()) {
        let outcome = Outcome::of_task(&peer.send(&say()).await);
        assert_eq!(outcome.state, "TASK_STATE_FAILED");
    }
}
