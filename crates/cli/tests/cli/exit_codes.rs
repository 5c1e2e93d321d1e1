//! Each exit code, and that an error says what to do next.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

use llamon_agent::prelude::*;
use tokio::sync::mpsc;

use crate::support::{Ran, Running, llamon, serve};

/// Answers as it is told to.
async fn obedient(turn: Turn) -> Result<Answer, AgentError> {
    let answer = match turn.query() {
        "ask" => Answer::input_required("which one?")?,
        "auth" => Answer::auth_required("log in at the desk")?,
        "reject" => Answer::rejected("not my business")?,
        "fail" => return Err(AgentError::public("no luck today")),
        "panic" => panic!("as asked"),
        "message" => Answer::message("directly")?,
        text => Answer::completed(format!("did {text}"))?,
    };
    Ok(answer)
}

/// Tells that its turn has begun, and never ends.
fn endless() -> (impl Agent, mpsc::Receiver<String>) {
    struct Endless(mpsc::Sender<String>);
    impl Agent for Endless {
        async fn run(&self, turn: Turn) -> Result<Answer, AgentError> {
            let _ = self.0.send(turn.task_id().to_owned()).await;
            turn.cancelled().await;
            Ok(Answer::completed("stopped")?)
        }
    }
    let (sender, begun) = mpsc::channel(4);
    (Endless(sender), begun)
}

