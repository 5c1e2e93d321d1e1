use std::sync::Arc;
use std::time::Duration;

use llamon_core::a2a::{Message, Role, StatusUpdate, StreamEvent, Task, TaskState, TaskStatus};
use llamon_core::contracts::CompiledContracts;
use llamon_core::{Limits, Part, Payload, UpstreamPartsPolicy};

use crate::backend::{Backend, Commit, Durability, Fence, Generation, StoreError, Worker};
use crate::clock::Clock;
use crate::composer::Composition;
use crate::scope::Scope;

/// What is the same for all turns of a server.
pub(crate) struct Shared {
    /// As the card has it.
    pub(crate) agent_name: Arc<str>,
    pub(crate) backend: Arc<dyn Backend>,
    /// As what this server is known to the backend.
    pub(crate) worker: Arc<Worker>,
    /// [`Backend::durability`].
    pub(crate) durability: Durability,
    /// Whether a turn that cannot end here is run again elsewhere or later.
    pub(crate) runs_again: bool,
    pub(crate) clock: Clock,
    pub(crate) limits: Limits,
    pub(crate) policy: UpstreamPartsPolicy,
    pub(crate) served: Served,
    /// How long a question waits for its answer.
    pub(crate) question_expiry: Option<Duration>,
    pub(crate) contracts: Option<CompiledContracts>,
    /// The media types that messages may have, where that is enforced.
    pub(crate) input_modes: Option<Vec<String>>,
    /// URIs of the extensions on the card.
    pub(crate) extensions: Vec<String>,
    /// Who stamps its parts, if the server does.
    pub(crate) producer: Option<Producer>,
}

/// As what an agent is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    /// A function, a struct or a graph.
    Agent,
    /// A [`crate::RuntimeAdapter`], which owns its response.
    Adapter,
    /// Any of them with people in the loop.
    Hitl,
}

impl Shared {
    /// How answers are composed.
    pub(crate) fn composition(&self) -> Composition<'_> {
        Composition {
            policy: self.policy,
            served: self.served,
            limits: &self.limits,
        }
    }

    /// The event of a task's new status, as of now.
    pub(crate) fn status_event(
        &self,
        task_id: &Arc<str>,
        context_id: &Arc<str>,
        state: TaskState,
        message: Option<Payload>,
    ) -> StreamEvent {
        let mut status = TaskStatus::new(state, self.clock.now());
        status.message =
            message.map(|payload| agent_message(task_id, context_id, payload.into_parts()));
        let (task_id, context_id) = (Arc::clone(task_id), Arc::clone(context_id));
        StreamEvent::Status(StatusUpdate::new(task_id, context_id, status))
    }

    /// Ends a task in the name of the server, in this state and for this reason.
    pub(crate) async fn end_task(
        &self,
        scope: &Scope,
        task: &Task,
        expect: Generation,
        fence: Option<Fence>,
        state: TaskState,
        reason: Option<String>,
    ) -> Result<(), StoreError> {
        let message = reason.map(|reason| Payload::new().with_text(reason));
        let event = self.status_event(&task.id, &task.context_id, state, message);
        let commit = Commit::events(expect, fence, vec![event]);
        self.backend.commit(scope, &task.id, commit).await.map(drop)
    }
}

/// What the agent says in a task.
pub(crate) fn agent_message(
    task_id: &Arc<str>,
    context_id: &Arc<str>,
    parts: Vec<Part>,
) -> Message {
    let mut message = Message::new(uuid::Uuid::new_v4().to_string(), Role::Agent, parts);
    message.task_id = Some(Arc::clone(task_id));
    message.context_id = Some(Arc::clone(context_id));
    message
}

/// The agent as its stamps name it.
pub(crate) struct Producer {
    pub(crate) name: Arc<str>,
    pub(crate) skill: Option<Arc<str>>,
}
