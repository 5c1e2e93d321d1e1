//! What people get wrong with graphs behind a server: each is told, and nothing is lost by it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use llamon_agent::graph::{
    END, Graph, GraphAgent, GraphState, MemorySaver, NodeContext, NodeError, NodeOptions, Question,
    START, StateGraph,
};
use llamon_agent::prelude::create_server;
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, start};
use llamon_itest::matrix::everywhere;
use llamon_itest::outcome::Outcome;
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, peers};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Clone, Debug, Default, Serialize, Deserialize, GraphState)]
struct State {
    #[state(append)]
    answers: Vec<Value>,
    count: usize,
}

/// Two nodes that ask for numbers at the same time.
fn asking(runs: &Arc<AtomicUsize>) -> Graph<State> {
    let ask = |name: &'static str| {
        let runs = Arc::clone(runs);
        move |_: State, context: NodeContext| {
            runs.fetch_add(1, Ordering::Relaxed);
            async move {
                let question = Question::new(name).schema(json!({"type": "integer"}));
                let answer = context.ask(question).await?;
                Ok::<_, NodeError>(State::update().push_answers(answer))
            }
        }
    };
    StateGraph::<State>::new("asking")
        .node("a", ask("a"))
        .node("b", ask("b"))
        .edge(START, "a")
        .edge(START, "b")
        .edge("a", END)
        .edge("b", END)
        .compile()
        .expect("a graph")
        .with_saver(MemorySaver::new())
}

async fn asking_server(runs: &Arc<AtomicUsize>) -> TestServer {
    let agent = GraphAgent::new(asking(runs)).data_from("answers");
    start(create_server(card("asking"), agent).hitl()).await
}

fn ids(task: &Raw) -> Vec<String> {
    let state = task.string("status.state");
    assert_eq!(state, "TASK_STATE_INPUT_REQUIRED", "{task:?}");
    let open = task.list("status.message.parts")[1].list("data.interrupts");
    open.iter().map(|open| open.string("id")).collect()
}

/// The text of a task's status.
fn said(task: &Raw) -> String {
    task.list("status.message.parts")[0].string("text")
}

