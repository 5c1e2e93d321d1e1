//! The order in which tasks are listed, and the order in which finished ones go.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use llamon_core::Limits;
use llamon_core::a2a::{ListTasksRequest, TaskState};

use super::entry::Entry;
use super::once::Once;
use crate::backend::StoreError;
use crate::scope::Scope;

/// When a task's status was reached, in milliseconds as the wire shows it, and a count that
/// tells two statuses of one millisecond apart.
pub(super) type Key = (i64, u64);

/// All tasks of a memory backend.
#[derive(Default)]
pub(super) struct Index {
    tasks: HashMap<Arc<str>, Arc<Entry>>,
    // Newest status first.
    listed: HashMap<Scope, BTreeMap<Reverse<Key>, Listed>>,
    // Oldest first.
    finished: VecDeque<Finished>,
    finished_bytes: usize,
    open: usize,
    count: u64,
    pub(super) once: Once,
}

struct Listed {
    entry: Arc<Entry>,
    state: TaskState,
}

struct Finished {
    task_id: Arc<str>,
    key: Key,
    bytes: usize,
    once: Box<[Arc<str>]>,
}

/// What is found for a page.
pub(super) struct Found {
    pub(super) entries: Vec<Arc<Entry>>,
    pub(super) next_page_token: String,
    pub(super) total: usize,
}

impl Index {
    pub(super) fn insert(&mut self, entry: Arc<Entry>, limits: &Limits) -> Result<(), StoreError> {
        if self.open >= limits.max_open_tasks {
            return Err(StoreError::Full {
                limit: "max_open_tasks",
                allowed: limits.max_open_tasks,
            });
        }
        self.open += 1;
        self.tasks.insert(Arc::clone(&entry.id), entry);
        Ok(())
    }

    pub(super) fn get(&self, scope: &Scope, task_id: &str) -> Result<Arc<Entry>, StoreError> {
        self.tasks
            .get(task_id)
            .filter(|entry| entry.scope == *scope)
            .cloned()
            .ok_or(StoreError::NotFound)
    }

    /// The task of whatever scope, for the server itself.
    pub(super) fn of_any_scope(&self, task_id: &str) -> Option<Arc<Entry>> {
        self.tasks.get(task_id).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<Entry>> {
        self.tasks.values().cloned().collect()
    }

    /// Lists the task under its new status. Returns the key to give back the next time.
    pub(super) fn relist(
        &mut self,
        entry: &Arc<Entry>,
        old: Option<Key>,
        millis: i64,
        state: TaskState,
    ) -> Key {
        let key = (millis, self.count);
        self.count += 1;
        if !self.listed.contains_key(&entry.scope) {
            self.listed.insert(entry.scope.clone(), BTreeMap::new());
        }
        if let Some(listed) = self.listed.get_mut(&entry.scope) {
            if let Some(old) = old {
                listed.remove(&Reverse(old));
            }
            let entry = Arc::clone(entry);
            listed.insert(Reverse(key), Listed { entry, state });
        }
        key
    }

    /// Notes that a task has finished, and lets the oldest finished ones go where there are too
    /// many.
    pub(super) fn finish(
        &mut self,
        entry: &Entry,
        key: Key,
        bytes: usize,
        once: &[Arc<str>],
        limits: &Limits,
    ) {
        self.open = self.open.saturating_sub(1);
        self.finished_bytes += bytes;
        self.finished.push_back(Finished {
            task_id: Arc::clone(&entry.id),
            key,
            bytes,
            once: once.into(),
        });
        while self.finished.len() > limits.max_finished_tasks
            || (self.finished_bytes > limits.max_finished_bytes && self.finished.len() > 1)
        {
            let Some(oldest) = self.finished.pop_front() else {
                break;
            };
            self.finished_bytes -= oldest.bytes;
            if let Some(entry) = self.tasks.remove(&oldest.task_id) {
                self.unlist(&entry.scope, Some(oldest.key));
                self.once.forget(&entry.scope, &oldest.once);
            }
        }
    }

    /// Removes a task that was answered directly.
    pub(super) fn remove(&mut self, entry: &Entry, key: Option<Key>) {
        if self.tasks.remove(&entry.id).is_some() {
            self.open = self.open.saturating_sub(1);
            self.unlist(&entry.scope, key);
        }
    }

    fn unlist(&mut self, scope: &Scope, key: Option<Key>) {
        let (Some(listed), Some(key)) = (self.listed.get_mut(scope), key) else {
            return;
        };
        listed.remove(&Reverse(key));
        if listed.is_empty() {
            self.listed.remove(scope);
        }
    }

    pub(super) fn find(
        &self,
        scope: &Scope,
        request: &ListTasksRequest,
        page_size: usize,
    ) -> Result<Found, StoreError> {
        let after = request.page_token.as_deref().map(parse_token).transpose()?;
        let mut found = Found {
            entries: Vec::new(),
            next_page_token: String::new(),
            total: 0,
        };
        let Some(listed) = self.listed.get(scope) else {
            return Ok(found);
        };
        let matches = |key: &Key, listed: &Listed| {
            let since = request.status_timestamp_after;
            request.status.is_none_or(|state| state == listed.state)
                && since.is_none_or(|since| key.0 >= since.as_micros().div_euclid(1_000))
                && (request.context_id.as_ref()).is_none_or(|id| *id == listed.entry.context_id)
        };
        let unfiltered = request.status.is_none()
            && request.status_timestamp_after.is_none()
            && request.context_id.is_none();
        found.total = if unfiltered {
            listed.len()
        } else {
            (listed.iter())
                .filter(|(Reverse(key), task)| matches(key, task))
                .count()
        };
        let begin = after.map_or(Bound::Unbounded, |key| Bound::Excluded(Reverse(key)));
        let mut page = listed
            .range((begin, Bound::Unbounded))
            .filter(|(Reverse(key), task)| matches(key, task));
        let mut last = None;
        for (Reverse(key), task) in page.by_ref().take(page_size) {
            found.entries.push(Arc::clone(&task.entry));
            last = Some(*key);
        }
        if let (Some(last), true) = (last, page.next().is_some()) {
            found.next_page_token = token(last);
        }
        Ok(found)
    }
}

fn token((millis, count): Key) -> String {
    URL_SAFE_NO_PAD.encode(format!("{millis}.{count}"))
}

fn parse_token(token: &str) -> Result<Key, StoreError> {
    let parse = || {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
        let (millis, count) = text.split_once('.')?;
        Some((millis.parse().ok()?, count.parse().ok()?))
    };
    parse().ok_or(StoreError::PageToken)
}
