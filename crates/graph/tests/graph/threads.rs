//! Threads: what they keep, how it is looked at and changed.

use llamon_graph::{END, Graph, MemorySaver, Resume, RunConfig, START, Source, StateGraph, Status};
use serde_json::{Value, json};

use crate::support::{Log, finished, log, logged};

fn chain() -> Graph<Log> {
    StateGraph::<Log>::new("chain")
        .node("one", log("one"))
        .node("two", log("two"))
        .node("three", log("three"))
        .edge(START, "one")
        .edge("one", "two")
        .edge("two", "three")
        .edge("three", END)
        .interrupt_before(["three"])
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new())
}

fn config() -> RunConfig {
    RunConfig::thread("t")
}

#[tokio::test]
async fn a_thread_keeps_a_checkpoint_for_the_input_and_for_each_step() {
    let graph = chain();
    let _ = graph.invoke(logged("in"), config()).await.unwrap();
    let history = graph.history(&config()).await.unwrap();
    let shown: Vec<_> = (history.iter().rev())
        .map(|point| {
            (
                point.step,
                point.source,
                point.next.clone(),
                point.state.log.len(),
            )
        })
        .collect();
    let next = |name: &str| vec![name.to_owned()];
    assert_eq!(
        shown,
        [
            (0, Source::Input, next("one"), 1),
            (1, Source::Loop, next("two"), 2),
            (2, Source::Loop, next("three"), 3),
        ]
    );
    let parents: Vec<_> = history.iter().map(|point| point.parent.clone()).collect();
    let ids: Vec<_> = history
        .iter()
        .map(|point| Some(point.checkpoint.clone()))
        .collect();
    assert_eq!((&parents[..2], &parents[2]), (&ids[1..], &None));
}

