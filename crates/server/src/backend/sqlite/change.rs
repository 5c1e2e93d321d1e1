//! Changing and canceling tasks.

use std::sync::Arc;

use llamon_core::a2a::{Message, PushConfig, StreamEvent, Task, TaskState};
use rusqlite::OptionalExtension as _;

use super::fault::Fault;
use super::hub::{Outcome, Published, size};
use super::push;
use super::record::{Known, Record, Shared, shared_parts};
use super::rows::{ANSWERED, TaskRow, has, millis, number_of};
use super::snapshot::write_snapshot;
use super::tx::{Fold, Tx};
use crate::backend::{
    Commit, Committed, Fence, Generation, MessageKey, NewWork, Seen, Settled, StoreError,
};

/// Bytes of the log from which on the snapshot is written anew, if it is not larger.
const SNAPSHOT_AFTER_BYTES: i64 = 256 * 1024;

/// Whose task it is.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) agent: Arc<str>,
    pub(super) who: Arc<str>,
    pub(super) id: Arc<str>,
}

/// A commit, with what of it can be made ready outside of the transaction.
pub(super) struct Change {
    place: Place,
    commit: Commit,
    events: Vec<Arc<StreamEvent>>,
    shared: Vec<Shared>,
    known: Known,
    /// The log's row; made only if it is certain that there will be one.
    record: Option<Record>,
    status: Option<(TaskState, i64)>,
    answer: Option<Arc<Message>>,
    bytes: usize,
}

impl Change {
    pub(super) fn new(place: Place, mut commit: Commit) -> Self {
        let events: Vec<_> = commit.events.drain(..).map(Arc::new).collect();
        let mut shared = shared_parts(&commit.message);
        shared.extend(shared_parts(events.iter().map(|event| &**event)));
        let mut known = Known::default();
        known.extend(shared.iter().cloned());
        let status = events.iter().rev().find_map(|event| status_of(event));
        let answer = events.iter().find_map(|event| match &**event {
            StreamEvent::Message(message) => Some(Arc::clone(message)),
            _ => None,
        });
        let settles = status.is_some_and(|(state, _)| state.is_settled()) || answer.is_some();
        let mut change = Self {
            bytes: events.iter().map(|event| size(event)).sum(),
            place,
            commit,
            events,
            shared,
            known,
            record: None,
            status,
            answer,
        };
        if !settles {
            change.record = Some(change.make_record());
        }
        change
    }

    fn make_record(&self) -> Record {
        let events = self.events.iter().map(|event| &**event);
        Record::of_commit(self.commit.message.as_ref(), events, &self.known)
    }

    pub(super) fn commit(&self, tx: &mut Tx<'_>) -> Result<Committed, Fault> {
        let Place { agent, who, id } = &self.place;
        let agent_key = tx.agent(agent)?;
        let row = TaskRow::find(tx.connection, agent_key, who, id)?
            .filter(|row| !row.is_answered())
            .ok_or(StoreError::NotFound)?;
        if let Some(key) = &self.commit.once
            && seen(tx.connection, row.space, key)?.is_some()
        {
            return Ok(Committed::Repeated);
        }
        self.check(tx, &row)?;
        self.write(tx, agent_key, row)
    }

    /// Whether the commit may be made; see [`crate::backend::Backend::commit`] for the order.
    fn check(&self, tx: &Tx<'_>, row: &TaskRow) -> Result<(), Fault> {
        let commit = &self.commit;
        let before = row.task_state().ok_or(StoreError::NotFound)?;
        if before.is_terminal() {
            return Err(StoreError::Terminal.into());
        }
        let fence = Fence(row.fence.cast_unsigned());
        if commit
            .fence
            .is_some_and(|mine| mine != fence || !row.has(has::WORK))
        {
            return Err(StoreError::Fenced.into());
        }
        let after = self.status.map(|(state, _)| state);
        let settles_otherwise = self.answer.is_some()
            || commit.work.is_some()
            || after.is_some_and(|to| to.is_settled() && to != TaskState::Canceled);
        if row.canceling && settles_otherwise {
            return Err(StoreError::CancelRequested.into());
        }
        let by_nobody = commit.fence.is_none() && row.has(has::WORK);
        if row.generation.cast_unsigned() != commit.expect.0
            || by_nobody
            || after.is_some_and(|to| !before.may_become(to))
        {
            return Err(StoreError::Conflict.into());
        }
        match &commit.push {
            Some(config) => push::check(tx, row, config),
            None => Ok(()),
        }
    }

