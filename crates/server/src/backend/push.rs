//! Push notification configurations, and how far each has been served.

use std::sync::Arc;

use llamon_core::a2a::PushConfig;

use super::Position;
use crate::scope::Scope;

/// A push configuration whose receiver has not had all events of its task yet.
#[derive(Clone, Debug)]
pub struct PushTarget {
    /// Whose task it is.
    pub scope: Scope,
    /// The task.
    pub task_id: Arc<str>,
    /// Where to send to, and how.
    pub config: Arc<PushConfig>,
    /// Up to where events were delivered.
    pub delivered: Position,
}

/// How far a push configuration has been served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushProgress {
    /// The receiver has taken all events before the position.
    Delivered(Position),
    /// The receiver is given up: it did not take an event however often it was tried. The
    /// configuration stays and can be read, and is not served any more.
    GivenUp,
}
