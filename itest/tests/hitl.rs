//! People in the loop: questions of function agents, their answers, and what may go wrong between.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use llamon_agent::prelude::{AgentError, Json, Question, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, start, until};
use llamon_itest::matrix::{blocking, streaming};
use llamon_itest::outcome::{Content, Outcome};
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, peers};
use serde_json::{Value, json};

const UP: &str = r#"{"data":{"up":1}}"#;

/// Asks whether and then how often, and says what it was told.
async fn agent(turn: Turn) -> Result<(String, Json<Value>), AgentError> {
    turn.emit("before ").await?;
    let yes = Question::new("Go on?").schema(json!({"type": "boolean"}));
    let yes: bool = turn.ask(yes).await?.read()?;
    turn.emit("between ").await?;
    let often = Question::new(json!({"ask": "how often"}))
        .schema(json!({"type": "integer", "minimum": 1}))
        .text("How often?");
    let often: u32 = turn.ask(often).await?.read()?;
    let query = turn.query().to_owned();
    let upstream = turn.upstream().data().count();
    let told = json!({"yes": yes, "often": often, "query": query, "upstream": upstream});
    Ok(("after".to_owned(), Json(told)))
}

async fn server() -> TestServer {
    start(create_server(card("agent"), agent).hitl()).await
}

