//! Runs in an SQLite file: what was decided, sent and answered, so that any process can go on.
//!
//! ADR 14 has the table of what is stored when. Everything is written by one thread, which commits
//! all that waits as one transaction.

mod change;
mod error;
mod hold;
mod load;
mod parts;
mod record;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use llamon_core::Part;
use rusqlite::{Connection, OptionalExtension as _, params};
use tokio::sync::watch;

pub use error::RunStoreError;
pub use hold::Hold;
pub use record::{
    CallId, CallState, Question, RunState, RunSummary, StepState, StoredCall, StoredRun,
    StoredStep, Traffic,
};

pub(crate) use change::Change;
pub(crate) use load::Wishes;

use crate::clock::Clock;
use writer::Writer;

const SCHEMA: &str = include_str!("schema_1.sql");
const SCHEMA_VERSION: i64 = 1;
/// How long a write waits for another process's.
const BUSY: std::time::Duration = std::time::Duration::from_secs(10);

/// The runs of one file. Cloning it is cheap, and clones share the file's writer.
///
/// Every method's future can be dropped at any time: what it writes is written whole or not at all.
#[derive(Clone)]
pub struct RunStore {
    writer: Arc<Writer>,
    clock: Clock,
    /// `None` in memory.
    path: Option<PathBuf>,
    wished: Arc<watch::Sender<u64>>,
}

