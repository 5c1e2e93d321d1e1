//! The backend that keeps tasks in a file: SQLite, built in, nothing to install.
//!
//! One thread writes, and all that waits for it becomes one transaction, which is on the disk
//! before anybody is told. Readers have connections of their own. Several processes may have the
//! same file open, as they have while a new release takes over from an old one.
//!
//! A task is its snapshot and the log after it. A chunk is appended to the log; the snapshot is
//! written anew when the task settles and when the log has grown long. Parts of 8 KiB and more
//! ([`MIN_SHARED_PART_BYTES`]) are stored once, however many tasks carry them.

mod admin;
mod alive;
mod change;
mod create;
mod cursor;
mod fault;
mod hub;
mod kept;
mod list;
mod options;
mod page_secret;
mod parts;
mod push;
mod readers;
mod record;
mod rows;
mod schema;
mod service;
mod snapshot;
mod sweep;
mod tx;
mod work;
mod writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::backend::{Backend, StoreError};

pub use admin::{AgentStats, Collected, Report, Stats, StoreFile};
pub use options::SqliteOptions;
pub use record::MIN_SHARED_PART_BYTES;
pub use schema::OpenError;

use alive::Workers;
use hub::Hub;
use options::Settings;
use readers::Readers;
use service::SqliteBackend;
use writer::Writer;

/// Tasks in a file. Cheap to clone; the file is closed with the last clone and backend.
///
/// ```no_run
/// use llamon_server::backend::sqlite::SqliteStore;
///
/// let store = SqliteStore::open("data/tasks.db")?;
/// let audit = store.backend("audit");
/// let triage = store.backend("triage");
/// # Ok::<(), llamon_server::backend::sqlite::OpenError>(())
/// ```
#[derive(Clone)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    settings: Settings,
    hub: Arc<Hub>,
    readers: Arc<Readers>,
    writer: Writer,
    workers: Workers,
}

impl SqliteStore {
    /// Opens the file, and makes it, with its directory, if there is none.
    ///
    /// # Errors
    /// When it cannot be made, read or written, and when it is no store, or one of a newer version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::options().open(path)
    }

    /// Begins to say how the store is to be kept; ends with [`SqliteOptions::open`].
    pub fn options() -> SqliteOptions {
        SqliteOptions::default()
    }

    /// The tasks of one agent. Agents that share a store see nothing of each other; the name tells
    /// them apart, and stays with the tasks.
    pub fn backend(&self, agent: impl Into<Arc<str>>) -> Arc<dyn Backend> {
        Arc::new(SqliteBackend::new(Arc::clone(&self.inner), agent.into()))
    }

    /// Sets how many pages of 4 KiB the file may have; `None` is as many as the disk. A number
    /// that is smaller than what the file has keeps it from growing. Takes effect at once.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn set_max_pages(&self, pages: Option<u32>) -> Result<(), StoreError> {
        let set = move |tx: &mut tx::Tx<'_>| Ok(schema::set_max_pages(tx.connection, pages)?);
        self.inner.writer.write(set).await
    }

    /// Looks at everything that is stored; see [`StoreFile::check`].
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn check(&self) -> Result<Report, StoreError> {
        self.inner
            .readers
            .read(|file| Ok(admin::check(file)?))
            .await
    }

    /// What is stored; see [`StoreFile::stats`].
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn stats(&self) -> Result<Stats, StoreError> {
        let (path, workers) = (self.inner.path.clone(), self.inner.workers.clone());
        let read = move |file: &rusqlite::Connection| Ok(admin::stats(file, &path, &workers)?);
        self.inner.readers.read(read).await
    }

    /// Lets everything go that may; see [`StoreFile::gc`]. Done in small pieces, so that others
    /// are not kept waiting. The file keeps its size and fills the room again.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn gc(&self) -> Result<Collected, StoreError> {
        let mut collected = Collected::default();
        loop {
            let before = self.inner.writer.write(|tx| Ok(tx.counts)).await?;
            let swept = self.inner.writer.write(|tx| Ok(sweep::sweep(tx)?)).await?;
            let after = self.inner.writer.write(|tx| Ok(tx.counts)).await?;
            collected.tasks += usize::try_from(before.done() - after.done()).unwrap_or(0);
            if swept == crate::backend::Swept::Clean {
                break;
            }
        }
        collected.parts = self
            .inner
            .writer
            .write(|tx| Ok(admin::remove_orphans(tx.connection)?))
            .await?;
        Ok(collected)
    }

    /// Writes a consistent copy to a new file while the store is in use.
    ///
    /// # Errors
    /// When the file exists already or cannot be written.
    pub async fn backup(&self, to: impl Into<PathBuf>) -> Result<(), StoreError> {
        let (from, to) = (self.inner.path.clone(), to.into());
        let copy = move || {
            let file = StoreFile::open(&from);
            file.map_err(|error| StoreError::Failed(error.to_string()))?
                .backup(&to)
        };
        let copied = tokio::task::spawn_blocking(copy).await;
        copied.map_err(|error| StoreError::Failed(error.to_string()))?
    }
}

impl SqliteOptions {
    /// Opens the store; as [`SqliteStore::open`].
    ///
    /// # Errors
    /// As [`SqliteStore::open`].
    pub fn open(self, path: impl AsRef<Path>) -> Result<SqliteStore, OpenError> {
        let path = std::path::absolute(path.as_ref())
            .map_err(|error| OpenError::Io(path.as_ref().to_owned(), error))?;
        let connection = schema::open(&path)?;
        let failed = |error: rusqlite::Error| OpenError::of(&path, &error);
        schema::set_max_pages(&connection, self.max_pages).map_err(failed)?;
        let hub = Arc::new(Hub::default());
        let writer = Writer::start(connection, self.settings.clone(), Arc::clone(&hub))
            .map_err(|error| OpenError::Io(path.clone(), error))?;
        Ok(SqliteStore {
            inner: Arc::new(Inner {
                settings: self.settings,
                hub,
                readers: Arc::new(Readers::new(path.clone())),
                writer,
                workers: Workers::beside(&path),
                path,
            }),
        })
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SqliteStore")
            .field(&self.inner.path)
            .finish()
    }
}
