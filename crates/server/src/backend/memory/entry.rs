//! One task and its log.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use llamon_core::Timestamp;
use llamon_core::a2a::{Message, PushConfig, StreamEvent, Task, TaskFold, TaskState};
use tokio::sync::Notify;

use super::index::Key;
use crate::backend::{
    Claimed, Commit, Fence, Generation, MAX_REMEMBERED, NewTask, NewWork, Position, PushTarget,
    Settled, StoreError, Visibility, WorkerId,
};
use crate::scope::Scope;

/// Events that a running task's log keeps. A reader further behind gets the task as it stands.
const MAX_LOG_EVENTS: usize = 16_384;

/// One task.
pub(super) struct Entry {
    pub(super) id: Arc<str>,
    pub(super) context_id: Arc<str>,
    pub(super) scope: Scope,
    /// Wakes those who read the log.
    pub(super) changed: Notify,
    /// Wakes those who wait for the task to settle.
    pub(super) settled: Notify,
    state: Mutex<State>,
}

pub(super) struct State {
    content: Content,
    /// The events after `log_start`.
    log: VecDeque<Arc<StreamEvent>>,
    log_start: u64,
    pub(super) generation: Generation,
    pub(super) visibility: Visibility,
    pub(super) cancel_requested: bool,
    /// Where the task is listed.
    pub(super) key: Option<Key>,
    pub(super) followers: usize,
    pub(super) fence: Fence,
    work: Option<Work>,
    push: Vec<Push>,
    /// Message ids that belong to the task and are accepted only once.
    pub(super) once: Vec<Arc<str>>,
    remembered: BTreeMap<String, String>,
}

enum Content {
    Live(Box<TaskFold>),
    Finished(Arc<Task>),
    Answered(Arc<Message>),
}

/// A turn that is at work, or waits for a worker.
struct Work {
    record: String,
    owner: Option<WorkerId>,
    attempt: u32,
    crashes: u32,
}

/// A receiver of the task's events.
struct Push {
    config: Arc<PushConfig>,
    delivered: Position,
    given_up: bool,
    owner: Option<WorkerId>,
}

