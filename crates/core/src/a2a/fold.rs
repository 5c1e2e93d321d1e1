use std::collections::HashMap;
use std::sync::Arc;

use super::{Artifact, ArtifactUpdate, Message, StreamEvent, Task, TaskStatus};
use crate::Part;

/// A task as the fold of its events. The server keeps one per task and a client keeps one per
/// stream, so that the blocking result, the stream and GetTask say the same.
///
/// Text chunks that were added one after the other become one text part; a text of eight
/// thousand chunks costs eight thousand appends.
#[derive(Clone, Debug)]
pub struct TaskFold {
    // Everything but what is still open in `open_texts`.
    task: Task,
    // Where an artifact is, and the escaped text that its last part has grown to, if it grows.
    artifacts: HashMap<Arc<str>, Slot>,
}

#[derive(Clone, Debug)]
struct Slot {
    index: usize,
    open_text: Option<String>,
    bytes: usize,
}

impl TaskFold {
    /// A fold that begins with `task`.
    pub fn new(task: Task) -> Self {
        let slot = |(index, artifact): (usize, &Artifact)| {
            let slot = Slot {
                index,
                open_text: None,
                bytes: artifact.bytes(),
            };
            (Arc::clone(&artifact.artifact_id), slot)
        };
        let artifacts = task.artifacts.iter().enumerate().map(slot).collect();
        Self { task, artifacts }
    }

    /// Takes in an event. A direct message changes nothing: it has no task.
    pub fn apply(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::Task(task) => *self = Self::new(Task::clone(task)),
            StreamEvent::Message(_) => {}
            StreamEvent::Status(update) => self.task.status = update.status.clone(),
            StreamEvent::Artifact(update) => self.apply_artifact(update),
        }
    }

    /// Adds a message to the history. The question that it answers, if there is one, goes into
    /// the history before it.
    pub fn push_message(&mut self, message: Message) {
        if self.task.status.state.is_interrupted() {
            self.task.history.extend(self.task.status.message.take());
        }
        self.task.history.push(message);
    }

    /// The task's status.
    pub fn status(&self) -> &TaskStatus {
        &self.task.status
    }

    /// What was said, oldest first.
    pub fn history(&self) -> &[Message] {
        &self.task.history
    }

    /// How many artifacts there are.
    pub fn artifact_count(&self) -> usize {
        self.task.artifacts.len()
    }

    /// Whether there is an artifact of this id.
    pub fn has_artifact(&self, artifact_id: &str) -> bool {
        self.artifacts.contains_key(artifact_id)
    }

    /// The task's ids: its own and the conversation's.
    pub(super) fn ids(&self) -> (&Arc<str>, &Arc<str>) {
        (&self.task.id, &self.task.context_id)
    }

    /// Bytes of the parts of an artifact, as they were sent.
    pub fn artifact_bytes(&self, artifact_id: &str) -> usize {
        self.artifacts.get(artifact_id).map_or(0, |slot| slot.bytes)
    }

    /// The task as it stands.
    pub fn snapshot(&self) -> Task {
        let mut task = self.task.clone();
        for slot in self.artifacts.values() {
            slot.close_into(&mut task);
        }
        task
    }

    /// The task as it stands, without copying it.
    pub fn into_task(mut self) -> Task {
        for slot in self.artifacts.values() {
            slot.close_into(&mut self.task);
        }
        self.task
    }

    fn apply_artifact(&mut self, update: &ArtifactUpdate) {
        let bytes = update.artifact.bytes();
        let Some(slot) = self.artifacts.get_mut(&update.artifact.artifact_id) else {
            let slot = Slot {
                index: self.task.artifacts.len(),
                open_text: None,
                bytes,
            };
            let id = Arc::clone(&update.artifact.artifact_id);
            self.artifacts.insert(id, slot);
            self.task.artifacts.push(update.artifact.clone());
            return;
        };
        let Some(artifact) = self.task.artifacts.get_mut(slot.index) else {
            return;
        };
        if update.append {
            slot.bytes += bytes;
            slot.append(artifact, &update.artifact);
        } else {
            slot.bytes = bytes;
            slot.open_text = None;
            *artifact = update.artifact.clone();
        }
    }
}

