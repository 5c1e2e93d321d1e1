//! Agents in processes of their own.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};

/// A process that serves an agent and says so with a line `READY URL`. It is killed when this
/// value is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    url: String,
}

impl Process {
    /// Starts the program and waits for its line.
    ///
    /// # Panics
    /// When it does not say that it is ready.
    pub fn start(program: impl AsRef<OsStr>) -> Self {
        let mut child = Command::new(program)
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let out = child.stdout.take().expect("its output");
        let mut line = String::new();
        let read = BufReader::new(out).read_line(&mut line);
        read.expect("a line");
        let url = line.trim().strip_prefix("READY ").expect("its URL");
        Self {
            child,
            url: url.to_owned(),
        }
    }

    /// The agent's URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sends a signal, `TERM` for instance.
    ///
    /// # Panics
    /// When there is no shell or no such signal.
    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &kill]).status();
        assert!(sent.expect("a shell").success());
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("an end")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended already in a test that waited for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
