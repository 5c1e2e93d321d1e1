//! The backend that keeps everything in memory, bounded, and loses it at a restart.

mod cursor;
mod entry;
mod index;
mod once;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use llamon_core::a2a::{ListTasksRequest, PushConfig, Task, TaskState};
use llamon_core::{Limits, Timestamp};

use super::{
    Backend, Claimed, Commit, Committed, Created, Durability, Fence, Followed, Generation, Held,
    Lease, MessageKey, NewTask, Page, PageSecret, PushProgress, PushTarget, ReadFrom, Seen,
    Settled, StoreError, Swept, Visibility, Waiting, Worker, WorkerId,
};
use crate::scope::Scope;
use cursor::MemoryCursor;
use entry::{Entry, State};
use index::Index;

/// Keeps tasks in memory: nothing to install, nothing survives a restart.
///
/// Bounded by [`Limits`]: a new task is refused when `max_open_tasks` are unfinished, and the
/// oldest finished tasks go when there are more than `max_finished_tasks` of them or more than
/// `max_finished_bytes` in them. Who follows a task that goes still gets its last event.
pub struct MemoryBackend {
    limits: Limits,
    // Lock order: an entry's state first, then the index or `pushed`. Never the other way round.
    index: Mutex<Index>,
    workers: Mutex<HashMap<WorkerId, Weak<()>>>,
    leases: Mutex<HashMap<String, (WorkerId, Arc<str>)>>,
    /// Whether there may be a turn without a worker: it is rare, and looking for one is not cheap.
    unclaimed: AtomicBool,
    /// Tasks that may have receivers to be served: few, and looked at often.
    pushed: Mutex<HashMap<Arc<str>, Weak<Entry>>>,
    page_secret: OnceLock<PageSecret>,
}

