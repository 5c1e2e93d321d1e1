//! Where the run was when its last process stopped.

use std::collections::BTreeMap;

use super::{Asked, Drive};
use crate::data::Outcome;
use crate::run::call::{ARRIVAL, Begin};
use crate::run::state::{self, CallRun, Started, StepRun};
use crate::store::{CallState, StepState, StoredCall, StoredRun, StoredStep};

impl Drive<'_> {
    pub(super) fn restore(&mut self, stored: &StoredRun) {
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
}
