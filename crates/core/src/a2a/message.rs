use std::sync::Arc;

use bytestring::ByteString;

use super::{push_field, push_parts, push_string_field, read_parts, read_raw_object, read_strings};
use crate::json::{ReadError, Reader, Seen, push_string};
use crate::{Limits, Part, PartKind, Payload};

/// The A2A extension by which a client asks that its messages are accepted only once: the same
/// message with the same `messageId` is answered with what became of it.
pub const IDEMPOTENT_MESSAGES_URI: &str = "urn:llamon:ext:idempotent-messages:v1";

/// Who speaks in a message (section 4.1.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The client.
    User,
    /// The agent.
    Agent,
}

impl Role {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "ROLE_USER",
            Self::Agent => "ROLE_AGENT",
        }
    }

    fn parse(name: &str) -> Result<Self, ReadError> {
        match name {
            "ROLE_USER" => Ok(Self::User),
            "ROLE_AGENT" => Ok(Self::Agent),
            other => {
                let shown: String = other.chars().take(40).collect();
                Err(ReadError::invalid(format!(
                    "{shown:?} is no role; there are ROLE_USER and ROLE_AGENT"
                )))
            }
        }
    }
}

/// A message between client and agent (section 4.1.4).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// The sender's id of the message. No idempotency key.
    pub message_id: String,
    /// The conversation.
    pub context_id: Option<Arc<str>>,
    /// The task that the message belongs to.
    pub task_id: Option<Arc<str>>,
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub parts: Arc<[Part]>,
    /// JSON text of the metadata, an object.
    pub metadata: Option<String>,
    /// URIs of the extensions that shaped the message.
    pub extensions: Vec<String>,
    /// Tasks that the message refers to.
    pub reference_task_ids: Vec<String>,
}

impl Message {
    /// A message of `role` with `parts`.
    pub fn new(message_id: impl Into<String>, role: Role, parts: impl Into<Arc<[Part]>>) -> Self {
        Self {
            message_id: message_id.into(),
            context_id: None,
            task_id: None,
            role,
            parts: parts.into(),
            metadata: None,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        }
    }

    /// The message's text parts, joined by one newline.
    pub fn query(&self) -> String {
        let mut query = String::new();
        let mut first = true;
        for text in self.parts.iter().filter_map(Part::as_text) {
            if !std::mem::replace(&mut first, false) {
                query.push('\n');
            }
            query.push_str(&text);
        }
        query
    }

    /// The message's parts as a payload.
    pub fn payload(&self) -> Payload {
        Payload::from(self.parts.to_vec())
    }

    /// Whether the message has a data or file part.
    pub fn has_data_or_files(&self) -> bool {
        self.parts.iter().any(|part| part.kind() != PartKind::Text)
    }

    /// Reads the message at the cursor; its parts share the memory of `source`. A message without
    /// parts is read, since ProtoJSON drops empty lists; one that is sent must have some, which
    /// [`super::SendMessageRequest::read`] checks.
    ///
    /// # Errors
    /// When `messageId` or `role` is missing or empty, or a field is wrong; naming it.
    pub fn read(
        reader: &mut Reader<'_>,
        source: &ByteString,
        limits: &Limits,
    ) -> Result<Self, ReadError> {
        let mut message_id = None;
        let mut role = None;
        let mut parts = None;
        let mut message = Self::new("", Role::User, []);
        let mut seen = Seen::default();
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            match &*key {
                "messageId" | "message_id" => {
                    seen.mark(0, "messageId")?;
                    message_id = reader
                        .optional_string()
                        .map_err(|e| e.within("messageId"))?;
                }
                "contextId" | "context_id" => {
                    seen.mark(1, "contextId")?;
                    message.context_id = read_id(reader).map_err(|e| e.within("contextId"))?;
                }
                "taskId" | "task_id" => {
                    seen.mark(2, "taskId")?;
                    message.task_id = read_id(reader).map_err(|e| e.within("taskId"))?;
                }
                "role" => {
                    seen.mark(3, "role")?;
                    role = reader
                        .optional_string()
                        .and_then(|name| name.as_deref().map(Role::parse).transpose())
                        .map_err(|e| e.within("role"))?;
                }
                "parts" => {
                    seen.mark(4, "parts")?;
                    parts =
                        Some(read_parts(reader, source, limits).map_err(|e| e.within("parts"))?);
                }
                "metadata" => {
                    seen.mark(5, "metadata")?;
                    message.metadata = read_raw_object(reader).map_err(|e| e.within("metadata"))?;
                }
                "extensions" => {
                    seen.mark(6, "extensions")?;
                    message.extensions =
                        read_strings(reader).map_err(|e| e.within("extensions"))?;
                }
                "referenceTaskIds" | "reference_task_ids" => {
                    seen.mark(7, "referenceTaskIds")?;
                    message.reference_task_ids =
                        read_strings(reader).map_err(|e| e.within("referenceTaskIds"))?;
                }
                _ => {
                    reader.skip().map_err(|e| e.within(key.into_owned()))?;
                }
            }
        }
        message.message_id = message_id
            .filter(|id| !id.is_empty())
            .ok_or_else(|| missing("messageId"))?
            .into_owned();
        message.role = role.ok_or_else(|| missing("role"))?;
        message.parts = parts.unwrap_or_default().into();
        Ok(message)
    }

    /// Copies the parts out of a source that is much larger than they are.
    #[must_use]
    pub fn detached_from(mut self, source_len: usize) -> Self {
        let bytes: usize = self.parts.iter().map(|part| part.json().len()).sum();
        if bytes < source_len / 4 {
            self.parts = self
                .parts
                .iter()
                .map(|part| part.clone().detached_from(source_len))
                .collect();
        }
        self
    }

    /// Appends the message's JSON.
    pub fn write(&self, out: &mut String) {
        out.push('{');
        push_string_field(out, "messageId", &self.message_id);
        if let Some(context_id) = &self.context_id {
            push_string_field(out, "contextId", context_id);
        }
        if let Some(task_id) = &self.task_id {
            push_string_field(out, "taskId", task_id);
        }
        push_string_field(out, "role", self.role.as_str());
        push_field(out, "parts");
        push_parts(out, &self.parts);
        if let Some(metadata) = &self.metadata {
            push_field(out, "metadata");
            out.push_str(metadata);
        }
        push_string_array(out, "extensions", &self.extensions);
        push_string_array(out, "referenceTaskIds", &self.reference_task_ids);
        out.push('}');
    }
}

/// Appends `"name":[...]`, or nothing where there are no values.
pub(super) fn push_string_array(out: &mut String, name: &str, values: &[String]) {
    if values.is_empty() {
        return;
    }
    push_field(out, name);
    out.push('[');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_string(out, value);
    }
    out.push(']');
}

/// An id; empty and null are none, as in proto3.
pub(super) fn read_id(reader: &mut Reader<'_>) -> Result<Option<Arc<str>>, ReadError> {
    let id = reader.optional_string()?;
    Ok(id.filter(|id| !id.is_empty()).map(|id| Arc::from(&*id)))
}

/// Reads a request's tenant; empty is none.
pub(super) fn read_tenant(reader: &mut Reader<'_>) -> Result<Option<String>, ReadError> {
    let tenant = reader.optional_string().map_err(|e| e.within("tenant"))?;
    Ok(tenant.filter(|tenant| !tenant.is_empty()).map(Into::into))
}

pub(super) fn missing(field: &'static str) -> ReadError {
    ReadError::invalid("is required").within(field)
}
