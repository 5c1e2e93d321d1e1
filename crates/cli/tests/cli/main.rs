//! The built command against agents that run in the test's process.

#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise; clippy takes helpers of tests for no tests"
)]

mod card;
mod demo;
mod exit_codes;
mod explain;
mod flow;
mod key;
mod output;
mod runs;
mod send;
mod support;
mod task;
