//! Push notifications: a task's events are sent to receivers that its owner named.
//!
//! A server sends them where [`PushNotifications`] are given to
//! [`ServerBuilder::push_notifications`](crate::ServerBuilder::push_notifications).

// What is to be sent stands in the store: each receiver has a place in its task's log. The engine
// claims receivers that are behind and runs one delivery for each, which reads the log from that
// place, sends event after event, and notes how far it has come. So nothing is queued but
// positions, and what was not taken is sent after a restart.

mod attempt;
mod delivery;
mod engine;
mod operations;
mod options;
mod places;

pub(crate) use engine::PushEngine;
pub(crate) use operations::{push_not_supported, too_many};
pub use options::PushNotifications;