    fn write(&self, tx: &mut Tx<'_>, agent_key: i64, mut row: TaskRow) -> Result<Committed, Fault> {
        let before = row.clone();
        let begin = row.position;
        let settles = self.status.is_some_and(|(state, _)| state.is_settled());
        let terminal = self.status.is_some_and(|(state, _)| state.is_terminal());
        let mut fold = if settles {
            Some(tx.fold(&row)?)
        } else {
            tx.cached_fold(&row)
        };
        row.generation += 1;
        row.position += self.events.len() as i64;
        if let Some(fold) = &mut fold {
            self.fold_into(fold, row.generation);
        }
        if let Some(config) = &self.commit.push {
            push::put(tx, agent_key, row.key, config, begin, row.position)?;
            row.has |= has::PUSH;
        }
        if row.has(has::PUSH) && !self.events.is_empty() {
            push::note_events(tx, row.key)?;
        }
        if let Some(once) = &self.commit.once {
            insert_once(tx, row.space, row.key, once)?;
            row.has |= has::ONCE;
        }
        let outcome = if let Some(answer) = &self.answer {
            self.answer(tx, &mut row, answer)?;
            Outcome::Settled(Settled::Message(Arc::clone(answer)))
        } else if let Some(kept) = fold.take_if(|_| settles) {
            let task = Arc::new(match terminal {
                true => kept.task.into_task(),
                false => {
                    let task = kept.task.snapshot();
                    fold = Some(Fold {
                        task: kept.task,
                        known: kept.known.clone(),
                        ..kept
                    });
                    task
                }
            });
            self.settle(tx, &mut row, &task, &kept.known)?;
            Outcome::Settled(Settled::Task(task))
        } else {
            self.log(tx, &mut row, &mut fold)?;
            match self.status.or(before.task_state().map(|state| (state, 0))) {
                Some((state, _)) if state.is_interrupted() => Outcome::Stored,
                _ => Outcome::Running,
            }
        };
        if (settles || self.answer.is_some()) && row.has(has::WORK) {
            tx.connection
                .prepare_cached("DELETE FROM work WHERE task = ?1")?
                .execute([row.key])?;
            row.has &= !has::WORK;
        }
        if let Some(work) = &self.commit.work {
            insert_work(tx, agent_key, row.key, work)?;
            row.has |= has::WORK;
            row.fence += 1;
        }
        self.update(tx, &before, &mut row)?;
        if let Some(fold) = fold.filter(|_| !terminal && self.answer.is_none()) {
            tx.keep_fold(row.key, fold);
        }
        let is_ours = match &self.commit.work {
            Some(work) => work.claimed_by.is_some(),
            None => row.has(has::WORK),
        };
        tx.published.push(Published {
            agent: Arc::clone(&self.place.agent),
            id: Arc::clone(&self.place.id),
            who: Arc::clone(&self.place.who),
            key: row.key,
            generation: row.generation,
            begin,
            events: self.events.clone(),
            outcome,
            is_ours,
        });
        Ok(Committed::New {
            generation: Generation(row.generation.cast_unsigned()),
            fence: Fence(row.fence.cast_unsigned()),
        })
    }

    fn fold_into(&self, fold: &mut Fold, generation: i64) {
        if let Some(message) = &self.commit.message {
            fold.task.push_message(message.clone());
        }
        for event in &self.events {
            fold.task.apply(event);
        }
        fold.known.extend(self.shared.iter().cloned());
        fold.generation = generation;
        fold.bytes += self.bytes;
    }

    /// Appends to the log; where that has grown long, writes the snapshot anew.
    fn log(
        &self,
        tx: &mut Tx<'_>,
        row: &mut TaskRow,
        fold: &mut Option<Fold>,
    ) -> Result<(), Fault> {
        self.append(tx, row)?;
        if row.fresh_bytes <= row.snapshot_bytes.max(SNAPSHOT_AFTER_BYTES) {
            return Ok(());
        }
        let fold = match fold {
            Some(fold) => fold,
            None => fold.insert(tx.fold(row)?),
        };
        let task = fold.task.snapshot();
        write_snapshot(tx, row, &Record::of_task(&task, &fold.known))
    }

