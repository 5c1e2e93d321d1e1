//! The backend that keeps everything in memory, bounded, and loses it at a restart.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use llamon_core::a2a::{ListTasksRequest, Message, StreamEvent, Task, TaskFold, TaskState};
use llamon_core::{Limits, Timestamp};
use tokio::sync::Notify;

use super::index::{Index, Key};
use super::{
    Backend, Commit, Followed, Generation, LogCursor, NewTask, Page, Settled, StoreError,
    Visibility,
};
use crate::scope::Scope;

/// Events that a running task's log keeps. A reader further behind gets the task as it stands.
const MAX_LOG_EVENTS: usize = 16_384;

/// Keeps tasks in memory: nothing to install, nothing survives a restart.
///
/// Bounded by [`Limits`]: a new task is refused when `max_open_tasks` are unfinished, and the
/// oldest finished tasks go when there are more than `max_finished_tasks` of them or more than
/// `max_finished_bytes` in them. Who follows a task that goes still gets its last event.
pub struct MemoryBackend {
    limits: Limits,
    // Lock order: an entry's state first, then the index. Never the other way round.
    index: Mutex<Index>,
}

/// One task.
pub(super) struct Entry {
    pub(super) id: Arc<str>,
    pub(super) context_id: Arc<str>,
    pub(super) scope: Scope,
    /// Wakes those who read the log.
    changed: Notify,
    /// Wakes those who wait for the task to settle.
    settled: Notify,
    state: Mutex<State>,
}

struct State {
    content: Content,
    /// The events after `log_start`.
    log: VecDeque<Arc<StreamEvent>>,
    log_start: u64,
    generation: Generation,
    visibility: Visibility,
    cancel_requested: bool,
    /// Where the task is listed.
    key: Option<Key>,
    followers: usize,
}

enum Content {
    Live(Box<TaskFold>),
    Finished(Arc<Task>),
    Answered(Arc<Message>),
}

