//! Reading tasks from their rows; for readers and for the writer.

use std::sync::Arc;

use llamon_core::a2a::{Message, StreamEvent, Task, TaskFold, TaskState};
use llamon_core::{Part, Timestamp};
use rusqlite::types::Type;
use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Row};

use super::fault::Fault;
use super::record::{self, Hash, Known, Shared};
use crate::scope::Scope;

/// Bits of `tasks.has`.
pub(super) mod has {
    pub(in super::super) const WORK: i64 = 1;
    pub(in super::super) const PUSH: i64 = 2;
    pub(in super::super) const ONCE: i64 = 4;
    pub(in super::super) const BLOBS: i64 = 8;
    pub(in super::super) const LOG: i64 = 16;
    pub(in super::super) const REMEMBERED: i64 = 32;
}

/// `tasks.state` of a task that was answered directly and is gone.
pub(super) const ANSWERED: i64 = 8;

/// A task's row.
#[derive(Clone, Debug)]
pub(super) struct TaskRow {
    pub(super) key: i64,
    pub(super) space: i64,
    pub(super) state: i64,
    pub(super) status_ms: i64,
    pub(super) status_number: Option<i64>,
    pub(super) generation: i64,
    pub(super) fence: i64,
    pub(super) canceling: bool,
    pub(super) position: i64,
    pub(super) folded: i64,
    pub(super) snapshot_bytes: i64,
    pub(super) fresh_bytes: i64,
    pub(super) has: i64,
}

macro_rules! select {
    ($from:literal) => {
        concat!(
            "SELECT t.key, t.space, t.state, t.status_ms, t.status_number, t.generation, t.fence, \
             t.canceling, t.position, t.folded, t.snapshot_bytes, t.fresh_bytes, t.has ",
            $from
        )
    };
}

impl TaskRow {
    /// The scope's task of this id, also if it is hidden or was answered directly.
    pub(super) fn find(
        connection: &Connection,
        agent: i64,
        who: &str,
        id: &str,
    ) -> rusqlite::Result<Option<Self>> {
        connection
            .prepare_cached(select!(
                "FROM tasks t JOIN spaces s ON s.key = t.space \
                 WHERE t.agent = ?1 AND t.id = ?2 AND s.who = ?3"
            ))?
            .query_row((agent, id, who), Self::read)
            .optional()
    }

    /// The task of whatever scope, for the server itself.
    pub(super) fn find_any(
        connection: &Connection,
        agent: i64,
        id: &str,
    ) -> rusqlite::Result<Option<Self>> {
        connection
            .prepare_cached(select!("FROM tasks t WHERE t.agent = ?1 AND t.id = ?2"))?
            .query_row((agent, id), Self::read)
            .optional()
    }

    pub(super) fn of_key(connection: &Connection, key: i64) -> rusqlite::Result<Option<Self>> {
        connection
            .prepare_cached(select!("FROM tasks t WHERE t.key = ?1"))?
            .query_row([key], Self::read)
            .optional()
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            key: row.get(0)?,
            space: row.get(1)?,
            state: row.get(2)?,
            status_ms: row.get(3)?,
            status_number: row.get(4)?,
            generation: row.get(5)?,
            fence: row.get(6)?,
            canceling: row.get(7)?,
            position: row.get(8)?,
            folded: row.get(9)?,
            snapshot_bytes: row.get(10)?,
            fresh_bytes: row.get(11)?,
            has: row.get(12)?,
        })
    }

    pub(super) fn has(&self, bit: i64) -> bool {
        self.has & bit != 0
    }

    /// Whether requests see the task.
    pub(super) fn is_visible(&self) -> bool {
        self.status_number.is_some()
    }

    /// Under which state the task is counted.
    pub(super) fn listed_state(&self) -> i64 {
        if self.is_visible() {
            self.state
        } else {
            ANSWERED
        }
    }

    pub(super) fn is_answered(&self) -> bool {
        self.state == ANSWERED
    }

    pub(super) fn task_state(&self) -> Option<TaskState> {
        state_of(self.state)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.task_state().is_none_or(TaskState::is_terminal)
    }
}

pub(super) fn state_of(number: i64) -> Option<TaskState> {
    let index = usize::try_from(number).ok()?;
    TaskState::ALL.get(index).copied()
}

pub(super) fn number_of(state: TaskState) -> i64 {
    let index = TaskState::ALL.iter().position(|other| *other == state);
    index.map_or(0, |index| index as i64)
}

pub(super) fn millis(timestamp: Option<Timestamp>) -> i64 {
    timestamp.map_or(0, |at| at.as_micros().div_euclid(1_000))
}

/// The scope as one text: empty for the anonymous one, which no JSON is.
pub(super) fn who(scope: &Scope) -> Arc<str> {
    match (scope.tenant(), scope.principal()) {
        (None, None) => "".into(),
        names => serde_json::to_string(&names).unwrap_or_default().into(),
    }
}

pub(super) fn scope_of(who: &str) -> Scope {
    match serde_json::from_str::<(Option<String>, Option<String>)>(who) {
        Ok((Some(tenant), Some(principal))) => Scope::new(tenant, principal),
        Ok((Some(tenant), None)) => Scope::of_tenant(tenant),
        Ok((None, Some(principal))) => Scope::of_principal(principal),
        Ok((None, None)) | Err(_) => Scope::anonymous(),
    }
}

