use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::Stream;
use llamon_core::Limits;
use llamon_core::a2a::{StreamEvent, Task, TaskState};
use tokio::time::Sleep;
use tracing::Span;

use crate::client::Opened;
use crate::error::ClientError;
use crate::folding::Folding;
use crate::incoming::{Break, Incoming, Received};
use crate::reply::Reply;
use crate::resume::{Resume, Resumed, Resuming};

/// How long a server may keep the connection open after the last event. It must close it; one
/// that does not would otherwise keep the caller waiting.
const CLOSING_TIME: Duration = Duration::from_secs(1);

/// The events of a task, as they happen (A2A sections 3.1.2 and 3.1.6).
///
/// It ends when the agent closes it after the task came to rest: at a terminal state, at an
/// interrupted one, or after a direct message. If it ends before that and cannot be continued,
/// the last item is an error with [`ClientError::is_interrupted_stream`]; nothing follows an
/// error.
///
/// # Streams that break
///
/// When the connection is lost, when nothing comes for the idle time, or when the server stops,
/// the stream is continued by subscribing to the task again, as often as
/// [`ClientBuilder::resume_attempts`](crate::ClientBuilder::resume_attempts) says. What was
/// missed is found by comparing what came before with the task as it stands, and the caller gets
/// only that: the rest of a text as an update that appends, new artifacts, the new status. So no
/// event comes twice, and all events together say the same as those of a stream that did not
/// break; but several changes can have become one, and texts of a status that was passed are not
/// said. Where an artifact did not only grow, one update replaces it (`append` is false). A task
/// that has ended meanwhile is completed in the same way.
///
/// Before the first event has come, a stream that was opened by a message is not continued:
/// nobody knows whether the agent got the message, and it is never sent again.
///
/// Dropping it closes the connection and cancels nothing: the task runs on.
pub struct EventStream {
    source: Source,
    /// What was missed, to be given before anything else.
    missed: VecDeque<Received>,
    follow: Follow,
    /// Of responses.
    limits: Limits,
    folding: Folding,
    resume: Resume,
    // Runs from the last event that is to be expected.
    closing: Option<Pin<Box<Sleep>>>,
    extensions: Vec<String>,
    /// Of the call, which ends with the stream.
    _span: Span,
}

/// Where the next event comes from.
enum Source {
    Open {
        incoming: Incoming,
        begins: Begins,
    },
    /// Nowhere yet: the stream broke in this way and is continued.
    Broken {
        resuming: Resuming,
        how: Option<Break>,
    },
    Closed,
}

/// What a stream's first event is to be, and what came of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begins {
    /// Whatever comes is the next event.
    Live,
    /// It is a continuation, which begins with the task as it stands.
    WithTask,
    /// It is a continuation that has begun.
    Again,
}

/// What the stream was opened for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Follow {
    /// The answer to a message, which ends also when the task waits for its client.
    Answer,
    /// A task, to its end.
    Task(Arc<str>),
}

impl EventStream {
    pub(crate) fn new(
        opened: Opened,
        follow: Follow,
        limits: Limits,
        resume: Resume,
        span: Span,
    ) -> Self {
        let task_id = match &follow {
            Follow::Answer => None,
            Follow::Task(id) => Some(Arc::clone(id)),
        };
        Self {
            source: Source::Open {
                incoming: opened.incoming,
                begins: Begins::Live,
            },
            missed: VecDeque::new(),
            follow,
            limits,
            folding: Folding::new(task_id),
            resume,
            closing: None,
            extensions: opened.extensions,
            _span: span,
        }
    }

