use llamon_graph::GraphState;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Serialize, Deserialize, GraphState)]
struct State {
    #[state(reducer = |a, b| a + b)]
    total: i64,
}

fn main() {}
