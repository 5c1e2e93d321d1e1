//! Agents that panic or fail: their task ends FAILED, the caller learns nothing that is not for
//! it, and the server lives.

use std::fmt;

use llamon_agent::core::{Json, Limits};
use llamon_agent::server::{AgentError, Answer, Turn};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{Gate, Running, parts, serve};
use llamon_itest::matrix::everywhere;
use llamon_itest::outcome::{Content, Outcome};
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, peers};

const SECRET: &str = "password 1234";
const GENERAL: &str = "the agent failed; the server's log has the reason under <id>";
const OWN: &str = r#"{"data":{"own":1}}"#;

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("{SECRET}");
    }
}

/// Does what the query says.
fn agent(turn: Turn) -> Running {
    assert_ne!(turn.query(), "panic before the future", "{SECRET}");
    Box::pin(async move {
        match turn.query() {
            "panic" => panic!("{SECRET}"),
            "panic after emit" => {
                turn.emit(("so far", parts(&[OWN]))).await?;
                panic!("{SECRET}");
            }
            "panic in drop" => {
                turn.emit(("so far", parts(&[OWN]))).await?;
                let _bomb = Bomb;
                Ok(Answer::completed("done")?)
            }
            "panic with a bomb" => std::panic::panic_any(Bomb),
            "panic in a value" => Ok(Answer::completed(Json(Unwritable))?),
            "error" => Err(std::io::Error::other(SECRET).into()),
            "error that cannot be read" => Err(Unreadable(None).into()),
            "error of an error that cannot be read" => {
                Err(Unreadable(Some(Box::new(Unreadable(None)))).into())
            }
            "error of text" => Err(SECRET.into()),
            "error after emit" => {
                turn.emit(("so far", parts(&[OWN]))).await?;
                let port: u16 = SECRET.parse()?;
                Ok(Answer::completed(port.to_string())?)
            }
            "not a number" => Ok(Answer::completed(Json(f64::NAN))?),
            "public" => Err(AgentError::public("no such file: <Cargo.lock>")),
            "public after emit" => {
                turn.emit(("so far", parts(&[OWN]))).await?;
                Err(AgentError::public("no such file: <Cargo.lock>"))
            }
            other => Ok(Answer::completed(other)?),
        }
    })
}

/// Cannot be written, not even badly.
struct Unwritable;

impl serde::Serialize for Unwritable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("{SECRET}");
    }
}

/// An error that panics when its text is asked for, unless it has a cause.
#[derive(Debug)]
struct Unreadable(Option<Box<Unreadable>>);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        assert!(self.0.is_some(), "{SECRET}");
        f.write_str(SECRET)
    }
}

impl std::error::Error for Unreadable {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let cause = self.0.as_deref()?;
        Some(cause)
    }
}

async fn server() -> TestServer {
    serve("append", Limits::default(), agent).await
}

