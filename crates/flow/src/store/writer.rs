//! The thread that has the file: all that waits becomes one transaction.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::error::RunStoreError;

/// Operations that wait for their turn; more wait for a place.
const QUEUE: usize = 1_024;
/// Operations of one transaction.
const MAX_BATCH: usize = 256;

/// Why an operation did not happen.
#[derive(Debug)]
pub(super) enum Fault {
    Sqlite(rusqlite::Error),
    Damaged(String),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// An operation that waits for its transaction. It may be attempted twice: with others, and alone
/// after one of the others has failed.
trait Job: Send {
    fn attempt(&mut self, connection: &Connection) -> Result<(), Fault>;
    /// The transaction is durable, or has failed.
    fn settle(self: Box<Self>, outcome: Result<(), RunStoreError>);
}

struct Operation<F, T> {
    run: F,
    result: Option<T>,
    reply: oneshot::Sender<Result<T, RunStoreError>>,
}

impl<F, T> Job for Operation<F, T>
where
    F: FnMut(&Connection) -> Result<T, Fault> + Send,
    T: Send,
{
    fn attempt(&mut self, connection: &Connection) -> Result<(), Fault> {
        self.result = Some((self.run)(connection)?);
        Ok(())
    }

    fn settle(self: Box<Self>, outcome: Result<(), RunStoreError>) {
        let Self { result, reply, .. } = *self;
        // Who asked may be gone: that changes nothing.
        let _ = reply.send(match outcome {
            Ok(()) => result.ok_or_else(RunStoreError::stopped),
            Err(error) => Err(error),
        });
    }
}

pub(super) struct Writer {
    jobs: Option<SyncSender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(connection: Connection) -> Result<Self, RunStoreError> {
        let (jobs, queue) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("llamon-runs".to_owned())
            .spawn(move || serve(&connection, &queue))
            .map_err(|error| RunStoreError::io("the thread of the run store", &error))?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    /// Does `run` in a transaction, and returns once that is durable. A dropped future's operation
    /// happens whole or not at all.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        run: impl FnMut(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, RunStoreError> {
        let (reply, answer) = oneshot::channel();
        let job: Box<dyn Job> = Box::new(Operation {
            run,
            result: None,
            reply,
        });
        let jobs = self.jobs.as_ref().ok_or_else(RunStoreError::stopped)?;
        match jobs.try_send(job) {
            Ok(()) => {}
            // A full queue is a disk that does not keep up; the wait is on a thread that may wait.
            Err(std::sync::mpsc::TrySendError::Full(job)) => {
                let jobs = jobs.clone();
                let sent = tokio::task::spawn_blocking(move || jobs.send(job).is_ok()).await;
                if !sent.unwrap_or(false) {
                    return Err(RunStoreError::stopped());
                }
            }
            Err(std::sync::mpsc::TrySendError::Disconnected(_)) => {
                return Err(RunStoreError::stopped());
            }
        }
        answer.await.map_err(|_| RunStoreError::stopped())?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // The thread does what waits and ends; the file is closed when this returns.
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(connection: &Connection, queue: &Receiver<Box<dyn Job>>) {
    while let Ok(first) = queue.recv() {
        let mut batch = vec![first];
        while batch.len() < MAX_BATCH
            && let Ok(job) = queue.try_recv()
        {
            batch.push(job);
        }
        if batch.len() > 1 && transact(connection, &mut batch).is_ok() {
            for job in batch {
                job.settle(Ok(()));
            }
            continue;
        }
        // Each by itself, so that one's trouble is not the others'.
        for mut job in batch {
            let outcome = transact(connection, std::slice::from_mut(&mut job));
            job.settle(outcome.map_err(RunStoreError::from));
        }
    }
}

fn transact(connection: &Connection, jobs: &mut [Box<dyn Job>]) -> Result<(), Fault> {
    let attempted = try_transact(connection, jobs);
    if attempted.is_err() && !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    attempted
}

fn try_transact(connection: &Connection, jobs: &mut [Box<dyn Job>]) -> Result<(), Fault> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    for job in jobs {
        job.attempt(connection)?;
    }
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(())
}
