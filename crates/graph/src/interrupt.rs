//! Questions of a graph to the outside, and how a run ends and goes on.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An open question: a node waits for its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Interrupt {
    /// What it is answered by. The same for the same question as long as it is open.
    pub id: String,
    /// The node that asks; in a subgraph, the node of the subgraph.
    pub node: String,
    /// What is asked.
    pub value: Value,
    /// The JSON Schema of the answer, if the node gave one. The graph does not check answers: whoever
    /// resumes it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

/// What a node asks with [`NodeContext::ask`](crate::NodeContext::ask).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Question {
    /// What is asked.
    pub value: Value,
    /// The JSON Schema of the answer.
    pub schema: Option<Value>,
}

impl Question {
    /// A question that any answer fits.
    pub fn new(value: impl Into<Value>) -> Self {
        Self {
            value: value.into(),
            schema: None,
        }
    }

    /// The same with the JSON Schema of its answer.
    #[must_use]
    pub fn schema(mut self, schema: Value) -> Self {
        self.schema = Some(schema);
        self
    }
}

/// How an interrupted run goes on.
#[derive(Clone, Debug, PartialEq)]
pub struct Resume(pub(crate) Answers);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answers {
    None,
    One(Value),
    ById(Vec<(String, Value)>),
}

impl Resume {
    /// Answers the one open question. Any JSON is an answer, `null` too.
    pub fn value(answer: impl Into<Value>) -> Self {
        Self(Answers::One(answer.into()))
    }

    /// Answers questions by their ids, all or some: the nodes of the others go on waiting.
    pub fn by_id<I, A>(answers: impl IntoIterator<Item = (I, A)>) -> Self
    where
        I: Into<String>,
        A: Into<Value>,
    {
        let answers = answers.into_iter();
        let answers = answers.map(|(id, answer)| (id.into(), answer.into()));
        Self(Answers::ById(answers.collect()))
    }

    /// Goes on where no question is open: after `interrupt_before` or `interrupt_after`, after a node
    /// has failed, or after the process has died. Nodes that have finished do not run again.
    #[must_use]
    pub fn proceed() -> Self {
        Self(Answers::None)
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "an interrupted run must be resumed"]
pub enum Outcome<O> {
    /// Nothing is left to do.
    Finished(O),
    /// The run waits: `resume` goes on.
    Interrupted {
        /// The state so far, without the writes of the super-step that waits.
        state: O,
        /// The open questions; none after `interrupt_before` and `interrupt_after`.
        interrupts: Vec<Interrupt>,
        /// The nodes that run next.
        next: Vec<String>,
    },
}

impl<O> Outcome<O> {
    /// The state, whether the run has finished or not.
    pub fn into_state(self) -> O {
        match self {
            Self::Finished(state) | Self::Interrupted { state, .. } => state,
        }
    }

    /// The state of a run that has finished.
    #[must_use]
    pub fn finished(self) -> Option<O> {
        match self {
            Self::Finished(state) => Some(state),
            Self::Interrupted { .. } => None,
        }
    }

    /// The open questions.
    #[must_use]
    pub fn interrupts(&self) -> &[Interrupt] {
        match self {
            Self::Finished(_) => &[],
            Self::Interrupted { interrupts, .. } => interrupts,
        }
    }
}
