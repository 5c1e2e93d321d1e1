//! What a program writes to its standard error: into the log, and the last lines kept.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStderr;
use tokio::task::JoinHandle;

/// Lines that are kept.
const LINES: usize = 20;
/// Bytes of a line that are kept.
const LINE_BYTES: usize = 500;

/// The last lines of a program's standard error.
pub(super) struct Tail {
    lines: Arc<Mutex<VecDeque<String>>>,
    reading: JoinHandle<()>,
}

impl Tail {
    /// Reads until the program closes it.
    pub(super) fn of(mut stderr: ChildStderr, pid: u32) -> Self {
        let lines: Arc<Mutex<VecDeque<String>>> = Arc::default();
        let kept = Arc::clone(&lines);
        let reading = tokio::spawn(async move {
            let mut chunk = [0; 4096];
            let mut line = Vec::new();
            let keep = |line: &mut Vec<u8>| {
                let text = shown(line);
                line.clear();
                if text.is_empty() {
                    return;
                }
                tracing::info!(pid, "the program says: {text}");
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() == LINES {
                    kept.pop_front();
                }
                kept.push_back(text);
            };
            while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
                for byte in chunk.iter().take(read) {
                    if *byte == b'\n' {
                        keep(&mut line);
                    } else if line.len() < LINE_BYTES {
                        line.push(*byte);
                    }
                }
            }
            keep(&mut line);
        });
        Self { lines, reading }
    }

    /// Resolves when the program has closed it. Cancel-safe.
    pub(super) async fn closed(&mut self) {
        // An error is a task that was stopped, and then there is nothing to wait for either.
        let _ = (&mut self.reading).await;
    }

    /// The last lines, oldest first.
    pub(super) fn lines(&self) -> Vec<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        // Something that the program has started may hold its end for ever.
        self.reading.abort();
    }
}

/// A line without what could steer a terminal.
fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text: String = text
        .chars()
        .filter(|c| !c.is_control() || *c == '\t')
        .collect();
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn a_line_cannot_steer_a_terminal() {
        assert_eq!(shown(b"\x1b[31mred\x07 \xff\r"), "[31mred \u{fffd}");
    }
}
