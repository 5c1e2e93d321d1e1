//! What an attack came to, as the system sees the server's process.

use std::fmt;
use std::time::{Duration, Instant};

/// How long connections may take to be closed after an attack.
const CLOSING: Duration = Duration::from_secs(60);
/// File descriptors that may come and go: of a clock, of a log, of a connection that is kept.
const SLACK: usize = 16;

/// Memory of a process, in KiB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    now: u64,
    most: u64,
}

impl Memory {
    pub(crate) fn of(process: u32) -> Result<Self, String> {
        let status = std::fs::read_to_string(format!("/proc/{process}/status"));
        let status = status.map_err(|error| format!("the server is gone: {error}"))?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        Ok(Self {
            now: field("VmRSS:").ok_or("no VmRSS")?,
            most: field("VmHWM:").ok_or("no VmHWM")?,
        })
    }
}

/// How many files and sockets a process has open.
pub(crate) fn open_files(process: u32) -> Result<usize, String> {
    let folder = std::fs::read_dir(format!("/proc/{process}/fd"));
    Ok(folder
        .map_err(|error| format!("the server is gone: {error}"))?
        .count())
}

/// Waits until as many are open as before an attack, and says how many there are.
pub(crate) async fn files_come_back(process: u32, before: usize) -> Result<usize, String> {
    let begun = Instant::now();
    loop {
        let open = open_files(process)?;
        if open <= before + SLACK || begun.elapsed() > CLOSING {
            return Ok(open);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// One attack.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) attack: &'static str,
    pub(crate) quiet: Vec<Duration>,
    pub(crate) under: Vec<Duration>,
    pub(crate) before: Memory,
    pub(crate) during: Memory,
    /// Open files while the attack went on, before it, and after it.
    pub(crate) held: usize,
    pub(crate) files: usize,
    pub(crate) back: usize,
}

impl Row {
    /// # Errors
    /// When memory has grown by more than so many MiB, or files are still open.
    pub(crate) fn check(&self, most_memory: u64) -> Result<(), String> {
        let grown = self.grown();
        if grown > most_memory * 1024 {
            return Err(format!(
                "{}: {} MiB more memory, {most_memory} are allowed",
                self.attack,
                grown / 1024
            ));
        }
        if self.back > self.files + SLACK {
            return Err(format!(
                "{}: {} open files after it, {} before",
                self.attack, self.back, self.files
            ));
        }
        Ok(())
    }

    fn grown(&self) -> u64 {
        self.during.most.saturating_sub(self.before.now)
    }

    fn ratio(&self) -> f64 {
        at(&self.under, 50) / at(&self.quiet, 50)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<18} {:>4} of {:<4} ok, median {:>7.2} ms ({:>6.1} x quiet), p99 {:>8.2} ms; memory \
             {:>4} MiB, at most {:>4}; open files {:>6}, afterwards {} ({} before)",
            self.attack,
            self.under.len(),
            self.under.len(),
            at(&self.under, 50),
            self.ratio(),
            at(&self.under, 99),
            self.during.now / 1024,
            self.during.most / 1024,
            self.held,
            self.back,
            self.files,
        )
    }
}

/// All attacks.
#[derive(Debug, Default)]
pub(crate) struct Figures(Vec<Row>);

impl Figures {
    pub(crate) fn add(&mut self, row: Row) {
        self.0.push(row);
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requests: usize = self.0.iter().map(|row| row.under.len()).sum();
        let worst = self.0.iter().map(Row::ratio).fold(0.0, f64::max);
        let memory = self.0.iter().map(|row| row.during.most).max();
        write!(
            f,
            "abuse: {} attacks, {requests} ordinary requests, none failed; median latency at most \
             {worst:.1} times the quiet server's; memory at most {} MiB",
            self.0.len(),
            memory.unwrap_or_default() / 1024
        )
    }
}

/// The percentile, in milliseconds.
fn at(took: &[Duration], percent: usize) -> f64 {
    let mut took = took.to_vec();
    took.sort();
    let index = (took.len() * percent / 100).min(took.len().saturating_sub(1));
    took.get(index)
        .map_or(f64::NAN, |took| took.as_secs_f64() * 1_000.0)
}
