use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

/// Sends the log to standard error. `-v` wins over `RUST_LOG`, which wins over warnings only.
pub(crate) fn start(verbose: u8) {
    let filter = match verbose {
        0 => EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn")),
        1 => EnvFilter::new("info"),
        2 => EnvFilter::new("debug"),
        _ => EnvFilter::new("trace"),
    };
    // Only a second subscriber fails, and there is none.
    let _ = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_env_filter(filter)
        .try_init();
}
