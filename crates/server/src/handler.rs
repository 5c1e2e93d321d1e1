//! The operations, without transport: a binding translates to and from them and nothing else.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt as _;
use llamon_core::Limits;
use llamon_core::a2a::{
    A2aError, ErrorCode, ListTasksRequest, ListTasksResponse, Message, Role, SendMessageRequest,
    SendResult, StatusUpdate, StreamEvent, Task, TaskRequest, TaskState, TaskStatus,
    page_size_error,
};
use tokio_util::sync::CancellationToken;

use crate::backend::{
    Backend, Commit, Generation, LogCursor, NewTask, Settled, StoreError, Visibility,
};
use crate::engine::{Engine, First, Permit};
use crate::scope::Scope;
use crate::turn::{Begin, DirectMessage, Shared, Working, is_contract_question};

/// Bytes that an id chosen by a client may have.
const MAX_ID_BYTES: usize = 512;
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

/// Serves the operations of one agent.
pub(crate) struct Handler {
    engine: Engine,
    shared: Arc<Shared>,
    visibility: TaskVisibility,
    /// Fires when the streams that are still open are to end.
    closing: CancellationToken,
}

/// How a client wants its message answered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reply {
    /// When the task has settled.
    Blocking,
    /// The client sees the task before: a stream, or an answer at once.
    TaskFirst,
}

/// A turn that can begin: its task and its message are stored.
struct Accepted {
    permit: Permit,
    begin: Begin,
}

