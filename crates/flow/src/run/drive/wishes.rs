//! What people want of the run: a cancel, answers, no more waiting.

use std::time::Duration;

use tokio::time::Instant;

use super::Drive;
use crate::plan::Ask;
use crate::run::call::Begin;
use crate::run::error::RunError;
use crate::store::CallId;

impl Drive<'_> {
    pub(super) async fn grant_wishes(&mut self) -> Result<(), RunError> {
        let wishes = self.runner.store.wishes(&self.run).await?;
        if wishes.cancel && !self.cancel.is_cancelled() {
            self.cancel.cancel();
        }
        if self.cancel.is_cancelled() {
            let asking = std::mem::take(&mut self.asking);
            for ((step, at), asked) in asking {
                let begin = Begin::Sent {
                    attempt: asked.attempt,
                    task_id: asked.task_id,
                    answers: asked.answers,
                };
                self.left
                    .extend(self.call_id(step, at).map(|id| (id, begin)));
            }
            return Ok(());
        }
        for (id, answer) in wishes.answers {
            let Some(step) = self.plan.step_index(&id.step) else {
                continue;
            };
            let at = id.index();
            if let Some(asked) = self.asking.remove(&(step, at)) {
                let begin = Begin::Answer {
                    attempt: asked.attempt,
                    task_id: asked.task_id,
                    answers: asked.answers,
                    answer,
                };
                self.left.push((id, begin));
            }
        }
        Ok(())
    }

    /// Nobody has answered in time.
    pub(super) fn give_up(&mut self) {
        let now = Instant::now();
        let expired: Vec<(usize, usize)> = (self.asking.iter())
            .filter(|(_, asked)| asked.deadline.is_some_and(|deadline| deadline <= now))
            .map(|(at, _)| *at)
            .collect();
        for (step, at) in expired {
            let wait = self.wait_of(step).unwrap_or_default();
            let Some(asked) = self.asking.remove(&(step, at)) else {
                continue;
            };
            let begin = Begin::GiveUp {
                task_id: asked.task_id,
                reason: format!("nobody answered the agent's question within {wait:?}"),
            };
            self.left
                .extend(self.call_id(step, at).map(|id| (id, begin)));
        }
    }

    pub(super) fn wait_of(&self, step: usize) -> Option<Duration> {
        match self.plan.steps().get(step)?.ask() {
            Ask::Wait(wait) => Some(wait),
            Ask::Pause | Ask::Fail => None,
        }
    }

    /// When a question that was asked then is given up.
    pub(super) fn deadline(&self, step: usize, asked_at: i64) -> Option<Instant> {
        let wait = self.wait_of(step)?;
        Some(Instant::now() + wait.saturating_sub(self.since(asked_at)))
    }

    /// The time from then, in milliseconds since 1970, to now.
    pub(super) fn since(&self, then: i64) -> Duration {
        let millis = self.runner.store.now().saturating_sub(then);
        Duration::from_millis(u64::try_from(millis).unwrap_or_default())
    }

    pub(super) fn open_questions(&self) -> Vec<CallId> {
        let asking = self.asking.keys();
        asking
            .filter_map(|(step, at)| self.call_id(*step, *at))
            .collect()
    }
}
