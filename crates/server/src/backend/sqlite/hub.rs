//! Tasks that somebody in this process waits for, and their last events.
//!
//! The writer tells the hub what it has made durable, so that readers need not ask the file. What
//! another process writes is found by asking the file about the tasks that are waited for.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use llamon_core::a2a::{StreamEvent, Task};
use tokio::sync::Notify;

use super::rows::TaskRow;
use crate::backend::{Settled, StoreError};

/// Events of a followed task that are kept in memory; a reader further behind reads the file.
const MAX_RING_EVENTS: usize = 256;
/// Bytes of parts in them. The newest events stay whatever their size.
const MAX_RING_BYTES: usize = 1024 * 1024;
/// Running tasks that are known beside those that somebody waits for.
const MAX_OURS: usize = 16_384;

/// What the writer has made durable about a task.
pub(super) struct Published {
    pub(super) agent: Arc<str>,
    pub(super) id: Arc<str>,
    pub(super) who: Arc<str>,
    pub(super) key: i64,
    pub(super) generation: i64,
    pub(super) begin: i64,
    pub(super) events: Vec<Arc<StreamEvent>>,
    pub(super) outcome: Outcome,
    /// Whether the turn runs in this process, so that somebody is about to wait for it.
    pub(super) is_ours: bool,
}

/// Whether a task has settled.
#[derive(Clone)]
pub(super) enum Outcome {
    Running,
    Settled(Settled),
    /// It has, and the file says to what.
    Stored,
    /// It is not there any more.
    Gone,
}

#[derive(Default)]
pub(super) struct Hub {
    agents: Mutex<Agents>,
    /// Wakes who looks for other processes' changes, when there is somebody to look for.
    pub(super) woken: Notify,
}

#[derive(Default)]
struct Agents {
    live: HashMap<Arc<str>, HashMap<Arc<str>, Arc<Live>>>,
    ours: usize,
    watched: usize,
}

/// A task that somebody waits for, or is about to.
pub(super) struct Live {
    pub(super) agent: Arc<str>,
    pub(super) id: Arc<str>,
    /// Wakes those who read the log.
    pub(super) changed: Notify,
    /// Wakes those who wait for the task to settle.
    pub(super) settled: Notify,
    state: Mutex<LiveState>,
}

pub(super) struct LiveState {
    /// The task's scope and key, once they are known.
    pub(super) known: Option<(Arc<str>, i64)>,
    pub(super) outcome: Outcome,
    /// The place after the last durable event.
    pub(super) position: i64,
    pub(super) has_ended: bool,
    followers: usize,
    admitted: usize,
    generation: i64,
    ring: VecDeque<Arc<StreamEvent>>,
    ring_begin: i64,
    ring_bytes: usize,
    watches: usize,
    is_ours: bool,
}

impl Hub {
    fn lock(&self) -> MutexGuard<'_, Agents> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody waits for anything.
    pub(super) fn is_idle(&self) -> bool {
        self.lock().watched == 0
    }

    /// Everything that is waited for. All else is forgotten: another process may have changed it.
    pub(super) fn watched(&self) -> Vec<Arc<Live>> {
        let mut agents = self.lock();
        let Agents { live, ours, .. } = &mut *agents;
        for known in live.values_mut() {
            known.retain(|_, live| {
                let mut state = live.lock();
                *ours = ours.saturating_sub(usize::from(state.is_ours));
                state.is_ours = false;
                state.watches > 0
            });
        }
        live.values().flat_map(HashMap::values).cloned().collect()
    }

    /// Tells those who wait for the task, or are about to, what has happened to it.
    pub(super) fn publish(&self, news: Published) {
        let live = {
            let mut agents = self.lock();
            let known = agents.live.get(&news.agent);
            match known.and_then(|known| known.get(&news.id)) {
                Some(live) => Arc::clone(live),
                None if news.is_ours && agents.ours < MAX_OURS => {
                    agents.insert(&news.agent, &news.id)
                }
                None => return,
            }
        };
        let is_settled = !matches!(news.outcome, Outcome::Running);
        let was_ours = {
            let mut state = live.lock();
            let was_ours = std::mem::replace(&mut state.is_ours, news.is_ours && !is_settled);
            state.take(&news);
            (was_ours, state.is_ours)
        };
        live.changed.notify_waiters();
        if is_settled {
            live.settled.notify_waiters();
        }
        let mut agents = self.lock();
        match was_ours {
            (false, true) => agents.ours += 1,
            (true, false) => agents.ours = agents.ours.saturating_sub(1),
            _ => {}
        }
        agents.remove_if_unused(&live);
    }

    /// Begins to wait for a task, whether it exists or not.
    pub(super) fn watch(self: &Arc<Self>, agent: &Arc<str>, id: &str) -> Watch {
        let mut agents = self.lock();
        let known = agents.live.get(agent).and_then(|known| known.get(id));
        let live = match known {
            Some(live) => Arc::clone(live),
            None => agents.insert(agent, &id.into()),
        };
        live.lock().watches += 1;
        agents.watched += 1;
        if agents.watched == 1 {
            self.woken.notify_one();
        }
        drop(agents);
        Watch {
            hub: Arc::clone(self),
            live,
        }
    }
}

impl Agents {
    fn insert(&mut self, agent: &Arc<str>, id: &Arc<str>) -> Arc<Live> {
        let live = Arc::new(Live {
            agent: Arc::clone(agent),
            id: Arc::clone(id),
            changed: Notify::new(),
            settled: Notify::new(),
            state: Mutex::new(LiveState::new()),
        });
        let known = self.live.entry(Arc::clone(agent)).or_default();
        known.insert(Arc::clone(id), Arc::clone(&live));
        live
    }

