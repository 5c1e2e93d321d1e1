use llamon_graph::GraphState;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Serialize, Deserialize, GraphState)]
#[state(append)]
struct State {
    log: Vec<String>,
}

fn main() {}
