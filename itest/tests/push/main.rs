//! Push notifications, over HTTP on loopback with real receivers.

mod config;
mod delivery;
mod failures;
mod guarded;
mod operations;
mod order;
mod stopping;
mod support;
