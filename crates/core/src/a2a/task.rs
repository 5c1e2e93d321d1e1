use std::sync::Arc;

use bytestring::ByteString;

use super::message::{missing, read_id};
use super::{Artifact, Message, TaskState, push_field, push_string_field, read_raw_object};
use crate::json::{ReadError, Reader, Seen};
use crate::{Limits, Payload, Timestamp};

/// Where a task stands (section 4.1.2).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskStatus {
    /// The state.
    pub state: TaskState,
    /// What the agent says about it.
    pub message: Option<Message>,
    /// When it was reached.
    pub timestamp: Option<Timestamp>,
}

impl TaskStatus {
    /// A status without a message.
    pub fn new(state: TaskState, timestamp: Timestamp) -> Self {
        Self {
            state,
            message: None,
            timestamp: Some(timestamp),
        }
    }

    pub(super) fn read(
        reader: &mut Reader<'_>,
        source: &ByteString,
        limits: &Limits,
    ) -> Result<Self, ReadError> {
        let mut state = None;
        let mut message = None;
        let mut timestamp = None;
        let mut seen = Seen::default();
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            match &*key {
                "state" => {
                    seen.mark(0, "state")?;
                    state = Some(
                        reader
                            .string()
                            .and_then(|name| TaskState::parse(&name))
                            .map_err(|e| e.within("state"))?,
                    );
                }
                "message" => {
                    seen.mark(1, "message")?;
                    if !reader.null()? {
                        message = Some(
                            Message::read(reader, source, limits)
                                .map_err(|e| e.within("message"))?,
                        );
                    }
                }
                "timestamp" => {
                    seen.mark(2, "timestamp")?;
                    timestamp = reader
                        .optional_string()
                        .and_then(|text| text.as_deref().map(Timestamp::parse).transpose())
                        .map_err(|e| e.within("timestamp"))?;
                }
                _ => {
                    reader.skip().map_err(|e| e.within(key.into_owned()))?;
                }
            }
        }
        Ok(Self {
            state: state.ok_or_else(|| missing("state"))?,
            message,
            timestamp,
        })
    }

    pub(super) fn write(&self, out: &mut String) {
        out.push('{');
        push_string_field(out, "state", self.state.as_str());
        if let Some(message) = &self.message {
            push_field(out, "message");
            message.write(out);
        }
        if let Some(timestamp) = self.timestamp {
            push_string_field(out, "timestamp", &timestamp.to_string());
        }
        out.push('}');
    }
}

/// A change of status in a stream (section 4.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatusUpdate {
    /// The task.
    pub task_id: Arc<str>,
    /// The conversation.
    pub context_id: Arc<str>,
    /// The new status.
    pub status: TaskStatus,
    /// JSON text of the metadata, an object.
    pub metadata: Option<String>,
}

impl StatusUpdate {
    /// An update without metadata.
    pub fn new(task_id: Arc<str>, context_id: Arc<str>, status: TaskStatus) -> Self {
        Self {
            task_id,
            context_id,
            status,
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
        let mut status = None;
        let mut metadata = None;
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
                "status" => {
                    seen.mark(2, "status")?;
                    status = Some(
                        TaskStatus::read(reader, source, limits).map_err(|e| e.within("status"))?,
                    );
                }
                "metadata" => {
                    seen.mark(3, "metadata")?;
                    metadata = read_raw_object(reader).map_err(|e| e.within("metadata"))?;
                }
                _ => {
                    reader.skip().map_err(|e| e.within(key.into_owned()))?;
                }
            }
        }
        Ok(Self {
            task_id: task_id.ok_or_else(|| missing("taskId"))?,
            context_id: context_id.unwrap_or_else(|| "".into()),
            status: status.ok_or_else(|| missing("status"))?,
            metadata,
        })
    }

    pub(super) fn write(&self, out: &mut String) {
        out.push('{');
        push_string_field(out, "taskId", &self.task_id);
        push_string_field(out, "contextId", &self.context_id);
        push_field(out, "status");
        self.status.write(out);
        if let Some(metadata) = &self.metadata {
            push_field(out, "metadata");
            out.push_str(metadata);
        }
        out.push('}');
    }
}

/// A unit of work (section 4.1.1).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Task {
    /// The server's id of the task.
    pub id: Arc<str>,
    /// The conversation.
    pub context_id: Arc<str>,
    /// Where it stands.
    pub status: TaskStatus,
    /// What it produced, in the order of creation.
    pub artifacts: Vec<Artifact>,
    /// What was said, oldest first.
    pub history: Vec<Message>,
    /// JSON text of the metadata, an object.
    pub metadata: Option<String>,
}

/// What of a task goes into a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskView {
    /// How many of the newest messages; `None` is all.
    pub history_length: Option<u32>,
    /// Whether the artifacts are in it.
    pub artifacts: bool,
}

impl TaskView {
    /// Everything.
    pub const FULL: Self = Self {
        history_length: None,
        artifacts: true,
    };
}

