//! The operations, without transport: a binding translates to and from them and nothing else.

mod accept;
mod feed;
pub(crate) mod modes;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use llamon_core::Limits;
use llamon_core::a2a::{
    A2aError, ErrorCode, ListTasksRequest, ListTasksResponse, Message, SendMessageRequest,
    SendResult, Task, TaskRequest, TaskState, page_size_error,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::backend::{Backend, Generation, ReadFrom, Settled, StoreError};
use crate::call::Call;
use crate::engine::Engine;
use crate::page_token::{self, List, PageTokens};
use crate::push::PushEngine;
use crate::scope::Scope;
use crate::shared::Shared;
use crate::turn;
use accept::{Begun, Reply};

pub(crate) use feed::EventFeed;
pub use modes::InputModes;

/// Bytes that an id chosen by a client may have.
const MAX_ID_BYTES: usize = 512;
/// What push notifications have at least to end, however long the turns took.
const PUSH_GRACE: Duration = Duration::from_secs(1);
const DEFAULT_PAGE_SIZE: u32 = 50;
const MAX_PAGE_SIZE: u32 = 100;

/// Whether others see a task before its agent has said anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskVisibility {
    /// The task can be read, listed and canceled from the start, and a stream begins with it at
    /// once. In a stream, [`crate::Answer::Message`] completes the task.
    #[default]
    AtOnce,
    /// The task appears with the agent's first output, so that the agent may still answer a
    /// stream with nothing but a direct message. A stream's first event waits for that output.
    WithFirstOutput,
}

/// Whether a server streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Streaming {
    /// SendStreamingMessage and SubscribeToTask are served.
    #[default]
    On,
    /// They are UnsupportedOperation, and the card says so (section 3.3.4).
    Off,
}

/// Serves the operations of one agent.
pub(crate) struct Handler {
    engine: Arc<Engine>,
    shared: Arc<Shared>,
    visibility: TaskVisibility,
    streaming: Streaming,
    /// Fires when the streams that are still open are to end.
    closing: CancellationToken,
    retired: AtomicBool,
    push: Option<PushEngine>,
    page_tokens: PageTokens,
}

