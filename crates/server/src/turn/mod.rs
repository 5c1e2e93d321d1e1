//! [`Turn`]: what an agent's author holds.

mod artifact;
mod ask;
mod begin;
mod delegation;
#[cfg(feature = "graph")]
mod for_graph;
mod memory;
mod output;
mod skill;
mod untrusted;

use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError};

use llamon_client::trace::TraceContext;
use llamon_core::a2a::{Artifact, ArtifactUpdate, Message, Role, StreamEvent, Task, TaskState};
use llamon_core::contracts::{self, InputMiss, OnMissing, SelectedInputs};
use llamon_core::delegation::Delegation;
use llamon_core::provenance::Stamp;
use llamon_core::{IntoPayload, LimitExceeded, Part, Payload, Upstream};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::agent_error::AgentError;
use crate::answer::Answer;
use crate::backend::{Position, ReadFrom, StoreError, Worker};
use crate::composer::{Chunk, check_artifact, checked_bytes};
use crate::hitl::Conversation;
use crate::shared::{Served, Shared, agent_message};

pub use artifact::ArtifactWriter;
use ask::Asking;
pub(crate) use begin::{
    Begin, DirectMessage, Leftover, Negotiated, Working, join_answers, response_id, turn_number,
    work,
};
use delegation::HandingOn;
pub(crate) use delegation::{arrived, remote_failed, too_deep};
use output::Output;

/// What an agent answers: the message, what came with it, and a way to show output before the
/// answer is complete.
///
/// Cloning is cheap, and all clones are the same turn. When the turn has ended, by its answer or
/// by a cancel, every call that would add something fails.
#[derive(Clone)]
pub struct Turn(Arc<Inner>);

struct Inner {
    begin: Begin,
    query: String,
    upstream: Upstream,
    /// The id of the turn's artifact.
    response_id: Arc<str>,
    shared: Arc<Shared>,
    /// Fires when the task is canceled or the server stops.
    cancel: CancellationToken,
    /// Fires when the server stops.
    stop: CancellationToken,
    inputs: OnceLock<SelectedInputs>,
    output: Mutex<Output>,
    asking: Option<Asking>,
    handing_on: HandingOn,
    /// URIs of the extensions that the agent's output uses.
    used: std::sync::Mutex<Vec<String>>,
}

impl Turn {
    pub(crate) fn new(
        mut begin: Begin,
        shared: Arc<Shared>,
        cancel: CancellationToken,
        stop: CancellationToken,
    ) -> Self {
        let asking = (shared.served == Served::Hitl).then(|| {
            let mut conversation = Conversation::read(&begin.history, &begin.message);
            begin.message = conversation.message.clone();
            begin.history = std::mem::take(&mut conversation.before);
            Asking::new(conversation)
        });
        // It was read before the message was accepted.
        let limits = &shared.limits;
        let arrived = delegation::arrived(begin.metadata.as_deref(), limits);
        let nothing = || Delegation::none(limits.max_delegation_depth, limits.max_calls_per_turn);
        let handing_on = HandingOn::new(arrived.unwrap_or_else(|_| nothing()));
        let mut output = Output::new(&begin);
        output.muted = asking.as_ref().is_some_and(Asking::has_answers);
        Self(Arc::new(Inner {
            query: begin.message.query(),
            upstream: Upstream::of(begin.message.parts.iter()),
            response_id: response_id(begin.number),
            begin,
            shared,
            cancel,
            stop,
            inputs: OnceLock::new(),
            output: Mutex::new(output),
            asking,
            handing_on,
            used: std::sync::Mutex::default(),
        }))
    }

    /// The text parts of the message, joined by one newline.
    pub fn query(&self) -> &str {
        &self.0.query
    }

    /// The data and file parts of the message, raw and in arrival order.
    pub fn upstream(&self) -> &Upstream {
        &self.0.upstream
    }

    /// What the server's input contracts selected of the message; empty without contracts. In a
    /// later turn of a task, an input that the message does not have is looked for in the messages
    /// before it.
    pub fn inputs(&self) -> &SelectedInputs {
        self.0.inputs.get_or_init(SelectedInputs::default)
    }

