//! Graphs as nodes of graphs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::StreamExt as _;
use llamon_graph::{
    END, EventData, Graph, GraphState, MemorySaver, Mode, NodeContext, NodeError, Outcome, Resume,
    RunConfig, START, SendTo, StateGraph, Status,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{Log, finished, log, logged, refused};

#[derive(Clone, Debug, Default, Serialize, Deserialize, GraphState)]
struct Inner {
    question: String,
    answer: String,
}

/// Counts the runs of its first node, and asks in its second.
fn inner(runs: &Arc<AtomicUsize>) -> Graph<Inner> {
    let runs = runs.clone();
    let first = move |_: Inner, _: NodeContext| {
        runs.fetch_add(1, Ordering::SeqCst);
        async { Ok(()) }
    };
    let asks = |state: Inner, context: NodeContext| async move {
        let answer = context.interrupt(state.question).await?;
        Ok(Inner::update().answer(answer.to_string()))
    };
    StateGraph::<Inner>::new("inner")
        .node("first", first)
        .node("asks", asks)
        .edge(START, "first")
        .edge("first", "asks")
        .edge("asks", END)
        .compile()
        .unwrap()
}

fn outer(runs: &Arc<AtomicUsize>) -> Graph<Log> {
    StateGraph::<Log>::new("outer")
        .node("beside", log("beside"))
        .subgraph_with(
            "sub",
            inner(runs),
            |state: &Log| Inner::update().question(state.log.join(" ")),
            |inner: Inner| logged(inner.answer),
        )
        .edge(START, "beside")
        .edge(START, "sub")
        .edge("beside", END)
        .edge("sub", END)
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new())
}

fn config() -> RunConfig {
    RunConfig::thread("t")
}

#[tokio::test]
async fn a_question_inside_is_the_outer_graphs_and_the_answer_goes_on_inside() {
    let runs = Arc::new(AtomicUsize::new(0));
    let saver = MemorySaver::new();
    let graph = outer(&runs).with_saver(saver.clone());
    let outcome = graph.invoke(logged("why"), config()).await.unwrap();
    let [open] = outcome.interrupts() else {
        panic!("{outcome:?}");
    };
    assert_eq!((&open.value, &*open.node), (&json!("why"), "asks"));

    let snapshot = graph.state(&config()).await.unwrap().unwrap();
    assert_eq!(snapshot.next, ["sub"]);
    let namespace = &snapshot.tasks[1].namespace;
    let inside = inner(&runs).with_saver(saver);
    let inside = inside
        .state(&config().namespace(&**namespace))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (inside.next, inside.state.question),
        (vec!["asks".to_owned()], "why".to_owned())
    );

    let state = finished(graph.resume(Resume::value(42), config()).await);
    assert_eq!(state.log, ["why", "beside", "42"]);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn events_inside_have_the_namespace_of_the_node() {
    let graph = outer(&Arc::default());
    let config = config().modes([Mode::Updates]).with_subgraphs();
    let events: Vec<_> = graph.stream(logged("why"), config).collect().await;
    let first = events
        .iter()
        .find(|event| event.node.as_deref() == Some("first"))
        .unwrap();
    assert!(first.namespace.starts_with("sub:"), "{first:?}");
    let asked = |event: &&llamon_graph::Event| matches!(event.data, EventData::Interrupt(_));
    let asked: Vec<_> = events.iter().filter(asked).collect();
    assert_eq!((asked.len(), &*asked[1].namespace), (2, ""));
    // And without the word for it there are none.
    let graph = outer(&Arc::default());
    let events: Vec<_> = graph
        .stream(logged("why"), RunConfig::thread("t"))
        .collect()
        .await;
    assert!(events.iter().all(|event| event.namespace.is_empty()));
}

#[tokio::test]
async fn a_subgraph_of_the_same_state_writes_its_end_like_a_node() {
    let inner = StateGraph::<Log>::new("inner")
        .node("in", log("in"))
        .edge(START, "in")
        .edge("in", END)
        .compile()
        .unwrap();
    let graph = StateGraph::<Log>::new("outer")
        .subgraph("sub", inner)
        .edge(START, "sub")
        .edge("sub", END)
        .compile()
        .unwrap();
    let state = finished(graph.invoke(logged("start"), RunConfig::default()).await);
    // As in LangGraph: the list comes back whole, and is appended.
    assert_eq!(state.log, ["start", "start", "in"]);
}

#[tokio::test]
async fn what_is_sent_to_a_subgraph_is_its_input() {
    let double =
        |state: Inner, _| async move { Ok(Inner::update().answer(state.question.repeat(2))) };
    let inner = StateGraph::<Inner>::new("inner")
        .node("double", double)
        .edge(START, "double")
        .edge("double", END)
        .compile()
        .unwrap();
    let send = |state: &Log| {
        let words = state.log.iter().cloned();
        words
            .map(|word| SendTo::new("sub", Inner::update().question(word)))
            .collect::<Vec<_>>()
    };
    let graph = StateGraph::<Log>::new("outer")
        .subgraph_with(
            "sub",
            inner,
            |_: &Log| Inner::update(),
            |inner: Inner| logged(inner.answer),
        )
        .conditional_edge(START, send, ["sub"])
        .edge("sub", END)
        .compile()
        .unwrap();
    let input = Log::update().log(vec!["a".into(), "b".into()]);
    let state = finished(graph.invoke(input, RunConfig::default()).await);
    assert_eq!(state.log, ["a", "b", "aa", "bb"]);
}