    fn append(&self, tx: &mut Tx<'_>, row: &mut TaskRow) -> Result<(), Fault> {
        let made;
        let record = match &self.record {
            Some(record) => record,
            None => {
                made = self.make_record();
                &made
            }
        };
        row.has |= has::LOG | tx.share(row.key, &record.shared)?;
        row.fresh_bytes += record.len() as i64;
        let events = self.events.len() as i64;
        tx.connection
            .prepare_cached(
                "INSERT INTO log (task, begin, generation, events, said, json, refs) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute((
                row.key,
                row.position - events,
                row.generation,
                events,
                self.commit.message.is_some(),
                &record.json,
                &record.refs,
            ))?;
        Ok(())
    }

    fn settle(
        &self,
        tx: &mut Tx<'_>,
        row: &mut TaskRow,
        task: &Task,
        known: &Known,
    ) -> Result<(), Fault> {
        // Only push receivers still need the events; followers have them from memory.
        if row.has(has::PUSH) && push::oldest_needed(tx, row.key)?.is_some() {
            self.append(tx, row)?;
        }
        write_snapshot(tx, row, &Record::of_task(task, known))
    }

    /// Keeps the answer, for a message that comes again, and nothing else.
    fn answer(&self, tx: &mut Tx<'_>, row: &mut TaskRow, answer: &Message) -> Result<(), Fault> {
        if row.has(has::PUSH) {
            tx.connection
                .prepare_cached("DELETE FROM push WHERE task = ?1")?
                .execute([row.key])?;
            row.has &= !has::PUSH;
        }
        write_snapshot(tx, row, &Record::of_message(answer, &self.known))
    }

    /// Writes the task's row, and counts.
    fn update(&self, tx: &mut Tx<'_>, before: &TaskRow, row: &mut TaskRow) -> Result<(), Fault> {
        let mut done = None;
        if let Some((state, at)) = self.status {
            row.state = number_of(state);
            row.status_ms = at;
            done = state.is_terminal().then_some(1);
        }
        let appears = !before.is_visible() && !self.events.is_empty();
        if self.status.is_some() || appears {
            row.status_number = Some(tx.next_number());
        }
        if self.answer.is_some() {
            row.state = ANSWERED;
            row.status_number = None;
            done = Some(2);
        }
        tx.list(row.space, before.listed_state(), -1);
        tx.list(row.space, row.listed_state(), 1);
        match done {
            Some(1) => tx.counts.finished += 1,
            Some(_) => tx.counts.answered += 1,
            None => {}
        }
        if done.is_some() {
            tx.counts.open -= 1;
        }
        let moved = row.state != before.state || row.status_number != before.status_number;
        if moved {
            let now = tx.settings.clock.now().as_micros().div_euclid(1_000);
            tx.connection
                .prepare_cached(
                    "UPDATE tasks SET generation = ?2, fence = ?3, position = ?4, folded = ?5, \
                     snapshot_bytes = ?6, fresh_bytes = ?7, has = ?8, state = ?9, \
                     status_ms = ?10, status_number = ?11, done = ?12, done_ms = ?13 \
                     WHERE key = ?1",
                )?
                .execute((
                    row.key,
                    row.generation,
                    row.fence,
                    row.position,
                    row.folded,
                    row.snapshot_bytes,
                    row.fresh_bytes,
                    row.has,
                    row.state,
                    row.status_ms,
                    row.status_number,
                    done,
                    done.map(|_| now),
                ))?;
            return Ok(());
        }
        // Without the columns that indexes have.
        tx.connection
            .prepare_cached(
                "UPDATE tasks SET generation = ?2, fence = ?3, position = ?4, folded = ?5, \
                 snapshot_bytes = ?6, fresh_bytes = ?7, has = ?8 WHERE key = ?1",
            )?
            .execute((
                row.key,
                row.generation,
                row.fence,
                row.position,
                row.folded,
                row.snapshot_bytes,
                row.fresh_bytes,
                row.has,
            ))?;
        Ok(())
    }
}

