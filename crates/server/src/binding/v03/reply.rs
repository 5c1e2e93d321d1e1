//! Answers on their way out: whole ones and streams.

use axum::body::{Body, to_bytes};
use axum::http::{HeaderValue, Response, header};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use llamon_core::a2a::v03::Shape;
use llamon_core::a2a::{A2aError, EXTENSIONS_HEADER, ErrorCode};
use llamon_core::json::ReadError;

use super::V03_EXTENSIONS_HEADER;

pub(super) const JSON: &str = "application/json";

/// The response with its texts, the body or each event of a stream, as `write` has them.
pub(super) async fn translate(
    response: Response<Body>,
    write: impl Fn(&str) -> String + Send + 'static,
) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    if let Some(used) = parts.headers.get(EXTENSIONS_HEADER).cloned() {
        parts.headers.insert(V03_EXTENSIONS_HEADER, used);
    }
    let media_type = parts.headers.get(header::CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok());
    let media_type = media_type.unwrap_or_default();
    if media_type.starts_with("text/event-stream") {
        return Response::from_parts(parts, events(body, write));
    }
    // The body was written here and is in memory already.
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return Response::from_parts(parts, Body::empty());
    };
    if !media_type.contains("json") || bytes.is_empty() {
        return Response::from_parts(parts, Body::from(bytes));
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    let json = HeaderValue::from_static(JSON);
    parts.headers.insert(header::CONTENT_TYPE, json);
    let text = String::from_utf8_lossy(&bytes);
    Response::from_parts(parts, Body::from(write(&text)))
}

/// The error of an answer that 0.3 cannot say.
pub(super) fn no_answer(error: &ReadError, answer: Shape) -> A2aError {
    if answer == Shape::FirstPushConfig {
        return A2aError::new(ErrorCode::InvalidParams, error.to_string());
    }
    tracing::error!(%error, ?answer, "an answer cannot be written in A2A 0.3");
    A2aError::internal()
}

fn events(body: Body, write: impl Fn(&str) -> String + Send + 'static) -> Body {
    let begin = (body.into_data_stream(), Vec::new(), write);
    let events = stream::unfold(begin, |(mut chunks, mut rest, write)| async move {
        loop {
            let chunk = match chunks.next().await? {
                Ok(chunk) => chunk,
                Err(error) => return Some((Err(error), (chunks, rest, write))),
            };
            rest.extend_from_slice(&chunk);
            let Some(end) = rest.windows(2).rposition(|pair| pair == b"\n\n") else {
                continue;
            };
            let whole: Vec<u8> = rest.drain(..end + 2).collect();
            let text = String::from_utf8_lossy(&whole);
            let mut out = String::with_capacity(text.len() + 256);
            for event in text.split_inclusive("\n\n") {
                match event.strip_prefix("data: ") {
                    Some(data) => {
                        out.push_str("data: ");
                        out.push_str(&write(data.trim_end_matches('\n')));
                        out.push_str("\n\n");
                    }
                    None => out.push_str(event),
                }
            }
            return Some((Ok(Bytes::from(out)), (chunks, rest, write)));
        }
    });
    Body::from_stream(events)
}
