//! A program behind pipes.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use llamon_agent::contracts::{InputContract, InputContracts, Pick};
use llamon_agent::server::adapters::{ProcessAdapter, ProcessBuilder, StderrOf};
use llamon_agent::server::create_server;
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, patient, start, until};
use llamon_itest::matrix::{everywhere, streaming};
use llamon_itest::outcome::{Content, Outcome};
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;
use llamon_itest::wire::{Events, Op, Peer, Wire, peers};

use crate::ODD;

fn program() -> ProcessBuilder {
    ProcessAdapter::program(env!("CARGO_BIN_EXE_line_agent"))
        .restart_pause(Duration::from_millis(1), Duration::from_millis(1))
}

async fn serve(builder: ProcessBuilder) -> TestServer {
    let adapter = builder.start().expect("a program");
    start(create_server(card("program"), adapter)).await
}

fn shell(command: &str) -> bool {
    let status = Command::new("sh").args(["-c", command]).status();
    status.expect("a shell").success()
}

/// Whether a process is there. One that has ended and is not waited for yet is not.
fn is_alive(pid: &str) -> bool {
    shell(&format!(
        "kill -0 {pid} 2>/dev/null && ! grep -q '^State:.Z' /proc/{pid}/status"
    ))
}

async fn say(server: &TestServer, text: &str) -> Outcome {
    Outcome::of_task(
        &Peer::new(server.url(), Wire::Rest)
            .send(&Say::text(text))
            .await,
    )
}

#[tokio::test]
async fn parts_go_through_a_program_token_for_token() {
    let server = serve(program()).await;
    let outcome = everywhere(&server, &[Say::text("echo").with(&ODD)]).await;
    assert_eq!(outcome.content().text, "echoed");
    assert_eq!(outcome.content().order, ODD);
    let outcome = everywhere(&server, &[Say::text("echo")]).await;
    assert!(
        outcome
            .content()
            .is_same(&Content::expect("echoed", &[], &[]))
    );
}

