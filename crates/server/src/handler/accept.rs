//! From a message to a turn: the task and the message are stored before the turn begins, and a
//! client that goes away meanwhile undoes nothing.

use std::future::{Future as _, poll_fn};
use std::sync::Arc;
use std::task::Poll;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use llamon_client::trace::TraceContext;
use llamon_core::a2a::{
    A2aError, ErrorCode, Message, PushConfig, SendMessageRequest, Task, TaskState, TaskStatus,
};

use tokio_util::sync::CancellationToken;

use super::{
    Handler, TaskVisibility, check_continues, check_delegation, check_ids, ended, new_id, to_a2a,
};
use crate::backend::{
    Commit, Committed, Created, Durability, Fence, Generation, LogCursor, MessageKey, NewTask,
    Position, ReadFrom, Seen, Settled, StoreError, Visibility,
};
use crate::call::{ActiveExtensions, Call};
use crate::engine::First;
use crate::push::too_many;
use crate::scope::Scope;
use crate::turn::{
    Begin, DirectMessage, Leftover, Negotiated, Working, join_answers, turn_number, work,
};

/// How a client wants its message answered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    /// With the task or message when it has settled.
    Settled,
    /// With the task as it begins.
    AtOnce,
    /// With a stream.
    Stream,
}

/// What there is to answer a sender with.
pub(super) enum Begun {
    Task(Arc<Task>),
    Message(Arc<Message>),
    Waiting {
        task_id: Arc<str>,
        settled: BoxFuture<'static, Result<Settled, StoreError>>,
        /// Fires when the turn will be run again, nobody knows when.
        left: Option<CancellationToken>,
    },
    Followed {
        task: Arc<Task>,
        cursor: Box<dyn LogCursor>,
        hidden: bool,
    },
}

/// A message that is stored.
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart as soon as it is there"
)]
enum Accepted {
    /// Its turn can begin.
    Turn(Begin),
    /// It came before.
    Repeated(Seen),
}

/// What goes beside the message.
struct Extras {
    negotiated: Negotiated,
    trace: Option<TraceContext>,
    push: Option<Arc<PushConfig>>,
    once: Option<MessageKey>,
}

impl Handler {
    /// Stores the message and starts its turn. Once polled, that happens also if the future is
    /// dropped.
    pub(super) async fn begin(
        self: &Arc<Self>,
        call: &Call,
        request: SendMessageRequest,
        reply: Reply,
    ) -> Result<Begun, A2aError> {
        let handler = Arc::clone(self);
        let mut accepting = Box::pin(handler.accept(call.clone(), request, reply));
        // A store in memory never waits, and then no thread is switched.
        match poll_fn(|context| Poll::Ready(accepting.as_mut().poll(context))).await {
            Poll::Ready(begun) => begun,
            Poll::Pending => tokio::spawn(accepting).await.unwrap_or_else(|error| {
                tracing::error!(%error, "a message could not be accepted");
                Err(A2aError::internal())
            }),
        }
    }

    async fn accept(
        self: Arc<Self>,
        call: Call,
        mut request: SendMessageRequest,
        reply: Reply,
    ) -> Result<Begun, A2aError> {
        check_ids(&request.message)?;
        check_delegation(request.metadata.as_deref(), self.limits())?;
        if let Some(modes) = &self.shared.input_modes {
            super::modes::check(&request.message, modes)?;
        }
        let Call {
            scope,
            extensions,
            trace,
            ..
        } = call;
        let extras = self.extras(&mut request, extensions, trace)?;
        if let Some(key) = &extras.once
            && let Some(seen) = self.backend().seen(&scope, key).await.map_err(to_a2a)?
        {
            // It needs no room: nothing runs for it again.
            return self.answer_repeated(&scope, seen, reply).await;
        }
        let permit = self.engine.admit_for(&scope)?;
        let notifies = extras.push.is_some();
        let accepted = match request.message.task_id.clone() {
            Some(task_id) => self.follow_up(&scope, &task_id, request, extras).await?,
            None => self.new_task(&scope, request, reply, extras).await?,
        };
        let mut begin = match accepted {
            Accepted::Turn(begin) => begin,
            Accepted::Repeated(seen) => return self.answer_repeated(&scope, seen, reply).await,
        };
        let task_id = Arc::clone(&begin.task_id);
        self.hint_push(&scope, &begin, notifies);
        match reply {
            Reply::AtOnce => {
                let task = self.backend().get(&scope, &task_id).await;
                self.engine.start(permit, begin, First::Elsewhere).await;
                Ok(Begun::Task(task.map_err(to_a2a)?.0))
            }
            Reply::Settled => {
                let is_durable = self.shared.durability == Durability::Durable;
                let left = is_durable.then(CancellationToken::new);
                begin.left.clone_from(&left);
                // Wait before the turn begins: a task can be finished and gone right after it has
                // begun.
                let mut settled = self.settled(scope, Arc::clone(&task_id));
                let waiting = poll_fn(|context| Poll::Ready(settled.as_mut().poll(context))).await;
                self.engine.start(permit, begin, First::Here).await;
                let settled = match waiting {
                    Poll::Ready(settled) => std::future::ready(settled).boxed(),
                    Poll::Pending => settled,
                };
                Ok(Begun::Waiting {
                    task_id,
                    settled,
                    left,
                })
            }
            Reply::Stream => {
                let followed = self.backend().follow(&scope, &task_id, ReadFrom::Now).await;
                let hidden = begin.working == Working::WithFirstOutput;
                self.engine.start(permit, begin, First::Here).await;
                let (task, cursor) = followed.map_err(to_a2a)?;
                Ok(Begun::Followed {
                    task,
                    cursor,
                    hidden,
                })
            }
        }
    }

