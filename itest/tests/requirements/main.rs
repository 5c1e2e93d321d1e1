//! Every requirement of the public compatibility kit (A2A 1.0), each with a test of ours whose name
//! begins with its id: the kit itself is not part of what runs here. `coverage.rs` demands them.
//! `security.rs` demands the tests that SECURITY.md names.

mod auth;
mod bindings;
mod card;
mod compat;
mod core;
mod coverage;
mod data_model;
mod multi_turn;
mod push;
mod security;
mod streams;
mod support;
mod versions;
