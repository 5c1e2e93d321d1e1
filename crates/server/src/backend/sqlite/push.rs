//! Receivers of push notifications, and how far each has been served.

use std::sync::Arc;

use llamon_core::a2a::{PushConfig, Secrets};
use llamon_core::json::Reader;
use rusqlite::{Connection, OptionalExtension as _};

use super::change::{Place, visible};
use super::fault::Fault;
use super::rows::{TaskRow, has, scope_of};
use super::snapshot::prune_log;
use super::tx::Tx;
use crate::backend::{Position, PushProgress, PushTarget, StoreError};

/// No id that a client gives is empty.
fn id(config: &PushConfig) -> &str {
    config.id.as_deref().unwrap_or_default()
}

/// Whether a task may have this receiver as well.
pub(super) fn check(tx: &Tx<'_>, row: &TaskRow, config: &PushConfig) -> Result<(), Fault> {
    let allowed = tx.settings.max_push_configs_per_task;
    if !row.has(has::PUSH) && allowed > 0 {
        return Ok(());
    }
    let others: i64 = tx
        .connection
        .prepare_cached("SELECT count(*) FROM push WHERE task = ?1 AND id <> ?2")?
        .query_row((row.key, id(config)), |row| row.get(0))?;
    let known: bool = tx
        .connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM push WHERE task = ?1 AND id = ?2)")?
        .query_row((row.key, id(config)), |row| row.get(0))?;
    if known || usize::try_from(others).is_ok_and(|others| others < allowed) {
        return Ok(());
    }
    Err(StoreError::Full {
        limit: "max_push_configs_per_task",
        allowed,
    }
    .into())
}

/// Adds a receiver of the events after `from`, of which there are some up to `end`.
pub(super) fn put(
    tx: &Tx<'_>,
    agent: i64,
    task: i64,
    config: &PushConfig,
    from: i64,
    end: i64,
) -> rusqlite::Result<()> {
    let mut json = String::new();
    config.write(&mut json, None, Secrets::Shown);
    tx.connection
        .prepare_cached(
            "INSERT OR REPLACE INTO push (task, id, agent, config, delivered, given_up, due, owner) \
             VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, NULL)",
        )?
        .execute((task, id(config), agent, json, from, from < end))?;
    Ok(())
}

/// Notes that a task's receivers have not had everything.
pub(super) fn note_events(tx: &Tx<'_>, task: i64) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached("UPDATE push SET due = 1 WHERE task = ?1 AND given_up = 0 AND due = 0")?
        .execute([task])?;
    Ok(())
}

/// The oldest place from which on a receiver needs the log; none if nobody needs it.
pub(super) fn oldest_needed(tx: &Tx<'_>, task: i64) -> rusqlite::Result<Option<i64>> {
    tx.connection
        .prepare_cached("SELECT min(delivered) FROM push WHERE task = ?1 AND due = 1")?
        .query_row([task], |row| row.get(0))
}

pub(super) fn configs(connection: &Connection, task: i64) -> Result<Vec<Arc<PushConfig>>, Fault> {
    let mut statement =
        connection.prepare_cached("SELECT config FROM push WHERE task = ?1 ORDER BY id")?;
    let rows = statement.query_map([task], |row| row.get::<_, String>(0))?;
    rows.map(|json| read_config(&json?)).collect()
}

fn read_config(json: &str) -> Result<Arc<PushConfig>, Fault> {
    let (config, _) = PushConfig::read(&mut Reader::of_str(json, 16)).map_err(Fault::record)?;
    Ok(Arc::new(config))
}

pub(super) fn delete(tx: &mut Tx<'_>, place: &Place, config_id: &str) -> Result<(), Fault> {
    let row = visible(tx, place)?;
    if !row.has(has::PUSH) {
        return Ok(());
    }
    tx.connection
        .prepare_cached("DELETE FROM push WHERE task = ?1 AND id = ?2")?
        .execute((row.key, config_id))?;
    prune_log(tx, row.key)
}

/// Who serves receivers that have not had everything.
pub(super) fn owners(connection: &Connection, agent: i64) -> rusqlite::Result<Vec<Option<String>>> {
    connection
        .prepare_cached("SELECT DISTINCT owner FROM push WHERE agent = ?1 AND due = 1")?
        .query_map([agent], |row| row.get(0))?
        .collect()
}

/// Takes receivers that have not had everything and that nobody else who lives serves.
pub(super) fn claim(
    tx: &mut Tx<'_>,
    agent: &Arc<str>,
    worker: &str,
    gone: &[String],
    limit: usize,
) -> Result<Vec<PushTarget>, Fault> {
    let agent = tx.agent(agent)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let gone = serde_json::to_string(gone).map_err(Fault::record)?;
    let mut statement = tx.connection.prepare_cached(
        "SELECT p.task, p.id, p.config, p.delivered, p.owner, t.id, s.who \
         FROM push p JOIN tasks t ON t.key = p.task JOIN spaces s ON s.key = t.space \
         WHERE p.agent = ?1 AND p.due = 1 AND (p.owner IS NULL OR p.owner = ?2 \
             OR p.owner IN (SELECT value FROM json_each(?3))) \
         ORDER BY p.task, p.id LIMIT ?4",
    )?;
    let mut rows = statement.query((agent, worker, gone, limit))?;
    let mut targets = Vec::new();
    let mut taken = Vec::new();
    while let Some(row) = rows.next()? {
        let (task, id): (i64, String) = (row.get(0)?, row.get(1)?);
        let owner: Option<String> = row.get(4)?;
        targets.push(PushTarget {
            scope: scope_of(&row.get::<_, String>(6)?),
            task_id: row.get::<_, String>(5)?.into(),
            config: read_config(&row.get::<_, String>(2)?)?,
            delivered: Position(row.get::<_, i64>(3)?.cast_unsigned()),
        });
        if owner.as_deref() != Some(worker) {
            taken.push((task, id));
        }
    }
    for (task, id) in taken {
        tx.connection
            .prepare_cached("UPDATE push SET owner = ?3 WHERE task = ?1 AND id = ?2")?
            .execute((task, id, worker))?;
    }
    Ok(targets)
}

/// Notes how far a receiver has been served.
pub(super) fn note(
    tx: &mut Tx<'_>,
    agent: &Arc<str>,
    task_id: &str,
    config_id: &str,
    progress: PushProgress,
) -> Result<(), Fault> {
    let agent = tx.agent(agent)?;
    let Some(row) = TaskRow::find_any(tx.connection, agent, task_id)? else {
        return Ok(());
    };
    let delivered: Option<i64> = tx
        .connection
        .prepare_cached("SELECT delivered FROM push WHERE task = ?1 AND id = ?2")?
        .query_row((row.key, config_id), |row| row.get(0))
        .optional()?;
    let Some(delivered) = delivered else {
        return Ok(());
    };
    let (delivered, given_up) = match progress {
        PushProgress::Delivered(to) => (delivered.max(to.0.cast_signed()), false),
        PushProgress::GivenUp => (delivered, true),
    };
    tx.connection
        .prepare_cached(
            "UPDATE push SET delivered = ?3, given_up = given_up OR ?4, \
             due = NOT (given_up OR ?4) AND ?3 < ?5 WHERE task = ?1 AND id = ?2",
        )?
        .execute((row.key, config_id, delivered, given_up, row.position))?;
    prune_log(tx, row.key)
}
