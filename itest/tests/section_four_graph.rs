//! Where the policy does not apply (data-flow.md, section 4), for graphs: each kind under both
//! policies, with upstream and without, on both bindings, blocking, streaming and by GetTask.

use llamon_agent::graph::{
    END, Graph, GraphAgent, GraphMessage, GraphState, MemorySaver, NodeContext, NodeError, START,
    StateGraph,
};
use llamon_agent::prelude::create_server;
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, start};
use llamon_itest::matrix::{everywhere, streaming};
use llamon_itest::outcome::{Content, Outcome};
use llamon_itest::say::Say;
use llamon_itest::wire::peers;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const OWN: &str = r#"{"own":1}"#;
/// No `f64` holds it, so a graph cannot have read it.
const UP: &str = r#"{"data":{"up":1e400}}"#;
const UP_FILE: &str = r#"{"url":"https://example.com/up"}"#;
const LATER: &str = r#"{"data":"later"}"#;

#[derive(Clone, Debug, Default, Serialize, Deserialize, GraphState)]
struct State {
    #[state(messages)]
    messages: Vec<GraphMessage>,
    report: Option<Value>,
}

/// What is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It remembers nothing.
    WithoutSaver,
    WithSaver,
    /// Its answer has no data.
    TextOnly,
    /// Its answer has nothing at all.
    Empty,
    /// People in the loop, but nothing is asked.
    QuietHitl,
    /// A node asks; the answer comes after it.
    AskingHitl,
    /// It stops before its node.
    StoppingHitl,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::WithoutSaver,
        Self::WithSaver,
        Self::TextOnly,
        Self::Empty,
        Self::QuietHitl,
        Self::AskingHitl,
        Self::StoppingHitl,
    ];

    fn is_hitl(self) -> bool {
        matches!(
            self,
            Self::QuietHitl | Self::AskingHitl | Self::StoppingHitl
        )
    }

    fn asks(self) -> bool {
        matches!(self, Self::AskingHitl | Self::StoppingHitl)
    }

    fn graph(self) -> Graph<State> {
        let answer = move |_: State, context: NodeContext| async move {
            if self == Self::Empty {
                return Ok(State::update());
            }
            if self == Self::AskingHitl {
                context.interrupt("Sure?").await?;
            }
            context.token("own").await;
            let update = State::update().push_messages(GraphMessage::agent("own"));
            Ok::<_, NodeError>(match self {
                Self::TextOnly => update,
                _ => update.report(Some(json!({"own": 1}))),
            })
        };
        let mut graph = StateGraph::<State>::new("graph")
            .node("answer", answer)
            .edge(START, "answer")
            .edge("answer", END);
        if self == Self::StoppingHitl {
            graph = graph.interrupt_before(["answer"]);
        }
        let graph = graph.compile().expect("a graph");
        match self {
            Self::WithoutSaver => graph,
            _ => graph.with_saver(MemorySaver::new()),
        }
    }

    async fn serve(self, policy: &str) -> TestServer {
        let agent = GraphAgent::new(self.graph()).data_from("report");
        let server = create_server(card("graph"), agent).upstream_parts_policy(policy);
        start(if self.is_hitl() {
            server.hitl()
        } else {
            server
        })
        .await
    }

    /// The messages of a conversation. An answer to a question has parts of its own, where there is
    /// upstream at all.
    fn says(self, upstream: &[&str]) -> Vec<Say> {
        let mut says = vec![Say::text("go").with(upstream)];
        if self.asks() {
            let later: &[&str] = if upstream.is_empty() { &[] } else { &[LATER] };
            says.push(Say::text("yes").with(later));
        }
        says
    }

    fn answer(self, keeps: bool) -> Content {
        let (text, mut data): (&str, Vec<&str>) = match self {
            Self::Empty => ("", vec![]),
            Self::TextOnly => ("own", vec![]),
            _ => ("own", vec![OWN]),
        };
        let mut files = Vec::new();
        if keeps {
            data.push(r#"{"up":1e400}"#);
            files.push(UP_FILE);
        }
        Content::expect(text, &data, &files)
    }
}

#[tokio::test]
async fn every_kind_of_graph_under_both_policies_with_upstream_and_without() {
    for kind in Kind::ALL {
        for policy in ["replace", "append"] {
            let server = kind.serve(policy).await;
            for upstream in [&[][..], &[UP, UP_FILE]] {
                let what = format!("{kind:?}, {policy}, {upstream:?}");
                let outcome = everywhere(&server, &kind.says(upstream)).await;
                assert_eq!(outcome.state, "TASK_STATE_COMPLETED", "{what}");
                let keeps = policy == "append" && !kind.is_hitl() && !upstream.is_empty();
                let (found, expected) = (outcome.content(), kind.answer(keeps));
                assert!(found.is_same(&expected), "{what}: {found:?} {expected:?}");
                // Its own first result is the first one.
                if let (Some(first), true) =
                    (found.data.first(), kind.answer(false).data.len() == 1)
                {
                    assert_eq!(first, OWN, "{what}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_question_of_a_graph_carries_no_upstream() {
    for kind in [Kind::AskingHitl, Kind::StoppingHitl] {
        for policy in ["replace", "append"] {
            let server = kind.serve(policy).await;
            let says = &kind.says(&[UP, UP_FILE])[..1];
            let outcome = everywhere(&server, says).await;
            assert_eq!(outcome.state, "TASK_STATE_INPUT_REQUIRED");
            assert!(outcome.artifacts.is_empty(), "{kind:?}: {outcome:?}");
            for peer in peers(server.url()) {
                let (_, events) = streaming(&peer, says).await;
                let has_upstream = |event: &llamon_itest::raw::Raw| event.text().contains("1e400");
                let status = events.last().unwrap().at("statusUpdate");
                assert!(!has_upstream(&status), "{status:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_graph_that_fails_keeps_no_upstream() {
    let graph = || {
        let fail = async |_: State, context: NodeContext| -> Result<(), NodeError> {
            context.token("so far").await;
            Err(NodeError::new("it broke"))
        };
        StateGraph::<State>::new("failing")
            .node("fail", fail)
            .edge(START, "fail")
            .edge("fail", END)
            .compile()
            .unwrap()
    };
    for policy in ["replace", "append"] {
        let builder = create_server(card("failing"), graph()).upstream_parts_policy(policy);
        let server = start(builder).await;
        for peer in peers(server.url()) {
            let say = Say::text("go").with(&[UP, UP_FILE]);
            let outcome = Outcome::of_task(&peer.send(&say).await);
            assert_eq!(outcome.state, "TASK_STATE_FAILED");
            // What the node's error says is for the log.
            assert!(!outcome.said.contains("it broke"), "{}", outcome.said);
            let expected = Content::expect("so far", &[], &[]);
            assert!(outcome.content().is_same(&expected), "{outcome:?}");
        }
    }
}