fn resume(json: &str) -> Say {
    Say::parts([format!(r#"{{"data":{{"resume":{json}}}}}"#)])
}

/// Sends what is no answer; the same questions stay open. Returns what is said about it.
async fn no_answer(peer: &Peer, task: &Raw, say: Say) -> String {
    let again = peer.send(&say.in_task(&task.string("id"))).await;
    assert_eq!(ids(&again), ids(task));
    said(&again)
}

#[tokio::test]
async fn what_answers_no_open_question_keeps_the_task_waiting_and_says_why() {
    let runs = Arc::new(AtomicUsize::new(0));
    let server = asking_server(&runs).await;
    for peer in peers(server.url()) {
        runs.store(0, Ordering::Relaxed);
        let task = peer.send(&Say::text("go")).await;
        let other = peer.send(&Say::text("go")).await;
        let (open, others) = (ids(&task), ids(&other));
        let [a, b] = &open[..] else {
            panic!("{open:?}");
        };
        let two_parts = Say::parts([
            format!(r#"{{"data":{{"resume":{{"{a}":1}}}}}}"#),
            format!(r#"{{"data":{{"resume":{{"{b}":2}}}}}}"#),
        ]);
        let cases = [
            // None at all, and none of a form that is known.
            (Say::parts([r#"{"text":" "}"#]), "2 questions are open"),
            (
                Say::parts([r#"{"data":{"answer":1}}"#]),
                "2 questions are open",
            ),
            // One without saying to which.
            (Say::text("1"), "2 questions are open"),
            (resume("1"), "2 questions are open"),
            // Ids that nobody asked, and those of another task's questions.
            (resume(r#"{"nobody":1}"#), "2 questions are open"),
            (
                resume(&format!(r#"{{"{}":1}}"#, others[0])),
                "2 questions are open",
            ),
            (
                resume(&format!(r#"{{"{a}":1,"nobody":2}}"#)),
                r#"No open question has the id "nobody""#,
            ),
            (
                resume(&format!(r#"{{"{a}":1,"{}":2}}"#, others[1])),
                "No open question has the id",
            ),
            (two_parts, "two answers"),
            // One of two does not fit: none counts.
            (
                resume(&format!(r#"{{"{a}":1,"{b}":"x"}}"#)),
                "The answer does not fit",
            ),
        ];
        for (say, expected) in cases {
            let told = no_answer(&peer, &task, say.clone()).await;
            assert!(told.contains(expected), "{say:?}: {told}");
            if expected.contains("questions are open") {
                assert!(
                    told.contains(a.as_str()) && told.contains(b.as_str()),
                    "{told}"
                );
            }
        }
        // None of it ran a node: two tasks, two nodes each.
        assert_eq!(runs.load(Ordering::Relaxed), 4);
        let answers = resume(&format!(r#"{{"{a}":1,"{b}":2}}"#)).in_task(&task.string("id"));
        let outcome = Outcome::of_task(&peer.send(&answers).await);
        assert_eq!(outcome.state, "TASK_STATE_COMPLETED", "{}", outcome.said);
        assert_eq!(outcome.content().data, ["[1,2]"]);
        assert_eq!(ids(&peer.get(&other.string("id")).await), others);
    }
}

#[tokio::test]
async fn an_answer_to_a_task_that_waits_for_none_is_refused() {
    let server = asking_server(&Arc::default()).await;
    for peer in peers(server.url()) {
        let task = peer.send(&Say::text("go")).await;
        let [a, b] = &ids(&task)[..] else {
            panic!("{task:?}");
        };
        let answers = resume(&format!(r#"{{"{a}":1,"{b}":2}}"#));
        // Twice: the second comes too late.
        let in_task = answers.clone().in_task(&task.string("id"));
        let done = peer.send(&in_task).await;
        assert_eq!(done.string("status.state"), "TASK_STATE_COMPLETED");
        let refused = peer.call(Op::Send(&in_task)).await.unwrap_err();
        assert_eq!(refused.reason, "UNSUPPORTED_OPERATION", "{refused:?}");
        // To a task that is not there.
        let nowhere = answers.clone().in_task("nowhere");
        let refused = peer.call(Op::Send(&nowhere)).await.unwrap_err();
        assert_eq!(refused.reason, "TASK_NOT_FOUND", "{refused:?}");
        // To no task: it is a message like others.
        assert_eq!(ids(&peer.send(&answers).await).len(), 2);
    }
}

// === graphs that do not come to their end ===

/// Counts up to a number, in a cycle.
fn cycle(until: usize) -> Graph<State> {
    let step = async |state: State, _: NodeContext| -> Result<StateUpdate, NodeError> {
        Ok(State::update().count(state.count + 1))
    };
    let route = move |state: &State| if state.count < until { "step" } else { END };
    StateGraph::<State>::new("cycle")
        .node("step", step)
        .edge(START, "step")
        .conditional_edge("step", route, ["step", END])
        .compile()
        .expect("a graph")
}

#[tokio::test]
async fn a_cycle_over_the_limit_fails_its_task_and_names_the_limit() {
    for saver in [false, true] {
        let graph = |until| match saver {
            true => cycle(until).with_saver(MemorySaver::new()),
            false => cycle(until),
        };
        let agent = |until| {
            GraphAgent::new(graph(until))
                .data_from("count")
                .recursion_limit(25)
        };
        let server = start(create_server(card("cycle"), agent(26))).await;
        let outcome = everywhere(&server, &[Say::text("go")]).await;
        assert_eq!(outcome.state, "TASK_STATE_FAILED");
        assert!(
            outcome.said.contains("after 25 super-steps"),
            "{}",
            outcome.said
        );
        let server = start(create_server(card("cycle"), agent(25))).await;
        let outcome = everywhere(&server, &[Say::text("go")]).await;
        assert_eq!(outcome.content().data, ["25"], "{}", outcome.said);
    }
}

#[tokio::test]
async fn a_cycle_over_the_limit_in_a_subgraph_is_told_the_same() {
    let graph = StateGraph::<State>::new("outer")
        .subgraph("inner", cycle(26))
        .edge(START, "inner")
        .edge("inner", END);
    let agent = GraphAgent::new(graph.compile().unwrap()).recursion_limit(25);
    let server = start(create_server(card("outer"), agent)).await;
    let outcome = everywhere(&server, &[Say::text("go")]).await;
    assert!(
        outcome.said.contains("after 25 super-steps"),
        "{}",
        outcome.said
    );
}

#[tokio::test]
async fn a_node_over_its_timeout_fails_its_task_and_names_the_timeout() {
    let hang = |_: State, _: NodeContext| std::future::pending::<Result<(), NodeError>>();
    let options = NodeOptions::default().timeout(Duration::from_millis(20));
    let graph = StateGraph::<State>::new("hanging")
        .node_with("hang", hang, options)
        .edge(START, "hang")
        .edge("hang", END);
    let server = start(create_server(card("hanging"), graph.compile().unwrap())).await;
    let outcome = everywhere(&server, &[Say::text("go")]).await;
    assert_eq!(outcome.state, "TASK_STATE_FAILED");
    assert!(outcome.said.contains("timeout of 20ms"), "{}", outcome.said);
    // Not how the graph is made inside.
    assert!(!outcome.said.contains("hang"), "{}", outcome.said);
}

#[tokio::test]
async fn after_a_cycle_over_the_limit_the_conversation_takes_the_next_message() {
    let agent = GraphAgent::new(cycle(30).with_saver(MemorySaver::new()))
        .data_from("count")
        .recursion_limit(25);
    let server = start(create_server(card("cycle"), agent)).await;
    for (peer, context) in peers(server.url()).iter().zip(["one", "two"]) {
        let say = Say::text("go").in_context(context);
        let failed = Outcome::of_task(&peer.send(&say).await);
        assert_eq!(failed.state, "TASK_STATE_FAILED");
        // It goes on from the state that the failed run had left.
        let done = Outcome::of_task(&peer.send(&say).await);
        assert_eq!(done.content().data, ["30"], "{}", done.said);
    }
}
