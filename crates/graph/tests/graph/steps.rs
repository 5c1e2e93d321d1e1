//! Super-steps: what runs when, and how what it writes becomes one state.

use std::collections::BTreeMap;
use std::sync::Arc;

use llamon_graph::{
    Command, END, GraphError, GraphState, NodeContext, NodeError, Outcome, RunConfig, START,
    SendTo, StateGraph, UpdateError,
};
use serde::{Deserialize, Serialize};
use tokio::sync::Barrier;

use crate::support::{self, Log, LogUpdate, finished, log, logged};

#[tokio::test]
async fn nodes_run_one_after_the_other() {
    let graph = StateGraph::<Log>::new("chain")
        .node("a", log("a"))
        .node("b", log("b"))
        .edge(START, "a")
        .edge("a", "b")
        .edge("b", END)
        .compile()
        .unwrap();
    let state = finished(graph.invoke(logged("in"), RunConfig::default()).await);
    assert_eq!(state.log, ["in", "a", "b"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_of_one_step_run_at_the_same_time() {
    let barrier = Arc::new(Barrier::new(3));
    let meet = move |name: &'static str| {
        let barrier = barrier.clone();
        move |_: Log, _: NodeContext| {
            let barrier = barrier.clone();
            async move {
                barrier.wait().await;
                Ok(logged(name))
            }
        }
    };
    let graph = StateGraph::<Log>::new("barrier")
        .node("c", meet("c"))
        .node("a", meet("a"))
        .node("b", meet("b"))
        .edge(START, "c")
        .edge(START, "a")
        .edge(START, "b")
        .edge("a", END)
        .edge("b", END)
        .edge("c", END)
        .compile()
        .unwrap();
    let state = support::soon(graph.invoke(Log::update(), RunConfig::default())).await;
    assert_eq!(finished(state).log, ["a", "b", "c"]);
}

#[tokio::test]
async fn no_more_nodes_run_at_once_than_the_cap_allows() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let running = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let mut graph = StateGraph::<Log>::new("cap");
    for name in ["a", "b", "c", "d", "e"] {
        let (running, most) = (running.clone(), most.clone());
        let node = move |_: Log, _: NodeContext| {
            let (running, most) = (running.clone(), most.clone());
            async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            }
        };
        graph = graph.node(name, node).edge(START, name).edge(name, END);
    }
    let graph = graph.compile().unwrap();
    let config = RunConfig::default().max_concurrency(2);
    finished(support::soon(graph.invoke(Log::update(), config)).await);
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_join_waits_for_the_longer_path_and_runs_once() {
    let graph = StateGraph::<Log>::new("join")
        .node("a", log("a"))
        .node("b1", log("b1"))
        .node("b2", log("b2"))
        .node("end", log("end"))
        .edge(START, "a")
        .edge(START, "b1")
        .edge("b1", "b2")
        .join(["a", "b2"], "end")
        .edge("end", END)
        .compile()
        .unwrap();
    let state = finished(graph.invoke(Log::update(), RunConfig::default()).await);
    assert_eq!(state.log, ["a", "b1", "b2", "end"]);
}

#[tokio::test]
async fn a_router_sees_what_its_node_wrote() {
    let route = |state: &Log| if state.total < 3 { "count" } else { END };
    let count = |_, _| async { Ok(Log::update().total(1).push_log("n".into())) };
    let graph = StateGraph::<Log>::new("loop")
        .node("count", count)
        .edge(START, "count")
        .conditional_edge("count", route, ["count", END])
        .compile()
        .unwrap();
    let state = finished(graph.invoke(Log::update(), RunConfig::default()).await);
    assert_eq!((state.total, state.log.len()), (3, 3));
}

#[tokio::test]
async fn a_loop_over_the_limit_is_an_error_that_names_it() {
    let graph = StateGraph::<Log>::new("loop")
        .node("again", log("again"))
        .edge(START, "again")
        .conditional_edge("again", |_: &Log| "again", ["again", END])
        .compile()
        .unwrap();
    let config = RunConfig::default().recursion_limit(4);
    let error = graph.invoke(Log::update(), config).await.unwrap_err();
    assert!(matches!(&error, GraphError::RecursionLimit { limit: 4, next } if next == &["again"]));
    assert!(
        error.to_string().contains("limit of 4 super-steps"),
        "{error}"
    );
}

#[tokio::test]
async fn as_many_steps_as_the_limit_are_no_error() {
    let graph = StateGraph::<Log>::new("one")
        .node("a", log("a"))
        .edge(START, "a")
        .edge("a", END)
        .compile()
        .unwrap();
    let config = RunConfig::default().recursion_limit(1);
    finished(graph.invoke(Log::update(), config).await);
}

#[tokio::test]
async fn sends_bring_arguments_and_write_in_their_order_after_the_nodes() {
    let plan = |state: &Log| {
        let sends = state.log.iter().rev();
        sends
            .map(|word| SendTo::new("work", word.clone()))
            .collect::<Vec<_>>()
    };
    let work = |word: String, _| async move { Ok(logged(format!("work {word}"))) };
    let graph = StateGraph::<Log>::new("map")
        .node("zeta", log("zeta"))
        .task_node("work", work)
        .edge(START, "zeta")
        .conditional_edge(START, plan, ["work"])
        .edge("zeta", END)
        .edge("work", END)
        .compile()
        .unwrap();
    let input = Log::update().log(vec!["x".into(), "y".into()]);
    let state = finished(graph.invoke(input, RunConfig::default()).await);
    assert_eq!(state.log, ["x", "y", "zeta", "work y", "work x"]);
}

#[tokio::test]
async fn a_command_goes_where_it_says_in_addition_to_the_edges() {
    let decide = |_, _| async { Ok(Command::<Log>::goto(["right"]).update(logged("decide"))) };
    let graph = StateGraph::<Log>::new("command")
        .node("decide", decide)
        .node("always", log("always"))
        .node("left", log("left"))
        .node("right", log("right"))
        .edge(START, "decide")
        .goto("decide", ["left", "right"])
        .edge("decide", "always")
        .edge("always", END)
        .edge("left", END)
        .edge("right", END)
        .compile()
        .unwrap();
    let state = finished(graph.invoke(Log::update(), RunConfig::default()).await);
    assert_eq!(state.log, ["decide", "always", "right"]);
}

#[tokio::test]
async fn a_way_that_was_not_declared_is_an_error_that_says_so() {
    let decide = |_, _| async { Ok(Command::<Log>::goto("right")) };
    let graph = StateGraph::<Log>::new("command")
        .node("decide", decide)
        .node("left", log("left"))
        .edge(START, "decide")
        .goto("decide", ["left"])
        .edge("left", END)
        .compile()
        .unwrap();
    let error = graph.invoke(Log::update(), RunConfig::default()).await;
    let error = error.unwrap_err().to_string();
    assert_eq!(
        error,
        "from `decide` to `right`: `.goto(...)` declares only `left`; add this one"
    );
}

#[tokio::test]
async fn two_writers_of_a_plain_field_are_an_error_that_names_both() {
    let write = |_, _| async { Ok(Log::update().answer(Some("same".into()))) };
    let graph = StateGraph::<Log>::new("conflict")
        .node("zeta", write)
        .node("alpha", write)
        .edge(START, "zeta")
        .edge(START, "alpha")
        .edge("zeta", END)
        .edge("alpha", END)
        .compile()
        .unwrap();
    let error = graph.invoke(Log::update(), RunConfig::default()).await;
    let error = error.unwrap_err();
    assert!(
        error.to_string().contains("the nodes `alpha` and `zeta`"),
        "{error}"
    );
    let GraphError::Update(UpdateError::Conflict { field, nodes }) = error else {
        panic!("{error}");
    };
    assert_eq!((field, nodes), ("answer", ["alpha".into(), "zeta".into()]));
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, GraphState)]
struct Merged {
    #[state(overwrite)]
    last: String,
    #[state(reducer = longest)]
    longest: String,
    #[state(reducer = i64::max)]
    highest: i64,
    #[state(append)]
    by_node: BTreeMap<String, u8>,
    #[state(append)]
    list: Vec<u8>,
}

