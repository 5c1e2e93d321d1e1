use llamon_agent::core::{Part, Payload};
use llamon_agent::server::{Answer, Turn};
use llamon_flow::run::Stand;
use llamon_flow::store::CallId;
use tokio_util::sync::CancellationToken;

use super::support::{Log, completed, failed, input, marker, plan, runner, serve};

async fn asker() -> llamon_agent::testing::TestServer {
    serve("asker", |turn: Turn| async move {
        match turn.number() {
            1 => Ok(Answer::input_required("which colour?")?),
            2 => Ok(Answer::input_required("are you sure?")?),
            _ => Ok(Answer::completed(format!("colour: {}", turn.query()))?),
        }
    })
    .await
}

/// A question pauses its branch and no other; the answer goes to the same task.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_pauses_its_branch_until_it_is_answered() {
    let log = Log::default();
    let (asks, other) = (asker().await, marker("other", "replace", log.clone()).await);
    let plan = plan(&format!(
        "steps:
  ask: {{agent: '{}', from: [input]}}
  other: {{agent: '{other}', from: [input]}}
  both: {{agent: '{other}', from: [ask, other]}}
outputs: [both]
",
        asks.url(),
        other = other.url()
    ));
    let runner = runner();
    let (id, stand) = runner.run(&plan, input()).await.unwrap();
    let ask = CallId::of_step("ask");
    let Stand::Waiting(waiting) = stand else {
        panic!("{stand:?}")
    };
    assert_eq!(waiting, std::slice::from_ref(&ask));
    assert_eq!(log.all().len(), 1);
    let open = runner.store().load(&id).await.unwrap();
    let question = open
        .calls
        .iter()
        .find(|call| call.id == ask)
        .unwrap()
        .question
        .clone();
    assert_eq!(
        question.unwrap().parts[0].as_text().unwrap(),
        "which colour?"
    );

    let say = |text: &str| vec![Part::text(text)];
    runner.store().answer(&id, &ask, say("red")).await.unwrap();
    // Once is enough.
    assert!(
        runner
            .store()
            .answer(&id, &ask, say("blue"))
            .await
            .unwrap_err()
            .is_nothing_asked()
    );
    let stand = runner
        .drive(&id, &(), &CancellationToken::new())
        .await
        .unwrap();
    assert!(matches!(stand, Stand::Waiting(_)), "{stand:?}");
    runner
        .store()
        .answer(&id, &ask, say("yes, red"))
        .await
        .unwrap();
    let stand = runner
        .drive(&id, &(), &CancellationToken::new())
        .await
        .unwrap();
    completed(stand);
    assert_eq!(log.all()[1].parts[0], r#"{"text":"colour: yes, red"}"#);
    let tasks = asks.client().list(Default::default()).await.unwrap().tasks;
    assert_eq!(tasks.len(), 1, "the answers went to one task");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_fails_a_step_that_does_not_want_any() {
    let asks = asker().await;
    let plan = plan(&format!(
        "steps:\n  ask: {{agent: '{}', from: [input], ask: fail}}\noutputs: [ask]\n",
        asks.url()
    ));
    let (_, stand) = runner()
        .run(&plan, Payload::new().with_text("x"))
        .await
        .unwrap();
    let reason = failed(stand);
    assert!(reason.contains("which colour?"), "{reason}");
    let tasks = asks.client().list(Default::default()).await.unwrap().tasks;
    assert!(tasks[0].status.state.is_terminal(), "its task was canceled");
}
