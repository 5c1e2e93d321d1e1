//! The tables, and opening a file that has them.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, io};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::fault::is_locked;

/// `application_id` of our files: the letters `LLAM`.
const APPLICATION_ID: i32 = 0x4C4C_414D;
/// The newest version of the tables that this build knows.
const VERSION: i32 = 2;
/// How long another process may hold the file's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const PAGE_CACHE_KIB: i32 = 16 * 1024;
const READER_PAGE_CACHE_KIB: i32 = 4 * 1024;
/// What the write-ahead log is cut to after it has grown.
const MAX_WAL_BYTES: i64 = 64 * 1024 * 1024;
/// Pages of it after which they go into the file: 16 MiB.
const CHECKPOINT_PAGES: i32 = 4_096;
const STATEMENTS: usize = 96;

/// Each migration brings a file from the version before to the next one.
const MIGRATIONS: [&str; 2] = [include_str!("schema_1.sql"), include_str!("schema_2.sql")];

/// Why a file was not opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no file, where one must exist.
    Missing(PathBuf),
    /// Its directory cannot be made, or the file cannot be read or written.
    Io(PathBuf, io::Error),
    /// It is no SQLite database.
    NotADatabase(PathBuf),
    /// It is a database of another program.
    Foreign(PathBuf),
    /// It was written by a newer version of this program.
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its tables.
        found: i32,
        /// The newest version that this build knows.
        known: i32,
    },
    /// Another program holds its lock.
    Locked(PathBuf),
    /// SQLite failed with this text.
    Sqlite(PathBuf, String),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(path) => write!(
                f,
                "there is no store at {}; a server that is started with it makes one",
                path.display()
            ),
            Self::Io(path, error) => write!(f, "cannot use {}: {error}", path.display()),
            Self::NotADatabase(path) => write!(
                f,
                "{} is no SQLite database; name another file, or move this one away",
                path.display()
            ),
            Self::Foreign(path) => write!(
                f,
                "{} is a database of another program; name another file",
                path.display()
            ),
            Self::Newer { path, found, known } => write!(
                f,
                "{} has version {found} and this program knows versions up to {known}; run a newer \
                 release, or restore a backup from before the update",
                path.display()
            ),
            Self::Locked(path) => write!(
                f,
                "another program holds the lock of {}; close it and try again",
                path.display()
            ),
            Self::Sqlite(path, error) => write!(f, "cannot open {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for OpenError {}

impl OpenError {
    pub(super) fn of(path: &Path, error: &rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotADatabase(path),
            _ if is_locked(error) => Self::Locked(path),
            _ => Self::Sqlite(path, error.to_string()),
        }
    }
}

/// Opens the file for writing; makes it, and its directory, if there is none.
pub(super) fn open(path: &Path) -> Result<Connection, OpenError> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)
            .map_err(|error| OpenError::Io(directory.to_owned(), error))?;
    }
    match create_private(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(OpenError::Io(path.to_owned(), error));
        }
        _ => {}
    }
    let failed = |error: rusqlite::Error| OpenError::of(path, &error);
    let mut connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(failed)?;
    prepare(&connection, PAGE_CACHE_KIB).map_err(failed)?;
    // Before anything is written: the file may be somebody else's.
    check_header(&connection, path)?;
    keep_log_beside(&connection).map_err(failed)?;
    connection
        // The second is for macOS, where a sync alone leaves the disk's own memory out.
        .execute_batch("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;")
        .map_err(failed)?;
    migrate(&mut connection, path)?;
    Ok(connection)
}

/// Makes an empty file that only its owner can read: tasks are other people's, and push receivers
/// have secrets. SQLite gives the files beside it the same rights.
pub(super) fn create_private(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// Opens an existing file of ours. Nothing is migrated.
pub(super) fn open_existing(path: &Path) -> Result<Connection, OpenError> {
    if !path.is_file() {
        return Err(OpenError::Missing(path.to_owned()));
    }
    let failed = |error: rusqlite::Error| OpenError::of(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    prepare(&connection, READER_PAGE_CACHE_KIB).map_err(failed)?;
    match check_header(&connection, path)? {
        0 => Err(OpenError::Foreign(path.to_owned())),
        _ => Ok(connection),
    }
}

/// Opens a connection that only reads, beside one that writes.
pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    prepare(&connection, READER_PAGE_CACHE_KIB)?;
    connection.execute_batch("PRAGMA query_only = ON")?;
    Ok(connection)
}

fn prepare(connection: &Connection, cache_kib: i32) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // A statement's plan never depends on its values; else some are planned anew for each use.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // What is deleted, such as a receiver's token, is overwritten in the pages that are written
    // anyway.
    connection.execute_batch(&format!(
        "PRAGMA cache_size = -{cache_kib};
         PRAGMA journal_size_limit = {MAX_WAL_BYTES};
         PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES};
         PRAGMA temp_store = MEMORY;
         PRAGMA secure_delete = FAST;"
    ))
}

/// The version of the file's tables; 0 if it is new.
fn check_header(connection: &Connection, path: &Path) -> Result<i32, OpenError> {
    let failed = |error: rusqlite::Error| OpenError::of(path, &error);
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let tables: i32 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(failed)?;
    let application = number("application_id").map_err(failed)?;
    let version = number("user_version").map_err(failed)?;
    match application {
        APPLICATION_ID if version > VERSION => Err(OpenError::Newer {
            path: path.to_owned(),
            found: version,
            known: VERSION,
        }),
        APPLICATION_ID => Ok(version),
        0 if tables == 0 && version == 0 => Ok(0),
        _ => Err(OpenError::Foreign(path.to_owned())),
    }
}

/// Switches to the write-ahead log. SQLite does not wait here for another process that does the
/// same at this moment, so we do.
fn keep_log_beside(connection: &Connection) -> rusqlite::Result<()> {
    let mut tries = 100;
    loop {
        let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| {
            row.get::<_, String>(0)
        });
        match mode {
            Err(error) if is_locked(&error) && tries > 0 => {
                tries -= 1;
                std::thread::sleep(Duration::from_millis(20));
            }
            other => return other.map(drop),
        }
    }
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), OpenError> {
    let failed = |error: rusqlite::Error| OpenError::of(path, &error);
    if check_header(connection, path)? == VERSION {
        return Ok(());
    }
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    // Another process may have been faster.
    let from = check_header(&transaction, path)?;
    let steps = MIGRATIONS.iter().skip(usize::try_from(from).unwrap_or(0));
    for step in steps {
        transaction.execute_batch(step).map_err(failed)?;
    }
    transaction
        .execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};"
        ))
        .map_err(failed)?;
    transaction.commit().map_err(failed)
}

/// Limits the file's size; `None` is SQLite's own limit.
pub(super) fn set_max_pages(connection: &Connection, pages: Option<u32>) -> rusqlite::Result<()> {
    let pages = pages.unwrap_or(u32::MAX - 1);
    connection
        .query_row(&format!("PRAGMA max_page_count = {pages}"), [], |row| {
            row.get::<_, i64>(0)
        })
        .map(drop)
}