impl MemoryBackend {
    /// An empty backend.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            index: Mutex::default(),
            workers: Mutex::default(),
            leases: Mutex::default(),
            unclaimed: AtomicBool::new(false),
            pushed: Mutex::default(),
            page_secret: OnceLock::new(),
        }
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn workers(&self) -> MutexGuard<'_, HashMap<WorkerId, Weak<()>>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, scope: &Scope, task_id: &str) -> Result<Arc<Entry>, StoreError> {
        self.index().get(scope, task_id)
    }

    fn find_visible(&self, scope: &Scope, task_id: &str) -> Result<Arc<Entry>, StoreError> {
        let entry = self.find(scope, task_id)?;
        let hidden = entry.lock().visibility == Visibility::Hidden;
        if hidden {
            return Err(StoreError::NotFound);
        }
        Ok(entry)
    }

    fn create_now(&self, scope: &Scope, new: NewTask) -> Result<Created, StoreError> {
        let visibility = new.visibility;
        let once = new.once.clone();
        let pushed = new.push.is_some();
        self.note_unclaimed(new.work.claimed_by.as_ref());
        let entry = Arc::new(Entry::new(scope, new));
        let mut state = entry.lock();
        let mut index = self.index();
        if let Some(key) = &once
            && let Some(seen) = index.once.find(scope, key)?
        {
            return Ok(Created::Repeated(seen));
        }
        index.insert(Arc::clone(&entry), &self.limits)?;
        if let Some(key) = &once {
            index.once.insert(scope, key, &entry.id);
        }
        if visibility == Visibility::Visible
            && let Some(to) = state.task_state()
        {
            state.key = Some(index.relist(&entry, None, state.listing().0, to));
        }
        if pushed {
            self.note_pushed(&entry);
        }
        Ok(Created::New {
            generation: Generation(0),
            fence: state.fence,
        })
    }

    fn commit_now(
        &self,
        scope: &Scope,
        task_id: &str,
        commit: Commit,
    ) -> Result<Committed, StoreError> {
        let entry = self.find(scope, task_id)?;
        let mut state = entry.lock();
        let once = commit.once.clone();
        if let Some(key) = &once
            && self.index().once.find(scope, key)?.is_some()
        {
            return Ok(Committed::Repeated);
        }
        state.check(&commit, self.limits.max_push_configs_per_task)?;
        if let Some(work) = &commit.work {
            self.note_unclaimed(work.claimed_by.as_ref());
        }
        let pushed = commit.push.is_some();
        let says_state = commit.events.iter().any(|event| event.state().is_some());
        let shows = !commit.events.is_empty();
        let answered = state.apply(commit);
        if let Some(key) = &once {
            self.index().once.insert(scope, key, &entry.id);
        }
        if let Some(answer) = answered {
            let max = self.limits.max_finished_tasks;
            let mut index = self.index();
            index.once.answer(scope, &state.once, &answer, max);
            index.remove(&entry, state.key);
        } else if says_state || (shows && state.key.is_none()) {
            self.relist(&entry, &mut state);
        }
        if pushed {
            self.note_pushed(&entry);
        }
        let settled = state.settled().is_some();
        let committed = Committed::New {
            generation: state.generation,
            fence: state.fence,
        };
        drop(state);
        entry.changed.notify_waiters();
        if settled {
            entry.settled.notify_waiters();
        }
        Ok(committed)
    }

    fn relist(&self, entry: &Arc<Entry>, state: &mut State) {
        state.visibility = Visibility::Visible;
        let Some(to) = state.task_state() else {
            return;
        };
        let (millis, bytes) = state.listing();
        let mut index = self.index();
        let key = index.relist(entry, state.key, millis, to);
        state.key = Some(key);
        if to.is_terminal() {
            index.finish(entry, key, bytes, &state.once, &self.limits);
        }
    }

    fn follow_now(
        &self,
        scope: &Scope,
        task_id: &str,
        from: ReadFrom,
    ) -> Result<Followed, StoreError> {
        let entry = self.find(scope, task_id)?;
        let mut state = entry.lock();
        let next = match from {
            ReadFrom::Now if state.followers >= self.limits.max_subscribers_per_task => {
                return Err(StoreError::Full {
                    limit: "max_subscribers_per_task",
                    allowed: self.limits.max_subscribers_per_task,
                });
            }
            ReadFrom::Now => state.end(),
            ReadFrom::After(position) => position.min(state.end()),
        };
        let task = state.task().ok_or(StoreError::NotFound)?;
        state.followers += 1;
        drop(state);
        Ok((task, Box::new(MemoryCursor::new(entry, next))))
    }

    fn note_unclaimed(&self, claimed_by: Option<&WorkerId>) {
        if claimed_by.is_none() {
            self.unclaimed.store(true, Ordering::Relaxed);
        }
    }

    fn note_pushed(&self, entry: &Arc<Entry>) {
        let mut pushed = self.pushed.lock().unwrap_or_else(PoisonError::into_inner);
        pushed.insert(Arc::clone(&entry.id), Arc::downgrade(entry));
    }

    /// The entries that may have receivers to be served. Those that never will again are forgotten.
    fn pushed_entries(&self) -> Vec<Arc<Entry>> {
        let lock = || self.pushed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entries = Vec::new();
        lock().retain(|_, entry| {
            let entry = entry.upgrade();
            let is_there = entry.is_some();
            entries.extend(entry);
            is_there
        });
        entries.retain(|entry| {
            // In this order, as whoever adds a receiver takes them.
            let state = entry.lock();
            let is_done = state.is_served_for_good();
            if is_done {
                lock().remove(&entry.id);
            }
            !is_done
        });
        entries
    }

    /// What `take` takes of all entries, oldest status first.
    fn each_entry<T>(&self, take: impl FnMut(&Arc<Entry>) -> Vec<T>, limit: usize) -> Vec<T> {
        Self::each_of(self.index().all(), take, limit)
    }

    fn each_of<T>(
        mut entries: Vec<Arc<Entry>>,
        mut take: impl FnMut(&Arc<Entry>) -> Vec<T>,
        limit: usize,
    ) -> Vec<T> {
        entries.sort_by_key(|entry| entry.lock().key);
        let mut taken = Vec::new();
        for entry in entries {
            if taken.len() >= limit {
                break;
            }
            taken.extend(take(&entry));
        }
        taken
    }

    fn claim_now(&self, worker: &Worker, limit: usize) -> Vec<Claimed> {
        let died = {
            let mut workers = self.workers();
            let before = workers.len();
            workers.retain(|_, alive| alive.strong_count() > 0);
            workers.len() < before
        };
        if !self.unclaimed.swap(false, Ordering::Relaxed) && !died {
            return Vec::new();
        }
        let alive = self.alive();
        let claim = |entry: &Arc<Entry>| {
            let mut state = entry.lock();
            let claimable = state.is_claimable(|owner| !alive.contains(owner));
            let claimed = claimable.then(|| state.claim(&entry.scope, worker.id()));
            claimed.flatten().into_iter().collect()
        };
        let claimed = self.each_entry(claim, limit);
        if claimed.len() >= limit {
            self.unclaimed.store(true, Ordering::Relaxed);
        }
        claimed
    }

    fn alive(&self) -> Vec<WorkerId> {
        let workers = self.workers();
        let alive = workers.iter().filter(|(_, alive)| alive.strong_count() > 0);
        alive.map(|(id, _)| id.clone()).collect()
    }
}

