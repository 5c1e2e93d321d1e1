//! One super-step: all of its tasks at the same time.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::task::{self, Record, TaskPlan};
use super::{End, Run, apply_to};
use crate::context::Progress;
use crate::event::{EventData, Mode};
use crate::interrupt::Interrupt;
use crate::node::Input;
use crate::plan::Node;
use crate::route::Route;
use crate::said::{SAID, Said};
use crate::saver::PendingWrite;
use crate::{GraphError, GraphState, NodeError, Stored};

/// How a super-step ended.
pub(super) enum Ended<S: GraphState> {
    Done {
        /// In the order of the tasks.
        done: Vec<Done<S>>,
        /// What is not yet kept.
        last: Vec<PendingWrite>,
    },
    Waits(End<S>),
}

/// A task that has finished.
pub(super) struct Done<S: GraphState> {
    pub(super) node: Arc<Node<S>>,
    /// It had an argument of its own.
    pub(super) is_sent: bool,
    pub(super) update: S::Update,
    pub(super) routes: Vec<Route>,
}

type Ran<U> = Result<Record<U>, NodeError>;

/// What came of a task, and what it has said.
type Spoken<U> = (Ran<U>, String);

impl<S: GraphState> Run<'_, S> {
    pub(super) async fn step(
        &mut self,
        mut tasks: Vec<TaskPlan<S>>,
        writes: &[PendingWrite],
    ) -> Result<Ended<S>, GraphError> {
        for task in &tasks {
            self.show_start(task).await?;
        }
        let mut to_run = Vec::new();
        for (index, task) in tasks.iter().enumerate() {
            match task.record.as_deref() {
                Some(record) if !self.runs_again(record) => {
                    self.show_record(task, record, Shown::Again).await?;
                }
                _ => to_run.push(index),
            }
        }
        let mut last = Vec::new();
        if let [index] = to_run[..] {
            // Alone in its step, it needs no task of the runtime.
            let progress = Progress::of(&tasks[index].id, writes);
            let ran = self.task(&tasks[index], progress).await;
            last.extend(self.ended(&mut tasks, index, ran).await?);
        } else if !to_run.is_empty() {
            let mut running = self.spawn(&tasks, to_run, writes);
            while let Some(joined) = running.join_next().await {
                let (index, ran) = match joined {
                    Ok(ended) => ended,
                    Err(error) => return Err(lost(&error)),
                };
                match self.ended(&mut tasks, index, ran).await {
                    Ok(unkept) => last.extend(unkept),
                    Err(error) => {
                        // Nothing of this step goes on behind the caller's back.
                        running.shutdown().await;
                        return Err(error);
                    }
                }
            }
        }
        self.close(tasks, last).await
    }

    /// A task with open questions runs again when one of them is answered.
    fn runs_again(&self, record: &Record<S::Update>) -> bool {
        match record {
            Record::Done { .. } => false,
            Record::Failed(_) => true,
            Record::Interrupted(open) => {
                let answered = |open: &Interrupt| self.env.answers.contains_key(&open.id);
                open.is_empty() || open.iter().any(answered)
            }
        }
    }

    fn task(
        &self,
        task: &TaskPlan<S>,
        progress: Progress,
    ) -> impl Future<Output = Spoken<S::Update>> + Send + 'static {
        let context = self.context(task, progress);
        let speaker = context.clone();
        let run = task::run(
            task.node.clone(),
            task.input.clone(),
            self.at.state.clone(),
            context,
        );
        async move { (run.await, speaker.take_said()) }
    }

    fn spawn(
        &self,
        tasks: &[TaskPlan<S>],
        to_run: Vec<usize>,
        writes: &[PendingWrite],
    ) -> JoinSet<(usize, Spoken<S::Update>)> {
        let at_once = self.env.max_concurrency;
        let permits = at_once.map(|at_once| Arc::new(Semaphore::new(at_once)));
        let mut running = JoinSet::new();
        for index in to_run {
            let progress = Progress::of(&tasks[index].id, writes);
            let task = self.task(&tasks[index], progress);
            let permits = permits.clone();
            running.spawn(async move {
                let _permit = match &permits {
                    // It is never closed.
                    Some(permits) => permits.acquire().await.ok(),
                    None => None,
                };
                (index, task.await)
            });
        }
        running
    }

    /// Keeps and shows what came of a task. Gives back what the next checkpoint is to keep.
    async fn ended(
        &self,
        tasks: &mut [TaskPlan<S>],
        index: usize,
        (ran, said): Spoken<S::Update>,
    ) -> Result<Vec<PendingWrite>, GraphError> {
        let (record, error) = match ran {
            Ok(record) => (record, None),
            Err(error) => (Record::Failed(error.to_string()), Some(error)),
        };
        let record = Arc::new(record);
        tasks[index].record = Some(record.clone());
        let mut unkept = Vec::new();
        if self.env.saver.is_some() {
            let mut writes = vec![PendingWrite {
                task: tasks[index].id.clone(),
                slot: record.slot().into(),
                value: Stored::shared(record.clone()),
            }];
            if !said.is_empty() {
                writes.push(PendingWrite {
                    task: tasks[index].id.clone(),
                    slot: SAID.into(),
                    value: Stored::new(Said {
                        node: tasks[index].node.name.to_string(),
                        text: said,
                        metadata: self.env.metadata.clone(),
                    }),
                });
            }
            // The last ones are kept together with the checkpoint that follows at once.
            if tasks.iter().all(is_done) {
                unkept = writes;
            } else {
                self.keep(writes).await?;
            }
        }
        self.show_record(&tasks[index], &record, Shown::New).await?;
        match error {
            Some(error) => Err(error.into_graph_error(&tasks[index].node.name)),
            None => Ok(unkept),
        }
    }

    async fn close(
        &self,
        tasks: Vec<TaskPlan<S>>,
        last: Vec<PendingWrite>,
    ) -> Result<Ended<S>, GraphError> {
        if tasks.iter().all(is_done) {
            let done = tasks.into_iter().filter_map(Done::new).collect();
            return Ok(Ended::Done { done, last });
        }
        let mut interrupts = Vec::new();
        let mut next = Vec::new();
        for task in &tasks {
            if let Some(Record::Interrupted(open)) = task.record.as_deref() {
                interrupts.extend(open.iter().cloned());
                next.push(task.node.name.to_string());
            }
        }
        if interrupts.is_empty() && self.namespace.is_empty() {
            self.emit(self.at.step, None, EventData::Interrupt(Vec::new()))
                .await;
        }
        let some_done = tasks.iter().any(is_done);
        let state = preview(&self.at.state, tasks);
        if some_done {
            self.show_values_of(&state).await?;
        }
        Ok(Ended::Waits(End::Interrupted {
            state,
            interrupts,
            next,
        }))
    }

    async fn show_start(&self, task: &TaskPlan<S>) -> Result<(), GraphError> {
        if !self.env.events.wants(Mode::Tasks, &self.namespace) {
            return Ok(());
        }
        let input = match &task.input {
            Input::State(state) => serde_json::to_value(&**state),
            Input::Arg(arg) => arg.to_json(),
        };
        let event = EventData::TaskStarted {
            id: task.id.to_string(),
            input: input.map_err(super::unfit_state)?,
        };
        self.emit(self.at.step + 1, Some(&task.node.name), event)
            .await;
        Ok(())
    }

    async fn show_record(
        &self,
        task: &TaskPlan<S>,
        record: &Record<S::Update>,
        shown: Shown,
    ) -> Result<(), GraphError> {
        let (step, node) = (self.at.step + 1, Some(&*task.node.name));
        let wants = |mode| self.env.events.wants(mode, &self.namespace);
        let update = match record {
            Record::Done { update, .. } if wants(Mode::Updates) || wants(Mode::Tasks) => {
                Some(serde_json::to_value(update).map_err(super::unfit_state)?)
            }
            _ => None,
        };
        match record {
            Record::Done { .. } => {
                if let Some(update) = &update {
                    let event = EventData::Update {
                        update: update.clone(),
                        cached: shown == Shown::Again,
                    };
                    self.emit(step, node, event).await;
                }
            }
            Record::Interrupted(open) if !open.is_empty() => {
                let event = EventData::Interrupt(open.clone());
                self.emit(step, node, event).await;
            }
            Record::Interrupted(_) | Record::Failed(_) => {}
        }
        if !wants(Mode::Tasks) {
            return Ok(());
        }
        let (error, interrupts) = match record {
            Record::Done { .. } => (None, Vec::new()),
            Record::Interrupted(open) => (None, open.clone()),
            Record::Failed(error) => (Some(error.clone()), Vec::new()),
        };
        let event = EventData::TaskFinished {
            id: task.id.to_string(),
            result: update,
            error,
            interrupts,
        };
        self.emit(step, node, event).await;
        Ok(())
    }
}

