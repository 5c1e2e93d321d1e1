//! Running a graph: one super-step after the other.

mod start;
mod step;
pub(crate) mod task;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;

pub(crate) use crate::context::inner_namespace;
use crate::context::{Progress, RunEnv, Task};
use crate::error::panic_text;
use crate::event::{Event, EventData, Mode};
use crate::interrupt::Interrupt;
use crate::node::Input;
use crate::plan::{Next, Plan};
use crate::route::Route;
use crate::saver::{Checkpoint, CheckpointBody, CheckpointKey, PendingWrite, SaverError, Source};
use crate::{GraphError, GraphState, NodeContext, Stored, ids};

use task::TaskPlan;

pub(crate) use start::{
    Point, answer_writes, answers, by_hand, is_stopped, load, open_questions, resume,
};
pub(crate) use step::preview;

/// A graph that runs.
pub(crate) struct Run<'g, S: GraphState> {
    plan: &'g Plan<S>,
    env: Arc<RunEnv>,
    namespace: Arc<str>,
    /// The newest point.
    at: Point<S>,
    /// What was kept with that point before this run; empty once a step is made.
    writes: Vec<PendingWrite>,
    /// The state of that point is shown at the beginning.
    shows_start: bool,
    steps_left: usize,
}

/// How a run ended.
pub(crate) enum End<S> {
    Finished(Arc<S>),
    Interrupted {
        state: Arc<S>,
        interrupts: Vec<Interrupt>,
        next: Vec<String>,
    },
}

/// The task of writes that belong to a super-step as a whole.
pub(crate) const WHOLE_STEP: &str = "";

/// The slot that says that the run stopped here because of `interrupt_before` or `interrupt_after`.
pub(crate) const STOPPED: &str = "stopped";

impl<'g, S: GraphState> Run<'g, S> {
    /// Goes on from a point.
    pub(crate) fn new(
        plan: &'g Plan<S>,
        env: Arc<RunEnv>,
        namespace: Arc<str>,
        at: Point<S>,
        writes: Vec<PendingWrite>,
    ) -> Self {
        let steps_left = env.recursion_limit;
        Self {
            plan,
            env,
            namespace,
            at,
            writes,
            shows_start: true,
            steps_left,
        }
    }

    /// Runs until nothing is left to do, or the graph waits.
    pub(crate) async fn run(mut self) -> Result<End<S>, GraphError> {
        if self.shows_start {
            self.show_values().await?;
        }
        self.show_checkpoint().await?;
        loop {
            if self.at.next.is_empty() {
                return Ok(End::Finished(self.at.state));
            }
            if self.steps_left == 0 {
                return Err(GraphError::RecursionLimit {
                    limit: self.env.recursion_limit,
                    next: names(&self.at.next),
                });
            }
            let was_stopped = is_stopped(&self.writes);
            let before = &self.plan.interrupt_before;
            let stops = |route: &Route| before.iter().any(|node| node == route.target());
            if !was_stopped && self.at.next.iter().any(stops) {
                return self.stop().await;
            }
            self.steps_left -= 1;
            let writes = std::mem::take(&mut self.writes);
            let tasks = tasks(self.plan, &self.at, &self.namespace, &writes)?;
            let (done, last) = match self.step(tasks, &writes).await? {
                step::Ended::Done { done, last } => (done, last),
                step::Ended::Waits(end) => return Ok(end),
            };
            let wrote = self.merge(done, last).await?;
            if wrote {
                self.show_values().await?;
            }
            self.show_checkpoint().await?;
            let after = &self.plan.interrupt_after;
            let stops = |node: &String| after.contains(node);
            if !self.at.next.is_empty() && self.at.from.iter().any(stops) {
                return self.stop().await;
            }
        }
    }

