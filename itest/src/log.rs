//! What is written somewhere, kept for a test to read.

use std::io;
use std::sync::{Arc, Mutex};

/// A log that a test reads. Clones are the same log: give `tracing_subscriber` a function that clones
/// it.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// What was written so far.
    ///
    /// # Panics
    /// When it is not UTF-8.
    pub fn text(&self) -> String {
        let bytes = self.0.lock().expect("a lock").clone();
        String::from_utf8(bytes).expect("a log of UTF-8")
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("a lock").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
