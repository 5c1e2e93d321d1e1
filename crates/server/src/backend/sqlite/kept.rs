//! What a turn keeps with its task, names that tasks hold, and tasks that wait for their client.

use std::sync::Arc;

use llamon_core::Timestamp;
use llamon_core::a2a::TaskState;
use rusqlite::{Connection, OptionalExtension as _};

use super::change::Place;
use super::fault::Fault;
use super::rows::{self, TaskRow, has, number_of, scope_of};
use super::tx::Tx;
use crate::backend::{Fence, Generation, Lease, MAX_REMEMBERED, StoreError, Waiting};

/// Keeps a value with a task, for the attempt that works on it.
pub(super) fn remember(
    tx: &mut Tx<'_>,
    place: &Place,
    fence: Fence,
    name: &str,
    value: &str,
) -> Result<(), Fault> {
    let agent = tx.agent(&place.agent)?;
    let row = TaskRow::find(tx.connection, agent, &place.who, &place.id)?
        .filter(|row| !row.is_answered())
        .ok_or(StoreError::NotFound)?;
    if row.fence != fence.0.cast_signed() || !row.has(has::WORK) {
        return Err(StoreError::Fenced.into());
    }
    let (others, known): (i64, bool) = tx
        .connection
        .prepare_cached(
            "SELECT count(*), coalesce(max(name = ?2), 0) FROM remembered WHERE task = ?1",
        )?
        .query_row((row.key, name), |row| Ok((row.get(0)?, row.get(1)?)))?;
    if !known && usize::try_from(others).is_ok_and(|others| others >= MAX_REMEMBERED) {
        return Err(StoreError::Full {
            limit: "MAX_REMEMBERED",
            allowed: MAX_REMEMBERED,
        }
        .into());
    }
    tx.connection
        .prepare_cached(
            "INSERT OR REPLACE INTO remembered (task, name, value) VALUES (?1, ?2, ?3)",
        )?
        .execute((row.key, name, value))?;
    tx.connection
        .prepare_cached("UPDATE tasks SET has = has | ?2 WHERE key = ?1")?
        .execute((row.key, has::REMEMBERED))?;
    Ok(())
}

pub(super) fn remembered(
    connection: &Connection,
    row: &TaskRow,
) -> rusqlite::Result<Vec<(String, String)>> {
    connection
        .prepare_cached("SELECT name, value FROM remembered WHERE task = ?1")?
        .query_map([row.key], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// Takes a name for a task, unless another task of a worker that is not gone has it.
pub(super) fn lease(
    tx: &mut Tx<'_>,
    agent: &Arc<str>,
    worker: &str,
    name: &str,
    task_id: &str,
    is_gone: impl Fn(&str) -> bool,
) -> Result<Lease, Fault> {
    let agent = tx.agent(agent)?;
    let held: Option<(String, String)> = tx
        .connection
        .prepare_cached("SELECT owner, task FROM leases WHERE agent = ?1 AND name = ?2")?
        .query_row((agent, name), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some((owner, task)) = held
        && task != task_id
        && !is_gone(&owner)
    {
        return Ok(Lease::HeldBy(task.into()));
    }
    tx.connection
        .prepare_cached(
            "INSERT OR REPLACE INTO leases (agent, name, owner, task) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute((agent, name, worker, task_id))?;
    Ok(Lease::Taken)
}

pub(super) fn end_lease(
    tx: &mut Tx<'_>,
    agent: &Arc<str>,
    worker: &str,
    name: &str,
    task_id: &str,
) -> Result<(), Fault> {
    let agent = tx.agent(agent)?;
    tx.connection
        .prepare_cached(
            "DELETE FROM leases WHERE agent = ?1 AND name = ?2 AND owner = ?3 AND task = ?4",
        )?
        .execute((agent, name, worker, task_id))?;
    Ok(())
}

/// The tasks of an agent that have waited for their client since before a moment.
pub(super) fn waiting(
    connection: &Connection,
    agent: &str,
    since: Timestamp,
    limit: usize,
) -> Result<Vec<Waiting>, Fault> {
    let Some(agent) = rows::agent(connection, agent)? else {
        return Ok(Vec::new());
    };
    let states = [TaskState::InputRequired, TaskState::AuthRequired].map(number_of);
    let since = since.as_micros().div_euclid(1_000);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let found: Vec<(i64, String)> = connection
        .prepare_cached(
            "SELECT t.key, s.who FROM spaces s JOIN tasks t ON t.space = s.key \
             WHERE s.agent = ?1 AND t.state IN (?2, ?3) AND t.status_number IS NOT NULL \
             AND t.status_ms < ?4 ORDER BY t.status_ms, t.status_number LIMIT ?5",
        )?
        .query_map((agent, states[0], states[1], since, limit), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect::<Result<_, _>>()?;
    let mut waiting = Vec::with_capacity(found.len());
    for (key, who) in found {
        if let Some(row) = TaskRow::of_key(connection, key)? {
            waiting.push(Waiting {
                scope: scope_of(&who),
                task: Arc::new(rows::load_task(connection, &row)?),
                generation: Generation(row.generation.cast_unsigned()),
            });
        }
    }
    Ok(waiting)
}