/// The task ends FAILED saying `said`, in every way, and the next message is answered.
async fn assert_fails(query: &str, said: &str, kept: bool) {
    let server = server().await;
    let say = Say::text(query).with(&[r#"{"data":"up"}"#]);
    let outcome = everywhere(&server, &[say]).await;
    assert_eq!(
        (&*outcome.state, &*outcome.said),
        ("TASK_STATE_FAILED", said)
    );
    let expected = if kept {
        Content::expect("so far", &[r#"{"own":1}"#], &[])
    } else {
        Content::default()
    };
    assert!(outcome.content().is_same(&expected), "{outcome:?}");
    for peer in peers(server.url()) {
        let id = outcome.task_id.as_deref().expect("a task");
        let stored = peer.get(id).await;
        assert!(!stored.text().contains(SECRET), "{stored:?}");
    }
    let alive = server.send("alive?").await.expect("an answer");
    assert_eq!(alive.text(), "alive?");
}

#[tokio::test]
async fn panic_before_the_first_emit() {
    assert_fails("panic", GENERAL, false).await;
}

#[tokio::test]
async fn panic_before_there_is_a_future() {
    assert_fails("panic before the future", GENERAL, false).await;
}

#[tokio::test]
async fn panic_after_the_first_emit_keeps_what_was_emitted() {
    assert_fails("panic after emit", GENERAL, true).await;
}

#[tokio::test]
async fn panic_in_drop() {
    assert_fails("panic in drop", GENERAL, true).await;
}

#[tokio::test]
async fn panic_with_a_value_that_panics_in_drop() {
    assert_fails("panic with a bomb", GENERAL, false).await;
}

#[tokio::test]
async fn panic_in_the_serialisation_of_the_answer() {
    assert_fails("panic in a value", GENERAL, false).await;
}

#[tokio::test]
async fn an_error_with_the_question_mark_does_not_leak_its_text() {
    assert_fails("error", GENERAL, false).await;
    assert_fails("error of text", GENERAL, false).await;
    assert_fails("error after emit", GENERAL, true).await;
}

#[tokio::test]
async fn an_error_that_panics_when_its_text_is_asked_for() {
    assert_fails("error that cannot be read", GENERAL, false).await;
    assert_fails("error of an error that cannot be read", GENERAL, false).await;
}

#[tokio::test]
async fn a_number_that_is_none_fails_instead_of_becoming_null() {
    assert_fails("not a number", GENERAL, false).await;
}

#[tokio::test]
async fn a_public_error_reaches_the_caller() {
    assert_fails("public", "no such file: <Cargo.lock>", false).await;
    assert_fails("public after emit", "no such file: <Cargo.lock>", true).await;
}

#[tokio::test]
async fn a_direct_message_after_output_fails() {
    let server = serve("append", Limits::default(), async |turn: Turn| {
        turn.emit("so far").await?;
        Ok(Answer::message("instead")?)
    })
    .await;
    // Who streams has seen the task: the message completes it.
    for peer in peers(server.url()) {
        let task = Outcome::of_task(&peer.send(&Say::text("go")).await);
        assert_eq!(task.state, "TASK_STATE_FAILED");
        assert!(task.said.contains("direct message"), "{}", task.said);
        assert_eq!(task.content().text, "so far");
    }
}

#[tokio::test]
async fn what_an_agent_emits_after_its_turn_is_an_error_and_changes_nothing() {
    let (late, ended) = (Gate::new(), Gate::new());
    let (say_now, is_refused) = (late.clone(), ended.clone());
    let server = serve("append", Limits::default(), move |turn: Turn| {
        let (late, ended) = (late.clone(), ended.clone());
        async move {
            let kept = turn.clone();
            let log = turn.artifact("log");
            tokio::spawn(async move {
                late.pass().await;
                let refused = [
                    kept.emit("too late").await,
                    kept.status("too late").await,
                    log.emit("too late").await,
                ];
                for refused in refused {
                    assert!(refused.unwrap_err().is_turn_ended());
                }
                ended.open();
            });
            Ok(Answer::completed("in time")?)
        }
    })
    .await;
    let peer = &peers(server.url())[0];
    let before = peer.send(&Say::text("go")).await;
    say_now.open();
    is_refused.pass().await;
    assert_eq!(peer.get(&before.string("id")).await, before);
}

#[tokio::test]
async fn many_panics_cost_no_room() {
    // Each failed turn gives its room back: one more than fit at the same time.
    let limits = Limits::default().with_max_concurrent_turns(1);
    let server = serve("append", limits, agent).await;
    for query in ["panic", "panic in drop", "panic before the future"] {
        for peer in peers(server.url()) {
            let task = peer.send(&Say::text(query)).await;
            assert_eq!(task.string("status.state"), "TASK_STATE_FAILED", "{query}");
            // The answer can be there a moment before the room is.
            llamon_itest::agents::until(|| async {
                peer.call(Op::Send(&Say::text("alive?"))).await.ok()
            })
            .await;
        }
    }
}