impl MemoryBackend {
    /// An empty backend.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            index: Mutex::default(),
        }
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        lock(&self.index)
    }

    fn find(&self, scope: &Scope, task_id: &str) -> Result<Arc<Entry>, StoreError> {
        self.index().get(scope, task_id)
    }

    fn find_visible(&self, scope: &Scope, task_id: &str) -> Result<Arc<Entry>, StoreError> {
        let entry = self.find(scope, task_id)?;
        let hidden = lock(&entry.state).visibility == Visibility::Hidden;
        if hidden {
            return Err(StoreError::NotFound);
        }
        Ok(entry)
    }

    fn create_now(&self, scope: &Scope, new: NewTask) -> Result<Generation, StoreError> {
        let millis = status_millis(&new.task);
        let state = new.task.status.state;
        let entry = Arc::new(Entry {
            id: Arc::clone(&new.task.id),
            context_id: Arc::clone(&new.task.context_id),
            scope: scope.clone(),
            changed: Notify::new(),
            settled: Notify::new(),
            state: Mutex::new(State {
                content: Content::Live(Box::new(TaskFold::new(new.task))),
                log: VecDeque::new(),
                log_start: 0,
                generation: Generation(0),
                visibility: new.visibility,
                cancel_requested: false,
                key: None,
                followers: 0,
            }),
        });
        let mut held = lock(&entry.state);
        let mut index = self.index();
        index.insert(Arc::clone(&entry), &self.limits)?;
        if new.visibility == Visibility::Visible {
            held.key = Some(index.relist(&entry, None, millis, state));
        }
        Ok(Generation(0))
    }

    fn commit_now(
        &self,
        scope: &Scope,
        task_id: &str,
        commit: Commit,
    ) -> Result<Generation, StoreError> {
        let entry = self.find(scope, task_id)?;
        let mut state = lock(&entry.state);
        let State {
            content: Content::Live(fold),
            ..
        } = &mut *state
        else {
            return Err(StoreError::Terminal);
        };
        let before = fold.status().state;
        let answered = commit.events.iter().find_map(|event| match event {
            StreamEvent::Message(message) => Some(Arc::clone(message)),
            _ => None,
        });
        let after = commit
            .events
            .iter()
            .filter_map(StreamEvent::state)
            .next_back();
        if state.cancel_requested
            && (answered.is_some()
                || after.is_some_and(|to| to.is_settled() && to != TaskState::Canceled))
        {
            return Err(StoreError::CancelRequested);
        }
        if state.generation != commit.expect {
            return Err(StoreError::Conflict);
        }
        if let Some(to) = after
            && !before.may_become(to)
        {
            return Err(StoreError::Conflict);
        }
        state.apply(commit);
        if let Some(message) = answered {
            state.content = Content::Answered(message);
            self.index().remove(&entry, state.key);
        } else if let Some(to) = after {
            self.relist(&entry, &mut state, to);
        } else if state.key.is_none() {
            self.relist(&entry, &mut state, before);
        }
        let settled = state.settled().is_some();
        let generation = state.generation;
        drop(state);
        entry.changed.notify_waiters();
        if settled {
            entry.settled.notify_waiters();
        }
        Ok(generation)
    }

    fn relist(&self, entry: &Arc<Entry>, state: &mut State, to: TaskState) {
        state.visibility = Visibility::Visible;
        let mut bytes = 0;
        let millis = match &state.content {
            Content::Live(fold) => fold.status().timestamp.map_or(0, millis),
            Content::Finished(task) => {
                bytes = task.bytes();
                status_millis(task)
            }
            Content::Answered(_) => 0,
        };
        let mut index = self.index();
        let key = index.relist(entry, state.key, millis, to);
        state.key = Some(key);
        if to.is_terminal() {
            index.finish(entry, key, bytes, &self.limits);
        }
    }

    fn follow_now(&self, scope: &Scope, task_id: &str) -> Result<Followed, StoreError> {
        let entry = self.find(scope, task_id)?;
        let mut state = lock(&entry.state);
        if state.followers >= self.limits.max_subscribers_per_task {
            return Err(StoreError::Full {
                limit: "max_subscribers_per_task",
                allowed: self.limits.max_subscribers_per_task,
            });
        }
        let task = state.task().ok_or(StoreError::NotFound)?;
        state.followers += 1;
        let next = state.log_start + state.log.len() as u64;
        drop(state);
        Ok((task, Box::new(MemoryCursor { entry, next })))
    }
}

impl Backend for MemoryBackend {
    fn create<'a>(
        &'a self,
        scope: &'a Scope,
        new: NewTask,
    ) -> BoxFuture<'a, Result<Generation, StoreError>> {
        async move { self.create_now(scope, new) }.boxed()
    }

    fn commit<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        commit: Commit,
    ) -> BoxFuture<'a, Result<Generation, StoreError>> {
        async move { self.commit_now(scope, task_id, commit) }.boxed()
    }

    fn get<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<(Arc<Task>, Generation), StoreError>> {
        async move {
            let entry = self.find_visible(scope, task_id)?;
            let state = lock(&entry.state);
            let task = state.task().ok_or(StoreError::NotFound)?;
            Ok((task, state.generation))
        }
        .boxed()
    }

    fn list<'a>(
        &'a self,
        scope: &'a Scope,
        request: &'a ListTasksRequest,
        page_size: usize,
    ) -> BoxFuture<'a, Result<Page, StoreError>> {
        async move {
            let found = self.index().find(scope, request, page_size)?;
            let task = |entry: &Arc<Entry>| lock(&entry.state).task();
            Ok(Page {
                tasks: found.entries.iter().filter_map(task).collect(),
                next_page_token: found.next_page_token,
                total: found.total,
            })
        }
        .boxed()
    }

    fn follow<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<Followed, StoreError>> {
        async move { self.follow_now(scope, task_id) }.boxed()
    }

    fn settled<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<Settled, StoreError>> {
        async move {
            let entry = self.find(scope, task_id)?;
            loop {
                let mut wake = std::pin::pin!(entry.settled.notified());
                // Listen before looking, so that no change falls between the two.
                wake.as_mut().enable();
                if let Some(settled) = lock(&entry.state).settled() {
                    return Ok(settled);
                }
                wake.await;
            }
        }
        .boxed()
    }

    fn request_cancel<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<(Arc<Task>, Generation), StoreError>> {
        async move {
            let entry = self.find_visible(scope, task_id)?;
            let mut state = lock(&entry.state);
            if !matches!(state.content, Content::Live(_)) {
                return Err(StoreError::Terminal);
            }
            state.cancel_requested = true;
            let task = state.task().ok_or(StoreError::NotFound)?;
            Ok((task, state.generation))
        }
        .boxed()
    }
}

