//! The run as a whole: which step is ready, which call is made, and when the run is at rest.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use llamon_client::trace::{TraceContext, within};
use llamon_core::Part;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::call::{ARRIVAL, Begin, Call, End, Note, Tasks, ended, message_id, sending};
use super::error::RunError;
use super::progress::{Progress, Watch};
use super::settings::Open;
use super::state::{self, CallRun, Started, StepRun, answer_of};
use super::{Runner, Stand};
use crate::data::{Answer, Answers, Item, Message, Next, Outcome};
use crate::plan::{Ask, Plan, PlannedStep};
use crate::store::{
    CallId, CallState, Change, RunState, StepState, StoredCall, StoredRun, StoredStep, Traffic,
};

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
    calls: JoinSet<(CallId, End)>,
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

/// Something to tell once it is stored.
enum News {
    StepStarted {
        step: usize,
        items: Option<u32>,
    },
    StepEnded {
        step: usize,
        state: StepState,
        reason: Option<String>,
    },
    Asking {
        call: CallId,
        question: Vec<Part>,
        is_auth: bool,
    },
    CallEnded {
        call: CallId,
        state: CallState,
        parts: usize,
        bytes: usize,
        reason: Option<String>,
    },
    RunEnded {
        state: RunState,
        reason: Option<String>,
    },
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
        let mut poll = tokio::time::interval(self.runner.shared.settings.poll);
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

    // === restoring ===

    fn restore(&mut self, stored: &StoredRun) {
        let mut calls = state::by_step(stored);
        let steps: BTreeMap<&str, &StoredStep> = stored
            .steps
            .iter()
            .map(|step| (&*step.step, step))
            .collect();
        for index in self.plan.order().to_vec() {
            let Some(planned) = self.plan.steps().get(index) else {
                continue;
            };
            let name = planned.name().to_owned();
            let of_step = calls.remove(&*name).unwrap_or_default();
            let Some(step) = steps.get(&*name) else {
                continue;
            };
            match step.state {
                StepState::Started | StepState::Canceled => {
                    self.restore_started(index, step, &of_step)
                }
                StepState::Failed
                    if self.answers.get(index).is_none_or(|answer| {
                        matches!(answer.outcome(), Outcome::Failed(_))
                            && *planned.on_error() == crate::plan::OnError::Fail
                    }) =>
                {
                    let reason = step.reason.clone().unwrap_or_default();
                    self.set(index, StepRun::Dead(reason));
                }
                StepState::Skipped | StepState::Completed | StepState::Failed => {
                    self.set(index, StepRun::Ended);
                    self.release(index);
                }
            }
        }
        for index in 0..self.steps.len() {
            if matches!(self.steps.get(index), Some(StepRun::Waiting))
                && self.missing.get(index) == Some(&0)
                && !self.ready.contains(&index)
            {
                self.ready.push_back(index);
            }
        }
    }

    fn restore_started(&mut self, index: usize, step: &StoredStep, calls: &[&StoredCall]) {
        let items = match step.items.map(|_| self.plan.items(index, &self.answers)) {
            None => None,
            Some(Ok(items)) => Some(items),
            // They could be found before, from the same texts.
            Some(Err(error)) => {
                self.fail_step(index, error.to_string());
                return;
            }
        };
        let mut started = Started::new(items);
        for call in calls {
            let at = call.id.index();
            let Some(slot) = started.calls.get_mut(at) else {
                continue;
            };
            started.next = started.next.max(at + 1);
            *slot = match call.state {
                CallState::Completed => CallRun::Ended(Ok(call.parts.clone())),
                CallState::Failed | CallState::Canceled => {
                    let reason = call.reason.clone();
                    CallRun::Ended(Err(reason.unwrap_or_else(|| "was canceled".to_owned())))
                }
                CallState::Sending | CallState::Sent | CallState::Asking => {
                    started.open += 1;
                    CallRun::Open
                }
            };
            self.restore_call(index, at, call);
        }
        self.set(index, StepRun::Started(started));
        self.startable.push_back(index);
        self.end_step_if_done(index);
    }

