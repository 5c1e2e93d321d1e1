use std::fmt;
use std::sync::{Arc, OnceLock};

use llamon_core::a2a::{
    Artifact, ArtifactUpdate, Message, Role, StatusUpdate, StreamEvent, TaskState, TaskStatus,
};
use llamon_core::contracts::{self, CompiledContracts, InputMiss, OnMissing, SelectedInputs};
use llamon_core::provenance::Stamp;
use llamon_core::{
    IntoPayload, LimitExceeded, Limits, Part, Payload, Upstream, UpstreamPartsPolicy,
};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::agent_error::AgentError;
use crate::answer::Answer;
use crate::backend::{Backend, Commit, Generation, StoreError};
use crate::clock::Clock;
use crate::composer::{Chunk, Current, check_artifact, checked_bytes};
use crate::scope::Scope;

/// What an agent answers: the message, what came with it, and a way to show output before the
/// answer is complete.
///
/// Cloning is cheap, and all clones are the same turn. When the turn has ended, by its answer or
/// by a cancel, every call that would add something fails.
#[derive(Clone)]
pub struct Turn(Arc<Inner>);

/// What a turn begins with.
pub(crate) struct Begin {
    pub(crate) scope: Scope,
    pub(crate) task_id: Arc<str>,
    pub(crate) context_id: Arc<str>,
    pub(crate) metadata: Option<String>,
    pub(crate) message: Message,
    pub(crate) history: Vec<Message>,
    pub(crate) number: usize,
    pub(crate) artifacts: usize,
    pub(crate) generation: Generation,
    /// Whether the sender can still be answered with a message instead of the task.
    pub(crate) direct_message: DirectMessage,
    pub(crate) working: Working,
}

/// When WORKING is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Working {
    Said,
    AtTheStart,
    /// In one commit with the first output, which makes the task visible.
    WithFirstOutput,
}

/// Whether a turn can be answered with a message instead of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DirectMessage {
    Possible,
    /// The sender has seen the task.
    TooLate,
}

/// What is the same for all turns of a server.
pub(crate) struct Shared {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) clock: Clock,
    pub(crate) limits: Limits,
    pub(crate) policy: UpstreamPartsPolicy,
    pub(crate) contracts: Option<CompiledContracts>,
    /// Who stamps its parts, if the server does.
    pub(crate) producer: Option<Producer>,
}

/// The agent as its stamps name it.
pub(crate) struct Producer {
    pub(crate) name: Arc<str>,
    pub(crate) skill: Option<Arc<str>>,
}

struct Inner {
    begin: Begin,
    query: String,
    upstream: Upstream,
    /// The id of the turn's artifact.
    response_id: Arc<str>,
    shared: Arc<Shared>,
    cancel: CancellationToken,
    inputs: OnceLock<SelectedInputs>,
    output: Mutex<Output>,
}

/// What has been written of the turn; one writer at a time.
struct Output {
    generation: Generation,
    working: Working,
    current: Current,
    artifacts: usize,
    named: usize,
    /// A limit that was exceeded: the answer has lost something and cannot complete.
    exceeded: Option<LimitExceeded>,
    ended: bool,
}

