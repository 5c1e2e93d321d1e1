//! Snapshots, and what goes once something is in one.

use super::fault::Fault;
use super::push;
use super::record::{Record, hashes};
use super::rows::{self, TaskRow, has};
use super::tx::Tx;

/// Bytes of one task's log that may wait for push receivers. One that is further behind gets the
/// task as it stands.
const MAX_LOG_BYTES: i64 = 64 * 1024 * 1024;

/// Writes the snapshot; the log goes, as far as nobody needs it, and shared parts that are not
/// referred to any more.
pub(super) fn write_snapshot(
    tx: &mut Tx<'_>,
    row: &mut TaskRow,
    record: &Record,
) -> Result<(), Fault> {
    row.has |= tx.share(row.key, &record.shared)?;
    row.folded = row.generation;
    row.snapshot_bytes = record.len() as i64;
    row.fresh_bytes = 0;
    tx.connection
        .prepare_cached("UPDATE snapshots SET json = ?2, refs = ?3 WHERE task = ?1")?
        .execute((row.key, &record.json, &record.refs))?;
    prune(tx, row, &record.refs)
}

/// Removes what of the log, and of the shared parts, nobody needs any more. All of the log is in
/// the snapshot, whose list of shared parts is `refs`.
fn prune(tx: &mut Tx<'_>, row: &mut TaskRow, refs: &[u8]) -> Result<(), Fault> {
    if row.has(has::LOG) {
        let needed = match row.has(has::PUSH) {
            true => push::oldest_needed(tx, row.key)?.unwrap_or(row.position),
            false => row.position,
        };
        tx.connection
            .prepare_cached("DELETE FROM log WHERE task = ?1 AND begin + events <= ?2")?
            .execute((row.key, needed))?;
        let kept = kept_log_bytes(tx, row.key)?;
        if kept > MAX_LOG_BYTES {
            tx.connection
                .prepare_cached("DELETE FROM log WHERE task = ?1")?
                .execute([row.key])?;
        }
        if !(1..=MAX_LOG_BYTES).contains(&kept) {
            row.has &= !has::LOG;
        }
    }
    if row.has(has::BLOBS) {
        let mut needed: Vec<_> = hashes(refs).collect();
        if row.has(has::LOG) {
            let mut statement = tx
                .connection
                .prepare_cached("SELECT refs FROM log WHERE task = ?1")?;
            let mut rows = statement.query([row.key])?;
            while let Some(logged) = rows.next()? {
                needed.extend(hashes(&logged.get::<_, Vec<u8>>(0)?));
            }
        }
        if !unshare(tx, row.key, |hash| needed.iter().any(|other| other == hash))? {
            row.has &= !has::BLOBS;
        }
    }
    Ok(())
}

fn kept_log_bytes(tx: &Tx<'_>, task: i64) -> rusqlite::Result<i64> {
    tx.connection
        .prepare_cached(
            "SELECT coalesce(sum(octet_length(json) + octet_length(refs)), 0) FROM log WHERE task = ?1",
        )?
        .query_row([task], |row| row.get(0))
}

/// Removes a task's references to shared parts but for those to keep, and the parts that nobody
/// refers to any more. Says whether some were kept.
pub(super) fn unshare(
    tx: &Tx<'_>,
    task: i64,
    keep: impl Fn(&[u8]) -> bool,
) -> rusqlite::Result<bool> {
    let shared: Vec<(i64, Vec<u8>)> = tx
        .connection
        .prepare_cached(
            "SELECT b.key, b.hash FROM task_blobs r JOIN blobs b ON b.key = r.blob \
             WHERE r.task = ?1",
        )?
        .query_map([task], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let mut kept = false;
    for (blob, hash) in shared {
        if keep(&hash) {
            kept = true;
            continue;
        }
        tx.connection
            .prepare_cached("DELETE FROM task_blobs WHERE task = ?1 AND blob = ?2")?
            .execute((task, blob))?;
        tx.connection
            .prepare_cached(
                "DELETE FROM blobs WHERE key = ?1 \
                 AND NOT EXISTS (SELECT 1 FROM task_blobs WHERE blob = ?1)",
            )?
            .execute([blob])?;
    }
    Ok(kept)
}

/// Removes what of a settled task's log its receivers have had.
pub(super) fn prune_log(tx: &mut Tx<'_>, task: i64) -> Result<(), Fault> {
    let Some(mut row) = TaskRow::of_key(tx.connection, task)? else {
        return Ok(());
    };
    if !row.has(has::LOG) || row.fresh_bytes > 0 {
        return Ok(());
    }
    let (_, refs) = rows::snapshot(tx.connection, task)?;
    let before = row.has;
    prune(tx, &mut row, &refs)?;
    if row.has != before {
        tx.connection
            .prepare_cached("UPDATE tasks SET has = ?2 WHERE key = ?1")?
            .execute((task, row.has))?;
    }
    Ok(())
}
