use adk_graph::{
    CompiledGraph, END, ExecutionConfig, MemoryCheckpointer, NodeOutput, START, State, StateGraph,
};
use serde_json::json;

use crate::Outcome;

pub fn graph(nodes: usize) -> Outcome<CompiledGraph> {
    let mut graph = StateGraph::with_channels(&["number"]).add_edge(START, "node-0");
    for node in 0..nodes {
        let next = match node + 1 {
            next if next == nodes => END.to_owned(),
            next => format!("node-{next}"),
        };
        let name = format!("node-{node}");
        graph = graph
            .add_node_fn(&name, |context| async move {
                let number = context.get_as::<i64>("number").unwrap_or_default();
                Ok(NodeOutput::new().with_update("number", number + 1))
            })
            .add_edge(&name, &next);
    }
    let graph = graph.compile()?;
    Ok(graph.with_checkpointer(MemoryCheckpointer::new()))
}

pub async fn run(graph: &CompiledGraph, thread: String) -> Outcome<i64> {
    let input = State::from([("number".to_owned(), json!(0))]);
    let state = graph.invoke(input, ExecutionConfig::new(&thread)).await?;
    Ok(state
        .get("number")
        .and_then(serde_json::Value::as_i64)
        .unwrap_or_default())
}
