use llamon_core::a2a::{Artifact, Message};
use llamon_core::json::{ReadError, ReadErrorKind, push_string};
use llamon_core::{Limits, Part};

use super::{data_depth, each, id, missing, not_empty, required_id, role};
use crate::value;
use crate::wire::{self, PartContent};

/// A part.
///
/// # Errors
/// When it has no content, when its data or metadata is no JSON, and beyond a limit; naming the
/// field.
pub fn part(part: &wire::Part, limits: &Limits) -> Result<Part, ReadError> {
    let depth = data_depth(limits);
    let content = part.content.as_ref().ok_or_else(|| {
        ReadError::invalid("has no content: exactly one of text, data, raw and url is required")
    })?;
    let made = match content {
        PartContent::Text(text) => Part::text(text),
        PartContent::Raw(bytes) => Part::file_bytes(bytes),
        PartContent::Url(url) => Part::file_url(url),
        PartContent::Data(bytes) => {
            let json = value::value_to_json(bytes, depth).map_err(|e| e.within("data"))?;
            Part::from_json(format!(r#"{{"data":{json}}}"#))?
        }
    };
    let made = with_fields(made, part, depth)?;
    if made.json().len() > limits.max_part_bytes {
        return Err(ReadError::new(
            ReadErrorKind::Limit,
            format!(
                "has {} bytes, max_part_bytes allows {}",
                made.json().len(),
                limits.max_part_bytes
            ),
        ));
    }
    Ok(made)
}

/// The part with the fields beside its content.
fn with_fields(made: Part, part: &wire::Part, depth: u32) -> Result<Part, ReadError> {
    if part.filename.is_empty() && part.media_type.is_empty() && part.metadata.is_none() {
        return Ok(made);
    }
    let mut json = made.json().to_owned();
    json.pop();
    let mut push = |name: &str, token: &str| {
        json.push_str(",\"");
        json.push_str(name);
        json.push_str("\":");
        json.push_str(token);
    };
    let mut token = String::new();
    for (name, value) in [
        ("filename", &part.filename),
        ("mediaType", &part.media_type),
    ] {
        if !value.is_empty() {
            token.clear();
            push_string(&mut token, value);
            push(name, &token);
        }
    }
    if let Some(metadata) = &part.metadata {
        let object = value::struct_to_json(metadata, depth).map_err(|e| e.within("metadata"))?;
        push("metadata", &object);
    }
    json.push('}');
    Part::from_json(json)
}

pub(super) fn parts(parts: &[wire::Part], limits: &Limits) -> Result<Vec<Part>, ReadError> {
    if parts.len() > limits.max_message_parts {
        return Err(ReadError::new(
            ReadErrorKind::Limit,
            format!(
                "has more parts than max_message_parts allows, which is {}",
                limits.max_message_parts
            ),
        )
        .within("parts"));
    }
    each(parts.iter().collect(), "parts", |wire| part(wire, limits))
}

/// A message.
///
/// # Errors
/// When `messageId` or `role` is missing, or a field is wrong; naming it.
pub fn message(message: wire::Message, limits: &Limits) -> Result<Message, ReadError> {
    if message.message_id.is_empty() {
        return Err(missing("messageId"));
    }
    let parts = parts(&message.parts, limits)?;
    let mut made = Message::new(message.message_id, role(message.role)?, parts);
    made.context_id = id(message.context_id);
    made.task_id = id(message.task_id);
    made.metadata = super::metadata(message.metadata, limits)?;
    made.extensions = message.extensions;
    made.reference_task_ids = message.reference_task_ids;
    Ok(made)
}

/// An artifact.
///
/// # Errors
/// When `artifactId` is missing, or a field is wrong; naming it.
pub fn artifact(artifact: wire::Artifact, limits: &Limits) -> Result<Artifact, ReadError> {
    let artifact_id = required_id(artifact.artifact_id, "artifactId")?;
    let mut made = Artifact::new(artifact_id, parts(&artifact.parts, limits)?);
    made.name = id(artifact.name);
    made.description = not_empty(artifact.description);
    made.metadata = super::metadata(artifact.metadata, limits)?;
    made.extensions = artifact.extensions;
    Ok(made)
}
