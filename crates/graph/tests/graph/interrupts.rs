//! Graphs that ask.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use llamon_graph::{
    END, Graph, MemorySaver, NodeContext, Outcome, Question, Resume, RunConfig, START, StateGraph,
    Status,
};
use serde_json::{Value, json};

use crate::support::{Log, finished, log, logged, refused};

/// Asks under its name, and writes the answer.
fn asks(name: &'static str) -> impl Fn(Log, NodeContext) -> Asked + Send + Sync + 'static {
    move |_, context| {
        Box::pin(async move {
            let answer = context.interrupt(format!("{name}?")).await?;
            Ok(logged(format!("{name} got {answer}")))
        })
    }
}

type Asked = std::pin::Pin<
    Box<dyn Future<Output = Result<crate::support::LogUpdate, llamon_graph::NodeError>> + Send>,
>;

fn two_that_ask() -> Graph<Log> {
    StateGraph::<Log>::new("two")
        .node("zeta", asks("zeta"))
        .node("alpha", asks("alpha"))
        .node("then", log("then"))
        .edge(START, "zeta")
        .edge(START, "alpha")
        .join(["alpha", "zeta"], "then")
        .edge("then", END)
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new())
}

fn one_that_asks() -> Graph<Log> {
    StateGraph::<Log>::new("one")
        .node("asks", asks("asks"))
        .edge(START, "asks")
        .edge("asks", END)
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new())
}

fn config() -> RunConfig {
    RunConfig::thread("t")
}

#[tokio::test]
async fn both_questions_of_parallel_nodes_are_open_and_answered_by_id() {
    let graph = two_that_ask();
    let outcome = graph.invoke(Log::update(), config()).await.unwrap();
    let [alpha, zeta] = outcome.interrupts() else {
        panic!("{outcome:?}");
    };
    assert_eq!((&alpha.value, &*alpha.node), (&json!("alpha?"), "alpha"));
    assert_eq!(zeta.value, json!("zeta?"));
    assert_ne!(alpha.id, zeta.id);
    let answers = Resume::by_id([(&zeta.id, 2), (&alpha.id, 1)]);
    let state = finished(graph.resume(answers, config()).await);
    assert_eq!(state.log, ["alpha got 1", "zeta got 2", "then"]);
}

#[tokio::test]
async fn an_unanswered_question_stays_open_and_its_node_does_not_run_again() {
    let runs = Arc::new(AtomicUsize::new(0));
    let count = runs.clone();
    let zeta = move |_: Log, context: NodeContext| {
        count.fetch_add(1, Ordering::SeqCst);
        async move {
            let answer = context.interrupt("zeta?").await?;
            Ok(logged(answer.to_string()))
        }
    };
    let graph = StateGraph::<Log>::new("two")
        .node("alpha", asks("alpha"))
        .node("zeta", zeta)
        .edge(START, "alpha")
        .edge(START, "zeta")
        .edge("alpha", END)
        .edge("zeta", END)
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new());
    let outcome = graph.invoke(Log::update(), config()).await.unwrap();
    let [alpha, zeta] = outcome.interrupts() else {
        panic!("{outcome:?}");
    };
    let answer = Resume::by_id([(&alpha.id, 1)]);
    let outcome = graph.resume(answer, config()).await.unwrap();
    assert_eq!(outcome.interrupts(), std::slice::from_ref(zeta));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    // Only one is left: a plain value is enough.
    let state = finished(graph.resume(Resume::value(2), config()).await);
    assert_eq!(state.log, ["alpha got 1", "2"]);
}

#[tokio::test]
async fn answers_match_questions_by_the_order_of_the_calls() {
    let twice = |_: Log, context: NodeContext| async move {
        let first = context.interrupt("first?").await?;
        let second = context.interrupt(format!("second, after {first}?")).await?;
        Ok(logged(format!("{first} {second}")))
    };
    let graph = StateGraph::<Log>::new("twice")
        .node("asks", twice)
        .edge(START, "asks")
        .edge("asks", END)
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new());
    let first = graph.invoke(Log::update(), config()).await.unwrap();
    let second = graph.resume(Resume::value(1), config()).await.unwrap();
    let snapshot = graph.state(&config()).await.unwrap().unwrap();
    assert_eq!(snapshot.interrupts, second.interrupts());
    assert_ne!(first.interrupts()[0].id, second.interrupts()[0].id);
    assert_eq!(second.interrupts()[0].value, json!("second, after 1?"));
    let answered_again = Resume::by_id([(&first.interrupts()[0].id, 3)]);
    let error = refused(graph.resume(answered_again, config()).await);
    assert!(
        error.contains("no open question of thread \"t\" has the id"),
        "{error}"
    );
    let state = finished(graph.resume(Resume::value(2), config()).await);
    assert_eq!(state.log, ["1 2"]);
    // What was asked last is still known.
    let history = graph.history(&config()).await.unwrap();
    assert_eq!(history[1].interrupts, second.interrupts());
    assert_eq!(history[1].status, Status::Unfinished);
}

