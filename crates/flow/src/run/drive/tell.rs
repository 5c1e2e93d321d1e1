//! What has happened is stored, and then told.

use llamon_core::Part;

use super::Drive;
use crate::plan::PlannedStep;
use crate::run::call::Note;
use crate::run::error::RunError;
use crate::run::progress::Progress;
use crate::store::{CallId, CallState, RunState, StepState};

/// Something to tell once it is stored.
pub(super) enum News {
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

impl Drive<'_> {
    pub(super) async fn commit(&mut self) -> Result<(), RunError> {
        if !self.changes.is_empty() {
            let changes = std::mem::take(&mut self.changes);
            self.runner.store.commit(&self.run, changes).await?;
        }
        for news in std::mem::take(&mut self.news) {
            self.tell(&news);
        }
        Ok(())
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

    pub(super) fn tell_note(&self, note: &Note) {
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
