//! Connections that read, beside the one that writes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::fault::Fault;
use super::schema;
use crate::backend::StoreError;

const READERS: usize = 4;

/// A small pool. Each reading sees the file at one moment.
pub(super) struct Readers {
    path: PathBuf,
    places: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            places: Arc::new(Semaphore::new(READERS)),
            idle: Mutex::default(),
        }
    }

    /// Reads on a thread that may block. Dropping the future lets the reading end unseen.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let failed = |error: &dyn std::fmt::Display| StoreError::Failed(error.to_string());
        let place = Arc::clone(&self.places)
            .acquire_owned()
            .await
            .map_err(|error| failed(&error))?;
        let readers = Arc::clone(self);
        let reading = tokio::task::spawn_blocking(move || {
            let _place = place;
            let connection = readers.take()?;
            let result = read_at_once(&connection, read);
            readers.lock().push(connection);
            result
        });
        let result = reading.await.map_err(|error| failed(&error))?;
        result.map_err(StoreError::from)
    }

    fn take(&self) -> Result<Connection, Fault> {
        match self.lock().pop() {
            Some(connection) => Ok(connection),
            None => Ok(schema::open_reader(&self.path)?),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_at_once<T>(
    connection: &Connection,
    read: impl FnOnce(&Connection) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let transaction = connection.unchecked_transaction()?;
    read(&transaction)
}
