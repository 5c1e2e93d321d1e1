//! One task: a node with its input, its tries, and what came of it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::NodeError;
use crate::interrupt::Interrupt;
use crate::node::{Input, NodeOutput};
use crate::plan::Node;
use crate::route::Route;
use crate::saver::PendingWrite;
use crate::{GraphError, GraphState, NodeContext};

/// What came of a task; kept with the checkpoint before it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Record<U> {
    /// It has finished and does not run again.
    Done {
        update: U,
        /// Where it leads besides the node's edges.
        routes: Vec<Route>,
    },
    /// It asks; with no question, a subgraph has stopped before or after a node.
    Interrupted(Vec<Interrupt>),
    /// It failed, and this is why.
    Failed(String),
}

impl<U> Record<U> {
    /// Where it is kept. Questions are kept beside the end that the task came to after them.
    pub(crate) fn slot(&self) -> &'static str {
        match self {
            Self::Interrupted(_) => ASKED,
            Self::Done { .. } | Self::Failed(_) => RECORD,
        }
    }
}

/// The slot of how a task ended.
pub(crate) const RECORD: &str = "record";

/// The slot of what a task asked last.
pub(crate) const ASKED: &str = "asked";

/// What came of a task, as it was kept: that it has finished, else what it asks, else why it failed.
pub(crate) fn kept<U>(task: &str, writes: &[PendingWrite]) -> Kept<U>
where
    U: DeserializeOwned + Send + Sync + 'static,
{
    let ended = kept_in(RECORD, task, writes)?;
    match ended.as_deref() {
        Some(Record::Done { .. }) => Ok(ended),
        _ => Ok(kept_in(ASKED, task, writes)?.or(ended)),
    }
}

pub(crate) fn kept_in<U>(slot: &str, task: &str, writes: &[PendingWrite]) -> Kept<U>
where
    U: DeserializeOwned + Send + Sync + 'static,
{
    let kept = |write: &&PendingWrite| *write.task == *task && &*write.slot == slot;
    let write = writes.iter().find(kept);
    write.map(|write| write.value.get()).transpose()
}

type Kept<U> = Result<Option<Arc<Record<U>>>, serde_json::Error>;

/// A task of a super-step.
pub(crate) struct TaskPlan<S: GraphState> {
    pub(crate) node: Arc<Node<S>>,
    pub(crate) id: Arc<str>,
    pub(crate) input: Input<S>,
    /// What came of it before this run.
    pub(crate) record: Option<Arc<Record<S::Update>>>,
}

/// Runs a node until it has finished, asks, or has failed for good.
pub(crate) async fn run<S: GraphState>(
    node: Arc<Node<S>>,
    input: Input<S>,
    state: Arc<S>,
    context: NodeContext,
) -> Result<Record<S::Update>, NodeError> {
    loop {
        context.next_attempt();
        let tried = attempt(&node, input.clone(), &state, context.clone()).await;
        let attempt = {
            let mut progress = context.progress();
            if progress.stopped || !progress.open.is_empty() {
                return Ok(Record::Interrupted(std::mem::take(&mut progress.open)));
            }
            progress.attempt
        };
        let error = match tried {
            Ok(NodeOutput { update, goto }) => {
                return Ok(Record::Done {
                    update,
                    routes: goto,
                });
            }
            Err(error) => error,
        };
        let retry = node.options.retry.as_ref();
        let Some(wait) = retry.and_then(|retry| retry.wait_after(attempt, &error)) else {
            return Err(error);
        };
        tracing::warn!(node = %node.name, attempt, ?wait, "a node failed and is tried again: {error}");
        tokio::time::sleep(wait).await;
    }
}

async fn attempt<S: GraphState>(
    node: &Node<S>,
    input: Input<S>,
    state: &S,
    context: NodeContext,
) -> Result<NodeOutput<S>, NodeError> {
    let run = async {
        let NodeOutput { update, goto } = (node.run)(input, context).await?;
        let fresh = || {
            let mut fresh = state.clone();
            let write = std::iter::once((&*node.name, update.clone()));
            fresh.apply(write).map_err(GraphError::Update)?;
            Ok(fresh)
        };
        let goto = node.ways.routes(&node.name, goto, fresh)?;
        Ok(NodeOutput { update, goto })
    };
    // A node that panicked is not run again with what it may have left half done.
    let run = AssertUnwindSafe(run).catch_unwind();
    let ended = match node.options.timeout {
        None => run.await,
        Some(timeout) => match tokio::time::timeout(timeout, run).await {
            Ok(ended) => ended,
            Err(_) => return Err(NodeError::timed_out(timeout)),
        },
    };
    ended.unwrap_or_else(|panic| Err(NodeError::panicked(&*panic)))
}
