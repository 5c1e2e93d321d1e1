use std::sync::Arc;

use llamon_core::a2a::{Message, SendResult, Task, TaskState};
use llamon_core::{Part, Payload};

/// What an agent answered: a task, or a direct message without one.
#[derive(Clone, Debug)]
pub struct Reply {
    result: SendResult,
    extensions: Vec<String>,
}

impl Reply {
    /// The answer's parts: those of the task's artifacts, or of the direct message.
    ///
    /// Texts of one artifact are one text; where several artifacts have text, a newline stands
    /// between theirs. Nothing of the task's status or history is in it.
    pub fn payload(&self) -> Payload {
        match &self.result {
            SendResult::Task(task) => task.payload(),
            SendResult::Message(message) => message.payload(),
        }
    }

    /// The answer's text; see [`Reply::payload`].
    pub fn text(&self) -> String {
        self.payload().text().into_owned()
    }

    /// The JSON texts of the answer's data parts, token for token as the agent sent them.
    pub fn data(&self) -> Vec<String> {
        self.payload().data().map(str::to_owned).collect()
    }

    /// The answer's file parts.
    pub fn files(&self) -> Vec<Part> {
        self.payload().files().cloned().collect()
    }

    /// The task; `None` for a direct message.
    pub fn task(&self) -> Option<&Task> {
        match &self.result {
            SendResult::Task(task) => Some(task),
            SendResult::Message(_) => None,
        }
    }

    /// The direct message; `None` for a task.
    pub fn message(&self) -> Option<&Message> {
        match &self.result {
            SendResult::Task(_) => None,
            SendResult::Message(message) => Some(message),
        }
    }

    /// Where the task stands; `None` for a direct message.
    pub fn state(&self) -> Option<TaskState> {
        self.task().map(|task| task.status.state)
    }

    /// What the agent says about where the task stands: a question, why it failed. The texts of
    /// the status message, joined by one newline; `None` where there is no text.
    pub fn status_text(&self) -> Option<String> {
        let message = self.task()?.status.message.as_ref()?;
        Some(message.query()).filter(|text| !text.is_empty())
    }

    /// The conversation, to go on with [`Outgoing::in_context`](crate::Outgoing::in_context).
    pub fn context_id(&self) -> Option<&str> {
        let id = match &self.result {
            SendResult::Task(task) => Some(&*task.context_id),
            SendResult::Message(message) => message.context_id.as_deref(),
        };
        id.filter(|id| !id.is_empty())
    }

    /// URIs of the extensions that the agent says it used for this answer, of those that were
    /// asked for (A2A section 4.6).
    pub fn extensions(&self) -> &[String] {
        &self.extensions
    }

    pub(crate) fn with_extensions(mut self, extensions: Vec<String>) -> Self {
        self.extensions = extensions;
        self
    }

    pub(crate) fn of_task(task: Task) -> Self {
        Self::from(SendResult::Task(Arc::new(task)))
    }

    pub(crate) fn of_message(message: Arc<Message>) -> Self {
        Self::from(SendResult::Message(message))
    }
}

impl From<SendResult> for Reply {
    fn from(result: SendResult) -> Self {
        Self {
            result,
            extensions: Vec::new(),
        }
    }
}
