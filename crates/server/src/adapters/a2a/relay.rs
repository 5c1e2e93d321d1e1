//! What the remote agent says in one turn, folded, and what of it is shown on the way.

use std::sync::Arc;

use llamon_core::a2a::{Artifact, Message, StreamEvent, Task, TaskFold, TaskState, TaskStatus};
use llamon_core::{Part, Payload, Timestamp};

use crate::adapter::Response;
use crate::agent_error::AgentError;
use crate::answer::Answer;

/// A turn of the remote agent.
pub(super) struct Relay {
    /// Artifacts that its task had before the turn and that it has not touched since.
    before: Vec<String>,
    id: Option<Arc<str>>,
    fold: Option<TaskFold>,
    message: Option<Arc<Message>>,
    shown: Vec<Part>,
}

/// What an event adds to what is shown.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) status: Option<String>,
    pub(super) payload: Payload,
}

/// How the turn ended.
pub(super) enum Settled {
    Response(Response),
    Failed(Option<String>),
    Canceled,
}

impl Relay {
    pub(super) fn new(before: Vec<String>) -> Self {
        Self {
            before,
            id: None,
            fold: None,
            message: None,
            shown: Vec::new(),
        }
    }

    /// Takes in an event.
    pub(super) fn take(&mut self, event: &StreamEvent) -> Draft {
        match event {
            StreamEvent::Message(message) => {
                self.message = Some(Arc::clone(message));
                Draft::default()
            }
            StreamEvent::Task(task) => {
                self.id = Some(Arc::clone(&task.id));
                self.fold = Some(TaskFold::new(Task::clone(task)));
                // A task that is repeated has little that was not shown.
                if !self.shown.is_empty() {
                    return Draft::default();
                }
                let new = task
                    .artifacts
                    .iter()
                    .filter(|artifact| self.is_new(artifact));
                let parts = new.flat_map(|artifact| artifact.parts.iter().cloned());
                self.show(parts.collect())
            }
            StreamEvent::Artifact(update) => {
                let id = &update.artifact.artifact_id;
                self.before.retain(|before| **before != **id);
                let fold = self.fold(&update.task_id, &update.context_id);
                // What takes the place of something that was shown is shown at the end.
                let replaces = !update.append && fold.has_artifact(id);
                fold.apply(event);
                if replaces {
                    return Draft::default();
                }
                self.show(update.artifact.parts.clone())
            }
            StreamEvent::Status(update) => {
                self.fold(&update.task_id, &update.context_id).apply(event);
                let is_working = update.status.state == TaskState::Working;
                let said = update.status.message.as_ref().filter(|_| is_working);
                let text = said.map(Message::query).filter(|text| !text.is_empty());
                Draft {
                    status: text,
                    payload: Payload::new(),
                }
            }
        }
    }

    /// The remote task's id, when it is known.
    pub(super) fn id(&self) -> Option<Arc<str>> {
        self.id.clone()
    }

    /// How the turn ended, if it has.
    pub(super) fn settled(&self) -> Option<Settled> {
        if let Some(message) = &self.message {
            let answer = Answer::Message(message.payload());
            return Some(Settled::Response(answer.into()));
        }
        let fold = self.fold.as_ref()?;
        let status = fold.status();
        let said = || {
            let message = status.message.as_ref();
            message.map(Message::payload).unwrap_or_default()
        };
        Some(match status.state {
            TaskState::Submitted | TaskState::Working => return None,
            TaskState::Completed => Settled::Response(self.response(fold)),
            TaskState::InputRequired => Settled::Response(Answer::InputRequired(said()).into()),
            TaskState::AuthRequired => Settled::Response(Answer::AuthRequired(said()).into()),
            TaskState::Rejected => Settled::Response(Answer::Rejected(said()).into()),
            TaskState::Canceled => Settled::Canceled,
            TaskState::Failed => {
                let text = status.message.as_ref().map(Message::query);
                Settled::Failed(text.filter(|text| !text.is_empty()))
            }
        })
    }

    /// Artifacts that the remote task had before the turn.
    pub(super) fn before(&self) -> Vec<String> {
        self.before.clone()
    }

    /// All artifacts of the remote task.
    pub(super) fn all(&self) -> Vec<String> {
        let fold = self.fold.as_ref();
        let task = fold.map(TaskFold::snapshot);
        let artifacts = task.into_iter().flat_map(|task| task.artifacts);
        artifacts
            .map(|artifact| artifact.artifact_id.to_string())
            .collect()
    }

    /// The drafts, if they add up to the answer, or else the answer.
    fn response(&self, fold: &TaskFold) -> Response {
        let mut task = fold.snapshot();
        task.artifacts.retain(|artifact| self.is_new(artifact));
        let answer = task.payload();
        if is_same(&Payload::from(self.shown.clone()), &answer) {
            return Response::Keep;
        }
        Response::from(answer)
    }

    fn is_new(&self, artifact: &Artifact) -> bool {
        !self.before.iter().any(|id| **id == *artifact.artifact_id)
    }

    fn show(&mut self, parts: Vec<Part>) -> Draft {
        self.shown.extend(parts.iter().cloned());
        Draft {
            status: None,
            payload: Payload::from(parts),
        }
    }

    /// The fold; a stream begins with its task, unless somebody forgot.
    fn fold(&mut self, task_id: &Arc<str>, context_id: &Arc<str>) -> &mut TaskFold {
        self.id.get_or_insert_with(|| Arc::clone(task_id));
        self.fold.get_or_insert_with(|| {
            let status = TaskStatus::new(TaskState::Working, Timestamp::from_micros(0));
            TaskFold::new(Task::new(
                Arc::clone(task_id),
                Arc::clone(context_id),
                status,
            ))
        })
    }
}

impl Settled {
    /// What this server answers.
    ///
    /// # Errors
    /// When the remote agent has not answered.
    pub(super) fn into_response(self) -> Result<Response, AgentError> {
        match self {
            Self::Response(response) => Ok(response),
            Self::Failed(Some(reason)) => Err(AgentError::public(format!(
                "the remote agent failed: {reason}"
            ))),
            Self::Failed(None) => Err(AgentError::public(
                "the remote agent failed and did not say why",
            )),
            Self::Canceled => Err(AgentError::public("the remote agent's task was canceled")),
        }
    }

    /// Whether the remote task waits for another message.
    pub(super) fn is_question(&self) -> bool {
        matches!(
            self,
            Self::Response(Response::Answer(
                Answer::InputRequired(_) | Answer::AuthRequired(_)
            ))
        )
    }
}

/// Whether the two are the same response: equal text, data and files.
fn is_same(one: &Payload, other: &Payload) -> bool {
    one.text() == other.text() && one.data().eq(other.data()) && one.files().eq(other.files())
}