    /// The next event; `None` after the last one.
    ///
    /// Cancel-safe: when the future is dropped, no event is lost.
    pub async fn next(&mut self) -> Option<Result<StreamEvent, ClientError>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Waits for the end and returns what all events together say, those that were taken with
    /// [`EventStream::next`] included: the same as a call without streaming.
    ///
    /// Not cancel-safe: when the future is dropped, the stream is gone. The task runs on, and
    /// [`Client::subscribe`](crate::Client::subscribe) follows it.
    ///
    /// # Errors
    /// The stream's error, if it has one: the agent's, an event that is not A2A 1.0, or, where it
    /// could not be continued, silence for longer than the idle time or its end before the task
    /// came to rest ([`ClientError::is_interrupted_stream`]). When the answer is larger than an
    /// answer may be (see [`ClientBuilder::limits`](crate::ClientBuilder::limits)).
    pub async fn finish(mut self) -> Result<Reply, ClientError> {
        while let Some(event) = self.next().await {
            event?;
        }
        if !self.is_at_rest() {
            // The error was taken with `next`.
            return Err(self.interrupted(None, None));
        }
        let reply = self.folding.into_reply()?;
        Ok(reply.with_extensions(self.extensions))
    }

    /// The task's id, as soon as an event has said it; from the beginning where the stream was
    /// opened for a task.
    pub fn task_id(&self) -> Option<&str> {
        self.folding.task_id().map(|id| &**id)
    }

    /// As [`Reply::extensions`].
    pub fn extensions(&self) -> &[String] {
        &self.extensions
    }

    /// Takes in an event that is given to the caller.
    fn give(&mut self, received: Received) -> StreamEvent {
        let Received { event, source_len } = received;
        self.folding.apply(&event, source_len, &self.limits);
        self.closing = self
            .is_over()
            .then(|| Box::pin(tokio::time::sleep(CLOSING_TIME)));
        event
    }

    /// Whether the agent may close the stream now.
    fn is_at_rest(&self) -> bool {
        self.folding.is_message() || self.folding.state().is_some_and(TaskState::is_settled)
    }

    /// Whether the agent must close the stream now.
    fn is_over(&self) -> bool {
        self.folding.is_message() || self.folding.state().is_some_and(|s| self.ends_at(s))
    }

    fn ends_at(&self, state: TaskState) -> bool {
        match &self.follow {
            Follow::Answer => state.is_settled(),
            Follow::Task(_) => state.is_terminal(),
        }
    }

    /// An event of a stream that is open. `None` where it is not for the caller.
    fn received(&mut self, received: Received) -> Option<StreamEvent> {
        let Source::Open { begins, .. } = &mut self.source else {
            return None;
        };
        match (*begins, &received.event) {
            (Begins::Live, _) => Some(self.give(received)),
            (Begins::Again, _) => {
                self.resume.has_news();
                let event = self.give(received);
                // A subscription goes on where the answer to a message ends.
                if self.is_over() {
                    self.source = Source::Closed;
                }
                Some(event)
            }
            (Begins::WithTask, StreamEvent::Task(task))
                if Some(&task.id) == self.folding.task_id() =>
            {
                *begins = Begins::Again;
                let task = Arc::clone(task);
                if self.catch_up(&task, received.source_len) {
                    self.source = Source::Closed;
                }
                None
            }
            (Begins::WithTask, _) => {
                // Without a task id there would be no continuation.
                let id = self.folding.task_id().cloned()?;
                self.source = Source::Broken {
                    resuming: self.resume.get(id),
                    how: None,
                };
                None
            }
        }
    }

    /// Finds what was missed until `now`; says whether nothing more is to be expected.
    fn catch_up(&mut self, now: &Arc<Task>, source_len: usize) -> bool {
        let events = self.folding.events_to(now).unwrap_or_default();
        if !events.is_empty() {
            self.resume.has_news();
        }
        let missed = events
            .into_iter()
            .map(|event| Received { event, source_len });
        self.missed.extend(missed);
        self.ends_at(now.status.state)
    }

    /// What follows the end of an open stream: nothing, an error, or its continuation.
    fn ended(&mut self, how: Option<Break>) -> Option<ClientError> {
        self.source = Source::Closed;
        if let Some(Break::Failed(error)) = how {
            return Some(error.with_task(self.folding.task_id().cloned()));
        }
        // Whatever becomes of the connection after the last event, there was a last event.
        if self.is_over() || (how.is_none() && self.is_at_rest()) {
            return None;
        }
        let silent = matches!(how, Some(Break::Silent(_)));
        match self.folding.task_id().cloned() {
            Some(id) if self.folding.is_resumable() && self.resume.may_attempt(!silent) => {
                self.source = Source::Broken {
                    resuming: self.resume.attempt(id),
                    how,
                };
                None
            }
            _ => Some(self.broken(how, None)),
        }
    }

