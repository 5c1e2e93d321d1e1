//! One call: a message to an agent, and what becomes of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use llamon_client::{Client, ClientError, EventStream, Outgoing, Reply};
use llamon_core::Part;
use llamon_core::a2a::{IDEMPOTENT_MESSAGES_URI, StreamEvent, Task, TaskRequest, TaskState};
use llamon_core::delegation::Delegation;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::Shared;
use super::agents::NoClient;
use super::error::RunError;
use super::recover::{Found, can_pass, find, is_unknown};
use crate::plan::{Agent, Ask, Retry};
use crate::store::{CallId, CallState, Change, RunStore, Traffic};

/// The first pause before a task is asked for again, where the agent has no streams; it doubles.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long a message is given to arrive whose sender died while it was on its way.
pub(super) const ARRIVAL: Duration = Duration::from_secs(1);
/// How long a task runs before it is stored which one it is: that of one which ends sooner is stored
/// with its end. After a crash within this time it is looked for, as if it were not known.
const SOON: Duration = Duration::from_millis(20);
/// What a cancel of a remote task may take.
const CANCEL_TIME: Duration = Duration::from_secs(10);

/// A call that is to be made.
pub(super) struct Call {
    pub(super) id: CallId,
    pub(super) run: Arc<str>,
    pub(super) agent: Agent,
    pub(super) timeout: Duration,
    pub(super) retry: Retry,
    pub(super) ask: Ask,
    pub(super) parts: Vec<Part>,
    pub(super) traffic: Traffic,
    pub(super) store: RunStore,
    pub(super) delegation: Option<Delegation>,
    pub(super) shared: Arc<Shared>,
    pub(super) tasks: Arc<Tasks>,
    pub(super) notes: mpsc::Sender<Note>,
    pub(super) cancel: CancellationToken,
    pub(super) permit: Option<OwnedSemaphorePermit>,
}

/// Where a call begins.
pub(super) enum Begin {
    /// Nothing was sent. `stored`: that it is about to be is.
    Unsent { stored: bool },
    /// A process died while it was being sent.
    MaybeSent {
        attempt: u32,
        message_id: String,
        /// How long it may still be on its way.
        arrival: Duration,
    },
    /// The agent has this task of it.
    Sent {
        attempt: u32,
        task_id: String,
        /// Answers to its questions so far.
        answers: u32,
    },
    /// Somebody has answered the question of its task.
    Answer {
        attempt: u32,
        task_id: String,
        /// Answers before this one.
        answers: u32,
        answer: Vec<Part>,
    },
    /// Nobody has answered in time.
    GiveUp { task_id: String, reason: String },
}

/// What became of a call.
pub(super) enum End {
    Completed(Vec<Part>),
    Failed(String),
    Canceled,
    Asking {
        attempt: u32,
        task_id: String,
        answers: u32,
        question: Vec<Part>,
        is_auth: bool,
    },
    /// The store failed: nothing more can be promised.
    Store(RunError),
}

/// Something to tell those who watch.
pub(super) enum Note {
    Sending {
        call: CallId,
        attempt: u32,
        traffic: Traffic,
    },
    Status {
        call: CallId,
        text: String,
    },
    Retrying {
        call: CallId,
        reason: String,
    },
    Answered {
        call: CallId,
    },
}

/// Which call has which task of which agent: one agent's task belongs to one call.
#[derive(Default)]
pub(super) struct Tasks(Mutex<HashMap<(String, String), CallId>>);

impl Tasks {
    fn claim(&self, agent: &str, task: &str, call: &CallId) -> Result<(), Trouble> {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let owner = tasks
            .entry((agent.to_owned(), task.to_owned()))
            .or_insert_with(|| call.clone());
        if owner == call {
            return Ok(());
        }
        Err(Trouble::Final(format!(
            "the agent answered with the task {task:?}, which is that of {owner}; it must begin a task for each message"
        )))
    }
}

