//! What a run of a graph costs: our time as a ratio to that of `adk-graph`, measured in one run.
//!
//! `just bench-graph` prints the table of `docs/performance.md`. Both sides run the same chain of
//! nodes, each of which adds one to a number of the state, with a saver in memory, on a new thread
//! for each run.

mod ours;
mod theirs;

use std::error::Error;
use std::io::Write as _;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;
const RUNS: usize = 5_000;
/// The ratio that must not be exceeded.
const GOAL: f64 = 1.1;

type Outcome<T> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let mut out =
        "| graph | adk-graph, µs | ours, µs | ratio | goal |\n|---|---|---|---|---|\n".to_owned();
    for (name, nodes) in [("one node", 1), ("three nodes, one after the other", 3)] {
        out.push_str(&compare(name, nodes).await?);
    }
    std::io::stdout().write_all(out.as_bytes())?;
    Ok(())
}

async fn compare(name: &str, nodes: usize) -> Outcome<String> {
    // What only the first run pays is nobody's.
    ours(nodes).await?;
    theirs(nodes).await?;
    let (mut own, mut other, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        // Each side goes first in every other round.
        let (a, b) = if round % 2 == 0 {
            let b = theirs(nodes).await?;
            (ours(nodes).await?, b)
        } else {
            let a = ours(nodes).await?;
            (a, theirs(nodes).await?)
        };
        let micros = |time: Duration| time.as_secs_f64() * 1e6 / RUNS as f64;
        own.push(micros(a));
        other.push(micros(b));
        ratios.push(a.as_secs_f64() / b.as_secs_f64());
    }
    Ok(format!(
        "| {name} | {:.1} | {:.1} | {:.2} | {GOAL} |\n",
        median(other),
        median(own),
        median(ratios)
    ))
}

async fn ours(nodes: usize) -> Outcome<Duration> {
    let graph = ours::graph(nodes)?;
    let start = Instant::now();
    for run in 0..RUNS {
        check(ours::run(&graph, format!("thread-{run}")).await?, nodes)?;
    }
    Ok(start.elapsed())
}

async fn theirs(nodes: usize) -> Outcome<Duration> {
    let graph = theirs::graph(nodes)?;
    let start = Instant::now();
    for run in 0..RUNS {
        check(theirs::run(&graph, format!("thread-{run}")).await?, nodes)?;
    }
    Ok(start.elapsed())
}

fn check(found: i64, nodes: usize) -> Outcome<()> {
    if usize::try_from(found) != Ok(nodes) {
        return Err(format!("{nodes} nodes counted to {found}").into());
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