    /// The message that this turn answers. After a question that the input contracts asked, its
    /// parts are those of the asking and the answering message, in arrival order.
    pub fn message(&self) -> &Message {
        &self.0.begin.message
    }

    /// JSON text of the metadata that was sent beside the message, an object. The message's own
    /// is in [`Turn::message`].
    pub fn request_metadata(&self) -> Option<&str> {
        self.0.begin.metadata.as_deref()
    }

    /// URIs of the A2A extensions that are active in this turn: the client asked for them and the
    /// agent's card has them (section 4.6).
    pub fn extensions(&self) -> impl Iterator<Item = &str> {
        let active = self.0.begin.negotiated.extensions.iter();
        active.map(String::as_str)
    }

    /// Whether the A2A extension of this URI is active in this turn.
    pub fn has_extension(&self, uri: &str) -> bool {
        self.extensions().any(|active| active == uri)
    }

    /// Names an extension on the artifacts and messages that the turn sends from now on (field
    /// `extensions`, section 4.6.2). To be called before the first output that uses it.
    ///
    /// # Errors
    /// When the agent's card does not have the extension: a client could not know it.
    pub fn use_extension(&self, uri: &str) -> Result<(), AgentError> {
        if !self.0.shared.extensions.iter().any(|known| known == uri) {
            return Err(AgentError::public(format!(
                "the extension {uri:?} is not on the agent's card; declare it with \
                 ServerBuilder::extension"
            )));
        }
        let mut used = self.0.used.lock().unwrap_or_else(PoisonError::into_inner);
        if !used.iter().any(|known| known == uri) {
            used.push(uri.to_owned());
        }
        Ok(())
    }

    /// The extensions that output names.
    fn used(&self) -> Vec<String> {
        let used = self.0.used.lock();
        used.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The media types that the client says it takes; empty is all. It is a wish: an answer in
    /// another one is sent all the same.
    pub fn accepted_output_modes(&self) -> &[String] {
        &self.0.begin.negotiated.output_modes
    }

    /// The tenant that the caller belongs to or, on a server without authentication, named.
    pub fn tenant(&self) -> Option<&str> {
        self.0.begin.scope.tenant()
    }

    /// Who the caller is, as the server's authenticator says; none on a server without one.
    pub fn principal(&self) -> Option<&str> {
        self.0.begin.scope.principal()
    }

    /// The trace that the caller works in (W3C Trace Context), also when another process had begun
    /// the turn. Calls that a [`Client`](llamon_client::Client) makes where the agent runs carry
    /// it on by themselves; a task that the agent spawns does with
    /// [`within`](llamon_client::trace::within).
    pub fn trace(&self) -> Option<&TraceContext> {
        self.0.begin.trace.as_ref()
    }

    /// What was said in this task before the message, oldest first.
    pub fn history(&self) -> &[Message] {
        &self.0.begin.history
    }

    /// The server's id of the task.
    pub fn task_id(&self) -> &str {
        &self.0.begin.task_id
    }

    /// The id of the conversation that the task belongs to.
    pub fn context_id(&self) -> &str {
        &self.0.begin.context_id
    }

    /// Which turn of its task this is, from 1.
    pub fn number(&self) -> usize {
        self.0.begin.number
    }

    /// How often this turn was begun, from 1. It is more than 1 when the process that ran it
    /// before has died or was stopped, on a backend that survives that. What the attempts before
    /// have shown is in [`Turn::stored`]; the first output of this one replaces it.
    pub fn attempt(&self) -> u32 {
        self.0.begin.attempt
    }

    /// The task as it is stored: the fold of its log, with what earlier attempts have shown.
    ///
    /// Cancel-safe.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn stored(&self) -> Result<Arc<Task>, AgentError> {
        let begin = &self.0.begin;
        let backend = &self.0.shared.backend;
        // A task that is hidden from others is still followed by its own turn.
        let from = ReadFrom::After(Position(0));
        let (task, _) = backend.follow(&begin.scope, &begin.task_id, from).await?;
        Ok(task)
    }

