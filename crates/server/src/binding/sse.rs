//! Server-sent events. A part's JSON text never has CR or LF, so an event is one `data:` line.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use bytes::Bytes;
use futures_util::stream;
use llamon_core::a2a::{A2aError, StreamEvent};

use crate::handler::EventFeed;

/// How often a silent stream says that it is alive. The official Python client gives up after
/// five seconds of silence.
const KEEP_ALIVE: Duration = Duration::from_secs(3);

/// About what an event without large parts has.
const EVENT_BYTES: usize = 320;

/// How a binding writes what goes into a `data:` line.
pub(super) trait Frame: Send + 'static {
    fn event(&self, event: &StreamEvent, out: &mut String);
    fn error(&self, error: &A2aError, out: &mut String);
}

/// The response that streams `feed`.
pub(super) fn response(feed: EventFeed, frame: impl Frame) -> Response<Body> {
    let frames = stream::unfold(Some((feed, frame)), |state| async move {
        let (mut feed, frame) = state?;
        let mut out = String::new();
        match next(&mut feed).await {
            Next::Events(events) => {
                out.reserve(events.len() * EVENT_BYTES);
                for event in &events {
                    push(&mut out, |out| frame.event(event, out));
                }
            }
            Next::Silence => out.push_str(": keep-alive\n\n"),
            Next::End => return None,
            Next::Failed(error) => {
                push(&mut out, |out| frame.error(&error, out));
                return Some((Ok::<_, Infallible>(Bytes::from(out)), None));
            }
        }
        Some((Ok(Bytes::from(out)), Some((feed, frame))))
    });
    let mut response = Response::new(Body::from_stream(frames));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

enum Next {
    Events(VecDeque<Arc<StreamEvent>>),
    Silence,
    End,
    Failed(A2aError),
}

async fn next(feed: &mut EventFeed) -> Next {
    match tokio::time::timeout(KEEP_ALIVE, feed.next()).await {
        Err(_) => Next::Silence,
        Ok(Ok(Some(events))) => Next::Events(events),
        Ok(Ok(None)) => Next::End,
        Ok(Err(error)) => Next::Failed(error),
    }
}

fn push(out: &mut String, write: impl FnOnce(&mut String)) {
    out.push_str("data: ");
    write(out);
    out.push_str("\n\n");
}
