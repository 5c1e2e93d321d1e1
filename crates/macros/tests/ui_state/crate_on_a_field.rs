use llamon_graph::GraphState;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Serialize, Deserialize, GraphState)]
struct State {
    #[state(crate = "llamon_graph")]
    log: Vec<String>,
}

fn main() {}
