//! Which steps and calls begin.

use std::sync::Arc;

use super::{Drive, News};
use crate::data::{Answer, Item, Message, Next};
use crate::plan::PlannedStep;
use crate::run::call::{Begin, Call, message_id, sending};
use crate::run::state::{CallRun, Started, StepRun};
use crate::store::{CallId, Change, StepState, Traffic};

impl Drive<'_> {
    /// Starts the steps that are ready.
    pub(super) fn advance(&mut self) {
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
    pub(super) fn pick(&mut self) -> Vec<(Call, Begin)> {
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
