use llamon_agent::a2a::{StreamEvent, TaskState};
use llamon_agent::client::Outgoing;
use llamon_agent::core::Part;
use llamon_agent::server::{Answer, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_flow::{Plan, WorkflowAgent};
use llamon_itest::agents::card;

use super::support::{Log, input, marker, plan, runner, serve};

async fn serve_plan(plan: Plan) -> TestServer {
    let agent = WorkflowAgent::new(plan, runner());
    TestServer::start(create_server(card("workflow"), agent))
        .await
        .unwrap()
}

/// A plan is an agent, and so is a plan of that agent: parts come through token for token.
#[tokio::test(flavor = "multi_thread")]
async fn plans_nest_and_parts_come_through_token_for_token() {
    let inner = marker("inner", "append", Log::default()).await;
    let one = serve_plan(plan(&format!(
        "steps:\n  s: {{agent: '{}', from: [input]}}\noutputs: [s]\n",
        inner.url()
    )))
    .await;
    let two = serve_plan(plan(&format!(
        "steps:\n  s: {{agent: '{}', from: [input]}}\noutputs: [s]\n",
        one.url()
    )))
    .await;
    let reply = two.client().send(Outgoing::from(input())).await.unwrap();
    assert_eq!(reply.text(), "inner done");
    let expected = [r#"{"by":"inner"}"#, r#"{"n":1e400,"n":1.0}"#];
    assert_eq!(reply.data(), expected);
    let mut stream = two.client().stream(Outgoing::from(input())).await.unwrap();
    let mut said = Vec::new();
    while let Some(event) = stream.next().await {
        if let StreamEvent::Status(update) = event.unwrap() {
            said.extend(update.status.message.map(|message| message.query()));
        }
    }
    // What the inner plan says is said with the step's name.
    for text in ["s: started", "s: s: started", "s: completed"] {
        assert!(said.iter().any(|said| said == text), "{text}: {said:?}");
    }
    assert_eq!(stream.finish().await.unwrap().data(), expected);
}

/// A question of a step is the workflow's; the answer goes to the step.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_a_step_is_the_workflows_question() {
    let asks = serve("asker", |turn: Turn| async move {
        if turn.number() == 1 {
            return Ok(Answer::input_required("which colour?")?);
        }
        Ok(Answer::completed(format!("{}!", turn.query()))?)
    })
    .await;
    let workflow = serve_plan(plan(&format!(
        "steps:\n  a: {{agent: '{url}', from: [input]}}\n  b: {{agent: '{url}', from: [input]}}\noutputs: [a, b]\n",
        url = asks.url()
    )))
    .await;
    let client = workflow.client();
    let reply = client.send("begin").await.unwrap();
    assert_eq!(reply.state(), Some(TaskState::InputRequired));
    let question = reply.status_text().unwrap();
    assert!(
        question.contains("a: which colour?") && question.contains("b: which colour?"),
        "{question}"
    );
    let task = reply.task().unwrap().id.clone();
    // Which of the two, an answer without names cannot say.
    let reply = client
        .send(Outgoing::text("red").in_task(task.clone()))
        .await
        .unwrap();
    assert!(reply.status_text().unwrap().contains("several steps ask"));
    let both = Part::data_from_json(r#"{"answer":{"a":"red","b":"blue"}}"#).unwrap();
    let reply = client
        .send(Outgoing::new().with_part(both).in_task(task))
        .await
        .unwrap();
    assert_eq!(reply.state(), Some(TaskState::Completed), "{reply:?}");
    assert_eq!(reply.text(), "red!blue!");
}

/// What fails in a step fails the workflow, with the step and the reason.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_step_fails_the_workflow_and_says_why() {
    let no = serve("no", |_turn: Turn| async {
        Ok(Answer::rejected("I will not")?)
    })
    .await;
    let workflow = serve_plan(plan(&format!(
        "steps:\n  s: {{agent: '{}', from: [input]}}\noutputs: [s]\n",
        no.url()
    )))
    .await;
    let reply = workflow.client().send("begin").await.unwrap();
    assert_eq!(reply.state(), Some(TaskState::Failed));
    let reason = reply.status_text().unwrap();
    assert!(
        reason.contains("\"s\"") && reason.contains("I will not"),
        "{reason}"
    );
}