#[tokio::test]
async fn a_node_may_run_graphs_itself_one_after_the_other() {
    let runs = Arc::new(AtomicUsize::new(0));
    let inner = inner(&runs);
    let node = move |_: Log, context: NodeContext| {
        let inner = inner.clone();
        async move {
            let one = context
                .run(&inner, Inner::update().question("one?".into()))
                .await?;
            let two = context
                .run(&inner, Inner::update().question("two?".into()))
                .await?;
            Ok(logged(one.answer + &two.answer))
        }
    };
    let graph = StateGraph::<Log>::new("outer")
        .node("node", node)
        .edge(START, "node")
        .edge("node", END)
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new());
    let outcome = graph.invoke(Log::update(), config()).await.unwrap();
    assert_eq!(outcome.interrupts()[0].value, json!("one?"));
    let outcome = graph.resume(Resume::value(1), config()).await.unwrap();
    assert_eq!(outcome.interrupts()[0].value, json!("two?"));
    let state = finished(graph.resume(Resume::value(2), config()).await);
    assert_eq!(
        (state.log, runs.load(Ordering::SeqCst)),
        (vec!["12".to_owned()], 2)
    );
}

#[tokio::test]
async fn a_failure_inside_names_both_nodes_and_goes_on_inside() {
    let (runs, firsts) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let count = firsts.clone();
    let first = move |_: Log, _: NodeContext| {
        count.fetch_add(1, Ordering::SeqCst);
        async { Ok(()) }
    };
    let fails = move |_: Log, _: NodeContext| {
        let run = runs.fetch_add(1, Ordering::SeqCst);
        async move {
            match run {
                0 => Err(NodeError::new("no")),
                _ => Ok(logged("yes")),
            }
        }
    };
    let inner = StateGraph::<Log>::new("inner")
        .node("first", first)
        .node("fails", fails)
        .edge(START, "first")
        .edge("first", "fails")
        .edge("fails", END)
        .compile()
        .unwrap();
    let graph = StateGraph::<Log>::new("outer")
        .subgraph("sub", inner)
        .edge(START, "sub")
        .edge("sub", END)
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new());
    let error = refused(graph.invoke(Log::update(), config()).await);
    assert_eq!(error, "node `sub`: node `fails`: no");
    let state = finished(graph.resume(Resume::proceed(), config()).await);
    assert_eq!(
        (state.log, firsts.load(Ordering::SeqCst)),
        (vec!["yes".to_owned()], 1)
    );
}

#[tokio::test]
async fn a_stop_inside_stops_the_outer_graph() {
    let inner = StateGraph::<Log>::new("inner")
        .node("a", log("a"))
        .edge(START, "a")
        .edge("a", END)
        .interrupt_before(["a"])
        .compile()
        .unwrap();
    let graph = StateGraph::<Log>::new("outer")
        .subgraph("sub", inner)
        .edge(START, "sub")
        .edge("sub", END)
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new());
    let outcome = graph.invoke(Log::update(), config()).await.unwrap();
    let Outcome::Interrupted {
        interrupts, next, ..
    } = outcome
    else {
        panic!("{outcome:?}");
    };
    assert_eq!((interrupts.len(), next), (0, vec!["sub".to_owned()]));
    let snapshot = graph.state(&config()).await.unwrap().unwrap();
    assert_eq!(snapshot.status, Status::Stopped);
    let state = finished(graph.resume(Resume::proceed(), config()).await);
    assert_eq!(state.log, ["a"]);
}

#[tokio::test]
async fn questions_of_parallel_nodes_inside_parallel_subgraphs_are_answered_one_by_one() {
    let asks = |name: &'static str| {
        move |_: Log, context: NodeContext| async move {
            let answer = context.interrupt(name).await?;
            Ok(logged(format!("{name}{answer}")))
        }
    };
    let leave = |inner: Log| Log::update().log(inner.log);
    let inner = || {
        StateGraph::<Log>::new("inner")
            .node("x", asks("x"))
            .node("y", asks("y"))
            .edge(START, "x")
            .edge(START, "y")
            .edge("x", END)
            .edge("y", END)
            .compile()
            .unwrap()
    };
    let graph = StateGraph::<Log>::new("outer")
        .subgraph_with("a", inner(), |_: &Log| Log::update(), leave)
        .subgraph_with("b", inner(), |_: &Log| Log::update(), leave)
        .edge(START, "a")
        .edge(START, "b")
        .edge("a", END)
        .edge("b", END)
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new());
    let mut outcome = graph.invoke(Log::update(), config()).await.unwrap();
    for left in (0..4).rev() {
        assert_eq!(outcome.interrupts().len(), left + 1);
        let id = outcome.interrupts()[0].id.clone();
        outcome = graph
            .resume(Resume::by_id([(id, left)]), config())
            .await
            .unwrap();
    }
    assert_eq!(outcome.finished().unwrap().log, ["x3", "y2", "x1", "y0"]);
}
