//! The door of a server: for which hosts and pages it is, and what a connection may hold.

mod connections;
mod hosts;
mod mutual;
mod origins;
mod rates;
mod support;
mod tls;
mod turns;
