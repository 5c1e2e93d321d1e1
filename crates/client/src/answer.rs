//! What the agent answered, as a value or as an error.

use bytestring::ByteString;
use llamon_core::Limits;
use llamon_core::a2a::{A2aError, ProtocolVersion, SendResult, StreamEvent};
use llamon_core::json::{ReadError, Reader, Seen};

use crate::binding::Binding;
use crate::egress::Head;
use crate::error::ClientError;
use crate::{v03, wire_error};

/// How an answer is written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// As JSON-RPC of 1.0 has it.
    Envelope,
    /// As REST of 1.0 has it, also where it came in another form and was made to look like that.
    Bare,
    /// As 0.3 has it.
    V03(v03::Answer),
}

impl Form {
    /// Of a binding in 1.0.
    pub(crate) fn of(binding: Binding) -> Self {
        match binding {
            Binding::JsonRpc => Self::Envelope,
            _ => Self::Bare,
        }
    }

    fn version(self) -> ProtocolVersion {
        match self {
            Self::Envelope | Self::Bare => ProtocolVersion::V1_0,
            Self::V03(_) => ProtocolVersion::V0_3,
        }
    }

    /// The protocol's error in `text`, if there is one.
    fn find_error(self, text: &str, status: u16, depth: u32) -> Option<A2aError> {
        match self {
            Self::Envelope | Self::Bare => wire_error::find_error(text, status, depth),
            Self::V03(answer) => answer.find_error(text, status, depth),
        }
    }
}

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
    form: Form,
    head: &Head,
    text: &ByteString,
    limits: &Limits,
    read: Read<T>,
) -> Result<T, ClientError> {
    let depth = limits.max_json_depth.saturating_add(RESPONSE_LEVELS);
    if !head.is_success() {
        return Err(refusal(form, head, text, depth));
    }
    let whole = |text: &ByteString, within_envelope: bool| {
        let mut reader = Reader::of_str(text, depth);
        let value = if within_envelope {
            in_envelope(&mut reader, |reader| read(reader, text, limits))
        } else {
            read(&mut reader, text, limits)
        };
        value.and_then(|value| reader.end().map(|()| value))
    };
    let value = match form {
        Form::Envelope => whole(text, true),
        Form::Bare => whole(text, false),
        Form::V03(answer) => {
            let upgraded = answer.upgraded(text, depth);
            upgraded.and_then(|text| whole(&text, false))
        }
    };
    match value {
        Ok(value) => Ok(value),
        Err(error) => Err(match form.find_error(text, head.status, depth) {
            Some(error) => ClientError::of_protocol(error).with_status(head.status),
            None => ClientError::invalid_response(format!(
                "{} answered with what is not A2A {}: {error}",
                head.url,
                form.version()
            ))
            .with_status(head.status),
        }),
    }
}

/// Reads an answer that says nothing but that it was done: `{}`, null or no body at all.
pub(crate) fn acknowledged(
    form: Form,
    head: &Head,
    text: &ByteString,
    limits: &Limits,
) -> Result<(), ClientError> {
    let depth = limits.max_json_depth.saturating_add(RESPONSE_LEVELS);
    if !head.is_success() {
        return Err(refusal(form, head, text, depth));
    }
    match form.find_error(text, head.status, depth) {
        Some(error) => Err(ClientError::of_protocol(error).with_status(head.status)),
        None => Ok(()),
    }
}

/// The error of an answer that is no stream where one was asked for.
pub(crate) fn not_a_stream(
    form: Form,
    head: &Head,
    text: &ByteString,
    limits: &Limits,
) -> ClientError {
    let depth = limits.max_json_depth.saturating_add(RESPONSE_LEVELS);
    if !head.is_success() {
        return refusal(form, head, text, depth);
    }
    match form.find_error(text, head.status, depth) {
        Some(error) => ClientError::of_protocol(error),
        None => ClientError::invalid_response(format!(
            "{} answered with {:?} where a stream (text/event-stream) was asked for; send without streaming",
            head.url, head.media_type
        )),
    }
    .with_status(head.status)
}

/// The error of an HTTP status other than success.
pub(crate) fn refusal(form: Form, head: &Head, text: &str, depth: u32) -> ClientError {
    let status = head.status;
    if let Some(error) = form.find_error(text, status, depth) {
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

/// Reads the result of JSON-RPC's envelope.
pub(crate) fn in_envelope<'a, T>(
    reader: &mut Reader<'a>,
    read: impl FnOnce(&mut Reader<'a>) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    let mut read = Some(read);
    let mut result = None;
    let mut seen = Seen::default();
    let mut object = reader.object()?;
    while let Some(key) = reader.key(&mut object)? {
        match &*key {
            "result" => {
                seen.mark(0, "result")?;
                if !reader.null()?
                    && let Some(read) = read.take()
                {
                    result = Some(read(reader).map_err(|e| e.within("result"))?);
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
