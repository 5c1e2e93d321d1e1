//! Where checkpoints are kept.

mod memory;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Stored;
use crate::route::Route;

pub use memory::MemorySaver;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteSaver;

/// What a saver's methods return.
pub type SaverFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, SaverError>> + Send + 'a>>;

/// Keeps the checkpoints of threads, so that a run can go on later, elsewhere, or from an old point.
///
/// When a method's future is done, what it put is as safe as the saver makes it: the graph waits for
/// that before it goes on. A future that is dropped may or may not have put it.
pub trait Saver: Send + Sync + 'static {
    /// Adds a checkpoint; it is now the newest of its thread and namespace. `last` are writes to the
    /// checkpoint that it was made from: both are kept, or none.
    fn put(&self, checkpoint: Checkpoint, last: Vec<PendingWrite>) -> SaverFuture<'_, ()>;

    /// Adds writes to a checkpoint. One with the task and slot of another one takes its place.
    fn put_writes<'a>(
        &'a self,
        of: &'a CheckpointKey,
        writes: Vec<PendingWrite>,
    ) -> SaverFuture<'a, ()>;

    /// The checkpoint with this id, or the newest one; with its writes.
    fn get<'a>(
        &'a self,
        thread: &'a str,
        namespace: &'a str,
        id: Option<&'a str>,
    ) -> SaverFuture<'a, Option<Saved>>;

    /// All checkpoints, newest first.
    fn list<'a>(&'a self, thread: &'a str, namespace: &'a str) -> SaverFuture<'a, Vec<Saved>>;

    /// Forgets a thread with all its namespaces.
    fn delete_thread<'a>(&'a self, thread: &'a str) -> SaverFuture<'a, ()>;
}

impl<T: Saver + ?Sized> Saver for Arc<T> {
    fn put(&self, checkpoint: Checkpoint, last: Vec<PendingWrite>) -> SaverFuture<'_, ()> {
        (**self).put(checkpoint, last)
    }

    fn put_writes<'a>(
        &'a self,
        of: &'a CheckpointKey,
        writes: Vec<PendingWrite>,
    ) -> SaverFuture<'a, ()> {
        (**self).put_writes(of, writes)
    }

    fn get<'a>(
        &'a self,
        thread: &'a str,
        namespace: &'a str,
        id: Option<&'a str>,
    ) -> SaverFuture<'a, Option<Saved>> {
        (**self).get(thread, namespace, id)
    }

    fn list<'a>(&'a self, thread: &'a str, namespace: &'a str) -> SaverFuture<'a, Vec<Saved>> {
        (**self).list(thread, namespace)
    }

    fn delete_thread<'a>(&'a self, thread: &'a str) -> SaverFuture<'a, ()> {
        (**self).delete_thread(thread)
    }
}

/// What names a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CheckpointKey {
    /// The thread.
    pub thread: Arc<str>,
    /// Empty for the graph itself, else the subgraph's place: `node:task`, with `|` between several.
    pub namespace: Arc<str>,
    /// The checkpoint's id: a UUID of version 7.
    pub id: Arc<str>,
}

/// The state between two super-steps.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// What names it.
    pub key: CheckpointKey,
    /// The checkpoint that it was made from.
    pub parent: Option<Arc<str>>,
    /// What is in it.
    pub body: CheckpointBody,
}

/// What is in a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CheckpointBody {
    /// The super-step that it comes after; 0 comes after the first input.
    pub step: i64,
    /// What made it.
    pub source: Source,
    /// The state, a JSON object.
    pub state: Stored,
    /// What runs next.
    pub next: Vec<Route>,
    /// The nodes that made it.
    pub from: Vec<String>,
    /// For each join that waits for more, the nodes that have come.
    pub joins: BTreeMap<String, Vec<String>>,
    /// What the caller gave with the run.
    pub metadata: Value,
}

/// What made a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Source {
    /// The input of a run.
    Input,
    /// A super-step.
    Loop,
    /// `update_state`.
    Update,
    /// A run from an old checkpoint.
    Fork,
}

/// Something that belongs to a checkpoint and came after it: what a task of the next super-step wrote
/// or asks, an answer, an effect that must not happen twice.
#[derive(Clone, Debug)]
pub struct PendingWrite {
    /// The task; empty for the super-step as a whole.
    pub task: Arc<str>,
    /// Which of the task's writes.
    pub slot: Arc<str>,
    /// The write.
    pub value: Stored,
}

/// A checkpoint with what came after it.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// In the order in which they came.
    pub writes: Vec<PendingWrite>,
}

impl Saved {
    /// Adds writes as [`Saver::put_writes`] says.
    pub fn add(&mut self, writes: Vec<PendingWrite>) {
        for write in writes {
            let same = |old: &&mut PendingWrite| old.task == write.task && old.slot == write.slot;
            match self.writes.iter_mut().find(same) {
                Some(old) => *old = write,
                None => self.writes.push(write),
            }
        }
    }
}

/// Why a saver could not do what it was asked.
#[derive(Debug)]
pub struct SaverError {
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl SaverError {
    /// An error that only has a text.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }

    /// The same with what caused it.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for SaverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl StdError for SaverError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
