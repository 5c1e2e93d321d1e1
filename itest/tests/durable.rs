//! Tasks that survive the death of their server: real processes, real files, real `kill -9`.

#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise, also in its helpers"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use llamon_agent::a2a::{Task, TaskState};
use llamon_agent::client::{Client, Outgoing};
use llamon_agent::core::Part;
use llamon_itest::agents::until;
use llamon_itest::durable::text_of;
use llamon_itest::outcome::Outcome;
use llamon_itest::process::Process;
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, WIRES, Wire};
use tempfile::TempDir;

/// A folder with a store, and how its agent is served.
struct Durable {
    folder: TempDir,
    env: Vec<(&'static str, &'static str)>,
}

impl Durable {
    fn new(env: &[(&'static str, &'static str)]) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            env: env.to_vec(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_durable-agent"));
        command.arg(self.path("tasks.db")).arg("127.0.0.1:0");
        command.envs(self.env.iter().copied());
        command
    }

    fn start(&self) -> Process {
        Process::of(&mut self.command())
    }
}

async fn at_once(server: &Process, say: Say) -> (Peer, String) {
    let peer = Peer::new(server.url(), Wire::JsonRpc);
    let task = peer.send(&say.at_once()).await;
    let id = task.string("id");
    (peer, id)
}

async fn ended(server: &Process, id: &str) -> Outcome {
    let peer = Peer::new(server.url(), Wire::Rest);
    let ended = until(|| async {
        let outcome = Outcome::of_task(&peer.get(id).await);
        let working = ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"];
        (!working.contains(&outcome.state.as_str())).then_some(outcome)
    });
    ended.await
}

fn touch(file: &Path) {
    std::fs::write(file, "").unwrap();
}

