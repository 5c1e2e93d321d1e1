use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use llamon_core::Limits;
use llamon_core::a2a::TaskView;
use llamon_core::json::ReadError;
use llamon_grpc::framing::Decoder;
use llamon_grpc::{from_wire, wire};
use prost::Message;
use tonic::{Status, Streaming};

use super::failure::{lost, of_transport};
use super::{MEDIA_TYPE, event_stream, json, protocol_error};
use crate::egress::{Head, Response};
use crate::error::ClientError;

/// How often a silent stream is said to be alive: the connection below it is pinged, and breaks
/// where nobody answers.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// What a server answered, up to its body.
pub(super) struct Answer {
    head: Head,
    body: reqwest::Body,
    http_status: reqwest::StatusCode,
    limits: Limits,
}

impl Answer {
    /// # Errors
    /// When it is no gRPC, and when it says nothing but an error of the transport.
    pub(super) fn new(
        head: Head,
        response: reqwest::Response,
        limits: &Limits,
    ) -> Result<Self, ClientError> {
        let url = &head.url;
        let is_grpc = head.media_type.split('+').next() == Some(MEDIA_TYPE);
        if !is_grpc {
            let message = match head.status {
                401 | 403 => format!("{url} asks for credentials (HTTP {})", head.status),
                404 => format!("nothing is at {url} (HTTP 404); check the address"),
                status => format!(
                    "{url} does not speak gRPC: it answered with HTTP {status} and {:?}",
                    head.media_type
                ),
            };
            return Err(ClientError::invalid_response(message).with_status(head.status));
        }
        let http_status = response.status();
        let at_once = Status::from_header_map(response.headers());
        let body = match at_once {
            // The whole answer is in the head; what follows says nothing.
            Some(status) => {
                let mut trailers = reqwest::header::HeaderMap::new();
                let _ = status.add_header(&mut trailers);
                only_trailers(trailers)
            }
            None => response.into(),
        };
        Ok(Self {
            head,
            body,
            http_status,
            limits: limits.clone(),
        })
    }

    /// The answer that is one message, as the JSON that `convert` makes of it.
    pub(super) async fn unary<M>(
        self,
        convert: impl FnOnce(M, &Limits) -> Result<String, ReadError>,
    ) -> Result<Response, ClientError>
    where
        M: Message + Default + 'static,
    {
        let max = self.limits.max_body_bytes;
        let mut messages = Streaming::new_response(
            Decoder::<M>::default(),
            self.body,
            self.http_status,
            None,
            Some(max),
        );
        let only = async {
            let Some(message) = messages.message().await? else {
                return Err(Status::internal("there was no message"));
            };
            // An error can follow the message.
            match messages.message().await? {
                None => Ok(message),
                Some(_) => Err(Status::internal("there was more than one message")),
            }
        };
        let head = self.head;
        match only.await {
            Ok(message) => match convert(message, &self.limits) {
                Ok(text) => Ok(whole(head, text)),
                Err(error) => Err(no_a2a(&head.url, &error)),
            },
            Err(status) => refused(head, &status, max),
        }
    }

    /// The answer that is a stream, as server-sent events. Waits for the first.
    pub(super) async fn stream(self) -> Result<Response, ClientError> {
        let max = self.limits.max_body_bytes;
        let mut messages = Streaming::new_response(
            Decoder::<wire::StreamResponse>::default(),
            self.body,
            self.http_status,
            None,
            Some(max),
        );
        let head = self.head;
        let first = match messages.message().await {
            Ok(first) => first,
            Err(status) => return refused(head, &status, max),
        };
        let events = Events {
            url: head.url.clone(),
            first,
            messages: Some(messages),
            limits: self.limits,
        };
        let chunks = stream::unfold(events, |mut events| async move {
            let chunk = events.next().await?;
            Some((chunk, events))
        });
        Ok(Response::made(event_stream(head), Box::pin(chunks)))
    }
}

struct Events {
    url: String,
    first: Option<wire::StreamResponse>,
    /// Gone after the last.
    messages: Option<Streaming<wire::StreamResponse>>,
    limits: Limits,
}

impl Events {
    /// The next event as a `data:` line, or why there are no more.
    async fn next(&mut self) -> Option<Result<Bytes, String>> {
        let messages = self.messages.as_mut()?;
        let found = match self.first.take() {
            Some(first) => Ok(Some(first)),
            None => match tokio::time::timeout(KEEP_ALIVE, messages.message()).await {
                Ok(found) => found,
                Err(_) => return Some(Ok(Bytes::from_static(b": alive\n\n"))),
            },
        };
        let read = match found {
            Ok(Some(message)) => from_wire::stream_response(message, &self.limits),
            Ok(None) => {
                self.messages = None;
                return None;
            }
            Err(status) => {
                self.messages = None;
                let max = self.limits.max_body_bytes;
                return Some(match protocol_error(&status) {
                    Some((_, text)) => Ok(event(&text)),
                    None => Err(lost(&status)
                        .unwrap_or_else(|| of_transport(&status, &self.url, max).to_string())),
                });
            }
        };
        Some(match read {
            Ok(found) => Ok(event(&json(|out| found.write(out, TaskView::FULL)))),
            Err(error) => {
                self.messages = None;
                Err(no_a2a(&self.url, &error).to_string())
            }
        })
    }
}

/// The text has no line end: parts have none, and everything else is escaped.
fn event(text: &str) -> Bytes {
    Bytes::from(format!("data: {text}\n\n"))
}

/// The answer that is an error.
fn refused(head: Head, status: &Status, max: usize) -> Result<Response, ClientError> {
    if lost(status).is_none()
        && let Some((error, text)) = protocol_error(status)
    {
        let head = Head {
            status: error.code().http(),
            ..head
        };
        return Ok(whole(head, text));
    }
    Err(of_transport(status, &head.url, max))
}

fn whole(head: Head, text: String) -> Response {
    let chunk = std::future::ready(Ok(Bytes::from(text)));
    Response::made(head, Box::pin(stream::once(chunk)))
}

fn no_a2a(url: &str, error: &ReadError) -> ClientError {
    ClientError::invalid_response(format!("{url} answered with what is not A2A 1.0: {error}"))
}

fn only_trailers(trailers: reqwest::header::HeaderMap) -> reqwest::Body {
    use http_body_util::{BodyExt as _, Empty};
    let trailers = std::future::ready(Some(Ok(trailers)));
    reqwest::Body::wrap(Empty::<Bytes>::new().with_trailers(trailers))
}
