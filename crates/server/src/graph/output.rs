//! What of a graph's state is the answer.

use std::collections::HashSet;

use llamon_core::Payload;
use llamon_graph::GraphMessage;
use serde_json::Value;

use crate::agent_error::AgentError;

#[derive(Debug, Default)]
pub(super) struct Outputs {
    pub(super) messages: Option<String>,
    pub(super) text: Option<String>,
    pub(super) data: Option<String>,
    pub(super) nodes: Option<HashSet<String>>,
}

impl Outputs {
    pub(super) fn of_messages(messages: Option<String>) -> Self {
        Self {
            messages,
            ..Self::default()
        }
    }

    /// Whether tokens of the node are shown.
    pub(super) fn streams(&self, node: Option<&str>) -> bool {
        self.nodes
            .as_ref()
            .is_none_or(|nodes| node.is_some_and(|node| nodes.contains(node)))
    }

    /// The answer that a state holds. `asked` is the id of the user message that the turn began with.
    pub(super) fn payload(&self, state: &Value, asked: &str) -> Result<Payload, AgentError> {
        let mut payload = Payload::new();
        let text = match (&self.text, &self.messages) {
            (Some(field), _) => text_of(state.get(field)),
            (None, Some(field)) => last_message(state.get(field), asked),
            (None, None) => None,
        };
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            payload = payload.with_text(text);
        }
        let data = self.data.as_ref().and_then(|field| state.get(field));
        if let Some(value) = data.filter(|value| !value.is_null()) {
            payload = payload.with_data(value)?;
        }
        Ok(payload)
    }
}

fn text_of(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// The last agent message after the one that was asked; the graph may have removed that one.
fn last_message(messages: Option<&Value>, asked: &str) -> Option<String> {
    let messages: Vec<GraphMessage> = serde_json::from_value(messages?.clone()).ok()?;
    let begin = messages
        .iter()
        .position(|message| message.id.as_deref() == Some(asked));
    let mut added = messages.into_iter().skip(begin.map_or(0, |at| at + 1));
    added
        .rfind(|message| message.role == llamon_graph::Role::Agent)
        .map(|message| message.text())
}
