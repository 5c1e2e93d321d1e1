use llamon_graph::GraphState;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Serialize, Deserialize, GraphState)]
struct State {
    #[state(appendd)]
    log: Vec<String>,
    #[state(reducer = 7)]
    total: i64,
    answer: Option<String>,
}

fn main() {}
