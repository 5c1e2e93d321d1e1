//! How long a client may take: to take what is sent to it, and to send its bodies.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::limits::ConnectionLimits;
use super::places::Busy;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A connection whose client must go on taking what is written.
pub(super) struct Reading<T> {
    io: T,
    patience: Duration,
    /// Runs while nothing can be written.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<T> Reading<T> {
    pub(super) fn new(io: T, patience: Duration) -> Self {
        Self {
            io,
            patience,
            waiting: None,
        }
    }

    /// What came of an attempt to write, or that it was the last one.
    fn judge<R>(
        &mut self,
        attempt: Poll<io::Result<R>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<R>> {
        if attempt.is_ready() {
            self.waiting = None;
            return attempt;
        }
        let patience = self.patience;
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        ready!(waiting.as_mut().poll(context));
        let message = "the client takes nothing of what is sent (write_idle_timeout)";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, message)))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Reading<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Reading<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.io).poll_write(context, bytes);
        self.judge(attempt, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.io).poll_write_vectored(context, slices);
        self.judge(attempt, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let attempt = Pin::new(&mut self.io).poll_flush(context);
        self.judge(attempt, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let attempt = Pin::new(&mut self.io).poll_shutdown(context);
        self.judge(attempt, context)
    }
}

/// A request's body that must go on coming.
pub(super) struct Arriving {
    body: Incoming,
    idle: Duration,
    deadline: Instant,
    /// Runs while nothing comes.
    waiting: Option<Pin<Box<Sleep>>>,
    late: Late,
}

/// Whether a request's body did not come in time.
#[derive(Clone, Debug, Default)]
pub(super) struct Late(Arc<AtomicBool>);

impl Late {
    pub(super) fn is_late(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Arriving {
    pub(super) fn new(body: Incoming, limits: &ConnectionLimits, late: Late) -> Self {
        Self {
            body,
            idle: limits.body_idle_timeout,
            deadline: Instant::now() + limits.body_timeout,
            waiting: None,
            late,
        }
    }
}

impl Body for Arriving {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.late.is_late() {
            return Poll::Ready(None);
        }
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            self.waiting = None;
            // Who sends a byte at a time is never idle.
            if Instant::now() < self.deadline || frame.is_none() {
                return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
            }
        } else {
            let until = self.deadline.min(Instant::now() + self.idle);
            let waiting = self
                .waiting
                .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
            ready!(waiting.as_mut().poll(context));
        }
        self.late.0.store(true, Ordering::Relaxed);
        Poll::Ready(Some(Err("the rest of it did not come in time".into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// An answer's body; the connection is busy until it is gone.
pub(super) struct Leaving {
    body: axum::body::Body,
    taken: Option<(Arc<AtomicU64>, Instant)>,
    _busy: Busy,
}

impl Leaving {
    pub(super) fn new(body: axum::body::Body, busy: Busy, answers: Option<&Answers>) -> Self {
        Self {
            body,
            taken: answers.map(Answers::add),
            _busy: busy,
        }
    }

    /// Notes since when the client has been able to take something and has not; zero is not.
    fn note(&self, can_be_taken: bool) {
        if let Some((since, begun)) = &self.taken {
            since.store(
                if can_be_taken { millis(begun) } else { 0 },
                Ordering::Relaxed,
            );
        }
    }
}

impl Body for Leaving {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        self.note(frame.is_ready());
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The answers on an HTTP/2 connection. There a client that takes nothing of one answer does not
/// fill the socket, so that nothing is written and nothing waits: its answer is just never asked
/// for more.
#[derive(Debug)]
pub(super) struct Answers {
    begun: Instant,
    open: Mutex<Vec<Weak<AtomicU64>>>,
}

impl Answers {
    #[cfg_attr(
        not(feature = "grpc"),
        expect(dead_code, reason = "HTTP/2 comes with gRPC")
    )]
    pub(super) fn new() -> Self {
        Self {
            begun: Instant::now(),
            open: Mutex::default(),
        }
    }

    fn add(&self) -> (Arc<AtomicU64>, Instant) {
        let since = Arc::new(AtomicU64::new(millis(&self.begun)));
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // As long as it is short, it is looked through at each tick alone.
        if open.len() >= 64 && open.len() == open.capacity() {
            open.retain(|answer| answer.strong_count() > 0);
        }
        open.push(Arc::downgrade(&since));
        (since, self.begun)
    }

    #[cfg_attr(
        not(feature = "grpc"),
        expect(dead_code, reason = "HTTP/2 comes with gRPC")
    )]
    /// Resolves when one of them has not been taken for as long as this.
    pub(super) async fn neglected(&self, patience: Duration) {
        loop {
            tokio::time::sleep(patience / 4).await;
            let now = millis(&self.begun);
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.retain(|answer| answer.strong_count() > 0);
            let is_neglected = open.iter().filter_map(Weak::upgrade).any(|since| {
                let since = since.load(Ordering::Relaxed);
                since != 0 && u128::from(now - since.min(now)) >= patience.as_millis()
            });
            if is_neglected {
                return;
            }
        }
    }
}

/// Milliseconds since then, and one more, so that they are never zero.
fn millis(begun: &Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX - 1) + 1
}