#[tokio::test]
async fn a_stream_that_is_killed_in_the_middle_ends_as_an_uncrashed_one() {
    for wire in WIRES {
        let durable = Durable::new(&[]);
        let query = (0..400)
            .map(|word| format!("w{word}"))
            .collect::<Vec<_>>()
            .join(" ");
        let server = durable.start();
        let peer = Peer::new(server.url(), wire);
        let mut events = peer
            .stream(&Say::text(&query).with(&[r#"{"data":"up"}"#]))
            .await;
        let mut seen = Outcome::default();
        while seen.content().text.len() < 100 {
            seen.apply(&events.next().await.expect("an event"));
        }
        let id = seen.task_id.clone().expect("a task");
        server.kill();
        let server = durable.start();
        // Whoever comes back gets the task as it stands and the rest of its log.
        let peer = Peer::new(server.url(), wire);
        let before = Outcome::of_task(&peer.get(&id).await).content().text;
        assert!(
            before.starts_with(&seen.content().text),
            "{before:?} {seen:?}"
        );
        let mut resumed = Outcome::default();
        if let Ok(mut events) = peer.open(Op::Subscribe(&id)).await {
            while let Some(event) = events.next().await {
                resumed.apply(&event);
            }
            assert_eq!(resumed.content().text, text_of(&query));
        }
        let outcome = ended(&server, &id).await;
        assert_eq!(outcome.state, "TASK_STATE_COMPLETED");
        assert_eq!(outcome.content().text, text_of(&query));
        assert_eq!(
            outcome.content().data.len(),
            2,
            "own, then upstream under append"
        );
    }
}

#[tokio::test]
async fn a_turn_that_kills_its_process_again_and_again_fails_with_the_reason() {
    let durable = Durable::new(&[("EXECUTION", "2")]);
    let mut server = durable.start();
    let (_, id) = at_once(&server, Say::text("die now")).await;
    server.wait();
    // The second attempt may kill the process before or after it says that it is ready.
    if let Some(mut server) = Process::try_of(&mut durable.command()) {
        server.wait();
    }
    let server = durable.start();
    let outcome = ended(&server, &id).await;
    assert_eq!(outcome.state, "TASK_STATE_FAILED");
    assert!(
        outcome.said.contains("max_attempts is 2"),
        "{}",
        outcome.said
    );
    assert_eq!(outcome.content().text, "dying");
}

#[tokio::test]
async fn an_agent_that_must_not_run_twice_does_not() {
    let durable = Durable::new(&[("EXECUTION", "at-most-once")]);
    let gate = durable.path("gate");
    let server = durable.start();
    let (peer, id) = at_once(&server, Say::text(&format!("wait {}", gate.display()))).await;
    until(|| async {
        (!Outcome::of_task(&peer.get(&id).await).artifacts.is_empty()).then_some(())
    })
    .await;
    server.kill();
    // An attempt that ran again would complete.
    touch(&gate);
    let server = durable.start();
    let outcome = ended(&server, &id).await;
    assert_eq!(outcome.state, "TASK_STATE_FAILED");
    assert!(outcome.said.contains("not run twice"), "{}", outcome.said);
    assert_eq!(outcome.content().text, "attempt 1 ");
}

#[tokio::test]
async fn a_server_that_is_told_to_stop_parks_its_turns_for_the_next_start() {
    for wire in WIRES {
        // One death is one too many here: a stop is none.
        let durable = Durable::new(&[("EXECUTION", "1")]);
        let gate = durable.path("gate");
        let mut server = durable.start();
        let peer = Peer::new(server.url(), wire);
        let say = Say::text(&format!("wait {}", gate.display()));
        let mut events = peer.stream(&say).await;
        let blocked = Peer::new(server.url(), wire);
        let blocked = tokio::spawn(async move { blocked.send(&say).await });
        let mut seen = Outcome::default();
        while seen.artifacts.is_empty() {
            seen.apply(&events.next().await.expect("an event"));
        }
        let both = |outcomes: Vec<Outcome>| (outcomes.len() == 2).then_some(());
        until(|| async {
            let listed = Peer::new(server.url(), wire)
                .call(Op::List(&[]))
                .await
                .unwrap();
            both(listed.list("tasks").iter().map(Outcome::of_task).collect())
        })
        .await;
        server.signal("TERM");
        assert!(server.wait().success());
        // The stream is cut where it can be taken up again, and the blocking client has its task.
        let rest = events.rest().await;
        assert!(
            rest.iter()
                .all(|event| event.find("statusUpdate").is_none()),
            "{rest:?}"
        );
        let told = blocked.await.unwrap();
        assert_eq!(told.string("status.state"), "TASK_STATE_WORKING");
        touch(&gate);
        let server = durable.start();
        let id = seen.task_id.expect("a task");
        for id in [id, told.string("id")] {
            let outcome = ended(&server, &id).await;
            assert_eq!(outcome.state, "TASK_STATE_COMPLETED", "{}", outcome.said);
            assert_eq!(outcome.content().text, "attempt 2 done");
        }
    }
}

#[tokio::test]
async fn a_cancel_that_was_accepted_survives_a_crash() {
    let durable = Durable::new(&[]);
    let server = durable.start();
    let (peer, id) = at_once(&server, Say::text("wait for-ever")).await;
    until(|| async {
        (!Outcome::of_task(&peer.get(&id).await).artifacts.is_empty()).then_some(())
    })
    .await;
    let canceling = {
        let (peer, id) = (peer.clone(), id.clone());
        tokio::spawn(async move { peer.call(Op::Cancel(&id)).await })
    };
    // Accepted or not yet: the task must not end otherwise than by it afterwards.
    tokio::task::yield_now().await;
    server.kill();
    let _ = canceling.await;
    let server = durable.start();
    let peer = Peer::new(server.url(), Wire::Rest);
    let canceled = peer.call(Op::Cancel(&id)).await;
    let outcome = ended(&server, &id).await;
    assert_eq!(outcome.state, "TASK_STATE_CANCELED", "{canceled:?}");
}

#[tokio::test]
async fn a_question_survives_and_the_answer_goes_on_in_another_process() {
    for wire in WIRES {
        let durable = Durable::new(&[("HITL", "1")]);
        let server = durable.start();
        let peer = Peer::new(server.url(), wire);
        let task = peer.send(&Say::text("ask Really?")).await;
        assert_eq!(task.string("status.state"), "TASK_STATE_INPUT_REQUIRED");
        server.kill();
        let server = durable.start();
        let peer = Peer::new(server.url(), wire);
        let again = peer.get(&task.string("id")).await;
        assert_eq!(again.text(), task.text());
        let answer = Say::text("Yes").in_task(&task.string("id"));
        let outcome = Outcome::of_task(&peer.send(&answer).await);
        assert_eq!(outcome.state, "TASK_STATE_COMPLETED");
        assert_eq!(outcome.content().text, "before after ");
        assert_eq!(outcome.content().data, [r#""Yes""#]);
    }
}

#[tokio::test]
async fn what_was_finished_is_the_same_after_a_crash_to_the_byte() {
    let durable = Durable::new(&[]);
    let server = durable.start();
    let client = Client::discover(server.url()).await.unwrap();
    let odd = r#"{"data":{"n":1.0e+5,"n":1,"s":"\u00e9\ud83d\ude00","t":"é"},"x":[1 ]}"#;
    let message = Outgoing::text("one two").with_part(Part::from_json(odd).unwrap());
    let before: Task = client.send(message).await.unwrap().task().unwrap().clone();
    assert_eq!(before.status.state, TaskState::Completed);
    server.kill();
    let server = durable.start();
    let client = Client::discover(server.url()).await.unwrap();
    let after = client.get(&before.id).await.unwrap();
    assert_eq!(after, before);
    let last = after.artifacts[0].parts.last().unwrap();
    assert_eq!(last.json(), odd);
}
