//! Where a run begins: with an input, or where another one stopped.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::step::is_done;
use super::task::{self, ASKED, RECORD, Record, TaskPlan};
use super::{End, Joins, Run, STOPPED, WHOLE_STEP, apply_to, put, tasks, unreadable};
use crate::context::RunEnv;
use crate::error::{panic_text, quoted};
use crate::interrupt::{Answers, Interrupt, Resume};
use crate::plan::{Next, Plan};
use crate::route::{Route, START};
use crate::saver::{Checkpoint, CheckpointKey, PendingWrite, Saved, Source};
use crate::{GraphError, GraphState, Stored, Update as _};

/// A point between two super-steps.
pub(crate) struct Point<S> {
    /// Of its checkpoint; also without a saver, for the ids of tasks. Empty before the first.
    pub(crate) id: Arc<str>,
    pub(crate) parent: Option<Arc<str>>,
    pub(crate) step: i64,
    pub(crate) source: Source,
    pub(crate) state: Arc<S>,
    pub(crate) next: Vec<Route>,
    pub(crate) from: Vec<String>,
    pub(crate) joins: Joins,
}

impl<S: GraphState> Point<S> {
    /// Before anything has happened.
    pub(crate) fn fresh() -> Self {
        Self {
            id: "".into(),
            parent: None,
            step: -2,
            source: Source::Input,
            state: Arc::default(),
            next: Vec::new(),
            from: Vec::new(),
            joins: Joins::new(),
        }
    }

    /// The same after another step.
    pub(crate) fn with_step(mut self, step: i64) -> Self {
        self.step = step;
        self
    }

    /// As it was kept.
    pub(crate) fn of(checkpoint: Checkpoint) -> Result<Self, GraphError> {
        let body = checkpoint.body;
        Ok(Self {
            id: checkpoint.key.id,
            parent: checkpoint.parent,
            step: body.step,
            source: body.source,
            state: body.state.get::<S>().map_err(unreadable)?,
            next: body.next,
            from: body.from,
            joins: body.joins,
        })
    }

    /// What names its checkpoint.
    pub(crate) fn key(&self, env: &RunEnv, namespace: &Arc<str>) -> CheckpointKey {
        CheckpointKey {
            thread: env.thread.clone(),
            namespace: namespace.clone(),
            id: self.id.clone(),
        }
    }

    /// The point after a write in the name of a node, or of the start. Its id is still the old one.
    pub(crate) fn after(
        mut self,
        plan: &Plan<S>,
        node: &str,
        update: S::Update,
        source: Source,
    ) -> Result<Self, GraphError> {
        let Some(ways) = plan.ways(node) else {
            return Err(GraphError::Thread(format!(
                "graph {:?} has no node `{node}` to write in the name of; the nodes are {}",
                plan.name,
                quoted(plan.nodes.keys())
            )));
        };
        apply_to(
            Arc::make_mut(&mut self.state),
            std::iter::once((node, update)),
        )?;
        let fresh = || Ok(S::clone(&self.state));
        let routes = catch_unwind(AssertUnwindSafe(|| ways.routes(node, Vec::new(), fresh)));
        let routes = routes.unwrap_or_else(|panic| {
            let text = panic_text(&*panic);
            let message = format!("the conditional edge from `{node}` panicked: {text}");
            Err(GraphError::Panic(message))
        })?;
        let mut next = Next::new(self.joins);
        next.after(plan, node, ways, routes);
        (self.next, self.joins) = next.done(plan);
        self.from = vec![node.to_owned()];
        self.step += 1;
        self.source = source;
        Ok(self)
    }
}

/// The newest checkpoint, or the one with this id.
pub(crate) async fn load(
    env: &RunEnv,
    namespace: &str,
    id: Option<&str>,
) -> Result<Option<Saved>, GraphError> {
    let Some(saver) = &env.saver else {
        return Ok(None);
    };
    let saved = saver.get(&env.thread, namespace, id).await?;
    match (&saved, id) {
        (None, Some(id)) => Err(GraphError::Thread(format!(
            "thread {:?} has no checkpoint {id:?}; `graph.history(..)` lists those that it has",
            env.thread
        ))),
        _ => Ok(saved),
    }
}

impl<'g, S: GraphState> Run<'g, S> {
    /// Begins with an input, on top of what the thread has.
    pub(crate) async fn begin(
        plan: &'g Plan<S>,
        env: Arc<RunEnv>,
        namespace: Arc<str>,
        saved: Option<Saved>,
        input: S::Update,
    ) -> Result<Self, GraphError> {
        let mut at = match saved {
            Some(saved) => Point::of(saved.checkpoint)?,
            None => Point::fresh(),
        };
        // What an earlier run has left unfinished is not mixed with this one.
        at.joins = Joins::new();
        // LangGraph counts the input and the start, and so the first nodes are in step 1.
        at.step += 1;
        let shows_start = !input.is_empty();
        let mut at = at.after(plan, START, input, Source::Input)?;
        put(&env, &namespace, &mut at, Vec::new()).await?;
        let run = Self::new(plan, env, namespace, at, Vec::new());
        Ok(Self { shows_start, ..run })
    }

