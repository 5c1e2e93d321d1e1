//! `llamon send` for people: what is sent and what is shown.

use std::sync::Arc;

use llamon_agent::prelude::*;
use tokio::sync::Notify;

use crate::support::{Running, file, llamon, llamon_with, serve};

/// Says what arrived.
async fn witness(turn: Turn) -> Result<String, AgentError> {
    let parts: Vec<&str> = turn.message().parts.iter().map(Part::json).collect();
    Ok(parts.join("\n"))
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_go_out_as_they_are_given_text_first() {
    let server = serve(witness).await;
    let (_folder, path) = file("Notes.MD", "안녕".as_bytes());
    let args = [
        "send",
        server.url(),
        "--file",
        &path,
        "--data",
        r#"{"a":1.0,"a":2}"#,
        "the text",
        "--data",
        "-3",
    ];
    let ran = llamon(&args).await;
    let expected = r#"{"text":"the text"}
{"data":{"a":1.0,"a":2}}
{"data":-3}
{"raw":"7JWI64WV","filename":"Notes.MD","mediaType":"text/markdown"}
"#;
    assert_eq!((ran.code, &*ran.stdout), (Some(0), expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dash_is_standard_input() {
    let server = serve(witness).await;
    let ran = llamon_with(&["send", server.url(), "-"], "두\nlines\n".as_bytes()).await;
    assert_eq!(ran.stdout, "{\"text\":\"두\\nlines\\n\"}\n");
    let ran = llamon_with(&["send", server.url(), "-"], &[0xff]).await;
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("--file"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_is_kept() {
    let agent = |turn: Turn| async move { Ok::<_, AgentError>(turn.context_id().to_owned()) };
    let server = serve(agent).await;
    let ran = llamon(&["send", server.url(), "hi", "--context", "review-7"]).await;
    assert_eq!(ran.stdout, "review-7\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_shows_text_as_it_comes() {
    let gate = Arc::new(Notify::new());
    let opened = Arc::clone(&gate);
    let agent = move |turn: Turn| {
        let gate = Arc::clone(&opened);
        async move {
            turn.status("thinking").await?;
            turn.emit("one ").await?;
            gate.notified().await;
            turn.emit("two").await?;
            let log = turn.artifact("log");
            log.emit("a line").await?;
            Ok::<_, AgentError>(Json(3.0))
        }
    };
    let server = serve(agent).await;
    let running = Running::start(&["send", server.url(), "hi", "--stream"]);
    // The agent has not gone on yet.
    let (running, begun) = running.bytes(4).await;
    assert_eq!(begun, "one ");
    gate.notify_one();
    let ran = running.wait().await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout, "two\na line\ndata[0] 3.0\n");
    assert!(ran.stderr.contains("working: thinking"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_replaced_is_shown_again() {
    let agent = |turn: Turn| async move {
        turn.emit("a draft").await?;
        Ok::<_, AgentError>("the answer")
    };
    let server = serve(agent).await;
    let ran = llamon(&["send", server.url(), "hi", "--stream"]).await;
    assert_eq!(ran.stdout, "a draft\nthe answer\n");
    assert!(ran.stderr.contains("replaced"), "{ran:?}");
    let ran = llamon(&["send", server.url(), "hi"]).await;
    assert_eq!(ran.stdout, "the answer\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_listed() {
    let agent = |_: Turn| async {
        let bytes = Part::file_bytes("12345")
            .with_filename("a.txt")
            .with_media_type("text/plain");
        let url = Part::file_url("https://example.com/b.png");
        Ok::<_, AgentError>((bytes, url))
    };
    let server = serve(agent).await;
    let ran = llamon(&["send", server.url(), "hi"]).await;
    let expected = "files[0] a.txt  text/plain  5 B\n\
                    files[1] (no name)  (no type)  https://example.com/b.png\n";
    assert_eq!(ran.stdout, expected);
}

/// Asks whether and which, at the same time, and then says what it was told.
async fn asking(turn: Turn) -> Result<String, AgentError> {
    let sure = Question::new("Sure?").schema(serde_json::json!({"type": "boolean"}));
    let which = Question::new("Which?").schema(serde_json::json!({"enum": ["red", "blue"]}));
    let (sure, which) = tokio::join!(turn.ask(sure), turn.ask(which));
    let name = turn.ask("Your name?").await?;
    Ok(format!(
        "{} {} {}",
        sure?.json(),
        which?.text(),
        name.text()
    ))
}

/// The command that is printed after `answer with: `, as a shell splits it, without quotes.
fn printed(stderr: &str) -> Vec<String> {
    let line = stderr
        .split("answer with: llamon ")
        .nth(1)
        .unwrap()
        .trim_end();
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, ' ') => words.push(String::new()),
            _ => words.last_mut().unwrap().push(c),
        }
    }
    words
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_terminal_questions_are_printed_with_the_command_that_answers() {
    for more in [&[][..], &["--json"], &["--stream"]] {
        let server = crate::support::serve_hitl(asking).await;
        let mut args = vec!["send", server.url(), "go"];
        args.extend(more);
        let ran = llamon(&args).await;
        assert_eq!(ran.code, Some(5), "{ran:?}");
        for shown in ["Sure?", "Which?", "boolean", "blue"] {
            assert!(ran.stdout.contains(shown), "{ran:?}");
        }
        if more == ["--json"] {
            let document: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
            assert_eq!(document["interrupts"][1]["schema"]["enum"][1], "blue");
            assert!(
                ran.stderr.contains("the agent asks: 1. Sure? 2. Which?"),
                "{ran:?}"
            );
        }
        let answer = printed(&ran.stderr);
        assert!(answer.contains(&"--data".to_owned()), "{answer:?}");
        let answer: Vec<&str> = answer.iter().map(String::as_str).collect();
        let ran = llamon(&answer).await;
        assert_eq!(ran.code, Some(5), "{ran:?}");
        assert!(ran.stdout.contains("Your name?"), "{ran:?}");
        // A single question that takes a text is answered by one.
        let answer = printed(&ran.stderr);
        assert_eq!(answer.last().unwrap(), "...");
        let answer: Vec<&str> = answer.iter().map(String::as_str).collect();
        let ran = llamon(&answer).await;
        assert_eq!(
            (ran.code, &*ran.stdout),
            (Some(0), "true red ...\n"),
            "{ran:?}"
        );
    }
}
