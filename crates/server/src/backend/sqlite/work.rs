//! Turns as rows: who works on what.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _};

use super::fault::Fault;
use super::hub::{Outcome, Published};
use super::rows::{TaskRow, scope_of};
use super::tx::Tx;
use crate::backend::{Claimed, Fence, Generation, Held, StoreError};

/// Who works on turns; none where a turn waits for somebody.
pub(super) fn owners(connection: &Connection, agent: i64) -> rusqlite::Result<Vec<Option<String>>> {
    // Goes from one owner to the next in the index, however many turns each has.
    let free: bool = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM work WHERE agent = ?1 AND owner IS NULL)")?
        .query_row([agent], |row| row.get(0))?;
    let mut owners: Vec<Option<String>> = free.then_some(None).into_iter().collect();
    let mut next: Option<String> = connection
        .prepare_cached("SELECT min(owner) FROM work WHERE agent = ?1 AND owner IS NOT NULL")?
        .query_row([agent], |row| row.get(0))?;
    while let Some(owner) = next {
        next = connection
            .prepare_cached("SELECT min(owner) FROM work WHERE agent = ?1 AND owner > ?2")?
            .query_row((agent, &owner), |row| row.get(0))?;
        owners.push(Some(owner));
    }
    Ok(owners)
}

struct Waiting {
    begun: i64,
    task: i64,
    had_owner: bool,
    attempt: u32,
    crashes: u32,
    record: String,
}

/// Takes up to `limit` turns that nobody works on, or that one of `gone` did.
pub(super) fn claim(
    tx: &mut Tx<'_>,
    agent: &Arc<str>,
    worker: &str,
    gone: &[String],
    limit: usize,
) -> Result<Vec<Claimed>, Fault> {
    let agent_key = tx.agent(agent)?;
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut waiting = Vec::new();
    for owner in std::iter::once(None).chain(gone.iter().map(Some)) {
        let mut statement = tx.connection.prepare_cached(
            "SELECT begun, task, attempt, crashes, record FROM work \
             WHERE agent = ?1 AND owner IS ?2 ORDER BY begun LIMIT ?3",
        )?;
        let rows = statement.query_map((agent_key, owner, most), |row| {
            Ok(Waiting {
                begun: row.get(0)?,
                task: row.get(1)?,
                had_owner: owner.is_some(),
                attempt: row.get(2)?,
                crashes: row.get(3)?,
                record: row.get(4)?,
            })
        })?;
        for row in rows {
            waiting.push(row?);
        }
    }
    waiting.sort_by_key(|waiting| waiting.begun);
    waiting.truncate(limit);
    waiting
        .into_iter()
        .map(|waiting| take(tx, agent, worker, waiting))
        .collect()
}

fn take(
    tx: &mut Tx<'_>,
    agent: &Arc<str>,
    worker: &str,
    waiting: Waiting,
) -> Result<Claimed, Fault> {
    let row = TaskRow::of_key(tx.connection, waiting.task)?
        .ok_or_else(|| Fault::record("a turn has no task"))?;
    let (id, who): (String, String) = tx
        .connection
        .prepare_cached(
            "SELECT t.id, s.who FROM tasks t JOIN spaces s ON s.key = t.space WHERE t.key = ?1",
        )?
        .query_row([row.key], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let fence = row.fence + 1;
    let attempt = waiting.attempt + 1;
    let crashes = waiting.crashes + u32::from(waiting.had_owner);
    tx.connection
        .prepare_cached("UPDATE work SET owner = ?2, attempt = ?3, crashes = ?4 WHERE task = ?1")?
        .execute((row.key, worker, attempt, crashes))?;
    tx.connection
        .prepare_cached("UPDATE tasks SET fence = ?2 WHERE key = ?1")?
        .execute((row.key, fence))?;
    let fold = tx.fold(&row)?;
    let task = Arc::new(fold.task.snapshot());
    tx.keep_fold(row.key, fold);
    let settled = row.task_state().is_none_or(|state| state.is_settled());
    tx.published.push(Published {
        agent: Arc::clone(agent),
        id: id.into(),
        who: who.as_str().into(),
        key: row.key,
        generation: row.generation,
        begin: row.position,
        events: Vec::new(),
        outcome: if settled {
            Outcome::Stored
        } else {
            Outcome::Running
        },
        is_ours: true,
    });
    Ok(Claimed {
        scope: scope_of(&who),
        task,
        generation: Generation(row.generation.cast_unsigned()),
        fence: Fence(fence.cast_unsigned()),
        attempt,
        crashes,
        cancel_requested: row.canceling,
        record: waiting.record,
    })
}

pub(super) fn held(
    connection: &Connection,
    agent: i64,
    worker: &str,
) -> rusqlite::Result<Vec<Held>> {
    connection
        .prepare_cached(
            "SELECT t.id, t.fence, t.canceling FROM work w JOIN tasks t ON t.key = w.task \
             WHERE w.agent = ?1 AND w.owner = ?2 ORDER BY w.begun",
        )?
        .query_map((agent, worker), |row| {
            Ok(Held {
                task_id: row.get::<_, String>(0)?.into(),
                fence: Fence(row.get::<_, i64>(1)?.cast_unsigned()),
                cancel_requested: row.get(2)?,
            })
        })?
        .collect()
}

/// Gives a turn back.
pub(super) fn release(
    tx: &mut Tx<'_>,
    agent: &Arc<str>,
    worker: &str,
    task_id: &str,
    fence: Fence,
) -> Result<(), Fault> {
    let agent = tx.agent(agent)?;
    let task: Option<i64> = tx
        .connection
        .prepare_cached(
            "SELECT t.key FROM tasks t JOIN work w ON w.task = t.key \
             WHERE t.agent = ?1 AND t.id = ?2 AND t.fence = ?3 AND w.owner = ?4",
        )?
        .query_row((agent, task_id, fence.0.cast_signed(), worker), |row| {
            row.get(0)
        })
        .optional()?;
    let task = task.ok_or(StoreError::Fenced)?;
    tx.connection
        .prepare_cached("UPDATE work SET owner = NULL WHERE task = ?1")?
        .execute([task])?;
    Ok(())
}