#[tokio::test]
async fn a_node_may_ask_several_questions_at_once() {
    let both = |_: Log, context: NodeContext| async move {
        let (a, b) = tokio::join!(context.interrupt("a?"), context.interrupt("b?"));
        Ok(logged(format!("{} {}", a?, b?)))
    };
    let graph = StateGraph::<Log>::new("both")
        .node("asks", both)
        .edge(START, "asks")
        .edge("asks", END)
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new());
    let outcome = graph.invoke(Log::update(), config()).await.unwrap();
    let ids: Vec<_> = outcome.interrupts().iter().map(|open| &open.id).collect();
    let state = finished(
        graph
            .resume(Resume::by_id(ids.into_iter().zip([1, 2])), config())
            .await,
    );
    assert_eq!(state.log, ["1 2"]);
}

#[tokio::test]
async fn null_is_an_answer() {
    let graph = one_that_asks();
    let _ = graph.invoke(Log::update(), config()).await.unwrap();
    let state = finished(graph.resume(Resume::value(Value::Null), config()).await);
    assert_eq!(state.log, ["asks got null"]);
}

#[tokio::test]
async fn a_question_has_its_schema() {
    let schema = json!({"type": "boolean"});
    let asked = schema.clone();
    let ask = move |_: Log, context: NodeContext| {
        let question = Question::new("sure?").schema(asked.clone());
        async move {
            let sure = context.ask(question).await?;
            Ok(logged(sure.to_string()))
        }
    };
    let graph = StateGraph::<Log>::new("schema")
        .node("asks", ask)
        .edge(START, "asks")
        .edge("asks", END)
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new());
    let outcome = graph.invoke(Log::update(), config()).await.unwrap();
    assert_eq!(outcome.interrupts()[0].schema, Some(schema));
}

#[tokio::test]
async fn a_question_whose_error_is_swallowed_is_still_open() {
    let swallow = |_: Log, context: NodeContext| async move {
        let answer = context.interrupt("?").await.unwrap_or(json!("none"));
        Ok(logged(answer.to_string()))
    };
    let graph = StateGraph::<Log>::new("swallow")
        .node("asks", swallow)
        .edge(START, "asks")
        .edge("asks", END)
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new());
    let outcome = graph.invoke(Log::update(), config()).await.unwrap();
    assert_eq!(outcome.interrupts().len(), 1);
    let state = finished(graph.resume(Resume::value(1), config()).await);
    assert_eq!(state.log, ["1"]);
}

#[tokio::test]
async fn what_does_not_fit_the_open_questions_is_refused_and_changes_nothing() {
    let graph = two_that_ask();
    let outcome = graph.invoke(Log::update(), config()).await.unwrap();
    let id = &outcome.interrupts()[0].id;
    let none: [(&str, Value); 0] = [];
    for (resume, expected) in [
        (Resume::value(1), "2 questions are open"),
        (Resume::proceed(), "waits for answers to `"),
        (
            Resume::by_id(none),
            "there is no answer; the open questions",
        ),
        (
            Resume::by_id([("nobody", 1)]),
            "has the id \"nobody\"; the open ones are `",
        ),
        (Resume::by_id([(id, 1), (id, 2)]), "is answered twice"),
    ] {
        let error = refused(graph.resume(resume, config()).await);
        assert!(error.contains(expected), "{error}");
    }
    let error = refused(graph.invoke(logged("new"), config()).await);
    assert!(error.contains("takes no new input now"), "{error}");
    assert!(error.contains(&**id), "{error}");
    let snapshot = graph.state(&config()).await.unwrap().unwrap();
    assert_eq!(snapshot.interrupts, outcome.interrupts());
}