pub(super) fn agent(connection: &Connection, name: &str) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT key FROM agents WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()
}

// === content ===

/// The task as it stands, from its snapshot and what the log has after it, and the hashes of its
/// shared parts.
pub(super) fn load_fold(
    connection: &Connection,
    row: &TaskRow,
) -> Result<(TaskFold, Known), Fault> {
    let mut found = Found::new(connection)?;
    let (json, refs) = snapshot(connection, row.key)?;
    let task = record::read_task(json, &refs, &mut |hash| found.part(hash))?;
    let mut fold = TaskFold::new(task);
    if row.has(has::LOG) && row.fresh_bytes > 0 {
        let mut statement = connection.prepare_cached(
            "SELECT json, refs, said FROM log WHERE task = ?1 AND generation > ?2 \
             ORDER BY begin, generation",
        )?;
        let mut rows = statement.query((row.key, row.folded))?;
        while let Some(logged) = rows.next()? {
            let (said, events) = read_logged(logged, &mut found)?;
            if let Some(message) = said {
                fold.push_message(message);
            }
            events.iter().for_each(|event| fold.apply(event));
        }
    }
    Ok((fold, found.known))
}

pub(super) fn load_task(connection: &Connection, row: &TaskRow) -> Result<Task, Fault> {
    load_fold(connection, row).map(|(fold, _)| fold.into_task())
}

/// The task with at least its newest messages and, if asked for, its artifacts.
pub(super) fn load_task_in_part(
    connection: &Connection,
    row: &TaskRow,
    history: usize,
    artifacts: bool,
) -> Result<Task, Fault> {
    if row.fresh_bytes > 0 {
        return load_task(connection, row);
    }
    let mut found = Found::new(connection)?;
    let (json, refs) = snapshot(connection, row.key)?;
    record::read_task_in_part(json, &refs, history, artifacts, &mut |hash| {
        found.part(hash)
    })
}

/// The answer of a task that was answered directly.
pub(super) fn load_answer(connection: &Connection, key: i64) -> Result<Message, Fault> {
    let mut found = Found::new(connection)?;
    let (json, refs) = snapshot(connection, key)?;
    record::read_message(json, &refs, &mut |hash| found.part(hash))
}

/// The events from a place on; `None` where they are not kept any more.
pub(super) fn load_events(
    connection: &Connection,
    row: &TaskRow,
    from: i64,
) -> Result<Option<Vec<Arc<StreamEvent>>>, Fault> {
    let mut found = Found::new(connection)?;
    let mut statement = connection.prepare_cached(
        "SELECT json, refs, said, begin, events FROM log \
         WHERE task = ?1 AND events > 0 AND begin >= coalesce( \
             (SELECT max(begin) FROM log WHERE task = ?1 AND begin <= ?2 AND events > 0), ?2) \
         ORDER BY begin, generation",
    )?;
    let mut rows = statement.query((row.key, from))?;
    let mut next = from;
    let mut read = Vec::new();
    while let Some(logged) = rows.next()? {
        let (begin, count): (i64, i64) = (logged.get(3)?, logged.get(4)?);
        if begin > next {
            return Ok(None);
        }
        if begin + count <= next {
            continue;
        }
        let (_, events) = read_logged(logged, &mut found)?;
        let known = usize::try_from(next - begin).unwrap_or(0);
        read.extend(events.into_iter().skip(known).map(Arc::new));
        next = begin + count;
    }
    Ok((next == row.position).then_some(read))
}

fn read_logged(
    row: &Row<'_>,
    found: &mut Found<'_>,
) -> Result<(Option<Message>, Vec<StreamEvent>), Fault> {
    let refs = row.get_ref(1)?.as_blob().map_err(wrong_type)?;
    record::read_commit(row.get(0)?, refs, row.get(2)?, &mut |hash| found.part(hash))
}

pub(super) fn snapshot(connection: &Connection, key: i64) -> rusqlite::Result<(String, Vec<u8>)> {
    connection
        .prepare_cached("SELECT json, refs FROM snapshots WHERE task = ?1")?
        .query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))
}

fn wrong_type(error: rusqlite::types::FromSqlError) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, Box::new(error))
}

/// Shared parts that were read.
struct Found<'c> {
    statement: CachedStatement<'c>,
    known: Known,
}

impl<'c> Found<'c> {
    fn new(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            statement: connection.prepare_cached("SELECT json FROM blobs WHERE hash = ?1")?,
            known: Known::default(),
        })
    }

    fn part(&mut self, hash: &Hash) -> Result<Part, Fault> {
        // A part that is there twice is read once.
        if let Some(part) = self.known.part(hash) {
            return Ok(part);
        }
        let json = self
            .statement
            .query_row([hash.as_slice()], |row| row.get::<_, String>(0))
            .optional()?
            .ok_or_else(|| Fault::record("a shared part is missing"))?;
        let part = record::read_part(json)?;
        self.known.extend([Shared {
            part: part.clone(),
            hash: *hash,
        }]);
        Ok(part)
    }
}
