use bytes::Bytes;
use llamon_core::a2a::{Artifact, Message};
use llamon_core::json::ReadError;
use llamon_core::{Part, PartKind};

use super::{each, metadata, role, text};
use crate::value;
use crate::wire::{self, PartContent};

/// A part. Its unknown fields are left out.
///
/// # Errors
/// When its data or metadata has no form in gRPC; naming the place.
pub fn part(part: &Part) -> Result<wire::Part, ReadError> {
    let owned = |text: Option<std::borrow::Cow<'_, str>>| text.unwrap_or_default().into_owned();
    let content = match part.kind() {
        PartKind::Text => PartContent::Text(owned(part.as_text())),
        PartKind::Url => PartContent::Url(owned(part.url())),
        PartKind::Raw => PartContent::Raw(raw(part)?),
        PartKind::Data => {
            let data = value::value_of_json(part.content_json());
            PartContent::Data(data.map_err(|error| error.within("data"))?)
        }
    };
    Ok(wire::Part {
        content: Some(content),
        metadata: metadata(part.metadata_json())?,
        filename: owned(part.filename()),
        media_type: owned(part.media_type()),
    })
}

fn raw(part: &Part) -> Result<Bytes, ReadError> {
    // It was checked when the part was read.
    part.file_content()
        .map_err(|error| ReadError::invalid(error.to_string()).within("raw"))
}

/// A message.
///
/// # Errors
/// When a value has no form in gRPC; naming the place.
pub fn message(message: &Message) -> Result<wire::Message, ReadError> {
    Ok(wire::Message {
        message_id: message.message_id.clone(),
        context_id: text(message.context_id.as_deref()),
        task_id: text(message.task_id.as_deref()),
        role: role(message.role),
        parts: each(&message.parts, "parts", part)?,
        metadata: metadata(message.metadata.as_deref())?,
        extensions: message.extensions.clone(),
        reference_task_ids: message.reference_task_ids.clone(),
    })
}

/// An artifact.
///
/// # Errors
/// When a value has no form in gRPC; naming the place.
pub fn artifact(artifact: &Artifact) -> Result<wire::Artifact, ReadError> {
    Ok(wire::Artifact {
        artifact_id: artifact.artifact_id.as_ref().to_owned(),
        name: text(artifact.name.as_deref()),
        description: text(artifact.description.as_deref()),
        parts: each(&artifact.parts, "parts", part)?,
        metadata: metadata(artifact.metadata.as_deref())?,
        extensions: artifact.extensions.clone(),
    })
}
