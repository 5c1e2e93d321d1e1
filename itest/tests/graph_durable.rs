//! A graph that asks a person, and the death of its server: real processes, real files, real
//! `kill -9`.

use std::process::Command;

use llamon_agent::graph::{Saver as _, SqliteSaver};
use llamon_itest::agents::{patient, until};
use llamon_itest::matrix::is_settled;
use llamon_itest::outcome::Outcome;
use llamon_itest::process::Process;
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, WIRES, Wire};
use tempfile::TempDir;

/// A folder with a store and threads, and how much the nodes say.
struct Files {
    folder: TempDir,
    talk: Option<&'static str>,
}

impl Files {
    fn new(talk: Option<&'static str>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self { folder, talk }
    }

    fn command(&self, moment: Option<&str>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_graph-agent"));
        command
            .arg(self.folder.path())
            .arg("127.0.0.1:0")
            .args(moment);
        command
            .env_remove("TALK")
            .envs(self.talk.map(|talk| ("TALK", talk)));
        command
    }

    fn start(&self) -> Process {
        Process::of(&mut self.command(None))
    }

    /// A process that dies at this moment.
    fn start_to_die(&self, moment: &str) -> Process {
        Process::of(&mut self.command(Some(moment)))
    }

    /// Has another process die at the same moment, which may come before it is ready.
    async fn die_again(&self, moment: &str) {
        if let Some(mut process) = Process::try_of(&mut self.command(Some(moment))) {
            process.ended().await;
        }
    }

    /// The nodes that have begun, in order.
    fn ran(&self) -> Vec<String> {
        let ran = std::fs::read_to_string(self.folder.path().join("ran")).unwrap_or_default();
        ran.lines().map(str::to_owned).collect()
    }

    fn count(&self, node: &str) -> usize {
        self.ran().iter().filter(|ran| *ran == node).count()
    }

    /// What the newest checkpoint of a thread has had written to it since, as JSON.
    async fn written(&self, thread: &str) -> String {
        let saver = SqliteSaver::open(self.folder.path().join("threads.db")).await;
        let saver = saver.expect("the threads");
        let saved = saver.get(thread, "", None).await.expect("a saver");
        let saved = saved.expect("a checkpoint");
        let values = saved.writes.iter().map(|write| &write.value);
        serde_json::to_string(&values.collect::<Vec<_>>()).expect("JSON")
    }
}

/// Says something to a server that dies of it.
async fn dies_of(server: Process, wire: Wire, say: Say) {
    let peer = Peer::new(server.url(), wire);
    let call = tokio::spawn(async move { peer.call(Op::Send(&say)).await });
    let answered = patient(call).await;
    assert!(answered.is_err(), "it answered: {answered:?}");
    drop(server);
}

/// The only task, when it has settled.
async fn settled(server: &Process, wire: Wire) -> Raw {
    let peer = Peer::new(server.url(), wire);
    let settled = until(|| async {
        let listed = peer
            .call(Op::List(&[]))
            .await
            .expect("a list")
            .list("tasks");
        let [task] = &listed[..] else {
            panic!("{listed:?}");
        };
        is_settled(task.at("status.state").text()).then(|| task.string("id"))
    });
    peer.get(&settled.await).await
}

fn questions(task: &Raw) -> Vec<Raw> {
    let state = task.string("status.state");
    assert_eq!(state, "TASK_STATE_INPUT_REQUIRED", "{task:?}");
    task.list("status.message.parts")[1].list("data.interrupts")
}

fn answer(task: &Raw) -> Say {
    Say::text("7").in_task(&task.string("id"))
}

/// What somebody has who asked a server that did not die: before the answer, and after it.
async fn uncrashed(talk: Option<&'static str>) -> [Outcome; 2] {
    let files = Files::new(talk);
    let server = files.start();
    let peer = Peer::new(server.url(), Wire::Rest);
    let task = peer.send(&Say::text("go")).await;
    let done = peer.send(&answer(&task)).await;
    assert_eq!(files.ran()[2..], ["ask", "ask", "report"]);
    [task, done].map(|task| Outcome::of_task(&task))
}

#[track_caller]
fn assert_same(found: &Outcome, expected: &Outcome) {
    assert_eq!(found.state, expected.state, "{}", found.said);
    assert_eq!(found.said, expected.said);
    assert_eq!(found.by_artifact(), expected.by_artifact());
}