fn longest(current: &mut String, write: String) {
    if write.len() > current.len() {
        *current = write;
    }
}

#[tokio::test]
async fn each_field_is_merged_in_its_way_in_the_order_of_the_names() {
    let node = |name: &'static str, number: u8| {
        move |_: Merged, _: NodeContext| async move {
            Ok(Merged::update()
                .last(name.to_owned())
                .longest(name.to_owned())
                .highest(number.into())
                .push_by_node((name.to_owned(), number))
                .push_list(number))
        }
    };
    let overwrite = |_, _| async {
        Ok(Merged::update()
            .overwrite_list(vec![9])
            .overwrite_highest(-1))
    };
    let graph = StateGraph::<Merged>::new("merge")
        .node("bb", node("bb", 2))
        .node("ccc", node("ccc", 3))
        .node("a", node("a", 1))
        .node("then", overwrite)
        .edge(START, "ccc")
        .edge(START, "bb")
        .edge(START, "a")
        .join(["a", "bb", "ccc"], "then")
        .edge("then", END)
        .compile()
        .unwrap();
    let state = finished(graph.invoke(Merged::update(), RunConfig::default()).await);
    assert_eq!(state.last, "ccc");
    assert_eq!(state.longest, "ccc");
    assert_eq!((state.highest, state.list), (-1, vec![9]));
    assert_eq!(state.by_node.len(), 3);
}

