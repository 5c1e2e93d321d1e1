//! Graphs as agents.

#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise, also in its helpers"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use llamon_agent::graph::{
    BusyThread, END, Graph, GraphAgent, GraphMessage, GraphState, MemorySaver, NodeContext,
    NodeError, Question, START, StateGraph,
};
use llamon_agent::prelude::{InputContract, InputContracts, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{Gate, card, patient, start, until};
use llamon_itest::matrix::{everywhere, streaming};
use llamon_itest::outcome::{Content, Outcome};
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, peers};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Clone, Debug, Default, Serialize, Deserialize, GraphState)]
struct Chat {
    #[state(messages)]
    messages: Vec<GraphMessage>,
    #[state(append)]
    items: Vec<Value>,
    order: Option<Value>,
    report: Option<Value>,
}

/// Says in tokens how many messages there are, and reports what it found in its state.
async fn reply(state: Chat, context: NodeContext) -> Result<ChatUpdate, NodeError> {
    context.write("thinking").await;
    let text = format!(
        "{} messages, last: {}",
        state.messages.len(),
        state
            .messages
            .last()
            .map(GraphMessage::text)
            .unwrap_or_default()
    );
    for token in text.split_inclusive(' ') {
        context.token(token).await;
    }
    let files = state
        .messages
        .last()
        .map_or(0, |message| message.content.len());
    let report = json!({"items": state.items, "order": state.order, "contents": files});
    Ok(Chat::update()
        .messages(vec![GraphMessage::agent(text)])
        .report(Some(report)))
}

fn chat() -> Graph<Chat> {
    StateGraph::<Chat>::new("chat")
        .node("reply", reply)
        .edge(START, "reply")
        .edge("reply", END)
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new())
}

const UP: &str = r#"{"data":{"up":1}}"#;
const FILE: &str = r#"{"url":"https://example.com/x","mediaType":"text/plain"}"#;

