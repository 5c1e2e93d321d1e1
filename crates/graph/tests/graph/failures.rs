//! Nodes that fail, and what is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use llamon_graph::{
    END, Graph, GraphError, MemorySaver, NodeContext, NodeError, NodeOptions, Resume, Retry,
    RunConfig, START, StateGraph, Status,
};
use tokio::sync::Notify;

use crate::support::{Log, finished, log, logged, refused, soon};

fn config() -> RunConfig {
    RunConfig::thread("t")
}

fn quick() -> Retry {
    Retry::exponential()
        .first_wait(Duration::ZERO)
        .max_attempts(4)
}

#[tokio::test]
async fn a_failed_node_is_an_error_that_names_it() {
    let fail = |_, _| async { Err::<(), _>(std::io::Error::other("no luck").into()) };
    let graph = StateGraph::<Log>::new("fails")
        .node("a", fail)
        .edge(START, "a")
        .edge("a", END)
        .compile()
        .unwrap();
    let error = graph
        .invoke(Log::update(), RunConfig::default())
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "node `a`: no luck");
    let GraphError::Node { error, .. } = error else {
        panic!();
    };
    assert!(error.downcast_ref::<std::io::Error>().is_some());
}

#[tokio::test]
async fn a_panic_is_an_error_of_the_run() {
    async fn boom(_: Log, _: NodeContext) -> Result<(), NodeError> {
        panic!("boom")
    }
    for parallel in [false, true] {
        let mut graph = StateGraph::<Log>::new("panics")
            .node_with("a", boom, NodeOptions::default().retry(quick()))
            .edge(START, "a")
            .edge("a", END);
        if parallel {
            graph = graph.node("b", log("b")).edge(START, "b").edge("b", END);
        }
        let graph = graph.compile().unwrap();
        let error = refused(graph.invoke(Log::update(), RunConfig::default()).await);
        assert_eq!(error, "node `a`: it panicked: boom");
    }
}

#[tokio::test]
async fn a_reducer_and_a_router_that_panic_are_errors_of_the_run() {
    let overflow = |_, _| async { Ok(Log::update().total(i64::MAX)) };
    let graph = StateGraph::<Log>::new("reducer")
        .node("a", overflow)
        .edge(START, "a")
        .edge("a", END)
        .compile()
        .unwrap();
    let input = Log::update().total(1);
    let error = refused(graph.invoke(input, RunConfig::default()).await);
    assert_eq!(error, "a reducer panicked: the sum is too large");

    let route = |_: &Log| -> &str { panic!("lost") };
    let graph = StateGraph::<Log>::new("router")
        .node("a", log("a"))
        .conditional_edge(START, route, ["a"])
        .edge("a", END)
        .compile()
        .unwrap();
    let error = refused(graph.invoke(Log::update(), RunConfig::default()).await);
    assert_eq!(
        error,
        "the conditional edge from `__start__` panicked: lost"
    );
}