#[tokio::test]
async fn new_input_goes_on_with_the_state_of_the_thread_and_threads_know_nothing_of_each_other() {
    let graph = chain();
    for thread in ["a", "a", "b"] {
        let config = RunConfig::thread(thread);
        let _ = graph.invoke(logged("in"), config.clone()).await.unwrap();
        finished(graph.resume(Resume::proceed(), config).await);
    }
    let length = async |thread: &str| {
        let snapshot = graph
            .state(&RunConfig::thread(thread))
            .await
            .unwrap()
            .unwrap();
        (snapshot.state.log.len(), snapshot.step, snapshot.status)
    };
    assert_eq!(length("a").await, (8, 8, Status::Finished));
    assert_eq!(length("b").await, (4, 3, Status::Finished));
    assert!(
        graph
            .state(&RunConfig::thread("c"))
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn what_the_caller_gives_with_a_run_is_in_its_checkpoints() {
    let graph = chain();
    let run = config().metadata(json!({"task": "t-1", "turn": 1}));
    let _ = graph.invoke(logged("in"), run).await.unwrap();
    let snapshot = graph.state(&config()).await.unwrap().unwrap();
    assert_eq!(snapshot.metadata, json!({"task": "t-1", "turn": 1}));
    finished(graph.resume(Resume::proceed(), config()).await);
    let snapshot = graph.state(&config()).await.unwrap().unwrap();
    assert_eq!(snapshot.metadata, Value::Null);
}

#[tokio::test]
async fn a_run_from_an_old_checkpoint_is_a_fork() {
    let graph = chain();
    let _ = graph.invoke(logged("in"), config()).await.unwrap();
    finished(graph.resume(Resume::proceed(), config()).await);
    let history = graph.history(&config()).await.unwrap();
    let old = history.iter().find(|point| point.step == 1).unwrap();
    let at = config().checkpoint(&old.checkpoint);
    let outcome = graph.resume(Resume::proceed(), at).await.unwrap();
    assert_eq!(outcome.into_state().log, ["in", "one", "two"]);
    let newest = graph.history(&config()).await.unwrap();
    let fork = newest
        .iter()
        .find(|point| point.source == Source::Fork)
        .unwrap();
    assert_eq!(fork.parent.as_deref(), Some(&*old.checkpoint));
    assert_eq!(newest.len(), history.len() + 2);
    // The old end is still there.
    let old_end = config().checkpoint(&history[0].checkpoint);
    let old_end = graph.state(&old_end).await.unwrap().unwrap();
    assert_eq!(
        (old_end.state.log.len(), old_end.status),
        (4, Status::Finished)
    );
}

#[tokio::test]
async fn an_unknown_checkpoint_is_an_error() {
    let graph = chain();
    let at = config().checkpoint("nothing");
    let error = graph.state(&at).await.unwrap_err().to_string();
    assert!(
        error.contains("thread \"t\" has no checkpoint \"nothing\""),
        "{error}"
    );
}

#[tokio::test]
async fn a_state_is_changed_by_hand_in_the_name_of_a_node() {
    let graph = chain();
    let _ = graph.invoke(logged("in"), config()).await.unwrap();
    // In the name of `two`, which ran last.
    graph
        .update_state(&config(), logged("hand"), None)
        .await
        .unwrap();
    let snapshot = graph.state(&config()).await.unwrap().unwrap();
    assert_eq!((snapshot.source, snapshot.step), (Source::Update, 3));
    assert_eq!(snapshot.next, ["three"]);
    assert_eq!(snapshot.state.log, ["in", "one", "two", "hand"]);
    // In the name of `three`: it does not run.
    graph
        .update_state(&config(), logged("instead"), Some("three"))
        .await
        .unwrap();
    let snapshot = graph.state(&config()).await.unwrap().unwrap();
    assert_eq!(
        (snapshot.status, snapshot.state.log.len()),
        (Status::Finished, 5)
    );
    let error = graph
        .update_state(&config(), logged("x"), Some("four"))
        .await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("has no node `four`"), "{error}");
}

#[tokio::test]
async fn a_change_by_hand_where_a_run_has_stopped_does_not_stop_it_again() {
    let graph = chain();
    let _ = graph.invoke(logged("in"), config()).await.unwrap();
    graph
        .update_state(&config(), logged("hand"), None)
        .await
        .unwrap();
    let state = finished(graph.resume(Resume::proceed(), config()).await);
    assert_eq!(state.log, ["in", "one", "two", "hand", "three"]);
}

#[tokio::test]
async fn a_change_by_hand_before_the_node_of_a_join_keeps_the_join() {
    let graph = StateGraph::<Log>::new("join")
        .node("a", log("a"))
        .node("b", log("b"))
        .node("join", log("join"))
        .edge(START, "a")
        .edge(START, "b")
        .join(["a", "b"], "join")
        .edge("join", END)
        .interrupt_before(["join"])
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new());
    let _ = graph.invoke(Log::update(), config()).await.unwrap();
    let nobody = graph.update_state(&config(), logged("hand"), None).await;
    let error = nobody.unwrap_err().to_string();
    assert!(error.contains("`a`, `b` ran last; name one"), "{error}");
    graph
        .update_state(&config(), logged("hand"), Some("a"))
        .await
        .unwrap();
    let state = finished(graph.resume(Resume::proceed(), config()).await);
    assert_eq!(state.log, ["a", "b", "hand", "join"]);
}

#[tokio::test]
async fn a_fork_may_begin_with_a_change() {
    let graph = chain();
    let _ = graph.invoke(logged("in"), config()).await.unwrap();
    let history = graph.history(&config()).await.unwrap();
    let first = &history.last().unwrap().checkpoint;
    let at = config().checkpoint(first);
    graph
        .update_state(&at, logged("instead of one"), Some("one"))
        .await
        .unwrap();
    let outcome = graph.resume(Resume::proceed(), config()).await.unwrap();
    assert_eq!(outcome.into_state().log, ["in", "instead of one", "two"]);
}