    /// Runs as a subgraph: begins, or goes on where an earlier run of the same task stopped.
    pub(crate) async fn nested(
        plan: &'g Plan<S>,
        env: Arc<RunEnv>,
        namespace: Arc<str>,
        input: S::Update,
    ) -> Result<End<S>, GraphError> {
        let run = match load(&env, &namespace, None).await? {
            None => Self::begin(plan, env, namespace, None, input).await?,
            Some(saved) => {
                let at = Point::of(saved.checkpoint)?;
                Self::new(plan, env, namespace, at, saved.writes)
            }
        };
        run.run().await
    }
}

/// Checks a resumption against what was saved. Gives back the new answers by id.
pub(crate) fn resume<U>(
    thread: &str,
    saved: &Saved,
    resume: Resume,
) -> Result<Vec<(String, Value)>, GraphError>
where
    U: DeserializeOwned + Send + Sync + 'static,
{
    let wrong = |message: String| Err(GraphError::Thread(message));
    if saved.checkpoint.body.next.is_empty() {
        return wrong(format!(
            "thread {thread:?} has finished, and there is nothing to resume; give it new input with \
             `invoke` or `stream`"
        ));
    }
    let open = open_questions::<U>(&saved.writes)?;
    let ids = || quoted(open.iter().map(|open| &open.id));
    match resume.0 {
        Answers::None if open.is_empty() => Ok(Vec::new()),
        Answers::None => wrong(format!(
            "thread {thread:?} waits for answers to {}; resume it with `Resume::by_id([(id, answer)])`",
            ids()
        )),
        Answers::One(answer) => match &open[..] {
            [open] => Ok(vec![(open.id.clone(), answer)]),
            [] => wrong(format!(
                "no question is open in thread {thread:?}; go on with `Resume::proceed()`"
            )),
            _ => wrong(format!(
                "{} questions are open in thread {thread:?}, and one answer does not say whose it is; \
                 resume with `Resume::by_id([(id, answer)])`, the ids are {}",
                open.len(),
                ids()
            )),
        },
        Answers::ById(answers) => {
            for (index, (id, _)) in answers.iter().enumerate() {
                if !open.iter().any(|open| open.id == *id) {
                    return wrong(match open.is_empty() {
                        true => format!(
                            "no question is open in thread {thread:?}, so none has the id {id:?}; go on \
                             with `Resume::proceed()`"
                        ),
                        false => format!(
                            "no open question of thread {thread:?} has the id {id:?}; the open ones are {}",
                            ids()
                        ),
                    });
                }
                if answers[..index].iter().any(|(earlier, _)| earlier == id) {
                    return wrong(format!(
                        "the question {id:?} is answered twice; leave one answer out"
                    ));
                }
            }
            if answers.is_empty() && !open.is_empty() {
                return wrong(format!(
                    "there is no answer; the open questions of thread {thread:?} are {}",
                    ids()
                ));
            }
            Ok(answers)
        }
    }
}

/// The record of a task that was done by hand instead of by its node, if it was next.
pub(crate) fn by_hand<S: GraphState>(
    plan: &Plan<S>,
    at: &Point<S>,
    namespace: &str,
    writes: &[PendingWrite],
    node: &str,
    update: &S::Update,
) -> Result<Vec<PendingWrite>, GraphError> {
    let tasks = tasks(plan, at, namespace, writes)?;
    let task = (tasks.iter()).find(|task| *task.node.name == *node && !is_done(task));
    let record = |task: &TaskPlan<S>| PendingWrite {
        task: task.id.clone(),
        slot: RECORD.into(),
        value: Stored::new(Record::Done {
            update: update.clone(),
            routes: Vec::new(),
        }),
    };
    Ok(task.map(record).into_iter().collect())
}

const ANSWER: &str = "answer:";

/// Answers as writes of a checkpoint.
pub(crate) fn answer_writes(answers: &[(String, Value)]) -> Vec<PendingWrite> {
    let write = |(id, answer): &(String, Value)| PendingWrite {
        task: WHOLE_STEP.into(),
        slot: format!("{ANSWER}{id}").into(),
        value: Stored::new(answer.clone()),
    };
    answers.iter().map(write).collect()
}

/// The answers among the writes of a checkpoint.
pub(crate) fn answers(writes: &[PendingWrite]) -> Result<HashMap<String, Value>, GraphError> {
    let answers = writes.iter().filter_map(|write| {
        let id = write.slot.strip_prefix(ANSWER)?;
        let answer = write.value.to_json().map_err(unreadable);
        Some(answer.map(|answer| (id.to_owned(), answer)))
    });
    answers.collect()
}

/// The questions among the writes of a checkpoint that have no answer.
pub(crate) fn open_questions<U>(writes: &[PendingWrite]) -> Result<Vec<Interrupt>, GraphError>
where
    U: DeserializeOwned + Send + Sync + 'static,
{
    let answers = answers(writes)?;
    let mut open = Vec::new();
    for write in writes.iter().filter(|write| &*write.slot == ASKED) {
        let record = task::kept::<U>(&write.task, writes).map_err(unreadable)?;
        if let Some(Record::Interrupted(asked)) = record.as_deref() {
            let unanswered = asked
                .iter()
                .filter(|asked| !answers.contains_key(&asked.id));
            open.extend(unanswered.cloned());
        }
    }
    Ok(open)
}

/// Whether the run stopped there because of `interrupt_before` or `interrupt_after`.
pub(crate) fn is_stopped(writes: &[PendingWrite]) -> bool {
    writes.iter().any(|write| &*write.slot == STOPPED)
}
