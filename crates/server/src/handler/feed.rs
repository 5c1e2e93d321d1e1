use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use llamon_core::a2a::{A2aError, Message, StreamEvent, Task};
use tokio_util::sync::CancellationToken;

use super::to_a2a;
use crate::backend::{LogCursor, Position, StoreError};

/// A stream's events, in batches of what is there.
pub(crate) struct EventFeed {
    pub(super) first: Option<Arc<Task>>,
    /// Whether the task is shown only when there is something else than a direct message.
    pub(super) hidden: bool,
    pub(super) cursor: Box<dyn LogCursor>,
    pub(super) closing: CancellationToken,
    pub(super) close_when_interrupted: bool,
    /// Whether the task had settled before: it is all that there is to say.
    pub(super) settled: bool,
    pub(super) ended: bool,
}

impl EventFeed {
    /// A feed that is one direct message.
    pub(super) fn of_message(message: Arc<Message>, closing: CancellationToken) -> Self {
        Self {
            first: None,
            hidden: true,
            cursor: Box::new(Only(Some(Arc::new(StreamEvent::Message(message))))),
            closing,
            close_when_interrupted: true,
            settled: false,
            ended: false,
        }
    }

    /// The next events, at least one; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<VecDeque<Arc<StreamEvent>>>, A2aError> {
        if self.ended {
            return Ok(None);
        }
        if self.settled {
            self.ended = true;
            let task = self.first.take().map(StreamEvent::Task);
            return Ok(task.map(|task| VecDeque::from([Arc::new(task)])));
        }
        let shown = (self.first.take_if(|_| !self.hidden)).map(StreamEvent::Task);
        let next = match shown {
            // With the task goes what is there already: one write instead of two.
            Some(_) => self
                .cursor
                .next()
                .now_or_never()
                .unwrap_or(Ok(Some(Vec::new()))),
            None => tokio::select! {
                biased;
                next = self.cursor.next() => next,
                // The server stops and no turn is left: what waits can be followed again later.
                () = self.closing.cancelled() => Ok(None),
            },
        };
        let mut events: VecDeque<_> = match next.map_err(to_a2a)? {
            Some(events) => events.into(),
            None if shown.is_some() => VecDeque::new(),
            None => {
                self.ended = true;
                return Ok(None);
            }
        };
        let direct = matches!(events.front().map(|e| &**e), Some(StreamEvent::Message(_)));
        let first = shown.or_else(|| self.first.take().map(StreamEvent::Task));
        if let (Some(task), false) = (first, direct) {
            events.push_front(Arc::new(task));
        }
        self.hidden = false;
        let last = |event: &Arc<StreamEvent>| {
            event.state().is_some_and(|state| {
                state.is_terminal() || (self.close_when_interrupted && state.is_interrupted())
            })
        };
        if let Some(at) = events.iter().position(last) {
            events.truncate(at + 1);
            self.ended = true;
        }
        self.ended |= direct;
        Ok(Some(events))
    }
}

/// A log of one event, of a task that is gone.
struct Only(Option<Arc<StreamEvent>>);

impl LogCursor for Only {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Arc<StreamEvent>>>, StoreError>> {
        async move { Ok(self.0.take().map(|event| vec![event])) }.boxed()
    }

    fn position(&self) -> Position {
        Position::default()
    }
}