#[tokio::test]
async fn a_node_is_tried_again_as_often_as_it_may() {
    let tries = Arc::new(AtomicU32::new(0));
    let seen = tries.clone();
    let flaky = move |_: Log, context: NodeContext| {
        seen.store(context.attempt(), Ordering::SeqCst);
        async move {
            match context.attempt() {
                1 | 2 => Err(NodeError::new("not yet")),
                attempt => Ok(logged(attempt.to_string())),
            }
        }
    };
    let build = |retry| {
        StateGraph::<Log>::new("retry")
            .node_with("a", flaky.clone(), NodeOptions::default().retry(retry))
            .edge(START, "a")
            .edge("a", END)
            .compile()
            .unwrap()
    };
    let state = finished(
        build(quick())
            .invoke(Log::update(), RunConfig::default())
            .await,
    );
    assert_eq!(state.log, ["3"]);
    let twice = build(quick().max_attempts(2));
    let error = refused(twice.invoke(Log::update(), RunConfig::default()).await);
    assert_eq!(
        (error.as_str(), tries.load(Ordering::SeqCst)),
        ("node `a`: not yet", 2)
    );
    let never = build(quick().when(|error| error.is_timeout()));
    refused(never.invoke(Log::update(), RunConfig::default()).await);
    assert_eq!(tries.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn waits_between_tries_grow_up_to_a_limit() {
    let fail = |_, _| async { Err::<(), _>(NodeError::new("no")) };
    let retry = Retry::exponential()
        .max_attempts(5)
        .first_wait(Duration::from_secs(1))
        .max_wait(Duration::from_secs(3))
        .without_jitter();
    let graph = StateGraph::<Log>::new("waits")
        .node_with("a", fail, NodeOptions::default().retry(retry))
        .edge(START, "a")
        .edge("a", END)
        .compile()
        .unwrap();
    let begin = tokio::time::Instant::now();
    refused(graph.invoke(Log::update(), RunConfig::default()).await);
    // 1 s, 2 s, 3 s, 3 s by the paused clock.
    assert_eq!(begin.elapsed().as_secs(), 9);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_takes_too_long_has_failed() {
    let hang = |_, _| std::future::pending::<Result<(), NodeError>>();
    let options = NodeOptions::default().timeout(Duration::from_secs(2));
    let graph = StateGraph::<Log>::new("hangs")
        .node_with("a", hang, options)
        .edge(START, "a")
        .edge("a", END)
        .compile()
        .unwrap();
    let error = refused(graph.invoke(Log::update(), RunConfig::default()).await);
    assert_eq!(error, "node `a`: it took longer than its timeout of 2s");
}

/// Tells when `finished` nodes of the first super-step are kept.
async fn kept(graph: &Graph<Log>, finished: usize) {
    loop {
        let snapshot = graph.state(&config()).await.unwrap();
        let done = |task: &&llamon_graph::TaskSnapshot| task.result.is_some();
        let tasks = snapshot.map_or_else(Vec::new, |snapshot| snapshot.tasks);
        if tasks.iter().filter(done).count() >= finished {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_failure_stops_its_siblings_and_keeps_what_had_finished() {
    let runs = Arc::new([const { AtomicUsize::new(0) }; 3]);
    let fail = Arc::new(Notify::new());
    let count = |node: usize| {
        let runs = runs.clone();
        move || runs[node].fetch_add(1, Ordering::SeqCst)
    };
    let (first, second, third) = (count(0), count(1), count(2));
    let done = move |_: Log, _: NodeContext| {
        first();
        async { Ok(logged("done")) }
    };
    let told = fail.clone();
    let fails = move |_: Log, _: NodeContext| {
        let (run, told) = (second(), told.clone());
        async move {
            if run > 0 {
                return Ok(logged("at last"));
            }
            told.notified().await;
            Err(NodeError::new("the first time"))
        }
    };
    let hangs = move |_: Log, _: NodeContext| {
        let run = third();
        async move {
            if run == 0 {
                std::future::pending::<()>().await;
            }
            Ok(logged("not hanging"))
        }
    };
    let graph = StateGraph::<Log>::new("siblings")
        .node("done", done)
        .node("fails", fails)
        .node("hangs", hangs)
        .edge(START, "done")
        .edge(START, "fails")
        .edge(START, "hangs")
        .edge("done", END)
        .edge("fails", END)
        .edge("hangs", END)
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new());
    let tell = async {
        kept(&graph, 1).await;
        fail.notify_one();
    };
    let run = graph.invoke(Log::update(), config());
    let (outcome, ()) = soon(async { tokio::join!(run, tell) }).await;
    assert_eq!(refused(outcome), "node `fails`: the first time");

    let snapshot = graph.state(&config()).await.unwrap().unwrap();
    assert_eq!(snapshot.status, Status::Unfinished);
    assert_eq!(snapshot.next, ["fails", "hangs"]);
    assert_eq!(snapshot.state.log, ["done"]);
    assert_eq!(snapshot.tasks[1].error.as_deref(), Some("the first time"));

    let state = finished(soon(graph.resume(Resume::proceed(), config())).await);
    assert_eq!(state.log, ["done", "at last", "not hanging"]);
    let counted = runs.each_ref().map(|runs| runs.load(Ordering::SeqCst));
    assert_eq!(counted, [1, 2, 2]);
}

#[tokio::test]
async fn new_input_after_a_failure_begins_anew() {
    let runs = Arc::new(AtomicUsize::new(0));
    let fails = move |_: Log, _: NodeContext| {
        let run = runs.fetch_add(1, Ordering::SeqCst);
        async move {
            match run {
                0 => Err(NodeError::new("the first time")),
                _ => Ok(logged("held")),
            }
        }
    };
    let graph = StateGraph::<Log>::new("fails")
        .node("a", fails)
        .edge(START, "a")
        .edge("a", END)
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new());
    refused(graph.invoke(logged("one"), config()).await);
    let state = finished(graph.invoke(logged("two"), config()).await);
    assert_eq!(state.log, ["one", "two", "held"]);
}

#[tokio::test]
async fn an_effect_is_made_once_over_questions_retries_and_failures() {
    let (runs, effects) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (ran, made) = (runs.clone(), effects.clone());
    let node = move |_: Log, context: NodeContext| {
        let (run, made) = (ran.fetch_add(1, Ordering::SeqCst), made.clone());
        async move {
            let effect = async { Ok(made.fetch_add(1, Ordering::SeqCst) + 7) };
            let made = context.once("pay", effect).await?;
            if run == 0 {
                return Err(NodeError::new("retry"));
            }
            let answer = context.interrupt("sure?").await?;
            if run == 2 {
                return Err(NodeError::new("fail for good"));
            }
            Ok(logged(format!("{made} {answer}")))
        }
    };
    let retry = quick()
        .max_attempts(2)
        .when(|error| error.to_string() == "retry");
    let graph = StateGraph::<Log>::new("once")
        .node_with("a", node, NodeOptions::default().retry(retry))
        .edge(START, "a")
        .edge("a", END)
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new());
    let outcome = graph.invoke(Log::update(), config()).await.unwrap();
    assert_eq!(outcome.interrupts().len(), 1);
    refused(graph.resume(Resume::value(1), config()).await);
    // The answer was kept, too.
    let state = finished(graph.resume(Resume::proceed(), config()).await);
    assert_eq!(state.log, ["7 1"]);
    assert_eq!(
        (runs.load(Ordering::SeqCst), effects.load(Ordering::SeqCst)),
        (4, 1)
    );
}
