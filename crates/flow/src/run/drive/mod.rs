//! The run as a whole: which step is ready, which call is made, and when the run is at rest.

mod begin;
mod restore;
mod settle;
mod tell;
mod wishes;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use llamon_client::trace::{TraceContext, within};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::call::{Begin, Made, Note, Tasks};
use super::error::RunError;
use super::progress::Watch;
use super::settings::Open;
use super::state::{self, StepRun};
use super::{Runner, Stand};
use crate::data::Answers;
use crate::plan::Plan;
use crate::store::{CallId, Change, RunState, StoredRun};
use tell::News;

/// Notes that wait for those who watch; calls wait for a place.
const NOTES: usize = 64;

pub(super) struct Drive<'r> {
    runner: &'r Runner,
    watch: &'r dyn Watch,
    run: Arc<str>,
    plan: Plan,
    answers: Answers,
    steps: Vec<StepRun>,
    /// Of each step, those that need it.
    needed_by: Vec<Vec<usize>>,
    /// Of each step, how many of those that it needs have not ended.
    missing: Vec<usize>,
    ready: VecDeque<usize>,
    /// Steps that may have calls to begin.
    startable: VecDeque<usize>,
    asking: BTreeMap<(usize, usize), Asked>,
    calls: JoinSet<Made>,
    /// Calls that go on where another process left them.
    left: Vec<(CallId, Begin)>,
    tasks: Arc<Tasks>,
    notes: (mpsc::Sender<Note>, mpsc::Receiver<Note>),
    cancel: CancellationToken,
    changes: Vec<Change>,
    /// What was stored last and is to be told.
    news: Vec<News>,
}

/// A question that is open.
struct Asked {
    attempt: u32,
    task_id: String,
    answers: u32,
    deadline: Option<Instant>,
}

impl<'r> Drive<'r> {
    pub(super) fn new(
        runner: &'r Runner,
        plan: Plan,
        stored: StoredRun,
        watch: &'r dyn Watch,
    ) -> Self {
        let answers = state::answers(&plan, &stored);
        let mut needed_by = vec![Vec::new(); plan.steps().len()];
        for (index, step) in plan.steps().iter().enumerate() {
            for need in step.needs() {
                if let Some(needed_by) = needed_by.get_mut(*need) {
                    needed_by.push(index);
                }
            }
        }
        let missing = plan.steps().iter().map(|step| step.needs().len()).collect();
        let steps = plan.steps().iter().map(|_| StepRun::Waiting).collect();
        let mut drive = Self {
            runner,
            watch,
            run: stored.summary.id.as_str().into(),
            plan,
            answers,
            steps,
            needed_by,
            missing,
            ready: VecDeque::new(),
            startable: VecDeque::new(),
            asking: BTreeMap::new(),
            calls: JoinSet::new(),
            left: Vec::new(),
            tasks: Arc::default(),
            notes: mpsc::channel(NOTES),
            cancel: CancellationToken::new(),
            changes: Vec::new(),
            news: Vec::new(),
        };
        if stored.summary.cancel_requested {
            drive.cancel.cancel();
        }
        drive.restore(&stored);
        drive
    }

    pub(super) async fn run(mut self, stop: &CancellationToken) -> Result<Stand, RunError> {
        let mut wished = self.runner.store.wished();
        let poll = self.runner.shared.settings.poll;
        let mut poll = tokio::time::interval_at(Instant::now() + poll, poll);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // What was wished before this process had the run.
        self.grant_wishes().await?;
        loop {
            self.advance();
            let begun = self.pick();
            self.commit().await?;
            for (call, begin) in begun {
                let span = call.span();
                let call = within(TraceContext::current(), span, call.make(begin));
                self.calls.spawn(call);
            }
            if self.calls.is_empty() {
                if self.cancel.is_cancelled() || self.asking.is_empty() {
                    return self.end().await;
                }
                if self.runner.shared.settings.open == Open::Return {
                    return Ok(Stand::Waiting(self.open_questions()));
                }
            }
            let deadline = self
                .asking
                .values()
                .filter_map(|asked| asked.deadline)
                .min();
            let expires = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(Stand::Parked),
                Some(note) = self.notes.1.recv() => self.tell_note(&note),
                Some(joined) = self.calls.join_next(), if !self.calls.is_empty() => {
                    self.take(joined)?;
                    while let Some(joined) = self.calls.try_join_next() {
                        self.take(joined)?;
                    }
                }
                _ = wished.changed() => self.grant_wishes().await?,
                _ = poll.tick() => self.grant_wishes().await?,
                () = expires => self.give_up(),
            }
        }
    }

    fn set(&mut self, index: usize, step: StepRun) {
        if let Some(slot) = self.steps.get_mut(index) {
            *slot = step;
        }
    }

    fn call_id(&self, step: usize, at: usize) -> Option<CallId> {
        let planned = self.plan.steps().get(step)?;
        Some(match planned.each() {
            None => CallId::of_step(planned.name()),
            Some(_) => CallId::of_item(planned.name(), u32::try_from(at).unwrap_or(u32::MAX)),
        })
    }

    async fn end(mut self) -> Result<Stand, RunError> {
        let failed = self.plan.order().iter().find_map(|index| {
            match (self.steps.get(*index), self.plan.steps().get(*index)) {
                (Some(StepRun::Dead(reason)), Some(step)) => {
                    Some(format!("step {:?}: {reason}", step.name()))
                }
                _ => None,
            }
        });
        let (state, reason) = match failed {
            _ if self.cancel.is_cancelled() => (RunState::Canceled, None),
            Some(reason) => (RunState::Failed, Some(reason)),
            None => (RunState::Completed, None),
        };
        self.changes.push(Change::RunEnded {
            state,
            reason: reason.clone(),
        });
        self.news.push(News::RunEnded {
            state,
            reason: reason.clone(),
        });
        self.commit().await?;
        Ok(Stand::Ended {
            state,
            reason,
            answer: self.plan.answer(&self.answers),
        })
    }
}
