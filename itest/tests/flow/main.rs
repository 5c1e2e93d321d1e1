//! Runs of plans with real agents.

mod asking;
mod failures;
mod figures;
mod items;
mod resume;
mod support;
