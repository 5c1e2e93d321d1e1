//! The thread that writes: all that waits becomes one transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::fault::Fault;
use super::hub::Hub;
use super::options::Settings;
use super::rows::{self, TaskRow};
use super::tx::{Memory, Tx};
use crate::backend::StoreError;

/// Operations that wait for the writer; more wait for a place.
const QUEUE: usize = 4_096;
/// Operations of one transaction.
const MAX_BATCH: usize = 1_024;
/// Bytes that they write; the last one may write more.
const MAX_BATCH_BYTES: usize = 8 * 1024 * 1024;
/// How often the file is asked what other processes have written, while somebody waits for that.
const POLL: Duration = Duration::from_millis(100);

/// An operation that waits for its transaction. It may be attempted twice: with others, and alone
/// after one of the others has failed.
trait Job: Send {
    fn is_abandoned(&self) -> bool;
    fn bytes(&self) -> usize;
    /// An error means that the transaction must be rolled back.
    fn attempt(&mut self, tx: &mut Tx<'_>) -> Result<(), Fault>;
    /// The transaction is durable, or has failed.
    fn settle(self: Box<Self>, outcome: Result<(), StoreError>);
}

struct Operation<F, T> {
    run: F,
    bytes: usize,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<F, T> Job for Operation<F, T>
where
    F: FnMut(&mut Tx<'_>) -> Result<T, Fault> + Send,
    T: Send,
{
    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn attempt(&mut self, tx: &mut Tx<'_>) -> Result<(), Fault> {
        self.result = Some(match (self.run)(tx) {
            Ok(value) => Ok(value),
            Err(Fault::Refused(refusal)) => Err(refusal),
            Err(fault) => return Err(fault),
        });
        Ok(())
    }

    fn settle(self: Box<Self>, outcome: Result<(), StoreError>) {
        let Self { result, reply, .. } = *self;
        let lost = || Err(StoreError::Failed("the operation has no result".to_owned()));
        // Who asked may be gone: that changes nothing.
        let _ = reply.send(match outcome {
            Ok(()) => result.unwrap_or_else(lost),
            Err(error) => Err(error),
        });
    }
}

/// The way to the writer.
pub(super) struct Writer {
    jobs: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
    has_failed: Arc<AtomicBool>,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(
        connection: Connection,
        settings: Settings,
        hub: Arc<Hub>,
    ) -> std::io::Result<Self> {
        let (sender, jobs) = mpsc::channel(QUEUE);
        let has_failed = Arc::new(AtomicBool::new(false));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        let thread = Thread {
            connection,
            settings,
            hub,
            memory: Memory::new(),
            has_failed: Arc::clone(&has_failed),
            data_version: None,
            polled: Instant::now(),
        };
        let thread = std::thread::Builder::new()
            .name("llamon-store".to_owned())
            .spawn(move || runtime.block_on(thread.run(jobs)))?;
        Ok(Self {
            jobs: Some(sender),
            thread: Some(thread),
            has_failed,
        })
    }

    /// Does `run` in a transaction, and returns once that is durable. A dropped future's operation
    /// happens whole or not at all.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        run: impl FnMut(&mut Tx<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write_bytes(0, run).await
    }

    /// The same for an operation that writes so many bytes.
    pub(super) async fn write_bytes<T: Send + 'static>(
        &self,
        bytes: usize,
        run: impl FnMut(&mut Tx<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let stopped = || StoreError::Failed("the store's writer has stopped".to_owned());
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Operation {
            run,
            bytes,
            result: None,
            reply,
        });
        let jobs = self.jobs.as_ref().ok_or_else(stopped)?;
        jobs.send(job).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    /// Whether the last transaction failed.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
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

struct Thread {
    connection: Connection,
    settings: Settings,
    hub: Arc<Hub>,
    memory: Memory,
    has_failed: Arc<AtomicBool>,
    data_version: Option<i64>,
    polled: Instant,
}

impl Thread {
    async fn run(mut self, mut jobs: mpsc::Receiver<Box<dyn Job>>) {
        loop {
            let first = if self.hub.is_idle() {
                tokio::select! {
                    job = jobs.recv() => Some(job),
                    () = self.hub.woken.notified() => None,
                }
            } else {
                tokio::time::timeout(POLL, jobs.recv()).await.ok()
            };
            match first {
                Some(None) => return,
                Some(Some(first)) => {
                    let mut bytes = first.bytes();
                    let mut batch = vec![first];
                    while batch.len() < MAX_BATCH
                        && bytes < MAX_BATCH_BYTES
                        && let Ok(job) = jobs.try_recv()
                    {
                        bytes += job.bytes();
                        batch.push(job);
                    }
                    self.write(batch);
                }
                None => {}
            }
            if self.polled.elapsed() >= POLL && !self.hub.is_idle() {
                self.polled = Instant::now();
                // What fails here is tried again at the next poll.
                let _ = self.poll();
            }
        }
    }

    fn write(&mut self, mut batch: Vec<Box<dyn Job>>) {
        batch.retain(|job| !job.is_abandoned());
        let shared = match batch.len() {
            0 => return,
            1 => None,
            _ => Some(self.transact(&mut batch)),
        };
        match shared {
            Some(Ok(())) => {
                self.note(&Ok(()));
                for job in batch {
                    job.settle(Ok(()));
                }
            }
            // It would keep each of them waiting as long.
            Some(Err(fault)) if fault.is_locked() => {
                let outcome = Err(fault);
                self.note(&outcome);
                let error = outcome.map_err(StoreError::from);
                for job in batch {
                    job.settle(error.clone());
                }
            }
            // Each by itself, so that one's trouble is not the others'.
            Some(Err(_)) | None => {
                for mut job in batch {
                    let outcome = self.transact(std::slice::from_mut(&mut job));
                    self.note(&outcome);
                    job.settle(outcome.map_err(StoreError::from));
                }
            }
        }
    }

    /// Keeps for [`Writer::has_failed`], and tells the log, whether the store can be written.
    fn note(&self, outcome: &Result<(), Fault>) {
        let error = match outcome {
            Err(Fault::Sqlite(error)) => Some(error),
            _ => None,
        };
        if self.has_failed.swap(error.is_some(), Ordering::Relaxed) != error.is_some() {
            match error {
                Some(error) => tracing::error!(%error, "the store cannot be written"),
                None => tracing::info!("the store can be written again"),
            }
        }
    }

    /// Does the jobs in one transaction, which is durable, and known to those who wait for its
    /// tasks, when this returns.
    fn transact(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), Fault> {
        let result = self.try_transact(jobs);
        if result.is_err() && !self.connection.is_autocommit() {
            self.connection.execute_batch("ROLLBACK")?;
        }
        result
    }

    fn try_transact(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), Fault> {
        let connection = &self.connection;
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let mut tx = Tx::new(connection, &self.settings, &mut self.memory)?;
        for job in jobs {
            job.attempt(&mut tx)?;
        }
        tx.finish()?;
        connection.prepare_cached("COMMIT")?.execute([])?;
        for news in tx.committed() {
            self.hub.publish(news);
        }
        Ok(())
    }

    /// Looks at what other processes have written about the tasks that somebody waits for.
    fn poll(&mut self) -> rusqlite::Result<()> {
        // Changes with the commits of other connections only.
        let version = self
            .connection
            .prepare_cached("PRAGMA data_version")?
            .query_row([], |row| row.get(0))?;
        if self.data_version.replace(version) == Some(version) {
            return Ok(());
        }
        for live in self.hub.watched() {
            let known = live.lock().known.as_ref().map(|(_, key)| *key);
            let row = match (known, rows::agent(&self.connection, &live.agent)?) {
                (Some(key), _) => TaskRow::of_key(&self.connection, key)?,
                (None, Some(agent)) => TaskRow::find_any(&self.connection, agent, &live.id)?,
                (None, None) => None,
            };
            live.learn(None, row.as_ref(), None);
        }
        Ok(())
    }
}
