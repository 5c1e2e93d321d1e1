use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use llamon_agent::server::{AgentError, Answer, Turn};
use llamon_flow::run::Stand;
use llamon_flow::store::{CallState, RunState, StepState};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::support::{Log, completed, failed, input, marker, plan, runner, serve};

async fn rejecting() -> llamon_agent::testing::TestServer {
    serve("no", |_turn: Turn| async {
        Ok(Answer::rejected("I will not")?)
    })
    .await
}

/// A step that fails fails the run, after the branches that do not need it have ended.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_step_leaves_other_branches_unharmed() {
    let log = Log::default();
    let no = rejecting().await;
    let yes = marker("yes", "replace", log.clone()).await;
    let plan = plan(&format!(
        "steps:
  bad: {{agent: '{}', from: [input]}}
  after: {{agent: '{yes}', from: [bad]}}
  good: {{agent: '{yes}', from: [input]}}
  better: {{agent: '{yes}', from: [good]}}
outputs: [better]
",
        no.url(),
        yes = yes.url()
    ));
    let runner = runner();
    let (id, stand) = runner.run(&plan, input()).await.unwrap();
    let reason = failed(stand);
    assert!(
        reason.contains("\"bad\"") && reason.contains("I will not"),
        "{reason}"
    );
    let stored = runner.store().load(&id).await.unwrap();
    let state = |step: &str| {
        stored
            .steps
            .iter()
            .find(|s| s.step == step)
            .map(|s| s.state)
    };
    assert_eq!(state("bad"), Some(StepState::Failed));
    assert_eq!(state("after"), None);
    assert_eq!(state("good"), Some(StepState::Completed));
    assert_eq!(state("better"), Some(StepState::Completed));
    assert_eq!(log.all().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_step_goes_to_the_one_that_stands_in_for_it() {
    let log = Log::default();
    let no = rejecting().await;
    let yes = marker("yes", "replace", log.clone()).await;
    let plan = plan(&format!(
        "steps:
  bad: {{agent: '{}', from: [input], on_error: {{goto: instead}}}}
  instead: {{agent: '{yes}', from: [input], text: 'because {{{{bad.error}}}}'}}
  after: {{agent: '{yes}', from: [bad]}}
outputs: [after]
",
        no.url(),
        yes = yes.url()
    ));
    let (_, stand) = runner().run(&plan, input()).await.unwrap();
    completed(stand);
    let got = log.all();
    assert!(got[0].text.contains("I will not"), "{got:?}");
    assert_eq!(got[1].parts[0], r#"{"text":"yes done"}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_that_does_not_hold_skips_the_step_and_what_needs_only_it() {
    let log = Log::default();
    let yes = marker("yes", "replace", log.clone()).await;
    let plan = plan(&format!(
        "steps:
  a: {{agent: '{yes}', from: [input]}}
  b: {{agent: '{yes}', from: [a], when: \"@.a.data[0].by == 'somebody else'\"}}
  c: {{agent: '{yes}', from: [b]}}
  d: {{agent: '{yes}', from: [a, b], when: \"@.b.state == 'skipped'\"}}
outputs: [c, d]
",
        yes = yes.url()
    ));
    let (_, stand) = runner().run(&plan, input()).await.unwrap();
    assert_eq!(
        completed(stand),
        [r#"{"text":"yes done"}"#, r#"{"data":{"by":"yes"}}"#]
    );
    assert_eq!(log.all().len(), 2);
}

/// An agent that is down is called again with growing pauses, and then fails its step; what has
/// finished is kept.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_down_is_retried_and_then_fails_its_step() {
    let yes = marker("yes", "replace", Log::default()).await;
    let plan = plan(&format!(
        "steps:
  a: {{agent: '{}', from: [input]}}
  down: {{agent: 'http://127.0.0.1:9', from: [a], retry: {{attempts: 3, backoff: 10ms}}}}
outputs: [down]
",
        yes.url()
    ));
    let retries = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&retries);
    let watch = move |progress: llamon_flow::run::Progress<'_>| {
        if matches!(progress, llamon_flow::run::Progress::Retrying { .. }) {
            count.fetch_add(1, Ordering::SeqCst);
        }
    };
    let runner = runner();
    let id = runner.begin(&plan, input()).await.unwrap();
    let stand = runner
        .drive(&id, &watch, &CancellationToken::new())
        .await
        .unwrap();
    let reason = failed(stand);
    assert!(
        reason.contains("\"down\"") && reason.contains("3 attempts"),
        "{reason}"
    );
    assert_eq!(retries.load(Ordering::SeqCst), 2);
    let stored = runner.store().load(&id).await.unwrap();
    assert_eq!(
        stored
            .calls
            .iter()
            .find(|call| call.id.step == "a")
            .unwrap()
            .state,
        CallState::Completed
    );
}

/// A task that takes too long is canceled at its agent, and the step says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_takes_too_long_cancels_its_task_and_fails() {
    let canceled = Arc::new(Notify::new());
    let seen = Arc::clone(&canceled);
    let slow = serve("slow", move |turn: Turn| {
        let seen = Arc::clone(&seen);
        async move {
            turn.cancelled().await;
            seen.notify_one();
            Err::<Answer, _>(AgentError::public("canceled"))
        }
    })
    .await;
    let plan = plan(&format!(
        "steps:\n  s: {{agent: '{}', from: [input], timeout: 300ms, retry: {{attempts: 1}}}}\noutputs: [s]\n",
        slow.url()
    ));
    let (_, stand) = runner().run(&plan, input()).await.unwrap();
    let reason = failed(stand);
    assert!(
        reason.contains("300ms") && reason.contains("timeout"),
        "{reason}"
    );
    canceled.notified().await;
}

/// A cancel reaches the tasks that run.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_reaches_the_running_tasks() {
    let (begun, canceled) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (b, c) = (Arc::clone(&begun), Arc::clone(&canceled));
    let slow = serve("slow", move |turn: Turn| {
        let (begun, canceled) = (Arc::clone(&b), Arc::clone(&c));
        async move {
            begun.notify_one();
            turn.cancelled().await;
            canceled.notify_one();
            Err::<Answer, _>(AgentError::public("canceled"))
        }
    })
    .await;
    let plan = plan(&format!(
        "steps:\n  s: {{agent: '{}', from: [input]}}\noutputs: [s]\n",
        slow.url()
    ));
    let runner = runner();
    let id = runner.begin(&plan, input()).await.unwrap();
    let (driver, run) = (runner.clone(), id.clone());
    let driven =
        tokio::spawn(async move { driver.drive(&run, &(), &CancellationToken::new()).await });
    begun.notified().await;
    assert!(runner.store().request_cancel(&id).await.unwrap());
    let stand = driven.await.unwrap().unwrap();
    assert!(
        matches!(
            stand,
            Stand::Ended {
                state: RunState::Canceled,
                ..
            }
        ),
        "{stand:?}"
    );
    canceled.notified().await;
    assert!(!runner.store().request_cancel(&id).await.unwrap());
}
