//! Looks after a durable store: takes over what a dead process has left, notices what was lost to
//! others or left behind, and has finished tasks removed.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use llamon_core::Timestamp;
use llamon_core::a2a::TaskState;
use tokio::time::Instant;

use super::{Engine, Execution, First, Permit};
use crate::backend::{Claimed, Durability, Fence, StoreError, Swept, Waiting};
use crate::turn::Begin;

/// Turns that are taken over at a time.
const MAX_CLAIMS: usize = 32;
/// Unanswered questions that expire at a time.
const MAX_EXPIRED: usize = 100;
/// Pieces of cleaning up at a time.
const MAX_SWEEPS: usize = 16;

/// What looks wrong, and since when.
#[derive(Default)]
struct Suspects(HashMap<(Arc<str>, Fence), Instant>);

impl Suspects {
    /// Those of `now` that have looked wrong for so long; the others are remembered.
    fn confirm(
        &mut self,
        now: Vec<(Arc<str>, Fence)>,
        for_long: Duration,
    ) -> Vec<(Arc<str>, Fence)> {
        let first = Instant::now();
        let before = std::mem::take(&mut self.0);
        let mut confirmed = Vec::new();
        for suspect in now {
            let since = before.get(&suspect).copied().unwrap_or(first);
            if since.elapsed() >= for_long {
                confirmed.push(suspect.clone());
            }
            self.0.insert(suspect, since);
        }
        confirmed
    }
}

impl Engine {
    /// Begins to look after the store, until the server stops or is dropped.
    pub(crate) fn keep(self: &Arc<Self>) {
        let nothing_to_do =
            self.shared.durability == Durability::Volatile && self.shared.question_expiry.is_none();
        if nothing_to_do || self.kept.swap(true, Ordering::Relaxed) {
            return;
        }
        let weak = Arc::downgrade(self);
        let nudge = Arc::clone(&self.nudge);
        tokio::spawn(async move {
            let mut lost = Suspects::default();
            let mut orphans = Suspects::default();
            while let Some(engine) = weak.upgrade() {
                if engine.turns.is_closed() {
                    return;
                }
                if let Err(error) = engine.look_after(&mut lost, &mut orphans).await {
                    tracing::warn!(%error, "the store cannot be looked after at the moment");
                }
                let interval = engine.upkeep_interval;
                drop(engine);
                tokio::select! {
                    () = tokio::time::sleep(interval) => {}
                    () = nudge.notified() => {}
                }
            }
        });
    }

    async fn look_after(
        self: &Arc<Self>,
        lost: &mut Suspects,
        orphans: &mut Suspects,
    ) -> Result<(), StoreError> {
        if let Some(expiry) = self.shared.question_expiry {
            self.expire(expiry).await?;
        }
        if self.shared.durability == Durability::Volatile {
            return Ok(());
        }
        self.take_over().await?;
        self.check_held(lost, orphans).await?;
        for _ in 0..MAX_SWEEPS {
            if self.shared.backend.sweep(self.worker()).await? == Swept::Clean {
                break;
            }
        }
        Ok(())
    }

    /// Claims turns that nobody runs, as many as there is room for, and runs them.
    async fn take_over(self: &Arc<Self>) -> Result<(), StoreError> {
        loop {
            let mut permits: Vec<Permit> = Vec::new();
            while permits.len() < MAX_CLAIMS
                && let Ok(permit) = self.admit()
            {
                permits.push(permit);
            }
            if permits.is_empty() {
                return Ok(());
            }
            let claimed = self
                .shared
                .backend
                .claim(self.worker(), permits.len())
                .await?;
            if claimed.is_empty() {
                return Ok(());
            }
            for (claimed, permit) in claimed.into_iter().zip(permits) {
                self.run_claimed(claimed, permit).await;
            }
        }
    }

