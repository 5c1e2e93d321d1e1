use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use llamon_agent::core::{Part, Payload};
use llamon_agent::server::{AgentError, Answer, Turn};
use tokio::sync::Barrier;

use super::support::{Log, completed, failed, plan, runner, serve};

fn numbers(n: usize) -> Payload {
    let list: Vec<String> = (0..n).map(|n| format!("{n}.0")).collect();
    let json = format!(r#"{{"data":{{"list":[{}]}}}}"#, list.join(","));
    Payload::new().with_part(Part::from_json(json).unwrap())
}

/// Each item is a call with the raw text at its place and a context of its own; the answers are in
/// the order of the items, whatever order they come in.
#[tokio::test(flavor = "multi_thread")]
async fn each_item_is_a_call_with_its_raw_text_and_answers_are_in_order() {
    let log = Log::default();
    let kept = log.clone();
    let agent = serve("echo", move |turn: Turn| {
        let log = kept.clone();
        async move {
            log.note(&turn);
            let part = turn.upstream().data().next().unwrap().clone();
            Ok(Answer::completed(Payload::new().with_part(part))?)
        }
    })
    .await;
    let plan = plan(&format!(
        "steps:\n  s: {{agent: '{}', from: [input], each: {{path: '$.list[*]', concurrency: 4}}, text: 'item {{{{item}}}}'}}\noutputs: [s]\n",
        agent.url()
    ));
    let runner = runner();
    let (id, stand) = runner.run(&plan, numbers(20)).await.unwrap();
    let expected: Vec<String> = (0..20).map(|n| format!(r#"{{"data":{n}.0}}"#)).collect();
    assert_eq!(completed(stand), expected);
    let mut got = log.all();
    got.sort_by_key(|got| {
        got.context
            .rsplit('/')
            .next()
            .unwrap()
            .parse::<u32>()
            .unwrap()
    });
    for (at, got) in got.iter().enumerate() {
        assert_eq!(got.context, format!("{id}/s/{at}"));
        assert_eq!(got.text, format!("item {at}.0"));
        assert_eq!(got.parts[1], expected[at]);
    }
}

/// The cap is reached and never exceeded.
#[tokio::test(flavor = "multi_thread")]
async fn the_concurrency_cap_is_kept_busy_and_never_exceeded() {
    const CAP: usize = 50;
    let running = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    // Nobody ends before the cap is reached.
    let barrier = Arc::new(Barrier::new(CAP));
    let (now, high, gate) = (Arc::clone(&running), Arc::clone(&most), barrier);
    let agent = serve("gate", move |_turn: Turn| {
        let (now, high, gate) = (Arc::clone(&now), Arc::clone(&high), Arc::clone(&gate));
        async move {
            let at_once = now.fetch_add(1, Ordering::SeqCst) + 1;
            high.fetch_max(at_once, Ordering::SeqCst);
            gate.wait().await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(Answer::completed("done")?)
        }
    })
    .await;
    let plan = plan(&format!(
        "steps:\n  s: {{agent: '{}', from: [input], each: {{path: '$.list[*]', concurrency: {CAP}}}}}\noutputs: [s]\n",
        agent.url()
    ));
    let (_, stand) = runner().run(&plan, numbers(200)).await.unwrap();
    assert_eq!(completed(stand).len(), 200);
    assert_eq!(most.load(Ordering::SeqCst), CAP);
}

/// No items are a step that completed with nothing.
#[tokio::test(flavor = "multi_thread")]
async fn no_items_complete_the_step_with_nothing() {
    let log = Log::default();
    let kept = log.clone();
    let agent = serve("never", move |turn: Turn| {
        kept.note(&turn);
        async { Ok::<_, AgentError>(Answer::completed("")?) }
    })
    .await;
    let plan = plan(&format!(
        "steps:\n  s: {{agent: '{}', from: [input], each: '$.list[*]'}}\noutputs: [s]\n",
        agent.url()
    ));
    let (_, stand) = runner().run(&plan, numbers(0)).await.unwrap();
    assert!(completed(stand).is_empty());
    assert!(log.all().is_empty());
}

/// One item that fails fails the step, and says which; `continue` keeps what the others gave.
#[tokio::test(flavor = "multi_thread")]
async fn an_item_that_fails_fails_its_step_unless_it_goes_on() {
    let agent = serve("picky", |turn: Turn| async move {
        if turn.query().contains('3') {
            return Ok(Answer::rejected("not that one")?);
        }
        Ok(Answer::completed(turn.query().to_owned())?)
    })
    .await;
    let plan_of = |on_error: &str| {
        plan(&format!(
            "steps:\n  s: {{agent: '{}', from: [input], each: '$.list[*]', text: '{{{{item}}}}'{on_error}}}\noutputs: [s]\n",
            agent.url()
        ))
    };
    let (_, stand) = runner().run(&plan_of(""), numbers(5)).await.unwrap();
    let reason = failed(stand);
    assert!(
        reason.contains("item 3") && reason.contains("not that one"),
        "{reason}"
    );
    let (_, stand) = runner()
        .run(&plan_of(", on_error: continue"), numbers(5))
        .await
        .unwrap();
    let expected = ["0.0", "1.0", "2.0", "4.0"].map(|n| format!(r#"{{"text":"{n}"}}"#));
    assert_eq!(completed(stand), expected);
}