impl Turn {
    pub(crate) fn new(begin: Begin, shared: Arc<Shared>, cancel: CancellationToken) -> Self {
        let output = Output {
            generation: begin.generation,
            working: begin.working,
            current: Current::default(),
            artifacts: begin.artifacts,
            named: 0,
            exceeded: None,
            ended: false,
        };
        Self(Arc::new(Inner {
            query: begin.message.query(),
            upstream: Upstream::of(begin.message.parts.iter()),
            response_id: match begin.number {
                1 => "response".into(),
                number => format!("response-{number}").into(),
            },
            begin,
            shared,
            cancel,
            inputs: OnceLock::new(),
            output: Mutex::new(output),
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

    /// How often this turn was begun, from 1. It is 1 until tasks survive a crash.
    pub fn attempt(&self) -> u32 {
        1
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
        output.check_artifact_count(&self.0.shared.limits)?;
        let payload = self.stamp(payload, &self.0.response_id);
        let chunk = output.current.emit(payload, &self.0.shared.limits);
        let chunk = output.note(chunk)?;
        let event = self.response(chunk);
        self.write(&mut output, vec![event]).await
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
        output.working = Working::Said;
        let event = self.status_event(TaskState::Working, Some(payload));
        self.write(&mut output, vec![event]).await
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

    // === for the engine ===

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
        self.end(&mut output, vec![event]).await
    }

    /// Ends the turn with the agent's answer.
    pub(crate) async fn answer(&self, answer: Answer) -> Result<(), Unanswered> {
        let mut output = self.0.output.lock().await;
        if let Some(exceeded) = output.exceeded.take() {
            return Err(Unanswered::Limit(exceeded));
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
        self.end(&mut output, vec![event]).await
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

    async fn complete(&self, output: &mut Output, payload: Payload) -> Result<(), Unanswered> {
        let payload = self.stamp(payload, &self.0.response_id);
        let current = std::mem::take(&mut output.current);
        let emitted = current.has_emitted();
        let shared = &self.0.shared;
        let chunk = current.complete(payload, &self.0.upstream, shared.policy, &shared.limits)?;
        let mut events = Vec::with_capacity(2);
        if let Some(chunk) = chunk {
            if !emitted {
                output.check_artifact_room(&shared.limits)?;
            }
            events.push(self.response(chunk));
        }
        events.push(self.status_event(TaskState::Completed, None));
        self.end(output, events).await
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
        let chunk = current.complete(payload, &self.0.upstream, shared.policy, &shared.limits)?;
        let Some(chunk) = chunk else {
            return Err(Unanswered::Message(
                "the agent answered with a direct message that has no parts",
            ));
        };
        let mut message = self.agent_message(chunk.parts);
        // There is no task any more that it could belong to.
        message.task_id = None;
        let event = StreamEvent::Message(Arc::new(message));
        self.end(output, vec![event]).await
    }

    async fn end(&self, output: &mut Output, events: Vec<StreamEvent>) -> Result<(), Unanswered> {
        self.commit(output, events).await?;
        output.ended = true;
        Ok(())
    }

    async fn write(&self, output: &mut Output, events: Vec<StreamEvent>) -> Result<(), AgentError> {
        match self.commit(output, events).await {
            Ok(()) => Ok(()),
            Err(StoreError::Terminal | StoreError::NotFound) => {
                output.ended = true;
                Err(AgentError::ended())
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn commit(
        &self,
        output: &mut Output,
        mut events: Vec<StreamEvent>,
    ) -> Result<(), StoreError> {
        let is_output = events.iter().all(|event| event.state().is_none());
        let is_message = matches!(events.first(), Some(StreamEvent::Message(_)));
        if output.working != Working::Said && is_output && !is_message {
            output.working = Working::Said;
            events.insert(0, self.status_event(TaskState::Working, None));
        }
        let begin = &self.0.begin;
        let commit = Commit::events(output.generation, events);
        let backend = &self.0.shared.backend;
        output.generation = backend.commit(&begin.scope, &begin.task_id, commit).await?;
        Ok(())
    }

    /// The payload with the server's stamp on its own data and files, if it stamps.
    fn stamp(&self, payload: Payload, artifact: &str) -> Payload {
        let Some(producer) = &self.0.shared.producer else {
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
            Artifact::new(id, chunk.parts),
        );
        update.append = chunk.append;
        update.last_chunk = chunk.last;
        StreamEvent::Artifact(update)
    }

    fn status_event(&self, state: TaskState, message: Option<Payload>) -> StreamEvent {
        let mut status = TaskStatus::new(state, self.0.shared.clock.now());
        status.message = message.map(|payload| self.agent_message(payload.into_parts()));
        StreamEvent::Status(StatusUpdate::new(
            Arc::clone(&self.0.begin.task_id),
            Arc::clone(&self.0.begin.context_id),
            status,
        ))
    }

    fn agent_message(&self, parts: Vec<Part>) -> Message {
        let mut message = Message::new(uuid::Uuid::new_v4().to_string(), Role::Agent, parts);
        message.task_id = Some(Arc::clone(&self.0.begin.task_id));
        message.context_id = Some(Arc::clone(&self.0.begin.context_id));
        message
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

// === impl Output ===

impl Output {
    fn check_open(&self) -> Result<(), AgentError> {
        if self.ended {
            return Err(AgentError::ended());
        }
        if let Some(exceeded) = &self.exceeded {
            return Err(AgentError::limit(exceeded.clone()));
        }
        Ok(())
    }

    /// Remembers an exceeded limit: an agent that ignores the error must not complete.
    fn note<T>(&mut self, result: Result<T, LimitExceeded>) -> Result<T, AgentError> {
        result.map_err(|exceeded| {
            self.exceeded = Some(exceeded.clone());
            AgentError::limit(exceeded)
        })
    }

    fn check_artifact_count(&mut self, limits: &Limits) -> Result<(), AgentError> {
        if self.current.has_emitted() {
            return Ok(());
        }
        let room = self.check_artifact_room(limits);
        self.note(room)
    }

    fn check_artifact_room(&mut self, limits: &Limits) -> Result<(), LimitExceeded> {
        if self.artifacts >= limits.max_artifacts {
            return Err(LimitExceeded {
                what: "the task".to_owned(),
                limit: "max_artifacts",
                allowed: limits.max_artifacts,
                found: self.artifacts + 1,
            });
        }
        self.artifacts += 1;
        Ok(())
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

/// Writes an artifact of its own beside the turn's answer; see [`Turn::artifact`].
pub struct ArtifactWriter {
    turn: Turn,
    name: Arc<str>,
    state: Mutex<Option<Named>>,
}

struct Named {
    id: Arc<str>,
    bytes: usize,
}

impl ArtifactWriter {
    /// Adds to the artifact and shows it to streaming clients at once. An empty payload does
    /// nothing.
    ///
    /// Cancel-safe, as [`Turn::emit`].
    ///
    /// # Errors
    /// As [`Turn::emit`].
    pub async fn emit(&self, payload: impl IntoPayload) -> Result<(), AgentError> {
        let payload = payload.into_payload()?;
        if payload.is_empty() {
            return Ok(());
        }
        tokio::task::coop::consume_budget().await;
        let turn = &self.turn;
        let limits = &turn.0.shared.limits;
        let mut state = self.state.lock().await;
        let mut output = turn.0.output.lock().await;
        output.check_open()?;
        let payload = turn.stamp(payload, &self.name);
        let parts = payload.into_answer_order().into_parts();
        let before = state.as_ref().map_or(0, |named| named.bytes);
        let bytes = checked_bytes(&parts, limits).map(|bytes| before + bytes);
        let bytes = output.note(bytes)?;
        output.note(check_artifact(bytes, limits))?;
        let append = state.is_some();
        if !append {
            let room = output.check_artifact_room(limits);
            output.note(room)?;
            output.named += 1;
        }
        let named = state.get_or_insert_with(|| Named {
            // From turn and count, so that a replay makes the same ids.
            id: format!("artifact-{}-{}", turn.number(), output.named).into(),
            bytes: 0,
        });
        named.bytes = bytes;
        let mut artifact = Artifact::new(Arc::clone(&named.id), parts);
        artifact.name = Some(Arc::clone(&self.name));
        let mut update = ArtifactUpdate::new(
            Arc::clone(&turn.0.begin.task_id),
            Arc::clone(&turn.0.begin.context_id),
            artifact,
        );
        update.append = append;
        turn.write(&mut output, vec![StreamEvent::Artifact(update)])
            .await
    }
}

impl fmt::Debug for ArtifactWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArtifactWriter")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
