use std::sync::Arc;

use bytestring::ByteString;

use super::message::{missing, push_string_array, read_id};
use super::{push_field, push_parts, push_string_field, read_parts, read_raw_object, read_strings};
use crate::json::{ReadError, Reader, Seen};
use crate::{Limits, Part};

/// Something that a task produced (section 4.1.7).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Artifact {
    /// Unique within its task.
    pub artifact_id: Arc<str>,
    /// A name for people.
    pub name: Option<Arc<str>>,
    /// A description for people.
    pub description: Option<String>,
    /// The parts, in order.
    pub parts: Vec<Part>,
    /// JSON text of the metadata, an object.
    pub metadata: Option<String>,
    /// URIs of the extensions that shaped the artifact.
    pub extensions: Vec<String>,
}

impl Artifact {
    /// An artifact with `parts` and nothing else.
    pub fn new(artifact_id: impl Into<Arc<str>>, parts: Vec<Part>) -> Self {
        Self {
            artifact_id: artifact_id.into(),
            name: None,
            description: None,
            parts,
            metadata: None,
            extensions: Vec::new(),
        }
    }

    /// Bytes of the JSON texts of all parts.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.json().len()).sum()
    }

    pub(super) fn read(
        reader: &mut Reader<'_>,
        source: &ByteString,
        limits: &Limits,
    ) -> Result<Self, ReadError> {
        let mut id = None;
        let mut artifact = Self::new("", Vec::new());
        let mut seen = Seen::default();
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            match &*key {
                "artifactId" | "artifact_id" => {
                    seen.mark(0, "artifactId")?;
                    id = read_id(reader).map_err(|e| e.within("artifactId"))?;
                }
                "name" => {
                    seen.mark(1, "name")?;
                    artifact.name = read_id(reader).map_err(|e| e.within("name"))?;
                }
                "description" => {
                    seen.mark(2, "description")?;
                    artifact.description = reader
                        .optional_string()
                        .map_err(|e| e.within("description"))?
                        .map(Into::into);
                }
                "parts" => {
                    seen.mark(3, "parts")?;
                    artifact.parts =
                        read_parts(reader, source, limits).map_err(|e| e.within("parts"))?;
                }
                "metadata" => {
                    seen.mark(4, "metadata")?;
                    artifact.metadata =
                        read_raw_object(reader).map_err(|e| e.within("metadata"))?;
                }
                "extensions" => {
                    seen.mark(5, "extensions")?;
                    artifact.extensions =
                        read_strings(reader).map_err(|e| e.within("extensions"))?;
                }
                _ => {
                    reader.skip().map_err(|e| e.within(key.into_owned()))?;
                }
            }
        }
        artifact.artifact_id = id.ok_or_else(|| missing("artifactId"))?;
        Ok(artifact)
    }

    pub(super) fn write(&self, out: &mut String) {
        out.push('{');
        push_string_field(out, "artifactId", &self.artifact_id);
        if let Some(name) = &self.name {
            push_string_field(out, "name", name);
        }
        if let Some(description) = &self.description {
            push_string_field(out, "description", description);
        }
        push_field(out, "parts");
        push_parts(out, &self.parts);
        if let Some(metadata) = &self.metadata {
            push_field(out, "metadata");
            out.push_str(metadata);
        }
        push_string_array(out, "extensions", &self.extensions);
        out.push('}');
    }
}

/// A chunk of an artifact in a stream (section 4.2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArtifactUpdate {
    /// The task.
    pub task_id: Arc<str>,
    /// The conversation.
    pub context_id: Arc<str>,
    /// The artifact's id and the parts of this chunk.
    pub artifact: Artifact,
    /// Whether the parts are added to the artifact; otherwise they create or replace it.
    pub append: bool,
    /// Whether this chunk is known to be the artifact's last.
    pub last_chunk: bool,
    /// JSON text of the metadata, an object.
    pub metadata: Option<String>,
}

impl ArtifactUpdate {
    /// An update that creates or replaces `artifact`.
    pub fn new(task_id: Arc<str>, context_id: Arc<str>, artifact: Artifact) -> Self {
        Self {
            task_id,
            context_id,
            artifact,
            append: false,
            last_chunk: false,
            metadata: None,
        }
    }

    pub(super) fn read(
        reader: &mut Reader<'_>,
        source: &ByteString,
        limits: &Limits,
    ) -> Result<Self, ReadError> {
        let mut task_id = None;
        let mut context_id = None;
        let mut artifact = None;
        let mut update = Self::new("".into(), "".into(), Artifact::new("", Vec::new()));
        let mut seen = Seen::default();
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            match &*key {
                "taskId" | "task_id" => {
                    seen.mark(0, "taskId")?;
                    task_id = read_id(reader).map_err(|e| e.within("taskId"))?;
                }
                "contextId" | "context_id" => {
                    seen.mark(1, "contextId")?;
                    context_id = read_id(reader).map_err(|e| e.within("contextId"))?;
                }
                "artifact" => {
                    seen.mark(2, "artifact")?;
                    artifact = Some(
                        Artifact::read(reader, source, limits).map_err(|e| e.within("artifact"))?,
                    );
                }
                "append" => {
                    seen.mark(3, "append")?;
                    let append = reader.optional_bool().map_err(|e| e.within("append"))?;
                    update.append = append.unwrap_or_default();
                }
                "lastChunk" | "last_chunk" => {
                    seen.mark(4, "lastChunk")?;
                    let last = reader.optional_bool().map_err(|e| e.within("lastChunk"))?;
                    update.last_chunk = last.unwrap_or_default();
                }
                "metadata" => {
                    seen.mark(5, "metadata")?;
                    update.metadata = read_raw_object(reader).map_err(|e| e.within("metadata"))?;
                }
                _ => {
                    reader.skip().map_err(|e| e.within(key.into_owned()))?;
                }
            }
        }
        update.task_id = task_id.ok_or_else(|| missing("taskId"))?;
        update.context_id = context_id.unwrap_or_else(|| "".into());
        update.artifact = artifact.ok_or_else(|| missing("artifact"))?;
        Ok(update)
    }

    pub(super) fn write(&self, out: &mut String) {
        out.push('{');
        push_string_field(out, "taskId", &self.task_id);
        push_string_field(out, "contextId", &self.context_id);
        push_field(out, "artifact");
        self.artifact.write(out);
        if self.append {
            out.push_str(",\"append\":true");
        }
        if self.last_chunk {
            out.push_str(",\"lastChunk\":true");
        }
        if let Some(metadata) = &self.metadata {
            push_field(out, "metadata");
            out.push_str(metadata);
        }
        out.push('}');
    }
}