/// Where the message is.
#[derive(Clone, Debug)]
enum Where {
    Unsent {
        stored: bool,
        possibly_repeated: bool,
    },
    MaybeSent,
    Known(String),
}

/// Why an attempt did not come to rest.
enum Trouble {
    /// Another attempt can help.
    Again(String),
    /// No other attempt can.
    Final(String),
    Store(RunError),
}

impl From<NoClient> for Trouble {
    fn from(error: NoClient) -> Self {
        match error {
            NoClient::Usage(reason) => Self::Final(reason),
            NoClient::Client(error) => Self::from(error),
        }
    }
}

impl From<ClientError> for Trouble {
    fn from(error: ClientError) -> Self {
        if can_pass(&error) {
            Self::Again(error.to_string())
        } else {
            Self::Final(error.to_string())
        }
    }
}

impl From<crate::store::RunStoreError> for Trouble {
    fn from(error: crate::store::RunStoreError) -> Self {
        Self::Store(error.into())
    }
}

/// A call that is being made.
struct Running {
    call: Call,
    attempt: u32,
    message_id: String,
    /// Answers to questions that were sent.
    answers: u32,
    /// How long a message that another process has sent may still be on its way.
    arrival: Duration,
    at: Where,
    /// What is known of the task and is not stored yet, and when it will be.
    unstored: Option<(Change, Instant)>,
}

impl Call {
    /// What traces know of it: its step and, of what is sent, how much of it repeats.
    pub(super) fn span(&self) -> Span {
        // Traces have signed numbers only; others become texts there.
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let traffic = self.traffic;
        tracing::info_span!(
            "step",
            otel.name = %self.id,
            run = %self.run,
            step = %self.id.step,
            item = self.id.item,
            received = number(traffic.received),
            sent = number(traffic.sent),
            sent_bytes = number(traffic.sent_bytes),
            duplicates = number(traffic.duplicates),
            duplicate_bytes = number(traffic.duplicate_bytes),
        )
    }

    /// Makes the call, with as many attempts as it has. What becomes of an item's call is stored
    /// when this returns; the caller stores it for other calls, with what it makes ready.
    pub(super) async fn make(mut self, begin: Begin) -> Made {
        if self.permit.is_none() {
            let places = Arc::clone(&self.shared.places);
            // It is never closed.
            self.permit = places.acquire_owned().await.ok();
        }
        let id = self.id.clone();
        let (store, run) = (self.store.clone(), Arc::clone(&self.run));
        let mut running = Running::new(self, &begin);
        let mut end = running.run(begin).await;
        let task = running.unstored.map(|(change, _)| change);
        if id.item.is_none() {
            return Made { id, task, end };
        }
        let changes: Vec<Change> = task.into_iter().chain(ended(&id, &end)).collect();
        if !changes.is_empty()
            && let Err(error) = store.commit(&run, changes).await
        {
            end = End::Store(error.into());
        }
        let task = None;
        Made { id, task, end }
    }
}

/// A call that was made.
pub(super) struct Made {
    pub(super) id: CallId,
    /// Which task it was, where that is still to be stored.
    pub(super) task: Option<Change>,
    pub(super) end: End,
}

/// What is stored of an end.
pub(super) fn ended(call: &CallId, end: &End) -> Option<Change> {
    let call = call.clone();
    let (state, parts, reason) = match end {
        End::Completed(parts) => (CallState::Completed, parts.clone(), None),
        End::Failed(reason) => (CallState::Failed, Vec::new(), Some(reason.clone())),
        End::Canceled => (CallState::Canceled, Vec::new(), None),
        End::Asking {
            question, is_auth, ..
        } => {
            return Some(Change::Asking {
                call,
                question: question.clone(),
                is_auth: *is_auth,
            });
        }
        End::Store(_) => return None,
    };
    Some(Change::Ended {
        call,
        state,
        parts,
        reason,
    })
}