#[tokio::test]
async fn a_request_has_all_that_a_program_may_need() {
    let contracts = InputContracts::new()
        .with(InputContract::data("first").select("/a"))
        .with(
            InputContract::data("all")
                .select("$.b[*]")
                .pick(Pick::All)
                .optional(),
        )
        .with(
            InputContract::data("none")
                .select("/none")
                .default_json(r#""EUR""#),
        )
        .with(InputContract::file("file"));
    let adapter = program().start().unwrap();
    let server = start(create_server(card("program"), adapter).input_contracts(contracts)).await;
    for peer in peers(server.url()) {
        let upstream = [
            r#"{"data":{"a":1.0,"b":[1.50,"\u00e9"]}}"#,
            r#"{"raw":"b3du","filename":"own.txt"}"#,
        ];
        let say = Say::text("line").in_context("c-1").with(&upstream);
        let task = peer.send(&say).await;
        let line = Raw::parse(&Outcome::of_task(&task).content().data[0]);
        assert_eq!(line.string("query"), "line");
        assert_eq!(
            line.at("upstream").text(),
            format!("[{}]", upstream.join(","))
        );
        assert_eq!(line.at("inputs.first").text(), "[1.0]");
        assert_eq!(line.at("inputs.all").text(), r#"[1.50,"\u00e9"]"#);
        assert_eq!(line.at("inputs.none").text(), "[]");
        assert_eq!(line.at("defaults").text(), r#"{"none":"EUR"}"#);
        assert_eq!(line.at("inputs.file").text(), format!("[{}]", upstream[1]));
        assert_eq!(line.string("taskId"), task.string("id"));
        assert_eq!(line.string("contextId"), "c-1");
        assert_eq!(
            (line.at("turn").text(), line.at("attempt").text()),
            ("1", "1")
        );
        assert_eq!(line.find("history"), None);
    }
}

#[tokio::test]
async fn drafts_are_replaced_or_kept() {
    let server = serve(program()).await;
    let cases = [
        ("replace", Content::expect("final", &["1.0"], &[])),
        ("keep", Content::expect("one two", &["1e400"], &[])),
        ("empty", Content::default()),
    ];
    for (query, expected) in cases {
        let outcome = everywhere(&server, &[Say::text(query)]).await;
        assert_eq!(outcome.state, "TASK_STATE_COMPLETED");
        assert!(outcome.content().is_same(&expected), "{query}: {outcome:?}");
    }
    for peer in peers(server.url()) {
        let (_, events) = streaming(&peer, &[Say::text("replace")]).await;
        let shown: String = events.iter().map(|event| event.text()).collect();
        assert!(
            shown.contains("drafting") && shown.contains("a draft"),
            "{shown}"
        );
    }
}

#[tokio::test]
async fn a_program_asks_and_gets_the_answer_with_what_was_said() {
    let server = serve(program()).await;
    for peer in peers(server.url()) {
        let task = peer.send(&Say::text("ask")).await;
        let outcome = Outcome::of_task(&task);
        assert_eq!(
            (&*outcome.state, &*outcome.said),
            ("TASK_STATE_INPUT_REQUIRED", "which?")
        );
        let data = task.list("status.message.parts")[1].at("data");
        assert_eq!(data.text(), r#"{"choices":[1,2]}"#);
        let done = peer
            .send(&Say::text("two").in_task(&task.string("id")))
            .await;
        let history = Raw::parse(&Outcome::of_task(&done).content().data[0]).items();
        let said: Vec<String> = history.iter().map(|m| m.string("parts.0.text")).collect();
        assert_eq!(said, ["ask", "which?"]);
    }
}

#[tokio::test]
async fn an_error_of_a_program_fails_the_task_and_the_program_goes_on() {
    let server = serve(program()).await;
    let pid = say(&server, "pid").await.content().text;
    let outcome = everywhere(&server, &[Say::text("error")]).await;
    assert_eq!(outcome.state, "TASK_STATE_FAILED");
    assert_eq!(outcome.said, "there is no such file");
    assert_eq!(say(&server, "pid").await.content().text, pid);
}

#[tokio::test]
async fn a_crash_fails_the_task_with_the_last_lines_of_stderr_and_the_next_turn_works() {
    let server = serve(program()).await;
    let before = say(&server, "pid").await.content().text;
    for peer in peers(server.url()) {
        let (outcome, _) = streaming(&peer, &[Say::text("crash")]).await;
        assert_eq!(outcome.state, "TASK_STATE_FAILED");
        assert_eq!(outcome.content().text, "so far");
        let said = &outcome.said;
        assert!(said.contains("exit status: 3"), "{said}");
        assert!(
            said.contains("\n[31mline 30\nthe last words, xxx"),
            "{said}"
        );
        assert!(!said.contains("line 10\n") && said.len() < 2_000, "{said}");
        assert!(!said.contains('\u{1b}'));
    }
    assert_ne!(say(&server, "pid").await.content().text, before);
}

#[tokio::test]
async fn stderr_stays_in_the_log_where_it_is_to() {
    let server = serve(program().stderr(StderrOf::Log)).await;
    let said = say(&server, "crash").await.said;
    assert!(said.contains("exit status: 3"), "{said}");
    assert!(
        !said.contains("line 30") && !said.contains("last words"),
        "{said}"
    );
}

#[tokio::test]
async fn a_program_that_ends_without_an_answer_says_what_helps() {
    let server = serve(program()).await;
    let said = say(&server, "leave").await.said;
    assert!(
        said.contains("exit status: 0") && said.contains("turns_per_process(1)"),
        "{said}"
    );
}

#[tokio::test]
async fn a_program_that_answers_once_is_replaced_each_time() {
    let server = serve(program().turns_per_process(1).workers(2)).await;
    for _ in 0..5 {
        let outcome = say(&server, "answer-and-leave").await;
        assert_eq!(outcome.content().text, "bye", "{outcome:?}");
    }
    let pids = [
        say(&server, "pid").await.content().text,
        say(&server, "pid").await.content().text,
    ];
    assert_ne!(pids[0], pids[1]);
}

#[tokio::test]
async fn what_is_no_line_of_the_protocol_fails_the_task_with_the_reason() {
    let server = serve(program().max_line_bytes(9_000)).await;
    let cases = [
        ("garbage", "standard output"),
        ("not-utf-8", "is not UTF-8"),
        ("other-id", "request \"x\""),
        ("long", "more than 9000 bytes (max_line_bytes)"),
    ];
    for (query, reason) in cases {
        let before = say(&server, "pid").await.content().text;
        let outcome = say(&server, query).await;
        assert_eq!(outcome.state, "TASK_STATE_FAILED");
        assert!(outcome.said.contains(reason), "{query}: {}", outcome.said);
        assert!(!outcome.said.contains("Traceback"), "{}", outcome.said);
        assert_ne!(say(&server, "pid").await.content().text, before);
    }
}

#[tokio::test]
async fn what_is_said_after_the_answer_is_not_taken_for_the_next_one() {
    let server = serve(program()).await;
    let pid = say(&server, "pid").await.content().text;
    for _ in 0..3 {
        assert_eq!(say(&server, "late").await.content().text, "done");
        assert_eq!(say(&server, "pid").await.content().text, pid);
    }
}

#[tokio::test]
async fn a_request_larger_than_a_pipe_is_no_deadlock() {
    let server = serve(program()).await;
    let large = format!(r#"{{"data":"{}"}}"#, "x".repeat(4 << 20));
    let outcome = patient(say_with(&server, "echo", &[&large])).await;
    assert_eq!(outcome.content().order, [large]);
}

async fn say_with(server: &TestServer, text: &str, parts: &[&str]) -> Outcome {
    let peer = Peer::new(server.url(), Wire::JsonRpc);
    Outcome::of_task(&peer.send(&Say::text(text).with(parts)).await)
}

/// Begins a turn that hangs; its id and the program's.
async fn hang(peer: &Peer) -> (String, String, Events) {
    let (id, mut events) = peer.begin(&Say::text("hang")).await;
    let draft = events.until("artifactUpdate").await;
    let pid = draft.string("artifactUpdate.artifact.parts.0.text");
    (id, pid, events)
}

#[tokio::test]
async fn a_cancel_ends_the_process_and_the_next_turn_gets_a_fresh_one() {
    let server = serve(program()).await;
    for peer in peers(server.url()) {
        let (id, pid, events) = hang(&peer).await;
        assert!(is_alive(&pid));
        let canceled = peer.call(Op::Cancel(&id)).await.unwrap();
        assert_eq!(canceled.string("status.state"), "TASK_STATE_CANCELED");
        assert!(!is_alive(&pid), "the run has really stopped");
        events.rest().await;
        assert_ne!(say(&server, "pid").await.content().text, pid);
    }
}

#[tokio::test]
async fn a_process_that_does_not_listen_is_ended_by_force() {
    // An ignored signal stays ignored in the program that takes the shell's place.
    let deaf = format!("trap '' TERM; exec {}", env!("CARGO_BIN_EXE_line_agent"));
    let deaf = ProcessAdapter::program("sh").args(["-c", &deaf]);
    let server = serve(deaf.kill_grace(Duration::from_millis(50))).await;
    let peer = Peer::new(server.url(), Wire::Rest);
    let (id, pid, _events) = hang(&peer).await;
    let canceled = peer.call(Op::Cancel(&id)).await.unwrap();
    assert_eq!(canceled.string("status.state"), "TASK_STATE_CANCELED");
    assert!(!is_alive(&pid));
    assert_ne!(say(&server, "pid").await.content().text, pid);
}

#[tokio::test]
async fn what_a_program_has_started_ends_with_it() {
    let script = format!("sleep 1000 & exec {}", env!("CARGO_BIN_EXE_line_agent"));
    let server = serve(ProcessAdapter::program("sh").args(["-c", &script])).await;
    let peer = Peer::new(server.url(), Wire::Rest);
    let (id, pid, _events) = hang(&peer).await;
    peer.call(Op::Cancel(&id)).await.unwrap();
    // Whose process group is the program's.
    let others = format!("awk '$5 == {pid} {{ exit 1 }}' /proc/[0-9]*/stat 2>/dev/null");
    until(|| async { shell(&others).then_some(()) }).await;
}

#[tokio::test]
async fn a_turn_that_takes_too_long_fails_naming_the_setting() {
    let server = serve(program().turn_timeout(Duration::from_millis(50))).await;
    let outcome = say(&server, "hang").await;
    assert_eq!(outcome.state, "TASK_STATE_FAILED");
    assert!(
        outcome.said.contains("0.05 s (turn_timeout)"),
        "{}",
        outcome.said
    );
    assert!(!is_alive(&outcome.content().text));
}

#[tokio::test]
async fn workers_work_at_the_same_time() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("meet");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let server = serve(program().workers(3)).await;
    let query = format!("meet {}", folder.display());
    let talk = || say(&server, &query);
    let (a, b, c) = patient(async { tokio::join!(talk(), talk(), talk()) }).await;
    for outcome in [a, b, c] {
        assert_eq!(outcome.content().text, "met");
    }
}

#[tokio::test]
async fn turns_wait_for_a_process_up_to_max_waiting() {
    let server = serve(program().workers(1).max_waiting(1)).await;
    let peer = Peer::new(server.url(), Wire::JsonRpc);
    let (first, _, _events) = hang(&peer).await;
    let (_, waiting) = peer.begin(&Say::text("pid")).await;
    let refused = say(&server, "pid").await;
    assert_eq!(refused.state, "TASK_STATE_FAILED");
    assert!(refused.said.contains("max_waiting"), "{}", refused.said);
    // One that waits can be canceled; then there is room again.
    peer.call(Op::Cancel(&first)).await.unwrap();
    let events = waiting.rest().await;
    let last = events.last().unwrap();
    assert_eq!(
        last.string("statusUpdate.status.state"),
        "TASK_STATE_COMPLETED"
    );
    assert_eq!(say(&server, "pid").await.state, "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn a_turn_that_waits_for_a_process_can_be_canceled() {
    let server = serve(program().workers(1)).await;
    let peer = Peer::new(server.url(), Wire::JsonRpc);
    let (first, pid, _events) = hang(&peer).await;
    let (waiting, _) = peer.begin(&Say::text("pid")).await;
    let canceled = peer.call(Op::Cancel(&waiting)).await.unwrap();
    assert_eq!(canceled.string("status.state"), "TASK_STATE_CANCELED");
    assert!(is_alive(&pid), "the other one's process");
    peer.call(Op::Cancel(&first)).await.unwrap();
}

#[tokio::test]
async fn processes_end_with_their_server() {
    let server = serve(program()).await;
    let pid = say(&server, "pid").await.content().text;
    assert!(is_alive(&pid));
    server.stop().await.unwrap();
    until(|| async { (!is_alive(&pid)).then_some(()) }).await;
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_an_error_at_once() {
    let error = ProcessAdapter::program("no-such-program-here")
        .start()
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no-such-program-here") && error.contains("PATH"),
        "{error}"
    );
    for (builder, name) in [
        (program().workers(0), "workers"),
        (program().max_line_bytes(0), "max_line_bytes"),
        (program().turns_per_process(0), "turns_per_process"),
        (program().turn_timeout(Duration::ZERO), "turn_timeout"),
        (program().max_waiting(usize::MAX), "max_waiting"),
    ] {
        let error = builder.start().unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn a_program_without_a_runtime_is_an_error() {
    let error = program().start().unwrap_err().to_string();
    assert!(error.contains("runtime"), "{error}");
}

#[tokio::test]
async fn the_environment_is_what_it_is_told_to_be() {
    // Some variable that a shell does not set by itself and that JSON needs not escape.
    let own_of_shells = ["PATH", "PWD", "OLDPWD", "SHLVL", "IFS", "_"];
    let (name, value) = std::env::vars()
        .find(|(name, value)| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:".contains(c);
            !own_of_shells.contains(&&**name)
                && name.chars().all(|c| c.is_ascii_uppercase())
                && !value.is_empty()
                && value.chars().all(is_plain)
        })
        .expect("a variable");
    let script = format!(
        r#"read line; id=${{line#*\"id\":\"}}; id=${{id%%\"*}}; printf '{{"id":"%s","done":"%s|%s"}}\n' "$id" "${name}" "$OWN""#
    );
    let shell = || {
        ProcessAdapter::program("/bin/sh")
            .args(["-c", &script])
            .env("OWN", "1")
            .turns_per_process(1)
    };
    let server = serve(shell()).await;
    let inherited = say(&server, "x").await.content().text;
    assert_eq!(inherited, format!("{value}|1"));
    let server = serve(shell().env_clear()).await;
    assert_eq!(say(&server, "x").await.content().text, "|1");
}
