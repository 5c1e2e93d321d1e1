//! `llamon store`: looks after the file that a server keeps its tasks in.

mod show;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use llamon_agent::server::backend::StoreError;
use llamon_agent::server::backend::sqlite::{OpenError, SqliteStore, StoreFile};

use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;

const STORE_HELP: &str = "\
Examples:
  llamon store check data/tasks.db
  llamon store stats data/tasks.db --json
  llamon store gc data/tasks.db --keep-for 30 --max-finished 100000
  llamon store backup data/tasks.db /backups/tasks-monday.db

All of them work while servers have the file open. gc makes them wait for about a
second for each GiB at its end.
Exit codes: 0 done (check: the file is whole), 1 the file is damaged or could not be
read or written, 2 usage: there is no such file, or it is no store of this version.";

#[derive(Debug, Args)]
#[command(after_help = STORE_HELP)]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, Subcommand)]
enum StoreCommand {
    /// Read everything and say what is wrong
    Check {
        /// The store
        file: PathBuf,
    },
    /// Show what is stored, and how large it is
    Stats {
        /// The store
        file: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Remove finished tasks that are too old or too many, and give free space back to the disk
    Gc {
        /// The store
        file: PathBuf,
        /// Remove tasks that finished more than so many days ago
        #[arg(long, value_name = "DAYS")]
        keep_for: Option<u32>,
        /// Keep at most so many finished tasks, the newest
        #[arg(long, value_name = "TASKS")]
        max_finished: Option<usize>,
    },
    /// Write a consistent copy to a new file
    Backup {
        /// The store
        file: PathBuf,
        /// The copy; it must not exist yet
        to: PathBuf,
    },
}

pub(crate) fn run(args: &StoreArgs) -> Result<Exit, CliError> {
    let mut out = Out::default();
    match &args.command {
        StoreCommand::Check { file } => check(file, &mut out),
        StoreCommand::Stats { file, json } => {
            let stats = open(file)?.stats().map_err(failed)?;
            if *json {
                out.raw(&(show::stats_json(&stats) + "\n"))?;
            } else {
                out.text(&show::stats_text(&stats))?;
            }
            Ok(Exit::Completed)
        }
        StoreCommand::Gc {
            file,
            keep_for,
            max_finished,
        } => {
            let mut options = SqliteStore::options();
            if let Some(days) = keep_for {
                let day = Duration::from_secs(24 * 60 * 60);
                options = options.keep_finished_for(day * *days);
            }
            if let Some(tasks) = max_finished {
                options = options.max_finished_tasks(*tasks);
            }
            let collected = open(file)?.gc(&options).map_err(failed)?;
            out.line(&show::collected(&collected))?;
            Ok(Exit::Completed)
        }
        StoreCommand::Backup { file, to } => {
            open(file)?.backup(to).map_err(failed)?;
            out.line(&format!("{} is a copy of {}", to.display(), file.display()))?;
            Ok(Exit::Completed)
        }
    }
}

fn check(file: &Path, out: &mut Out) -> Result<Exit, CliError> {
    let report = open(file)?.check().map_err(failed)?;
    for problem in &report.problems {
        out.line(problem)?;
    }
    if report.problems.is_empty() {
        out.line(&format!(
            "{}: {} tasks, all whole",
            file.display(),
            report.tasks
        ))?;
        return Ok(Exit::Completed);
    }
    let message = format!("the store has {} problems", report.problems.len());
    Err(CliError::new(Exit::Protocol, message)
        .with_next("restore the file from a backup (llamon store backup)"))
}

fn open(file: &Path) -> Result<StoreFile, CliError> {
    StoreFile::open(file).map_err(|error: OpenError| CliError::usage(error.to_string()))
}

fn failed(error: StoreError) -> CliError {
    CliError::new(Exit::Protocol, error.to_string())
}