    fn restore_call(&mut self, step: usize, at: usize, call: &StoredCall) {
        let attempt = call.attempt;
        let begin = match (call.state, &call.task_id) {
            (CallState::Asking, Some(task_id)) => {
                let asked = Asked {
                    attempt,
                    task_id: task_id.clone(),
                    answers: call.answers,
                    deadline: self.deadline(step, call.changed.as_millisecond()),
                };
                self.asking.insert((step, at), asked);
                return;
            }
            (CallState::Sent, Some(task_id)) => Begin::Sent {
                attempt,
                task_id: task_id.clone(),
                answers: call.answers,
            },
            (CallState::Sending | CallState::Sent | CallState::Asking, _) => Begin::MaybeSent {
                attempt,
                message_id: call.message_id.clone(),
                arrival: ARRIVAL.saturating_sub(self.since(call.changed.as_millisecond())),
            },
            (CallState::Completed | CallState::Failed | CallState::Canceled, _) => return,
        };
        self.left.push((call.id.clone(), begin));
    }

    // === deciding ===

    /// Starts the steps that are ready.
    fn advance(&mut self) {
        while let Some(index) = self.ready.pop_front() {
            if self.cancel.is_cancelled()
                || !matches!(self.steps.get(index), Some(StepRun::Waiting))
            {
                continue;
            }
            match self.plan.next(index, &self.answers) {
                Ok(Next::Run) => self.start_step(index),
                Ok(Next::Skip(skip)) => {
                    let reason = Some(skip.as_str().to_owned());
                    let answer = Ok(Answer::skipped());
                    self.end_step(index, StepState::Skipped, reason, answer);
                }
                Err(error) => self.fail_step(index, error.to_string()),
            }
        }
    }

    fn start_step(&mut self, index: usize) {
        let Some(planned) = self.plan.steps().get(index) else {
            return;
        };
        let items = match planned
            .each()
            .map(|_| self.plan.items(index, &self.answers))
        {
            None => None,
            Some(Ok(items)) => Some(items),
            Some(Err(error)) => return self.fail_step(index, error.to_string()),
        };
        let count = items
            .as_ref()
            .map(|items| u32::try_from(items.len()).unwrap_or(u32::MAX));
        self.changes.push(Change::Step {
            step: planned.name().to_owned(),
            state: StepState::Started,
            items: count,
            reason: None,
        });
        self.news.push(News::StepStarted {
            step: index,
            items: count,
        });
        self.set(index, StepRun::Started(Started::new(items)));
        self.startable.push_back(index);
        self.end_step_if_done(index);
    }

    /// The calls that begin now.
    fn pick(&mut self) -> Vec<(Call, Begin)> {
        let mut begun = Vec::new();
        for (id, begin) in std::mem::take(&mut self.left) {
            let Some(index) = self.plan.step_index(&id.step) else {
                continue;
            };
            if let Some(StepRun::Started(started)) = self.steps.get_mut(index) {
                started.running += 1;
            }
            match self.call(index, &id) {
                Ok((call, _)) => begun.push((call, begin)),
                Err(reason) => self.end_call(index, &id, Err(reason)),
            }
        }
        if self.cancel.is_cancelled() {
            self.startable.clear();
            return begun;
        }
        while let Some(index) = self.startable.pop_front() {
            while let Some(at) = self.next_call(index) {
                self.begin_call(index, at, &mut begun);
            }
        }
        begun
    }

    /// The call of a step that may begin now.
    fn next_call(&mut self, index: usize) -> Option<usize> {
        let planned = self.plan.steps().get(index)?;
        let cap = planned.each().map_or(1, |each| each.concurrency());
        let goes_on = *planned.on_error() == crate::plan::OnError::Continue;
        let Some(StepRun::Started(started)) = self.steps.get_mut(index) else {
            return None;
        };
        if started.running >= cap || (started.failure().is_some() && !goes_on) {
            return None;
        }
        let at = started.next;
        if at >= started.calls.len() {
            return None;
        }
        started.next += 1;
        started.open += 1;
        started.running += 1;
        if let Some(call) = started.calls.get_mut(at) {
            *call = CallRun::Open;
        }
        Some(at)
    }

    fn begin_call(&mut self, index: usize, at: usize, begun: &mut Vec<(Call, Begin)>) {
        let Some(id) = self.call_id(index, at) else {
            return;
        };
        let message_id = message_id(&self.run, &id, 1);
        match self.call(index, &id) {
            Ok((call, traffic)) => {
                let stored = call.permit.is_some();
                if stored {
                    self.changes
                        .push(sending(&id, 1, &message_id, traffic, false));
                }
                begun.push((call, Begin::Unsent { stored }));
            }
            Err(reason) => {
                // It is a call that failed, so that a report has it.
                let traffic = Traffic::default();
                self.changes
                    .push(sending(&id, 1, &message_id, traffic, false));
                self.end_call(index, &id, Err(reason));
            }
        }
    }

