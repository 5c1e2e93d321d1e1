//! One transaction of the writer: what its operations share.

use std::collections::HashMap;
use std::sync::Arc;

use hashlink::LruCache;
use llamon_core::a2a::TaskFold;
use rusqlite::{Connection, OptionalExtension as _};

use super::hub::Published;
use super::options::Settings;
use super::record::{Known, Shared};
use super::rows::{self, TaskRow, has};
use super::{fault::Fault, sweep};

/// Folds of running tasks that are kept, so that a task that settles need not be read again.
const MAX_FOLDS: usize = 4_096;
const MAX_FOLD_BYTES: usize = 64 * 1024 * 1024;

/// A running task as of a generation.
pub(super) struct Fold {
    pub(super) generation: i64,
    pub(super) task: TaskFold,
    pub(super) known: Known,
    pub(super) bytes: usize,
}

/// What the writer keeps between transactions. The file is the truth: a fold is used only if the
/// file has its generation.
pub(super) struct Memory {
    folds: LruCache<i64, Fold>,
    fold_bytes: usize,
    // Agents are never removed.
    agents: HashMap<Arc<str>, i64>,
}

impl Memory {
    pub(super) fn new() -> Self {
        Self {
            folds: LruCache::new(MAX_FOLDS),
            fold_bytes: 0,
            agents: HashMap::new(),
        }
    }

    fn take(&mut self, key: i64) -> Option<Fold> {
        let fold = self.folds.remove(&key)?;
        self.fold_bytes -= fold.bytes;
        Some(fold)
    }

    fn put(&mut self, key: i64, fold: Fold) {
        if fold.bytes > MAX_FOLD_BYTES / 4 {
            return;
        }
        if self.folds.len() == MAX_FOLDS {
            self.drop_oldest();
        }
        self.fold_bytes += fold.bytes;
        self.folds.insert(key, fold);
        while self.fold_bytes > MAX_FOLD_BYTES {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((_, fold)) = self.folds.remove_lru() {
            self.fold_bytes -= fold.bytes;
        }
    }
}

/// `counts`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) open: i64,
    pub(super) finished: i64,
    pub(super) answered: i64,
    last_number: i64,
}

impl Counts {
    /// Tasks that retention looks at.
    pub(super) fn done(&self) -> i64 {
        self.finished + self.answered
    }

    pub(super) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        connection
            .prepare_cached("SELECT open, finished, answered, last_number FROM counts")?
            .query_row([], |row| {
                Ok(Self {
                    open: row.get(0)?,
                    finished: row.get(1)?,
                    answered: row.get(2)?,
                    last_number: row.get(3)?,
                })
            })
    }
}

/// A transaction that has begun.
pub(super) struct Tx<'c> {
    pub(super) connection: &'c Connection,
    pub(super) settings: &'c Settings,
    pub(super) counts: Counts,
    /// What is to be told once it is durable.
    pub(super) published: Vec<Published>,
    stored_counts: Counts,
    listed: HashMap<(i64, i64), i64>,
    spaces: HashMap<(i64, Arc<str>), i64>,
    new_agents: Vec<(Arc<str>, i64)>,
    folds: HashMap<i64, Fold>,
    memory: &'c mut Memory,
}

impl<'c> Tx<'c> {
    pub(super) fn new(
        connection: &'c Connection,
        settings: &'c Settings,
        memory: &'c mut Memory,
    ) -> rusqlite::Result<Self> {
        let counts = Counts::read(connection)?;
        Ok(Self {
            connection,
            settings,
            counts,
            published: Vec::new(),
            stored_counts: counts,
            listed: HashMap::new(),
            spaces: HashMap::new(),
            new_agents: Vec::new(),
            folds: HashMap::new(),
            memory,
        })
    }

    /// A number that was never given out before.
    pub(super) fn next_number(&mut self) -> i64 {
        self.counts.last_number += 1;
        self.counts.last_number
    }

    /// The agent's key; it gets one if it has none.
    pub(super) fn agent(&mut self, name: &Arc<str>) -> rusqlite::Result<i64> {
        let new = || self.new_agents.iter().find(|(known, _)| known == name);
        if let Some(key) = self.memory.agents.get(name) {
            return Ok(*key);
        }
        if let Some((_, key)) = new() {
            return Ok(*key);
        }
        let key = match rows::agent(self.connection, name)? {
            Some(key) => key,
            None => {
                self.connection
                    .execute("INSERT INTO agents (name) VALUES (?1)", [name])?;
                self.connection.last_insert_rowid()
            }
        };
        self.new_agents.push((Arc::clone(name), key));
        Ok(key)
    }

    /// The key of a scope of an agent, if it has one.
    pub(super) fn find_space(
        &mut self,
        agent: i64,
        who: &Arc<str>,
    ) -> rusqlite::Result<Option<i64>> {
        let cached = (agent, Arc::clone(who));
        if let Some(key) = self.spaces.get(&cached) {
            return Ok(Some(*key));
        }
        let key = self
            .connection
            .prepare_cached("SELECT key FROM spaces WHERE agent = ?1 AND who = ?2")?
            .query_row((agent, who), |row| row.get(0))
            .optional()?;
        if let Some(key) = key {
            self.spaces.insert(cached, key);
        }
        Ok(key)
    }