impl RunStore {
    /// Opens the file, and makes it where there is none; its folder must exist.
    ///
    /// # Errors
    /// When the file cannot be opened, is no store, or is one of a newer version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RunStoreError> {
        let path = path.as_ref();
        let opened = Connection::open(path);
        let connection = opened.map_err(|error| RunStoreError::open(path, &error))?;
        prepare(&connection).map_err(|error| error.at(path))?;
        Self::start(connection, Some(path.to_owned()))
    }

    /// Runs that end with this process.
    ///
    /// # Errors
    /// When SQLite cannot be used.
    pub fn in_memory() -> Result<Self, RunStoreError> {
        let connection = Connection::open_in_memory()?;
        prepare(&connection)?;
        Self::start(connection, None)
    }

    fn start(connection: Connection, path: Option<PathBuf>) -> Result<Self, RunStoreError> {
        Ok(Self {
            writer: Arc::new(Writer::start(connection)?),
            clock: Clock::system(),
            path,
            wished: Arc::new(watch::Sender::new(0)),
        })
    }

    /// Where the runs are; `None` in memory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Stores a run that has not begun.
    ///
    /// # Errors
    /// When there is a run of this id, and when it cannot be written.
    pub(crate) async fn begin(
        &self,
        id: &str,
        name: &str,
        plan: String,
        input: Vec<Part>,
    ) -> Result<(), RunStoreError> {
        let (id, name, now) = (id.to_owned(), name.to_owned(), self.clock.now());
        let begun = self.writer.run(move |connection| {
            let row = params![id, name, plan, RunState::Running.as_str(), now];
            let inserted = connection
                .prepare_cached(
                    "INSERT OR IGNORE INTO runs (id, name, plan, state, created) VALUES (?,?,?,?,?)",
                )?
                .execute(row)?;
            if inserted == 0 {
                return Ok(Some(RunStoreError::exists(&id)));
            }
            let key = connection.last_insert_rowid();
            let list = parts::write(connection, key, &input)?;
            connection
                .prepare_cached("UPDATE runs SET input = ? WHERE key = ?")?
                .execute(params![list, key])?;
            Ok(None)
        });
        begun.await?.map_or(Ok(()), Err)
    }

    /// Writes what has happened in a run, all of it or nothing.
    ///
    /// # Errors
    /// When there is no such run, and when it cannot be written.
    pub(crate) async fn commit(
        &self,
        run: &str,
        changes: Vec<Change>,
    ) -> Result<(), RunStoreError> {
        let (id, now) = (run.to_owned(), self.clock.now());
        let written = self.writer.run(move |connection| {
            let Some(key) = key_of(connection, &id)? else {
                return Ok(Some(RunStoreError::unknown(&id)));
            };
            for change in &changes {
                change.write(connection, key, now)?;
            }
            Ok(None)
        });
        written.await?.map_or(Ok(()), Err)
    }

    /// The run with everything that is known of it.
    ///
    /// # Errors
    /// When there is no such run, and when it cannot be read.
    pub async fn load(&self, run: &str) -> Result<StoredRun, RunStoreError> {
        let id = run.to_owned();
        let loaded = self
            .writer
            .run(move |connection| load::run(connection, &id));
        loaded.await?.ok_or_else(|| RunStoreError::unknown(run))
    }

    /// The newest runs, newest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn list(&self, most: u32) -> Result<Vec<RunSummary>, RunStoreError> {
        self.writer
            .run(move |connection| load::list(connection, most))
            .await
    }

    /// Asks for the run to be canceled; whoever runs it notices, or whoever resumes it. Whether it
    /// had not ended before.
    ///
    /// # Errors
    /// When there is no such run, and when it cannot be written.
    pub async fn request_cancel(&self, run: &str) -> Result<bool, RunStoreError> {
        let id = run.to_owned();
        let asked = self.writer.run(move |connection| {
            let Some(key) = key_of(connection, &id)? else {
                return Ok(None);
            };
            let running = connection
                .prepare_cached("UPDATE runs SET cancel = 1 WHERE key = ? AND ended IS NULL")?
                .execute([key])?;
            Ok(Some(running > 0))
        });
        let asked = asked.await?.ok_or_else(|| RunStoreError::unknown(run));
        self.wished.send_modify(|wishes| *wishes += 1);
        asked
    }

    /// Stores what somebody answers to the question of a call; whoever runs the run sends it.
    ///
    /// # Errors
    /// When there is no such run, when nothing is asked there, or it is answered already, and when
    /// it cannot be written.
    pub async fn answer(
        &self,
        run: &str,
        call: &CallId,
        answer: Vec<Part>,
    ) -> Result<(), RunStoreError> {
        let (id, call, now) = (run.to_owned(), call.clone(), self.clock.now());
        let answered = self.writer.run(move |connection| {
            let Some(key) = key_of(connection, &id)? else {
                return Ok(Some(RunStoreError::unknown(&id)));
            };
            let list = parts::write(connection, key, &answer)?;
            let changed = connection
                .prepare_cached(
                    "UPDATE calls SET answer = ?, changed = ?
                     WHERE run = ? AND step = ? AND item = ? AND state = 'asking' AND answer IS NULL",
                )?
                .execute(params![list, now, key, call.step, call.item_key()])?;
            Ok((changed == 0).then(|| RunStoreError::nothing_asked(&id, &call)))
        });
        answered.await?.map_or(Ok(()), Err)?;
        self.wished.send_modify(|wishes| *wishes += 1);
        Ok(())
    }

    /// Removes a run that has ended, with its parts. Whether there was one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn remove(&self, run: &str) -> Result<bool, RunStoreError> {
        let id = run.to_owned();
        self.writer
            .run(move |connection| {
                let removed = connection
                    .prepare_cached("DELETE FROM runs WHERE id = ? AND ended IS NOT NULL")?
                    .execute([&id])?;
                Ok(removed > 0)
            })
            .await
    }

    /// Whether somebody wants the run canceled, and the answers that wait to be sent.
    pub(crate) async fn wishes(&self, run: &str) -> Result<Wishes, RunStoreError> {
        let id = run.to_owned();
        let wishes = self
            .writer
            .run(move |connection| load::wishes(connection, &id));
        wishes.await?.ok_or_else(|| RunStoreError::unknown(run))
    }

    /// Milliseconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        self.clock.now()
    }

    /// Changes when this process has stored a wish: a cancel, an answer.
    pub(crate) fn wished(&self) -> watch::Receiver<u64> {
        self.wished.subscribe()
    }

    /// Takes the run for this process; `None` while another one has it. It is let go when the hold
    /// is dropped, and when the process ends, however that dies.
    ///
    /// # Errors
    /// When the file of the hold cannot be made.
    pub fn hold(&self, run: &str) -> Result<Option<Hold>, RunStoreError> {
        Hold::take(self.path.as_deref(), run)
    }
}

impl std::fmt::Debug for RunStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunStore")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

fn prepare(connection: &Connection) -> Result<(), RunStoreError> {
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;",
    )?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match version {
        SCHEMA_VERSION => {}
        0 if tables == 0 => {
            connection.execute_batch(SCHEMA)?;
            connection.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        }
        0 => return Err(RunStoreError::not_a_store()),
        newer => return Err(RunStoreError::newer(newer, SCHEMA_VERSION)),
    }
    connection.execute_batch("COMMIT")?;
    Ok(())
}

fn key_of(connection: &Connection, id: &str) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT key FROM runs WHERE id = ?")?
        .query_row([id], |row| row.get(0))
        .optional()
}
