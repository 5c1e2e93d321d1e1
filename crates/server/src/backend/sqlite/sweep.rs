//! Letting finished tasks go.

use super::rows::{TaskRow, has};
use super::snapshot::unshare;
use super::tx::Tx;
use crate::backend::Swept;

/// Tasks that go in one transaction.
const MAX_SWEPT: i64 = 256;
/// Tasks that go beside each task that finishes, where there are too many, and beside none.
const TRIM_FACTOR: i64 = 2;
const TRIM_MORE: i64 = 16;
/// How much longer a task stays that its push receivers have not had.
const PUSH_GRACE_MS: i64 = 24 * 3600 * 1000;

const FINISHED: i64 = 1;
const ANSWERED: i64 = 2;

/// Makes room for what the transaction finishes.
pub(super) fn trim(tx: &mut Tx<'_>) -> rusqlite::Result<()> {
    let new = tx.newly_done();
    if new > 0 {
        remove_too_many(tx, (new * TRIM_FACTOR + TRIM_MORE).min(MAX_SWEPT))?;
    }
    Ok(())
}

/// Removes up to 256 tasks that are too many or too old.
pub(super) fn sweep(tx: &mut Tx<'_>) -> rusqlite::Result<Swept> {
    let mut removed = remove_too_many(tx, MAX_SWEPT)?;
    if removed < MAX_SWEPT
        && let Some(keep) = tx.settings.keep_finished_for
    {
        let keep = i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
        let before = now(tx).saturating_sub(keep);
        for done in [FINISHED, ANSWERED] {
            let old = oldest(tx, done, MAX_SWEPT - removed, Some(before))?;
            removed += old.len() as i64;
            remove_all(tx, done, &old)?;
        }
    }
    Ok(if removed < MAX_SWEPT {
        Swept::Clean
    } else {
        Swept::More
    })
}

fn remove_too_many(tx: &mut Tx<'_>, limit: i64) -> rusqlite::Result<i64> {
    let allowed = i64::try_from(tx.settings.max_finished_tasks).unwrap_or(i64::MAX);
    let mut removed = 0;
    for done in [FINISHED, ANSWERED] {
        let count = match done {
            FINISHED => tx.counts.finished,
            _ => tx.counts.answered,
        };
        let excess = (count - allowed).min(limit - removed);
        if excess > 0 {
            let mut old = oldest(tx, done, excess, None)?;
            if old.is_empty() && count > allowed.saturating_mul(2) {
                old = oldest_of_all(tx, done, excess)?;
            }
            removed += old.len() as i64;
            remove_all(tx, done, &old)?;
        }
    }
    Ok(removed)
}

fn now(tx: &Tx<'_>) -> i64 {
    tx.settings.clock.now().as_micros().div_euclid(1_000)
}

/// The tasks that go first, finished before a moment if one is given, whose receivers have had
/// everything or had a day longer for it.
fn oldest(tx: &Tx<'_>, done: i64, limit: i64, before: Option<i64>) -> rusqlite::Result<Vec<i64>> {
    let latest = before.unwrap_or_else(|| now(tx));
    tx.connection
        .prepare_cached(
            "SELECT key FROM tasks WHERE done = ?1 AND done_ms < ?2 \
             AND (has & 2 = 0 OR done_ms < ?3 \
                 OR NOT EXISTS (SELECT 1 FROM push WHERE task = tasks.key AND due = 1)) \
             ORDER BY done_ms, key LIMIT ?4",
        )?
        .query_map(
            (
                done,
                before.unwrap_or(i64::MAX),
                latest.saturating_sub(PUSH_GRACE_MS),
                limit,
            ),
            |row| row.get(0),
        )?
        .collect()
}

fn oldest_of_all(tx: &Tx<'_>, done: i64, limit: i64) -> rusqlite::Result<Vec<i64>> {
    tx.connection
        .prepare_cached("SELECT key FROM tasks WHERE done = ?1 ORDER BY done_ms, key LIMIT ?2")?
        .query_map((done, limit), |row| row.get(0))?
        .collect()
}

fn remove_all(tx: &mut Tx<'_>, done: i64, tasks: &[i64]) -> rusqlite::Result<()> {
    for task in tasks {
        remove(tx, *task)?;
    }
    let removed = tasks.len() as i64;
    match done {
        FINISHED => tx.counts.finished -= removed,
        _ => tx.counts.answered -= removed,
    }
    Ok(())
}

fn remove(tx: &mut Tx<'_>, task: i64) -> rusqlite::Result<()> {
    let Some(row) = TaskRow::of_key(tx.connection, task)? else {
        return Ok(());
    };
    let delete = |sql: &str| tx.connection.prepare_cached(sql)?.execute([task]);
    delete("DELETE FROM snapshots WHERE task = ?1")?;
    if row.has(has::LOG) {
        delete("DELETE FROM log WHERE task = ?1")?;
    }
    if row.has(has::PUSH) {
        delete("DELETE FROM push WHERE task = ?1")?;
    }
    if row.has(has::ONCE) {
        delete("DELETE FROM once WHERE task = ?1")?;
    }
    if row.has(has::REMEMBERED) {
        delete("DELETE FROM remembered WHERE task = ?1")?;
    }
    if row.has(has::BLOBS) {
        unshare(tx, task, |_| false)?;
    }
    delete("DELETE FROM tasks WHERE key = ?1")?;
    tx.list(row.space, row.listed_state(), -1);
    Ok(())
}