    fn remove_if_unused(&mut self, live: &Arc<Live>) {
        let state = live.lock();
        if state.watches > 0 || state.is_ours {
            return;
        }
        drop(state);
        if let Some(known) = self.live.get_mut(&live.agent)
            && known
                .get(&live.id)
                .is_some_and(|kept| Arc::ptr_eq(kept, live))
        {
            known.remove(&live.id);
        }
    }
}

impl Live {
    pub(super) fn lock(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what the file says; older news than what is known change nothing.
    pub(super) fn learn(
        &self,
        who: Option<&Arc<str>>,
        row: Option<&TaskRow>,
        task: Option<&Arc<Task>>,
    ) {
        let mut state = self.lock();
        let Some(row) = row else {
            // Who reads nothing may have read before the task was made.
            if state.known.is_some() && matches!(state.outcome, Outcome::Running) {
                state.outcome = Outcome::Gone;
                drop(state);
                self.changed.notify_waiters();
                self.settled.notify_waiters();
            }
            return;
        };
        if state.known.is_none()
            && let Some(who) = who
        {
            state.known = Some((Arc::clone(who), row.key));
        }
        let is_settled = row.task_state().is_none_or(|state| state.is_settled());
        let is_news = row.generation > state.generation;
        if row.generation >= state.generation {
            state.generation = row.generation;
            state.position = state.position.max(row.position);
            state.has_ended |= row.has_ended();
            let knows = !is_news && !matches!(state.outcome, Outcome::Running | Outcome::Stored);
            match task {
                _ if knows => {}
                Some(task) if is_settled => {
                    state.outcome = Outcome::Settled(Settled::Task(Arc::clone(task)));
                }
                _ if is_settled => state.outcome = Outcome::Stored,
                _ => state.outcome = Outcome::Running,
            }
        }
        drop(state);
        if is_news {
            self.changed.notify_waiters();
            if is_settled {
                self.settled.notify_waiters();
            }
        }
    }
}

impl LiveState {
    fn new() -> Self {
        Self {
            known: None,
            outcome: Outcome::Running,
            position: 0,
            has_ended: false,
            followers: 0,
            admitted: 0,
            generation: -1,
            ring: VecDeque::new(),
            ring_begin: 0,
            ring_bytes: 0,
            watches: 0,
            is_ours: false,
        }
    }

    fn take(&mut self, news: &Published) {
        self.known = Some((Arc::clone(&news.who), news.key));
        self.generation = self.generation.max(news.generation);
        self.outcome = news.outcome.clone();
        self.has_ended = match &news.outcome {
            Outcome::Settled(Settled::Task(task)) => task.status.state.is_terminal(),
            Outcome::Settled(Settled::Message(_)) | Outcome::Gone => true,
            Outcome::Running | Outcome::Stored => false,
        };
        let ring_end = self.ring_begin + self.ring.len() as i64;
        self.position = self.position.max(news.begin + news.events.len() as i64);
        if self.followers == 0 || ring_end != news.begin {
            self.ring.clear();
            self.ring_bytes = 0;
            self.ring_begin = news.begin;
        }
        if self.followers == 0 {
            self.ring_begin = self.position;
            return;
        }
        for event in &news.events {
            self.ring_bytes += size(event);
            self.ring.push_back(Arc::clone(event));
        }
        let fresh = news.events.len();
        while (self.ring.len() > MAX_RING_EVENTS || self.ring_bytes > MAX_RING_BYTES)
            && self.ring.len() > fresh
            && let Some(oldest) = self.ring.pop_front()
        {
            self.ring_bytes -= size(&oldest);
            self.ring_begin += 1;
        }
    }

    /// The events from a place on, if the last ones are in memory.
    pub(super) fn recent(&self, from: i64) -> Option<Vec<Arc<StreamEvent>>> {
        let ring_end = self.ring_begin + self.ring.len() as i64;
        if from < self.ring_begin || ring_end != self.position {
            return None;
        }
        let skipped = usize::try_from(from - self.ring_begin).ok()?;
        Some(self.ring.iter().skip(skipped).cloned().collect())
    }
}

/// Bytes of the parts of an event.
pub(super) fn size(event: &StreamEvent) -> usize {
    use super::parts::Parts as _;
    let mut bytes = 0;
    event.each_part(&mut |part| bytes += part.json().len());
    bytes
}

/// Somebody waits for a task as long as this is held.
pub(super) struct Watch {
    hub: Arc<Hub>,
    pub(super) live: Arc<Live>,
}

impl Watch {
    /// Keeps the task's events in memory from now on.
    pub(super) fn follow(&self) -> Follower {
        self.live.lock().followers += 1;
        Follower {
            live: Arc::clone(&self.live),
            is_admitted: false,
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut agents = self.hub.lock();
        agents.watched = agents.watched.saturating_sub(1);
        let mut state = self.live.lock();
        state.watches -= 1;
        drop(state);
        agents.remove_if_unused(&self.live);
    }
}

/// A follower of a task's log.
pub(super) struct Follower {
    live: Arc<Live>,
    is_admitted: bool,
}

impl Follower {
    /// Counts the follower among those that are limited, unless there are too many.
    pub(super) fn admit(&mut self, max: Option<usize>) -> Result<(), StoreError> {
        let mut state = self.live.lock();
        if let Some(allowed) = max.filter(|max| state.admitted >= *max) {
            return Err(StoreError::Full {
                limit: "max_subscribers_per_task",
                allowed,
            });
        }
        state.admitted += 1;
        drop(state);
        self.is_admitted = true;
        Ok(())
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut state = self.live.lock();
        state.followers -= 1;
        state.admitted -= usize::from(self.is_admitted);
        if state.followers == 0 {
            state.ring = VecDeque::new();
            state.ring_bytes = 0;
            state.ring_begin = state.position;
        }
    }
}
