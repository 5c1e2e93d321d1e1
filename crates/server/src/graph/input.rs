//! What of a message goes into a graph's state.

use llamon_core::PartKind;
use llamon_core::contracts::SelectedInput;
use llamon_graph::{Content, GraphMessage, Role, Update};
use serde_json::{Map, Value};

use crate::agent_error::AgentError;
use crate::turn::Turn;

#[derive(Debug, Default)]
pub(super) struct Inputs {
    pub(super) messages: Option<String>,
    pub(super) query: Option<String>,
    pub(super) data: Option<String>,
    pub(super) selected: Vec<Selected>,
}

/// What a contract selected, on its way into the field of its name.
#[derive(Debug)]
pub(super) struct Selected {
    name: String,
    is_list: bool,
}

impl Selected {
    pub(super) fn one(name: String) -> Self {
        Self {
            name,
            is_list: false,
        }
    }

    pub(super) fn all(name: String) -> Self {
        Self {
            name,
            is_list: true,
        }
    }

    /// `None` where nothing was selected.
    fn value(&self, selected: &SelectedInput) -> Result<Option<Value>, AgentError> {
        if self.is_list {
            return Ok(Some(Value::Array(selected.read_all()?)));
        }
        Ok(selected.json().map(serde_json::from_str).transpose()?)
    }
}

impl Inputs {
    pub(super) fn of_messages(messages: Option<String>) -> Self {
        Self {
            messages,
            ..Self::default()
        }
    }

    /// The update that the turn's message is. `id` names it: the same in each attempt.
    pub(super) fn update<U: Update>(&self, turn: &Turn, id: &str) -> Result<U, AgentError> {
        let mut fields = Map::new();
        if let Some(field) = &self.messages {
            let message = serde_json::to_value([message(turn)?.with_id(id)])?;
            fields.insert(field.clone(), message);
        }
        if let Some(field) = &self.query {
            fields.insert(field.clone(), Value::from(turn.query()));
        }
        if let Some(field) = &self.data {
            let values = turn.upstream().data();
            let values = values.map(|part| serde_json::from_str::<Value>(part.content_json()));
            fields.insert(field.clone(), values.collect::<Result<Value, _>>()?);
        }
        for selected in &self.selected {
            if let Some(value) = selected.value(turn.inputs().get(&selected.name))? {
                fields.insert(selected.name.clone(), value);
            }
        }
        serde_json::from_value(Value::Object(fields)).map_err(|error| {
            let text = format!("the message does not fit the state of the graph: {error}");
            AgentError::from(text)
        })
    }
}

/// One user message of all text and file parts.
fn message(turn: &Turn) -> Result<GraphMessage, AgentError> {
    let mut content = Vec::new();
    for part in turn.message().parts.iter() {
        let read = || serde_json::from_str(part.content_json());
        let file = |url, bytes| Content::File {
            media_type: part.media_type().map(|text| text.into_owned()),
            name: part.filename().map(|text| text.into_owned()),
            url,
            bytes,
        };
        match part.kind() {
            PartKind::Text => content.push(Content::Text { text: read()? }),
            PartKind::Raw => content.push(file(None, Some(read()?))),
            PartKind::Url => content.push(file(Some(read()?), None)),
            PartKind::Data => {}
        }
    }
    Ok(GraphMessage::new(Role::User, content))
}
