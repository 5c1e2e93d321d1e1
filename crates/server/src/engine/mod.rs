//! Runs turns: one task of the runtime each, which no client's connection holds.

mod keep;
mod per_caller;
mod run;
mod running;

use std::future::{Future as _, poll_fn};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt as _;
use llamon_client::trace::within;
use llamon_core::a2a::{A2aError, ErrorCode, TaskState};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Span;

use crate::agent::ErasedAgent;
use crate::backend::Worker;
use crate::scope::Scope;
use crate::shared::Shared;
use crate::turn::{Begin, Turn};
use per_caller::{PerCaller, Place};
use run::{Run, RunAgain, end};
use running::Running;

/// How often a turn may be run, on a backend that survives the death of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Execution {
    /// A turn whose process has died is run again, from its beginning. One that its process has
    /// not survived `max_attempts` times fails.
    AtLeastOnce {
        /// How many processes a turn may take with it.
        max_attempts: u32,
    },
    /// A turn whose process has died or was stopped fails: its effects must not happen twice.
    AtMostOnce,
}

impl Default for Execution {
    /// At least once, three attempts.
    fn default() -> Self {
        Self::AtLeastOnce { max_attempts: 3 }
    }
}

/// The turns of one server.
pub(crate) struct Engine {
    agent: ErasedAgent,
    shared: Arc<Shared>,
    cancel_grace: Duration,
    permits: Arc<Semaphore>,
    /// Where callers have a limit of their own.
    per_caller: Option<Arc<PerCaller>>,
    running: Arc<Running>,
    /// Fires when the server has waited long enough for its turns.
    stop: CancellationToken,
    turns: TaskTracker,
    execution: Execution,
    /// Wakes who looks after the store.
    nudge: Arc<Notify>,
    kept: AtomicBool,
    upkeep_interval: Duration,
}

/// Where a turn begins to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// On the caller's thread, up to its first wait.
    Here,
    /// Elsewhere: the caller answers its client before.
    Elsewhere,
}

/// Room for one turn, taken before its task is created.
pub(crate) struct Permit {
    _room: OwnedSemaphorePermit,
    /// The caller's own, where callers have a limit.
    _place: Option<Place>,
}

impl Engine {
    pub(crate) fn new(
        agent: ErasedAgent,
        shared: Arc<Shared>,
        execution: Execution,
        cancel_grace: Duration,
        upkeep_interval: Duration,
        turns_per_caller: Option<usize>,
    ) -> Self {
        Self {
            upkeep_interval,
            execution,
            nudge: Arc::default(),
            kept: AtomicBool::new(false),
            agent,
            cancel_grace,
            per_caller: turns_per_caller.map(PerCaller::new),
            permits: Arc::new(Semaphore::new(shared.limits.max_concurrent_turns)),
            shared,
            running: Arc::default(),
            stop: CancellationToken::new(),
            turns: TaskTracker::new(),
        }
    }

    /// Who runs the turns of this server.
    pub(crate) fn worker(&self) -> &Arc<Worker> {
        &self.shared.worker
    }

    /// Takes room for a turn.
    pub(crate) fn admit(&self) -> Result<Permit, A2aError> {
        if self.turns.is_closed() {
            let message = "the server is stopping; send the message to it again later";
            return Err(A2aError::new(ErrorCode::Unavailable, message));
        }
        match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(room) => Ok(Permit {
                _room: room,
                _place: None,
            }),
            Err(_) => Err(A2aError::new(
                ErrorCode::Unavailable,
                format!(
                    "the server runs as many turns as max_concurrent_turns allows, which is {}; \
                     send the message again later",
                    self.shared.limits.max_concurrent_turns
                ),
            )),
        }
    }

    /// Takes room for a turn that this caller asks for. Who is not known has no limit of its own:
    /// everybody shares that scope.
    pub(crate) fn admit_for(&self, scope: &Scope) -> Result<Permit, A2aError> {
        let mut permit = self.admit()?;
        if let (Some(callers), Some(_)) = (&self.per_caller, scope.principal()) {
            let place = callers.take(scope);
            permit._place = Some(place.ok_or_else(|| {
                A2aError::new(
                    ErrorCode::TooManyRequests,
                    format!(
                        "this caller runs as many turns as max_turns_per_caller allows, which is \
                         {}; send the message again when one of them has ended",
                        callers.most()
                    ),
                )
            })?);
        }
        Ok(permit)
    }

    /// Runs a turn as a task of its own. With [`First::Here`] it runs up to its first wait before
    /// that: an agent that has its answer at once costs no switch between threads.
    ///
    /// Does not wait: the future is ready when it is polled.
    pub(crate) async fn start(&self, permit: Permit, begin: Begin, first: First) {
        // A cancel of the task and a stop of the server reach the agent as one signal.
        let token = self.stop.child_token();
        let live = Running::enter(&self.running, &begin, token.clone());
        let run = Run {
            agent: self.agent.clone(),
            cancel_grace: self.cancel_grace,
            token: token.clone(),
            stop: self.stop.clone(),
            again: if self.shared.runs_again {
                RunAgain::ByClaim(Arc::clone(&self.shared.worker))
            } else {
                RunAgain::Never
            },
        };
        let (trace, span) = (begin.trace.clone(), self.span(&begin));
        let turn = Turn::new(begin, Arc::clone(&self.shared), token, self.stop.clone());
        // Tracked from here on, so that a stop of the server does not overlook it.
        let running = self.turns.track_future(async move {
            let running = AssertUnwindSafe(run.run(turn.clone())).catch_unwind().await;
            if let Err(panic) = running {
                // Only user code in an unexpected place gets here; its task must end all the same.
                std::mem::forget(panic);
                let task_id = turn.task_id();
                tracing::error!(task = %task_id, "the turn panicked");
                end(&turn, task_id, TaskState::Failed, Some("the agent failed")).await;
            }
            drop((live, permit));
        });
        let mut running = Box::pin(within(trace, span, running));
        if first == First::Here {
            let polled = poll_fn(|context| Poll::Ready(running.as_mut().poll(context))).await;
            if polled.is_ready() {
                return;
            }
        }
        tokio::spawn(running);
    }

    /// The span of a turn, for who records traces.
    fn span(&self, begin: &Begin) -> Span {
        tracing::info_span!(
            "turn",
            otel.kind = "server",
            agent = %self.shared.agent_name,
            task = %begin.task_id,
            context = %begin.context_id,
            number = begin.number,
            attempt = begin.attempt,
        )
    }

    /// Tells the turn that runs for a task to end. Whether there is one.
    pub(crate) fn cancel(&self, scope: &Scope, task_id: &str) -> bool {
        self.running.cancel(scope, task_id)
    }

    /// Has the store looked at, for turns that nobody runs.
    pub(crate) fn nudge(&self) {
        self.nudge.notify_one();
    }

    /// Takes no new turn from now on and waits until those that run have ended; what still runs
    /// after `grace` is told to end, and dropped after the cancel grace.
    pub(crate) async fn shut_down(&self, grace: Duration) {
        self.turns.close();
        if tokio::time::timeout(grace, self.turns.wait())
            .await
            .is_err()
        {
            self.stop.cancel();
            self.turns.wait().await;
        }
    }
}
