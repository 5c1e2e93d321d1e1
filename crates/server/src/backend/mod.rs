//! Where tasks live: the [`Backend`] trait and its implementations.
//!
//! A task, its event log, the work that runs it and what is still to be pushed change together or
//! not at all, so they are one trait with one `commit`. Every method that a request can reach
//! takes a [`Scope`]; a task of another scope is [`StoreError::NotFound`], like one that does not
//! exist. What only the server itself does takes a [`Worker`].

#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod memory;
mod page_secret;
mod push;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod work;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use llamon_core::Timestamp;
use llamon_core::a2a::{ListTasksRequest, Message, PushConfig, StreamEvent, Task};

pub use error::StoreError;
pub use memory::MemoryBackend;
pub use page_secret::PageSecret;
pub use push::{PushProgress, PushTarget};
pub use work::{Claimed, Fence, Held, NewWork, Worker, WorkerId};

use crate::scope::Scope;

/// How often a task was written to; what a commit expects it to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub u64);

/// A place in a task's log: how many events are before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

/// Whether what a backend has stored is there after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It is not. Storing costs next to nothing, so every chunk is stored by itself.
    Volatile,
    /// It is. Chunks of text are gathered for about 50 ms before they are stored.
    Durable,
}

/// A task that is to be created.
#[derive(Clone, Debug)]
pub struct NewTask {
    /// The task, with the message that it begins with in its history.
    pub task: Task,
    /// Whether it is seen by nobody until its first commit with events.
    pub visibility: Visibility,
    /// The turn that answers the message.
    pub work: NewWork,
    /// A receiver of the task's events.
    pub push: Option<Arc<PushConfig>>,
    /// Under what the message is accepted only once.
    pub once: Option<MessageKey>,
}

/// Whether a new task is seen at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// It is.
    Visible,
    /// It is not found and not listed until a commit brings events.
    Hidden,
}

/// Under what a message is accepted only once in a scope: its id, and what it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageKey {
    /// The id that its sender gave it.
    pub message_id: Arc<str>,
    /// SHA-256 of the message. The same id with another hash is [`StoreError::OtherMessage`].
    pub hash: [u8; 32],
}

/// What came of creating a task.
#[derive(Clone, Debug)]
pub enum Created {
    /// It exists now.
    New {
        /// What the first commit expects.
        generation: Generation,
        /// What the turn writes with; of no use if nobody has claimed it yet.
        fence: Fence,
    },
    /// The message came before.
    Repeated(Seen),
}

/// What became of a message that came before.
#[derive(Clone, Debug)]
pub enum Seen {
    /// It belongs to this task.
    Task(Arc<str>),
    /// It was answered directly.
    Message(Arc<Message>),
}

/// One atomic change of a task.
///
/// A commit that brings the task to a terminal or interrupted state, or answers it directly, ends
/// the turn that works on it.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The generation that the task must have.
    pub expect: Generation,
    /// The attempt that writes. Without one the commit is accepted only while no turn is at work.
    pub fence: Option<Fence>,
    /// A message that joins the history, before the events.
    pub message: Option<Message>,
    /// The events, in order. They join the log and are folded into the task.
    pub events: Vec<StreamEvent>,
    /// The turn that answers the message.
    pub work: Option<NewWork>,
    /// A further receiver of the task's events, from this commit on.
    pub push: Option<Arc<PushConfig>>,
    /// Under what the message is accepted only once.
    pub once: Option<MessageKey>,
}

impl Commit {
    /// A change by events only.
    pub fn events(expect: Generation, fence: Option<Fence>, events: Vec<StreamEvent>) -> Self {
        Self {
            expect,
            fence,
            message: None,
            events,
            work: None,
            push: None,
            once: None,
        }
    }
}

/// What came of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committed {
    /// The task was changed.
    New {
        /// What the next commit expects.
        generation: Generation,
        /// What the turn writes with, if one is at work.
        fence: Fence,
    },
    /// The message came before; nothing was changed.
    Repeated,
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