    /// What came of continuing the stream, which broke as `how` says.
    fn resumed(
        &mut self,
        made: u32,
        result: Result<Resumed, ClientError>,
        how: Option<Break>,
    ) -> Option<ClientError> {
        self.resume.note(made);
        self.source = Source::Closed;
        match result {
            Ok(Resumed::Stream(incoming)) => {
                self.source = Source::Open {
                    incoming,
                    begins: Begins::WithTask,
                };
                None
            }
            // The text that it was read from is about as long as its parts.
            Ok(Resumed::Task(task, _)) if self.ends_at(task.status.state) => {
                let source_len = task.bytes();
                self.catch_up(&task, source_len);
                None
            }
            Ok(Resumed::Task(_, refusal)) => Some(self.broken(how, Some(&refusal))),
            Err(error) => Some(self.broken(how, Some(&error))),
        }
    }

    /// The error of a stream that is not continued, and why that failed if it was attempted.
    fn broken(&self, how: Option<Break>, why: Option<&ClientError>) -> ClientError {
        match how {
            None => self.interrupted(None, why),
            Some(Break::Lost(cause)) => self.interrupted(Some(&cause), why),
            Some(Break::Silent(timeout)) => ClientError::timeout(format!(
                "the stream was silent for {timeout:?}{}",
                self.advice(why)
            ))
            .with_task(self.folding.task_id().cloned()),
            Some(Break::Failed(error)) => error,
        }
    }

    fn interrupted(&self, cause: Option<&str>, why: Option<&ClientError>) -> ClientError {
        let cause = cause.map_or_else(String::new, |cause| format!(" ({cause})"));
        let before = match self.folding.state() {
            Some(state) => format!("while the task was {state}"),
            None => "before it said where the task stands".to_owned(),
        };
        ClientError::interrupted_stream(format!(
            "the stream ended {before}{cause}{}",
            self.advice(why)
        ))
        .with_task(self.folding.task_id().cloned())
    }

    fn advice(&self, why: Option<&ClientError>) -> String {
        let mut advice = String::new();
        match (self.resume.made(), why) {
            (made, Some(why)) => {
                advice = format!(" and could not be continued (attempt {made}): {why}");
            }
            (0, None) => {}
            (made, None) => {
                advice = format!(" and was continued {made} times without anything new");
            }
        }
        if let Some(id) = self.task_id() {
            advice.push_str(&format!(
                "; the task may run on: subscribe to task {id:?} or get it"
            ));
        }
        advice
    }
}

/// The same items as [`EventStream::next`].
impl Stream for EventStream {
    type Item = Result<StreamEvent, ClientError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(missed) = this.missed.pop_front() {
                return Poll::Ready(Some(Ok(this.give(missed))));
            }
            let error = match &mut this.source {
                Source::Closed => return Poll::Ready(None),
                Source::Open { incoming, .. } => match incoming.as_mut().poll_next(cx) {
                    Poll::Ready(Some(Ok(received))) => {
                        if let Some(event) = this.received(received) {
                            return Poll::Ready(Some(Ok(event)));
                        }
                        continue;
                    }
                    Poll::Ready(Some(Err(how))) => this.ended(Some(how)),
                    Poll::Ready(None) => this.ended(None),
                    Poll::Pending => {
                        let Some(closing) = &mut this.closing else {
                            return Poll::Pending;
                        };
                        ready!(closing.as_mut().poll(cx));
                        this.source = Source::Closed;
                        continue;
                    }
                },
                Source::Broken { resuming, how } => {
                    let (made, result) = ready!(resuming.as_mut().poll(cx));
                    let how = how.take();
                    this.resumed(made, result, how)
                }
            };
            if let Some(error) = error {
                return Poll::Ready(Some(Err(error)));
            }
        }
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("task_id", &self.task_id())
            .field("state", &self.folding.state())
            .field("ended", &matches!(self.source, Source::Closed))
            .finish_non_exhaustive()
    }
}
