//! Runs turns: one task of the runtime each, which no client's connection holds.

use std::collections::HashMap;
use std::future::{Future as _, poll_fn};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt as _;
use llamon_core::a2a::{A2aError, ErrorCode, TaskState};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agent::ErasedAgent;
use crate::agent_error::{AgentError, Cause};
use crate::answer::Answer;
use crate::backend::StoreError;
use crate::scope::Scope;
use crate::turn::{Begin, Shared, Turn, Unanswered};

/// The turns of one server.
pub(crate) struct Engine {
    agent: ErasedAgent,
    shared: Arc<Shared>,
    cancel_grace: Duration,
    permits: Arc<Semaphore>,
    running: Arc<Running>,
    /// Fires when the server has waited long enough for its turns.
    stop: CancellationToken,
    turns: TaskTracker,
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
}

impl Engine {
    pub(crate) fn new(agent: ErasedAgent, shared: Arc<Shared>, cancel_grace: Duration) -> Self {
        Self {
            agent,
            cancel_grace,
            permits: Arc::new(Semaphore::new(shared.limits.max_concurrent_turns)),
            shared,
            running: Arc::default(),
            stop: CancellationToken::new(),
            turns: TaskTracker::new(),
        }
    }

    /// Takes room for a turn.
    pub(crate) fn admit(&self) -> Result<Permit, A2aError> {
        if self.turns.is_closed() {
            let message = "the server is stopping; send the message to it again later";
            return Err(A2aError::new(ErrorCode::Unavailable, message));
        }
        match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(room) => Ok(Permit { _room: room }),
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
        };
        let turn = Turn::new(begin, Arc::clone(&self.shared), token);
        // Tracked from here on, so that a stop of the server does not overlook it.
        let mut running = Box::pin(self.turns.track_future(async move {
            let running = AssertUnwindSafe(run.run(turn.clone())).catch_unwind().await;
            if let Err(panic) = running {
                // Only user code in an unexpected place gets here; its task must end all the same.
                std::mem::forget(panic);
                let task_id = turn.task_id();
                tracing::error!(task = %task_id, "the turn panicked");
                end(&turn, task_id, TaskState::Failed, Some("the agent failed")).await;
            }
            drop((live, permit));
        }));
        if first == First::Here {
            let polled = poll_fn(|context| Poll::Ready(running.as_mut().poll(context))).await;
            if polled.is_ready() {
                return;
            }
        }
        tokio::spawn(running);
    }

    /// Tells the turn that runs for a task to end. Whether there is one.
    pub(crate) fn cancel(&self, scope: &Scope, task_id: &str) -> bool {
        self.running.cancel(scope, task_id)
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

/// How one turn is run.
struct Run {
    agent: ErasedAgent,
    cancel_grace: Duration,
    token: CancellationToken,
    stop: CancellationToken,
}

/// How the agent's code ended.
enum Outcome {
    Answered(Answer),
    Failed(AgentError),
    Panicked,
    Dropped,
}

impl Run {
    async fn run(&self, turn: Turn) {
        let task_id = turn.task_id().to_owned();
        if let Err(error) = turn.begin().await {
            // A cancel was faster than the turn, or the store is broken.
            tracing::warn!(task = %task_id, %error, "the turn could not begin");
            return self.fail(&turn, &task_id, "the turn could not begin").await;
        }
        if let Err(miss) = turn.select() {
            let missed = turn.miss(&miss).await;
            return self.ended(&turn, &task_id, missed).await;
        }
        let outcome = self.run_agent(turn.clone()).await;
        if self.token.is_cancelled() && !self.stop.is_cancelled() {
            return end(&turn, &task_id, TaskState::Canceled, None).await;
        }
        match outcome {
            Outcome::Answered(answer) => self.answer(&turn, &task_id, answer).await,
            Outcome::Failed(error) => {
                // An error's own text and drop are the agent's code, too.
                let reason = guarded(|| reason(&task_id, error));
                let reason = reason.unwrap_or_else(|| panic_reason(&task_id));
                self.fail(&turn, &task_id, &reason).await;
            }
            Outcome::Panicked => {
                let reason = panic_reason(&task_id);
                self.fail(&turn, &task_id, &reason).await;
            }
            Outcome::Dropped => self.fail(&turn, &task_id, "the server stopped").await,
        }
    }

    async fn run_agent(&self, turn: Turn) -> Outcome {
        // The function itself can panic before there is a future.
        let Some(mut future) = guarded(|| self.agent.run(turn.clone())) else {
            return Outcome::Panicked;
        };
        let outcome = {
            let mut running = AssertUnwindSafe(&mut future).catch_unwind();
            // Without a budget: an agent that never waits for anything but its own output uses up
            // the turn's, and the timer would never be looked at.
            let told_to_end = tokio::task::coop::unconstrained(async {
                turn.cancelled().await;
                tokio::time::sleep(self.cancel_grace).await;
            });
            tokio::select! {
                biased;
                result = &mut running => match result {
                    Ok(Ok(answer)) => Outcome::Answered(answer),
                    Ok(Err(error)) => Outcome::Failed(error),
                    Err(panic) => {
                        // Its drop may panic again.
                        std::mem::forget(panic);
                        Outcome::Panicked
                    }
                },
                () = told_to_end => Outcome::Dropped,
            }
        };
        // What the agent holds is dropped before its task ends, and may panic, too.
        match guarded(|| drop(future)) {
            Some(()) => outcome,
            None => Outcome::Panicked,
        }
    }

    async fn answer(&self, turn: &Turn, task_id: &str, answer: Answer) {
        let answered = turn.answer(answer).await;
        self.ended(turn, task_id, answered).await;
    }

    async fn ended(&self, turn: &Turn, task_id: &str, ended: Result<(), Unanswered>) {
        match ended {
            Ok(()) => {}
            Err(Unanswered::Limit(exceeded)) => {
                tracing::warn!(task = %task_id, %exceeded, "the answer exceeds a limit");
                self.fail(turn, task_id, &exceeded.to_string()).await;
            }
            Err(Unanswered::Message(reason)) => {
                tracing::error!(task = %task_id, reason, "the agent's answer is not possible");
                self.fail(turn, task_id, reason).await;
            }
            Err(Unanswered::Store(StoreError::CancelRequested)) => {
                end(turn, task_id, TaskState::Canceled, None).await;
            }
            Err(Unanswered::Store(StoreError::Terminal | StoreError::NotFound)) => {}
            Err(Unanswered::Store(error)) => {
                let log_id = uuid::Uuid::new_v4();
                tracing::error!(task = %task_id, %log_id, %error, "the answer could not be stored");
                let reason = format!(
                    "the answer could not be stored; the server's log has the reason under {log_id}"
                );
                self.fail(turn, task_id, &reason).await;
            }
        }
    }

    async fn fail(&self, turn: &Turn, task_id: &str, reason: &str) {
        let reason = if self.stop.is_cancelled() {
            "the server stopped before the turn had ended; send the message again"
        } else {
            reason
        };
        end(turn, task_id, TaskState::Failed, Some(reason)).await;
    }
}

/// Ends the turn without an answer; a cancel that was accepted meanwhile wins over a failure.
async fn end(turn: &Turn, task_id: &str, state: TaskState, reason: Option<&str>) {
    let mut ended = turn.end_without_answer(state, reason).await;
    if ended == Err(StoreError::CancelRequested) {
        ended = turn.end_without_answer(TaskState::Canceled, None).await;
    }
    match ended {
        Ok(()) | Err(StoreError::Terminal | StoreError::NotFound) => {}
        Err(error) => tracing::error!(task = %task_id, %error, "the end of the turn is not stored"),
    }
}

/// Runs an agent's code; `None` if it panics. The panic's value is leaked, because its drop is the
/// agent's code as well and could panic while something else unwinds, which would end the process.
fn guarded<T>(code: impl FnOnce() -> T) -> Option<T> {
    match std::panic::catch_unwind(AssertUnwindSafe(code)) {
        Ok(value) => Some(value),
        Err(panic) => {
            std::mem::forget(panic);
            None
        }
    }
}

/// What the caller reads when the agent's code has panicked.
fn panic_reason(task_id: &str) -> String {
    let log_id = uuid::Uuid::new_v4();
    tracing::error!(task = %task_id, %log_id, "the agent panicked");
    format!("the agent failed; the server's log has the reason under {log_id}")
}

/// What the caller reads of an agent's error.
fn reason(task_id: &str, error: AgentError) -> String {
    match error.into_cause() {
        Cause::Public(message) => message,
        Cause::Limit(exceeded) => exceeded.to_string(),
        Cause::Ended => "the agent went on after its turn had ended".to_owned(),
        Cause::Internal(error) => {
            let log_id = uuid::Uuid::new_v4();
            let causes = std::iter::successors(error.source(), |cause| cause.source());
            let causes: Vec<String> = causes.map(ToString::to_string).collect();
            tracing::error!(task = %task_id, %log_id, %error, ?causes, "the agent failed");
            format!("the agent failed; the server's log has the reason under {log_id}")
        }
    }
}

/// The turns that run, so that a cancel finds them; at most one of each task.
#[derive(Default)]
struct Running {
    turns: Mutex<HashMap<Arc<str>, LiveTurn>>,
    count: AtomicU64,
}

struct LiveTurn {
    number: u64,
    scope: Scope,
    token: CancellationToken,
}

/// Keeps a turn in the registry while it runs.
struct Live {
    running: Arc<Running>,
    task_id: Arc<str>,
    number: u64,
}

impl Running {
    fn enter(running: &Arc<Self>, begin: &Begin, token: CancellationToken) -> Live {
        let number = running.count.fetch_add(1, Ordering::Relaxed);
        let turn = LiveTurn {
            number,
            scope: begin.scope.clone(),
            token,
        };
        running.lock().insert(Arc::clone(&begin.task_id), turn);
        Live {
            running: Arc::clone(running),
            task_id: Arc::clone(&begin.task_id),
            number,
        }
    }

    fn cancel(&self, scope: &Scope, task_id: &str) -> bool {
        let turns = self.lock();
        let turn = turns.get(task_id).filter(|turn| turn.scope == *scope);
        if let Some(turn) = turn {
            turn.token.cancel();
        }
        turn.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, LiveTurn>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let mut turns = self.running.lock();
        // The task's next turn can have begun before this one has left.
        if turns
            .get(&self.task_id)
            .is_some_and(|turn| turn.number == self.number)
        {
            turns.remove(&self.task_id);
        }
    }
}
