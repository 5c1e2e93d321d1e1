//! One receiver is served: event after event, in their order, until its task has ended.

use std::sync::Arc;
use std::time::Duration;

use llamon_core::a2a::{ProtocolVersion, StreamEvent};
use tokio::sync::watch;
use tokio::time::sleep;

use super::attempt::{Notification, Outcome, authority};
use super::engine::{Inner, Phase};
use super::places::{Place, Queue, Try};
use crate::backend::{LogCursor, Position, PushProgress, PushTarget, ReadFrom, StoreError, Worker};

/// How long a receiver is kept in memory after its last event. The store knows it all the same.
pub(super) const IDLE: Duration = Duration::from_secs(30);
/// Events that may have been taken without a note of it: as many may come twice after a crash.
const NOTE_EVERY: u64 = 32;

/// Serves one receiver.
pub(super) struct Delivery {
    inner: Arc<Inner>,
    worker: Arc<Worker>,
    target: PushTarget,
    queue: Queue,
    phase: watch::Receiver<Phase>,
    /// Up to where the receiver has taken events.
    taken: Position,
    noted: Position,
    /// Attempts at the present event that failed.
    failed: u32,
}

/// Why a reading of the log ended.
enum Ended {
    /// There is no place for a request.
    NoPlace,
    /// The event is to be tried again after the pause.
    Failed(Duration),
    /// The receiver is done with, for now or for ever.
    Done,
}

/// What became of an event.
enum Sent {
    Taken,
    /// It is to be tried again after the pause.
    Later(Duration),
    /// It is not to be sent, and neither is what comes after it.
    Unwanted,
}

impl Delivery {
    pub(super) fn new(inner: Arc<Inner>, worker: Arc<Worker>, target: PushTarget) -> Self {
        Self {
            queue: inner.places.queue(&authority(&target.config.url)),
            phase: inner.phase.subscribe(),
            taken: target.delivered,
            noted: target.delivered,
            failed: 0,
            inner,
            worker,
            target,
        }
    }

    /// Serves the receiver until there is nothing more to do, or not now. Cancel-safe: what was
    /// not noted is sent again by whoever serves the receiver next.
    pub(super) async fn run(mut self) {
        let mut place = None;
        loop {
            let ended = self.read(place).await;
            self.note().await;
            // From here on, nothing is held in memory but a position.
            place = match ended {
                Ended::NoPlace => self.enter().await,
                Ended::Failed(pause) => self.pause(pause).await,
                Ended::Done => return,
            };
            if place.is_none() {
                return;
            }
        }
    }

    /// Sends what the log has from where the receiver is.
    async fn read(&mut self, mut place: Option<Place>) -> Ended {
        let PushTarget { scope, task_id, .. } = &self.target;
        let from = ReadFrom::After(self.taken);
        let mut cursor = match self.inner.backend.follow(scope, task_id, from).await {
            Ok((_, cursor)) => cursor,
            Err(StoreError::NotFound) => return Ended::Done,
            Err(error) => return self.unreadable(&error),
        };
        loop {
            let events = match self.next(&mut *cursor).await {
                Ok(Some(events)) => events,
                Ok(None) => return Ended::Done,
                Err(error) => return self.unreadable(&error),
            };
            let end = cursor.position().0;
            let mut left = events.len() as u64;
            for event in events {
                left -= 1;
                let at = Position(end.saturating_sub(left));
                place = place
                    .filter(Place::is_fresh)
                    .or_else(|| self.queue.enter_now(self.which()));
                if place.is_none() {
                    return Ended::NoPlace;
                }
                match self.deliver(&event, at).await {
                    Sent::Taken => {}
                    Sent::Later(pause) => return Ended::Failed(pause),
                    Sent::Unwanted => return Ended::Done,
                }
            }
            place = None;
            self.note().await;
        }
    }

    /// The next events; `None` when there are none for a while, or none any more.
    async fn next(
        &mut self,
        cursor: &mut dyn LogCursor,
    ) -> Result<Option<Vec<Arc<StreamEvent>>>, StoreError> {
        tokio::select! {
            biased;
            // What is there already goes out first, unless the server stops at once.
            events = cursor.next(), if *self.phase.borrow() != Phase::Leaving => events,
            _ = self.phase.wait_for(|phase| *phase != Phase::Serving) => Ok(None),
            () = sleep(IDLE) => Ok(None),
        }
    }