    /// Ends tasks whose questions have waited too long.
    async fn expire(&self, expiry: Duration) -> Result<(), StoreError> {
        let micros = i64::try_from(expiry.as_micros()).unwrap_or(i64::MAX);
        let now = self.shared.clock.now().as_micros();
        let since = Timestamp::from_micros(now.saturating_sub(micros));
        let backend = &self.shared.backend;
        for waiting in backend.waiting(self.worker(), since, MAX_EXPIRED).await? {
            let reason = format!(
                "the question was not answered within {} seconds; begin a new task",
                expiry.as_secs_f64()
            );
            let Waiting {
                scope,
                task,
                generation,
            } = &waiting;
            let (state, reason) = (TaskState::Failed, Some(reason));
            let ended = self
                .shared
                .end_task(scope, task, *generation, None, state, reason)
                .await;
            match ended {
                // Answered or canceled in this moment.
                Ok(())
                | Err(StoreError::Conflict | StoreError::Terminal | StoreError::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn run_claimed(&self, claimed: Claimed, permit: Permit) {
        let task_id = Arc::clone(&claimed.task.id);
        tracing::info!(task = %task_id, attempt = claimed.attempt, "a turn is taken over");
        if claimed.cancel_requested {
            return self.end_claimed(&claimed, TaskState::Canceled, None).await;
        }
        if let Some(reason) = self.refuses(&claimed) {
            return self
                .end_claimed(&claimed, TaskState::Failed, Some(reason))
                .await;
        }
        match Begin::of_claimed(&claimed) {
            Ok(begin) => self.start(permit, begin, First::Elsewhere).await,
            Err(reason) => {
                tracing::error!(task = %task_id, reason, "a turn cannot be run again");
                let reason = "what the turn began with cannot be read any more".to_owned();
                self.end_claimed(&claimed, TaskState::Failed, Some(reason))
                    .await;
            }
        }
    }

    /// Ends a turn that is not run. If that cannot be stored, it is found among what is held.
    async fn end_claimed(&self, claimed: &Claimed, state: TaskState, reason: Option<String>) {
        let (scope, task) = (&claimed.scope, &claimed.task);
        let fence = Some(claimed.fence);
        let ended = self
            .shared
            .end_task(scope, task, claimed.generation, fence, state, reason)
            .await;
        if let Err(error) = ended {
            tracing::warn!(task = %task.id, %error, "a turn could not be ended");
        }
    }

    /// Why the agent may not be run again, if it may not.
    fn refuses(&self, claimed: &Claimed) -> Option<String> {
        match self.execution {
            Execution::AtMostOnce if claimed.attempt > 1 => Some(
                "the server stopped while the agent worked on the message, and this agent is not \
                 run twice; see whether it has done its work, then send the message again"
                    .to_owned(),
            ),
            Execution::AtLeastOnce { max_attempts } if claimed.crashes >= max_attempts => {
                Some(format!(
                    "the server died {} times while the agent worked on the message, and \
                     max_attempts is {max_attempts}; it is not tried again",
                    claimed.crashes
                ))
            }
            _ => None,
        }
    }

    /// Compares what the store says this server runs with what it runs.
    async fn check_held(
        &self,
        lost: &mut Suspects,
        orphans: &mut Suspects,
    ) -> Result<(), StoreError> {
        let running = self.running.attempts();
        let held = self.shared.backend.held(self.worker()).await?;
        let held: HashMap<_, _> = held
            .into_iter()
            .map(|held| ((held.task_id, held.fence), held.cancel_requested))
            .collect();
        for ((task_id, fence), cancel_requested) in &held {
            if *cancel_requested {
                self.running.stop(task_id, *fence);
            }
        }
        let not_held = running
            .into_iter()
            .filter(|attempt| !held.contains_key(attempt));
        for (task_id, fence) in lost.confirm(not_held.collect(), self.upkeep_interval) {
            if self.running.has(&task_id, fence) {
                tracing::warn!(task = %task_id, "a turn was taken over by somebody else");
                self.running.stop(&task_id, fence);
            }
        }
        let not_running = held
            .into_keys()
            .filter(|(id, fence)| !self.running.has(id, *fence));
        let mut released = false;
        for (task_id, fence) in orphans.confirm(not_running.collect(), self.upkeep_interval) {
            if self.running.has(&task_id, fence) {
                continue;
            }
            tracing::warn!(task = %task_id, "a turn was left behind and is given back");
            match self
                .shared
                .backend
                .release(self.worker(), &task_id, fence)
                .await
            {
                Ok(()) => released = true,
                Err(StoreError::Fenced) => {}
                Err(error) => return Err(error),
            }
        }
        if released {
            self.nudge.notify_one();
        }
        Ok(())
    }
}
