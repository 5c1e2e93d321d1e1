use llamon_graph::{
    END, Graph, GraphState, MemorySaver, NodeContext, NodeError, RunConfig, START, StateGraph,
};
use serde::{Deserialize, Serialize};

use crate::Outcome;

#[derive(Clone, Debug, Default, Serialize, Deserialize, GraphState)]
pub struct State {
    number: i64,
}

async fn add(state: State, _: NodeContext) -> Result<StateUpdate, NodeError> {
    Ok(State::update().number(state.number + 1))
}

pub fn graph(nodes: usize) -> Outcome<Graph<State>> {
    let mut graph = StateGraph::<State>::new("chain").edge(START, "node-0");
    for node in 0..nodes {
        let next = match node + 1 {
            next if next == nodes => END.to_owned(),
            next => format!("node-{next}"),
        };
        let name = format!("node-{node}");
        graph = graph.node(&name, add).edge(name, next);
    }
    Ok(graph.compile()?.with_saver(MemorySaver::new()))
}

pub async fn run(graph: &Graph<State>, thread: String) -> Outcome<i64> {
    let input = State::update().number(0);
    let outcome = graph.invoke(input, RunConfig::thread(thread)).await?;
    Ok(outcome.into_state().number)
}
