//! Traces: W3C trace context from callers, through agents and runs, to every agent that is called.

#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise; clippy takes helpers of tests for no tests"
)]

mod carried;
mod support;