impl Backend for MemoryBackend {
    fn durability(&self) -> Durability {
        Durability::Volatile
    }

    fn create<'a>(
        &'a self,
        scope: &'a Scope,
        new: NewTask,
    ) -> BoxFuture<'a, Result<Created, StoreError>> {
        async move { self.create_now(scope, new) }.boxed()
    }

    fn commit<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        commit: Commit,
    ) -> BoxFuture<'a, Result<Committed, StoreError>> {
        async move { self.commit_now(scope, task_id, commit) }.boxed()
    }

    fn seen<'a>(
        &'a self,
        scope: &'a Scope,
        key: &'a MessageKey,
    ) -> BoxFuture<'a, Result<Option<Seen>, StoreError>> {
        async move { self.index().once.find(scope, key) }.boxed()
    }

    fn get<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<(Arc<Task>, Generation), StoreError>> {
        async move {
            let entry = self.find_visible(scope, task_id)?;
            let state = entry.lock();
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
            let task = |entry: &Arc<Entry>| entry.lock().task();
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
        from: ReadFrom,
    ) -> BoxFuture<'a, Result<Followed, StoreError>> {
        async move { self.follow_now(scope, task_id, from) }.boxed()
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
                if let Some(settled) = entry.lock().settled() {
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
            let mut state = entry.lock();
            if !state.is_live() {
                return Err(StoreError::Terminal);
            }
            state.cancel_requested = true;
            let task = state.task().ok_or(StoreError::NotFound)?;
            Ok((task, state.generation))
        }
        .boxed()
    }

    fn remember<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        fence: Fence,
        key: &'a str,
        value: String,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            self.find(scope, task_id)?
                .lock()
                .remember(fence, key, value)
        }
        .boxed()
    }

    fn remembered<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, StoreError>> {
        async move { Ok(self.find(scope, task_id)?.lock().remembered()) }.boxed()
    }

    fn put_push<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        config: Arc<PushConfig>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let entry = self.find_visible(scope, task_id)?;
            let mut state = entry.lock();
            state.check_push(&config, self.limits.max_push_configs_per_task)?;
            let end = state.end();
            state.put_push(config, end);
            self.note_pushed(&entry);
            Ok(())
        }
        .boxed()
    }

    fn push_configs<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Arc<PushConfig>>, StoreError>> {
        async move { Ok(self.find_visible(scope, task_id)?.lock().push_configs()) }.boxed()
    }

    fn delete_push<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        config_id: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            self.find_visible(scope, task_id)?
                .lock()
                .delete_push(config_id);
            Ok(())
        }
        .boxed()
    }

    fn enlist(&self) -> BoxFuture<'_, Result<Arc<Worker>, StoreError>> {
        async move {
            let id = WorkerId(uuid::Uuid::new_v4().to_string().into());
            let alive = Arc::new(());
            self.workers().insert(id.clone(), Arc::downgrade(&alive));
            Ok(Arc::new(Worker::new(id, alive)))
        }
        .boxed()
    }

    fn claim<'a>(
        &'a self,
        worker: &'a Worker,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Claimed>, StoreError>> {
        async move { Ok(self.claim_now(worker, limit)) }.boxed()
    }

    fn held<'a>(&'a self, worker: &'a Worker) -> BoxFuture<'a, Result<Vec<Held>, StoreError>> {
        async move {
            let held = |entry: &Arc<Entry>| {
                let state = entry.lock();
                let held = state.is_held_by(worker.id()).then(|| Held {
                    task_id: Arc::clone(&entry.id),
                    fence: state.fence,
                    cancel_requested: state.cancel_requested,
                });
                held.into_iter().collect()
            };
            Ok(self.each_entry(held, usize::MAX))
        }
        .boxed()
    }

    fn release<'a>(
        &'a self,
        worker: &'a Worker,
        task_id: &'a str,
        fence: Fence,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let entry = self.index().of_any_scope(task_id);
            let entry = entry.ok_or(StoreError::Fenced)?;
            entry.lock().release(worker.id(), fence)?;
            self.note_unclaimed(None);
            Ok(())
        }
        .boxed()
    }

    fn claim_push<'a>(
        &'a self,
        worker: &'a Worker,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<PushTarget>, StoreError>> {
        async move {
            let alive = self.alive();
            let claim = |entry: &Arc<Entry>| {
                let gone = |owner: &WorkerId| !alive.contains(owner);
                entry.lock().claim_push(entry, worker.id(), gone)
            };
            let mut claimed = Self::each_of(self.pushed_entries(), claim, limit);
            claimed.truncate(limit);
            Ok(claimed)
        }
        .boxed()
    }

    fn note_push<'a>(
        &'a self,
        _worker: &'a Worker,
        task_id: &'a str,
        config_id: &'a str,
        progress: PushProgress,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            if let Some(entry) = self.index().of_any_scope(task_id) {
                let delivered = match progress {
                    PushProgress::Delivered(position) => Some(position),
                    PushProgress::GivenUp => None,
                };
                entry.lock().note_push(config_id, delivered);
            }
            Ok(())
        }
        .boxed()
    }

    fn lease<'a>(
        &'a self,
        worker: &'a Worker,
        name: &'a str,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        async move {
            let alive = self.alive();
            let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
            match leases.get(name) {
                Some((owner, holder)) if **holder != *task_id && alive.contains(owner) => {
                    Ok(Lease::HeldBy(Arc::clone(holder)))
                }
                _ => {
                    leases.insert(name.to_owned(), (worker.id().clone(), task_id.into()));
                    Ok(Lease::Taken)
                }
            }
        }
        .boxed()
    }

    fn end_lease<'a>(
        &'a self,
        worker: &'a Worker,
        name: &'a str,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
            let held = leases.get(name);
            if held.is_some_and(|(owner, holder)| owner == worker.id() && **holder == *task_id) {
                leases.remove(name);
            }
            Ok(())
        }
        .boxed()
    }

    fn waiting<'a>(
        &'a self,
        _worker: &'a Worker,
        since: Timestamp,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Waiting>, StoreError>> {
        async move {
            let waiting = |entry: &Arc<Entry>| {
                let state = entry.lock();
                let waits = state.task_state().is_some_and(TaskState::is_interrupted);
                let task = waits.then(|| state.task()).flatten();
                let task = task.filter(|task| task.status.timestamp.is_some_and(|at| at < since));
                let waiting = task.map(|task| Waiting {
                    scope: entry.scope.clone(),
                    task,
                    generation: state.generation,
                });
                waiting.into_iter().collect()
            };
            Ok(self.each_entry(waiting, limit))
        }
        .boxed()
    }

    fn page_secret<'a>(
        &'a self,
        _worker: &'a Worker,
    ) -> BoxFuture<'a, Result<PageSecret, StoreError>> {
        async move {
            if let Some(made) = self.page_secret.get() {
                return Ok(made.clone());
            }
            let fresh = PageSecret::random()?;
            Ok(self.page_secret.get_or_init(|| fresh).clone())
        }
        .boxed()
    }

    fn sweep<'a>(&'a self, _worker: &'a Worker) -> BoxFuture<'a, Result<Swept, StoreError>> {
        // Finished tasks go when one more finishes.
        async move { Ok(Swept::Clean) }.boxed()
    }

    fn health(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        async move { Ok(()) }.boxed()
    }
}