// === impl State ===

impl State {
    /// Folds the commit in and logs it.
    fn apply(&mut self, commit: Commit) {
        let Content::Live(fold) = &mut self.content else {
            return;
        };
        if let Some(message) = commit.message {
            fold.push_message(message);
        }
        for event in commit.events {
            fold.apply(&event);
            self.log.push_back(Arc::new(event));
        }
        while self.log.len() > MAX_LOG_EVENTS {
            self.log.pop_front();
            self.log_start += 1;
        }
        self.generation.0 += 1;
        if fold.status().state.is_terminal() {
            let task = Arc::new(fold.snapshot());
            self.content = Content::Finished(task);
            self.forget_log_if_unread();
        }
    }

    /// A finished task needs no log once nobody reads it.
    fn forget_log_if_unread(&mut self) {
        if self.followers == 0 && !matches!(self.content, Content::Live(_)) {
            self.log_start += self.log.len() as u64;
            self.log = VecDeque::new();
        }
    }

    fn task(&self) -> Option<Arc<Task>> {
        match &self.content {
            Content::Live(fold) => Some(Arc::new(fold.snapshot())),
            Content::Finished(task) => Some(Arc::clone(task)),
            Content::Answered(_) => None,
        }
    }

    fn settled(&self) -> Option<Settled> {
        match &self.content {
            Content::Live(fold) if fold.status().state.is_interrupted() => {
                Some(Settled::Task(Arc::new(fold.snapshot())))
            }
            Content::Live(_) => None,
            Content::Finished(task) => Some(Settled::Task(Arc::clone(task))),
            Content::Answered(message) => Some(Settled::Message(Arc::clone(message))),
        }
    }
}

/// A reader's place in one log. It keeps the task alive, also when the index has let it go.
struct MemoryCursor {
    entry: Arc<Entry>,
    next: u64,
}

impl MemoryCursor {
    /// What there is to read now; `None` when there is nothing yet.
    fn read(&mut self) -> Option<Option<Vec<Arc<StreamEvent>>>> {
        let state = lock(&self.entry.state);
        let end = state.log_start + state.log.len() as u64;
        if self.next < state.log_start {
            self.next = end;
            return Some(
                state
                    .task()
                    .map(|task| vec![Arc::new(StreamEvent::Task(task))]),
            );
        }
        let skipped = usize::try_from(self.next - state.log_start).unwrap_or(usize::MAX);
        let events: Vec<_> = state.log.iter().skip(skipped).cloned().collect();
        self.next = end;
        if !events.is_empty() {
            return Some(Some(events));
        }
        match state.content {
            Content::Live(_) => None,
            Content::Finished(_) | Content::Answered(_) => Some(None),
        }
    }
}

impl LogCursor for MemoryCursor {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Arc<StreamEvent>>>, StoreError>> {
        async move {
            let entry = Arc::clone(&self.entry);
            loop {
                let mut wake = std::pin::pin!(entry.changed.notified());
                wake.as_mut().enable();
                if let Some(read) = self.read() {
                    return Ok(read);
                }
                wake.await;
            }
        }
        .boxed()
    }
}

impl Drop for MemoryCursor {
    fn drop(&mut self) {
        let mut state = lock(&self.entry.state);
        state.followers -= 1;
        state.forget_log_if_unread();
    }
}

fn status_millis(task: &Task) -> i64 {
    task.status.timestamp.map_or(0, millis)
}

fn millis(timestamp: Timestamp) -> i64 {
    timestamp.as_micros().div_euclid(1_000)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic under one of these locks cannot leave a task half changed: what is done under
    // them calls no code of an agent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
