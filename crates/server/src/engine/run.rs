//! How one turn is run: its agent's code may fail, panic, hang or go on too long.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use llamon_core::a2a::TaskState;
use tokio_util::sync::CancellationToken;

use crate::agent::ErasedAgent;
use crate::agent_error::{AgentError, Cause};
use crate::answer::Answer;
use crate::backend::{StoreError, Worker};
use crate::turn::{Turn, Unanswered};

/// How one turn is run.
pub(super) struct Run {
    pub(super) agent: ErasedAgent,
    pub(super) cancel_grace: Duration,
    pub(super) token: CancellationToken,
    pub(super) stop: CancellationToken,
    /// Whether a turn that cannot end here is run again elsewhere or later.
    pub(super) again: RunAgain,
}

/// What becomes of a turn that the server or its store keeps from ending.
#[derive(Clone, Debug)]
pub(super) enum RunAgain {
    /// Its task fails.
    Never,
    /// It goes back to the store, and whoever claims it runs it again.
    ByClaim(Arc<Worker>),
}

/// How the agent's code ended.
enum Outcome {
    Answered(Answer),
    Asked,
    Failed(AgentError),
    /// With the panic's text.
    Panicked(String),
    Dropped,
}

impl Run {
    pub(super) async fn run(&self, turn: Turn) {
        let task_id = turn.task_id().to_owned();
        if let Err(error) = turn.begin().await {
            // A cancel was faster than the turn, or the store is broken.
            tracing::warn!(task = %task_id, %error, "the turn could not begin");
            if error.is_temporary() && self.leave(&turn, &task_id).await {
                return;
            }
            return self.fail(&turn, &task_id, "the turn could not begin").await;
        }
        if let Some(asked) = turn.ask_again().await {
            return self.ended(&turn, &task_id, asked).await;
        }
        if let Err(miss) = turn.select() {
            let missed = turn.miss(&miss).await;
            return self.ended(&turn, &task_id, missed).await;
        }
        let outcome = self.run_agent(turn.clone()).await;
        if self.token.is_cancelled() && !self.stop.is_cancelled() {
            return end(&turn, &task_id, TaskState::Canceled, None).await;
        }
        let undone = match outcome {
            Outcome::Answered(_) | Outcome::Asked | Outcome::Panicked(_) => false,
            Outcome::Failed(_) => self.stop.is_cancelled() || turn.lost_output().await,
            Outcome::Dropped => true,
        };
        if undone && self.leave(&turn, &task_id).await {
            return;
        }
        match outcome {
            Outcome::Answered(answer) => self.answer(&turn, &task_id, answer).await,
            Outcome::Asked => {
                let asked = turn.end_with_questions().await;
                self.ended(&turn, &task_id, asked).await;
            }
            Outcome::Failed(error) => {
                // An error's own text and drop are the agent's code, too.
                let reason = guarded(|| reason(&task_id, error));
                let reason = reason.unwrap_or_else(|panic| panic_reason(&task_id, &panic));
                self.fail(&turn, &task_id, &reason).await;
            }
            Outcome::Panicked(panic) => {
                let reason = panic_reason(&task_id, &panic);
                self.fail(&turn, &task_id, &reason).await;
            }
            Outcome::Dropped => self.fail(&turn, &task_id, "the server stopped").await,
        }
    }

    async fn run_agent(&self, turn: Turn) -> Outcome {
        // The function itself can panic before there is a future.
        let mut future = match guarded(|| self.agent.run(turn.clone())) {
            Ok(future) => future,
            Err(panic) => return Outcome::Panicked(panic),
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
                    Err(panic) => Outcome::Panicked(text_of(panic)),
                },
                // Nothing that the agent could still do counts: it runs again with the answer.
                () = turn.asked() => Outcome::Asked,
                () = told_to_end => Outcome::Dropped,
            }
        };
        // What the agent holds is dropped before its task ends, and may panic, too.
        match guarded(|| drop(future)) {
            Ok(()) => outcome,
            Err(panic) => Outcome::Panicked(panic),
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
            Err(Unanswered::Store(
                StoreError::Terminal | StoreError::NotFound | StoreError::Fenced,
            )) => {}
            Err(Unanswered::Store(error)) => {
                if error.is_temporary() && self.leave(turn, task_id).await {
                    return;
                }
                let log_id = uuid::Uuid::new_v4();
                tracing::error!(task = %task_id, %log_id, %error, "the answer could not be stored");
                let reason = format!(
                    "the answer could not be stored; the server's log has the reason under {log_id}"
                );
                self.fail(turn, task_id, &reason).await;
            }
        }
    }

    /// Gives a turn back that cannot end here. Whether it will be run again.
    async fn leave(&self, turn: &Turn, task_id: &str) -> bool {
        let RunAgain::ByClaim(worker) = &self.again else {
            return false;
        };
        match turn.leave(worker).await {
            Ok(()) => tracing::info!(task = %task_id, "the turn is left to be run again"),
            Err(StoreError::Fenced) => {}
            // The server finds it among what it holds and does not run.
            Err(error) => {
                tracing::warn!(task = %task_id, %error, "the turn could not be given back")
            }
        }
        true
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
pub(super) async fn end(turn: &Turn, task_id: &str, state: TaskState, reason: Option<&str>) {
    let mut ended = turn.end_without_answer(state, reason).await;
    if ended == Err(StoreError::CancelRequested) {
        ended = turn.end_without_answer(TaskState::Canceled, None).await;
    }
    match ended {
        Ok(()) | Err(StoreError::Terminal | StoreError::NotFound | StoreError::Fenced) => {}
        Err(error) => tracing::error!(task = %task_id, %error, "the end of the turn is not stored"),
    }
}

/// Runs an agent's code; the panic's text if it panics.
fn guarded<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(AssertUnwindSafe(code)).map_err(text_of)
}

/// What a panic says. Its value is leaked, because its drop is the agent's code as well and could
/// panic while something else unwinds, which would end the process.
fn text_of(panic: Box<dyn Any + Send>) -> String {
    let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "it says nothing".to_owned(),
    };
    std::mem::forget(panic);
    text
}

/// What the caller reads when the agent's code has panicked.
fn panic_reason(task_id: &str, panic: &str) -> String {
    let log_id = uuid::Uuid::new_v4();
    tracing::error!(task = %task_id, %log_id, panic, "the agent panicked");
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
