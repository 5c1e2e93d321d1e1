use std::fmt::Display;

use rusqlite::ErrorCode;

use crate::backend::StoreError;

/// Why an operation was not done.
#[derive(Debug)]
pub(super) enum Fault {
    /// The operation was refused and has written nothing.
    Refused(StoreError),
    /// A stored row cannot be read. What the operation has written must be rolled back.
    Unreadable(String),
    /// SQLite failed. What the operation has written must be rolled back.
    Sqlite(rusqlite::Error),
}

impl Fault {
    /// A stored row that cannot be read.
    pub(super) fn record(reason: impl Display) -> Self {
        Self::Unreadable(reason.to_string())
    }

    /// Whether another program holds the file's lock.
    pub(super) fn is_locked(&self) -> bool {
        matches!(self, Self::Sqlite(error) if is_locked(error))
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refused(error) => error,
            Fault::Unreadable(reason) => StoreError::Failed(format!(
                "a stored record cannot be read: {reason}; `llamon store check` looks at all of them"
            )),
            Fault::Sqlite(error) => store_error(&error),
        }
    }
}

pub(super) fn is_locked(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// What a caller is told of an error of SQLite.
pub(super) fn store_error(error: &rusqlite::Error) -> StoreError {
    if is_locked(error) {
        return StoreError::Failed(
            "another program has held the file's lock for too long; close it, or try again"
                .to_owned(),
        );
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::NoSpace(
            "the disk, or the file's own limit, is full; free some space, writing goes on by itself"
                .to_owned(),
        ),
        _ => StoreError::Failed(error.to_string()),
    }
}
