//! What a graph agent needs of its turn and no other agent may have.

use std::collections::HashMap;
use std::sync::Arc;

use llamon_core::a2a::TaskState;

use super::Turn;
use crate::agent_error::AgentError;
use crate::backend::{Backend, StoreError, Worker};
use crate::scope::Scope;

impl Turn {
    /// The answers since the message, by their questions' ids, as JSON texts.
    pub(crate) fn answers(&self) -> Option<&HashMap<String, String>> {
        self.0.asking.as_ref().map(|asking| &asking.answers)
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.0.begin.scope
    }

    /// The store, and the worker that this turn's server is there.
    pub(crate) fn store(&self) -> (Arc<dyn Backend>, Arc<Worker>) {
        let shared = &self.0.shared;
        (Arc::clone(&shared.backend), Arc::clone(&shared.worker))
    }

    /// The state of another task of the same caller; `None` where there is none.
    pub(crate) async fn state_of(&self, task_id: &str) -> Result<Option<TaskState>, AgentError> {
        match self
            .0
            .shared
            .backend
            .get(&self.0.begin.scope, task_id)
            .await
        {
            Ok((task, _)) => Ok(Some(task.status.state)),
            Err(StoreError::NotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
