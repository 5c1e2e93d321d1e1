//! Which errors of a graph its caller reads.

use llamon_graph::GraphError;

use crate::agent_error::AgentError;

/// The error as the end of the task. What stopped the run from outside of its nodes is told; all
/// else may hold what a stranger must not read (texts of nodes' errors, the thread, the saver's
/// file), and is in the log.
pub(super) fn failed(task_id: &str, error: GraphError) -> AgentError {
    match public(&error) {
        Some(text) => {
            tracing::warn!(task = %task_id, %error, "the graph was stopped");
            AgentError::public(text)
        }
        None => error.into(),
    }
}

fn public(error: &GraphError) -> Option<String> {
    match error {
        GraphError::RecursionLimit { limit, .. } => Some(format!(
            "the graph had not come to its end after {limit} super-steps, which is its limit"
        )),
        GraphError::Node { error, .. } => match error.downcast_ref::<GraphError>() {
            // Of a subgraph.
            Some(inner) => public(inner),
            None if error.is_timeout() => Some(format!("a step of the graph was stopped: {error}")),
            None => None,
        },
        _ => None,
    }
}
