//! What the agent answered, as a value or as an error.

use bytestring::ByteString;
use llamon_core::Limits;
use llamon_core::a2a::{SendResult, StreamEvent};
use llamon_core::json::{ReadError, Reader, Seen};

use crate::binding::Binding;
use crate::egress::Head;
use crate::error::ClientError;
use crate::wire_error::find_error;

/// Reads a value at the cursor; its parts share the memory of the text.
pub(crate) type Read<T> = fn(&mut Reader<'_>, &ByteString, &Limits) -> Result<T, ReadError>;

/// What an answer may have, made of the limits of what a server accepts: an answer holds a
/// message that was accepted and more.
pub(crate) fn response_limits(limits: &Limits) -> Limits {
    let bytes = limits.max_body_bytes.saturating_mul(4);
    limits
        .clone()
        .with_max_body_bytes(bytes)
        // Chunks of a text that the server has joined are one part.
        .with_max_part_bytes(bytes)
        .with_max_message_parts(limits.max_message_parts.saturating_mul(10))
}

/// Levels that a response nests deeper than the request whose data it carries.
const RESPONSE_LEVELS: u32 = 8;

/// Reads the value that `text` answers with.
pub(crate) fn read<T>(
    binding: Binding,
    head: &Head,
    text: &ByteString,
    limits: &Limits,
    read: Read<T>,
) -> Result<T, ClientError> {
    let depth = limits.max_json_depth.saturating_add(RESPONSE_LEVELS);
    if !head.is_success() {
        return Err(refusal(head, text, depth));
    }
    let mut reader = Reader::of_str(text, depth);
    let value = match binding {
        Binding::JsonRpc => read_result(&mut reader, text, limits, read),
        // What came in another form was made to look as REST has it.
        _ => read(&mut reader, text, limits),
    };
    match value.and_then(|value| reader.end().map(|()| value)) {
        Ok(value) => Ok(value),
        Err(error) => Err(match find_error(text, head.status, depth) {
            Some(error) => ClientError::of_protocol(error).with_status(head.status),
            None => ClientError::invalid_response(format!(
                "{} answered with what is not A2A 1.0: {error}",
                head.url
            ))
            .with_status(head.status),
        }),
    }
}

/// Reads an answer that says nothing but that it was done: `{}`, null or no body at all.
pub(crate) fn acknowledged(
    head: &Head,
    text: &ByteString,
    limits: &Limits,
) -> Result<(), ClientError> {
    let depth = limits.max_json_depth.saturating_add(RESPONSE_LEVELS);
    if !head.is_success() {
        return Err(refusal(head, text, depth));
    }
    match find_error(text, head.status, depth) {
        Some(error) => Err(ClientError::of_protocol(error).with_status(head.status)),
        None => Ok(()),
    }
}

/// The error of an answer that is no stream where one was asked for.
pub(crate) fn not_a_stream(head: &Head, text: &ByteString, limits: &Limits) -> ClientError {
    let depth = limits.max_json_depth.saturating_add(RESPONSE_LEVELS);
    if !head.is_success() {
        return refusal(head, text, depth);
    }
    match find_error(text, head.status, depth) {
        Some(error) => ClientError::of_protocol(error),
        None => ClientError::invalid_response(format!(
            "{} answered with {:?} where a stream (text/event-stream) was asked for; send without streaming",
            head.url, head.media_type
        )),
    }
    .with_status(head.status)
}

/// The error of an HTTP status other than success.
pub(crate) fn refusal(head: &Head, text: &str, depth: u32) -> ClientError {
    let status = head.status;
    if let Some(error) = find_error(text, status, depth) {
        return ClientError::of_protocol(error).with_status(status);
    }
    let url = &head.url;
    let message = match (status, &head.location) {
        (300..=399, Some(location)) => format!(
            "{url} redirects to {location:?} (HTTP {status}), which is not followed; use that address if you trust it"
        ),
        (401, _) => format!(
            "{url} asks for credentials (HTTP {status}); give the client some with bearer(token), api_key(header, value) or credentials(provider), or others if it has some"
        ),
        (403, _) => format!("{url} refuses these credentials (HTTP {status})"),
        (404, _) => {
            format!(
                "nothing is at {url} (HTTP 404); check the path{}",
                said(text)
            )
        }
        _ => format!("{url} answered with HTTP {status}{}", said(text)),
    };
    ClientError::invalid_response(message).with_status(status)
}

/// SendMessage answers with one of two of a stream's events.
pub(crate) fn read_send_result(
    reader: &mut Reader<'_>,
    source: &ByteString,
    limits: &Limits,
) -> Result<SendResult, ReadError> {
    match StreamEvent::read(reader, source, limits)? {
        StreamEvent::Task(task) => Ok(SendResult::Task(task)),
        StreamEvent::Message(message) => Ok(SendResult::Message(message)),
        StreamEvent::Status(_) | StreamEvent::Artifact(_) => Err(ReadError::invalid(
            "is an event of a stream; SendMessage answers with task or message",
        )),
    }
}

fn read_result<T>(
    reader: &mut Reader<'_>,
    source: &ByteString,
    limits: &Limits,
    read: Read<T>,
) -> Result<T, ReadError> {
    let mut result = None;
    let mut seen = Seen::default();
    let mut object = reader.object()?;
    while let Some(key) = reader.key(&mut object)? {
        match &*key {
            "result" => {
                seen.mark(0, "result")?;
                if !reader.null()? {
                    let value = read(reader, source, limits).map_err(|e| e.within("result"))?;
                    result = Some(value);
                }
            }
            "error" => {
                seen.mark(1, "error")?;
                if !reader.null()? {
                    reader.skip()?;
                    // The caller looks for what it says.
                    return Err(ReadError::invalid("is no error object").within("error"));
                }
            }
            _ => {
                reader.skip().map_err(|e| e.within(key.into_owned()))?;
            }
        }
    }
    result.ok_or_else(|| ReadError::invalid("has neither result nor error"))
}

/// The beginning of a body that is no A2A, escaped.
fn said(text: &str) -> String {
    const SHOWN: usize = 200;
    let text = text.trim();
    if text.is_empty() {
        return String::new();
    }
    let shown: String = text.chars().take(SHOWN).collect();
    let more = if shown.len() < text.len() { "..." } else { "" };
    format!(": {shown:?}{more}")
}