    /// Adds to the answer and shows it to streaming clients at once. A text continues the text
    /// before it. An empty payload does nothing.
    ///
    /// Cancel-safe: when the future is dropped, the payload was added whole or not at all.
    ///
    /// # Errors
    /// When the turn has ended, when a limit is exceeded (the task then ends FAILED, naming it),
    /// and when a value cannot be JSON.
    pub async fn emit(&self, payload: impl IntoPayload) -> Result<(), AgentError> {
        let payload = payload.into_payload()?;
        if payload.is_empty() {
            return Ok(());
        }
        // A burst without a pause must not keep the readers of its own stream from running.
        tokio::task::coop::consume_budget().await;
        let mut output = self.0.output.lock().await;
        output.check_open()?;
        if output.muted {
            return Ok(());
        }
        output.check_artifact_count(&self.0.shared.limits)?;
        let payload = self.stamp(payload, &self.0.response_id);
        let chunk = output.current.emit(payload, &self.0.shared.limits);
        let chunk = output.note(chunk)?;
        let event = self.response(chunk);
        self.write(output, event).await
    }

    /// Says what the agent is doing. It is part of the status, not of the answer.
    ///
    /// Cancel-safe, as [`Turn::emit`].
    ///
    /// # Errors
    /// When the turn has ended.
    pub async fn status(&self, text: impl AsRef<str>) -> Result<(), AgentError> {
        tokio::task::coop::consume_budget().await;
        let payload = Payload::new().with_text(text);
        let mut output = self.0.output.lock().await;
        output.check_open()?;
        let bytes = checked_bytes(payload.parts(), &self.0.shared.limits);
        output.note(bytes)?;
        if output.muted {
            return Ok(());
        }
        output.working = Working::Said;
        let event = self.status_event(TaskState::Working, Some(payload));
        self.write(output, event).await
    }

    /// Says something with the status that completes the task. It is part of the status, not of the
    /// answer, and gone if the turn ends in another way. Said again, it replaces what was said
    /// before.
    ///
    /// Cancel-safe.
    ///
    /// # Errors
    /// When the turn has ended, and when the text exceeds a limit.
    pub async fn closing_status(&self, text: impl AsRef<str>) -> Result<(), AgentError> {
        let payload = Payload::new().with_text(text);
        let mut output = self.0.output.lock().await;
        output.check_open()?;
        let bytes = checked_bytes(payload.parts(), &self.0.shared.limits);
        output.note(bytes)?;
        output.closing = Some(payload);
        Ok(())
    }

    /// Begins an artifact of its own beside the answer. It is not touched by the policy, and it
    /// exists once something is emitted to it.
    pub fn artifact(&self, name: impl Into<Arc<str>>) -> ArtifactWriter {
        ArtifactWriter {
            turn: self.clone(),
            name: name.into(),
            state: Mutex::default(),
        }
    }

    /// Resolves when the task is canceled or the server stops. The agent then has the server's
    /// grace to finish; after it the agent's future is dropped.
    ///
    /// Cancel-safe.
    pub async fn cancelled(&self) {
        self.0.cancel.cancelled().await;
    }