#[tokio::test]
async fn a_question_survives_and_its_answer_goes_on_in_another_process() {
    let [asked, done] = uncrashed(Some("1")).await;
    assert_eq!(asked.content().text, "Left is done. One question first. ");
    let report = r#"{"answer":7,"found":["left","right"]}"#;
    assert_eq!(done.by_artifact()[1].1.text, "You said 7");
    assert_eq!(done.content().data, [report]);
    for wire in WIRES {
        let files = Files::new(Some("1"));
        let server = files.start();
        let task = Peer::new(server.url(), wire).send(&Say::text("go")).await;
        assert_same(&Outcome::of_task(&task), &asked);
        server.kill();
        let server = files.start();
        let peer = Peer::new(server.url(), wire);
        let again = peer.get(&task.string("id")).await;
        assert_eq!(again.text(), task.text());
        let task = peer.send(&answer(&task)).await;
        assert_same(&Outcome::of_task(&task), &done);
        assert_eq!(files.ran()[2..], ["ask", "ask", "report"]);
    }
}

#[tokio::test]
async fn a_question_that_only_the_saver_has_is_asked_with_the_same_id() {
    let [asked, done] = uncrashed(None).await;
    for wire in WIRES {
        let files = Files::new(None);
        let server = files.start_to_die("question");
        dies_of(server, wire, Say::text("go").in_context("c")).await;
        let kept = files.written("c").await;
        files.die_again("question").await;
        let server = files.start();
        let task = settled(&server, wire).await;
        let [question] = &questions(&task)[..] else {
            panic!("{task:?}");
        };
        let id = question.string("id");
        assert!(kept.contains(&format!("{id:?}")), "{id} {kept}");
        assert_eq!(files.count("ask"), 1, "{:?}", files.ran());
        let peer = Peer::new(server.url(), wire);
        let completed = Outcome::of_task(&peer.send(&answer(&task)).await);
        assert_eq!(files.ran()[2..], ["ask", "ask", "report"]);
        assert_same(&Outcome::of_task(&task), &asked);
        assert_same(&completed, &done);
    }
}

#[tokio::test]
async fn an_answer_that_only_the_saver_has_is_given_without_running_a_node_again() {
    let [_, done] = uncrashed(None).await;
    for wire in WIRES {
        let files = Files::new(None);
        let server = files.start_to_die("answer");
        let task = Peer::new(server.url(), wire).send(&Say::text("go")).await;
        dies_of(server, wire, answer(&task)).await;
        files.die_again("answer").await;
        let server = files.start();
        let task = settled(&server, wire).await;
        assert_eq!(files.ran()[2..], ["ask", "ask", "report"]);
        assert_same(&Outcome::of_task(&task), &done);
    }
}

#[tokio::test]
async fn a_node_that_had_finished_does_not_run_again_when_its_super_step_is_killed() {
    let [asked, done] = uncrashed(None).await;
    for wire in WIRES {
        let files = Files::new(None);
        let server = files.start_to_die("inside");
        dies_of(server, wire, Say::text("go")).await;
        files.die_again("inside").await;
        let server = files.start();
        let task = settled(&server, wire).await;
        questions(&task);
        assert_same(&Outcome::of_task(&task), &asked);
        assert_eq!(files.count("left"), 1, "{:?}", files.ran());
        assert_eq!(files.count("right"), 3, "{:?}", files.ran());
        let peer = Peer::new(server.url(), wire);
        let completed = peer.send(&answer(&task)).await;
        assert_same(&Outcome::of_task(&completed), &done);
    }
}

// === what was said and is not in the state ===

#[tokio::test]
async fn what_was_said_before_a_question_that_only_the_saver_has_is_said() {
    let [asked, _] = uncrashed(Some("1")).await;
    for wire in WIRES {
        let files = Files::new(Some("1"));
        let server = files.start_to_die("question");
        dies_of(server, wire, Say::text("go")).await;
        let task = settled(&files.start(), wire).await;
        assert_same(&Outcome::of_task(&task), &asked);
    }
}

#[tokio::test]
async fn what_a_finished_node_has_said_is_said_when_its_super_step_is_killed() {
    let [asked, _] = uncrashed(Some("1")).await;
    for wire in WIRES {
        let files = Files::new(Some("1"));
        let server = files.start_to_die("inside");
        dies_of(server, wire, Say::text("go")).await;
        let task = settled(&files.start(), wire).await;
        assert_same(&Outcome::of_task(&task), &asked);
    }
}

#[tokio::test]
async fn an_answer_that_was_only_streamed_is_given_again() {
    let [_, done] = uncrashed(Some("only")).await;
    assert_eq!(done.by_artifact()[1].1.text, "You said 7");
    for wire in WIRES {
        let files = Files::new(Some("only"));
        let server = files.start_to_die("answer");
        let task = Peer::new(server.url(), wire).send(&Say::text("go")).await;
        dies_of(server, wire, answer(&task)).await;
        let task = settled(&files.start(), wire).await;
        assert_same(&Outcome::of_task(&task), &done);
    }
}