#[tokio::test]
async fn a_message_becomes_one_user_message_and_the_last_agent_message_is_the_text() {
    let server = start(create_server(
        card("chat"),
        GraphAgent::new(chat()).data_from("report"),
    ))
    .await;
    let outcome = everywhere(
        &server,
        &[Say::text("hello").with(&[UP, FILE, r#"{"text":"there"}"#])],
    )
    .await;
    assert_eq!(outcome.state, "TASK_STATE_COMPLETED");
    // Data parts do not reach the state unless that is declared.
    let report = r#"{"contents":3,"items":[],"order":null}"#;
    let expected = Content::expect("1 messages, last: hellothere", &[report], &[]);
    assert!(outcome.content().is_same(&expected), "{outcome:?}");
}

#[tokio::test]
async fn data_reaches_the_state_by_a_declared_field_or_a_contract() {
    let agent = GraphAgent::new(chat())
        .data_into("items")
        .input("order")
        .data_from("report");
    let contracts = InputContracts::new().with(InputContract::data("order").select("$.order"));
    let server = start(create_server(card("chat"), agent).input_contracts(contracts)).await;
    let say = Say::text("x").with(&[UP, r#"{"data":{"order":[1,2]}}"#]);
    let outcome = everywhere(&server, &[say]).await;
    let report = r#"{"contents":1,"items":[{"up":1},{"order":[1,2]}],"order":[1,2]}"#;
    assert_eq!(outcome.content().data, [report], "{outcome:?}");
}

#[tokio::test]
async fn tokens_stream_as_chunks_and_writes_as_progress() {
    let server = start(create_server(card("chat"), chat())).await;
    for peer in peers(server.url()) {
        let (outcome, events) = streaming(&peer, &[Say::text("hi")]).await;
        assert_eq!(outcome.content().text, "1 messages, last: hi");
        let chunks = events
            .iter()
            .filter(|event| event.find("artifactUpdate").is_some())
            .count();
        assert_eq!(chunks, 4, "{events:?}");
        let says = |event: &Raw| event.find("statusUpdate.status.message").is_some();
        assert_eq!(events.iter().filter(|event| says(event)).count(), 1);
    }
}

#[tokio::test]
async fn a_conversation_remembers_what_was_said_in_its_tasks() {
    let server = start(create_server(card("chat"), chat())).await;
    for (peer, context) in peers(server.url()).iter().zip(["one", "two"]) {
        for (count, text) in [(1, "a"), (3, "b"), (5, "c")] {
            let task = peer.send(&Say::text(text).in_context(context)).await;
            let said = Outcome::of_task(&task).content().text;
            assert_eq!(said, format!("{count} messages, last: {text}"));
        }
    }
}

#[tokio::test]
async fn the_policy_applies_to_a_graph_as_to_a_function() {
    for (policy, data, files) in [("replace", 1, 0), ("append", 2, 1)] {
        let agent = GraphAgent::new(chat()).data_from("report");
        let server = start(create_server(card("chat"), agent).upstream_parts_policy(policy)).await;
        let outcome = everywhere(&server, &[Say::text("x").with(&[UP, FILE])]).await;
        let content = outcome.content();
        assert_eq!(
            (content.data.len(), content.files.len()),
            (data, files),
            "{policy}"
        );
        assert!(content.data[0].contains("contents"), "its own is the first");
    }
}

// === questions ===

fn asking(runs: Arc<AtomicUsize>) -> Graph<Chat> {
    let ask = |name: &'static str| {
        move |_: Chat, context: NodeContext| async move {
            context.token(format!("{name} asks. ")).await;
            let schema = json!({"type": "integer"});
            let answer = context
                .ask(Question::new(format!("{name}?")).schema(schema))
                .await?;
            context.token(format!("{name} heard {answer}. ")).await;
            Ok::<_, NodeError>(Chat::update().push_items(json!({name: answer})))
        }
    };
    let count = move |_: Chat, _: NodeContext| {
        runs.fetch_add(1, Ordering::Relaxed);
        async { Ok::<_, NodeError>(Chat::update()) }
    };
    let report = async |state: Chat, _: NodeContext| -> Result<ChatUpdate, NodeError> {
        Ok(Chat::update().report(Some(Value::from(state.items))))
    };
    StateGraph::<Chat>::new("asking")
        .node("a", ask("a"))
        .node("b", ask("b"))
        .node("count", count)
        .node("report", report)
        .edge(START, "a")
        .edge(START, "b")
        .edge(START, "count")
        .join(["a", "b", "count"], "report")
        .edge("report", END)
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new())
}

async fn asking_server(runs: &Arc<AtomicUsize>) -> TestServer {
    let agent = GraphAgent::new(asking(Arc::clone(runs))).data_from("report");
    start(
        create_server(card("asking"), agent)
            .upstream_parts_policy("append")
            .hitl(),
    )
    .await
}

fn resume(task: &Raw, json: &str) -> Say {
    let part = format!(r#"{{"data":{{"resume":{json}}}}}"#);
    Say::parts([part]).in_task(&task.string("id"))
}

/// The text of a task's status.
fn said(task: &Raw) -> String {
    task.list("status.message.parts")[0].string("text")
}

fn open(task: &Raw) -> Vec<Raw> {
    assert_eq!(
        task.string("status.state"),
        "TASK_STATE_INPUT_REQUIRED",
        "{task:?}"
    );
    task.list("status.message.parts")[1].list("data.interrupts")
}

#[tokio::test]
async fn parallel_nodes_ask_at_once_and_go_on_one_by_one() {
    let runs = Arc::new(AtomicUsize::new(0));
    let server = asking_server(&runs).await;
    for (peer, count) in peers(server.url()).iter().zip(1..) {
        let task = peer.send(&Say::text("go").with(&[UP])).await;
        let questions = open(&task);
        let [a, b] = &questions[..] else {
            panic!("{questions:?}");
        };
        assert_eq!(
            (a.string("value"), b.string("value")),
            ("a?".to_owned(), "b?".to_owned())
        );
        // Not a number.
        let task = peer
            .send(&resume(&task, &format!(r#"{{"{}":"x"}}"#, a.string("id"))))
            .await;
        assert_eq!(open(&task), questions);
        let task = peer
            .send(&resume(&task, &format!(r#"{{"{}":2}}"#, b.string("id"))))
            .await;
        assert_eq!(open(&task), std::slice::from_ref(a));
        let task = peer.send(&resume(&task, "1")).await;
        let outcome = Outcome::of_task(&task);
        assert_eq!(outcome.state, "TASK_STATE_COMPLETED");
        // What was said before a question is not said again, and upstream is not kept.
        let by_artifact = outcome.by_artifact();
        let texts: Vec<&str> = by_artifact
            .iter()
            .map(|(_, content)| &*content.text)
            .collect();
        assert!(
            texts[0].contains("a asks. ") && texts[0].contains("b asks. "),
            "{texts:?}"
        );
        assert_eq!(texts[1..], ["b heard 2. ", "a heard 1. "]);
        assert_eq!(outcome.content().data, [r#"[{"a":1},{"b":2}]"#]);
        // Its finished sibling did not run again.
        assert_eq!(runs.load(Ordering::Relaxed), count);
    }
}

#[tokio::test]
async fn a_new_task_beside_an_open_question_is_rejected_and_names_the_open_one() {
    let server = asking_server(&Arc::default()).await;
    for (peer, context) in peers(server.url()).iter().zip(["one", "two"]) {
        let waiting = peer.send(&Say::text("go").in_context(context)).await;
        let refused = peer.send(&Say::text("go").in_context(context)).await;
        assert_eq!(refused.string("status.state"), "TASK_STATE_REJECTED");
        assert!(
            said(&refused).contains(&waiting.string("id")),
            "{refused:?}"
        );
        // In another conversation there is no such question.
        let other = peer.send(&Say::text("go")).await;
        assert_eq!(open(&other).len(), 2);
        // When the waiting one is canceled, nobody goes on with what it left.
        peer.call(Op::Cancel(&waiting.string("id"))).await.unwrap();
        let fresh = peer.send(&Say::text("go").in_context(context)).await;
        assert_eq!(open(&fresh).len(), 2);
        let ids = |task: &Raw| {
            open(task)
                .iter()
                .map(|open| open.string("id"))
                .collect::<Vec<_>>()
        };
        let stale = &ids(&other)[0];
        let again = peer
            .send(&resume(&fresh, &format!(r#"{{"{stale}":1}}"#)))
            .await;
        assert_eq!(
            ids(&again),
            ids(&fresh),
            "the question of another task is none of this one"
        );
    }
}

#[tokio::test]
async fn a_graph_that_asks_without_hitl_fails_and_one_that_is_sure_to_ask_is_not_served() {
    let server = start(create_server(card("asking"), asking(Arc::default()))).await;
    for peer in peers(server.url()) {
        let outcome = Outcome::of_task(&peer.send(&Say::text("go")).await);
        assert_eq!(outcome.state, "TASK_STATE_FAILED");
        assert!(outcome.said.contains(".hitl()"), "{}", outcome.said);
    }
    let stops = || {
        let graph = StateGraph::<Chat>::new("stops").node("reply", reply);
        let graph = graph
            .edge(START, "reply")
            .edge("reply", END)
            .interrupt_before(["reply"]);
        graph.compile().unwrap().with_saver(MemorySaver::new())
    };
    let error = create_server(card("stops"), stops()).await.unwrap_err();
    assert!(
        error.is_hitl() && error.to_string().contains(".hitl()"),
        "{error}"
    );
    let server = start(create_server(card("stops"), stops()).hitl()).await;
    for peer in peers(server.url()) {
        let task = peer.send(&Say::text("go")).await;
        let text = task.list("status.message.parts")[0].string("text");
        assert_eq!(text, "Go on with reply?");
        let task = peer
            .send(&Say::text("yes").in_task(&task.string("id")))
            .await;
        assert_eq!(
            Outcome::of_task(&task).content().text,
            "1 messages, last: go"
        );
    }
}

// === one thread, several tasks ===

fn gated(gate: &Gate) -> Graph<Chat> {
    let gate = gate.clone();
    let wait = move |state: Chat, context: NodeContext| {
        let gate = gate.clone();
        async move {
            gate.pass().await;
            reply(state, context).await
        }
    };
    StateGraph::<Chat>::new("gated")
        .node("wait", wait)
        .edge(START, "wait")
        .edge("wait", END)
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new())
}

#[tokio::test]
async fn a_second_task_of_a_conversation_waits_for_the_first() {
    let gate = Gate::new();
    let server = start(create_server(card("gated"), gated(&gate))).await;
    let [peer, _] = peers(server.url());
    let first = peer
        .send(&Say::text("first").in_context("c").at_once())
        .await;
    let second = peer
        .send(&Say::text("second").in_context("c").at_once())
        .await;
    gate.open();
    let mut texts = Vec::new();
    for task in [first, second] {
        let done = until(|| async {
            let outcome = Outcome::of_task(&peer.get(&task.string("id")).await);
            (outcome.state == "TASK_STATE_COMPLETED").then_some(outcome)
        })
        .await;
        texts.push(done.content().text);
    }
    texts.sort();
    // Whichever came first, the other one saw what it had said: they were not mixed.
    assert!(
        texts[0].starts_with("1 messages") && texts[1].starts_with("3 messages"),
        "{texts:?}"
    );
}

#[tokio::test]
async fn a_second_task_of_a_conversation_is_refused_if_so_configured() {
    let gate = Gate::new();
    let agent = GraphAgent::new(gated(&gate)).busy(BusyThread::Refuse);
    let server = start(create_server(card("gated"), agent)).await;
    let [peer, _] = peers(server.url());
    let (first, events) = peer.begin(&Say::text("first").in_context("c")).await;
    let refused = peer.send(&Say::text("second").in_context("c")).await;
    assert_eq!(refused.string("status.state"), "TASK_STATE_REJECTED");
    assert!(said(&refused).contains(&first), "{refused:?}");
    gate.open();
    let rest = patient(events.rest()).await;
    assert!(!rest.is_empty());
}