impl Handler {
    pub(crate) fn new(engine: Engine, shared: Arc<Shared>, visibility: TaskVisibility) -> Self {
        Self {
            engine,
            shared,
            visibility,
            closing: CancellationToken::new(),
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// SendMessage (section 3.1.1).
    pub(crate) async fn send(
        &self,
        scope: &Scope,
        request: SendMessageRequest,
    ) -> Result<SendResult, A2aError> {
        let reply = if request.configuration.return_immediately {
            Reply::TaskFirst
        } else {
            Reply::Blocking
        };
        let Accepted { permit, begin } = self.accept(scope, request, reply).await?;
        let task_id = Arc::clone(&begin.task_id);
        if reply == Reply::TaskFirst {
            let (task, _) = self.backend().get(scope, &task_id).await.map_err(to_a2a)?;
            self.engine.start(permit, begin, First::Elsewhere).await;
            return Ok(SendResult::Task(task));
        }
        // Wait before the turn begins: a task can be finished and gone right after it has begun.
        let mut settled = self.backend().settled(scope, &task_id);
        let waiting = poll_fn(|context| Poll::Ready(settled.as_mut().poll(context))).await;
        self.engine.start(permit, begin, First::Here).await;
        let settled = match waiting {
            Poll::Ready(settled) => settled,
            Poll::Pending => settled.await,
        };
        match settled.map_err(to_a2a)? {
            Settled::Task(task) => Ok(SendResult::Task(task)),
            Settled::Message(message) => Ok(SendResult::Message(message)),
        }
    }

    /// SendStreamingMessage (section 3.1.2).
    pub(crate) async fn stream(
        &self,
        scope: &Scope,
        request: SendMessageRequest,
    ) -> Result<EventFeed, A2aError> {
        let Accepted { permit, begin } = self.accept(scope, request, Reply::TaskFirst).await?;
        let followed = self.backend().follow(scope, &begin.task_id).await;
        let hidden = begin.working == Working::WithFirstOutput;
        self.engine.start(permit, begin, First::Here).await;
        let (task, cursor) = followed.map_err(to_a2a)?;
        Ok(EventFeed {
            first: Some(task),
            hidden,
            cursor,
            closing: self.closing.clone(),
            close_when_interrupted: true,
            ended: false,
        })
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
        let page = self
            .backend()
            .list(scope, request, page_size as usize)
            .await
            .map_err(to_a2a)?;
        Ok(ListTasksResponse::new(
            page.tasks,
            page.next_page_token,
            page_size,
            page.total,
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
        }
        let mut settled = self.backend().settled(scope, task_id).await;
        // A task that waits has settled already, and its turn may still be leaving.
        while let Ok(Settled::Task(task)) = &settled
            && !task.status.state.is_terminal()
        {
            let (task, generation) = self.backend().get(scope, task_id).await.map_err(to_a2a)?;
            if !task.status.state.is_terminal() {
                self.cancel_parked(scope, &task, generation).await?;
            }
            settled = self.backend().settled(scope, task_id).await;
        }
        match settled.map_err(to_a2a)? {
            Settled::Task(task) => Ok(task),
            Settled::Message(_) => Err(A2aError::task_not_found()),
        }
    }

    /// SubscribeToTask (section 3.1.6).
    pub(crate) async fn subscribe(
        &self,
        scope: &Scope,
        request: &TaskRequest,
    ) -> Result<EventFeed, A2aError> {
        // Hidden tasks are followed by their sender only.
        self.get(scope, request).await?;
        let (task, cursor) = self
            .backend()
            .follow(scope, &request.id)
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
            ended: false,
        })
    }

    /// Takes no new turns, waits for those that run, and ends the streams.
    pub(crate) async fn shut_down(&self, grace: Duration) {
        self.engine.shut_down(grace).await;
        self.closing.cancel();
    }

    fn backend(&self) -> &dyn Backend {
        &*self.shared.backend
    }

    async fn accept(
        &self,
        scope: &Scope,
        request: SendMessageRequest,
        reply: Reply,
    ) -> Result<Accepted, A2aError> {
        if request.configuration.wants_push {
            return Err(push_not_supported());
        }
        check_ids(&request.message)?;
        let permit = self.engine.admit()?;
        let begin = match request.message.task_id.clone() {
            Some(task_id) => self.follow_up(scope, &task_id, request).await?,
            None => self.new_task(scope, request, reply).await?,
        };
        Ok(Accepted { permit, begin })
    }

    async fn new_task(
        &self,
        scope: &Scope,
        request: SendMessageRequest,
        reply: Reply,
    ) -> Result<Begin, A2aError> {
        let mut message = request.message;
        let task_id = new_id();
        let context_id = message.context_id.take().unwrap_or_else(new_id);
        message.task_id = Some(Arc::clone(&task_id));
        message.context_id = Some(Arc::clone(&context_id));
        let status = TaskStatus::new(TaskState::Submitted, self.shared.clock.now());
        let mut task = Task::new(Arc::clone(&task_id), Arc::clone(&context_id), status);
        task.history.push(message.clone());
        let at_once = request.configuration.return_immediately;
        let hidden = self.visibility == TaskVisibility::WithFirstOutput && !at_once;
        let visibility = if hidden {
            Visibility::Hidden
        } else {
            Visibility::Visible
        };
        let new = NewTask { task, visibility };
        let generation = self.backend().create(scope, new).await.map_err(to_a2a)?;
        Ok(Begin {
            scope: scope.clone(),
            task_id,
            context_id,
            metadata: request.metadata,
            message,
            history: Vec::new(),
            number: 1,
            artifacts: 0,
            generation,
            direct_message: if reply == Reply::Blocking || hidden {
                DirectMessage::Possible
            } else {
                DirectMessage::TooLate
            },
            working: if hidden {
                Working::WithFirstOutput
            } else {
                Working::AtTheStart
            },
        })
    }

    async fn follow_up(
        &self,
        scope: &Scope,
        task_id: &str,
        request: SendMessageRequest,
    ) -> Result<Begin, A2aError> {
        let (task, expect) = self.backend().get(scope, task_id).await.map_err(to_a2a)?;
        let mut message = request.message;
        if let Some(context_id) = &message.context_id
            && *context_id != task.context_id
        {
            return Err(A2aError::new(
                ErrorCode::InvalidParams,
                "message.contextId: is not the context of the task; send the task's context or none",
            ));
        }
        check_continues(task.status.state)?;
        let limit = self.shared.limits.max_history_messages;
        if task.history.len() + 2 > limit {
            return Err(A2aError::new(
                ErrorCode::InvalidParams,
                format!(
                    "message.taskId: the task's history has {} messages, max_history_messages \
                     allows {limit}; begin a new task",
                    task.history.len()
                ),
            ));
        }
        message.task_id = Some(Arc::clone(&task.id));
        message.context_id = Some(Arc::clone(&task.context_id));
        let mut history = task.history.clone();
        // The question is part of what was said, once it is answered.
        history.extend(task.status.message.clone());
        let number = turn_number(&history);
        let turn_message = join_answers(&mut history, &message);
        self.check_joined(&turn_message)?;
        let event = self.status_event(&task, TaskState::Working);
        let commit = Commit {
            expect,
            message: Some(message.clone()),
            events: vec![event],
        };
        let generation = match self.backend().commit(scope, task_id, commit).await {
            // Somebody else answered or canceled first.
            Err(StoreError::Conflict | StoreError::CancelRequested) => {
                return Err(check_continues(TaskState::Working)
                    .err()
                    .unwrap_or_else(A2aError::internal));
            }
            Err(StoreError::Terminal) => return Err(ended(task.status.state)),
            other => other.map_err(to_a2a)?,
        };
        Ok(Begin {
            scope: scope.clone(),
            task_id: Arc::clone(&task.id),
            context_id: Arc::clone(&task.context_id),
            metadata: request.metadata,
            message: turn_message,
            history,
            number,
            artifacts: task.artifacts.len(),
            generation,
            direct_message: DirectMessage::TooLate,
            working: Working::Said,
        })
    }

    /// Messages that are one to the agent must be what one message may be.
    fn check_joined(&self, message: &Message) -> Result<(), A2aError> {
        let limits = &self.shared.limits;
        let bytes: usize = message.parts.iter().map(|part| part.json().len()).sum();
        for (limit, allowed, found) in [
            (
                "max_message_parts",
                limits.max_message_parts,
                message.parts.len(),
            ),
            ("max_body_bytes", limits.max_body_bytes, bytes),
        ] {
            if found > allowed {
                return Err(A2aError::new(
                    ErrorCode::InvalidParams,
                    format!(
                        "message.parts: together with those of the messages before, which were \
                         not enough, exceed {limit}: {found} where {allowed} are allowed; begin a \
                         new task"
                    ),
                ));
            }
        }
        Ok(())
    }

    fn status_event(&self, task: &Task, state: TaskState) -> StreamEvent {
        let status = TaskStatus::new(state, self.shared.clock.now());
        let (task_id, context_id) = (Arc::clone(&task.id), Arc::clone(&task.context_id));
        StreamEvent::Status(StatusUpdate::new(task_id, context_id, status))
    }

    /// Cancels a task that no turn works on. Whoever changed it meanwhile has won.
    async fn cancel_parked(
        &self,
        scope: &Scope,
        task: &Task,
        expect: Generation,
    ) -> Result<(), A2aError> {
        let event = self.status_event(task, TaskState::Canceled);
        let commit = Commit::events(expect, vec![event]);
        match self.backend().commit(scope, &task.id, commit).await {
            Ok(_) | Err(StoreError::Conflict | StoreError::Terminal) => Ok(()),
            Err(error) => Err(to_a2a(error)),
        }
    }
}

/// A stream's events, in batches of what is there.
pub(crate) struct EventFeed {
    first: Option<Arc<Task>>,
    /// Whether the task is shown only when there is something else than a direct message.
    hidden: bool,
    cursor: Box<dyn LogCursor>,
    closing: CancellationToken,
    close_when_interrupted: bool,
    ended: bool,
}

impl EventFeed {
    /// The next events, at least one; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<VecDeque<Arc<StreamEvent>>>, A2aError> {
        if self.ended {
            return Ok(None);
        }
        let shown = (self.first.take_if(|_| !self.hidden)).map(StreamEvent::Task);
        let next = match shown {
            // With the task goes what is there already: one write instead of two.
            Some(_) => self
                .cursor
                .next()
                .now_or_never()
                .unwrap_or(Ok(Some(Vec::new()))),
            None => tokio::select! {
                biased;
                next = self.cursor.next() => next,
                // The server stops and no turn is left: what waits can be followed again later.
                () = self.closing.cancelled() => Ok(None),
            },
        };
        let mut events: VecDeque<_> = match next.map_err(to_a2a)? {
            Some(events) => events.into(),
            None if shown.is_some() => VecDeque::new(),
            None => {
                self.ended = true;
                return Ok(None);
            }
        };
        let direct = matches!(events.front().map(|e| &**e), Some(StreamEvent::Message(_)));
        let first = shown.or_else(|| self.first.take().map(StreamEvent::Task));
        if let (Some(task), false) = (first, direct) {
            events.push_front(Arc::new(task));
        }
        self.hidden = false;
        let last = |event: &Arc<StreamEvent>| {
            event.state().is_some_and(|state| {
                state.is_terminal() || (self.close_when_interrupted && state.is_interrupted())
            })
        };
        if let Some(at) = events.iter().position(last) {
            events.truncate(at + 1);
            self.ended = true;
        }
        self.ended |= direct;
        Ok(Some(events))
    }
}

