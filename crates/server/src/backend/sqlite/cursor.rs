use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use llamon_core::a2a::StreamEvent;

use super::hub::{Follower, Outcome, Watch};
use super::readers::Readers;
use super::rows::{self, TaskRow};
use crate::backend::{LogCursor, Position, Settled, StoreError};

/// A reader's place in one log: live from memory, behind that from the file.
pub(super) struct SqliteCursor {
    readers: Arc<Readers>,
    next: i64,
    // In this order: the follower goes first.
    _follower: Follower,
    watch: Watch,
}

type Events = Vec<Arc<StreamEvent>>;

/// What there is to read now.
enum Read {
    Events(Events),
    End,
    /// Nothing yet.
    Wait,
    /// What the file has.
    File,
    Gone,
}

impl SqliteCursor {
    pub(super) fn new(readers: Arc<Readers>, next: i64, follower: Follower, watch: Watch) -> Self {
        Self {
            readers,
            next,
            _follower: follower,
            watch,
        }
    }

    fn read(&mut self) -> Read {
        let state = self.watch.live.lock();
        if self.next >= state.position {
            return match (&state.outcome, state.has_ended) {
                (_, true) => Read::End,
                (Outcome::Gone, _) => Read::Gone,
                _ => Read::Wait,
            };
        }
        if let Some(events) = state.recent(self.next) {
            self.next = state.position;
            return Read::Events(events);
        }
        Read::File
    }

    /// What the task has ended as, from memory: the file may have neither its log nor itself any
    /// more.
    fn end(&self) -> Option<(Events, i64)> {
        let state = self.watch.live.lock();
        let event = match &state.outcome {
            Outcome::Settled(Settled::Task(task)) => StreamEvent::Task(Arc::clone(task)),
            Outcome::Settled(Settled::Message(message)) => {
                StreamEvent::Message(Arc::clone(message))
            }
            Outcome::Running | Outcome::Stored | Outcome::Gone => return None,
        };
        Some((vec![Arc::new(event)], state.position))
    }

    /// Events from the file, or the task as it stands where they are not kept, and the place after
    /// them.
    async fn read_file(&self) -> Result<Option<(Events, i64)>, StoreError> {
        let known = self.watch.live.lock().known.clone();
        let Some((_, key)) = known else {
            return Ok(None);
        };
        let next = self.next;
        self.readers
            .read(move |connection| {
                let Some(row) = TaskRow::of_key(connection, key)? else {
                    return Ok(None);
                };
                if let Some(events) = rows::load_events(connection, &row, next)? {
                    return Ok(Some((events, row.position)));
                }
                let event = if row.is_answered() {
                    StreamEvent::Message(Arc::new(rows::load_answer(connection, key)?))
                } else {
                    StreamEvent::Task(Arc::new(rows::load_task(connection, &row)?))
                };
                Ok(Some((vec![Arc::new(event)], row.position)))
            })
            .await
    }
}

impl LogCursor for SqliteCursor {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Events>, StoreError>> {
        async move {
            let live = Arc::clone(&self.watch.live);
            loop {
                let mut wake = std::pin::pin!(live.changed.notified());
                // Listen before looking, so that no change falls between the two.
                wake.as_mut().enable();
                match self.read() {
                    Read::Events(events) => return Ok(Some(events)),
                    Read::End => return Ok(None),
                    Read::Wait => wake.await,
                    Read::Gone => return Err(gone()),
                    Read::File => {
                        let read = self.read_file().await?;
                        let (events, next) = read.or_else(|| self.end()).ok_or_else(gone)?;
                        self.next = next;
                        if !events.is_empty() {
                            return Ok(Some(events));
                        }
                    }
                }
            }
        }
        .boxed()
    }

    fn position(&self) -> Position {
        Position(self.next.cast_unsigned())
    }
}

fn gone() -> StoreError {
    StoreError::Failed(
        "the task was removed by another process before its last events were read".to_owned(),
    )
}
