use std::sync::Arc;

use llamon_core::Limits;
use llamon_core::a2a::{Message, StreamEvent, Task, TaskFold, TaskState, TaskStatus};

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

    /// Takes in an event.
    pub(crate) fn apply(&mut self, event: &StreamEvent, limits: &Limits) {
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
            self.bytes = apply(fold, event, self.bytes);
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

/// Applies the event; returns how many bytes the artifacts have then.
fn apply(fold: &mut TaskFold, event: &StreamEvent, bytes: usize) -> usize {
    match event {
        StreamEvent::Task(task) => {
            fold.apply(event);
            task.bytes()
        }
        StreamEvent::Artifact(update) => {
            let id = &update.artifact.artifact_id;
            let before = fold.artifact_bytes(id);
            fold.apply(event);
            bytes.saturating_sub(before) + fold.artifact_bytes(id)
        }
        StreamEvent::Status(_) | StreamEvent::Message(_) => {
            fold.apply(event);
            bytes
        }
    }
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
