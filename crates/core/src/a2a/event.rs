use std::sync::Arc;

use bytestring::ByteString;

use super::message::missing;
use super::{ArtifactUpdate, Message, StatusUpdate, Task, TaskState, TaskView, push_field};
use crate::Limits;
use crate::json::{ReadError, Reader, Seen};

/// One event of a stream, a `StreamResponse` (section 4.2.3): exactly one of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    /// The task as it stands.
    Task(Arc<Task>),
    /// A direct answer without a task.
    Message(Arc<Message>),
    /// The task's status changed.
    Status(StatusUpdate),
    /// An artifact was created, replaced or grew.
    Artifact(ArtifactUpdate),
}

impl StreamEvent {
    /// The state that the event brings the task to, if it says one.
    pub fn state(&self) -> Option<TaskState> {
        match self {
            Self::Task(task) => Some(task.status.state),
            Self::Status(update) => Some(update.status.state),
            Self::Message(_) | Self::Artifact(_) => None,
        }
    }

    /// Reads the event at the cursor; its parts share the memory of `source`.
    ///
    /// # Errors
    /// When it is not exactly one of the four, or a field is wrong; naming it.
    pub fn read(
        reader: &mut Reader<'_>,
        source: &ByteString,
        limits: &Limits,
    ) -> Result<Self, ReadError> {
        let mut event = None;
        let mut seen = Seen::default();
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            if reader.null()? {
                continue;
            }
            let found = match &*key {
                "task" => {
                    seen.mark(0, "task")?;
                    let task = Task::read(reader, source, limits);
                    Self::Task(Arc::new(task.map_err(|e| e.within("task"))?))
                }
                "message" => {
                    seen.mark(1, "message")?;
                    let message = Message::read(reader, source, limits);
                    Self::Message(Arc::new(message.map_err(|e| e.within("message"))?))
                }
                "statusUpdate" | "status_update" => {
                    seen.mark(2, "statusUpdate")?;
                    let update = StatusUpdate::read(reader, source, limits);
                    Self::Status(update.map_err(|e| e.within("statusUpdate"))?)
                }
                "artifactUpdate" | "artifact_update" => {
                    seen.mark(3, "artifactUpdate")?;
                    let update = ArtifactUpdate::read(reader, source, limits);
                    Self::Artifact(update.map_err(|e| e.within("artifactUpdate"))?)
                }
                _ => {
                    reader.skip().map_err(|e| e.within(key.into_owned()))?;
                    continue;
                }
            };
            if event.replace(found).is_some() {
                return Err(ReadError::invalid(
                    "has more than one of task, message, statusUpdate and artifactUpdate",
                ));
            }
        }
        event.ok_or_else(|| missing("one of task, message, statusUpdate and artifactUpdate"))
    }

    /// Appends the event's JSON; `view` says what of a task is in it.
    pub fn write(&self, out: &mut String, view: TaskView) {
        out.push('{');
        match self {
            Self::Task(task) => {
                push_field(out, "task");
                task.write(out, view);
            }
            Self::Message(message) => {
                push_field(out, "message");
                message.write(out);
            }
            Self::Status(update) => {
                push_field(out, "statusUpdate");
                update.write(out);
            }
            Self::Artifact(update) => {
                push_field(out, "artifactUpdate");
                update.write(out);
            }
        }
        out.push('}');
    }
}