    /// Whether the task is canceled or the server stops.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancel.is_cancelled()
    }

    /// Whether the server stops. On a durable backend the turn is then run again later.
    pub fn is_stopping(&self) -> bool {
        self.0.stop.is_cancelled()
    }

    // === for the engine ===

    /// What the agent has emitted was a draft: the answer takes its place.
    pub(crate) async fn discard_drafts(&self) {
        self.0.output.lock().await.current.discard();
    }

    /// Says WORKING, unless that waits for the first output.
    pub(crate) async fn begin(&self) -> Result<(), StoreError> {
        let mut output = self.0.output.lock().await;
        if output.working == Working::AtTheStart {
            output.working = Working::Said;
            let event = self.status_event(TaskState::Working, None);
            return self.commit(&mut output, vec![event]).await;
        }
        Ok(())
    }

    /// Selects the inputs, before the agent runs.
    pub(crate) fn select(&self) -> Result<(), InputMiss> {
        if let Some(contracts) = &self.0.shared.contracts {
            let begin = &self.0.begin;
            // The answer to a question of the agent's own need not repeat what came before.
            let said = begin.history.iter().filter(|said| said.role == Role::User);
            let earlier: Vec<Part> = said.flat_map(|said| said.parts.iter().cloned()).collect();
            let selected = contracts.select_after(&begin.message.parts, &earlier)?;
            // Nobody has asked for the inputs yet: the agent has not run.
            let _ = self.0.inputs.set(selected);
        }
        Ok(())
    }

    /// Ends the turn because required inputs are missing: the task is rejected, or waits.
    pub(crate) async fn miss(&self, miss: &InputMiss) -> Result<(), Unanswered> {
        let state = match miss.on_missing() {
            OnMissing::Ask => TaskState::InputRequired,
            OnMissing::Reject => TaskState::Rejected,
        };
        let payload = miss
            .payload()
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        let mut output = self.0.output.lock().await;
        let mut event = self.status_event(state, Some(payload));
        if let StreamEvent::Status(update) = &mut event
            && let Some(message) = &mut update.status.message
        {
            message.metadata = Some(contract_question());
        }
        Ok(self.end(&mut output, vec![event]).await?)
    }

    /// Ends the turn with the agent's answer.
    pub(crate) async fn answer(&self, answer: Answer) -> Result<(), Unanswered> {
        let mut output = self.0.output.lock().await;
        if let Some(exceeded) = output.exceeded.take() {
            return Err(Unanswered::Limit(exceeded));
        }
        if let Some(reason) = output.refused {
            return Err(Unanswered::Message(reason));
        }
        let (state, payload) = match answer {
            Answer::Completed(payload) => return self.complete(&mut output, payload).await,
            Answer::Message(payload) => return self.message_answer(&mut output, payload).await,
            Answer::InputRequired(payload) => (TaskState::InputRequired, payload),
            Answer::AuthRequired(payload) => (TaskState::AuthRequired, payload),
            Answer::Rejected(payload) => (TaskState::Rejected, payload),
        };
        let bytes = checked_bytes(payload.parts(), &self.0.shared.limits)?;
        check_artifact(bytes, &self.0.shared.limits)?;
        let message = (!payload.is_empty()).then_some(payload);
        let event = self.status_event(state, message);
        Ok(self.end(&mut output, vec![event]).await?)
    }

    /// Ends the turn without an answer: FAILED or CANCELED, keeping what was emitted.
    pub(crate) async fn end_without_answer(
        &self,
        state: TaskState,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut output = self.0.output.lock().await;
        let message = reason.map(|reason| Payload::new().with_text(reason));
        let event = self.status_event(state, message);
        output.ended = true;
        self.commit(&mut output, vec![event]).await
    }

    /// Gives the turn back to the store, to be run again. Nothing can be added to it any more.
    pub(crate) async fn leave(&self, worker: &Worker) -> Result<(), StoreError> {
        self.0.output.lock().await.ended = true;
        let begin = &self.0.begin;
        if let Some(left) = &begin.left {
            left.cancel();
        }
        let backend = &self.0.shared.backend;
        backend.release(worker, &begin.task_id, begin.fence).await
    }

    /// Whether the store did not take what the agent had shown.
    pub(crate) async fn lost_output(&self) -> bool {
        self.0.output.lock().await.store_failed
    }

    async fn complete(&self, output: &mut Output, payload: Payload) -> Result<(), Unanswered> {
        let payload = self.stamp(payload, &self.0.response_id);
        let current = std::mem::take(&mut output.current);
        let emitted = current.has_emitted();
        let shared = &self.0.shared;
        let chunk = current.complete(payload, &self.0.upstream, &shared.composition())?;
        let mut events = Vec::with_capacity(2);
        if let Some(chunk) = chunk {
            if !emitted {
                output.check_artifact_room(&shared.limits)?;
            }
            events.push(self.response(chunk));
        } else if !emitted {
            events.extend(self.without_leftover());
        }
        events.push(self.status_event(TaskState::Completed, output.closing.take()));
        Ok(self.end(output, events).await?)
    }

    async fn message_answer(
        &self,
        output: &mut Output,
        payload: Payload,
    ) -> Result<(), Unanswered> {
        if self.0.begin.direct_message == DirectMessage::TooLate {
            return self.complete(output, payload).await;
        }
        if output.current.has_emitted() || output.named > 0 {
            return Err(Unanswered::Message(
                "the agent answered with a direct message after it had emitted output",
            ));
        }
        let payload = self.stamp(payload, &self.0.response_id);
        let current = std::mem::take(&mut output.current);
        let shared = &self.0.shared;
        let chunk = current.complete(payload, &self.0.upstream, &shared.composition())?;
        let Some(chunk) = chunk else {
            return Err(Unanswered::Message(
                "the agent answered with a direct message that has no parts",
            ));
        };
        let mut message = self.agent_message(chunk.parts);
        // There is no task any more that it could belong to.
        message.task_id = None;
        let event = StreamEvent::Message(Arc::new(message));
        Ok(self.end(output, vec![event]).await?)
    }

    /// What takes the place of an answer that a dead attempt had begun and this one does not give.
    fn without_leftover(&self) -> Option<StreamEvent> {
        (self.0.begin.leftover == Leftover::Answer).then(|| {
            self.response(Chunk {
                parts: vec![Part::text("")],
                append: false,
                last: true,
            })
        })
    }

    /// The payload with the server's stamp on its own data and files, if it stamps.
    fn stamp(&self, payload: Payload, artifact: &str) -> Payload {
        let shared = &self.0.shared;
        // The parts of an adapter or of a turn with people in the loop are sent as they are.
        let (Some(producer), Served::Agent) = (&shared.producer, shared.served) else {
            return payload;
        };
        let stamp = Stamp::new(
            &*producer.name,
            producer.skill.as_deref().map(str::to_owned),
            &*self.0.begin.task_id,
            artifact,
            Stamp::next_hop(&self.0.upstream),
        );
        let parts = payload.into_parts().into_iter();
        Payload::from(parts.map(|part| stamp.put_on(part)).collect::<Vec<_>>())
    }

    fn response(&self, chunk: Chunk) -> StreamEvent {
        let id = Arc::clone(&self.0.response_id);
        let mut update = ArtifactUpdate::new(
            Arc::clone(&self.0.begin.task_id),
            Arc::clone(&self.0.begin.context_id),
            self.marked(Artifact::new(id, chunk.parts)),
        );
        update.append = chunk.append;
        update.last_chunk = chunk.last;
        StreamEvent::Artifact(update)
    }

    fn status_event(&self, state: TaskState, message: Option<Payload>) -> StreamEvent {
        let begin = &self.0.begin;
        let shared = &self.0.shared;
        let mut event = shared.status_event(&begin.task_id, &begin.context_id, state, message);
        if let StreamEvent::Status(update) = &mut event
            && let Some(message) = &mut update.status.message
        {
            message.extensions = self.used();
        }
        event
    }

    fn agent_message(&self, parts: Vec<Part>) -> Message {
        let begin = &self.0.begin;
        let mut message = agent_message(&begin.task_id, &begin.context_id, parts);
        message.extensions = self.used();
        message
    }

    /// The artifact with the extensions that it uses.
    fn marked(&self, mut artifact: Artifact) -> Artifact {
        artifact.extensions = self.used();
        artifact
    }
}

/// Metadata of a message in which the server, not the agent, asks for inputs.
fn contract_question() -> String {
    format!(
        "{{\"{}\":{{\"missingInputs\":true}}}}",
        contracts::EXTENSION_URI
    )
}

/// Whether the server asked this because of its input contracts.
pub(crate) fn is_contract_question(message: &Message) -> bool {
    message.role == Role::Agent && message.metadata.as_deref() == Some(&contract_question())
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn")
            .field("task_id", &self.0.begin.task_id)
            .field("number", &self.0.begin.number)
            .finish_non_exhaustive()
    }
}

/// Why an answer could not end its turn.
#[derive(Debug)]
pub(crate) enum Unanswered {
    Limit(LimitExceeded),
    Message(&'static str),
    Store(StoreError),
}

impl From<LimitExceeded> for Unanswered {
    fn from(exceeded: LimitExceeded) -> Self {
        Self::Limit(exceeded)
    }
}

impl From<StoreError> for Unanswered {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
