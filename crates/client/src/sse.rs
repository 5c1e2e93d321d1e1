//! Event streams (`text/event-stream`): their events, and limits that the decoder does not have.

use std::fmt;
use std::future::ready;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use bytestring::ByteString;
use futures_util::{Stream, StreamExt as _};
use llamon_core::Limits;
use llamon_core::a2a::StreamEvent;
use sse_stream::SseByteStream;
use tokio::time::{Instant, Sleep};

use crate::answer::{self, Form};
use crate::egress::{Chunks, Head};
use crate::error::ClientError;
use crate::incoming::{Break, Incoming, Received};

/// The events of a body.
pub(crate) fn events(
    form: Form,
    chunks: Chunks,
    limits: &Limits,
    idle_timeout: Duration,
) -> Incoming {
    let bytes = Guarded::new(chunks, idle_timeout, limits.max_body_bytes);
    let limits = limits.clone();
    let read = move |item: Result<sse_stream::Sse, sse_stream::Error>| {
        ready(match item {
            // An event without data says only how to reconnect.
            Ok(event) => event
                .data
                .filter(|data| !data.trim().is_empty())
                .map(|data| read(form, data, &limits)),
            Err(error) => Some(Err(broken(error))),
        })
    };
    Box::pin(SseByteStream::new(bytes).filter_map(read))
}

pub(crate) fn read(form: Form, data: String, limits: &Limits) -> Result<Received, Break> {
    let head = Head {
        url: "the stream".to_owned(),
        status: 200,
        media_type: String::new(),
        location: None,
        extensions: Vec::new(),
    };
    let text = ByteString::from(data);
    match answer::read(form, &head, &text, limits, StreamEvent::read) {
        Ok(event) => Ok(Received {
            event,
            source_len: text.len(),
        }),
        Err(error) => Err(Break::Failed(error)),
    }
}

fn broken(error: sse_stream::Error) -> Break {
    let invalid =
        |what: String| Break::Failed(ClientError::invalid_response(format!("the stream {what}")));
    let fault = match error {
        sse_stream::Error::Body(error) => match error.downcast::<Fault>() {
            Ok(fault) => *fault,
            Err(error) => Fault::Lost(error.to_string()),
        },
        error => return invalid(format!("is no event stream: {error}")),
    };
    match fault {
        Fault::Lost(cause) => Break::Lost(cause),
        Fault::Silent(timeout) => Break::Silent(timeout),
        Fault::TooLarge(max) => invalid(format!(
            "has an event of more than {max} bytes, four times the limit max_body_bytes; raise that limit if the event is wanted"
        )),
    }
}

/// A response's body that fails when it is silent for too long, or when one event is too large.
struct Guarded {
    chunks: Chunks,
    idle_timeout: Duration,
    idle: Pin<Box<Sleep>>,
    event: EventSize,
    max_event_bytes: usize,
}

/// Why a stream's bytes ended.
#[derive(Debug)]
enum Fault {
    /// Nothing came for this long.
    Silent(Duration),
    /// An event has more than this many bytes.
    TooLarge(usize),
    /// The connection was lost.
    Lost(String),
}

impl Guarded {
    fn new(chunks: Chunks, idle_timeout: Duration, max_event_bytes: usize) -> Self {
        Self {
            chunks,
            idle_timeout,
            idle: Box::pin(tokio::time::sleep(idle_timeout)),
            event: EventSize::default(),
            max_event_bytes,
        }
    }
}

impl Stream for Guarded {
    type Item = Result<Bytes, Fault>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let Poll::Ready(next) = this.chunks.as_mut().poll_next(cx) else {
            std::task::ready!(this.idle.as_mut().poll(cx));
            return Poll::Ready(Some(Err(Fault::Silent(this.idle_timeout))));
        };
        Poll::Ready(match next {
            None => None,
            Some(Err(cause)) => Some(Err(Fault::Lost(cause))),
            Some(Ok(chunk)) => {
                // A time that cannot be reckoned is never reached.
                if let Some(deadline) = Instant::now().checked_add(this.idle_timeout) {
                    this.idle.as_mut().reset(deadline);
                }
                this.event.take_in(&chunk);
                if this.event.largest > this.max_event_bytes {
                    return Poll::Ready(Some(Err(Fault::TooLarge(this.max_event_bytes))));
                }
                Some(Ok(chunk))
            }
        })
    }
}

/// How large the largest event was so far: events end with an empty line, and lines end with
/// LF, CR or both.
#[derive(Debug, Default)]
struct EventSize {
    current: usize,
    largest: usize,
    at_line_start: bool,
    after_cr: bool,
}

impl EventSize {
    fn take_in(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let line = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let text = line.unwrap_or(bytes.len());
            if text > 0 {
                self.current += text;
                self.largest = self.largest.max(self.current);
                self.at_line_start = false;
                self.after_cr = false;
            }
            let Some(end) = bytes.get(text) else { return };
            let completes_crlf = *end == b'\n' && self.after_cr;
            if !completes_crlf {
                if self.at_line_start {
                    self.current = 0;
                }
                self.at_line_start = true;
            }
            self.after_cr = *end == b'\r';
            bytes = bytes.get(text + 1..).unwrap_or_default();
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent(timeout) => write!(f, "nothing came for {timeout:?}"),
            Self::TooLarge(max) => write!(f, "an event is larger than {max} bytes"),
            Self::Lost(cause) => f.write_str(cause),
        }
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::EventSize;

    fn sizes(chunks: &[&str]) -> (usize, usize) {
        let mut size = EventSize::default();
        for chunk in chunks {
            size.take_in(chunk.as_bytes());
        }
        (size.current, size.largest)
    }

    #[test]
    fn an_empty_line_ends_an_event_whatever_its_line_ends() {
        assert_eq!(sizes(&["12345\n67\n"]), (7, 7));
        for end in ["\n\n", "\r\r", "\r\n\r\n"] {
            assert_eq!(sizes(&["12345", end, "67"]), (2, 5), "{end:?}");
            let bytes: Vec<&str> = end.split_inclusive(|_| true).collect();
            let split = [&["12345"], &*bytes, &["67"]].concat();
            assert_eq!(sizes(&split), (2, 5), "{end:?}");
        }
        // One CRLF is one line end.
        assert_eq!(sizes(&["12345\r", "\n67"]), (7, 7));
        // Keep-alives add up to nothing.
        let keep_alives = ": ping\r\n\r\n".repeat(1_000);
        assert_eq!(sizes(&[&keep_alives]), (0, 6));
    }
}