#[track_caller]
fn ends_with(ran: &Ran, code: i32, stderr: &[&str]) {
    assert_eq!(ran.code, Some(code), "{ran:?}");
    for part in stderr {
        assert!(ran.stderr.contains(part), "{part:?} is not in {ran:?}");
    }
    assert!(!ran.stderr.contains("panicked"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn completed_is_0() {
    let server = serve(obedient).await;
    let ran = llamon(&["send", server.url(), "it"]).await;
    ends_with(&ran, 0, &["completed"]);
    assert_eq!(ran.stdout, "did it\n");
    let ran = llamon(&["send", server.url(), "message"]).await;
    ends_with(&ran, 0, &[]);
    assert_eq!((&*ran.stdout, &*ran.stderr), ("directly\n", ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_protocol_is_1() {
    let server = serve(obedient).await;
    let url = server.url();
    let ran = llamon(&["send", url, "hi", "--task", "nobody"]).await;
    ends_with(&ran, 1, &["TASK_NOT_FOUND", "next: llamon task list http"]);
    let ran = llamon(&["task", "get", url, "nobody"]).await;
    ends_with(&ran, 1, &["TASK_NOT_FOUND"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_not_a2a_is_1() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 1024];
            let _ = stream.read(&mut head);
            let _ = stream.write_all(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]",
            );
        }
    });
    let ran = llamon(&["card", &url]).await;
    ends_with(&ran, 1, &["agent card", "next: "]);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_in_time_is_1() {
    let (agent, _begun) = endless();
    let server = serve(agent).await;
    for extra in [&[][..], &["--stream"]] {
        let args = [&["send", server.url(), "hi", "--timeout", "2"][..], extra].concat();
        let ran = llamon(&args).await;
        ends_with(&ran, 1, &["next: "]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_command_line_is_2_and_nothing_is_sent() {
    let (agent, mut begun) = endless();
    let server = serve(agent).await;
    let url = server.url();
    let wrong: [(&[&str], &str); 12] = [
        (&[], "Usage"),
        (&["dance"], "dance"),
        (&["send"], "URL"),
        (&["send", url], "nothing to send"),
        (
            &["send", url, "--data", "{n:3}"],
            "--data is not a JSON value",
        ),
        (
            &["send", url, "--data", "@/nowhere/at/all"],
            "cannot be read",
        ),
        (
            &["send", url, "--file", "/nowhere/at/all"],
            "cannot be read",
        ),
        (&["send", url, "--file", "/"], "cannot be read"),
        (&["send", url, "hi", "--timeout", "0"], "above 0"),
        (&["send", "not a url", "hi"], "not a url"),
        (&["task", "list", url, "--status", "done"], "input-required"),
        (&["demo", "--policy", "merge"], "append"),
    ];
    for (args, reason) in wrong {
        let ran = llamon(args).await;
        ends_with(&ran, 2, &[reason]);
        assert_eq!(ran.stdout, "");
    }
    assert!(begun.try_recv().is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_connection_is_3() {
    // The port was free a moment ago and nobody else is given it that soon.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for args in [
        &["send", &url, "hi", "--json"][..],
        &["card", &url],
        &["task", "list", &url],
    ] {
        let ran = llamon(args).await;
        ends_with(&ran, 3, &[&url, "next: check that an agent listens"]);
        assert_eq!(ran.stdout, "");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_and_rejected_are_4() {
    let server = serve(obedient).await;
    let cases = [
        ("fail", "the agent failed: no luck today"),
        ("panic", "the agent failed"),
        ("reject", "the agent rejected the task: not my business"),
    ];
    for (query, reason) in cases {
        for stream in [&[][..], &["--stream"]] {
            let args = [&["send", server.url(), query][..], stream].concat();
            let ran = llamon(&args).await;
            ends_with(&ran, 4, &[reason, "next: "]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_5_and_comes_with_the_command_that_answers_it() {
    let server = serve(obedient).await;
    let url = server.url();
    let ran = llamon(&["send", url, "ask"]).await;
    ends_with(&ran, 5, &["answer with: llamon send"]);
    assert_eq!(ran.stdout, "which one?\n");
    let command = ran.stderr.split("answer with: llamon ").nth(1).unwrap();
    let mut args: Vec<&str> = command.split_whitespace().collect();
    assert_eq!(args.pop(), Some("\"...\""));
    args.push("the red one");
    let ran = llamon(&args).await;
    ends_with(&ran, 0, &[]);
    assert_eq!(ran.stdout, "did the red one\n");

    let ran = llamon(&["send", url, "ask", "--json"]).await;
    ends_with(&ran, 5, &["the agent asks: which one?", "answer with: "]);
    assert!(ran.stdout.contains("TASK_STATE_INPUT_REQUIRED"), "{ran:?}");
    let ran = llamon(&["send", url, "auth"]).await;
    ends_with(&ran, 5, &["credentials: log in at the desk"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn canceled_is_6() {
    for extra in [&[][..], &["--stream"], &["--json"]] {
        let (agent, mut begun) = endless();
        let server = serve(agent).await;
        let args = [&["send", server.url(), "hi"][..], extra].concat();
        let running = Running::start(&args);
        let task = begun.recv().await.unwrap();
        server.client().cancel(&task).await.unwrap();
        let ran = running.wait().await;
        ends_with(&ran, 6, &["canceled", "next: llamon task get"]);
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_is_130_and_cancels_nothing() {
    for extra in [&[][..], &["--stream"]] {
        let (agent, mut begun) = endless();
        let server = serve(agent).await;
        let args = [&["send", server.url(), "hi"][..], extra].concat();
        let running = Running::start(&args);
        let task = begun.recv().await.unwrap();
        running.interrupt();
        let ran = running.wait().await;
        ends_with(&ran, 130, &["interrupted", "runs on: llamon task list"]);
        let task = server.client().get(&task).await.unwrap();
        assert!(!task.status.state.is_terminal());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_breaks_is_1_and_can_be_watched() {
    let agent = |turn: Turn| async move {
        turn.emit("one ").await?;
        std::future::pending::<Result<(), AgentError>>().await
    };
    let server = serve(agent).await;
    let running = Running::start(&["send", server.url(), "hi", "--stream"]);
    let (running, _) = running.bytes(4).await;
    drop(server);
    let ran = running.wait().await;
    ends_with(&ran, 1, &["next: llamon task watch http"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn verbose_is_about_standard_error_alone() {
    let server = serve(obedient).await;
    let ran = llamon(&["-vv", "send", server.url(), "it", "--json"]).await;
    ends_with(&ran, 0, &["DEBUG"]);
    assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_has_gone_is_no_error() {
    let gate = Arc::new(tokio::sync::Notify::new());
    let opened = Arc::clone(&gate);
    let agent = move |_: Turn| {
        let gate = Arc::clone(&opened);
        async move {
            gate.notified().await;
            Ok::<_, AgentError>("x".repeat(1_000_000))
        }
    };
    let server = serve(agent).await;
    let mut running = Running::start(&["send", server.url(), "hi"]);
    running.close_stdout();
    gate.notify_one();
    let ran = running.wait().await;
    ends_with(&ran, 0, &[]);
    assert_eq!(ran.stderr, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn help_has_the_exit_codes() {
    let ran = llamon(&["--help"]).await;
    ends_with(&ran, 0, &[]);
    for code in ["0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "6 ", "130 "] {
        let line = format!("\n  {code}");
        assert!(
            ran.stdout.contains(&line),
            "{code} is not in {}",
            ran.stdout
        );
    }
    for command in ["demo", "send", "card", "task", "explain", "new"] {
        let ran = llamon(&["help", command]).await;
        ends_with(&ran, 0, &[]);
        assert!(ran.stdout.contains("Usage: llamon"), "{ran:?}");
    }
}
