//! Messages that are accepted only once.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use llamon_core::a2a::Message;

use crate::backend::{MessageKey, Seen, StoreError};
use crate::scope::Scope;

/// The ids that came, and what became of each. An id goes with its task.
#[derive(Default)]
pub(super) struct Once {
    seen: HashMap<Scope, HashMap<Arc<str>, Entry>>,
    // Direct answers have no task that they could go with; oldest first.
    answered: VecDeque<(Scope, Arc<str>)>,
}

struct Entry {
    hash: [u8; 32],
    seen: Seen,
}

impl Once {
    pub(super) fn find(&self, scope: &Scope, key: &MessageKey) -> Result<Option<Seen>, StoreError> {
        let ids = self.seen.get(scope);
        match ids.and_then(|ids| ids.get(&key.message_id)) {
            Some(entry) if entry.hash != key.hash => Err(StoreError::OtherMessage),
            Some(entry) => Ok(Some(entry.seen.clone())),
            None => Ok(None),
        }
    }

    pub(super) fn insert(&mut self, scope: &Scope, key: &MessageKey, task_id: &Arc<str>) {
        let entry = Entry {
            hash: key.hash,
            seen: Seen::Task(Arc::clone(task_id)),
        };
        let ids = self.seen.entry(scope.clone()).or_default();
        ids.insert(Arc::clone(&key.message_id), entry);
    }

    /// Keeps a direct answer, and lets the oldest ones go where there are too many.
    pub(super) fn answer(
        &mut self,
        scope: &Scope,
        ids: &[Arc<str>],
        answer: &Arc<Message>,
        max: usize,
    ) {
        for id in ids {
            let entry = self.seen.get_mut(scope).and_then(|ids| ids.get_mut(id));
            if let Some(entry) = entry {
                entry.seen = Seen::Message(Arc::clone(answer));
                self.answered.push_back((scope.clone(), Arc::clone(id)));
            }
        }
        while self.answered.len() > max
            && let Some((scope, id)) = self.answered.pop_front()
        {
            self.forget(&scope, &[id]);
        }
    }

    pub(super) fn forget(&mut self, scope: &Scope, ids: &[Arc<str>]) {
        let Some(kept) = self.seen.get_mut(scope) else {
            return;
        };
        for id in ids {
            kept.remove(id);
        }
        if kept.is_empty() {
            self.seen.remove(scope);
        }
    }
}
