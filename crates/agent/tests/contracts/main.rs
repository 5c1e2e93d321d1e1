//! Input contracts over real HTTP: what the agent reads, what its answer keeps, what is missing.

mod combinations;
mod configuration;
mod hostile;
mod http;
mod independence;
mod missing;
mod provenance;
mod publication;
mod questions;
mod raw_text;
mod support;
