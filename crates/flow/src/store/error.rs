use std::fmt;
use std::path::Path;

use super::record::CallId;
use super::writer::Fault;

/// A run that is not there, or a store that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunStoreError {
    kind: Kind,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unknown,
    NothingAsked,
    Failed,
}

impl RunStoreError {
    fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    pub(super) fn open(path: &Path, error: &rusqlite::Error) -> Self {
        let path = path.display();
        Self::new(
            Kind::Failed,
            format!(
                "the store of runs at {path} cannot be opened: {error}; its folder must exist and be writable"
            ),
        )
    }

    pub(super) fn at(mut self, path: &Path) -> Self {
        self.message = format!("{} ({})", self.message, path.display());
        self
    }

    pub(super) fn not_a_store() -> Self {
        Self::new(
            Kind::Failed,
            "the file is an SQLite file, but not a store of runs; choose another one",
        )
    }

    pub(super) fn newer(found: i64, known: i64) -> Self {
        Self::new(
            Kind::Failed,
            format!(
                "the store of runs has version {found}, this program knows {known}; use the newer program"
            ),
        )
    }

    pub(super) fn io(what: &str, error: &std::io::Error) -> Self {
        Self::new(Kind::Failed, format!("{what} cannot be made: {error}"))
    }

    pub(super) fn stopped() -> Self {
        Self::new(Kind::Failed, "the store of runs has stopped")
    }

    pub(super) fn exists(run: &str) -> Self {
        Self::new(
            Kind::Failed,
            format!("there is a run {run:?} already; choose another id, or resume it"),
        )
    }

    pub(super) fn unknown(run: &str) -> Self {
        Self::new(
            Kind::Unknown,
            format!("there is no run {run:?}; `llamon flow list` shows those that are there"),
        )
    }

    pub(super) fn nothing_asked(run: &str, call: &CallId) -> Self {
        Self::new(
            Kind::NothingAsked,
            format!(
                "run {run:?} has no open question at {call}; `llamon flow show {run}` says what it waits for"
            ),
        )
    }

    /// Whether there is no run of that id.
    pub fn is_unknown_run(&self) -> bool {
        self.kind == Kind::Unknown
    }

    /// Whether an answer came where nothing is asked.
    pub fn is_nothing_asked(&self) -> bool {
        self.kind == Kind::NothingAsked
    }
}

impl From<rusqlite::Error> for RunStoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::new(Kind::Failed, format!("the store of runs failed: {error}"))
    }
}

impl From<Fault> for RunStoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Sqlite(error) => error.into(),
            Fault::Damaged(what) => Self::new(
                Kind::Failed,
                format!("the store of runs is damaged: {what}"),
            ),
        }
    }
}

impl fmt::Display for RunStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RunStoreError {}
