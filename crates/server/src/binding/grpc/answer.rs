use std::convert::Infallible;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, header};
use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, Stream};
use http_body::Frame;
use http_body_util::StreamBody;
use llamon_core::a2a::TaskView;
use llamon_grpc::framing::{frame, push_frame};
use llamon_grpc::to_wire;
use prost::Message;
use tokio::time::Instant;
use tonic::Status;

use super::failure::{Failure, no_form};
use crate::handler::EventFeed;

/// The response that is one message.
pub(super) fn unary(message: impl Message) -> Result<Response<Body>, Failure> {
    let message = Ok(Frame::data(frame(&message)));
    let end = Ok(trailers(Status::ok("")));
    Ok(response(stream::iter([message, end])))
}

/// The response that streams `feed` until `deadline`. Dropping it cancels nothing.
pub(super) fn stream(feed: EventFeed, view: TaskView, deadline: Option<Instant>) -> Response<Body> {
    let state = State::Open(Box::new(feed));
    response(stream::unfold(state, move |state| async move {
        match state {
            State::Open(mut feed) => Some(match next(&mut feed, view, deadline).await {
                (bytes, None) => (Ok(Frame::data(bytes)), State::Open(feed)),
                (bytes, Some(status)) if bytes.is_empty() => (Ok(trailers(status)), State::Done),
                (bytes, Some(status)) => (Ok(Frame::data(bytes)), State::Ending(status)),
            }),
            State::Ending(status) => Some((Ok(trailers(status)), State::Done)),
            State::Done => None,
        }
    }))
}

enum State {
    Open(Box<EventFeed>),
    Ending(Status),
    Done,
}

/// The next events, and the status where they are the last.
async fn next(
    feed: &mut EventFeed,
    view: TaskView,
    deadline: Option<Instant>,
) -> (Bytes, Option<Status>) {
    let found = match deadline {
        Some(at) => tokio::time::timeout_at(at, feed.next()).await,
        None => Ok(feed.next().await),
    };
    let failed = |failure: Failure| (Bytes::new(), Some(failure.into_status()));
    let events = match found {
        Ok(Ok(Some(events))) => events,
        Ok(Ok(None)) => return (Bytes::new(), Some(Status::ok(""))),
        Ok(Err(error)) => return failed(error.into()),
        Err(_) => return failed(Failure::deadline()),
    };
    let mut out = BytesMut::new();
    for event in events {
        match to_wire::stream_response(&event, view) {
            Ok(message) => push_frame(&mut out, &message),
            // What came before it is still sent.
            Err(error) => {
                let status = Failure::from(no_form(&error, None)).into_status();
                return (out.freeze(), Some(status));
            }
        }
    }
    (out.freeze(), None)
}

fn response(
    frames: impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send + 'static,
) -> Response<Body> {
    let mut response = Response::new(Body::new(StreamBody::new(frames)));
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/grpc"),
    );
    response
}

fn trailers(status: Status) -> Frame<Bytes> {
    let mut trailers = HeaderMap::new();
    if let Err(unsent) = status.add_header(&mut trailers) {
        tracing::error!(status = %unsent, "a status cannot be sent");
        trailers.insert("grpc-status", HeaderValue::from_static("13"));
    }
    Frame::trailers(trailers)
}
