//! Every mistake in a graph is told before it runs.

use llamon_graph::{CompileError, END, START, SendTo, StateGraph};

use crate::support::{Log, log};

fn mistakes(graph: StateGraph<Log>) -> Vec<String> {
    let error: CompileError = graph.compile().expect_err("it should not compile");
    error.mistakes().to_vec()
}

fn graph() -> StateGraph<Log> {
    StateGraph::new("test").node("a", log("a"))
}

#[test]
fn a_graph_without_nodes() {
    let mistakes = mistakes(StateGraph::new("empty"));
    assert!(mistakes[0].starts_with("it has no node"), "{mistakes:?}");
}

#[test]
fn a_graph_without_a_start() {
    let mistakes = mistakes(graph().edge("a", END));
    assert_eq!(
        mistakes,
        ["nothing says where it starts; add `.edge(START, \"first\")`"]
    );
}

#[test]
fn edges_of_nodes_that_are_not_there() {
    let graph = graph()
        .edge(START, "a")
        .edge("a", "b")
        .edge("c", END)
        .join(["a", "d"], "a")
        .conditional_edge("a", |_: &Log| END, ["e", END])
        .goto("a", ["f"])
        .interrupt_before(["g"])
        .interrupt_after(["h"]);
    let mistakes = mistakes(graph);
    for (mistake, name) in mistakes.iter().zip(["b", "c", "e", "f", "d", "g", "h"]) {
        let expected = format!("names the node `{name}`, which is not there; the nodes are `a`");
        assert!(mistake.ends_with(&expected), "{mistake}");
    }
    assert_eq!(mistakes.len(), 7, "{mistakes:#?}");
}

#[test]
fn a_name_given_twice() {
    let graph = graph().node("a", log("a")).edge(START, "a").edge("a", END);
    assert_eq!(
        mistakes(graph),
        ["there are two nodes `a`; give one of them another name"]
    );
}

#[test]
fn names_that_no_node_can_have() {
    for name in ["", START, END, "a:b", "a|b"] {
        let graph = graph().node(name, log("x")).edge(START, "a").edge("a", END);
        let mistakes = mistakes(graph);
        assert!(
            mistakes[0].contains("cannot be a node's name"),
            "{mistakes:?}"
        );
    }
}

#[test]
fn a_node_that_nothing_leads_to() {
    let graph = graph()
        .node("island", log("island"))
        .edge(START, "a")
        .edge("a", END)
        .edge("island", END);
    let mistakes = mistakes(graph);
    assert_eq!(mistakes.len(), 1);
    assert!(
        mistakes[0].starts_with("nothing leads to node `island`"),
        "{mistakes:?}"
    );
}

#[test]
fn a_node_that_leads_nowhere() {
    let mistakes = mistakes(graph().edge(START, "a"));
    assert_eq!(
        mistakes,
        ["node `a` leads nowhere; add `.edge(\"a\", END)` if its path ends there"]
    );
}

#[test]
fn a_cycle_without_a_way_out() {
    let graph = graph()
        .node("b", log("b"))
        .edge(START, "a")
        .edge("a", "b")
        .edge("b", "a");
    let mistakes = mistakes(graph);
    assert_eq!(mistakes.len(), 2);
    assert!(
        mistakes[0].starts_with("no path leads from node `a` to the end"),
        "{mistakes:?}"
    );
}

#[test]
fn edges_that_begin_at_the_end_or_lead_to_the_start() {
    let graph = graph().edge(START, "a").edge(END, "a").edge("a", START);
    let mistakes = mistakes(graph);
    assert!(mistakes[0].contains("begins at the end"), "{mistakes:?}");
    assert!(mistakes[1].contains("leads to the start"), "{mistakes:?}");
}

#[test]
fn the_same_edge_and_the_same_join_twice() {
    let graph = graph()
        .node("b", log("b"))
        .node("c", log("c"))
        .edge(START, "a")
        .edge(START, "a")
        .edge(START, "b")
        .join(["a", "b"], "c")
        .join(["b", "a"], "c")
        .edge("c", END);
    let mistakes = mistakes(graph);
    assert_eq!(mistakes.len(), 2, "{mistakes:?}");
    assert!(
        mistakes
            .iter()
            .all(|mistake| mistake.ends_with("is there twice"))
    );
}

#[test]
fn a_join_of_less_than_two_nodes() {
    let graph = graph()
        .node("b", log("b"))
        .edge(START, "a")
        .join(["a", "a"], "b")
        .join([START, "a"], "b")
        .edge("b", END);
    let mistakes = mistakes(graph);
    assert!(mistakes[0].contains("joins nothing"), "{mistakes:?}");
    assert!(
        mistakes[1].contains("is no node; leave it out"),
        "{mistakes:?}"
    );
}

#[test]
fn an_edge_to_a_node_that_takes_an_argument() {
    let work = |_: u8, _| async { Ok(()) };
    let graph = graph()
        .task_node("work", work)
        .edge(START, "a")
        .edge("a", "work")
        .conditional_edge("a", |_: &Log| SendTo::new("work", 1_u8), ["work"])
        .edge("work", END);
    let mistakes = mistakes(graph);
    assert_eq!(mistakes.len(), 1, "{mistakes:?}");
    assert!(
        mistakes[0].contains("only a `SendTo` can bring it"),
        "{mistakes:?}"
    );
}

#[test]
fn a_router_without_targets() {
    let none: [&str; 0] = [];
    let graph = graph()
        .edge(START, "a")
        .conditional_edge("a", |_: &Log| END, none);
    let mistakes = mistakes(graph);
    assert!(mistakes[0].contains("names no target"), "{mistakes:?}");
}

#[test]
fn all_mistakes_are_told_at_once_with_the_name_of_the_graph() {
    let graph = graph().edge(START, "b").edge("c", END);
    let error = graph.compile().unwrap_err().to_string();
    assert!(
        error.starts_with("graph \"test\": 2 mistakes\n  - "),
        "{error}"
    );
}
