//! Looking after a file: what `llamon store check|stats|gc|backup` does.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use llamon_core::a2a::TaskState;
use rusqlite::Connection;

use super::alive::Workers;
use super::fault::{Fault, store_error};
use super::options::SqliteOptions;
use super::rows::{self, ANSWERED, TaskRow};
use super::schema::{self, OpenError};
use super::sweep;
use super::tx::{Counts, Memory, Tx};
use crate::backend::{StoreError, Swept};

/// A store's file, to look after it; a server may have it open at the same time.
pub struct StoreFile {
    connection: Connection,
    path: PathBuf,
}

/// What is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of it that are free and are filled again.
    pub free_bytes: u64,
    /// Bytes of the write-ahead log beside the file.
    pub wal_bytes: u64,
    /// Unfinished tasks.
    pub open_tasks: u64,
    /// Finished tasks.
    pub finished_tasks: u64,
    /// Direct answers that are kept for messages that come again.
    pub direct_answers: u64,
    /// Turns that run, or wait for a worker.
    pub turns: u64,
    /// Push receivers that have not had everything.
    pub push_due: u64,
    /// Parts that are stored once.
    pub shared_parts: u64,
    /// Bytes of them.
    pub shared_part_bytes: u64,
    /// Bytes of events that no snapshot shows yet, or that wait for a push receiver.
    pub log_bytes: u64,
    /// Workers that are alive.
    pub workers: usize,
    /// What each agent has.
    pub agents: Vec<AgentStats>,
}

/// What one agent has stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentStats {
    /// The agent's name.
    pub name: String,
    /// How many tasks that can be listed are in each state.
    pub states: Vec<(TaskState, u64)>,
}

/// What [`StoreFile::check`] has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// How many tasks were read.
    pub tasks: u64,
    /// What is wrong, a line each; nothing where the file is whole.
    pub problems: Vec<String>,
}

/// What was let go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Collected {
    /// Finished tasks and direct answers.
    pub tasks: usize,
    /// Shared parts that no task referred to.
    pub parts: usize,
    /// Bytes that the file is smaller now.
    pub bytes: u64,
}

impl StoreFile {
    /// Opens a store that exists. Nothing is written, and no worker is enlisted.
    ///
    /// # Errors
    /// When there is no such file, and when it is no store, or one of another version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Ok(Self {
            connection: schema::open_existing(path.as_ref())?,
            path: path.as_ref().to_owned(),
        })
    }

    /// Reads everything: SQLite's own check, then whether the tables fit together and every task
    /// can be read. Takes about a minute for a million tasks.
    ///
    /// # Errors
    /// When the file cannot be read at all.
    pub fn check(&self) -> Result<Report, StoreError> {
        let read = self.connection.unchecked_transaction().map_err(failed)?;
        check(&read).map_err(failed)
    }

    /// What is stored.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn stats(&self) -> Result<Stats, StoreError> {
        let workers = Workers::beside(&self.path);
        stats(&self.connection, &self.path, &workers).map_err(failed)
    }

    /// Lets finished tasks go as `options` say, and parts that no task refers to, then gives the
    /// free space back to the disk. A server that has the file open waits for the last step, about
    /// a second for each GiB.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn gc(&self, options: &SqliteOptions) -> Result<Collected, StoreError> {
        let before = self.bytes()?;
        let mut collected = Collected::default();
        let mut memory = Memory::new();
        loop {
            let (swept, removed) = self.sweep(options, &mut memory)?;
            collected.tasks += removed;
            if swept == Swept::Clean {
                break;
            }
        }
        collected.parts = remove_orphans(&self.connection).map_err(failed)?;
        self.connection
            .execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")
            .map_err(failed)?;
        collected.bytes = before.saturating_sub(self.bytes()?);
        Ok(collected)
    }

    /// The file's size once everything is in it.
    fn bytes(&self) -> Result<u64, StoreError> {
        let number = |pragma| {
            let read = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
            let value = self.connection.pragma_query_value(None, pragma, read);
            value.map(i64::unsigned_abs).map_err(failed)
        };
        Ok(number("page_count")? * number("page_size")?)
    }

    fn sweep(
        &self,
        options: &SqliteOptions,
        memory: &mut Memory,
    ) -> Result<(Swept, usize), StoreError> {
        let behavior = rusqlite::TransactionBehavior::Immediate;
        let transaction =
            rusqlite::Transaction::new_unchecked(&self.connection, behavior).map_err(failed)?;
        let mut tx = Tx::new(&transaction, &options.settings, memory).map_err(failed)?;
        let before = tx.counts.done();
        let swept = sweep::sweep(&mut tx).map_err(failed)?;
        tx.finish().map_err(failed)?;
        let removed = before - tx.counts.done();
        drop(tx);
        transaction.commit().map_err(failed)?;
        Ok((swept, usize::try_from(removed).unwrap_or(0)))
    }

    /// Writes a consistent copy to a new file, also while a server writes. The copy is a store.
    ///
    /// # Errors
    /// When the file exists already or cannot be written.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<(), StoreError> {
        let to = to.as_ref();
        let refuse = |reason: &dyn std::fmt::Display| {
            StoreError::Failed(format!("cannot write {}: {reason}", to.display()))
        };
        let name = to
            .to_str()
            .ok_or_else(|| refuse(&"its name is not UTF-8; name another file"))?;
        match schema::create_private(to) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(refuse(&"it exists already; name a new file"));
            }
            created => created.map_err(|error| refuse(&error))?,
        }
        let copied = self.copy_into(to, name);
        if copied.is_err() {
            // Half a copy is none.
            let _ = std::fs::remove_file(to);
        }
        copied.map_err(|error| refuse(&error))
    }

    fn copy_into(&self, to: &Path, name: &str) -> Result<(), String> {
        let copied = self.connection.execute("VACUUM INTO ?1", [name]);
        copied.map_err(|error| error.to_string())?;
        // The copy counts only when it is on the disk.
        let synced = File::open(to).and_then(|file| file.sync_all());
        synced.map_err(|error| error.to_string())
    }
}