impl Running {
    fn new(call: Call, begin: &Begin) -> Self {
        let (attempt, at) = match begin {
            Begin::Unsent { stored } => (
                1,
                Where::Unsent {
                    stored: *stored,
                    possibly_repeated: false,
                },
            ),
            Begin::MaybeSent { attempt, .. } => (*attempt, Where::MaybeSent),
            Begin::Sent {
                attempt, task_id, ..
            }
            | Begin::Answer {
                attempt, task_id, ..
            } => (*attempt, Where::Known(task_id.clone())),
            Begin::GiveUp { task_id, .. } => (1, Where::Known(task_id.clone())),
        };
        let message_id = match begin {
            Begin::MaybeSent { message_id, .. } => message_id.clone(),
            _ => message_id(&call.run, &call.id, attempt),
        };
        let arrival = match begin {
            Begin::MaybeSent { arrival, .. } => *arrival,
            _ => Duration::ZERO,
        };
        let answers = match begin {
            Begin::Sent { answers, .. } | Begin::Answer { answers, .. } => *answers,
            _ => 0,
        };
        Self {
            call,
            attempt,
            message_id,
            answers,
            arrival,
            at,
            unstored: None,
        }
    }

    async fn run(&mut self, begin: Begin) -> End {
        if let Begin::GiveUp { reason, .. } = begin {
            self.cancel_remote().await;
            return End::Failed(reason);
        }
        let mut answer = match begin {
            Begin::Answer { answer, .. } => Some(answer),
            _ => None,
        };
        let cancel = self.call.cancel.clone();
        let most = self.call.retry.max_attempts();
        let mut failures = 0;
        loop {
            let timeout = self.call.timeout;
            let outcome = tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    self.cancel_remote().await;
                    return End::Canceled;
                }
                outcome = tokio::time::timeout(timeout, self.attempt(&mut answer)) => outcome,
            };
            let reason = match outcome {
                Ok(Ok(end)) => return end,
                Ok(Err(Trouble::Final(reason))) => return End::Failed(reason),
                Ok(Err(Trouble::Store(error))) => return End::Store(error),
                Ok(Err(Trouble::Again(reason))) => reason,
                Err(_) => {
                    // Its task would work for nobody.
                    self.cancel_remote().await;
                    self.begin_anew(false);
                    format!(
                        "did not come to rest within {timeout:?}; give the step more timeout if it needs longer"
                    )
                }
            };
            failures += 1;
            if failures >= most {
                return End::Failed(if most > 1 {
                    format!("{reason} ({most} attempts)")
                } else {
                    reason
                });
            }
            let pause = self.call.retry.pause_after(failures);
            self.note(Note::Retrying {
                call: self.call.id.clone(),
                reason,
            })
            .await;
            tokio::select! {
                biased;
                () = cancel.cancelled() => {}
                () = tokio::time::sleep(jittered(pause)) => {}
            }
        }
    }

    /// The next message is another one.
    fn begin_anew(&mut self, possibly_repeated: bool) {
        self.attempt += 1;
        self.message_id = message_id(&self.call.run, &self.call.id, self.attempt);
        self.at = Where::Unsent {
            stored: false,
            possibly_repeated,
        };
        self.unstored = None;
    }

    async fn attempt(&mut self, answer: &mut Option<Vec<Part>>) -> Result<End, Trouble> {
        let client = self.call.shared.agents.client(&self.call.agent).await?;
        if let Some(parts) = answer.as_ref() {
            let end = self.answer(&client, parts).await;
            if !matches!(end, Err(Trouble::Again(_))) {
                *answer = None;
            }
            return end;
        }
        match self.at.clone() {
            Where::Unsent {
                stored,
                possibly_repeated,
            } => {
                if !stored {
                    self.store_sending(possibly_repeated).await?;
                }
                self.send(&client).await
            }
            Where::MaybeSent => {
                let context = self.call.id.context_id(&self.call.run);
                let mut found = find(&client, &context).await?;
                let arrival = std::mem::take(&mut self.arrival);
                if matches!(found, Found::Nothing) && !knows_repeats(&client) && !arrival.is_zero()
                {
                    tokio::time::sleep(arrival).await;
                    found = find(&client, &context).await?;
                }
                match found {
                    Found::Task(task) => {
                        self.know(&task).await?;
                        self.follow(&client, &task.id).await
                    }
                    Found::Nothing => self.send(&client).await,
                    Found::Unlisted => {
                        self.store_sending(true).await?;
                        self.send(&client).await
                    }
                }
            }
            Where::Known(id) => self.follow(&client, &id).await,
        }
    }

    async fn store_sending(&mut self, possibly_repeated: bool) -> Result<(), Trouble> {
        let change = sending(
            &self.call.id,
            self.attempt,
            &self.message_id,
            self.call.traffic,
            possibly_repeated,
        );
        self.call.store.commit(&self.call.run, vec![change]).await?;
        self.at = Where::Unsent {
            stored: true,
            possibly_repeated: false,
        };
        Ok(())
    }

    /// Sends the message and waits for what becomes of it.
    async fn send(&mut self, client: &Client) -> Result<End, Trouble> {
        self.note(Note::Sending {
            call: self.call.id.clone(),
            attempt: self.attempt,
            traffic: self.call.traffic,
        })
        .await;
        let message = Outgoing::new()
            .message_id(&*self.message_id)
            .in_context(self.call.id.context_id(&self.call.run));
        self.at = Where::MaybeSent;
        self.deliver(client, with_parts(message, &self.call.parts), false)
            .await
    }

    /// Sends what somebody answered, unless it has arrived before.
    async fn answer(&mut self, client: &Client, parts: &[Part]) -> Result<End, Trouble> {
        let Where::Known(task_id) = self.at.clone() else {
            return Err(Trouble::Final("the question has no task".to_owned()));
        };
        let message_id = format!("{}/answer-{}", self.message_id, self.answers + 1);
        let task = client.get_with(TaskRequest::new(&*task_id)).await?;
        let arrived = (task.history.iter()).any(|said| said.message_id == message_id);
        if arrived || !task.status.state.is_interrupted() {
            self.store_answered().await?;
            return self.follow(client, &task_id).await;
        }
        let message = Outgoing::new()
            .message_id(message_id)
            .in_task(&*task_id)
            .in_context(Arc::clone(&task.context_id));
        self.deliver(client, with_parts(message, parts), true).await
    }

    async fn store_answered(&mut self) -> Result<(), Trouble> {
        let call = self.call.id.clone();
        let change = Change::Answered { call: call.clone() };
        self.call.store.commit(&self.call.run, vec![change]).await?;
        self.answers += 1;
        self.note(Note::Answered { call }).await;
        Ok(())
    }

    /// Sends a message, which may be an answer to a question, and waits for what becomes of it.
    async fn deliver(
        &mut self,
        client: &Client,
        message: Outgoing,
        is_answer: bool,
    ) -> Result<End, Trouble> {
        let message = if knows_repeats(client) {
            message.extension(IDEMPOTENT_MESSAGES_URI)
        } else {
            message
        };
        let message = match self.call.delegation {
            Some(delegation) => message.handed_on(delegation),
            None => message,
        };
        let reply = if client.card().capabilities.streaming {
            match client.stream(message).await {
                Ok(stream) => return self.read(client, stream, is_answer).await,
                Err(error) => Err(error),
            }
        } else {
            client.send(message.return_immediately()).await
        };
        let reply = match reply {
            Ok(reply) => reply,
            Err(error) => {
                if error.is_connect() && !is_answer {
                    self.at = Where::Unsent {
                        stored: true,
                        possibly_repeated: false,
                    };
                }
                return Err(error.into());
            }
        };
        match reply.task() {
            None => self.settle(&reply).await,
            Some(task) => {
                if is_answer {
                    self.store_answered().await?;
                }
                self.know(task).await?;
                if task.status.state.is_settled() {
                    return self.settle(&reply).await;
                }
                let id = task.id.to_string();
                self.follow(client, &id).await
            }
        }
    }

    /// Reads the stream that a message was answered with.
    async fn read(
        &mut self,
        client: &Client,
        mut stream: EventStream,
        mut is_answer: bool,
    ) -> Result<End, Trouble> {
        loop {
            let due = self.unstored.as_ref().map(|(_, due)| *due);
            let event = tokio::select! {
                biased;
                event = stream.next() => event,
                () = at(due) => {
                    self.store_task().await?;
                    continue;
                }
            };
            let Some(event) = event else { break };
            let event = event?;
            if std::mem::take(&mut is_answer) {
                self.store_answered().await?;
            }
            self.see(&event).await?;
        }
        let reply = stream.finish().await?;
        match reply.state() {
            Some(state) if !state.is_settled() => {
                let Where::Known(id) = self.at.clone() else {
                    return Err(Trouble::Again(
                        "the stream ended before its task".to_owned(),
                    ));
                };
                self.follow(client, &id).await
            }
            _ => self.settle(&reply).await,
        }
    }

    /// Follows a task that the agent has, until it settles.
    async fn follow(&mut self, client: &Client, id: &str) -> Result<End, Trouble> {
        let mut pause = PAUSE;
        loop {
            self.store_task().await?;
            if client.card().capabilities.streaming
                && let Ok(mut stream) = client.subscribe(id).await
            {
                while let Some(event) = stream.next().await {
                    // A stream that is lost says nothing of the task.
                    let Ok(event) = event else { break };
                    self.see(&event).await?;
                    // It stays open while the task waits for somebody.
                    if event.state().is_some_and(TaskState::is_settled) {
                        break;
                    }
                }
            }
            let task = match client.get(id).await {
                Ok(task) => task,
                Err(error) if is_unknown(&error) => {
                    self.begin_anew(true);
                    return Err(Trouble::Again(format!(
                        "the agent no longer knows its task: {error}"
                    )));
                }
                Err(error) => return Err(error.into()),
            };
            self.know(&task).await?;
            if task.status.state.is_settled() {
                let reply = Reply::from(llamon_core::a2a::SendResult::Task(Arc::new(task)));
                return self.settle(&reply).await;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Takes in an event of the call's task.
    async fn see(&mut self, event: &StreamEvent) -> Result<(), Trouble> {
        match event {
            StreamEvent::Task(task) => self.know(task).await,
            StreamEvent::Status(update) => {
                self.is_ours(&update.task_id)?;
                let text = update.status.message.as_ref().map(|said| said.query());
                if let Some(text) = text.filter(|text| !text.is_empty())
                    && !update.status.state.is_settled()
                {
                    let call = self.call.id.clone();
                    self.note(Note::Status { call, text }).await;
                }
                Ok(())
            }
            StreamEvent::Artifact(update) => self.is_ours(&update.task_id),
            _ => Ok(()),
        }
    }

    fn is_ours(&self, task_id: &str) -> Result<(), Trouble> {
        match &self.at {
            Where::Known(known) if known != task_id => Err(Trouble::Final(format!(
                "the agent speaks of the task {task_id:?}, its task is {known:?}"
            ))),
            _ => Ok(()),
        }
    }

    /// The agent has the message, and this is its task.
    async fn know(&mut self, task: &Task) -> Result<(), Trouble> {
        self.is_ours(&task.id)?;
        if matches!(self.at, Where::Known(_)) {
            return Ok(());
        }
        let agent = self.call.agent.url();
        self.call.tasks.claim(agent, &task.id, &self.call.id)?;
        self.at = Where::Known(task.id.to_string());
        let change = Change::Sent {
            call: self.call.id.clone(),
            task_id: Some(task.id.to_string()),
            context_id: Some(task.context_id.to_string()),
        };
        self.unstored = Some((change, Instant::now() + SOON));
        Ok(())
    }

    /// Stores which task it is, if that is known and not stored.
    async fn store_task(&mut self) -> Result<(), Trouble> {
        let Some((change, _)) = self.unstored.take() else {
            return Ok(());
        };
        Ok(self.call.store.commit(&self.call.run, vec![change]).await?)
    }

    /// What an answer means for the call.
    async fn settle(&mut self, reply: &Reply) -> Result<End, Trouble> {
        let state = match reply.state() {
            None | Some(TaskState::Completed) => {
                return Ok(End::Completed(reply.payload().into_parts()));
            }
            Some(state) => state,
        };
        let said = reply.status_text();
        if !state.is_interrupted() {
            let said = said.unwrap_or_else(|| "it does not say why".to_owned());
            return Ok(End::Failed(format!("the agent's task is {state}: {said}")));
        }
        if self.call.ask == Ask::Fail {
            self.cancel_remote().await;
            let said = said.unwrap_or_else(|| "it does not say what".to_owned());
            return Ok(End::Failed(format!(
                "the agent asks ({state}) and the step has `ask: fail`: {said}"
            )));
        }
        let Where::Known(task_id) = self.at.clone() else {
            return Ok(End::Failed("the agent asks without a task".to_owned()));
        };
        let message = reply.task().and_then(|task| task.status.message.as_ref());
        Ok(End::Asking {
            attempt: self.attempt,
            task_id,
            answers: self.answers,
            question: message.map(|said| said.parts.to_vec()).unwrap_or_default(),
            is_auth: state == TaskState::AuthRequired,
        })
    }

    /// Cancels the agent's task, if there is one, and does not wait for long.
    async fn cancel_remote(&mut self) {
        let cancel = async {
            let client = self
                .call
                .shared
                .agents
                .client(&self.call.agent)
                .await
                .ok()?;
            let id = match &self.at {
                Where::Unsent { .. } => return None,
                Where::Known(id) => id.clone(),
                Where::MaybeSent => {
                    let context = self.call.id.context_id(&self.call.run);
                    match find(&client, &context).await.ok()? {
                        Found::Task(task) => task.id.to_string(),
                        Found::Nothing | Found::Unlisted => return None,
                    }
                }
            };
            // It may have ended just now.
            client.cancel(&id).await.ok()
        };
        // A task that could not be canceled in time runs on; the run does not wait for it.
        let _ = tokio::time::timeout(CANCEL_TIME, cancel).await;
    }

    async fn note(&self, note: Note) {
        // Nobody listens to a run that is parked.
        let _ = self.call.notes.send(note).await;
    }
}

/// What is stored before a message is sent.
pub(super) fn sending(
    call: &CallId,
    attempt: u32,
    message_id: &str,
    traffic: Traffic,
    possibly_repeated: bool,
) -> Change {
    Change::Sending {
        call: call.clone(),
        attempt,
        message_id: message_id.to_owned(),
        traffic,
        possibly_repeated,
    }
}

/// The id of a call's message.
pub(super) fn message_id(run: &str, call: &CallId, attempt: u32) -> String {
    format!("{}/{attempt}", call.context_id(run))
}

/// Whether the agent does not accept a message twice, even one that is on its way while its task is
/// looked for.
fn knows_repeats(client: &Client) -> bool {
    let mut extensions = client.card().capabilities.extensions.iter();
    extensions.any(|extension| extension.uri == IDEMPOTENT_MESSAGES_URI)
}

fn with_parts(message: Outgoing, parts: &[Part]) -> Outgoing {
    let parts = parts.iter().cloned();
    parts.fold(message, Outgoing::with_part)
}

/// At that time, or never.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Half of the pause is by chance, so that calls that failed together do not come back together.
fn jittered(pause: Duration) -> Duration {
    let chance = f64::from(uuid::Uuid::new_v4().as_bytes()[0]) / 255.0;
    pause.mul_f64(0.5 + chance / 2.0)
}
