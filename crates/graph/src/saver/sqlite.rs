//! Checkpoints in a SQLite file.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};

use super::{Checkpoint, CheckpointKey, PendingWrite, Saved, Saver, SaverError, SaverFuture};
use crate::Stored;

/// Keeps checkpoints in a SQLite file, so that runs outlive the process. Clones share it.
///
/// What was put is on the disk before the graph goes on (`WAL`, `synchronous=FULL`). Several processes
/// may have the file open. It keeps every checkpoint until [`delete_thread`](Saver::delete_thread).
#[derive(Clone, Debug)]
pub struct SqliteSaver {
    connection: Arc<Mutex<Connection>>,
}

/// Says that a file is one of ours: "llgr".
const APPLICATION_ID: i64 = 0x6c6c_6772;

/// The version of the tables that this code reads and writes.
const VERSION: i64 = 1;

const TABLES: &str = "
    CREATE TABLE checkpoints (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        thread TEXT NOT NULL,
        namespace TEXT NOT NULL,
        id TEXT NOT NULL,
        parent TEXT,
        body TEXT NOT NULL,
        UNIQUE (thread, namespace, id)
    );
    CREATE INDEX newest ON checkpoints (thread, namespace, seq);
    CREATE TABLE writes (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        thread TEXT NOT NULL,
        namespace TEXT NOT NULL,
        checkpoint TEXT NOT NULL,
        task TEXT NOT NULL,
        slot TEXT NOT NULL,
        value TEXT NOT NULL,
        UNIQUE (thread, namespace, checkpoint, task, slot)
    );
";

/// How long to wait for another process that writes.
const BUSY: Duration = Duration::from_secs(10);

impl SqliteSaver {
    /// Opens the file, or makes it, and its directory.
    ///
    /// # Errors
    /// When it cannot be opened, is no file of this saver, or was written by a newer version.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, SaverError> {
        let path = path.as_ref().to_owned();
        blocking(move || {
            let shown = path.display().to_string();
            if let Some(directory) = path.parent() {
                std::fs::create_dir_all(directory).map_err(|error| {
                    SaverError::new(format!("failed to make the directory of {shown:?}"))
                        .caused_by(error)
                })?;
            }
            let opened = Connection::open(&path).and_then(|connection| {
                connection.busy_timeout(BUSY)?;
                Ok(connection)
            });
            let mut connection =
                opened.map_err(|error| failed(&format!("open {shown:?}"), error))?;
            prepare(&mut connection, &shown)?;
            Ok(Self {
                connection: Arc::new(Mutex::new(connection)),
            })
        })
        .await
    }

    fn read<'a, T: Send + 'static>(
        &self,
        what: &'static str,
        read: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> SaverFuture<'a, T> {
        self.work(what, TransactionBehavior::Deferred, read)
    }

    fn write<'a, T: Send + 'static>(
        &self,
        what: &'static str,
        write: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> SaverFuture<'a, T> {
        self.work(what, TransactionBehavior::Immediate, write)
    }

    /// Works with the connection on a thread that may block.
    fn work<'a, T: Send + 'static>(
        &self,
        what: &'static str,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> SaverFuture<'a, T> {
        let connection = self.connection.clone();
        Box::pin(blocking(move || {
            // A panic rolls its transaction back.
            let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            let begun = connection.transaction_with_behavior(behavior);
            let worked = begun.and_then(|transaction| {
                let worked = work(&transaction)?;
                transaction.commit()?;
                Ok(worked)
            });
            worked.map_err(|error| failed(what, error))
        }))
    }
}