#[derive(Serialize)]
struct Answer {
    answer: Option<String>,
}

impl From<Log> for Answer {
    fn from(state: Log) -> Self {
        let answer = state.answer;
        Self { answer }
    }
}

struct Word(String);

impl From<Word> for LogUpdate {
    fn from(word: Word) -> Self {
        logged(word.0)
    }
}

#[tokio::test]
async fn input_and_output_may_be_narrower_than_the_state() {
    let answer = |state: Log, _| async move { Ok(Log::update().answer(state.log.last().cloned())) };
    let graph = StateGraph::<Log>::new("narrow")
        .output::<Answer>()
        .node("answer", answer)
        .edge(START, "answer")
        .edge("answer", END)
        .compile()
        .unwrap();
    let outcome = graph.invoke(Word("hi".into()), RunConfig::default()).await;
    let Outcome::Finished(Answer { answer }) = outcome.unwrap() else {
        panic!();
    };
    assert_eq!(answer.as_deref(), Some("hi"));
}

#[tokio::test]
async fn a_dropped_run_stops_its_nodes() {
    let (started, mut starts) = tokio::sync::mpsc::channel::<tokio::sync::oneshot::Sender<()>>(2);
    let hang = move |_: Log, _: NodeContext| {
        let started = started.clone();
        async move {
            let (alive, dead) = tokio::sync::oneshot::channel::<()>();
            drop(started.send(alive).await);
            drop(dead.await);
            Err::<(), _>(NodeError::new("unreachable"))
        }
    };
    // The other end of what each node holds is in `starts`: it closes when the node is dropped.
    let graph = StateGraph::<Log>::new("hang")
        .node("a", hang.clone())
        .node("b", hang)
        .edge(START, "a")
        .edge(START, "b")
        .edge("a", END)
        .edge("b", END)
        .compile()
        .unwrap();
    let mut run = Box::pin(graph.invoke(Log::update(), RunConfig::default()));
    let mut alive = Vec::new();
    while alive.len() < 2 {
        tokio::select! {
            biased;
            start = starts.recv() => alive.extend(start),
            _ = &mut run => panic!("the nodes hang"),
        }
    }
    drop(run);
    for mut alive in alive {
        support::soon(alive.closed()).await;
    }
}
