//! What a node knows and can do while it runs.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::event::{Emitter, Event, EventData};
use crate::interrupt::{Interrupt, Question};
use crate::saver::{CheckpointKey, PendingWrite, Saver};
use crate::{NodeError, Stored, ids};

/// The task that a node runs for: asks, tells, and keeps effects from happening twice.
#[derive(Clone)]
pub struct NodeContext(pub(crate) Arc<Task>);

/// One run of one node.
pub(crate) struct Task {
    pub(crate) run: Arc<RunEnv>,
    pub(crate) node: Arc<str>,
    pub(crate) id: Arc<str>,
    pub(crate) step: i64,
    pub(crate) steps_left: usize,
    /// Of the graph that the node is in.
    pub(crate) namespace: Arc<str>,
    /// That its writes belong to.
    pub(crate) checkpoint: CheckpointKey,
    pub(crate) progress: Mutex<Progress>,
}

/// What the whole run shares, subgraphs too.
pub(crate) struct RunEnv {
    pub(crate) thread: Arc<str>,
    pub(crate) saver: Option<Arc<dyn Saver>>,
    pub(crate) events: Emitter,
    /// All answers, old and new, by the ids of their questions.
    pub(crate) answers: HashMap<String, Value>,
    pub(crate) metadata: Value,
    pub(crate) recursion_limit: usize,
    pub(crate) max_concurrency: Option<usize>,
}

/// What changes while a task runs.
#[derive(Default)]
pub(crate) struct Progress {
    pub(crate) attempt: u32,
    /// How many questions this attempt has asked.
    asked: usize,
    /// Those of them that have no answer.
    pub(crate) open: Vec<Interrupt>,
    /// How many graphs this attempt has run.
    ran: usize,
    /// One of them waits.
    pub(crate) stopped: bool,
    /// Results of `once`, by their slots.
    memos: HashMap<String, Stored>,
    /// The text that was said for the first time.
    said: String,
}

const MEMO: &str = "once:";

impl Progress {
    /// Before the first try, with what `once` has kept for the task.
    pub(crate) fn of(task: &str, writes: &[PendingWrite]) -> Self {
        let of_task = |write: &&PendingWrite| *write.task == *task && write.slot.starts_with(MEMO);
        let memos = writes.iter().filter(of_task);
        Self {
            memos: memos
                .map(|write| (write.slot.to_string(), write.value.clone()))
                .collect(),
            ..Self::default()
        }
    }
}

impl NodeContext {
    /// Asks the outside, and waits for the answer: the run ends as interrupted, and when it is
    /// resumed the node runs again from its top. Then this returns the answer.
    ///
    /// A node may ask any number of questions, one after the other or, with `join!`, at once. Answers
    /// belong to questions by the order of the calls, so that must be the same in each run. What a
    /// node did before it asked, it does again: see [`once`](Self::once).
    ///
    /// Cancel-safe, but a call counts when it is made.
    ///
    /// # Errors
    /// While there is no answer; return the error. Also when the graph has no saver.
    pub async fn interrupt(&self, value: impl Into<Value>) -> Result<Value, NodeError> {
        self.ask(Question::new(value)).await
    }

