//! What a request costs: the CPU time of our server as a ratio to a bare axum handler that does
//! the same without a task engine, measured in one run.
//!
//! `cargo run --release -p llamon-benches` prints the table of `docs/performance.md`.

mod baseline;
mod contracts;
mod durable;
mod flow;
mod load;
mod ours;
mod report;

use std::process::ExitCode;

fn main() -> ExitCode {
    let role = std::env::args().nth(1);
    let done = match role.as_deref() {
        None => report::run(),
        Some("contracts") => report::contracts_only(),
        Some("durable") => durable::run(),
        Some("flow") => flow::run(),
        Some("serve-durable") => durable::serve(),
        Some("serve-ours") => ours::serve(),
        Some("serve-baseline") => baseline::serve(),
        Some(other) => Err(format!("unknown argument {other:?}; there are none for users").into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut stderr = std::io::stderr();
            let _ = std::io::Write::write_fmt(&mut stderr, format_args!("error: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;