fn status_of(event: &StreamEvent) -> Option<(TaskState, i64)> {
    let status = match event {
        StreamEvent::Status(update) => &update.status,
        StreamEvent::Task(task) => &task.status,
        StreamEvent::Message(_) | StreamEvent::Artifact(_) => return None,
    };
    Some((status.state, millis(status.timestamp)))
}

pub(super) fn insert_work(
    tx: &mut Tx<'_>,
    agent: i64,
    task: i64,
    work: &NewWork,
) -> rusqlite::Result<()> {
    let begun = tx.next_number();
    let owner = work.claimed_by.as_ref().map(|owner| &owner.0);
    tx.connection
        .prepare_cached(
            "INSERT OR REPLACE INTO work (task, agent, owner, begun, attempt, crashes, record) \
             VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6)",
        )?
        .execute((
            task,
            agent,
            owner,
            begun,
            i64::from(owner.is_some()),
            &work.record,
        ))?;
    Ok(())
}

pub(super) fn insert_once(
    tx: &Tx<'_>,
    space: i64,
    task: i64,
    key: &MessageKey,
) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached("INSERT INTO once (space, message, hash, task) VALUES (?1, ?2, ?3, ?4)")?
        .execute((space, &key.message_id, key.hash.as_slice(), task))?;
    Ok(())
}

/// What became of a message that may have come before.
pub(super) fn seen(
    connection: &rusqlite::Connection,
    space: i64,
    key: &MessageKey,
) -> Result<Option<Seen>, Fault> {
    let found = connection
        .prepare_cached(
            "SELECT o.hash, t.id, t.key, t.state FROM once o JOIN tasks t ON t.key = o.task \
             WHERE o.space = ?1 AND o.message = ?2",
        )?
        .query_row((space, &key.message_id), |row| {
            let hash: Vec<u8> = row.get(0)?;
            Ok((
                hash,
                row.get::<_, String>(1)?,
                row.get(2)?,
                row.get::<_, i64>(3)?,
            ))
        })
        .optional()?;
    let Some((hash, id, task, state)) = found else {
        return Ok(None);
    };
    if hash != key.hash {
        return Err(StoreError::OtherMessage.into());
    }
    if state == ANSWERED {
        let answer = super::rows::load_answer(connection, task)?;
        return Ok(Some(Seen::Message(Arc::new(answer))));
    }
    Ok(Some(Seen::Task(id.into())))
}

/// Notes that a task is to be canceled.
pub(super) fn request_cancel(
    tx: &mut Tx<'_>,
    place: &Place,
) -> Result<(Arc<Task>, Generation), Fault> {
    let row = visible(tx, place)?;
    if row.has_ended() {
        return Err(StoreError::Terminal.into());
    }
    if !row.canceling {
        tx.connection
            .prepare_cached("UPDATE tasks SET canceling = 1 WHERE key = ?1")?
            .execute([row.key])?;
    }
    let fold = tx.fold(&row)?;
    let task = Arc::new(fold.task.snapshot());
    tx.keep_fold(row.key, fold);
    Ok((task, Generation(row.generation.cast_unsigned())))
}

/// The row of a task that requests see.
pub(super) fn visible(tx: &mut Tx<'_>, place: &Place) -> Result<TaskRow, Fault> {
    let agent = tx.agent(&place.agent)?;
    let row = TaskRow::find(tx.connection, agent, &place.who, &place.id)?;
    let row = row.filter(TaskRow::is_visible);
    Ok(row.ok_or(StoreError::NotFound)?)
}

/// Adds a receiver of the events from now on.
pub(super) fn put_push(tx: &mut Tx<'_>, place: &Place, config: &PushConfig) -> Result<(), Fault> {
    let row = visible(tx, place)?;
    push::check(tx, &row, config)?;
    let agent = tx.agent(&place.agent)?;
    push::put(tx, agent, row.key, config, row.position, row.position)?;
    if !row.has(has::PUSH) {
        tx.connection
            .prepare_cached("UPDATE tasks SET has = has | ?2 WHERE key = ?1")?
            .execute((row.key, has::PUSH))?;
    }
    Ok(())
}