    /// [`interrupt`](Self::interrupt) with a schema for the answer.
    ///
    /// # Errors
    /// As `interrupt`.
    #[expect(
        clippy::unused_async,
        reason = "a question that waits inside the run may come without a change of the callers"
    )]
    pub async fn ask(&self, question: Question) -> Result<Value, NodeError> {
        if self.0.run.saver.is_none() {
            return Err(NodeError::new(
                "it asks a question, and the graph has no saver to wait with; give it one with \
                 `.with_saver(...)`",
            ));
        }
        let mut progress = self.progress();
        let id = interrupt_id(&self.0.id, progress.asked);
        progress.asked += 1;
        if let Some(answer) = self.0.run.answers.get(&id) {
            return Ok(answer.clone());
        }
        progress.open.push(Interrupt {
            id,
            node: self.0.node.to_string(),
            value: question.value,
            schema: question.schema,
        });
        Err(NodeError::interrupted())
    }

    /// Makes an effect once: when the node runs again, because of a question, a retry or a crash, its
    /// result is taken from the saver and `effect` is dropped.
    ///
    /// `key` names the effect within the node. A crash while the effect is being made or kept makes
    /// it again: give what must not happen twice an idempotency key of its own.
    ///
    /// Not cancel-safe: what `effect` did is done.
    ///
    /// # Errors
    /// Those of `effect`, which are not kept; and when its result cannot be kept or read back.
    pub async fn once<T>(
        &self,
        key: &str,
        effect: impl Future<Output = Result<T, NodeError>>,
    ) -> Result<T, NodeError>
    where
        T: Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
    {
        let slot = format!("{MEMO}{key}");
        let memo = self.progress().memos.get(&slot).cloned();
        if let Some(memo) = memo {
            return Ok(Arc::unwrap_or_clone(memo.get::<T>()?));
        }
        let result = Arc::new(effect.await?);
        let value = Stored::shared(result.clone());
        if let Some(saver) = &self.0.run.saver {
            let write = PendingWrite {
                task: self.0.id.clone(),
                slot: slot.as_str().into(),
                value: value.clone(),
            };
            saver.put_writes(&self.0.checkpoint, vec![write]).await?;
        }
        self.progress().memos.insert(slot, value);
        Ok(Arc::unwrap_or_clone(result))
    }

    /// Sends JSON to the reader of the stream, and waits while the reader is behind.
    pub async fn write(&self, value: impl Into<Value>) {
        self.emit(|| EventData::Custom(value.into())).await;
    }

    /// Sends a piece of text to the reader of the stream, as a model gives it; waits while the reader
    /// is behind.
    ///
    /// With a saver, what a node has said is kept when it ends; see [`Graph::said`](crate::Graph::said).
    pub async fn token(&self, text: impl Into<String>) {
        let text = text.into();
        if self.0.run.saver.is_some() && !self.is_replay() {
            self.progress().said.push_str(&text);
        }
        self.emit(|| EventData::Token(text)).await;
    }

    /// The node.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.0.node
    }

    /// The task's id: the same when the node runs again in this super-step.
    #[must_use]
    pub fn task_id(&self) -> &str {
        &self.0.id
    }

    /// The thread; empty without a saver.
    #[must_use]
    pub fn thread(&self) -> &str {
        &self.0.run.thread
    }

    /// The namespace of the graph that the node is in: empty unless it is a subgraph.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.0.namespace
    }

    /// The super-step; the first nodes of a thread run in step 1.
    #[must_use]
    pub fn step(&self) -> i64 {
        self.0.step
    }

    /// How many super-steps the graph may still take after this one.
    #[must_use]
    pub fn steps_left(&self) -> usize {
        self.0.steps_left
    }

    /// Which try this is: 1, and more after retries.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.progress().attempt
    }

    /// What the caller gave with the run.
    #[must_use]
    pub fn metadata(&self) -> &Value {
        &self.0.run.metadata
    }

    /// What the node has said, once it has ended.
    pub(crate) fn take_said(&self) -> String {
        std::mem::take(&mut self.progress().said)
    }

    pub(crate) fn progress(&self) -> MutexGuard<'_, Progress> {
        // Each change is one assignment; a panic leaves nothing half done.
        self.0
            .progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// A new try: its questions are counted from the first.
    pub(crate) fn next_attempt(&self) {
        let mut progress = self.progress();
        progress.attempt += 1;
        progress.asked = 0;
        progress.ran = 0;
        progress.open.clear();
        progress.stopped = false;
    }

    /// The namespace of the next graph that this node runs.
    pub(crate) fn inner_namespace(&self) -> Arc<str> {
        let mut progress = self.progress();
        progress.ran += 1;
        let namespace = inner_namespace(&self.0.namespace, &self.0.node, &self.0.id);
        match progress.ran {
            1 => namespace.into(),
            count => format!("{namespace}:{count}").into(),
        }
    }

    /// Whether the node says again what it had said before it asked: the question that comes next has
    /// its answer.
    fn is_replay(&self) -> bool {
        let answers = &self.0.run.answers;
        let asked = self.progress().asked;
        !answers.is_empty() && answers.contains_key(&interrupt_id(&self.0.id, asked))
    }

    async fn emit(&self, data: impl FnOnce() -> EventData) {
        let events = &self.0.run.events;
        if events.is_on() {
            let event = Event {
                namespace: self.0.namespace.clone(),
                step: self.0.step,
                node: Some(self.0.node.to_string()),
                replayed: self.is_replay(),
                data: data(),
            };
            events.emit(event).await;
        }
    }
}

impl fmt::Debug for NodeContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeContext")
            .field("node", &self.0.node)
            .field("step", &self.0.step)
            .field("namespace", &self.0.namespace)
            .finish_non_exhaustive()
    }
}

/// The namespace of a graph that a task runs.
pub(crate) fn inner_namespace(namespace: &str, node: &str, task: &str) -> String {
    let between = if namespace.is_empty() { "" } else { "|" };
    format!("{namespace}{between}{node}:{task}")
}

/// The same for the same question of a task in each of its runs.
fn interrupt_id(task: &str, index: usize) -> String {
    ids::derived(&[task, &index.to_string()])
}