impl Handler {
    pub(crate) fn new(
        engine: Arc<Engine>,
        shared: Arc<Shared>,
        visibility: TaskVisibility,
        streaming: Streaming,
        push: Option<PushEngine>,
        page_tokens: PageTokens,
    ) -> Self {
        Self {
            engine,
            shared,
            visibility,
            streaming,
            closing: CancellationToken::new(),
            retired: AtomicBool::new(false),
            push,
            page_tokens,
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// SendMessage (section 3.1.1).
    pub(crate) async fn send(
        self: &Arc<Self>,
        call: &Call,
        request: SendMessageRequest,
    ) -> Result<SendResult, A2aError> {
        let reply = if request.configuration.return_immediately {
            Reply::AtOnce
        } else {
            Reply::Settled
        };
        match self.begin(call, request, reply).await? {
            Begun::Task(task) => Ok(SendResult::Task(task)),
            Begun::Message(message) => Ok(SendResult::Message(message)),
            Begun::Followed { task, .. } => Ok(SendResult::Task(task)),
            Begun::Waiting {
                task_id,
                settled,
                left,
            } => self.wait(&call.scope, &task_id, settled, left).await,
        }
    }

    /// Waits for the task to settle. A server that stops, or whose store is down, answers with the
    /// task as it stands.
    async fn wait(
        &self,
        scope: &Scope,
        task_id: &str,
        settled: BoxFuture<'_, Result<Settled, StoreError>>,
        left: Option<CancellationToken>,
    ) -> Result<SendResult, A2aError> {
        let goes_on_later = async {
            match left {
                Some(left) => tokio::select! {
                    () = left.cancelled() => {}
                    () = self.closing.cancelled() => {}
                },
                None => self.closing.cancelled().await,
            }
        };
        let settled = tokio::select! {
            biased;
            settled = settled => settled,
            () = goes_on_later => {
                let got = self.backend().get(scope, task_id).await;
                return match got {
                    Ok((task, _)) => Ok(SendResult::Task(task)),
                    // It has said nothing yet and is hidden.
                    Err(StoreError::NotFound) => Err(A2aError::new(
                        ErrorCode::Unavailable,
                        "the server is stopping; send the message again later",
                    )),
                    Err(error) => Err(to_a2a(error)),
                };
            }
        };
        match settled.map_err(to_a2a)? {
            Settled::Task(task) => Ok(SendResult::Task(task)),
            Settled::Message(message) => Ok(SendResult::Message(message)),
        }
    }

    /// SendStreamingMessage (section 3.1.2).
    pub(crate) async fn stream(
        self: &Arc<Self>,
        call: &Call,
        request: SendMessageRequest,
    ) -> Result<EventFeed, A2aError> {
        check_streams(self.streaming)?;
        match self.begin(call, request, Reply::Stream).await? {
            Begun::Followed {
                task,
                cursor,
                hidden,
            } => {
                // What came before may have settled long ago.
                let settled = task.status.state.is_settled();
                Ok(EventFeed {
                    first: Some(task),
                    hidden,
                    cursor,
                    closing: self.closing.clone(),
                    close_when_interrupted: true,
                    settled,
                    ended: false,
                })
            }
            Begun::Message(message) => Ok(EventFeed::of_message(message, self.closing.clone())),
            Begun::Task(_) | Begun::Waiting { .. } => Err(A2aError::internal()),
        }
    }

    /// GetTask (section 3.1.3).
    pub(crate) async fn get(
        &self,
        scope: &Scope,
        request: &TaskRequest,
    ) -> Result<Arc<Task>, A2aError> {
        let (task, _) = self
            .backend()
            .get(scope, &request.id)
            .await
            .map_err(to_a2a)?;
        Ok(task)
    }

    /// ListTasks (section 3.1.4).
    pub(crate) async fn list(
        &self,
        scope: &Scope,
        request: &ListTasksRequest,
    ) -> Result<ListTasksResponse, A2aError> {
        let page_size = request.page_size.unwrap_or(DEFAULT_PAGE_SIZE);
        if !(1..=MAX_PAGE_SIZE).contains(&page_size) {
            return Err(A2aError::of_params(&page_size_error(page_size)));
        }
        let list = List::Tasks(request);
        let mut opened = request.clone();
        if let Some(token) = &request.page_token {
            opened.page_token = Some(self.page_tokens.open(scope, list, token)?);
        }
        let page = self
            .backend()
            .list(scope, &opened, page_size as usize)
            .await
            .map_err(to_a2a)?;
        let next = self.page_tokens.seal(scope, list, &page.next_page_token)?;
        Ok(ListTasksResponse::new(
            page.tasks, next, page_size, page.total,
        ))
    }

    /// CancelTask (section 3.1.5). Answers when the run has really stopped.
    pub(crate) async fn cancel(
        &self,
        scope: &Scope,
        request: &TaskRequest,
    ) -> Result<Arc<Task>, A2aError> {
        let task_id = &*request.id;
        let requested = self.backend().request_cancel(scope, task_id).await;
        let (task, generation) = match requested {
            Err(StoreError::Terminal) => {
                return Err(A2aError::new(
                    ErrorCode::TaskNotCancelable,
                    "the task has already ended, so it cannot be canceled",
                ));
            }
            other => other.map_err(to_a2a)?,
        };
        if !self.engine.cancel(scope, task_id) {
            self.cancel_parked(scope, &task, generation).await?;
            // Or its process has died, and whoever takes it over cancels it.
            self.engine.nudge();
        }
        loop {
            let settled = tokio::select! {
                biased;
                settled = self.backend().settled(scope, task_id) => settled.map_err(to_a2a)?,
                () = self.closing.cancelled() => {
                    return Err(A2aError::new(
                        ErrorCode::Unavailable,
                        "the server is stopping; the task will be canceled when it is back",
                    ));
                }
            };
            match settled {
                Settled::Message(_) => return Err(A2aError::task_not_found()),
                Settled::Task(task) if task.status.state.is_terminal() => return Ok(task),
                // A task that waits has settled already, and its turn may still be leaving.
                Settled::Task(_) => {
                    let got = self.backend().get(scope, task_id).await;
                    let (task, generation) = got.map_err(to_a2a)?;
                    if !task.status.state.is_terminal() {
                        self.cancel_parked(scope, &task, generation).await?;
                    }
                }
            }
        }
    }

    /// SubscribeToTask (section 3.1.6).
    pub(crate) async fn subscribe(
        &self,
        scope: &Scope,
        request: &TaskRequest,
    ) -> Result<EventFeed, A2aError> {
        check_streams(self.streaming)?;
        // Hidden tasks are followed by their sender only.
        self.get(scope, request).await?;
        let (task, cursor) = self
            .backend()
            .follow(scope, &request.id, ReadFrom::Now)
            .await
            .map_err(to_a2a)?;
        if task.status.state.is_terminal() {
            return Err(A2aError::new(
                ErrorCode::UnsupportedOperation,
                format!(
                    "the task has ended ({}), so it has no more events; read it with GetTask",
                    task.status.state
                ),
            ));
        }
        Ok(EventFeed {
            first: Some(task),
            hidden: false,
            cursor,
            closing: self.closing.clone(),
            close_when_interrupted: false,
            settled: false,
            ended: false,
        })
    }

    /// Begins to look after the store; needs a runtime.
    pub(crate) fn keep(&self) {
        self.engine.keep();
        if let Some(push) = &self.push {
            push.start();
        }
    }

    /// Whether messages can be taken at the moment; the reason why not.
    pub(crate) async fn ready(&self) -> Result<(), String> {
        if self.retired.load(Ordering::Relaxed) {
            return Err("the server is stopping".to_owned());
        }
        self.engine.admit().map_err(|error| error.to_string())?;
        let health = self.backend().health().await;
        health.map_err(|error| error.to_string())
    }

    /// Says from now on that it is not ready; messages are still taken.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
    }

    /// Takes no new turns, waits for those that run, and ends the streams.
    pub(crate) async fn shut_down(&self, grace: Duration) {
        let begun = Instant::now();
        self.engine.shut_down(grace).await;
        self.closing.cancel();
        if let Some(push) = &self.push {
            push.shut_down(grace.saturating_sub(begun.elapsed()).max(PUSH_GRACE))
                .await;
        }
    }

    pub(crate) fn page_tokens(&self) -> &PageTokens {
        &self.page_tokens
    }

    /// What sends push notifications, if the server does.
    pub(crate) fn push_engine(&self) -> Option<&PushEngine> {
        self.push.as_ref()
    }

    pub(crate) fn streaming(&self) -> Streaming {
        self.streaming
    }

    pub(crate) fn sends_push(&self) -> bool {
        self.push.is_some()
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.shared.backend
    }

    /// Cancels a task that no turn works on. Whoever changed it meanwhile has won.
    async fn cancel_parked(
        &self,
        scope: &Scope,
        task: &Task,
        expect: Generation,
    ) -> Result<(), A2aError> {
        let ended = self
            .shared
            .end_task(scope, task, expect, None, TaskState::Canceled, None)
            .await;
        match ended {
            Ok(()) | Err(StoreError::Conflict | StoreError::Terminal) => Ok(()),
            Err(error) => Err(to_a2a(error)),
        }
    }
}

fn check_streams(streaming: Streaming) -> Result<(), A2aError> {
    match streaming {
        Streaming::On => Ok(()),
        Streaming::Off => Err(A2aError::new(
            ErrorCode::UnsupportedOperation,
            "this agent does not stream, as its card says; use SendMessage and GetTask",
        )),
    }
}

fn new_id() -> Arc<str> {
    let mut buffer = uuid::Uuid::encode_buffer();
    Arc::from(&*uuid::Uuid::new_v4().hyphenated().encode_lower(&mut buffer))
}

fn check_ids(message: &Message) -> Result<(), A2aError> {
    let ids = [
        ("messageId", Some(&*message.message_id)),
        ("contextId", message.context_id.as_deref()),
        ("taskId", message.task_id.as_deref()),
    ];
    for (field, id) in ids {
        let found = id.map_or(0, str::len);
        if found > MAX_ID_BYTES {
            return Err(A2aError::new(
                ErrorCode::InvalidParams,
                format!("message.{field}: has {found} bytes, an id has at most {MAX_ID_BYTES}"),
            ));
        }
    }
    Ok(())
}

/// Refuses what was handed on too often, before anything is done for it.
fn check_delegation(metadata: Option<&str>, limits: &Limits) -> Result<(), A2aError> {
    let arrived = turn::arrived(metadata, limits).map_err(|e| A2aError::of_params(&e))?;
    if arrived.is_too_deep() {
        let message = turn::too_deep(arrived.depth, arrived.max_depth).to_string();
        return Err(A2aError::new(ErrorCode::UnsupportedOperation, message));
    }
    Ok(())
}

fn check_continues(state: TaskState) -> Result<(), A2aError> {
    if state.is_interrupted() {
        return Ok(());
    }
    if state.is_terminal() {
        return Err(ended(state));
    }
    Err(A2aError::new(
        ErrorCode::UnsupportedOperation,
        "the task is working on a message; wait until it has settled, or begin a new task",
    ))
}

fn ended(state: TaskState) -> A2aError {
    A2aError::new(
        ErrorCode::UnsupportedOperation,
        format!("the task has ended ({state}) and takes no more messages; begin a new task"),
    )
}

pub(crate) fn to_a2a(error: StoreError) -> A2aError {
    match error {
        StoreError::NotFound => A2aError::task_not_found(),
        StoreError::Full { limit, allowed } => A2aError::new(
            ErrorCode::Unavailable,
            format!(
                "the server has no room: {limit} is reached, which is {allowed}; try again later"
            ),
        ),
        StoreError::NoSpace(reason) => {
            tracing::error!(%reason, "the store has no space");
            A2aError::new(
                ErrorCode::Unavailable,
                "the server has no space to store anything new; tasks can still be read, try \
                 again later",
            )
        }
        StoreError::OtherMessage => A2aError::new(
            ErrorCode::InvalidParams,
            "message.messageId: was used for another message; a message that says something else \
             needs an id of its own",
        ),
        StoreError::PageToken => page_token::not_one(),
        other => {
            tracing::error!(error = %other, "the store failed");
            A2aError::internal()
        }
    }
}
