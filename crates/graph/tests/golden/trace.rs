//! The golden files, read. `itest/graph/README.md` says what each part means.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

#[derive(Clone, Deserialize)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) graph: GraphText,
    pub(crate) saver: bool,
    pub(crate) calls: Vec<Call>,
    #[serde(default)]
    pub(crate) runs: BTreeMap<String, u32>,
    pub(crate) compile_error: Option<Value>,
}

#[derive(Clone, Deserialize)]
pub(crate) struct GraphText {
    pub(crate) state: BTreeMap<String, String>,
    pub(crate) output: Option<Vec<String>>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<(Value, String)>,
    #[serde(default)]
    pub(crate) branches: Vec<Branch>,
    #[serde(default)]
    pub(crate) interrupt_before: Vec<String>,
    #[serde(default)]
    pub(crate) interrupt_after: Vec<String>,
}

impl GraphText {
    /// Whether several nodes may run at the same time, here or in an inner graph.
    pub(crate) fn fans_out(&self) -> bool {
        let froms = self.edges.iter().map(|(from, _)| from);
        let twice = |from: &Value| froms.clone().filter(|other| *other == from).count() > 1;
        let mut inner = self.nodes.iter().filter_map(|node| self.inner(&node.name));
        froms.clone().any(twice)
            || self.branches.iter().any(|branch| branch.pick.is_array())
            || inner.any(GraphText::fans_out)
    }

    /// The inner graph of a node.
    pub(crate) fn inner(&self, node: &str) -> Option<&GraphText> {
        let node = self.nodes.iter().find(|other| other.name == node)?;
        let called = node.steps.iter().find_map(|step| match step {
            Step::CallGraph { graph, .. } => Some(graph),
            _ => None,
        });
        node.graph.as_ref().or(called).map(|graph| &**graph)
    }
}

#[derive(Clone, Deserialize)]
pub(crate) struct Node {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) steps: Vec<Step>,
    pub(crate) graph: Option<Box<GraphText>>,
    pub(crate) retry: Option<Retry>,
}

#[derive(Clone, Deserialize)]
pub(crate) struct Retry {
    pub(crate) max_attempts: u32,
    pub(crate) on: Vec<String>,
}

#[derive(Clone, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(crate) enum Step {
    Return {
        update: Value,
    },
    Command {
        goto: Value,
        update: Value,
    },
    Ask {
        value: Value,
        into: String,
    },
    Emit {
        value: Value,
    },
    Speak {
        id: String,
        pieces: Vec<String>,
    },
    Fail {
        error: String,
        runs: Option<u32>,
    },
    WaitSaved {
        tasks: usize,
    },
    CallGraph {
        graph: Box<GraphText>,
        input: Value,
        update: Value,
    },
}

#[derive(Clone, Deserialize)]
pub(crate) struct Branch {
    pub(crate) from: String,
    pub(crate) pick: Value,
    pub(crate) to: Option<Value>,
}

/// A call and, in `shown`, everything in its object: what was asked and what LangGraph showed.
#[derive(Clone, Deserialize)]
pub(crate) struct Call {
    pub(crate) call: String,
    #[serde(default)]
    pub(crate) modes: Vec<String>,
    #[serde(default)]
    pub(crate) subgraphs: bool,
    #[serde(default = "first_thread")]
    pub(crate) thread: String,
    pub(crate) at: Option<String>,
    pub(crate) limit: Option<u32>,
    #[serde(flatten)]
    pub(crate) shown: BTreeMap<String, Value>,
}

impl Call {
    /// A part of the object; null if it is not there.
    pub(crate) fn part(&self, name: &str) -> Value {
        self.shown.get(name).cloned().unwrap_or(Value::Null)
    }
}

/// All golden files in the order of their names.
pub(crate) fn all() -> Vec<Scenario> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder().join("golden"))
        .expect("itest/graph/golden is in the checkout")
        .map(|entry| entry.expect("a readable folder").path())
        .collect();
    files.sort();
    files
        .iter()
        .map(|file| {
            let text = std::fs::read(file).expect("a readable file");
            serde_json::from_slice(&text)
                .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
        })
        .collect()
}

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../itest/graph")
}

fn first_thread() -> String {
    "thread-1".to_owned()
}