    /// Makes the next point of what the tasks of a super-step have done. Whether they wrote anything.
    async fn merge(
        &mut self,
        mut done: Vec<step::Done<S>>,
        last: Vec<PendingWrite>,
    ) -> Result<bool, GraphError> {
        let mut next = Next::new(std::mem::take(&mut self.at.joins));
        for task in &done {
            next.ran(self.plan, &task.node.name);
        }
        for task in &mut done {
            let routes = std::mem::take(&mut task.routes);
            next.after(self.plan, &task.node.name, &task.node.ways, routes);
        }
        let (next, joins) = next.done(self.plan);
        let mut from: Vec<String> = done.iter().map(|done| done.node.name.to_string()).collect();
        from.sort_unstable();
        from.dedup();
        // Tasks with arguments come first and write last, as LangGraph has it.
        done.sort_by_key(|done| done.is_sent);
        let wrote = done
            .iter()
            .any(|done| !crate::Update::is_empty(&done.update));
        if let Err(error) = apply(&mut self.at.state, done) {
            self.keep(last).await?;
            return Err(error);
        }
        self.at.step += 1;
        self.at.next = next;
        self.at.joins = joins;
        self.at.from = from;
        self.at.source = Source::Loop;
        put(&self.env, &self.namespace, &mut self.at, last).await?;
        Ok(wrote)
    }

    /// Adds writes to the newest checkpoint.
    async fn keep(&self, writes: Vec<PendingWrite>) -> Result<(), GraphError> {
        keep(&self.env, &self.key(), writes).await
    }

    async fn stop(self) -> Result<End<S>, GraphError> {
        if self.env.saver.is_none() {
            return Err(GraphError::Thread(format!(
                "graph {:?} stops before or after a node, and has no saver to wait with; give it one \
                 with `.with_saver(...)`",
                self.plan.name
            )));
        }
        self.keep(vec![stopped()]).await?;
        self.emit(self.at.step, None, EventData::Interrupt(Vec::new()))
            .await;
        Ok(End::Interrupted {
            next: names(&self.at.next),
            state: self.at.state,
            interrupts: Vec::new(),
        })
    }

    fn key(&self) -> CheckpointKey {
        self.at.key(&self.env, &self.namespace)
    }

    fn context(&self, task: &TaskPlan<S>, progress: Progress) -> NodeContext {
        NodeContext(Arc::new(Task {
            run: self.env.clone(),
            node: task.node.name.clone(),
            id: task.id.clone(),
            step: self.at.step + 1,
            steps_left: self.steps_left,
            namespace: self.namespace.clone(),
            checkpoint: self.key(),
            progress: std::sync::Mutex::new(progress),
        }))
    }

    async fn show_values(&self) -> Result<(), GraphError> {
        self.show_values_of(&self.at.state).await
    }

    async fn show_values_of(&self, state: &S) -> Result<(), GraphError> {
        if self.env.events.wants(Mode::Values, &self.namespace) {
            let values = serde_json::to_value(state).map_err(unfit_state)?;
            self.emit(self.at.step, None, EventData::Values(values))
                .await;
        }
        Ok(())
    }

    async fn show_checkpoint(&self) -> Result<(), GraphError> {
        let wanted = self.env.events.wants(Mode::Checkpoints, &self.namespace);
        if wanted && self.env.saver.is_some() {
            let event = EventData::Checkpoint {
                id: self.at.id.to_string(),
                parent: self.at.parent.as_deref().map(str::to_owned),
                source: self.at.source,
                values: serde_json::to_value(&*self.at.state).map_err(unfit_state)?,
                next: names(&self.at.next),
            };
            self.emit(self.at.step, None, event).await;
        }
        Ok(())
    }

    async fn emit(&self, step: i64, node: Option<&str>, data: EventData) {
        let event = Event {
            namespace: self.namespace.clone(),
            step,
            node: node.map(str::to_owned),
            replayed: false,
            data,
        };
        self.env.events.emit(event).await;
    }
}

/// Says that a point is one where the run has stopped, and does not stop again.
pub(crate) fn stopped() -> PendingWrite {
    PendingWrite {
        task: WHOLE_STEP.into(),
        slot: STOPPED.into(),
        value: Stored::new(Value::Bool(true)),
    }
}

/// The tasks of the super-step after a point, with what came of them before.
pub(crate) fn tasks<S: GraphState>(
    plan: &Plan<S>,
    at: &Point<S>,
    namespace: &str,
    writes: &[PendingWrite],
) -> Result<Vec<TaskPlan<S>>, GraphError> {
    let step = (at.step + 1).to_string();
    let tasks = at.next.iter().enumerate().map(|(index, route)| {
        let name = route.target();
        let Some(node) = plan.nodes.get(name) else {
            return Err(GraphError::Saver(SaverError::new(format!(
                "the thread goes on at node `{name}`, which graph {:?} does not have; was it renamed \
                 since? Give the node its old name back, or begin a new thread",
                plan.name
            ))));
        };
        let (input, index) = match route {
            Route::Node(_) => (Input::State(at.state.clone()), String::new()),
            Route::Send(send) => (Input::Arg(send.arg.clone()), index.to_string()),
        };
        let id = ids::derived(&[&at.id, namespace, &step, name, &index]);
        Ok(TaskPlan {
            node: node.clone(),
            record: task::kept(&id, writes).map_err(unreadable)?,
            id: id.into(),
            input,
        })
    });
    tasks.collect()
}

