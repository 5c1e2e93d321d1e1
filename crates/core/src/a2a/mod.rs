//! The types of A2A 1.0 on the wire (specification section 4), without I/O.
//!
//! Types that contain parts are read and written by hand, so that a part's text is never taken
//! apart; the agent card, which has none, uses serde.

mod artifact;
mod card;
mod catch_up;
mod error;
mod event;
mod fold;
mod gather;
mod message;
mod push;
mod push_check;
mod push_request;
mod request;
mod response;
mod state;
mod task;
pub mod v03;
mod version;

pub use artifact::{Artifact, ArtifactUpdate};
pub use card::{
    AgentCapabilities, AgentCard, AgentCardSignature, AgentExtension, AgentInterface,
    AgentProvider, ApiKeyScheme, CardError, CardFinding, CardForm, HttpScheme, MutualTlsScheme,
    OAuth2Scheme, OAuthEndpoints, OAuthFlow, OpenIdConnectScheme, Scopes, SecurityRequirement,
    SecurityScheme, Severity, Skill, canonical_card, lint_card,
};
pub use error::{A2aError, ErrorCode};
pub use event::StreamEvent;
pub use fold::TaskFold;
pub use gather::EventGather;
pub use message::{IDEMPOTENT_MESSAGES_URI, Message, Role};
pub use push::{PushAuthentication, PushConfig, PushConfigPlace, Secrets};
pub use push_check::{PUSH_ID_HEADER, PUSH_TOKEN_HEADERS};
pub use push_request::{
    ListPushConfigsRequest, ListPushConfigsResponse, PushConfigRequest, TaskPushConfig,
};
pub use request::{
    ExtendedCardRequest, ListTasksRequest, SendConfiguration, SendMessageRequest, TaskRequest,
    page_size_error,
};
pub use response::{ListTasksResponse, SendResult};
pub use state::TaskState;
pub use task::{StatusUpdate, Task, TaskStatus, TaskView};
pub use version::ProtocolVersion;

/// The protocol version that this crate speaks, as the `A2A-Version` header has it.
pub const PROTOCOL_VERSION: &str = "1.0";
/// The request header that names the protocol version.
pub const VERSION_HEADER: &str = "a2a-version";
/// The header that names extensions: those that a client asks for, those that a server activated.
pub const EXTENSIONS_HEADER: &str = "a2a-extensions";
/// `protocolBinding` of JSON-RPC.
pub const BINDING_JSONRPC: &str = "JSONRPC";
/// `protocolBinding` of REST.
pub const BINDING_REST: &str = "HTTP+JSON";
/// `protocolBinding` of gRPC.
pub const BINDING_GRPC: &str = "GRPC";
/// Where an agent's card is, relative to the agent's base URL.
pub const CARD_PATH: &str = ".well-known/agent-card.json";
/// The media type of REST bodies.
pub const MEDIA_TYPE: &str = "application/a2a+json";

/// Appends `"name":"value"` with a comma before it where one is needed.
pub(crate) fn push_string_field(out: &mut String, name: &str, value: &str) {
    push_field(out, name);
    crate::json::push_string(out, value);
}

/// Appends `"name":` with a comma before it where one is needed.
pub(crate) fn push_field(out: &mut String, name: &str) {
    if !out.ends_with(['{', '[']) {
        out.push(',');
    }
    out.push('"');
    out.push_str(name);
    out.push_str("\":");
}

/// Appends the parts as an array, each as its text stands.
pub(crate) fn push_parts(out: &mut String, parts: &[crate::Part]) {
    out.reserve(
        parts
            .iter()
            .map(|part| part.json().len() + 1)
            .sum::<usize>()
            + 2,
    );
    out.push('[');
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(part.json());
    }
    out.push(']');
}

/// Reads an array of parts.
pub(crate) fn read_parts(
    reader: &mut crate::json::Reader<'_>,
    source: &bytestring::ByteString,
    limits: &crate::Limits,
) -> Result<Vec<crate::Part>, crate::json::ReadError> {
    use crate::json::{ReadError, ReadErrorKind};
    let mut parts = Vec::new();
    if reader.null()? {
        return Ok(parts);
    }
    let mut array = reader.array()?;
    while reader.element(&mut array)? {
        let index = || format!("[{}]", parts.len());
        if parts.len() >= limits.max_message_parts {
            return Err(ReadError::new(
                ReadErrorKind::Limit,
                format!(
                    "has more parts than max_message_parts allows, which is {}",
                    limits.max_message_parts
                ),
            ));
        }
        let part = crate::Part::read(reader, source).map_err(|error| error.within(index()))?;
        if part.json().len() > limits.max_part_bytes {
            return Err(ReadError::new(
                ReadErrorKind::Limit,
                format!(
                    "has {} bytes, max_part_bytes allows {}",
                    part.json().len(),
                    limits.max_part_bytes
                ),
            )
            .within(index()));
        }
        parts.push(part);
    }
    Ok(parts)
}

/// Reads an array of strings; null is none.
pub(crate) fn read_strings(
    reader: &mut crate::json::Reader<'_>,
) -> Result<Vec<String>, crate::json::ReadError> {
    let mut strings = Vec::new();
    if reader.null()? {
        return Ok(strings);
    }
    let mut array = reader.array()?;
    while reader.element(&mut array)? {
        let string = reader
            .string()
            .map_err(|error| error.within(format!("[{}]", strings.len())))?;
        strings.push(string.into_owned());
    }
    Ok(strings)
}

/// Reads an object as its JSON text, on one line; null is none.
pub(crate) fn read_raw_object(
    reader: &mut crate::json::Reader<'_>,
) -> Result<Option<String>, crate::json::ReadError> {
    let span = crate::part::object_span(reader)?;
    Ok(span.map(|span| {
        let text = span.of(reader.source());
        if span.has_newline {
            crate::json::compact(text)
        } else {
            text.to_owned()
        }
    }))
}
