//! Creating tasks.

use std::sync::Arc;

use llamon_core::a2a::TaskFold;

use super::change::{Place, insert_once, insert_work, seen};
use super::fault::Fault;
use super::hub::{Outcome, Published};
use super::push;
use super::record::{Known, Record, shared_parts};
use super::rows::{ANSWERED, has, millis, number_of};
use super::tx::{Fold, Tx};
use crate::backend::{Created, Fence, Generation, NewTask, StoreError, Visibility};

/// A task that is to be created, with what of it can be made ready outside of the transaction.
pub(super) struct NewRow {
    place: Place,
    new: NewTask,
    record: Record,
    known: Known,
}

impl NewRow {
    pub(super) fn new(agent: Arc<str>, who: Arc<str>, new: NewTask) -> Self {
        let mut known = Known::default();
        known.extend(shared_parts([&new.task]));
        Self {
            place: Place {
                agent,
                who,
                id: Arc::clone(&new.task.id),
            },
            record: Record::of_task(&new.task, &known),
            known,
            new,
        }
    }

    pub(super) fn create(&self, tx: &mut Tx<'_>) -> Result<Created, Fault> {
        let Place { agent, who, id } = &self.place;
        let agent_key = tx.agent(agent)?;
        if let Some(key) = &self.new.once
            && let Some(space) = tx.find_space(agent_key, who)?
            && let Some(seen) = seen(tx.connection, space, key)?
        {
            return Ok(Created::Repeated(seen));
        }
        let allowed = tx.settings.max_open_tasks;
        if usize::try_from(tx.counts.open).is_ok_and(|open| open >= allowed) {
            return Err(StoreError::Full {
                limit: "max_open_tasks",
                allowed,
            }
            .into());
        }
        let space = tx.space(agent_key, who)?;
        let (key, number) = (tx.next_number(), tx.next_number());
        let status = &self.new.task.status;
        let state = number_of(status.state);
        let status_number = (self.new.visibility == Visibility::Visible).then_some(number);
        let mut has = has::WORK | tx.share(key, &self.record.shared)?;
        if let Some(config) = &self.new.push {
            push::put(tx, agent_key, key, config, 0, 0)?;
            has |= has::PUSH;
        }
        if let Some(once) = &self.new.once {
            insert_once(tx, space, key, once)?;
            has |= has::ONCE;
        }
        tx.connection
            .prepare_cached(
                "INSERT INTO tasks (key, agent, space, id, context, state, status_ms, \
                 status_number, generation, fence, canceling, position, folded, snapshot_bytes, \
                 fresh_bytes, has) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, 1, 0, 0, 0, ?9, 0, \
                 ?10)",
            )?
            .execute((
                key,
                agent_key,
                space,
                id,
                &self.new.task.context_id,
                state,
                millis(status.timestamp),
                status_number,
                self.record.len() as i64,
                has,
            ))?;
        tx.connection
            .prepare_cached("INSERT INTO snapshots (task, json, refs) VALUES (?1, ?2, ?3)")?
            .execute((key, &self.record.json, &self.record.refs))?;
        insert_work(tx, agent_key, key, &self.new.work)?;
        tx.counts.open += 1;
        tx.list(space, status_number.map_or(ANSWERED, |_| state), 1);
        tx.keep_fold(
            key,
            Fold {
                generation: 0,
                task: TaskFold::new(self.new.task.clone()),
                known: self.known.clone(),
                bytes: self.record.len() + self.known.bytes(),
            },
        );
        tx.published.push(Published {
            agent: Arc::clone(agent),
            id: Arc::clone(id),
            who: Arc::clone(who),
            key,
            generation: 0,
            begin: 0,
            events: Vec::new(),
            outcome: Outcome::Running,
            is_ours: self.new.work.claimed_by.is_some(),
        });
        Ok(Created::New {
            generation: Generation(0),
            fence: Fence(1),
        })
    }
}
