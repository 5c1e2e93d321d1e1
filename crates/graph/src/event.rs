//! What a run tells while it goes on.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;

use crate::Interrupt;
use crate::saver::Source;

/// A kind of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// The state after each super-step.
    Values,
    /// What each node wrote, when it finishes.
    Updates,
    /// What nodes say with [`NodeContext::write`](crate::NodeContext::write).
    Custom,
    /// Pieces of text from [`NodeContext::token`](crate::NodeContext::token).
    Messages,
    /// Tasks that start and finish.
    Tasks,
    /// Checkpoints that are made.
    Checkpoints,
    /// Tasks and checkpoints.
    Debug,
}

/// One event of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// Where: empty in the graph itself, `node:task` in a subgraph, with `|` between several.
    pub namespace: Arc<str>,
    /// The super-step.
    pub step: i64,
    /// The node, where one is meant.
    pub node: Option<String>,
    /// Whether a node said this before it asked, and says it again now that it has its answer and
    /// runs from its top.
    pub replayed: bool,
    /// What happened.
    pub data: EventData,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum EventData {
    /// The state after a super-step, all of it.
    Values(Value),
    /// What a node wrote.
    Update {
        /// The fields that it wrote.
        update: Value,
        /// It had finished before this run, and did not run again.
        cached: bool,
    },
    /// Questions are open, or the graph stopped before or after a node (then there are none): the run
    /// ends here. Comes with [`Mode::Values`] and [`Mode::Updates`].
    Interrupt(Vec<Interrupt>),
    /// What a node said.
    Custom(Value),
    /// A piece of text.
    Token(String),
    /// A task of a node starts.
    TaskStarted {
        /// Its id.
        id: String,
        /// What it is given: the state, or its own argument.
        input: Value,
    },
    /// A task of a node has ended.
    TaskFinished {
        /// Its id.
        id: String,
        /// What it wrote.
        result: Option<Value>,
        /// Why it failed.
        error: Option<String>,
        /// What it asks.
        interrupts: Vec<Interrupt>,
    },
    /// A checkpoint was made.
    Checkpoint {
        /// Its id.
        id: String,
        /// That of the one before.
        parent: Option<String>,
        /// What made it.
        source: Source,
        /// The state in it.
        values: Value,
        /// The nodes that run next.
        next: Vec<String>,
    },
}

impl EventData {
    fn is_of(&self, modes: &Modes) -> bool {
        let has = |mode| modes.has(mode);
        match self {
            Self::Values(_) => has(Mode::Values),
            Self::Update { .. } => has(Mode::Updates),
            Self::Interrupt(_) => has(Mode::Values) || has(Mode::Updates),
            Self::Custom(_) => has(Mode::Custom),
            Self::Token(_) => has(Mode::Messages),
            Self::TaskStarted { .. } | Self::TaskFinished { .. } => has(Mode::Tasks),
            Self::Checkpoint { .. } => has(Mode::Checkpoints),
        }
    }
}

/// Which events are wanted.
#[derive(Clone, Debug)]
pub(crate) struct Modes {
    wanted: u8,
    pub(crate) subgraphs: bool,
}

impl Default for Modes {
    fn default() -> Self {
        Self {
            wanted: bits(Mode::Updates),
            subgraphs: false,
        }
    }
}

impl Modes {
    pub(crate) fn only(&mut self, modes: impl IntoIterator<Item = Mode>) {
        self.wanted = modes.into_iter().map(bits).fold(0, |all, mode| all | mode);
    }

    fn has(&self, mode: Mode) -> bool {
        self.wanted & bits(mode) != 0
    }
}

fn bits(mode: Mode) -> u8 {
    match mode {
        Mode::Values => 1,
        Mode::Updates => 1 << 1,
        Mode::Custom => 1 << 2,
        Mode::Messages => 1 << 3,
        Mode::Tasks => 1 << 4,
        Mode::Checkpoints => 1 << 5,
        Mode::Debug => bits(Mode::Tasks) | bits(Mode::Checkpoints),
    }
}

/// Where events go: to the reader of the stream, or nowhere.
#[derive(Clone, Debug)]
pub(crate) struct Emitter {
    to: Option<(mpsc::Sender<Event>, Modes)>,
}

impl Emitter {
    pub(crate) fn none() -> Self {
        Self { to: None }
    }

    pub(crate) fn new(sender: mpsc::Sender<Event>, modes: Modes) -> Self {
        Self {
            to: Some((sender, modes)),
        }
    }

    /// Whether anybody reads.
    pub(crate) fn is_on(&self) -> bool {
        self.to.is_some()
    }

    /// Whether anybody wants events of this mode from there; asked before an event is made that costs.
    pub(crate) fn wants(&self, mode: Mode, namespace: &str) -> bool {
        let modes = self.modes(namespace);
        modes.is_some_and(|modes| modes.has(mode))
    }

    /// Waits while the reader is behind; nothing is lost. A reader that is gone wants nothing.
    pub(crate) async fn emit(&self, event: Event) {
        let is_wanted = |modes| event.data.is_of(modes);
        if !self.modes(&event.namespace).is_some_and(is_wanted) {
            return;
        }
        if let Some((sender, _)) = &self.to {
            // The run of a reader that is gone is about to be dropped.
            drop(sender.send(event).await);
        }
    }

    fn modes(&self, namespace: &str) -> Option<&Modes> {
        let (_, modes) = self.to.as_ref()?;
        (namespace.is_empty() || modes.subgraphs).then_some(modes)
    }
}
