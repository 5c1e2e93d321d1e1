use llamon_graph::GraphState;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Serialize, Deserialize, GraphState)]
struct State {
    #[state(reducer)]
    total: i64,
}

fn main() {}
