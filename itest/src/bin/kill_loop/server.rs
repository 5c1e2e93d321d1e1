//! The process that is killed.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::Death;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

pub(crate) struct Server {
    child: Child,
    url: String,
}

impl Server {
    pub(crate) fn start(agent: &Path, db: &Path, address: &str, death: Death) -> Result<Self> {
        let mut command = Command::new(agent);
        command.arg(db).arg(address);
        if let Death::At(point, count) = death {
            command.args([point.as_str(), &count.to_string()]);
        }
        Self::spawn(command)
    }

    pub(crate) fn start_to_stay(agent: &Path, db: &Path, address: &str) -> Result<Self> {
        let mut command = Command::new(agent);
        command.arg(db).arg(address);
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let url = line
            .trim()
            .strip_prefix("READY ")
            .ok_or("it does not say that it is ready")?;
        Ok(Self {
            url: url.to_owned(),
            child,
        })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// `kill -9`, and waits until it is dead.
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Whether it has killed itself. A process that has just sent itself the signal has a moment.
    pub(crate) fn has_died(&mut self) -> Result<bool> {
        for _ in 0..50 {
            if self.child.try_wait()?.is_some() {
                return Ok(true);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(false)
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(mut self) -> Result<()> {
        let terminate = format!("kill -TERM {}", self.child.id());
        Command::new("sh").args(["-c", &terminate]).status()?;
        let status = self.child.wait()?;
        if status.success() {
            return Ok(());
        }
        Err(format!("the server ended with {status}").into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already where all went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
