//! The door of a server: for which hosts and pages it is, and what a connection may hold.

mod connections;
mod hosts;
mod origins;
mod support;