/// Merges what nodes wrote, in this order.
fn apply<S: GraphState>(state: &mut Arc<S>, done: Vec<step::Done<S>>) -> Result<(), GraphError> {
    let state = Arc::make_mut(state);
    let (nodes, updates): (Vec<_>, Vec<_>) = done
        .into_iter()
        .map(|done| (done.node, done.update))
        .unzip();
    let writes = nodes.iter().map(|node| &*node.name).zip(updates);
    apply_to(state, writes)
}

/// A reducer that panics is an error of the run.
pub(crate) fn apply_to<'n, S: GraphState>(
    state: &mut S,
    writes: impl Iterator<Item = (&'n str, S::Update)>,
) -> Result<(), GraphError> {
    // The state is not looked at again after a panic.
    match catch_unwind(AssertUnwindSafe(|| state.apply(writes))) {
        Ok(applied) => Ok(applied?),
        Err(panic) => {
            let text = panic_text(&*panic);
            Err(GraphError::Panic(format!("a reducer panicked: {text}")))
        }
    }
}

/// Makes a checkpoint of a point that is made of another one by hand. If the run had stopped there, it
/// has stopped here.
pub(crate) async fn put_in_place<S: GraphState>(
    env: &RunEnv,
    namespace: &Arc<str>,
    at: &mut Point<S>,
    writes: &[PendingWrite],
    last: Vec<PendingWrite>,
) -> Result<Vec<PendingWrite>, GraphError> {
    put(env, namespace, at, last).await?;
    if !is_stopped(writes) {
        return Ok(Vec::new());
    }
    keep(env, &at.key(env, namespace), vec![stopped()]).await?;
    Ok(vec![stopped()])
}

/// Adds writes to a checkpoint.
pub(crate) async fn keep(
    env: &RunEnv,
    key: &CheckpointKey,
    writes: Vec<PendingWrite>,
) -> Result<(), GraphError> {
    if let (Some(saver), false) = (&env.saver, writes.is_empty()) {
        saver.put_writes(key, writes).await?;
    }
    Ok(())
}

/// Makes a checkpoint of a point, whose id it then has.
pub(crate) async fn put<S: GraphState>(
    env: &RunEnv,
    namespace: &Arc<str>,
    at: &mut Point<S>,
    last: Vec<PendingWrite>,
) -> Result<(), GraphError> {
    let id: Arc<str> = ids::new().into();
    let parent = std::mem::replace(&mut at.id, id);
    at.parent = (!parent.is_empty()).then_some(parent);
    let Some(saver) = &env.saver else {
        return Ok(());
    };
    let checkpoint = Checkpoint {
        key: at.key(env, namespace),
        parent: at.parent.clone(),
        body: CheckpointBody {
            step: at.step,
            source: at.source,
            state: Stored::shared(at.state.clone()),
            next: at.next.clone(),
            from: at.from.clone(),
            joins: at.joins.clone(),
            metadata: env.metadata.clone(),
        },
    };
    Ok(saver.put(checkpoint, last).await?)
}

pub(crate) fn names(next: &[Route]) -> Vec<String> {
    next.iter().map(|route| route.target().to_owned()).collect()
}

pub(crate) fn unreadable(error: serde_json::Error) -> GraphError {
    let error = SaverError::new(
        "what was kept of the thread does not fit the graph's types; have they changed? Give new \
         fields `#[serde(default)]`, or begin a new thread",
    )
    .caused_by(error);
    GraphError::Saver(error)
}

pub(crate) fn unfit_state(error: serde_json::Error) -> GraphError {
    GraphError::Saver(SaverError::new("the state cannot be JSON").caused_by(error))
}

pub(crate) type Joins = BTreeMap<String, Vec<String>>;