fn failed(error: rusqlite::Error) -> StoreError {
    store_error(&error)
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |data| data.len())
}

/// A write that changes nothing that anybody reads, and needs as much room as a task.
pub(super) fn probe(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "INSERT INTO snapshots (task, json, refs) VALUES (-1, hex(zeroblob(32768)), x'');
         DELETE FROM snapshots WHERE task = -1;
         UPDATE counts SET probe = probe + 1;",
    )
}

/// Removes shared parts that no task refers to; there are none unless the file was damaged.
pub(super) fn remove_orphans(connection: &Connection) -> rusqlite::Result<usize> {
    connection.execute(
        "DELETE FROM blobs WHERE NOT EXISTS \
         (SELECT 1 FROM task_blobs WHERE blob = blobs.key)",
        [],
    )
}

pub(super) fn stats(
    connection: &Connection,
    path: &Path,
    workers: &Workers,
) -> rusqlite::Result<Stats> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let count = |sql: &str| number(sql).map(i64::unsigned_abs);
    let page = count("PRAGMA page_size")?;
    let counts = Counts::read(connection)?;
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    Ok(Stats {
        file_bytes: count("PRAGMA page_count")? * page,
        free_bytes: count("PRAGMA freelist_count")? * page,
        wal_bytes: size(Path::new(&wal)),
        open_tasks: counts.open.unsigned_abs(),
        finished_tasks: counts.finished.unsigned_abs(),
        direct_answers: counts.answered.unsigned_abs(),
        turns: count("SELECT count(*) FROM work")?,
        push_due: count("SELECT count(*) FROM push WHERE due = 1")?,
        shared_parts: count("SELECT count(*) FROM blobs")?,
        shared_part_bytes: count("SELECT coalesce(sum(octet_length(json)), 0) FROM blobs")?,
        log_bytes: count("SELECT coalesce(sum(octet_length(json)), 0) FROM log")?,
        workers: workers.count(),
        agents: agents(connection)?,
    })
}

fn agents(connection: &Connection) -> rusqlite::Result<Vec<AgentStats>> {
    let mut statement = connection.prepare(
        "SELECT a.name, l.state, sum(l.tasks) FROM agents a \
         LEFT JOIN spaces s ON s.agent = a.key LEFT JOIN listed l ON l.space = s.key \
         GROUP BY a.name, l.state ORDER BY a.name, l.state",
    )?;
    let mut rows = statement.query([])?;
    let mut agents: Vec<AgentStats> = Vec::new();
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        if agents.last().is_none_or(|last| last.name != name) {
            let states = Vec::new();
            agents.push(AgentStats { name, states });
        }
        let state = row.get::<_, Option<i64>>(1)?.and_then(rows::state_of);
        let tasks = row.get::<_, Option<i64>>(2)?.unwrap_or(0).unsigned_abs();
        if let (Some(state), Some(agent)) = (state, agents.last_mut())
            && tasks > 0
        {
            agent.states.push((state, tasks));
        }
    }
    Ok(agents)
}

