use llamon_graph::GraphState;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Serialize, Deserialize, GraphState)]
struct State {
    #[state(append = "yes")]
    log: Vec<String>,
}

fn main() {}
