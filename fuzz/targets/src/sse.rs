use bytes::Bytes;
use llamon_client::{Binding, fuzzing};
use llamon_core::Limits;

use crate::agent::wait;

/// An event stream: of the first byte, the lowest bit is the binding and the others are the size
/// of the chunks in which the rest arrives. However it is cut, it has the same events, which are
/// those that a decoder has who sees all of it at once.
pub fn sse(data: &[u8]) {
    let Some((first, body)) = data.split_first() else {
        return;
    };
    let binding = match first & 1 {
        0 => Binding::JsonRpc,
        _ => Binding::Rest,
    };
    let size = usize::from(first >> 1) + 1;
    let limits = Limits::default().with_max_body_bytes(32 << 10);
    let chunks =
        |size: usize| -> Vec<Bytes> { body.chunks(size).map(Bytes::copy_from_slice).collect() };
    let whole = wait(fuzzing::events(binding, chunks(body.len().max(1)), &limits));
    let cut = wait(fuzzing::events(binding, chunks(size), &limits));
    assert_eq!(whole.0, cut.0, "chunks of {size}");
    assert_eq!(whole.1.is_some(), cut.1.is_some(), "{whole:?} {cut:?}");

    let Ok(text) = std::str::from_utf8(body) else {
        return;
    };
    let mut events = whole.0.into_iter();
    for data in decoded(text) {
        match fuzzing::event(binding, data.clone(), &limits) {
            Ok(event) => assert_eq!(events.next(), Some(event), "{data:?}"),
            Err(error) => {
                assert!(whole.1.is_some(), "this was read: {data:?}: {error}");
                break;
            }
        }
    }
    assert_eq!(events.next(), None, "more events than there are");
}

/// The data of the events of a stream, as the HTML standard decodes it.
fn decoded(text: &str) -> Vec<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut events = Vec::new();
    let mut lines: Vec<&str> = Vec::new();
    for line in text.split_inclusive('\n') {
        // A last line without an end belongs to an event that has not arrived.
        let Some(line) = line.strip_suffix('\n') else {
            break;
        };
        if line.is_empty() {
            let data = std::mem::take(&mut lines).join("\n");
            if !data.trim().is_empty() {
                events.push(data);
            }
        } else if line == "data" {
            lines.push("");
        } else if let Some(data) = line.strip_prefix("data:") {
            lines.push(data.strip_prefix(' ').unwrap_or(data));
        }
    }
    events
}