    /// The call with its message, which is the same each time it is made.
    fn call(&self, index: usize, id: &CallId) -> Result<(Call, Traffic), String> {
        let unknown = || format!("the plan has no step {}", id.step);
        let planned: &PlannedStep = self.plan.steps().get(index).ok_or_else(unknown)?;
        let item: Option<&Item> = match (self.steps.get(index), id.item) {
            (Some(StepRun::Started(started)), Some(item)) => started
                .items
                .as_ref()
                .and_then(|items| items.get(item as usize)),
            _ => None,
        };
        let message = self.plan.message(index, &self.answers, item);
        let message = message.map_err(|error| error.to_string())?;
        let traffic = traffic(&message);
        let permit = Arc::clone(&self.runner.shared.places).try_acquire_owned();
        let call = Call {
            id: id.clone(),
            run: Arc::clone(&self.run),
            agent: planned.agent().clone(),
            timeout: planned.timeout(),
            retry: planned.retry(),
            ask: planned.ask(),
            parts: message.into_payload().into_parts(),
            traffic,
            store: self.runner.store.clone(),
            delegation: self.runner.delegation,
            shared: Arc::clone(&self.runner.shared),
            tasks: Arc::clone(&self.tasks),
            notes: self.notes.0.clone(),
            cancel: self.cancel.clone(),
            permit: permit.ok(),
        };
        Ok((call, traffic))
    }

    // === taking in ===

    fn take(
        &mut self,
        joined: Result<(CallId, End), tokio::task::JoinError>,
    ) -> Result<(), RunError> {
        let (id, end) =
            joined.map_err(|error| RunError::damaged(format!("a call broke: {error}")))?;
        let Some(index) = self.plan.step_index(&id.step) else {
            return Ok(());
        };
        if let Some(StepRun::Started(started)) = self.steps.get_mut(index) {
            started.running = started.running.saturating_sub(1);
        }
        self.startable.push_back(index);
        if id.item.is_none() {
            self.changes.extend(ended(&id, &end));
        }
        match end {
            End::Store(error) => return Err(error),
            End::Completed(parts) => self.end_call(index, &id, Ok(parts)),
            End::Failed(reason) => self.fail_call(index, &id, CallState::Failed, reason),
            End::Canceled => {
                self.fail_call(index, &id, CallState::Canceled, "was canceled".to_owned());
            }
            End::Asking {
                attempt,
                task_id,
                answers,
                question,
                is_auth,
            } => {
                let at = id.index();
                let asked = Asked {
                    attempt,
                    task_id,
                    answers,
                    deadline: self.wait_of(index).map(|wait| Instant::now() + wait),
                };
                self.asking.insert((index, at), asked);
                self.news.push(News::Asking {
                    call: id,
                    question,
                    is_auth,
                });
            }
        }
        Ok(())
    }

    /// A call that could not even begin, or that has answered.
    fn end_call(&mut self, index: usize, id: &CallId, end: Result<Vec<Part>, String>) {
        match end {
            Ok(parts) => {
                self.news.push(News::CallEnded {
                    call: id.clone(),
                    state: CallState::Completed,
                    parts: parts.len(),
                    bytes: parts.iter().map(|part| part.json().len()).sum(),
                    reason: None,
                });
                self.close_call(index, id, Ok(parts));
            }
            Err(reason) => {
                if let Some(StepRun::Started(started)) = self.steps.get_mut(index) {
                    started.running = started.running.saturating_sub(1);
                }
                self.changes.push(Change::Ended {
                    call: id.clone(),
                    state: CallState::Failed,
                    parts: Vec::new(),
                    reason: Some(reason.clone()),
                });
                self.fail_call(index, id, CallState::Failed, reason);
            }
        }
    }

    fn fail_call(&mut self, index: usize, id: &CallId, state: CallState, reason: String) {
        self.news.push(News::CallEnded {
            call: id.clone(),
            state,
            parts: 0,
            bytes: 0,
            reason: Some(reason.clone()),
        });
        self.close_call(index, id, Err(reason));
    }

