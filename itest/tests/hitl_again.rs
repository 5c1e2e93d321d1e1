//! Questions that are asked again, and answers that come again.

use llamon_agent::prelude::{AgentError, Question, Turn, create_server};
use llamon_itest::agents::{card, start};
use llamon_itest::outcome::Outcome;
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, peers};
use serde_json::json;

fn resume(task: &Raw, json: &str) -> Say {
    Say::parts([format!(r#"{{"data":{{"resume":{json}}}}}"#)]).in_task(&task.string("id"))
}

fn asked_id(task: &Raw) -> String {
    task.list("status.message.parts")[1].string("data.interrupts.0.id")
}

#[tokio::test]
async fn a_question_that_is_asked_again_keeps_its_text() {
    let agent = async |turn: Turn| -> Result<String, AgentError> {
        let question = Question::new(json!({"to": "board", "pages": 12}))
            .schema(json!({"type": "boolean"}))
            .text("Send this report?");
        Ok(turn.ask(question).await?.text())
    };
    let server = start(create_server(card("agent"), agent).hitl()).await;
    for peer in peers(server.url()) {
        let task = peer.send(&Say::text("go")).await;
        assert_eq!(Outcome::of_task(&task).said, "Send this report?");
        let again = Outcome::of_task(&peer.send(&resume(&task, "7")).await).said;
        assert!(again.contains("does not fit"), "{again}");
        assert!(again.ends_with("\nSend this report?"), "{again}");
    }
}

#[tokio::test]
async fn an_answer_by_id_is_not_taken_for_that_of_another_question() {
    let agent = async |turn: Turn| -> Result<String, AgentError> {
        let first = turn.ask("First?").await?;
        let second = turn.ask("Second?").await?;
        Ok(format!("{} {}", first.json(), second.json()))
    };
    let server = start(create_server(card("agent"), agent).hitl()).await;
    for peer in peers(server.url()) {
        let task = peer.send(&Say::text("go")).await;
        let first = format!(r#"{{"{}":1}}"#, asked_id(&task));
        let second = peer.send(&resume(&task, &first)).await;
        assert_eq!(Outcome::of_task(&second).said, "Second?");
        // The same answer once more, as a client sends it that got no response.
        let again = Outcome::of_task(&peer.send(&resume(&task, &first)).await);
        assert_eq!(again.state, "TASK_STATE_INPUT_REQUIRED", "{again:?}");
        assert!(again.said.contains("Second?"), "{again:?}");
    }
}

#[tokio::test]
async fn of_two_answers_at_the_same_time_one_is_taken_and_one_refused() {
    let agent = async |turn: Turn| -> Result<String, AgentError> {
        let answer = turn.ask("Which?").await?.text();
        tokio::task::yield_now().await;
        Ok(answer)
    };
    let server = start(create_server(card("agent"), agent).hitl()).await;
    for peer in peers(server.url()) {
        let task = peer.send(&Say::text("go")).await;
        let (a, b) = (resume(&task, r#""a""#), resume(&task, r#""b""#));
        let (a, b) = tokio::join!(peer.call(Op::Send(&a)), peer.call(Op::Send(&b)));
        let text = Outcome::of_task(&peer.get(&task.string("id")).await)
            .content()
            .text;
        let (taken, refused) = if text == "a" { (a, b) } else { (b, a) };
        assert!(taken.is_ok());
        assert_eq!(refused.unwrap_err().reason, "UNSUPPORTED_OPERATION");
    }
}