/// Where a reader of a log begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadFrom {
    /// After what is there. Such readers are limited to `max_subscribers_per_task`.
    Now,
    /// Where it stopped before.
    After(Position),
}

/// A task as it stands, and its log from where the reader begins.
pub type Followed = (Arc<Task>, Box<dyn LogCursor>);

/// Where tasks and their event logs are kept.
///
/// All futures may be dropped at any time: a change has happened whole or not at all. What a
/// backend promises is written as tests in `llamon_server::backend::conformance` (feature
/// `conformance`), which any implementation can run.
pub trait Backend: Send + Sync + 'static {
    /// Whether tasks are there after a restart.
    fn durability(&self) -> Durability;

    // === requests ===

    /// Creates a task and the work that answers its message. When it resolves, both are as durable
    /// as the backend makes them.
    ///
    /// # Errors
    /// [`StoreError::Full`] or [`StoreError::NoSpace`] when there is no room for another task,
    /// [`StoreError::OtherMessage`].
    fn create<'a>(
        &'a self,
        scope: &'a Scope,
        new: NewTask,
    ) -> BoxFuture<'a, Result<Created, StoreError>>;

    /// Changes a task and appends to its log. Events can be seen only after they are durable.
    /// A [`StreamEvent::Message`] as the only event removes the task.
    ///
    /// # Errors
    /// In this order: [`StoreError::NotFound`]; [`StoreError::OtherMessage`];
    /// [`StoreError::Terminal`] when the task has ended (the first terminal state wins);
    /// [`StoreError::Fenced`] when the fence is not the present
    /// one; [`StoreError::CancelRequested`] when the commit would settle a task otherwise than by
    /// CANCELED, or begin a turn, after a cancel was accepted; [`StoreError::Conflict`] when the
    /// generation is another one, when a turn is at work and there is no fence, and when the state
    /// cannot follow the present one; [`StoreError::Full`] for one push configuration too many.
    fn commit<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        commit: Commit,
    ) -> BoxFuture<'a, Result<Committed, StoreError>>;

    /// What became of a message that may have come before.
    ///
    /// # Errors
    /// [`StoreError::OtherMessage`].
    fn seen<'a>(
        &'a self,
        scope: &'a Scope,
        key: &'a MessageKey,
    ) -> BoxFuture<'a, Result<Option<Seen>, StoreError>>;

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
    /// next to nothing. The tasks have at least as much of their history and artifacts as the
    /// request asks for.
    ///
    /// Page tokens are plain here: the server seals what a caller gets, and opens it before it
    /// asks, see [`Backend::page_secret`].
    ///
    /// # Errors
    /// [`StoreError::PageToken`] when the token is none of this backend's.
    fn list<'a>(
        &'a self,
        scope: &'a Scope,
        request: &'a ListTasksRequest,
        page_size: usize,
    ) -> BoxFuture<'a, Result<Page, StoreError>>;

    /// The task as it stands, and its log from where the reader begins.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], and [`StoreError::Full`] when too many follow it already.
    fn follow<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        from: ReadFrom,
    ) -> BoxFuture<'a, Result<Followed, StoreError>>;

    /// Waits until the task is terminal or waits for its client.
    ///
    /// Once polled, the future gets its result also if the task is answered directly, or is removed
    /// right after it has settled.
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

    /// Keeps a value with the task under a key, for the turn that is at work. It goes with the
    /// task; no client sees it.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Fenced`], and [`StoreError::Full`] past
    /// [`MAX_REMEMBERED`] keys.
    fn remember<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        fence: Fence,
        key: &'a str,
        value: String,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// What is kept with the task, in no order.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    fn remembered<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, StoreError>>;

    /// Adds a receiver of the task's events from now on, or replaces the one of the same id.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], and [`StoreError::Full`] past `max_push_configs_per_task`.
    fn put_push<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        config: Arc<PushConfig>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The receivers of the task's events, by id.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    fn push_configs<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Arc<PushConfig>>, StoreError>>;

    /// Removes a receiver. Removing one that is not there does nothing.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when there is no such task.
    fn delete_push<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        config_id: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    // === the server itself ===

    /// Registers a process that runs turns. It counts as alive until it is dropped or its process
    /// has died; no clock decides that.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn enlist(&self) -> BoxFuture<'_, Result<Arc<Worker>, StoreError>>;

    /// Takes up to `limit` turns that nobody works on: released ones, and those of workers that
    /// are gone. The oldest come first.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn claim<'a>(
        &'a self,
        worker: &'a Worker,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Claimed>, StoreError>>;

    /// What the worker holds, as the store has it: a turn that it runs and that is missing here
    /// was lost to somebody else.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn held<'a>(&'a self, worker: &'a Worker) -> BoxFuture<'a, Result<Vec<Held>, StoreError>>;

    /// Gives a turn back, so that it can be claimed at once. It does not count as a crash.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] when the worker does not hold it any more.
    fn release<'a>(
        &'a self,
        worker: &'a Worker,
        task_id: &'a str,
        fence: Fence,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Takes up to `limit` receivers that have not had all events of their task and that no other
    /// living worker serves. A receiver is returned again each time, until everything is delivered.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn claim_push<'a>(
        &'a self,
        worker: &'a Worker,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<PushTarget>, StoreError>>;

    /// Notes how far a receiver has been served. For one that was removed it does nothing.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn note_push<'a>(
        &'a self,
        worker: &'a Worker,
        task_id: &'a str,
        config_id: &'a str,
        progress: PushProgress,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Takes a name for a task as long as the worker lives, if no other task of a living worker has
    /// it. Taking it again for the same task does nothing.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn lease<'a>(
        &'a self,
        worker: &'a Worker,
        name: &'a str,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<Lease, StoreError>>;

    /// Gives a name back. One that the worker does not have for this task is left alone.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn end_lease<'a>(
        &'a self,
        worker: &'a Worker,
        name: &'a str,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Up to `limit` tasks that have been waiting for their client since before `since`, the
    /// longest waiting first.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn waiting<'a>(
        &'a self,
        worker: &'a Worker,
        since: Timestamp,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Waiting>, StoreError>>;

    /// What this agent's page tokens are sealed with: made at the first call, and the same from
    /// then on for every process that shares the store, and after a restart where tasks survive
    /// one. No caller ever sees it.
    ///
    /// # Errors
    /// When the store cannot be written, or the system gives no random numbers.
    fn page_secret<'a>(
        &'a self,
        worker: &'a Worker,
    ) -> BoxFuture<'a, Result<PageSecret, StoreError>>;

    /// Does a bounded piece of cleaning up: finished tasks that are too many or too old go. Says
    /// whether there is more to do. Live tasks are never touched.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn sweep<'a>(&'a self, worker: &'a Worker) -> BoxFuture<'a, Result<Swept, StoreError>>;

    /// Whether the store can be written at the moment, for `/readyz`.
    ///
    /// # Errors
    /// What keeps it from that.
    fn health(&self) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// Keys that are kept with one task; see [`Backend::remember`].
pub const MAX_REMEMBERED: usize = 1_000;

/// What came of taking a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lease {
    /// The task has it.
    Taken,
    /// Another task has it.
    HeldBy(Arc<str>),
}

/// A task that waits for its client.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Whose task it is.
    pub scope: Scope,
    /// The task as it stands.
    pub task: Arc<Task>,
    /// Its generation.
    pub generation: Generation,
}

/// What is left after [`Backend::sweep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swept {
    /// Nothing to do.
    Clean,
    /// More to do.
    More,
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

    /// Where the reader is: after the last event that it got.
    fn position(&self) -> Position;
}