    fn close_call(&mut self, index: usize, id: &CallId, end: Result<Vec<Part>, String>) {
        let at = id.index();
        self.asking.remove(&(index, at));
        if let Some(StepRun::Started(started)) = self.steps.get_mut(index) {
            started.open = started.open.saturating_sub(1);
            if let Some(call) = started.calls.get_mut(at) {
                *call = CallRun::Ended(end);
            }
        }
        self.end_step_if_done(index);
    }

    fn end_step_if_done(&mut self, index: usize) {
        let Some(planned) = self.plan.steps().get(index) else {
            return;
        };
        let Some(StepRun::Started(started)) = self.steps.get(index) else {
            return;
        };
        let goes_on = *planned.on_error() == crate::plan::OnError::Continue;
        let no_more = started.next >= started.calls.len()
            || (started.failure().is_some() && !goes_on)
            || self.cancel.is_cancelled();
        if started.open > 0 || !no_more {
            return;
        }
        if self.cancel.is_cancelled()
            && (started.next < started.calls.len() || started.failure().is_some())
        {
            let dead = Err("was canceled".to_owned());
            return self.end_step(index, StepState::Canceled, None, dead);
        }
        let failure = started.reason();
        let answer = answer_of(planned.on_error(), failure.clone(), started.payload());
        let state = match failure {
            None => StepState::Completed,
            Some(_) => StepState::Failed,
        };
        self.end_step(index, state, failure, answer);
    }

    /// The step failed before it had calls.
    fn fail_step(&mut self, index: usize, reason: String) {
        let Some(planned) = self.plan.steps().get(index) else {
            return;
        };
        let answer = answer_of(planned.on_error(), Some(reason.clone()), Vec::new().into());
        self.end_step(index, StepState::Failed, Some(reason), answer);
    }

    /// The step has ended, with an answer for the steps that need it, or with why they never start.
    fn end_step(
        &mut self,
        index: usize,
        state: StepState,
        reason: Option<String>,
        answer: Result<Answer, String>,
    ) {
        let Some(planned) = self.plan.steps().get(index) else {
            return;
        };
        self.changes.push(Change::Step {
            step: planned.name().to_owned(),
            state,
            items: None,
            reason: reason.clone(),
        });
        self.news.push(News::StepEnded {
            step: index,
            state,
            reason,
        });
        match answer {
            Ok(answer) => {
                self.answers.set(index, answer);
                self.set(index, StepRun::Ended);
                self.release(index);
            }
            Err(reason) => self.set(index, StepRun::Dead(reason)),
        }
    }

    /// Those that need the step have one less to wait for.
    fn release(&mut self, index: usize) {
        let needed_by = self.needed_by.get_mut(index).map(std::mem::take);
        for next in needed_by.unwrap_or_default() {
            if let Some(missing) = self.missing.get_mut(next) {
                *missing = missing.saturating_sub(1);
                if *missing == 0 {
                    self.ready.push_back(next);
                }
            }
        }
    }

    fn set(&mut self, index: usize, step: StepRun) {
        if let Some(slot) = self.steps.get_mut(index) {
            *slot = step;
        }
    }

    // === wishes ===

    async fn grant_wishes(&mut self) -> Result<(), RunError> {
        let wishes = self.runner.store.wishes(&self.run).await?;
        if wishes.cancel && !self.cancel.is_cancelled() {
            self.cancel.cancel();
        }
        if self.cancel.is_cancelled() {
            let asking = std::mem::take(&mut self.asking);
            for ((step, at), asked) in asking {
                let begin = Begin::Sent {
                    attempt: asked.attempt,
                    task_id: asked.task_id,
                    answers: asked.answers,
                };
                self.left
                    .extend(self.call_id(step, at).map(|id| (id, begin)));
            }
            return Ok(());
        }
        for (id, answer) in wishes.answers {
            let Some(step) = self.plan.step_index(&id.step) else {
                continue;
            };
            let at = id.index();
            if let Some(asked) = self.asking.remove(&(step, at)) {
                let begin = Begin::Answer {
                    attempt: asked.attempt,
                    task_id: asked.task_id,
                    answers: asked.answers,
                    answer,
                };
                self.left.push((id, begin));
            }
        }
        Ok(())
    }

