use llamon_graph::GraphState;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Serialize, Deserialize, GraphState)]
enum State {
    #[default]
    Open,
    Closed,
}

fn main() {}
