use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use llamon_core::a2a::StreamEvent;

use super::entry::Entry;
use crate::backend::{LogCursor, Position, StoreError};

/// A reader's place in one log. It keeps the task alive, also when the index has let it go.
pub(super) struct MemoryCursor {
    entry: Arc<Entry>,
    next: Position,
}

impl MemoryCursor {
    /// A reader that the entry has been told of.
    pub(super) fn new(entry: Arc<Entry>, next: Position) -> Self {
        Self { entry, next }
    }

    /// What there is to read now; `None` when there is nothing yet.
    fn read(&mut self) -> Option<Option<Vec<Arc<StreamEvent>>>> {
        let state = self.entry.lock();
        let events = state.events(self.next);
        self.next = state.end();
        match events {
            None => {
                let task = state.task();
                Some(task.map(|task| vec![Arc::new(StreamEvent::Task(task))]))
            }
            Some(events) if !events.is_empty() => Some(Some(events)),
            Some(_) if state.is_live() => None,
            Some(_) => Some(None),
        }
    }
}

impl LogCursor for MemoryCursor {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Arc<StreamEvent>>>, StoreError>> {
        async move {
            let entry = Arc::clone(&self.entry);
            loop {
                let mut wake = std::pin::pin!(entry.changed.notified());
                // Listen before looking, so that no change falls between the two.
                wake.as_mut().enable();
                if let Some(read) = self.read() {
                    return Ok(read);
                }
                wake.await;
            }
        }
        .boxed()
    }

    fn position(&self) -> Position {
        self.next
    }
}

impl Drop for MemoryCursor {
    fn drop(&mut self) {
        let mut state = self.entry.lock();
        state.followers -= 1;
        state.forget_log_if_unread();
    }
}
