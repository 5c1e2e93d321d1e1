//! What a turn begins with, also when another process had begun it before.

use std::sync::Arc;

use llamon_client::trace::TraceContext;
use llamon_core::a2a::{Message, Role, TaskState};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::is_contract_question;
use crate::backend::{Claimed, Durability, Fence, Generation, NewWork, WorkerId};
use crate::scope::Scope;

/// What a turn begins with.
pub(crate) struct Begin {
    pub(crate) scope: Scope,
    pub(crate) task_id: Arc<str>,
    pub(crate) context_id: Arc<str>,
    pub(crate) metadata: Option<String>,
    pub(crate) negotiated: Negotiated,
    /// The trace that the caller works in.
    pub(crate) trace: Option<TraceContext>,
    pub(crate) message: Message,
    pub(crate) history: Vec<Message>,
    pub(crate) number: usize,
    /// How many artifacts the turns before have made.
    pub(crate) artifacts: usize,
    pub(crate) generation: Generation,
    pub(crate) fence: Fence,
    pub(crate) attempt: u32,
    /// Whether an attempt before this one has left a part of an answer.
    pub(crate) leftover: Leftover,
    /// Whether the sender can still be answered with a message instead of the task.
    pub(crate) direct_message: DirectMessage,
    pub(crate) working: Working,
    /// Fires when the turn is left to be run again, for a client that waits for its end.
    pub(crate) left: Option<CancellationToken>,
}

/// What client and server have agreed on for a turn.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Negotiated {
    /// URIs of the extensions that are active.
    pub(crate) extensions: Vec<String>,
    /// Media types that the client takes; empty is all.
    pub(crate) output_modes: Vec<String>,
}

/// When WORKING is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Working {
    Said,
    AtTheStart,
    /// In one commit with the first output, which makes the task visible.
    WithFirstOutput,
}

/// Whether a turn can be answered with a message instead of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DirectMessage {
    Possible,
    /// The sender has seen the task, or is gone.
    TooLate,
}

/// What an attempt that died has left of the turn's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leftover {
    Nothing,
    /// The artifact of the answer, which the present attempt replaces.
    Answer,
}

/// What is stored with a turn's work, so that another process can begin it again.
#[derive(Serialize, Deserialize)]
struct Record {
    artifacts: usize,
    hidden: bool,
    metadata: Option<String>,
    // Records of before have none.
    #[serde(default)]
    negotiated: Negotiated,
    #[serde(default)]
    trace: Option<Trace>,
}

/// A trace as it is stored.
#[derive(Serialize, Deserialize)]
struct Trace {
    parent: String,
    state: Option<String>,
}

impl Trace {
    fn of(context: &TraceContext) -> Self {
        Self {
            parent: context.traceparent().to_owned(),
            state: context.tracestate().map(ToOwned::to_owned),
        }
    }
}

/// The work of a turn that this server runs itself.
pub(crate) fn work(
    worker: &WorkerId,
    durability: Durability,
    artifacts: usize,
    hidden: bool,
    metadata: Option<&String>,
    negotiated: &Negotiated,
    trace: Option<&TraceContext>,
) -> NewWork {
    let record = match durability {
        // Nobody will ever read it.
        Durability::Volatile => String::new(),
        Durability::Durable => {
            let metadata = metadata.cloned();
            let record = Record {
                artifacts,
                hidden,
                metadata,
                negotiated: negotiated.clone(),
                trace: trace.map(Trace::of),
            };
            // Numbers, booleans and strings can always be written.
            serde_json::to_string(&record).unwrap_or_default()
        }
    };
    NewWork {
        record,
        claimed_by: Some(worker.clone()),
    }
}

impl Begin {
    /// The turn that was claimed.
    ///
    /// # Errors
    /// When what was stored with it cannot be read: the reason, for the log.
    pub(crate) fn of_claimed(claimed: &Claimed) -> Result<Self, String> {
        let record: Record = serde_json::from_str(&claimed.record)
            .map_err(|error| format!("the record of the turn cannot be read: {error}"))?;
        let task = &claimed.task;
        let Some((message, before)) = task.history.split_last() else {
            return Err("the task has no message to answer".to_owned());
        };
        let mut history = before.to_vec();
        let number = turn_number(&history);
        let message = join_answers(&mut history, message);
        let response_id = response_id(number);
        let trace = record.trace;
        let trace =
            trace.and_then(|trace| TraceContext::parse(&trace.parent, trace.state.as_deref()));
        let is_left = (task.artifacts.iter()).any(|left| left.artifact_id == response_id);
        Ok(Self {
            scope: claimed.scope.clone(),
            task_id: Arc::clone(&task.id),
            context_id: Arc::clone(&task.context_id),
            metadata: record.metadata,
            negotiated: record.negotiated,
            trace,
            message,
            history,
            number,
            artifacts: record.artifacts,
            generation: claimed.generation,
            fence: claimed.fence,
            attempt: claimed.attempt,
            leftover: if is_left {
                Leftover::Answer
            } else {
                Leftover::Nothing
            },
            direct_message: DirectMessage::TooLate,
            working: match task.status.state {
                TaskState::Submitted if record.hidden => Working::WithFirstOutput,
                TaskState::Submitted => Working::AtTheStart,
                _ => Working::Said,
            },
            left: None,
        })
    }
}

/// The id of a turn's artifact.
pub(crate) fn response_id(number: usize) -> Arc<str> {
    match number {
        1 => "response".into(),
        number => format!("response-{number}").into(),
    }
}

/// Which turn the message after `history` begins. Messages that the server's own questions follow
/// had none.
pub(crate) fn turn_number(history: &[Message]) -> usize {
    let asked = history
        .iter()
        .filter(|said| is_contract_question(said))
        .count();
    let said = history
        .iter()
        .filter(|said| said.role == Role::User)
        .count();
    1 + said - asked.min(said)
}

/// The message that a turn answers. Where the server itself had asked for inputs, the agent has
/// not run yet: the messages before and after such a question are one to it, and leave the
/// history.
pub(crate) fn join_answers(history: &mut Vec<Message>, message: &Message) -> Message {
    let mut joined = message.clone();
    while let [.., asked, question] = &history[..]
        && asked.role == Role::User
        && is_contract_question(question)
    {
        joined.parts = asked
            .parts
            .iter()
            .chain(joined.parts.iter())
            .cloned()
            .collect();
        history.truncate(history.len() - 2);
    }
    joined
}
