use llamon_core::Part;
use rusqlite::{Connection, params};

use super::record::{CallId, CallState, RunState, StepState, Traffic};
use super::{parts, writer::Fault};

/// Something that has happened in a run.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// A step is known to have these items, or none of its own.
    Step {
        step: String,
        state: StepState,
        items: Option<u32>,
        reason: Option<String>,
    },
    /// A message is about to be sent. The first one of a call makes the call.
    Sending {
        call: CallId,
        attempt: u32,
        message_id: String,
        traffic: Traffic,
        /// Whether the one before may have arrived.
        possibly_repeated: bool,
    },
    /// The agent has the message.
    Sent {
        call: CallId,
        task_id: Option<String>,
        context_id: Option<String>,
    },
    /// The agent asks.
    Asking {
        call: CallId,
        question: Vec<Part>,
        is_auth: bool,
    },
    /// Its question's answer was sent.
    Answered { call: CallId },
    /// The call is at rest.
    Ended {
        call: CallId,
        state: CallState,
        parts: Vec<Part>,
        reason: Option<String>,
    },
    /// The run is.
    RunEnded {
        state: RunState,
        reason: Option<String>,
    },
}

impl Change {
    pub(super) fn write(&self, connection: &Connection, run: i64, now: i64) -> Result<(), Fault> {
        match self {
            Self::Step {
                step,
                state,
                items,
                reason,
            } => {
                connection
                    .prepare_cached(
                        "INSERT INTO steps (run, step, state, items, reason) VALUES (?,?,?,?,?)
                         ON CONFLICT DO UPDATE SET state = excluded.state,
                         items = coalesce(excluded.items, items), reason = excluded.reason",
                    )?
                    .execute(params![run, step, state.as_str(), items, reason])?;
            }
            Self::Sending {
                call,
                attempt,
                message_id,
                traffic,
                possibly_repeated,
            } => sending(
                connection,
                run,
                call,
                *attempt,
                message_id,
                traffic,
                *possibly_repeated,
                now,
            )?,
            Self::Sent {
                call,
                task_id,
                context_id,
            } => {
                connection
                    .prepare_cached(
                        "UPDATE calls SET state = 'sent', task = coalesce(?, task),
                         context = coalesce(?, context), changed = ?
                         WHERE run = ? AND step = ? AND item = ?",
                    )?
                    .execute(params![
                        task_id,
                        context_id,
                        now,
                        run,
                        call.step,
                        call.item_key()
                    ])?;
            }
            Self::Asking {
                call,
                question,
                is_auth,
            } => {
                let question = parts::write(connection, run, question)?;
                connection
                    .prepare_cached(
                        "UPDATE calls SET state = 'asking', question = ?, auth = ?, answer = NULL,
                         changed = ? WHERE run = ? AND step = ? AND item = ?",
                    )?
                    .execute(params![
                        question,
                        is_auth,
                        now,
                        run,
                        call.step,
                        call.item_key()
                    ])?;
            }
            Self::Answered { call } => {
                connection
                    .prepare_cached(
                        "UPDATE calls SET state = 'sent', question = NULL, answer = NULL,
                         answers = answers + 1, changed = ? WHERE run = ? AND step = ? AND item = ?",
                    )?
                    .execute(params![now, run, call.step, call.item_key()])?;
            }
            Self::Ended {
                call,
                state,
                parts,
                reason,
            } => {
                let parts = parts::write(connection, run, parts)?;
                connection
                    .prepare_cached(
                        "UPDATE calls SET state = ?, parts = ?, reason = ?, question = NULL,
                         answer = NULL, changed = ? WHERE run = ? AND step = ? AND item = ?",
                    )?
                    .execute(params![
                        state.as_str(),
                        parts,
                        reason,
                        now,
                        run,
                        call.step,
                        call.item_key()
                    ])?;
            }
            Self::RunEnded { state, reason } => {
                connection
                    .prepare_cached(
                        "UPDATE runs SET state = ?, reason = ?, ended = ?
                         WHERE key = ? AND ended IS NULL",
                    )?
                    .execute(params![state.as_str(), reason, now, run])?;
            }
        }
        Ok(())
    }
}

#[expect(clippy::too_many_arguments, reason = "the columns of one row")]
fn sending(
    connection: &Connection,
    run: i64,
    call: &CallId,
    attempt: u32,
    message_id: &str,
    traffic: &Traffic,
    possibly_repeated: bool,
    now: i64,
) -> Result<(), Fault> {
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    connection
        .prepare_cached(
            "INSERT INTO calls (run, step, item, state, attempt, message, repeated, received, sent,
             sent_bytes, duplicates, duplicate_bytes, began, changed)
             VALUES (?1,?2,?3,'sending',?4,?5,?6,?7,?8,?9,?10,?11,?12,?12)
             ON CONFLICT DO UPDATE SET state = 'sending', attempt = excluded.attempt,
             message = excluded.message, task = NULL, context = NULL,
             repeated = repeated + excluded.repeated, changed = excluded.changed",
        )?
        .execute(params![
            run,
            call.step,
            call.item_key(),
            attempt,
            message_id,
            i64::from(possibly_repeated),
            count(traffic.received),
            count(traffic.sent),
            count(traffic.sent_bytes),
            count(traffic.duplicates),
            count(traffic.duplicate_bytes),
            now
        ])?;
    Ok(())
}