    /// The key of a scope of an agent; it gets one if it has none.
    pub(super) fn space(&mut self, agent: i64, who: &Arc<str>) -> rusqlite::Result<i64> {
        if let Some(key) = self.find_space(agent, who)? {
            return Ok(key);
        }
        let key = self
            .connection
            .prepare_cached("INSERT INTO spaces (agent, who) VALUES (?1, ?2)")?
            .insert((agent, who))?;
        self.spaces.insert((agent, Arc::clone(who)), key);
        Ok(key)
    }

    /// Counts a task of a state in, or out.
    pub(super) fn list(&mut self, space: i64, state: i64, change: i64) {
        *self.listed.entry((space, state)).or_default() += change;
    }

    /// The task's fold, from memory or from the file.
    pub(super) fn fold(&mut self, row: &TaskRow) -> Result<Fold, Fault> {
        if let Some(fold) = self.cached_fold(row) {
            return Ok(fold);
        }
        let (task, known) = rows::load_fold(self.connection, row)?;
        Ok(Fold {
            generation: row.generation,
            task,
            known,
            bytes: usize::try_from(row.snapshot_bytes + row.fresh_bytes).unwrap_or(usize::MAX),
        })
    }

    pub(super) fn cached_fold(&mut self, row: &TaskRow) -> Option<Fold> {
        let fold = match self.folds.remove(&row.key) {
            Some(fold) => Some(fold),
            None => self.memory.take(row.key),
        };
        fold.filter(|fold| fold.generation == row.generation)
    }

    /// Keeps a fold, for later operations of the transaction and, once it is durable, beyond.
    pub(super) fn keep_fold(&mut self, key: i64, fold: Fold) {
        self.folds.insert(key, fold);
    }

    /// Stores shared parts for a task. Returns the bit of `tasks.has`.
    pub(super) fn share(&mut self, task: i64, parts: &[Shared]) -> rusqlite::Result<i64> {
        for shared in parts {
            let hash = shared.hash.as_slice();
            let known = self
                .connection
                .prepare_cached("SELECT key FROM blobs WHERE hash = ?1")?
                .query_row([hash], |row| row.get::<_, i64>(0))
                .optional()?;
            let blob = match known {
                Some(key) => key,
                None => self
                    .connection
                    .prepare_cached("INSERT INTO blobs (hash, json) VALUES (?1, ?2)")?
                    .insert((hash, shared.part.json()))?,
            };
            self.connection
                .prepare_cached("INSERT OR IGNORE INTO task_blobs (task, blob) VALUES (?1, ?2)")?
                .execute((task, blob))?;
        }
        Ok(if parts.is_empty() { 0 } else { has::BLOBS })
    }

    /// Writes what the operations have counted, and lets finished tasks go where there are too
    /// many.
    pub(super) fn finish(&mut self) -> rusqlite::Result<()> {
        sweep::trim(self)?;
        let mut shrunk = Vec::new();
        for ((space, state), change) in self.listed.drain().filter(|(_, change)| *change != 0) {
            if change < 0 {
                shrunk.push(space);
            }
            self.connection
                .prepare_cached(
                    "INSERT INTO listed VALUES (?1, ?2, ?3) \
                     ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks",
                )?
                .execute((space, state, change))?;
        }
        for space in shrunk {
            forget_if_empty(self.connection, space)?;
        }
        if self.counts != self.stored_counts {
            self.connection
                .prepare_cached(
                    "UPDATE counts SET open = ?1, finished = ?2, answered = ?3, last_number = ?4",
                )?
                .execute((
                    self.counts.open,
                    self.counts.finished,
                    self.counts.answered,
                    self.counts.last_number,
                ))?;
        }
        Ok(())
    }

    /// Finished tasks more than there were when the transaction began.
    pub(super) fn newly_done(&self) -> i64 {
        self.counts.done() - self.stored_counts.done()
    }

    /// Takes over into memory what is durable now. Returns what is to be told.
    pub(super) fn committed(self) -> Vec<Published> {
        self.memory.agents.extend(self.new_agents);
        for (key, fold) in self.folds {
            self.memory.put(key, fold);
        }
        self.published
    }
}

/// A scope that has no task any more is not kept: there can be one for each person who ever asked.
fn forget_if_empty(connection: &Connection, space: i64) -> rusqlite::Result<()> {
    let left: i64 = connection
        .prepare_cached("SELECT coalesce(sum(tasks), 0) FROM listed WHERE space = ?1")?
        .query_row([space], |row| row.get(0))?;
    if left == 0 {
        for sql in [
            "DELETE FROM spaces WHERE key = ?1",
            "DELETE FROM listed WHERE space = ?1",
        ] {
            connection.prepare_cached(sql)?.execute([space])?;
        }
    }
    Ok(())
}
