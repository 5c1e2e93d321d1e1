//! What a caller says about one run.

use std::sync::Arc;

use serde_json::Value;

use crate::event::{Mode, Modes};

/// Settings of one run.
#[derive(Clone, Debug)]
#[must_use]
pub struct RunConfig {
    pub(crate) thread: Option<Arc<str>>,
    pub(crate) namespace: Arc<str>,
    pub(crate) checkpoint: Option<String>,
    pub(crate) metadata: Value,
    pub(crate) recursion_limit: usize,
    pub(crate) max_concurrency: Option<usize>,
    pub(crate) modes: Modes,
}

/// How many super-steps a run may take, unless its config says otherwise; LangGraph's number.
pub const DEFAULT_RECURSION_LIMIT: usize = 10_007;

impl Default for RunConfig {
    /// No thread: for graphs without a saver.
    fn default() -> Self {
        Self {
            thread: None,
            namespace: Arc::from(""),
            checkpoint: None,
            metadata: Value::Null,
            recursion_limit: DEFAULT_RECURSION_LIMIT,
            max_concurrency: None,
            modes: Modes::default(),
        }
    }
}

impl RunConfig {
    /// A run on this thread: its checkpoints are kept under this id. Only one run at a time may be on
    /// a thread.
    pub fn thread(id: impl Into<Arc<str>>) -> Self {
        Self {
            thread: Some(id.into()),
            ..Self::default()
        }
    }

    /// Begins at this checkpoint of the thread instead of its newest: what runs from there is a fork.
    pub fn checkpoint(mut self, id: impl Into<String>) -> Self {
        self.checkpoint = Some(id.into());
        self
    }

    /// For looking into a subgraph: the namespace that its events and its parent's snapshot have.
    pub fn namespace(mut self, namespace: impl Into<Arc<str>>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// JSON of the caller that is kept in every checkpoint of this run.
    pub fn metadata(mut self, metadata: impl Into<Value>) -> Self {
        self.metadata = metadata.into();
        self
    }

    /// How many super-steps the run may take; [`DEFAULT_RECURSION_LIMIT`] if not said.
    pub fn recursion_limit(mut self, limit: usize) -> Self {
        self.recursion_limit = limit;
        self
    }

    /// How many nodes of a super-step may run at the same time (at least 1); all if not said. Each
    /// subgraph counts for itself.
    pub fn max_concurrency(mut self, tasks: usize) -> Self {
        self.max_concurrency = Some(tasks.max(1));
        self
    }

    /// Which events `stream` gives; [`Mode::Updates`] if not said.
    pub fn modes(mut self, modes: impl IntoIterator<Item = Mode>) -> Self {
        self.modes.only(modes);
        self
    }

    /// `stream` gives the events of subgraphs, too.
    pub fn with_subgraphs(mut self) -> Self {
        self.modes.subgraphs = true;
        self
    }
}