impl Entry {
    pub(super) fn new(scope: &Scope, new: NewTask) -> Self {
        let (id, context_id) = (Arc::clone(&new.task.id), Arc::clone(&new.task.context_id));
        let mut state = State {
            content: Content::Live(Box::new(TaskFold::new(new.task))),
            log: VecDeque::new(),
            log_start: 0,
            generation: Generation(0),
            visibility: new.visibility,
            cancel_requested: false,
            key: None,
            followers: 0,
            fence: Fence(0),
            work: None,
            push: Vec::new(),
            once: Vec::new(),
            remembered: BTreeMap::new(),
        };
        state.begin_work(new.work);
        state
            .push
            .extend(new.push.map(|config| Push::new(config, Position(0))));
        state.once.extend(new.once.map(|key| key.message_id));
        Self {
            id,
            context_id,
            scope: scope.clone(),
            changed: Notify::new(),
            settled: Notify::new(),
            state: Mutex::new(state),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under this lock cannot leave a task half changed: what is done under it calls
        // no code of an agent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State: the task ===

impl State {
    /// Whether the commit may be made; see [`crate::backend::Backend::commit`] for the order.
    pub(super) fn check(&self, commit: &Commit, max_push: usize) -> Result<(), StoreError> {
        let Content::Live(fold) = &self.content else {
            return Err(StoreError::Terminal);
        };
        if let Some(fence) = commit.fence
            && (fence != self.fence || self.work.is_none())
        {
            return Err(StoreError::Fenced);
        }
        let before = fold.status().state;
        let after = commit
            .events
            .iter()
            .filter_map(StreamEvent::state)
            .next_back();
        let answers = commit.events.iter().any(is_message);
        let settles_otherwise = answers
            || commit.work.is_some()
            || after.is_some_and(|to| to.is_settled() && to != TaskState::Canceled);
        if self.cancel_requested && settles_otherwise {
            return Err(StoreError::CancelRequested);
        }
        let by_nobody = commit.fence.is_none() && self.work.is_some();
        if self.generation != commit.expect
            || by_nobody
            || after.is_some_and(|to| !before.may_become(to))
        {
            return Err(StoreError::Conflict);
        }
        match &commit.push {
            Some(config) => self.check_push(config, max_push),
            None => Ok(()),
        }
    }

    /// Folds the commit in and logs it. Returns the direct answer, if it was one.
    pub(super) fn apply(&mut self, commit: Commit) -> Option<Arc<Message>> {
        let Content::Live(fold) = &mut self.content else {
            return None;
        };
        if let Some(message) = commit.message {
            fold.push_message(message);
        }
        let mut answered = None;
        let mut settles = false;
        // The receiver gets what this commit brings.
        let begin = self.log_start + self.log.len() as u64;
        for event in commit.events {
            fold.apply(&event);
            settles = event.state().map_or(settles, TaskState::is_settled);
            if let StreamEvent::Message(message) = &event {
                answered = Some(Arc::clone(message));
            }
            self.log.push_back(Arc::new(event));
        }
        while self.log.len() > MAX_LOG_EVENTS {
            self.log.pop_front();
            self.log_start += 1;
        }
        self.generation.0 += 1;
        let ended = fold.status().state.is_terminal();
        if ended {
            let task = Arc::new(fold.snapshot());
            self.content = Content::Finished(task);
        }
        if settles || answered.is_some() {
            self.work = None;
        }
        if let Some(message) = &answered {
            self.content = Content::Answered(Arc::clone(message));
        }
        if let Some(work) = commit.work {
            self.begin_work(work);
        }
        if let Some(config) = commit.push {
            self.put_push(config, Position(begin));
        }
        self.once.extend(commit.once.map(|key| key.message_id));
        self.forget_log_if_unread();
        answered
    }

    /// A finished task needs no log once nobody reads it.
    pub(super) fn forget_log_if_unread(&mut self) {
        if self.followers == 0
            && !matches!(self.content, Content::Live(_))
            && self.push.iter().all(|push| !push.is_due(self.end()))
        {
            self.log_start += self.log.len() as u64;
            self.log = VecDeque::new();
        }
    }

    pub(super) fn is_live(&self) -> bool {
        matches!(self.content, Content::Live(_))
    }

    /// The state of the task, unless it was answered directly.
    pub(super) fn task_state(&self) -> Option<TaskState> {
        match &self.content {
            Content::Live(fold) => Some(fold.status().state),
            Content::Finished(task) => Some(task.status.state),
            Content::Answered(_) => None,
        }
    }

    /// When the status was reached, and the bytes that a finished task has.
    pub(super) fn listing(&self) -> (i64, usize) {
        match &self.content {
            Content::Live(fold) => (fold.status().timestamp.map_or(0, millis), 0),
            Content::Finished(task) => (task.status.timestamp.map_or(0, millis), task.bytes()),
            Content::Answered(_) => (0, 0),
        }
    }

    pub(super) fn task(&self) -> Option<Arc<Task>> {
        match &self.content {
            Content::Live(fold) => Some(Arc::new(fold.snapshot())),
            Content::Finished(task) => Some(Arc::clone(task)),
            Content::Answered(_) => None,
        }
    }

    pub(super) fn settled(&self) -> Option<Settled> {
        match &self.content {
            Content::Live(fold) if fold.status().state.is_interrupted() => {
                Some(Settled::Task(Arc::new(fold.snapshot())))
            }
            Content::Live(_) => None,
            Content::Finished(task) => Some(Settled::Task(Arc::clone(task))),
            Content::Answered(message) => Some(Settled::Message(Arc::clone(message))),
        }
    }

    /// The place after the last event.
    pub(super) fn end(&self) -> Position {
        Position(self.log_start + self.log.len() as u64)
    }

    /// The events from a place on; `None` where they are not kept any more.
    pub(super) fn events(&self, from: Position) -> Option<Vec<Arc<StreamEvent>>> {
        let skipped = from.0.checked_sub(self.log_start)?;
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        Some(self.log.iter().skip(skipped).cloned().collect())
    }
}

// === impl State: work ===

impl State {
    fn begin_work(&mut self, work: NewWork) {
        self.fence.0 += 1;
        self.work = Some(Work {
            attempt: u32::from(work.claimed_by.is_some()),
            crashes: 0,
            record: work.record,
            owner: work.claimed_by,
        });
    }

    /// Whether a turn waits for a worker, `is_gone` being the workers that are dead.
    pub(super) fn is_claimable(&self, is_gone: impl Fn(&WorkerId) -> bool) -> bool {
        let work = self.work.as_ref();
        work.is_some_and(|work| work.owner.as_ref().is_none_or(is_gone))
    }

    pub(super) fn claim(&mut self, scope: &Scope, worker: &WorkerId) -> Option<Claimed> {
        let task = self.task()?;
        let work = self.work.as_mut()?;
        self.fence.0 += 1;
        work.attempt += 1;
        work.crashes += u32::from(work.owner.is_some());
        work.owner = Some(worker.clone());
        Some(Claimed {
            scope: scope.clone(),
            task,
            generation: self.generation,
            fence: self.fence,
            attempt: work.attempt,
            crashes: work.crashes,
            cancel_requested: self.cancel_requested,
            record: work.record.clone(),
        })
    }

    pub(super) fn is_held_by(&self, worker: &WorkerId) -> bool {
        let owner = self.work.as_ref().and_then(|work| work.owner.as_ref());
        owner == Some(worker)
    }

    pub(super) fn release(&mut self, worker: &WorkerId, fence: Fence) -> Result<(), StoreError> {
        if self.fence != fence || !self.is_held_by(worker) {
            return Err(StoreError::Fenced);
        }
        if let Some(work) = &mut self.work {
            work.owner = None;
        }
        Ok(())
    }
}

// === impl State: what is remembered ===

impl State {
    pub(super) fn remember(
        &mut self,
        fence: Fence,
        key: &str,
        value: String,
    ) -> Result<(), StoreError> {
        if fence != self.fence || self.work.is_none() {
            return Err(StoreError::Fenced);
        }
        if self.remembered.len() >= MAX_REMEMBERED && !self.remembered.contains_key(key) {
            return Err(StoreError::Full {
                limit: "MAX_REMEMBERED",
                allowed: MAX_REMEMBERED,
            });
        }
        self.remembered.insert(key.to_owned(), value);
        Ok(())
    }

    pub(super) fn remembered(&self) -> Vec<(String, String)> {
        self.remembered.clone().into_iter().collect()
    }
}

// === impl State: push ===

impl State {
    fn find_push(&self, id: Option<&Arc<str>>) -> Option<usize> {
        self.push
            .iter()
            .position(|push| push.config.id.as_ref() == id)
    }

    pub(super) fn check_push(&self, config: &PushConfig, max: usize) -> Result<(), StoreError> {
        if self.push.len() < max || self.find_push(config.id.as_ref()).is_some() {
            return Ok(());
        }
        Err(StoreError::Full {
            limit: "max_push_configs_per_task",
            allowed: max,
        })
    }

    pub(super) fn put_push(&mut self, config: Arc<PushConfig>, from: Position) {
        let push = Push::new(config, from);
        match self
            .find_push(push.config.id.as_ref())
            .and_then(|at| self.push.get_mut(at))
        {
            Some(old) => *old = push,
            None => self.push.push(push),
        }
    }

    pub(super) fn push_configs(&self) -> Vec<Arc<PushConfig>> {
        self.push
            .iter()
            .map(|push| Arc::clone(&push.config))
            .collect()
    }

    pub(super) fn delete_push(&mut self, config_id: &str) {
        self.push
            .retain(|push| push.config.id.as_deref() != Some(config_id));
    }

    /// Whether no receiver will be behind any more, unless one is added.
    pub(super) fn is_served_for_good(&self) -> bool {
        let end = self.end();
        !self.is_live() && self.push.iter().all(|push| !push.is_due(end))
    }

    /// Takes the receivers that have not had everything.
    pub(super) fn claim_push(
        &mut self,
        entry: &Entry,
        worker: &WorkerId,
        is_gone: impl Fn(&WorkerId) -> bool,
    ) -> Vec<PushTarget> {
        let end = self.end();
        let free = |push: &&mut Push| {
            let owner = push.owner.as_ref();
            push.is_due(end) && owner.is_none_or(|owner| owner == worker || is_gone(owner))
        };
        let take = |push: &mut Push| {
            push.owner = Some(worker.clone());
            PushTarget {
                scope: entry.scope.clone(),
                task_id: Arc::clone(&entry.id),
                config: Arc::clone(&push.config),
                delivered: push.delivered,
            }
        };
        self.push.iter_mut().filter(free).map(take).collect()
    }

    pub(super) fn note_push(&mut self, config_id: &str, delivered: Option<Position>) {
        let noted = self
            .push
            .iter_mut()
            .find(|push| push.config.id.as_deref() == Some(config_id));
        if let Some(push) = noted {
            match delivered {
                Some(position) => push.delivered = push.delivered.max(position),
                None => push.given_up = true,
            }
        }
        self.forget_log_if_unread();
    }
}

impl Push {
    fn new(config: Arc<PushConfig>, delivered: Position) -> Self {
        Self {
            config,
            delivered,
            given_up: false,
            owner: None,
        }
    }

    fn is_due(&self, end: Position) -> bool {
        !self.given_up && self.delivered < end
    }
}

fn is_message(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::Message(_))
}

fn millis(timestamp: Timestamp) -> i64 {
    timestamp.as_micros().div_euclid(1_000)
}