impl Slot {
    fn append(&mut self, artifact: &mut Artifact, chunk: &Artifact) {
        for (index, part) in chunk.parts.iter().enumerate() {
            // Only a chunk's first part continues what is there: two texts that came together
            // were meant as two.
            let continues = index == 0 && part.is_plain_text();
            if continues && self.open(artifact) {
                if let Some(text) = &mut self.open_text {
                    text.push_str(part.escaped_text());
                }
            } else {
                artifact.parts.extend(self.closed());
                artifact.parts.push(part.clone());
            }
        }
        artifact.name = chunk.name.clone().or(artifact.name.take());
        artifact.description = chunk.description.clone().or(artifact.description.take());
        artifact.metadata = chunk.metadata.clone().or(artifact.metadata.take());
    }

    /// Makes the artifact's last part the open text, if it is plain text; says whether it is.
    fn open(&mut self, artifact: &mut Artifact) -> bool {
        if self.open_text.is_some() {
            return true;
        }
        match artifact.parts.pop_if(|last| last.is_plain_text()) {
            Some(last) => {
                self.open_text = Some(last.escaped_text().to_owned());
                true
            }
            None => false,
        }
    }

    fn closed(&mut self) -> Option<Part> {
        let text = self.open_text.take()?;
        Some(Part::text_of_escaped(&text))
    }

    fn close_into(&self, task: &mut Task) {
        if let (Some(text), Some(artifact)) = (&self.open_text, task.artifacts.get_mut(self.index))
        {
            artifact.parts.push(Part::text_of_escaped(text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TaskFold;
    use crate::a2a::{
        Artifact, ArtifactUpdate, Message, Role, StreamEvent, Task, TaskState, TaskStatus,
    };
    use crate::{Part, Timestamp};

    fn message(role: Role, text: &str) -> Message {
        Message::new(text, role, vec![Part::text(text)])
    }

    #[test]
    fn a_question_goes_into_the_history_before_its_answer() {
        for (state, expected) in [
            (TaskState::InputRequired, &["question", "answer"][..]),
            (TaskState::AuthRequired, &["question", "answer"]),
            (TaskState::Working, &["answer"]),
        ] {
            let mut status = TaskStatus::new(state, Timestamp::from_micros(0));
            status.message = Some(message(Role::Agent, "question"));
            let mut fold = TaskFold::new(Task::new("t".into(), "c".into(), status));
            fold.push_message(message(Role::User, "answer"));
            let texts =
                |history: &[Message]| history.iter().map(Message::query).collect::<Vec<_>>();
            assert_eq!(texts(fold.history()), expected, "{state}");
            let is_asked = fold.status().message.is_some();
            assert_eq!(is_asked, state == TaskState::Working, "{state}");
            assert_eq!(texts(&fold.into_task().history), expected, "{state}");
        }
    }

    #[test]
    fn an_artifact_is_there_from_its_first_update_on() {
        let status = TaskStatus::new(TaskState::Working, Timestamp::from_micros(0));
        let mut fold = TaskFold::new(Task::new("t".into(), "c".into(), status));
        assert!(!fold.has_artifact("a"));
        assert_eq!((fold.artifact_count(), fold.artifact_bytes("a")), (0, 0));
        let artifact = Artifact::new("a", vec![Part::text("text")]);
        let bytes = artifact.bytes();
        let update = ArtifactUpdate::new("t".into(), "c".into(), artifact);
        fold.apply(&StreamEvent::Artifact(update));
        assert!(fold.has_artifact("a") && !fold.has_artifact("b"));
        assert_eq!(fold.artifact_count(), 1);
        assert_eq!(fold.artifact_bytes("a"), bytes);
        assert_eq!(fold.artifact_bytes("b"), 0);
    }
}
