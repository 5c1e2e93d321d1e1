//! What graphs do, by behaviour.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions"
)]

mod compile;
mod diagram;
mod events;
mod failures;
mod interrupts;
mod savers;
mod steps;
mod subgraphs;
mod support;
mod threads;
