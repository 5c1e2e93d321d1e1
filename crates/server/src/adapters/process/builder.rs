use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::pool::{Pool, Sharing};
use super::program::Recipe;
use super::{ProcessAdapter, StderrOf};

/// How a [`ProcessAdapter`] runs its program; see there.
#[derive(Clone, Debug)]
#[must_use = "a program does nothing until it is started"]
pub struct ProcessBuilder {
    recipe: Recipe,
    sharing: Sharing,
    stderr: StderrOf,
    turn_timeout: Option<Duration>,
}

impl ProcessBuilder {
    pub(super) fn new(program: OsString) -> Self {
        Self {
            recipe: Recipe {
                program,
                args: Vec::new(),
                envs: Vec::new(),
                clear_env: false,
                folder: None,
                max_line_bytes: 16 * 1024 * 1024,
                kill_grace: Duration::from_secs(2),
            },
            sharing: Sharing {
                workers: 1,
                max_waiting: 100,
                turns_per_process: usize::MAX,
                first_pause: Duration::from_millis(100),
                longest_pause: Duration::from_secs(10),
            },
            stderr: StderrOf::default(),
            turn_timeout: None,
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.recipe.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.recipe.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable. The program has those of the server, too, its secrets
    /// included, unless [`ProcessBuilder::env_clear`] is called.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.recipe.envs.push((name.into(), value.into()));
        self
    }

    /// Gives the program no environment variables but those that are set with
    /// [`ProcessBuilder::env`]; its name is then looked for in the `PATH` among them.
    pub fn env_clear(mut self) -> Self {
        self.recipe.clear_env = true;
        self
    }

    /// The folder that the program runs in. Default: the server's.
    pub fn current_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.recipe.folder = Some(folder.into());
        self
    }

    /// How many processes there are at most, each with one request at a time. Default 1. They
    /// are started when they are needed, the first one at once.
    pub fn workers(mut self, workers: usize) -> Self {
        self.sharing.workers = workers;
        self
    }

    /// How many turns may wait for a process. Default 100; a further one fails.
    pub fn max_waiting(mut self, turns: usize) -> Self {
        self.sharing.max_waiting = turns;
        self
    }

    /// After how many answers a process is ended and replaced. Default: never. A program that
    /// answers one request and ends needs 1.
    pub fn turns_per_process(mut self, turns: usize) -> Self {
        self.sharing.turns_per_process = turns;
        self
    }

    /// How long the program may take for an answer. Default: for ever. It is ended then, and
    /// the task fails.
    pub fn turn_timeout(mut self, timeout: Duration) -> Self {
        self.turn_timeout = Some(timeout);
        self
    }

    /// Bytes that a line of the program may have. Default 16 MiB.
    pub fn max_line_bytes(mut self, bytes: usize) -> Self {
        self.recipe.max_line_bytes = bytes;
        self
    }

    /// How long a process may take to end when it is told to. Default 2 s, then it is ended by
    /// force. Where it is longer than the server's `cancel_grace`, that one counts.
    pub fn kill_grace(mut self, grace: Duration) -> Self {
        self.recipe.kill_grace = grace;
        self
    }

    /// The pause before a process takes the place of one that crashed: `first`, twice as long
    /// with each crash in a row, at most `longest`; half of it by chance. Default 100 ms, 10 s.
    pub fn restart_pause(mut self, first: Duration, longest: Duration) -> Self {
        self.sharing.first_pause = first;
        self.sharing.longest_pause = longest;
        self
    }

    /// Who reads what a program that crashed said last. Default: the caller.
    pub fn stderr(mut self, stderr: StderrOf) -> Self {
        self.stderr = stderr;
        self
    }

    /// Starts the first process. Needs a runtime.
    ///
    /// # Errors
    /// When the program cannot be started, and when a number is 0 that cannot be.
    pub fn start(self) -> Result<ProcessAdapter, ProcessError> {
        let numbers = [
            ("workers", self.sharing.workers),
            ("turns_per_process", self.sharing.turns_per_process),
            ("max_line_bytes", self.recipe.max_line_bytes),
        ];
        if let Some((name, _)) = numbers.iter().find(|(_, number)| *number == 0) {
            return Err(ProcessError(format!("{name} is 0; it takes 1 or more")));
        }
        if self.turn_timeout.is_some_and(|timeout| timeout.is_zero()) {
            let message = "turn_timeout is 0 s; give it some time, or leave it out";
            return Err(ProcessError(message.to_owned()));
        }
        // Semaphores end there, and nobody has that many processes.
        if self
            .sharing
            .workers
            .saturating_add(self.sharing.max_waiting)
            > u32::MAX as usize
        {
            return Err(ProcessError(format!(
                "workers and max_waiting are {} and {}; together they are at most {}",
                self.sharing.workers,
                self.sharing.max_waiting,
                u32::MAX
            )));
        }
        if tokio::runtime::Handle::try_current().is_err() {
            let message = "a process needs a tokio runtime; call start() inside of one";
            return Err(ProcessError(message.to_owned()));
        }
        let program = self.recipe.program.clone();
        let pool = Pool::start(self.recipe, self.sharing)
            .map_err(|error| ProcessError::not_started(&program, &error))?;
        Ok(ProcessAdapter {
            pool,
            stderr: self.stderr,
            turn_timeout: self.turn_timeout,
            next_id: AtomicU64::new(1),
        })
    }
}

/// A program that cannot be run as it was told.
#[derive(Clone, PartialEq, Eq)]
pub struct ProcessError(String);

impl ProcessError {
    fn not_started(program: &OsString, error: &io::Error) -> Self {
        let hint = if error.kind() == io::ErrorKind::NotFound {
            "; check its path, PATH, and the folder that it runs in"
        } else {
            ""
        };
        Self(format!(
            "the program {program:?} cannot be started: {error}{hint}"
        ))
    }
}

impl fmt::Display for ProcessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ProcessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProcessError({})", self.0)
    }
}

impl std::error::Error for ProcessError {}
