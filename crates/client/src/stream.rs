use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytestring::ByteString;
use futures_util::Stream;
use llamon_core::Limits;
use llamon_core::a2a::{StreamEvent, TaskState};
use sse_stream::SseByteStream;
use tokio::time::Sleep;

use crate::answer;
use crate::binding::Binding;
use crate::egress::{Head, Response};
use crate::error::ClientError;
use crate::folding::Folding;
use crate::reply::Reply;
use crate::sse::{Fault, Guarded};

/// How long a server may keep the connection open after the last event. It must close it; one
/// that does not would otherwise keep the caller waiting.
const CLOSING_TIME: Duration = Duration::from_secs(1);

/// The events of a task, as they happen (A2A sections 3.1.2 and 3.1.6).
///
/// It ends when the agent closes it after the task came to rest: at a terminal state, at an
/// interrupted one, or after a direct message. If it ends before that, the last item is an error
/// with [`ClientError::is_interrupted_stream`]; nothing follows an error.
///
/// Dropping it closes the connection and cancels nothing: the task runs on.
pub struct EventStream {
    events: SseByteStream<Guarded>,
    settings: Settings,
    folding: Folding,
    // Runs from the last event that is to be expected.
    closing: Option<Pin<Box<Sleep>>>,
    ended: bool,
    extensions: Vec<String>,
}

/// What a stream needs to know of its client.
pub(crate) struct Settings {
    pub(crate) binding: Binding,
    pub(crate) follow: Follow,
    /// Of responses.
    pub(crate) limits: Limits,
    pub(crate) idle_timeout: Duration,
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
    pub(crate) fn new(response: Response, settings: Settings) -> Self {
        let extensions = response.head.extensions.clone();
        let max_event_bytes = settings.limits.max_body_bytes;
        let bytes = Guarded::new(
            response.into_chunks(),
            settings.idle_timeout,
            max_event_bytes,
        );
        let task_id = match &settings.follow {
            Follow::Answer => None,
            Follow::Task(id) => Some(Arc::clone(id)),
        };
        Self {
            events: SseByteStream::new(bytes),
            settings,
            folding: Folding::new(task_id),
            closing: None,
            ended: false,
            extensions,
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
    /// The stream's error, if it has one: the agent's, an event that is not A2A 1.0, silence for
    /// longer than the idle time, or its end before the task came to rest
    /// ([`ClientError::is_interrupted_stream`]). When the answer is larger than an answer may be
    /// (see [`ClientBuilder::limits`](crate::ClientBuilder::limits)).
    pub async fn finish(mut self) -> Result<Reply, ClientError> {
        while let Some(event) = self.next().await {
            event?;
        }
        if !self.is_at_rest() {
            // The error was taken with `next`.
            return Err(self.interrupted(None));
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

    fn read(&mut self, data: String) -> Result<StreamEvent, ClientError> {
        let head = Head {
            url: "the stream".to_owned(),
            status: 200,
            media_type: String::new(),
            location: None,
            extensions: Vec::new(),
        };
        let Settings {
            binding, limits, ..
        } = &self.settings;
        let text = ByteString::from(data);
        let event = answer::read(*binding, &head, &text, limits, StreamEvent::read)
            .map_err(|error| error.with_task(self.folding.task_id().cloned()))?;
        self.folding.apply(&event, text.len(), limits);
        self.closing = self
            .is_over()
            .then(|| Box::pin(tokio::time::sleep(CLOSING_TIME)));
        Ok(event)
    }

    /// Whether the agent may close the stream now.
    fn is_at_rest(&self) -> bool {
        self.folding.is_message() || self.folding.state().is_some_and(TaskState::is_settled)
    }

    /// Whether the agent must close the stream now.
    fn is_over(&self) -> bool {
        self.folding.is_message()
            || self
                .folding
                .state()
                .is_some_and(|state| match &self.settings.follow {
                    Follow::Answer => state.is_settled(),
                    Follow::Task(_) => state.is_terminal(),
                })
    }

    /// The item at the end of the bytes.
    fn end(&mut self, error: Option<sse_stream::Error>) -> Option<ClientError> {
        self.ended = true;
        let fault = match error {
            None => None,
            Some(sse_stream::Error::Body(error)) => match error.downcast::<Fault>() {
                Ok(fault) => Some(*fault),
                Err(error) => Some(Fault::Lost(error.to_string())),
            },
            Some(error) => {
                return Some(self.invalid(format!("is no event stream: {error}")));
            }
        };
        // Whatever becomes of the connection after the last event, there was a last event.
        if self.is_over() {
            return None;
        }
        match fault {
            None if self.is_at_rest() => None,
            None => Some(self.interrupted(None)),
            Some(Fault::Lost(cause)) => Some(self.interrupted(Some(&cause))),
            Some(Fault::Silent(timeout)) => Some(
                ClientError::timeout(format!(
                    "the stream was silent for {timeout:?}{}",
                    self.advice()
                ))
                .with_task(self.folding.task_id().cloned()),
            ),
            Some(Fault::TooLarge(max)) => Some(self.invalid(format!(
                "has an event of more than {max} bytes, four times the limit max_body_bytes; raise that limit if the event is wanted"
            ))),
        }
    }

    fn interrupted(&self, cause: Option<&str>) -> ClientError {
        let cause = cause.map_or_else(String::new, |cause| format!(" ({cause})"));
        let before = match self.folding.state() {
            Some(state) => format!("while the task was {state}"),
            None => "before it said where the task stands".to_owned(),
        };
        ClientError::interrupted_stream(format!(
            "the stream ended {before}{cause}{}",
            self.advice()
        ))
        .with_task(self.folding.task_id().cloned())
    }

    fn invalid(&self, what: String) -> ClientError {
        ClientError::invalid_response(format!("the stream {what}"))
            .with_task(self.folding.task_id().cloned())
    }

    fn advice(&self) -> String {
        self.task_id().map_or_else(String::new, |id| {
            format!("; the task may run on: subscribe to task {id:?} or get it")
        })
    }
}

/// The same items as [`EventStream::next`].
impl Stream for EventStream {
    type Item = Result<StreamEvent, ClientError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if this.ended {
                return Poll::Ready(None);
            }
            match Pin::new(&mut this.events).poll_next(cx) {
                Poll::Ready(Some(Ok(event))) => {
                    // An event without data says only how to reconnect.
                    let Some(data) = event.data.filter(|data| !data.trim().is_empty()) else {
                        continue;
                    };
                    let read = this.read(data);
                    this.ended = read.is_err();
                    return Poll::Ready(Some(read));
                }
                Poll::Ready(Some(Err(error))) => {
                    return Poll::Ready(this.end(Some(error)).map(Err));
                }
                Poll::Ready(None) => return Poll::Ready(this.end(None).map(Err)),
                Poll::Pending => {
                    let Some(closing) = &mut this.closing else {
                        return Poll::Pending;
                    };
                    std::task::ready!(closing.as_mut().poll(cx));
                    this.ended = true;
                }
            }
        }
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("task_id", &self.task_id())
            .field("state", &self.folding.state())
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}
