//! The thread that a turn runs on: one turn at a time.

use std::sync::Arc;
use std::time::Duration;

use crate::agent_error::AgentError;
use crate::backend::{Backend, Lease, Worker};
use crate::turn::Turn;

/// How often a turn that waits for its thread looks whether it is free.
const LOOK_AGAIN: Duration = Duration::from_millis(25);

/// A thread that belongs to a turn until this is dropped.
pub(super) struct Held {
    backend: Arc<dyn Backend>,
    worker: Arc<Worker>,
    name: String,
    task_id: String,
}

impl Held {
    /// Takes the thread.
    ///
    /// # Errors
    /// The task that has it, as `Ok(Err(..))`.
    pub(super) async fn take(
        turn: &Turn,
        thread: &str,
    ) -> Result<Result<Self, Arc<str>>, AgentError> {
        let (backend, worker) = turn.store();
        let name = format!("thread/{thread}");
        match backend.lease(&worker, &name, turn.task_id()).await? {
            Lease::HeldBy(task_id) => Ok(Err(task_id)),
            Lease::Taken => Ok(Ok(Self {
                backend,
                worker,
                name,
                task_id: turn.task_id().to_owned(),
            })),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let (backend, worker) = (Arc::clone(&self.backend), Arc::clone(&self.worker));
        let (name, task_id) = (
            std::mem::take(&mut self.name),
            std::mem::take(&mut self.task_id),
        );
        // A turn can be dropped at any time, and giving back may take a write.
        tokio::spawn(async move {
            if let Err(error) = backend.end_lease(&worker, &name, &task_id).await {
                tracing::warn!(%error, name, "a thread could not be given back");
            }
        });
    }
}

/// Waits a moment for another turn to leave the thread.
pub(super) async fn look_again(turn: &Turn) -> Result<(), AgentError> {
    tokio::select! {
        biased;
        () = turn.cancelled() => Err(AgentError::ended()),
        () = tokio::time::sleep(LOOK_AGAIN) => Ok(()),
    }
}
