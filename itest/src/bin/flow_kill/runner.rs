//! The process that runs the plan: `llamon flow run`, and `resume` after each kill.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Outcome;

/// How long a run may take when nothing is killed any more.
const PATIENCE: Duration = Duration::from_secs(90);

/// A run and the files of its processes.
pub(crate) struct Run<'a> {
    pub(crate) llamon: &'a Path,
    pub(crate) folder: &'a Path,
    /// The name of its plan.
    pub(crate) plan: &'static str,
    pub(crate) id: String,
}

/// A process that drives a run; it is killed when this value is dropped.
pub(crate) struct Driver(Child);

impl Run<'_> {
    /// Begins the run.
    pub(crate) fn begin(&self) -> Outcome<Driver> {
        self.drive([
            "run",
            path(&self.plan())?,
            "--id",
            &self.id,
            "--input",
            "begin",
        ])
    }

    /// Where the plan is that the run has.
    pub(crate) fn plan(&self) -> PathBuf {
        self.folder.join(format!("{}.yaml", self.plan))
    }

    /// Answers what a step asks, and goes on with the run.
    pub(crate) fn answer(&self, step: &str, text: &str) -> Outcome<Driver> {
        self.drive(["answer", &self.id, step, text])
    }

    /// Waits until a process of the run has said this.
    pub(crate) fn wait_until(
        &self,
        driver: &mut Driver,
        what: &str,
        most: Duration,
    ) -> Outcome<()> {
        let end = Instant::now() + most;
        while !self.said()?.contains(what) {
            if let Some(status) = driver.run_for(Duration::from_millis(5))? {
                return Err(format!("it ended with {status}: {}", self.complaints()).into());
            }
            if Instant::now() >= end {
                return Err(format!("{what} is not said within {most:?}").into());
            }
        }
        Ok(())
    }

    /// Goes on with the run, or begins it where its process died before it was stored.
    pub(crate) fn resume(&self) -> Outcome<Driver> {
        if self.show()?.is_none() {
            return self.begin();
        }
        self.drive(["resume", &self.id])
    }

    /// The run as it is stored, if it is.
    pub(crate) fn show(&self) -> Outcome<Option<Value>> {
        let shown = self.command(["show", &self.id])?.output()?;
        match shown.status.code() {
            Some(0) => Ok(Some(serde_json::from_slice(&shown.stdout)?)),
            Some(2) => Ok(None),
            _ => Err(format!("flow show: {}", String::from_utf8_lossy(&shown.stderr)).into()),
        }
    }

    /// Everything that the run's processes said.
    pub(crate) fn said(&self) -> Outcome<String> {
        Ok(std::fs::read_to_string(self.file("out"))?)
    }

    /// What they complained about.
    pub(crate) fn complaints(&self) -> String {
        std::fs::read_to_string(self.file("err")).unwrap_or_default()
    }

    fn drive<'s>(&self, args: impl IntoIterator<Item = &'s str>) -> Outcome<Driver> {
        let child = self
            .command(args)?
            .stdout(open(&self.file("out"))?)
            .stderr(open(&self.file("err"))?)
            .spawn()?;
        Ok(Driver(child))
    }

    fn command<'s>(&self, args: impl IntoIterator<Item = &'s str>) -> Outcome<Command> {
        let mut command = Command::new(self.llamon);
        command.arg("flow").args(args).arg("--json");
        command.args(["--store", path(&self.folder.join("flows.db"))?]);
        Ok(command)
    }

    fn file(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", self.id))
    }
}

impl Driver {
    /// Lets it run for so long; how it ended, if it did.
    pub(crate) fn run_for(&mut self, time: Duration) -> Outcome<Option<ExitStatus>> {
        let end = Instant::now() + time;
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(Some(status));
            }
            if Instant::now() >= end {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// `kill -9`, and waits until it is dead.
    pub(crate) fn kill(mut self) -> Outcome<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self) -> Outcome<ExitStatus> {
        let ended = self.run_for(PATIENCE)?;
        ended.ok_or_else(|| format!("the run does not end within {PATIENCE:?}").into())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // It has ended already where all went well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

fn path(path: &Path) -> Outcome<&str> {
    path.to_str().ok_or_else(|| "a path is not UTF-8".into())
}
