//! A graph as a picture.

use llamon_graph::{END, Graph, START, StateGraph};

use crate::support::{Log, log};

fn graph() -> Graph<Log> {
    StateGraph::<Log>::new("a \"graph\"")
        .node("plan", log("plan"))
        .node("left", log("left"))
        .node("right \"hand\"", log("right"))
        .node("done", log("done"))
        .edge(START, "plan")
        .conditional_edge(
            "plan",
            |_: &Log| ["left", "right \"hand\""],
            ["left", "right \"hand\""],
        )
        .join(["left", "right \"hand\""], "done")
        .edge("done", END)
        .compile()
        .unwrap()
}

#[test]
fn as_mermaid() {
    assert_eq!(
        graph().to_mermaid(),
        "flowchart TD
  n0([\"start\"])
  n1[\"done\"]
  n2[\"left\"]
  n3[\"plan\"]
  n4[\"right #quot;hand#quot;\"]
  n5([\"end\"])
  n0 --> n3
  n1 --> n5
  n2 --> n1
  n3 -.-> n2
  n3 -.-> n4
  n4 --> n1
"
    );
}

#[test]
fn as_dot() {
    assert_eq!(
        graph().to_dot(),
        r#"digraph "a \"graph\"" {
  "__start__" [label="start", shape=oval];
  "done" [label="done", shape=box];
  "left" [label="left", shape=box];
  "plan" [label="plan", shape=box];
  "right \"hand\"" [label="right \"hand\"", shape=box];
  "__end__" [label="end", shape=oval];
  "__start__" -> "plan";
  "done" -> "__end__";
  "left" -> "done";
  "plan" -> "left" [style=dashed];
  "plan" -> "right \"hand\"" [style=dashed];
  "right \"hand\"" -> "done";
}
"#
    );
}