/// Whether what came of a task is told for the first time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    New,
    Again,
}

impl<S: GraphState> Done<S> {
    fn new(task: TaskPlan<S>) -> Option<Self> {
        match Arc::unwrap_or_clone(task.record?) {
            Record::Done { update, routes } => Some(Self {
                is_sent: matches!(task.input, Input::Arg(_)),
                node: task.node,
                update,
                routes,
            }),
            Record::Interrupted(_) | Record::Failed(_) => None,
        }
    }
}

pub(crate) fn is_done<S: GraphState>(task: &TaskPlan<S>) -> bool {
    matches!(task.record.as_deref(), Some(Record::Done { .. }))
}

/// The state with what the finished tasks of an unfinished step wrote: to be looked at. If that does
/// not go together, the end of the step will say so; until then it is the state before.
pub(crate) fn preview<S: GraphState>(state: &Arc<S>, tasks: Vec<TaskPlan<S>>) -> Arc<S> {
    let mut done: Vec<Done<S>> = tasks.into_iter().filter_map(Done::new).collect();
    if done.is_empty() {
        return state.clone();
    }
    done.sort_by_key(|done| done.is_sent);
    let (nodes, updates): (Vec<_>, Vec<_>) = done
        .into_iter()
        .map(|done| (done.node, done.update))
        .unzip();
    let writes = nodes.iter().map(|node| &*node.name).zip(updates);
    let mut preview = S::clone(state);
    match apply_to(&mut preview, writes) {
        Ok(()) => Arc::new(preview),
        Err(_) => state.clone(),
    }
}

fn lost(error: &tokio::task::JoinError) -> GraphError {
    GraphError::Panic(format!("the runtime dropped a node's task: {error}"))
}