fn resume(task: &str, json: &str) -> Say {
    Say::parts([format!(r#"{{"data":{{"resume":{json}}}}}"#)]).in_task(task)
}

fn id(task: &Raw) -> String {
    task.string("id")
}

/// The text and the questions of a task that waits.
fn asked(task: &Raw) -> (String, Vec<Raw>) {
    assert_eq!(task.string("status.state"), "TASK_STATE_INPUT_REQUIRED");
    let parts = task.list("status.message.parts");
    let [text, data] = &parts[..] else {
        panic!("a text and a data part: {task:?}");
    };
    (text.string("text"), data.list("data.interrupts"))
}

#[tokio::test]
async fn an_agent_asks_twice_and_goes_on_with_the_answers() {
    let server = server().await;
    for peer in peers(server.url()) {
        let task = peer.send(&Say::text("do it").with(&[UP])).await;
        let (text, questions) = asked(&task);
        assert_eq!((text.as_str(), questions.len()), ("Go on?", 1));
        assert_eq!(questions[0].string("value"), "Go on?");
        assert_eq!(questions[0].string("schema.type"), "boolean");
        let task = peer.send(&resume(&id(&task), "true")).await;
        let (text, questions) = asked(&task);
        assert_eq!(text, "How often?");
        assert_eq!(questions[0].string("value.ask"), "how often");
        let first_id = questions[0].string("id");
        let task = peer
            .send(&resume(&id(&task), &format!(r#"{{"{first_id}":3}}"#)))
            .await;
        assert_eq!(task.string("status.state"), "TASK_STATE_COMPLETED");
        let outcome = Outcome::of_task(&task);
        let by_artifact = outcome.by_artifact();
        let texts: Vec<(&str, &str)> = (by_artifact.iter())
            .map(|(id, content)| (*id, content.text.as_str()))
            .collect();
        // What was shown before a question is not shown again after it.
        assert_eq!(
            texts,
            [
                ("response", "before "),
                ("response-2", "between "),
                ("response-3", "after")
            ]
        );
        let told = r#"{"often":3,"query":"do it","upstream":1,"yes":true}"#;
        assert_eq!(by_artifact[2].1.data, [told]);
    }
}

#[tokio::test]
async fn a_stream_of_an_asking_task_folds_to_what_the_blocking_answers_say() {
    let server = server().await;
    for peer in peers(server.url()) {
        let (outcome, _) =
            streaming(&peer, &[Say::text("x"), Say::text("true"), Say::text("2")]).await;
        let says = [Say::text("x"), Say::text("true"), Say::text("2")];
        let blocked = blocking(&peer, &says).await;
        assert_eq!(outcome.state, "TASK_STATE_COMPLETED");
        assert!(
            outcome.content().is_same(&blocked.content()),
            "{outcome:?} {blocked:?}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_keeps_the_task_waiting_and_says_why() {
    let server = server().await;
    for peer in peers(server.url()) {
        let task = peer.send(&Say::text("do it")).await;
        let (_, questions) = asked(&task);
        let task_id = id(&task);
        let bad = [
            (resume(&task_id, r#""perhaps""#), "does not fit"),
            (resume(&task_id, "null"), "does not fit"),
            (Say::text("perhaps").in_task(&task_id), "does not fit"),
            (
                Say::parts([r#"{"data":{"other":1}}"#]).in_task(&task_id),
                "no answer",
            ),
            (
                resume(&task_id, "true").with(&[r#"{"data":{"resume":false}}"#]),
                "two answers",
            ),
        ];
        for (say, why) in bad {
            let again = peer.send(&say).await;
            let (text, still) = asked(&again);
            assert!(text.contains(why) && text.contains("Go on?"), "{text}");
            assert_eq!(still, questions);
        }
        let wrong_id = format!(r#"{{"{}":true,"other":1}}"#, questions[0].string("id"));
        let (text, _) = asked(&peer.send(&resume(&task_id, &wrong_id)).await);
        assert!(text.contains("\"other\""), "{text}");
        let task = peer.send(&resume(&task_id, "true")).await;
        assert_eq!(asked(&task).0, "How often?");
    }
}

#[tokio::test]
async fn null_is_an_answer() {
    let agent = async |turn: Turn| -> Result<String, AgentError> {
        Ok(turn.ask("What?").await?.json().to_owned())
    };
    let server = start(create_server(card("agent"), agent).hitl()).await;
    for peer in peers(server.url()) {
        for token in ["null", "1.0e+5", r#"{"a":1,"a":2}"#, r#""x""#] {
            let task = peer.send(&Say::text("go")).await;
            let task = peer.send(&resume(&id(&task), token)).await;
            assert_eq!(Outcome::of_task(&task).content().text, token);
        }
    }
}

#[tokio::test]
async fn questions_asked_at_the_same_time_are_open_at_the_same_time() {
    let agent = async |turn: Turn| -> Result<String, AgentError> {
        let (a, b) = tokio::join!(turn.ask("a?"), turn.ask("b?"));
        Ok(format!("{}{}", a?.text(), b?.text()))
    };
    let server = start(create_server(card("agent"), agent).hitl()).await;
    for peer in peers(server.url()) {
        let task = peer.send(&Say::text("go")).await;
        let (text, questions) = asked(&task);
        assert_eq!(text, "1. a?\n2. b?");
        let (a, b) = (questions[0].string("id"), questions[1].string("id"));
        // A value without an id answers nothing while two are open.
        let (text, _) = asked(&peer.send(&Say::text("1").in_task(&id(&task))).await);
        assert!(text.contains(&a) && text.contains(&b), "{text}");
        // One after the other, the second first.
        let task = peer
            .send(&resume(&id(&task), &format!(r#"{{"{b}":"B"}}"#)))
            .await;
        let (text, left) = asked(&task);
        assert_eq!((text.as_str(), left[0].string("id")), ("a?", a));
        let task = peer.send(&resume(&id(&task), r#""A""#)).await;
        assert_eq!(Outcome::of_task(&task).content().text, "AB");
    }
}

#[tokio::test]
async fn an_effect_happens_once() {
    let paid = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&paid);
    let agent = move |turn: Turn| {
        let paid = Arc::clone(&counter);
        async move {
            let pay = async {
                paid.fetch_add(1, Ordering::Relaxed);
                Ok::<_, AgentError>(format!("receipt {}", paid.load(Ordering::Relaxed)))
            };
            let receipt = turn.once("pay", pay).await?;
            turn.ask("Send the receipt?").await?;
            Ok::<_, AgentError>(receipt)
        }
    };
    let server = start(create_server(card("agent"), agent).hitl()).await;
    for (peer, count) in peers(server.url()).iter().zip(1..) {
        let task = peer.send(&Say::text("go")).await;
        let task = peer.send(&Say::text("yes").in_task(&id(&task))).await;
        assert_eq!(
            Outcome::of_task(&task).content().text,
            format!("receipt {count}")
        );
        assert_eq!(paid.load(Ordering::Relaxed), count);
    }
}

#[tokio::test]
async fn asking_without_hitl_fails_the_task_and_names_it() {
    let careful = async |turn: Turn| -> Result<String, AgentError> {
        // An agent that makes light of the error does not complete.
        let _ = turn.ask("What?").await;
        Ok("done".to_owned())
    };
    let plain = start(create_server(card("agent"), agent)).await;
    let careful = start(create_server(card("agent"), careful)).await;
    for server in [&plain, &careful] {
        for peer in peers(server.url()) {
            let outcome = Outcome::of_task(&peer.send(&Say::text("go")).await);
            assert_eq!(outcome.state, "TASK_STATE_FAILED");
            assert!(outcome.said.contains(".hitl()"), "{}", outcome.said);
        }
    }
}

#[tokio::test]
async fn a_question_is_no_artifact_and_a_waiting_task_can_be_canceled() {
    let server = server().await;
    for peer in peers(server.url()) {
        let task = peer.send(&Say::text("do it").with(&[UP])).await;
        let content = Outcome::of_task(&task).content();
        assert!(content.is_same(&Content::expect("before ", &[], &[])));
        let canceled = peer.call(Op::Cancel(&id(&task))).await.unwrap();
        assert_eq!(canceled.string("status.state"), "TASK_STATE_CANCELED");
        let refused = peer
            .call(Op::Send(&resume(&id(&task), "true")))
            .await
            .unwrap_err();
        assert_eq!(refused.reason, "UNSUPPORTED_OPERATION");
    }
}

#[tokio::test]
async fn a_question_that_expires_fails_its_task_with_the_reason() {
    let builder = create_server(card("agent"), agent).hitl();
    let server = start(builder.question_expiry(Duration::from_millis(1))).await;
    let peer = Peer::new(server.url(), llamon_itest::wire::Wire::JsonRpc);
    let task = peer.send(&Say::text("do it")).await;
    let failed = until(|| async {
        let task = peer.get(&id(&task)).await;
        (task.string("status.state") == "TASK_STATE_FAILED").then_some(task)
    })
    .await;
    assert!(
        Outcome::of_task(&failed)
            .said
            .contains("not answered within")
    );
}

#[tokio::test]
async fn the_policy_does_not_touch_a_turn_with_people_in_the_loop() {
    let quiet = async |_: Turn| -> Result<&'static str, AgentError> { Ok("done") };
    for policy in ["replace", "append"] {
        let builder = create_server(card("agent"), quiet)
            .upstream_parts_policy(policy)
            .hitl();
        let quiet = start(builder).await;
        let builder = create_server(card("agent"), agent)
            .upstream_parts_policy(policy)
            .hitl();
        let asking = start(builder).await;
        for (quiet, asking) in peers(quiet.url()).iter().zip(peers(asking.url())) {
            // Also one in which nothing is asked.
            let (outcome, _) = streaming(quiet, &[Say::text("go").with(&[UP])]).await;
            assert!(
                outcome
                    .content()
                    .is_same(&Content::expect("done", &[], &[])),
                "{policy}"
            );
            let says = [
                Say::text("go").with(&[UP]),
                Say::text("true").with(&[r#"{"url":"x:y"}"#]),
                Say::text("1"),
            ];
            let (outcome, _) = streaming(&asking, &says).await;
            assert!(outcome.content().files.is_empty(), "{policy}: {outcome:?}");
            assert_eq!(outcome.content().data.len(), 1, "{policy}: {outcome:?}");
        }
    }
}
