//! What is kept with the task between its turns and attempts.

use super::Turn;
use crate::agent_error::AgentError;

impl Turn {
    /// What was kept with the task under the key, by whatever turn.
    pub(crate) async fn recall(&self, key: &str) -> Result<Option<String>, AgentError> {
        let begin = &self.0.begin;
        let backend = &self.0.shared.backend;
        let kept = backend.remembered(&begin.scope, &begin.task_id).await?;
        Ok(kept
            .into_iter()
            .find_map(|(kept, value)| (kept == key).then_some(value)))
    }

    /// Keeps a value with the task.
    pub(crate) async fn keep(&self, key: &str, value: String) -> Result<(), AgentError> {
        let begin = &self.0.begin;
        let backend = &self.0.shared.backend;
        backend
            .remember(&begin.scope, &begin.task_id, begin.fence, key, value)
            .await?;
        Ok(())
    }

    /// Whether the server stops and another attempt will go on.
    pub(crate) fn is_run_again(&self) -> bool {
        self.is_stopping() && self.0.shared.runs_again
    }
}
