//! What nodes have said, for whoever shows it again.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a node has said with [`NodeContext::token`](crate::NodeContext::token), all of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Said {
    /// The node.
    pub node: String,
    /// Its text. What it said again after a question is not in it twice.
    pub text: String,
    /// What the caller gave with the run.
    pub metadata: Value,
}

/// The slot of what a task has said.
pub(crate) const SAID: &str = "said";