    /// Nobody has answered in time.
    fn give_up(&mut self) {
        let now = Instant::now();
        let expired: Vec<(usize, usize)> = (self.asking.iter())
            .filter(|(_, asked)| asked.deadline.is_some_and(|deadline| deadline <= now))
            .map(|(at, _)| *at)
            .collect();
        for (step, at) in expired {
            let wait = self.wait_of(step).unwrap_or_default();
            let Some(asked) = self.asking.remove(&(step, at)) else {
                continue;
            };
            let begin = Begin::GiveUp {
                task_id: asked.task_id,
                reason: format!("nobody answered the agent's question within {wait:?}"),
            };
            self.left
                .extend(self.call_id(step, at).map(|id| (id, begin)));
        }
    }

    fn wait_of(&self, step: usize) -> Option<Duration> {
        match self.plan.steps().get(step)?.ask() {
            Ask::Wait(wait) => Some(wait),
            Ask::Pause | Ask::Fail => None,
        }
    }

    /// When a question that was asked then is given up.
    fn deadline(&self, step: usize, asked_at: i64) -> Option<Instant> {
        let wait = self.wait_of(step)?;
        Some(Instant::now() + wait.saturating_sub(self.since(asked_at)))
    }

    /// The time from then, in milliseconds since 1970, to now.
    fn since(&self, then: i64) -> Duration {
        let millis = self.runner.store.now().saturating_sub(then);
        Duration::from_millis(u64::try_from(millis).unwrap_or_default())
    }

    fn call_id(&self, step: usize, at: usize) -> Option<CallId> {
        let planned = self.plan.steps().get(step)?;
        Some(match planned.each() {
            None => CallId::of_step(planned.name()),
            Some(_) => CallId::of_item(planned.name(), u32::try_from(at).unwrap_or(u32::MAX)),
        })
    }

    fn open_questions(&self) -> Vec<CallId> {
        let asking = self.asking.keys();
        asking
            .filter_map(|(step, at)| self.call_id(*step, *at))
            .collect()
    }

    // === storing and telling ===

    async fn commit(&mut self) -> Result<(), RunError> {
        if !self.changes.is_empty() {
            let changes = std::mem::take(&mut self.changes);
            self.runner.store.commit(&self.run, changes).await?;
        }
        for news in std::mem::take(&mut self.news) {
            self.tell(&news);
        }
        Ok(())
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

    fn tell(&self, news: &News) {
        let name = |step: usize| self.plan.steps().get(step).map_or("", PlannedStep::name);
        self.watch.see(match news {
            News::StepStarted { step, items } => Progress::StepStarted {
                step: name(*step),
                items: *items,
            },
            News::StepEnded {
                step,
                state,
                reason,
            } => Progress::StepEnded {
                step: name(*step),
                state: *state,
                reason: reason.as_deref(),
            },
            News::Asking {
                call,
                question,
                is_auth,
            } => Progress::Asking {
                call,
                question,
                is_auth: *is_auth,
            },
            News::CallEnded {
                call,
                state,
                parts,
                bytes,
                reason,
            } => Progress::CallEnded {
                call,
                state: *state,
                parts: *parts,
                bytes: *bytes,
                reason: reason.as_deref(),
            },
            News::RunEnded { state, reason } => Progress::RunEnded {
                state: *state,
                reason: reason.as_deref(),
            },
        });
    }

    fn tell_note(&self, note: &Note) {
        self.watch.see(match note {
            Note::Sending {
                call,
                attempt,
                traffic,
            } => Progress::Sending {
                call,
                attempt: *attempt,
                parts: traffic.sent,
                bytes: traffic.sent_bytes,
            },
            Note::Status { call, text } => Progress::Status { call, text },
            Note::Retrying { call, reason } => Progress::Retrying { call, reason },
            Note::Answered { call } => Progress::Answered { call },
        });
    }
}

fn traffic(message: &Message) -> Traffic {
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let bytes = message.parts().iter().map(|part| part.json().len()).sum();
    let sent = message.repeats().iter().filter(|repeat| !repeat.removed);
    let removed = message.repeats().len() - sent.clone().count();
    Traffic {
        received: count(message.parts().len() + removed),
        sent: count(message.parts().len()),
        sent_bytes: count(bytes),
        duplicates: count(sent.clone().count()),
        duplicate_bytes: count(sent.map(|repeat| repeat.bytes).sum()),
    }
}