    /// Has receivers served that the message has added to, or that were left while the task waited.
    fn hint_push(&self, scope: &Scope, begin: &Begin, notifies: bool) {
        let Some(push) = self.push_engine() else {
            return;
        };
        if begin.number > 1 {
            push.hint();
        } else if notifies {
            let task_id = Arc::clone(&begin.task_id);
            push.watch(scope.clone(), task_id, ReadFrom::After(Position(0)));
        }
    }

    /// What a message is answered with that came before.
    async fn answer_repeated(
        &self,
        scope: &Scope,
        seen: Seen,
        reply: Reply,
    ) -> Result<Begun, A2aError> {
        let task_id = match seen {
            Seen::Message(message) => return Ok(Begun::Message(message)),
            Seen::Task(task_id) => task_id,
        };
        match reply {
            Reply::AtOnce => {
                let task = self.backend().get(scope, &task_id).await;
                Ok(Begun::Task(task.map_err(to_a2a)?.0))
            }
            Reply::Settled => Ok(Begun::Waiting {
                settled: self.settled(scope.clone(), Arc::clone(&task_id)),
                task_id,
                left: None,
            }),
            Reply::Stream => {
                let followed = self.backend().follow(scope, &task_id, ReadFrom::Now).await;
                let (task, cursor) = followed.map_err(to_a2a)?;
                Ok(Begun::Followed {
                    task,
                    cursor,
                    hidden: false,
                })
            }
        }
    }

