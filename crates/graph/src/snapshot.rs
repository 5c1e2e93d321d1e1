//! What a thread had at one point.

use serde_json::Value;

use crate::interrupt::Interrupt;
use crate::plan::Plan;
use crate::run::task::{ASKED, RECORD, Record, TaskPlan, kept_in};
use crate::run::{self, Point, is_stopped};
use crate::saver::{PendingWrite, Saved, Source};
use crate::{GraphError, GraphState};

/// What a thread had at a checkpoint.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Snapshot<S> {
    /// The state; of the newest checkpoint, with what nodes of the unfinished super-step wrote.
    pub state: S,
    /// The checkpoint's id, for [`RunConfig::checkpoint`](crate::RunConfig::checkpoint).
    pub checkpoint: String,
    /// The checkpoint that it was made from.
    pub parent: Option<String>,
    /// The super-step that it comes after; 0 comes after the first input.
    pub step: i64,
    /// What made it.
    pub source: Source,
    /// Whether it is the end, or what it waits for.
    pub status: Status,
    /// The nodes of the next super-step; of the newest checkpoint, those that have yet to run.
    pub next: Vec<String>,
    /// The tasks of the next super-step, finished ones too.
    pub tasks: Vec<TaskSnapshot>,
    /// The open questions; of an old checkpoint, those that were asked there, answered or not.
    pub interrupts: Vec<Interrupt>,
    /// What the caller gave with the run.
    pub metadata: Value,
}

/// How a thread goes on from a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// Nothing is left to do; it takes new input.
    Finished,
    /// Questions are open: `Resume::value` or `Resume::by_id`.
    Waiting,
    /// It stopped before or after a node: `Resume::proceed`.
    Stopped,
    /// Nodes have yet to run: the run goes on right now, was dropped, failed, or its process died.
    /// `Resume::proceed`.
    Unfinished,
}

/// A task of a super-step.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TaskSnapshot {
    /// Its id.
    pub id: String,
    /// Its node.
    pub node: String,
    /// What it wrote, if it has finished.
    pub result: Option<Value>,
    /// Why it failed, if it has.
    pub error: Option<String>,
    /// Its questions, as in the snapshot.
    pub interrupts: Vec<Interrupt>,
    /// The namespace that its subgraph has, if it has one.
    pub namespace: String,
}

/// Of what was saved. For the newest checkpoint, nodes of the next step that have finished count as
/// such, and questions that have an answer are no longer there.
pub(crate) fn of<S: GraphState>(
    plan: &Plan<S>,
    saved: Saved,
    is_newest: bool,
) -> Result<Snapshot<S>, GraphError> {
    let Saved { checkpoint, writes } = saved;
    let namespace = checkpoint.key.namespace.clone();
    let metadata = checkpoint.body.metadata.clone();
    let at = Point::of(checkpoint)?;
    let plans = run::tasks(plan, &at, &namespace, &writes)?;
    let open = run::open_questions::<S::Update>(&writes)?;
    let mut tasks = Vec::with_capacity(plans.len());
    for task in &plans {
        let mut shown = shown(task, &namespace, &writes).map_err(run::unreadable)?;
        if is_newest {
            shown.interrupts.retain(|asked| open.contains(asked));
        }
        tasks.push(shown);
    }
    let status = if tasks.is_empty() {
        Status::Finished
    } else if !open.is_empty() {
        Status::Waiting
    } else if is_stopped(&writes) || plans.iter().any(is_stopped_inside) {
        Status::Stopped
    } else {
        Status::Unfinished
    };
    let next = (tasks.iter()).filter(|task| !is_newest || task.result.is_none());
    let next = next.map(|task| task.node.clone()).collect();
    let interrupts = tasks
        .iter()
        .flat_map(|task| task.interrupts.iter().cloned());
    let interrupts = interrupts.collect();
    let state = match is_newest {
        true => run::preview(&at.state, plans),
        false => at.state.clone(),
    };
    Ok(Snapshot {
        state: S::clone(&state),
        checkpoint: at.id.to_string(),
        parent: at.parent.as_deref().map(str::to_owned),
        step: at.step,
        source: at.source,
        status,
        next,
        tasks,
        interrupts,
        metadata,
    })
}

fn shown<S: GraphState>(
    task: &TaskPlan<S>,
    namespace: &str,
    writes: &[PendingWrite],
) -> Result<TaskSnapshot, serde_json::Error> {
    let node = task.node.name.to_string();
    let mut shown = TaskSnapshot {
        id: task.id.to_string(),
        namespace: run::inner_namespace(namespace, &node, &task.id),
        node,
        result: None,
        error: None,
        interrupts: Vec::new(),
    };
    match kept_in::<S::Update>(RECORD, &task.id, writes)?.as_deref() {
        Some(Record::Done { update, .. }) => shown.result = Some(serde_json::to_value(update)?),
        Some(Record::Failed(error)) => shown.error = Some(error.clone()),
        Some(Record::Interrupted(_)) | None => {}
    }
    if let Some(Record::Interrupted(asked)) =
        kept_in::<S::Update>(ASKED, &task.id, writes)?.as_deref()
    {
        shown.interrupts.clone_from(asked);
    }
    Ok(shown)
}

/// A subgraph has stopped before or after one of its nodes.
fn is_stopped_inside<S: GraphState>(task: &TaskPlan<S>) -> bool {
    matches!(task.record.as_deref(), Some(Record::Interrupted(asked)) if asked.is_empty())
}