impl Task {
    /// A task without artifacts and history.
    pub fn new(id: Arc<str>, context_id: Arc<str>, status: TaskStatus) -> Self {
        Self {
            id,
            context_id,
            status,
            artifacts: Vec::new(),
            history: Vec::new(),
            metadata: None,
        }
    }

    /// The parts of all artifacts, in order.
    ///
    /// Texts of one artifact are one text; where several artifacts have text, a newline stands
    /// between theirs.
    pub fn payload(&self) -> Payload {
        let mut payload = Payload::new();
        let mut has_text = false;
        for artifact in &self.artifacts {
            let begins_with_text = artifact.parts.iter().any(|part| part.as_text().is_some());
            if begins_with_text && std::mem::replace(&mut has_text, true) {
                payload = payload.with_text("\n");
            }
            payload.extend(artifact.parts.iter().cloned());
        }
        payload
    }

    /// Bytes of the JSON texts of all parts that the task holds.
    pub fn bytes(&self) -> usize {
        let artifacts: usize = self.artifacts.iter().map(Artifact::bytes).sum();
        let history: usize = self
            .history
            .iter()
            .flat_map(|message| message.parts.iter())
            .map(|part| part.json().len())
            .sum();
        artifacts + history
    }

    /// Reads the task at the cursor; its parts share the memory of `source`.
    ///
    /// # Errors
    /// When `id` or `status` is missing, or a field is wrong; naming it.
    pub fn read(
        reader: &mut Reader<'_>,
        source: &ByteString,
        limits: &Limits,
    ) -> Result<Self, ReadError> {
        let mut id = None;
        let mut context_id = None;
        let mut status = None;
        let mut artifacts = Vec::new();
        let mut history = Vec::new();
        let mut metadata = None;
        let mut seen = Seen::default();
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            match &*key {
                "id" => {
                    seen.mark(0, "id")?;
                    id = read_id(reader).map_err(|e| e.within("id"))?;
                }
                "contextId" | "context_id" => {
                    seen.mark(1, "contextId")?;
                    context_id = read_id(reader).map_err(|e| e.within("contextId"))?;
                }
                "status" => {
                    seen.mark(2, "status")?;
                    status = Some(
                        TaskStatus::read(reader, source, limits).map_err(|e| e.within("status"))?,
                    );
                }
                "artifacts" => {
                    seen.mark(3, "artifacts")?;
                    artifacts = read_list(reader, |r| Artifact::read(r, source, limits))
                        .map_err(|e| e.within("artifacts"))?;
                }
                "history" => {
                    seen.mark(4, "history")?;
                    history = read_list(reader, |r| Message::read(r, source, limits))
                        .map_err(|e| e.within("history"))?;
                }
                "metadata" => {
                    seen.mark(5, "metadata")?;
                    metadata = read_raw_object(reader).map_err(|e| e.within("metadata"))?;
                }
                _ => {
                    reader.skip().map_err(|e| e.within(key.into_owned()))?;
                }
            }
        }
        Ok(Self {
            id: id.ok_or_else(|| missing("id"))?,
            context_id: context_id.unwrap_or_else(|| "".into()),
            status: status.ok_or_else(|| missing("status"))?,
            artifacts,
            history,
            metadata,
        })
    }

    /// Appends the task's JSON, with what `view` asks for.
    pub fn write(&self, out: &mut String, view: TaskView) {
        out.push('{');
        push_string_field(out, "id", &self.id);
        push_string_field(out, "contextId", &self.context_id);
        push_field(out, "status");
        self.status.write(out);
        if view.artifacts && !self.artifacts.is_empty() {
            push_field(out, "artifacts");
            push_list(out, &self.artifacts, Artifact::write);
        }
        let asked = view.history_length.map_or(usize::MAX, |n| n as usize);
        let skipped = self.history.len().saturating_sub(asked);
        let newest = self.history.get(skipped..).unwrap_or_default();
        if !newest.is_empty() {
            push_field(out, "history");
            push_list(out, newest, Message::write);
        }
        if let Some(metadata) = &self.metadata {
            push_field(out, "metadata");
            out.push_str(metadata);
        }
        out.push('}');
    }
}

/// Reads an array with `read`; null is empty.
pub(super) fn read_list<T>(
    reader: &mut Reader<'_>,
    mut read: impl FnMut(&mut Reader<'_>) -> Result<T, ReadError>,
) -> Result<Vec<T>, ReadError> {
    let mut list = Vec::new();
    if reader.null()? {
        return Ok(list);
    }
    let mut array = reader.array()?;
    while reader.element(&mut array)? {
        let item = read(reader).map_err(|e| e.within(format!("[{}]", list.len())))?;
        list.push(item);
    }
    Ok(list)
}

fn push_list<T>(out: &mut String, items: &[T], mut write: impl FnMut(&T, &mut String)) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(']');
}
