use std::sync::Arc;

use llamon_core::Limits;
use llamon_core::a2a::{
    ArtifactUpdate, Message, StreamEvent, Task, TaskFold, TaskState, TaskStatus,
};

use crate::error::ClientError;
use crate::reply::Reply;

/// The events of a stream, folded to the answer that they make up.
pub(crate) struct Folding {
    task_id: Option<Arc<str>>,
    state: Option<TaskState>,
    bytes: usize,
    answer: Answer,
}

enum Answer {
    Nothing,
    Message(Arc<Message>),
    // Boxed: it is many times larger than the others.
    Task(Box<TaskFold>),
    /// Not kept, because it exceeds the limit that the text names. The events still are.
    TooLarge(String),
}

impl Folding {
    pub(crate) fn new(task_id: Option<Arc<str>>) -> Self {
        Self {
            task_id,
            state: None,
            bytes: 0,
            answer: Answer::Nothing,
        }
    }

    pub(crate) fn task_id(&self) -> Option<&Arc<str>> {
        self.task_id.as_ref()
    }

    /// Where the task stands, as far as an event has said it.
    pub(crate) fn state(&self) -> Option<TaskState> {
        self.state
    }

    pub(crate) fn is_message(&self) -> bool {
        matches!(self.answer, Answer::Message(_))
    }

    /// The events that lead from what was folded to `now`; `None` where that is not known, since
    /// the answer was too large to be kept.
    pub(crate) fn events_to(&self, now: &Arc<Task>) -> Option<Vec<StreamEvent>> {
        match &self.answer {
            Answer::Task(fold) => Some(fold.events_to(now)),
            Answer::Nothing => Some(vec![StreamEvent::Task(Arc::clone(now))]),
            Answer::Message(_) | Answer::TooLarge(_) => None,
        }
    }

    /// Whether the answer could be continued after a break.
    pub(crate) fn is_resumable(&self) -> bool {
        matches!(self.answer, Answer::Task(_) | Answer::Nothing)
    }

    /// Takes in an event that was read from a text of `source_len` bytes.
    pub(crate) fn apply(&mut self, event: &StreamEvent, source_len: usize, limits: &Limits) {
        self.state = event.state().or(self.state);
        let (task_id, context_id) = match event {
            StreamEvent::Message(message) => {
                if matches!(self.answer, Answer::Nothing) {
                    self.answer = Answer::Message(Arc::clone(message));
                }
                return;
            }
            StreamEvent::Task(task) => (&task.id, &task.context_id),
            StreamEvent::Status(update) => (&update.task_id, &update.context_id),
            StreamEvent::Artifact(update) => (&update.task_id, &update.context_id),
        };
        self.task_id.get_or_insert_with(|| Arc::clone(task_id));
        if matches!(self.answer, Answer::TooLarge(_)) {
            return;
        }
        if !matches!(self.answer, Answer::Task(_)) {
            // A stream begins with its task (section 3.1.2), unless somebody forgot.
            let task = Task::new(Arc::clone(task_id), Arc::clone(context_id), working());
            self.answer = Answer::Task(Box::new(TaskFold::new(task)));
        }
        if let Answer::Task(fold) = &mut self.answer {
            self.bytes = apply(fold, event, source_len, self.bytes);
            if let Some(limit) = exceeded(fold, self.bytes, limits) {
                self.answer = Answer::TooLarge(limit);
            }
        }
    }

    /// The answer.
    pub(crate) fn into_reply(self) -> Result<Reply, ClientError> {
        match self.answer {
            Answer::Task(fold) => Ok(Reply::of_task(fold.into_task())),
            Answer::Message(message) => Ok(Reply::of_message(message)),
            Answer::TooLarge(limit) => Err(ClientError::invalid_response(format!(
                "the stream's answer {limit}; raise that limit, or take the events one by one"
            ))
            .with_task(self.task_id)),
            Answer::Nothing => Err(ClientError::interrupted_stream(
                "the stream ended before its first event",
            )
            .with_task(self.task_id)),
        }
    }
}