fn prepare(connection: &mut Connection, shown: &str) -> Result<(), SaverError> {
    let sql = |error| failed(&format!("read {shown:?}"), error);
    let pragma = |connection: &Connection, name: &str| {
        connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0))
    };
    connection
        .pragma_update(None, "journal_mode", "WAL")
        .map_err(sql)?;
    connection
        .pragma_update(None, "synchronous", "FULL")
        .map_err(sql)?;
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(sql)?;
    let application = pragma(&transaction, "application_id").map_err(sql)?;
    let version = pragma(&transaction, "user_version").map_err(sql)?;
    let tables: i64 = transaction
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(sql)?;
    if application != APPLICATION_ID && tables > 0 {
        return Err(SaverError::new(format!(
            "{shown:?} is a database of something else; give the saver a file of its own"
        )));
    }
    if version > VERSION {
        return Err(SaverError::new(format!(
            "{shown:?} has version {version} of the checkpoint tables, and this program knows versions \
             up to {VERSION}; it was written by a newer program, use that one or another file"
        )));
    }
    if tables == 0 {
        transaction.execute_batch(TABLES).map_err(sql)?;
        transaction
            .pragma_update(None, "application_id", APPLICATION_ID)
            .map_err(sql)?;
        transaction
            .pragma_update(None, "user_version", VERSION)
            .map_err(sql)?;
    }
    transaction.commit().map_err(sql)
}

impl Saver for SqliteSaver {
    fn put(&self, checkpoint: Checkpoint, last: Vec<PendingWrite>) -> SaverFuture<'_, ()> {
        let key = checkpoint.key.clone();
        let made = || {
            let body = json(&checkpoint.body)?;
            let of = checkpoint
                .parent
                .clone()
                .map(|id| CheckpointKey { id, ..key.clone() });
            Ok((body, of, rows(last)?))
        };
        let (body, of, last) = match made() {
            Ok(made) => made,
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        self.write("keep a checkpoint", move |sql| {
            if let Some(of) = &of {
                insert(sql, of, &last)?;
            }
            sql.prepare(
                "INSERT INTO checkpoints (thread, namespace, id, parent, body) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                &*key.thread,
                &*key.namespace,
                &*key.id,
                of.as_ref().map(|of| &*of.id),
                body
            ])?;
            Ok(())
        })
    }

    fn put_writes<'a>(
        &'a self,
        of: &'a CheckpointKey,
        writes: Vec<PendingWrite>,
    ) -> SaverFuture<'a, ()> {
        let of = of.clone();
        match rows(writes) {
            Ok(rows) => self.write("keep what a node wrote", move |sql| insert(sql, &of, &rows)),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn get<'a>(
        &'a self,
        thread: &'a str,
        namespace: &'a str,
        id: Option<&'a str>,
    ) -> SaverFuture<'a, Option<Saved>> {
        let (thread, namespace) = (thread.to_owned(), namespace.to_owned());
        let id = id.map(str::to_owned);
        let found = self.read("read a checkpoint", move |sql| {
            let found = sql
                .prepare(
                    "SELECT id, parent, body FROM checkpoints
                     WHERE thread = ?1 AND namespace = ?2 AND (?3 IS NULL OR id = ?3)
                     ORDER BY seq DESC LIMIT 1",
                )?
                .query_row(params![thread, namespace, id], Found::read)
                .optional()?;
            found
                .map(|found| found.with_writes(sql, &thread, &namespace))
                .transpose()
        });
        Box::pin(async move { found.await?.map(Found::saved).transpose() })
    }

    fn list<'a>(&'a self, thread: &'a str, namespace: &'a str) -> SaverFuture<'a, Vec<Saved>> {
        let (thread, namespace) = (thread.to_owned(), namespace.to_owned());
        let found = self.read("list checkpoints", move |sql| {
            let mut query = sql.prepare(
                "SELECT id, parent, body FROM checkpoints
                 WHERE thread = ?1 AND namespace = ?2 ORDER BY seq DESC",
            )?;
            let found = query.query_map(params![thread, namespace], Found::read)?;
            found
                .map(|found| found?.with_writes(sql, &thread, &namespace))
                .collect::<rusqlite::Result<Vec<_>>>()
        });
        Box::pin(async move { found.await?.into_iter().map(Found::saved).collect() })
    }

    fn delete_thread<'a>(&'a self, thread: &'a str) -> SaverFuture<'a, ()> {
        let thread = thread.to_owned();
        self.write("delete a thread", move |sql| {
            sql.execute("DELETE FROM writes WHERE thread = ?1", [&thread])?;
            sql.execute("DELETE FROM checkpoints WHERE thread = ?1", [&thread])?;
            Ok(())
        })
    }
}