#[tokio::test]
async fn threads_that_wait_for_nothing_are_not_resumed() {
    let graph = one_that_asks();
    let error = refused(graph.resume(Resume::value(1), config()).await);
    assert!(error.contains("thread \"t\" has never run"), "{error}");
    let _ = graph.invoke(Log::update(), config()).await.unwrap();
    finished(graph.resume(Resume::value(1), config()).await);
    for resume in [
        Resume::value(1),
        Resume::proceed(),
        Resume::by_id([("x", 1)]),
    ] {
        let error = refused(graph.resume(resume, config()).await);
        assert!(
            error.contains("has finished, and there is nothing to resume"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_question_without_a_saver_is_an_error() {
    let graph = StateGraph::<Log>::new("one")
        .node("asks", asks("asks"))
        .edge(START, "asks")
        .edge("asks", END)
        .compile()
        .unwrap();
    let error = refused(graph.invoke(Log::update(), config()).await);
    assert!(
        error.contains("the graph has no saver to wait with"),
        "{error}"
    );
    let error = refused(graph.resume(Resume::value(1), config()).await);
    assert!(error.contains("has no saver, and cannot resume"), "{error}");
}

#[tokio::test]
async fn a_saver_without_a_thread_is_an_error() {
    let graph = one_that_asks();
    let error = refused(graph.invoke(Log::update(), RunConfig::default()).await);
    assert!(error.contains("RunConfig::thread"), "{error}");
}

#[tokio::test]
async fn what_is_open_can_be_abandoned() {
    let graph = one_that_asks();
    let _ = graph.invoke(logged("old"), config()).await.unwrap();
    graph.abandon(&config()).await.unwrap();
    let snapshot = graph.state(&config()).await.unwrap().unwrap();
    assert_eq!(
        (snapshot.status, snapshot.state.log),
        (Status::Finished, vec!["old".to_owned()])
    );
    let outcome = graph.invoke(logged("new"), config()).await.unwrap();
    assert_eq!(outcome.interrupts().len(), 1);
}

#[tokio::test]
async fn a_graph_stops_before_and_after_nodes() {
    let graph = StateGraph::<Log>::new("stops")
        .node("a", log("a"))
        .node("b", log("b"))
        .node("c", log("c"))
        .edge(START, "a")
        .edge("a", "b")
        .edge("b", "c")
        .edge("c", END)
        .interrupt_before(["a", "b"])
        .interrupt_after(["b", "c"])
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new());
    assert!(graph.has_static_interrupts());
    let mut outcome = graph.invoke(Log::update(), config()).await.unwrap();
    for (node, ran) in [("a", 0), ("b", 1), ("c", 2)] {
        let Outcome::Interrupted {
            state,
            interrupts,
            next,
        } = outcome
        else {
            panic!("{outcome:?}");
        };
        assert_eq!(
            (state.log.len(), interrupts.len(), next),
            (ran, 0, vec![node.to_owned()])
        );
        let snapshot = graph.state(&config()).await.unwrap().unwrap();
        assert_eq!(snapshot.status, Status::Stopped);
        let error = refused(graph.resume(Resume::value(1), config()).await);
        assert!(error.contains("no question is open"), "{error}");
        let error = refused(graph.invoke(Log::update(), config()).await);
        assert!(
            error.contains(&format!("has stopped, with `{node}` next")),
            "{error}"
        );
        outcome = graph.resume(Resume::proceed(), config()).await.unwrap();
    }
    // Nothing comes after `c`: there is nothing to stop for.
    assert_eq!(outcome.finished().unwrap().log, ["a", "b", "c"]);
}

#[tokio::test]
async fn what_nodes_have_said_is_kept_with_what_they_did_and_not_twice() {
    let asks = |_: Log, context: NodeContext| async move {
        context.token("before ").await;
        let answer = context.interrupt("which?").await?;
        context.token(format!("after {answer} ")).await;
        Ok(logged("asked"))
    };
    let says = |_: Log, context: NodeContext| async move {
        context.token("done").await;
        Ok(logged("said"))
    };
    let graph = StateGraph::<Log>::new("says")
        .node("asks", asks)
        .node("says", says)
        .edge(START, "asks")
        .edge("asks", "says")
        .edge("says", END)
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new());
    let said = async |run: u32| {
        let said = graph.said(&config().metadata(run)).await.unwrap();
        let said = said.into_iter().map(|said| (said.node, said.text));
        said.collect::<Vec<_>>()
    };
    let pair = |node: &str, text: &str| (node.to_owned(), text.to_owned());
    let asked = graph.invoke(Log::update(), config().metadata(1)).await;
    assert_eq!(asked.unwrap().interrupts().len(), 1);
    assert_eq!(said(1).await, [pair("asks", "before ")]);
    finished(graph.resume(Resume::value(7), config().metadata(2)).await);
    assert_eq!(
        said(2).await,
        [pair("asks", "after 7 "), pair("says", "done")]
    );
    assert!(said(3).await.is_empty());
}