/// Lines of problems that are kept; a broken file has many of one kind.
const MAX_PROBLEMS: usize = 100;

pub(super) fn check(connection: &Connection) -> rusqlite::Result<Report> {
    let mut report = Report::default();
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({MAX_PROBLEMS})"))?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
    for line in lines {
        let line = line?;
        if line != "ok" {
            report.problems.push(line);
        }
    }
    for (problem, sql) in [
        (
            "the counters are wrong",
            "SELECT count(*) FROM counts WHERE open <> (SELECT count(*) FROM tasks WHERE done IS NULL) \
             OR finished <> (SELECT count(*) FROM tasks WHERE done = 1) \
             OR answered <> (SELECT count(*) FROM tasks WHERE done = 2)",
        ),
        (
            "scopes whose tasks are counted wrongly",
            "SELECT count(*) FROM (SELECT space, iif(status_number IS NULL, 8, state) AS state, \
             count(*) AS tasks FROM tasks GROUP BY 1, 2) t FULL JOIN \
             (SELECT * FROM listed WHERE tasks <> 0) l \
             ON l.space = t.space AND l.state = t.state WHERE l.tasks IS NOT t.tasks",
        ),
        (
            "tasks without a scope",
            "SELECT count(*) FROM tasks WHERE space NOT IN (SELECT key FROM spaces)",
        ),
        (
            "tasks without a snapshot",
            "SELECT count(*) FROM tasks WHERE key NOT IN (SELECT task FROM snapshots)",
        ),
        (
            "rows of tasks that do not exist",
            "SELECT count(*) FROM (SELECT task FROM snapshots UNION ALL SELECT task FROM log \
             UNION ALL SELECT task FROM work UNION ALL SELECT task FROM push \
             UNION ALL SELECT task FROM once UNION ALL SELECT task FROM task_blobs) \
             WHERE task NOT IN (SELECT key FROM tasks)",
        ),
        (
            "logs with a gap",
            "SELECT count(*) FROM log a WHERE begin + events <> coalesce( \
             (SELECT b.begin FROM log b WHERE b.task = a.task AND b.generation > a.generation \
              ORDER BY b.generation LIMIT 1), (SELECT position FROM tasks WHERE key = a.task))",
        ),
        (
            "finished tasks with a turn",
            "SELECT count(*) FROM work JOIN tasks ON key = task WHERE done IS NOT NULL",
        ),
        (
            "shared parts that no task refers to",
            "SELECT count(*) FROM blobs WHERE key NOT IN (SELECT blob FROM task_blobs)",
        ),
        (
            "references to shared parts that do not exist",
            "SELECT count(*) FROM task_blobs WHERE blob NOT IN (SELECT key FROM blobs)",
        ),
    ] {
        let count: i64 = connection.query_row(sql, [], |row| row.get(0))?;
        if count > 0 {
            report.problems.push(format!("{problem}: {count}"));
        }
    }
    read_all(connection, &mut report)?;
    report.problems.truncate(MAX_PROBLEMS);
    Ok(report)
}

fn read_all(connection: &Connection, report: &mut Report) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("SELECT key, id, state FROM tasks ORDER BY key")?;
    let mut tasks = statement.query([])?;
    while let Some(task) = tasks.next()? {
        let (key, id, state): (i64, String, i64) = (task.get(0)?, task.get(1)?, task.get(2)?);
        let read = if state == ANSWERED {
            rows::load_answer(connection, key).map(drop)
        } else {
            match TaskRow::of_key(connection, key)? {
                Some(row) => rows::load_task(connection, &row).map(drop),
                None => Ok(()),
            }
        };
        report.tasks += 1;
        match read {
            Ok(()) => {}
            Err(Fault::Unreadable(why)) => report.problems.push(format!("task {id}: {why}")),
            Err(fault) => {
                let error = StoreError::from(fault);
                report.problems.push(format!("task {id}: {error}"));
            }
        }
    }
    Ok(())
}