/// A write as its columns: task, slot, value.
type WriteRow = [Arc<str>; 3];

fn rows(writes: Vec<PendingWrite>) -> Result<Vec<WriteRow>, SaverError> {
    let row = |write: PendingWrite| Ok([write.task, write.slot, json(&write.value)?.into()]);
    writes.into_iter().map(row).collect()
}

fn insert(sql: &Transaction<'_>, of: &CheckpointKey, rows: &[WriteRow]) -> rusqlite::Result<()> {
    let mut insert = sql.prepare(
        "INSERT INTO writes (thread, namespace, checkpoint, task, slot, value)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT DO UPDATE SET value = excluded.value",
    )?;
    for [task, slot, value] in rows {
        insert.execute(params![
            &*of.thread,
            &*of.namespace,
            &*of.id,
            &**task,
            &**slot,
            &**value
        ])?;
    }
    Ok(())
}

/// A checkpoint as its columns.
struct Found {
    key: CheckpointKey,
    parent: Option<String>,
    body: String,
    writes: Vec<WriteRow>,
}

impl Found {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let id: String = row.get(0)?;
        Ok(Self {
            key: CheckpointKey {
                thread: "".into(),
                namespace: "".into(),
                id: id.into(),
            },
            parent: row.get(1)?,
            body: row.get(2)?,
            writes: Vec::new(),
        })
    }

    fn with_writes(
        mut self,
        sql: &Transaction<'_>,
        thread: &str,
        namespace: &str,
    ) -> rusqlite::Result<Self> {
        let mut query = sql.prepare(
            "SELECT task, slot, value FROM writes
             WHERE thread = ?1 AND namespace = ?2 AND checkpoint = ?3 ORDER BY seq",
        )?;
        let rows = query.query_map(params![thread, namespace, &*self.key.id], |row| {
            let column = |index| row.get::<_, String>(index).map(Arc::from);
            Ok([column(0)?, column(1)?, column(2)?])
        })?;
        self.writes = rows.collect::<rusqlite::Result<_>>()?;
        self.key.thread = thread.into();
        self.key.namespace = namespace.into();
        Ok(self)
    }

    fn saved(self) -> Result<Saved, SaverError> {
        let id = self.key.id.clone();
        let unreadable = |error: serde_json::Error| {
            SaverError::new(format!("checkpoint {id} cannot be read")).caused_by(error)
        };
        let writes = self.writes.into_iter().map(|[task, slot, value]| {
            let value: serde_json::Value = serde_json::from_str(&value)?;
            Ok(PendingWrite {
                task,
                slot,
                value: Stored::new(value),
            })
        });
        Ok(Saved {
            writes: writes.collect::<Result<_, _>>().map_err(unreadable)?,
            checkpoint: Checkpoint {
                key: self.key,
                parent: self.parent.map(Arc::from),
                body: serde_json::from_str(&self.body).map_err(unreadable)?,
            },
        })
    }
}

fn json(value: &impl serde::Serialize) -> Result<String, SaverError> {
    serde_json::to_string(value)
        .map_err(|error| SaverError::new("a value cannot be JSON").caused_by(error))
}

fn failed(what: &str, error: rusqlite::Error) -> SaverError {
    SaverError::new(format!("failed to {what}")).caused_by(error)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SaverError> + Send + 'static,
) -> Result<T, SaverError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(worked) => worked,
        Err(error) => Err(SaverError::new("the saver's thread stopped").caused_by(error)),
    }
}
