//! Runs of plans with real agents.

#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise; clippy takes helpers of tests for no tests"
)]

mod asking;
mod credentials;
mod failures;
mod figures;
mod hostile;
mod items;
mod nested;
mod resent;
mod resume;
mod support;
mod waiting;
