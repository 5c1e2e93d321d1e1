use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use llamon_agent::core::{Payload, Upstream};
use llamon_agent::server::{Agent, AgentError, Answer, Turn};

/// What an agent of the demo does: from what arrived to what it produces.
pub(super) type Work = fn(&Upstream) -> Result<Payload, AgentError>;

/// An agent of the demo. It tells the recorder what it got and what it made, which the wire
/// cannot tell apart.
pub(super) struct Worker {
    pub(super) work: Work,
    pub(super) recorder: Recorder,
}

impl Agent for Worker {
    async fn run(&self, turn: Turn) -> Result<Answer, AgentError> {
        let produced = (self.work)(turn.upstream())?;
        self.recorder.note(
            turn.context_id(),
            Note {
                arrived: turn.message().payload(),
                produced: produced.clone(),
            },
        );
        Ok(Answer::Completed(produced))
    }
}

/// What the agents saw and did, by the context that a run has for each of its steps. Clones share
/// it.
#[derive(Clone, Default)]
pub(super) struct Recorder(Arc<Mutex<Notes>>);

pub(super) struct Note {
    pub(super) arrived: Payload,
    /// The agent's own output, before the policy.
    pub(super) produced: Payload,
}

#[derive(Default)]
struct Notes {
    by_context: HashMap<String, Note>,
    closed: bool,
}

impl Recorder {
    /// Takes what was noted in a context.
    pub(super) fn take(&self, context_id: &str) -> Option<Note> {
        self.notes().by_context.remove(context_id)
    }

    /// Notes nothing from now on: agents that stay up must not fill the memory.
    pub(super) fn close(&self) {
        let mut notes = self.notes();
        notes.closed = true;
        notes.by_context.clear();
    }

    fn note(&self, context_id: &str, note: Note) {
        let mut notes = self.notes();
        if !notes.closed {
            notes.by_context.insert(context_id.to_owned(), note);
        }
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        // Nothing that holds the lock can panic halfway.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