/// The operations of push notifications, which this server has not.
pub(crate) fn push_not_supported() -> A2aError {
    A2aError::new(
        ErrorCode::PushNotificationNotSupported,
        "this agent sends no push notifications; stream, subscribe or ask with GetTask",
    )
}

/// GetExtendedAgentCard, which this server has not.
pub(crate) fn no_extended_card() -> A2aError {
    A2aError::new(
        ErrorCode::UnsupportedOperation,
        "this agent has no extended card; its card is at /.well-known/agent-card.json",
    )
}

/// Which turn the message after `history` begins. Messages that the server's own questions follow
/// had none.
fn turn_number(history: &[Message]) -> usize {
    let asked = history
        .iter()
        .filter(|said| is_contract_question(said))
        .count();
    let said = history
        .iter()
        .filter(|said| said.role == Role::User)
        .count();
    1 + said - asked.min(said)
}

/// The message that a turn answers. Where the server itself had asked for inputs, the agent has
/// not run yet: the messages before and after such a question are one to it, and leave the
/// history.
fn join_answers(history: &mut Vec<Message>, message: &Message) -> Message {
    let mut joined = message.clone();
    while let [.., asked, question] = &history[..]
        && asked.role == Role::User
        && is_contract_question(question)
    {
        joined.parts = asked
            .parts
            .iter()
            .chain(joined.parts.iter())
            .cloned()
            .collect();
        history.truncate(history.len() - 2);
    }
    joined
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

fn to_a2a(error: StoreError) -> A2aError {
    match error {
        StoreError::NotFound => A2aError::task_not_found(),
        StoreError::Full { limit, allowed } => A2aError::new(
            ErrorCode::Unavailable,
            format!(
                "the server has no room: {limit} is reached, which is {allowed}; try again later"
            ),
        ),
        StoreError::PageToken => A2aError::new(
            ErrorCode::InvalidParams,
            "pageToken: is not one of this server's; use the nextPageToken of the page before",
        ),
        other => {
            tracing::error!(error = %other, "the store failed");
            A2aError::internal()
        }
    }
}
