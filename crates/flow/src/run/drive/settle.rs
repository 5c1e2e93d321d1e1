//! What becomes of a call, of its step, and of the steps that need it.

use llamon_core::Part;
use tokio::time::Instant;

use super::{Asked, Drive, News};
use crate::data::Answer;
use crate::run::call::{End, Made, ended};
use crate::run::error::RunError;
use crate::run::state::{CallRun, StepRun, answer_of};
use crate::store::{CallId, CallState, Change, StepState};

impl Drive<'_> {
    pub(super) fn take(
        &mut self,
        joined: Result<Made, tokio::task::JoinError>,
    ) -> Result<(), RunError> {
        let Made { id, task, end } =
            joined.map_err(|error| RunError::damaged(format!("a call broke: {error}")))?;
        let Some(index) = self.plan.step_index(&id.step) else {
            return Ok(());
        };
        if let Some(StepRun::Started(started)) = self.steps.get_mut(index) {
            started.running = started.running.saturating_sub(1);
        }
        self.startable.push_back(index);
        if id.item.is_none() {
            self.changes.extend(task);
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
    pub(super) fn end_call(&mut self, index: usize, id: &CallId, end: Result<Vec<Part>, String>) {
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

    pub(super) fn end_step_if_done(&mut self, index: usize) {
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
    pub(super) fn fail_step(&mut self, index: usize, reason: String) {
        let Some(planned) = self.plan.steps().get(index) else {
            return;
        };
        let answer = answer_of(planned.on_error(), Some(reason.clone()), Vec::new().into());
        self.end_step(index, StepState::Failed, Some(reason), answer);
    }

    /// The step has ended, with an answer for the steps that need it, or with why they never start.
    pub(super) fn end_step(
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
    pub(super) fn release(&mut self, index: usize) {
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
}
