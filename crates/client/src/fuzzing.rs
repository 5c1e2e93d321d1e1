//! What fuzz targets reach of the inside; no part of the API.

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use llamon_core::Limits;
use llamon_core::a2a::StreamEvent;

use crate::answer::Form;
use crate::binding::Binding;
use crate::incoming::Break;
use crate::sse;

/// The events of an event stream that arrives in these chunks, up to the first that is none, and
/// why there are no more.
pub async fn events(
    binding: Binding,
    chunks: Vec<Bytes>,
    limits: &Limits,
) -> (Vec<StreamEvent>, Option<String>) {
    let chunks = stream::iter(chunks.into_iter().map(Ok));
    let timeout = std::time::Duration::from_secs(60);
    let mut incoming = sse::events(Form::of(binding), Box::pin(chunks), limits, timeout);
    let mut events = Vec::new();
    while let Some(received) = incoming.next().await {
        match received {
            Ok(received) => events.push(received.event),
            Err(Break::Lost(cause)) => return (events, Some(cause)),
            Err(Break::Silent(time)) => return (events, Some(format!("silent for {time:?}"))),
            Err(Break::Failed(error)) => return (events, Some(error.to_string())),
        }
    }
    (events, None)
}

/// What one event with this data is read as.
///
/// # Errors
/// When it is no event.
pub fn event(binding: Binding, data: String, limits: &Limits) -> Result<StreamEvent, String> {
    match sse::read(Form::of(binding), data, limits) {
        Ok(received) => Ok(received.event),
        Err(Break::Failed(error)) => Err(error.to_string()),
        Err(_) => Err("is no event".to_owned()),
    }
}
