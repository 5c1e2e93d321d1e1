//! Where tasks live: the [`Backend`] trait and its implementations.
//!
//! Task and event log change together or not at all, so they are one trait with one `commit`.
//! Every method takes a [`Scope`]; a task of another scope is [`StoreError::NotFound`], like one
//! that does not exist.

mod index;
mod memory;

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use llamon_core::a2a::{ListTasksRequest, Message, StreamEvent, Task};

pub use memory::MemoryBackend;

use crate::scope::Scope;

/// How often a task was written to; what a commit expects it to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub u64);

/// A task that is to be created.
#[derive(Clone, Debug)]
pub struct NewTask {
    /// The task, with the message that it begins with in its history.
    pub task: Task,
    /// Whether it is seen by nobody until its first commit with events.
    pub visibility: Visibility,
}

/// Whether a new task is seen at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// It is.
    Visible,
    /// It is not found and not listed until a commit brings events.
    Hidden,
}

/// One atomic change of a task.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The generation that the task must have.
    pub expect: Generation,
    /// A message that joins the history, before the events.
    pub message: Option<Message>,
    /// The events, in order. They join the log and are folded into the task.
    pub events: Vec<StreamEvent>,
}

impl Commit {
    /// A change by events only.
    pub fn events(expect: Generation, events: Vec<StreamEvent>) -> Self {
        Self {
            expect,
            message: None,
            events,
        }
    }
}

/// What a task has settled to.
#[derive(Clone, Debug)]
pub enum Settled {
    /// The task is terminal or waits for its client.
    Task(Arc<Task>),
    /// The turn was answered directly and the task is gone.
    Message(Arc<Message>),
}

/// A page of tasks.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The tasks, newest status first.
    pub tasks: Vec<Arc<Task>>,
    /// Where the next page begins; empty at the end.
    pub next_page_token: String,
    /// How many tasks match on all pages.
    pub total: usize,
}

/// A task as it stands, and its log from there on.
pub type Followed = (Arc<Task>, Box<dyn LogCursor>);

/// Where tasks and their event logs are kept.
///
/// All futures may be dropped at any time: a change has happened whole or not at all.
pub trait Backend: Send + Sync + 'static {
    /// Creates a task. When it resolves, the task is as durable as the backend makes it.
    ///
    /// # Errors
    /// [`StoreError::Full`] when there is no room for another task.
    fn create<'a>(
        &'a self,
        scope: &'a Scope,
        new: NewTask,
    ) -> BoxFuture<'a, Result<Generation, StoreError>>;

    /// Changes a task and appends to its log. Events can be seen only after they are durable.
    /// A [`StreamEvent::Message`] as the only event removes the task.
    ///
    /// # Errors
    /// [`StoreError::Terminal`] when the task has ended (the first terminal state wins),
    /// [`StoreError::CancelRequested`] when the commit would settle a task otherwise than by
    /// CANCELED after a cancel was accepted, [`StoreError::Conflict`] when the generation is
    /// another one, [`StoreError::NotFound`].
    fn commit<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        commit: Commit,
    ) -> BoxFuture<'a, Result<Generation, StoreError>>;

    /// The task as it stands.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    fn get<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<(Arc<Task>, Generation), StoreError>>;

    /// A page of the scope's tasks, newest status first. Tasks that are not on the page cost
    /// next to nothing.
    ///
    /// # Errors
    /// [`StoreError::PageToken`] when the token is none of this backend's.
    fn list<'a>(
        &'a self,
        scope: &'a Scope,
        request: &'a ListTasksRequest,
        page_size: usize,
    ) -> BoxFuture<'a, Result<Page, StoreError>>;

    /// The task as it stands, and its log from there on.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], and [`StoreError::Full`] when too many follow it already.
    fn follow<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<Followed, StoreError>>;

    /// Waits until the task is terminal or waits for its client, seen from after `generation`.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    fn settled<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<Settled, StoreError>>;

    /// Notes that the task is to be canceled. From then on it can only settle as CANCELED.
    ///
    /// # Errors
    /// [`StoreError::Terminal`] when it has ended, [`StoreError::NotFound`].
    fn request_cancel<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<(Arc<Task>, Generation), StoreError>>;
}

/// A reader's place in a task's log. All readers of a task see the same events in the same order.
pub trait LogCursor: Send {
    /// The next events, at least one; waits for them. `None` after the last one. Dropping the
    /// future before it is ready loses nothing.
    ///
    /// A reader that fell behind what the log keeps gets the task as it stands instead, as a
    /// [`StreamEvent::Task`], and goes on from there: nothing is lost.
    ///
    /// # Errors
    /// When the log cannot be read.
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Arc<StreamEvent>>>, StoreError>>;
}

/// Why a backend did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such task in this scope.
    NotFound,
    /// The task has ended.
    Terminal,
    /// The task has another generation.
    Conflict,
    /// A cancel was accepted before.
    CancelRequested,
    /// There is no room at the moment: the limit's name and value.
    Full {
        /// The limit's name.
        limit: &'static str,
        /// The limit's value.
        allowed: usize,
    },
    /// The page token is none of this backend's.
    PageToken,
    /// The backend failed; the text is for the log.
    Failed(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("there is no such task"),
            Self::Terminal => f.write_str("the task has ended"),
            Self::Conflict => f.write_str("the task was changed by somebody else"),
            Self::CancelRequested => f.write_str("the task is being canceled"),
            Self::Full { limit, allowed } => {
                write!(f, "the limit {limit} is reached, which is {allowed}")
            }
            Self::PageToken => f.write_str("the page token is not one of this server's"),
            Self::Failed(reason) => write!(f, "the store failed: {reason}"),
        }
    }
}

impl std::error::Error for StoreError {}
