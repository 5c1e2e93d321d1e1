//! Agents in processes of their own.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::agents::until;

/// A port that is free now, for a process that is to have the same one after each death, as a
/// deployed one would.
///
/// # Errors
/// When there is none.
pub fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Resident bytes of a process.
///
/// # Errors
/// When there is no such process, or the system has no `/proc`.
pub fn rss(process: u32) -> std::io::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    let kilobytes = kilobytes.ok_or_else(|| std::io::Error::other("no VmRSS"))?;
    Ok(kilobytes * 1024)
}

/// Open sockets of a process.
///
/// # Errors
/// When there is no such process, or the system has no `/proc`.
pub fn sockets(process: u32) -> std::io::Result<usize> {
    let mut sockets = 0;
    for entry in std::fs::read_dir(format!("/proc/{process}/fd"))? {
        // A file that was closed meanwhile is none.
        let target = std::fs::read_link(entry?.path()).unwrap_or_default();
        sockets += usize::from(target.to_string_lossy().starts_with("socket:"));
    }
    Ok(sockets)
}

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
        Self::of(&mut Command::new(program))
    }

    /// Starts the command and waits for its line.
    ///
    /// # Panics
    /// When it does not say that it is ready.
    pub fn of(command: &mut Command) -> Self {
        Self::try_of(command).expect("a process that says READY and its URL")
    }

    /// Starts the command and waits for its line; `None` when it ends before.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn try_of(command: &mut Command) -> Option<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a process");
        let out = child.stdout.take().expect("its output");
        let mut line = String::new();
        let read = BufReader::new(out).read_line(&mut line);
        read.expect("a line");
        let Some(url) = line.trim().strip_prefix("READY ") else {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        };
        Some(Self {
            url: url.to_owned(),
            child,
        })
    }

    /// The process's id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// `kill -9`, and waits until it is dead.
    ///
    /// # Panics
    /// When it cannot be killed.
    pub fn kill(mut self) {
        self.child.kill().expect("a living process");
        self.wait();
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

    /// Waits for its end, a minute at most.
    ///
    /// # Panics
    /// When it has not ended by then.
    pub async fn ended(&mut self) -> ExitStatus {
        until(|| std::future::ready(self.child.try_wait().expect("a process"))).await
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
