//! Turns as work that a process claims, so that another one can take over when it dies.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use llamon_core::a2a::Task;

use super::Generation;
use crate::scope::Scope;

/// Which attempt at a turn may write. It grows with each claim of a task; a write with an older
/// one is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub u64);

/// A turn that begins with the task or the message that it is stored with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWork {
    /// What whoever runs the turn must know beside the task; the server's own, opaque to the
    /// backend.
    pub record: String,
    /// Who runs it from the start; nobody if absent, and then it can be claimed.
    pub claimed_by: Option<WorkerId>,
}

/// Names a process, or a part of one, that runs turns.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId(pub Arc<str>);

impl fmt::Debug for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The capability to run turns and to look after a store, from [`super::Backend::enlist`].
///
/// Requests never hold one: the bindings and the operations see a [`Scope`] only. Dropping it, or
/// the death of its process, lets others claim what it held.
pub struct Worker {
    id: WorkerId,
    _alive: Box<dyn Any + Send + Sync>,
}

impl Worker {
    /// A worker of this id. `alive` is dropped with it; a backend tells by it that the worker is
    /// gone.
    pub fn new(id: WorkerId, alive: impl Any + Send + Sync) -> Self {
        Self {
            id,
            _alive: Box::new(alive),
        }
    }

    /// The worker's id.
    pub fn id(&self) -> &WorkerId {
        &self.id
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Worker").field(&self.id).finish()
    }
}

/// A turn that a worker has claimed.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// Whose task it is.
    pub scope: Scope,
    /// The task as it stands.
    pub task: Arc<Task>,
    /// Its generation.
    pub generation: Generation,
    /// What the attempt writes with.
    pub fence: Fence,
    /// How often the turn was begun, this time included.
    pub attempt: u32,
    /// How many of the attempts before ended with the death of their worker.
    pub crashes: u32,
    /// Whether a cancel was accepted.
    pub cancel_requested: bool,
    /// [`NewWork::record`].
    pub record: String,
}

/// A turn that a worker holds, as the store has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The task.
    pub task_id: Arc<str>,
    /// The attempt's fence.
    pub fence: Fence,
    /// Whether a cancel was accepted.
    pub cancel_requested: bool,
}
