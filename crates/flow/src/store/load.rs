use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::parts::Contents;
use super::record::{
    CallId, CallState, Question, RunState, RunSummary, StepState, StoredCall, StoredRun,
    StoredStep, Traffic,
};
use super::writer::Fault;

const SUMMARY: &str = "SELECT id, name, state, reason, cancel, created, ended,
    (SELECT count(*) FROM calls WHERE run = key AND calls.state = 'asking' AND answer IS NULL),
    key, plan, input FROM runs";

pub(super) fn list(connection: &Connection, most: u32) -> Result<Vec<RunSummary>, Fault> {
    let query = format!("{SUMMARY} ORDER BY created DESC, key DESC LIMIT ?");
    let mut statement = connection.prepare_cached(&query)?;
    let mut rows = statement.query([most])?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next()? {
        runs.push(summary(row)?);
    }
    Ok(runs)
}

pub(super) fn run(connection: &Connection, id: &str) -> Result<Option<StoredRun>, Fault> {
    let query = format!("{SUMMARY} WHERE id = ?");
    let mut statement = connection.prepare_cached(&query)?;
    let mut rows = statement.query([id])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let key: i64 = row.get(8)?;
    let mut contents = Contents::of(connection, key);
    Ok(Some(StoredRun {
        summary: summary(row)?,
        plan: row.get(9)?,
        input: contents.read(&row.get::<_, Vec<u8>>(10)?)?,
        steps: steps(connection, key)?,
        calls: calls(connection, key, &mut contents)?,
    }))
}

/// Whether somebody wants the run canceled, and the answers that wait to be sent.
pub(super) fn wishes(connection: &Connection, id: &str) -> Result<Option<Wishes>, Fault> {
    let found = connection
        .prepare_cached("SELECT key, cancel FROM runs WHERE id = ?")?
        .query_row([id], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)))
        .optional()?;
    let Some((key, cancel)) = found else {
        return Ok(None);
    };
    let mut statement = connection.prepare_cached(
        "SELECT step, item, answer FROM calls
         WHERE run = ? AND state = 'asking' AND answer IS NOT NULL",
    )?;
    let mut rows = statement.query(params![key])?;
    let mut contents = Contents::of(connection, key);
    let mut answers = Vec::new();
    while let Some(row) = rows.next()? {
        let call = CallId::of_key(row.get(0)?, row.get(1)?);
        answers.push((call, contents.read(&row.get::<_, Vec<u8>>(2)?)?));
    }
    Ok(Some(Wishes { cancel, answers }))
}

/// What others want of a run.
pub(crate) struct Wishes {
    pub(crate) cancel: bool,
    pub(crate) answers: Vec<(CallId, Vec<llamon_core::Part>)>,
}

fn summary(row: &Row<'_>) -> Result<RunSummary, Fault> {
    Ok(RunSummary {
        id: row.get(0)?,
        name: row.get(1)?,
        state: state(&row.get::<_, String>(2)?, RunState::read)?,
        reason: row.get(3)?,
        cancel_requested: row.get(4)?,
        created: time(row.get(5)?)?,
        ended: row.get::<_, Option<i64>>(6)?.map(time).transpose()?,
        questions: u64::try_from(row.get::<_, i64>(7)?).unwrap_or_default(),
    })
}

fn steps(connection: &Connection, run: i64) -> Result<Vec<StoredStep>, Fault> {
    let mut statement =
        connection.prepare_cached("SELECT step, state, items, reason FROM steps WHERE run = ?")?;
    let mut rows = statement.query([run])?;
    let mut steps = Vec::new();
    while let Some(row) = rows.next()? {
        steps.push(StoredStep {
            step: row.get(0)?,
            state: state(&row.get::<_, String>(1)?, StepState::read)?,
            items: row.get(2)?,
            reason: row.get(3)?,
        });
    }
    Ok(steps)
}

fn calls(
    connection: &Connection,
    run: i64,
    contents: &mut Contents<'_>,
) -> Result<Vec<StoredCall>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT step, item, state, attempt, message, task, context, question, auth, answer, answers,
         parts, reason, repeated, received, sent, sent_bytes, duplicates, duplicate_bytes, began,
         changed FROM calls WHERE run = ? ORDER BY step, item",
    )?;
    let mut rows = statement.query([run])?;
    let mut calls = Vec::new();
    while let Some(row) = rows.next()? {
        let mut list = |index: usize| -> Result<Option<Vec<llamon_core::Part>>, Fault> {
            let list: Option<Vec<u8>> = row.get(index)?;
            list.map(|list| contents.read(&list)).transpose()
        };
        let question = list(7)?;
        let answer = list(9)?;
        let parts = list(11)?.unwrap_or_default();
        let count = |index: usize| -> Result<u64, Fault> {
            Ok(u64::try_from(row.get::<_, i64>(index)?).unwrap_or_default())
        };
        calls.push(StoredCall {
            id: CallId::of_key(row.get(0)?, row.get(1)?),
            state: state(&row.get::<_, String>(2)?, CallState::read)?,
            attempt: row.get(3)?,
            message_id: row.get(4)?,
            task_id: row.get(5)?,
            context_id: row.get(6)?,
            question: match question {
                Some(parts) => Some(Question {
                    parts,
                    is_auth: row.get(8)?,
                    answer,
                }),
                None => None,
            },
            answers: row.get(10)?,
            parts,
            reason: row.get(12)?,
            possibly_repeated: row.get(13)?,
            traffic: Traffic {
                received: count(14)?,
                sent: count(15)?,
                sent_bytes: count(16)?,
                duplicates: count(17)?,
                duplicate_bytes: count(18)?,
            },
            began: time(row.get(19)?)?,
            changed: time(row.get(20)?)?,
        });
    }
    Ok(calls)
}

fn state<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, Fault> {
    read(text).ok_or_else(|| Fault::Damaged(format!("a state is {text:?}")))
}

fn time(millisecond: i64) -> Result<Timestamp, Fault> {
    Timestamp::from_millisecond(millisecond)
        .map_err(|error| Fault::Damaged(format!("a time is {millisecond}: {error}")))
}