    async fn deliver(&mut self, event: &StreamEvent, at: Position) -> Sent {
        if *self.phase.borrow() == Phase::Leaving || !self.is_wanted().await {
            return Sent::Unwanted;
        }
        // A direct answer leaves no task, and who asked for it has it.
        if !matches!(event, StreamEvent::Message(_)) {
            match self.attempt(event, at).await {
                Sent::Taken => {}
                other => return other,
            }
        }
        self.failed = 0;
        self.taken = at;
        if at.0.saturating_sub(self.noted.0) >= NOTE_EVERY {
            self.note().await;
        }
        Sent::Taken
    }

    async fn attempt(&mut self, event: &StreamEvent, at: Position) -> Sent {
        let config = &self.target.config;
        let notification = match config.version {
            ProtocolVersion::V0_3 => match self.task_in_v03(at).await {
                Some(notification) => notification,
                // The task is gone, or its text has no form in 0.3: there is nothing to tell.
                None => return Sent::Taken,
            },
            _ => Notification::new(&self.target.task_id, self.id(), at, event),
        };
        // In a box, so that a receiver that waits does not take the room of one that is served.
        let outcome = Box::pin(self.inner.sender.send(config, &notification)).await;
        let (why, wish) = match outcome {
            Outcome::Taken => return Sent::Taken,
            Outcome::Later { why, pause } => (why, Some(pause)),
            Outcome::Never { why } => (why, None),
        };
        self.failed = self.failed.saturating_add(1);
        match wish {
            Some(wish) if self.failed < self.inner.options.max_attempts => {
                let pause = self.inner.pause(self.failed, wish);
                tracing::debug!(
                    task = %self.target.task_id, config = self.id(), ?pause, why,
                    "a notification was not taken"
                );
                Sent::Later(pause)
            }
            _ => {
                self.give_up(&why).await;
                Sent::Unwanted
            }
        }
    }

    async fn task_in_v03(&self, at: Position) -> Option<Notification> {
        let PushTarget { scope, task_id, .. } = &self.target;
        let (task, _) = self.inner.backend.get(scope, task_id).await.ok()?;
        Notification::of_task(&task, self.id(), at)
            .inspect_err(|error| {
                tracing::warn!(task = %task_id, %error, "a task cannot be written in A2A 0.3");
            })
            .ok()
    }

    /// Whether the receiver is still to be served, and as it is known here. A task that has been
    /// removed meanwhile is told of to its end.
    async fn is_wanted(&self) -> bool {
        let PushTarget { scope, task_id, .. } = &self.target;
        match self.inner.backend.push_configs(scope, task_id).await {
            Ok(configs) => configs.contains(&self.target.config),
            Err(StoreError::NotFound) => true,
            Err(error) => {
                tracing::warn!(task = %task_id, %error, "the receivers of a task cannot be read");
                false
            }
        }
    }

    async fn give_up(&mut self, why: &str) {
        // If it was replaced meanwhile, its successor begins anew.
        if !self.is_wanted().await {
            return;
        }
        tracing::warn!(
            task = %self.target.task_id,
            config = self.id(),
            receiver = authority(&self.target.config.url),
            attempts = self.failed,
            why,
            "a receiver of notifications is given up",
        );
        self.note().await;
        self.put(PushProgress::GivenUp).await;
    }

    async fn note(&mut self) {
        if self.noted < self.taken && self.put(PushProgress::Delivered(self.taken)).await {
            self.noted = self.taken;
        }
    }

    async fn put(&self, progress: PushProgress) -> bool {
        let task_id = &self.target.task_id;
        let noted = self
            .inner
            .backend
            .note_push(&self.worker, task_id, self.id(), progress)
            .await;
        if let Err(error) = &noted {
            tracing::warn!(task = %task_id, %error, "it cannot be noted what a receiver has taken");
        }
        noted.is_ok()
    }

    /// A place after the pause; none if the server is about to stop.
    async fn pause(&mut self, pause: Duration) -> Option<Place> {
        tokio::select! {
            () = sleep(pause) => {}
            _ = self.phase.wait_for(|phase| *phase != Phase::Serving) => return None,
        }
        self.enter().await
    }

    /// A place; none if the server is to stop at once.
    async fn enter(&mut self) -> Option<Place> {
        tokio::select! {
            place = self.queue.enter(self.which()) => Some(place),
            _ = self.phase.wait_for(|phase| *phase == Phase::Leaving) => None,
        }
    }

    /// Which places the next request may take.
    fn which(&self) -> Try {
        if self.failed == 0 {
            Try::First
        } else {
            Try::Again
        }
    }

    fn unreadable(&self, error: &StoreError) -> Ended {
        tracing::warn!(task = %self.target.task_id, %error, "a task's log cannot be read");
        Ended::Done
    }

    fn id(&self) -> &str {
        self.target.config.id.as_deref().unwrap_or_default()
    }
}
