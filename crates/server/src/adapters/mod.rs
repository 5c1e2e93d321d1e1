//! Runtime adapters that many need: a program behind pipes, and a remote A2A agent.

mod a2a;
mod process;

pub use a2a::A2aAdapter;
pub use process::{ProcessAdapter, ProcessBuilder, ProcessError, StderrOf};
