//! The turns that run in this process.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::backend::Fence;
use crate::scope::Scope;
use crate::turn::Begin;

/// The turns that run, so that a cancel finds them; at most one of each task.
#[derive(Default)]
pub(super) struct Running {
    turns: Mutex<HashMap<Arc<str>, LiveTurn>>,
    count: AtomicU64,
}

struct LiveTurn {
    number: u64,
    scope: Scope,
    fence: Fence,
    token: CancellationToken,
}

/// Keeps a turn in the registry while it runs.
pub(super) struct Live {
    running: Arc<Running>,
    task_id: Arc<str>,
    number: u64,
}

impl Running {
    pub(super) fn enter(running: &Arc<Self>, begin: &Begin, token: CancellationToken) -> Live {
        let number = running.count.fetch_add(1, Ordering::Relaxed);
        let turn = LiveTurn {
            number,
            scope: begin.scope.clone(),
            fence: begin.fence,
            token,
        };
        running.lock().insert(Arc::clone(&begin.task_id), turn);
        Live {
            running: Arc::clone(running),
            task_id: Arc::clone(&begin.task_id),
            number,
        }
    }

    pub(super) fn cancel(&self, scope: &Scope, task_id: &str) -> bool {
        let turns = self.lock();
        let turn = turns.get(task_id).filter(|turn| turn.scope == *scope);
        if let Some(turn) = turn {
            turn.token.cancel();
        }
        turn.is_some()
    }

    /// Tells the turn of this attempt to end, whoever asks. For the server itself.
    pub(super) fn stop(&self, task_id: &str, fence: Fence) {
        if let Some(turn) = self.lock().get(task_id).filter(|turn| turn.fence == fence) {
            turn.token.cancel();
        }
    }

    /// Whether the turn of this attempt runs.
    pub(super) fn has(&self, task_id: &str, fence: Fence) -> bool {
        self.lock()
            .get(task_id)
            .is_some_and(|turn| turn.fence == fence)
    }

    /// The attempts that run.
    pub(super) fn attempts(&self) -> Vec<(Arc<str>, Fence)> {
        let turns = self.lock();
        let attempts = turns
            .iter()
            .map(|(task_id, turn)| (Arc::clone(task_id), turn.fence));
        attempts.collect()
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