    fn settled(
        &self,
        scope: Scope,
        task_id: Arc<str>,
    ) -> BoxFuture<'static, Result<Settled, StoreError>> {
        let backend = Arc::clone(&self.shared.backend);
        async move { backend.settled(&scope, &task_id).await }.boxed()
    }

    fn extras(
        &self,
        request: &mut SendMessageRequest,
        extensions: ActiveExtensions,
        trace: Option<TraceContext>,
    ) -> Result<Extras, A2aError> {
        let push = request.configuration.push.take();
        let push = push.map(|config| self.prepare_push(config)).transpose()?;
        // A message's id is no idempotency key, unless the client makes it one.
        let repeats = extensions.recognise_repeats();
        let once = repeats.then(|| message_key(&request.message));
        let negotiated = Negotiated {
            extensions: extensions.0,
            output_modes: std::mem::take(&mut request.configuration.accepted_output_modes),
        };
        Ok(Extras {
            negotiated,
            trace,
            push,
            once,
        })
    }

    async fn new_task(
        &self,
        scope: &Scope,
        request: SendMessageRequest,
        reply: Reply,
        extras: Extras,
    ) -> Result<Accepted, A2aError> {
        let mut message = request.message;
        let task_id = new_id();
        let context_id = message.context_id.take().unwrap_or_else(new_id);
        message.task_id = Some(Arc::clone(&task_id));
        message.context_id = Some(Arc::clone(&context_id));
        let status = TaskStatus::new(TaskState::Submitted, self.shared.clock.now());
        let mut task = Task::new(Arc::clone(&task_id), Arc::clone(&context_id), status);
        task.history.push(message.clone());
        let hidden = self.visibility == TaskVisibility::WithFirstOutput && reply != Reply::AtOnce;
        let new = NewTask {
            task,
            visibility: if hidden {
                Visibility::Hidden
            } else {
                Visibility::Visible
            },
            work: self.work(0, hidden, request.metadata.as_ref(), &extras),
            push: extras.push,
            once: extras.once,
        };
        let (generation, fence) = match self.backend().create(scope, new).await.map_err(to_a2a)? {
            Created::New { generation, fence } => (generation, fence),
            Created::Repeated(seen) => return Ok(Accepted::Repeated(seen)),
        };
        Ok(Accepted::Turn(Begin {
            scope: scope.clone(),
            task_id,
            context_id,
            metadata: request.metadata,
            negotiated: extras.negotiated,
            trace: extras.trace,
            message,
            history: Vec::new(),
            number: 1,
            artifacts: 0,
            generation,
            fence,
            attempt: 1,
            leftover: Leftover::Nothing,
            direct_message: if reply == Reply::Settled || hidden {
                DirectMessage::Possible
            } else {
                DirectMessage::TooLate
            },
            working: if hidden {
                Working::WithFirstOutput
            } else {
                Working::AtTheStart
            },
            left: None,
        }))
    }

    async fn follow_up(
        &self,
        scope: &Scope,
        task_id: &str,
        request: SendMessageRequest,
        extras: Extras,
    ) -> Result<Accepted, A2aError> {
        let (task, expect) = self.backend().get(scope, task_id).await.map_err(to_a2a)?;
        let mut message = request.message;
        self.check_follow_up(&task, &message)?;
        message.task_id = Some(Arc::clone(&task.id));
        message.context_id = Some(Arc::clone(&task.context_id));
        let mut history = task.history.clone();
        // The question is part of what was said, once it is answered.
        history.extend(task.status.message.clone());
        let number = turn_number(&history);
        let turn_message = join_answers(&mut history, &message);
        self.check_joined(&turn_message)?;
        let artifacts = task.artifacts.len();
        let commit = Commit {
            expect,
            fence: None,
            message: Some(message),
            events: vec![self.shared.status_event(
                &task.id,
                &task.context_id,
                TaskState::Working,
                None,
            )],
            work: Some(self.work(artifacts, false, request.metadata.as_ref(), &extras)),
            push: extras.push,
            once: extras.once,
        };
        let Some((generation, fence)) = self.commit_follow_up(scope, &task, commit).await? else {
            return Ok(Accepted::Repeated(Seen::Task(Arc::clone(&task.id))));
        };
        Ok(Accepted::Turn(Begin {
            scope: scope.clone(),
            task_id: Arc::clone(&task.id),
            context_id: Arc::clone(&task.context_id),
            metadata: request.metadata,
            negotiated: extras.negotiated,
            trace: extras.trace,
            message: turn_message,
            history,
            number,
            artifacts,
            generation,
            fence,
            attempt: 1,
            leftover: Leftover::Nothing,
            direct_message: DirectMessage::TooLate,
            working: Working::Said,
            left: None,
        }))
    }

    /// `None` where the message came before.
    async fn commit_follow_up(
        &self,
        scope: &Scope,
        task: &Task,
        commit: Commit,
    ) -> Result<Option<(Generation, Fence)>, A2aError> {
        match self.backend().commit(scope, &task.id, commit).await {
            Ok(Committed::New { generation, fence }) => Ok(Some((generation, fence))),
            Ok(Committed::Repeated) => Ok(None),
            // Somebody else answered or canceled first.
            Err(StoreError::Conflict | StoreError::CancelRequested) => {
                Err(check_continues(TaskState::Working)
                    .err()
                    .unwrap_or_else(A2aError::internal))
            }
            Err(StoreError::Terminal) => Err(ended(task.status.state)),
            Err(error) => Err(too_many(error)),
        }
    }

    fn work(
        &self,
        artifacts: usize,
        hidden: bool,
        metadata: Option<&String>,
        extras: &Extras,
    ) -> crate::backend::NewWork {
        let worker = self.engine.worker().id();
        let durability = self.shared.durability;
        let Extras {
            negotiated, trace, ..
        } = extras;
        let trace = trace.as_ref();
        work(
            worker, durability, artifacts, hidden, metadata, negotiated, trace,
        )
    }

    fn check_follow_up(&self, task: &Task, message: &Message) -> Result<(), A2aError> {
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
        Ok(())
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
}

/// What the message is recognised by when it comes again.
fn message_key(message: &Message) -> MessageKey {
    let mut text = String::new();
    message.write(&mut text);
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let mut hash = [0; 32];
    hash.copy_from_slice(digest.as_ref());
    MessageKey {
        message_id: message.message_id.as_str().into(),
        hash,
    }
}