/// Applies the event; returns how many bytes the fold holds then, of which `bytes` were there.
fn apply(fold: &mut TaskFold, event: &StreamEvent, source_len: usize, bytes: usize) -> usize {
    match event {
        StreamEvent::Task(task) => {
            fold.apply(event);
            task.bytes()
        }
        StreamEvent::Artifact(update) => {
            let mut update = update.clone();
            // The parts of a stream add up, so they must not keep the rest of their events.
            for part in &mut update.artifact.parts {
                *part = part.clone().detached_from(source_len);
            }
            let about = described(&update);
            let id = Arc::clone(&update.artifact.artifact_id);
            let before = fold.artifact_bytes(&id);
            fold.apply(&StreamEvent::Artifact(update));
            bytes.saturating_sub(before) + fold.artifact_bytes(&id) + about
        }
        StreamEvent::Status(_) | StreamEvent::Message(_) => {
            fold.apply(event);
            bytes
        }
    }
}

/// Bytes that an update has besides its parts and that the fold may keep.
fn described(update: &ArtifactUpdate) -> usize {
    let artifact = &update.artifact;
    let len = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    artifact.name.as_ref().map_or(0, |name| name.len())
        + artifact.artifact_id.len()
        + len(&artifact.description)
        + len(&artifact.metadata)
        + artifact.extensions.iter().map(String::len).sum::<usize>()
}

fn exceeded(fold: &TaskFold, bytes: usize, limits: &Limits) -> Option<String> {
    if bytes > limits.max_body_bytes {
        return Some(format!(
            "is larger than {} bytes, four times the limit max_body_bytes",
            limits.max_body_bytes
        ));
    }
    if fold.artifact_count() > limits.max_artifacts {
        return Some(format!(
            "has more artifacts than the limit max_artifacts, which is {}",
            limits.max_artifacts
        ));
    }
    None
}

fn working() -> TaskStatus {
    let mut status = TaskStatus::new(TaskState::Working, llamon_core::Timestamp::from_micros(0));
    status.timestamp = None;
    status
}

#[cfg(test)]
mod tests {
    use bytestring::ByteString;
    use llamon_core::Limits;
    use llamon_core::a2a::StreamEvent;
    use llamon_core::json::Reader;

    use super::Folding;

    fn apply(folding: &mut Folding, text: &ByteString, limits: &Limits) {
        let mut reader = Reader::of_str(text, 100);
        let event = StreamEvent::read(&mut reader, text, limits).unwrap();
        folding.apply(&event, text.len(), limits);
    }

    fn update(id: &str, more: &str) -> ByteString {
        format!(
            r#"{{"artifactUpdate":{{"taskId":"t","artifact":{{"artifactId":"{id}","parts":[{{"data":1}}]{more}}}}}}}"#
        )
        .into()
    }

    #[test]
    fn a_small_part_keeps_no_large_event() {
        let limits = Limits::default();
        let padding = format!(r#","x":"{}""#, "x".repeat(10_000));
        let text = update("a", &padding);
        let mut folding = Folding::new(None);
        apply(&mut folding, &text, &limits);
        let reply = folding.into_reply().unwrap();
        let payload = reply.payload();
        let [part] = payload.parts() else {
            panic!("{payload:?}");
        };
        assert_eq!(part.json(), r#"{"data":1}"#);
        let event = text.as_bytes().as_ptr_range();
        assert!(!event.contains(&part.json().as_ptr()));
    }

    #[test]
    fn what_is_kept_is_bounded_whatever_it_is() {
        let limits = Limits::default()
            .with_max_body_bytes(10_000)
            .with_max_artifacts(3);
        let metadata = format!(r#","metadata":{{"x":"{}"}}"#, "x".repeat(6_000));
        let cases = [
            (["a", "a", "a", "a"], "", None),
            (["a", "b", "c", "d"], "", Some("max_artifacts")),
            (["a", "b", "c", "c"], &*metadata, Some("max_body_bytes")),
        ];
        for (ids, more, limit) in cases {
            let mut folding = Folding::new(None);
            for id in ids {
                apply(&mut folding, &update(id, more), &limits);
            }
            let error = folding.into_reply().err().map(|error| error.to_string());
            match limit {
                None => assert_eq!(error, None),
                Some(limit) => assert!(error.unwrap().contains(limit)),
            }
        }
    }
}
