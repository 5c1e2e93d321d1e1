//! Messages of a conversation, and the reducer that merges them by id.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

/// One message of a conversation, for fields with `#[state(messages)]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GraphMessage {
    /// What it is merged by. A message without one gets one when it comes into the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Who says it.
    pub role: Role,
    /// What is said, piece by piece.
    #[serde(default)]
    pub content: Vec<Content>,
    /// Whatever else belongs to it, such as tool calls.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Role {
    /// Instructions.
    System,
    /// The person, or the agent that calls.
    User,
    /// The graph.
    Agent,
    /// The result of a tool.
    Tool,
    /// Not a message: removes the one with its id. Never in a state.
    Remove,
    /// Not a message: removes all before it. Never in a state.
    RemoveAll,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A file, by its URL or with its bytes.
    File {
        /// Its media type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        media_type: Option<String>,
        /// Its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Where it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// Its bytes, as base64.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<String>,
    },
    /// JSON.
    Data {
        /// The value.
        data: Value,
    },
}

impl GraphMessage {
    /// A message of the given content, without an id.
    #[must_use]
    pub fn new(role: Role, content: Vec<Content>) -> Self {
        Self {
            id: None,
            role,
            content,
            metadata: Map::new(),
        }
    }

    /// Text of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::text_of(Role::User, text)
    }

    /// Text of the graph.
    pub fn agent(text: impl Into<String>) -> Self {
        Self::text_of(Role::Agent, text)
    }

    /// Instructions.
    pub fn system(text: impl Into<String>) -> Self {
        Self::text_of(Role::System, text)
    }

    /// The result of a tool.
    pub fn tool(text: impl Into<String>) -> Self {
        Self::text_of(Role::Tool, text)
    }

    /// Written to the state, it removes the message with this id; one that is not there is an error.
    pub fn remove(id: impl Into<String>) -> Self {
        Self::new(Role::Remove, Vec::new()).with_id(id)
    }

    /// Written to the state, it removes all messages before it.
    #[must_use]
    pub fn remove_all() -> Self {
        Self::new(Role::RemoveAll, Vec::new())
    }

    /// The same with this id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Its texts, one after the other.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|content| match content {
            Content::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    fn text_of(role: Role, text: impl Into<String>) -> Self {
        Self::new(role, vec![Content::Text { text: text.into() }])
    }
}

/// What `#[state(messages)]` merges: a type with an id.
pub trait Message {
    /// Its id, if it has one.
    fn id(&self) -> Option<&str>;

    /// Gives it an id.
    fn set_id(&mut self, id: String);

    /// Whether it is no message but removes some.
    fn removal(&self) -> Option<Removal> {
        None
    }
}

/// What a message that removes others removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// The message that has its id.
    Same,
    /// All before it.
    All,
}

impl Message for GraphMessage {
    fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    fn set_id(&mut self, id: String) {
        self.id = Some(id);
    }

    fn removal(&self) -> Option<Removal> {
        match self.role {
            Role::Remove => Some(Removal::Same),
            Role::RemoveAll => Some(Removal::All),
            _ => None,
        }
    }
}

/// Merges by id: a message with the id of another one takes its place, others are appended.
///
/// # Errors
/// When a message is to be removed that is not there.
pub fn merge_messages<M: Message>(
    messages: &mut Vec<M>,
    mut written: Vec<M>,
) -> Result<(), String> {
    let all = |message: &M| message.removal() == Some(Removal::All);
    if let Some(last) = written.iter().rposition(all) {
        *messages = written.split_off(last + 1);
        messages.iter_mut().for_each(identify);
        return Ok(());
    }
    messages.iter_mut().for_each(identify);
    written.iter_mut().for_each(identify);
    let mut places: HashMap<String, usize> = (messages.iter().enumerate())
        .filter_map(|(place, message)| Some((message.id()?.to_owned(), place)))
        .collect();
    let mut removed = HashSet::new();
    for message in written {
        let id = message.id().unwrap_or_default().to_owned();
        match (places.get(&id), message.removal()) {
            (Some(place), Some(_)) => {
                removed.insert(*place);
            }
            (Some(place), None) => {
                removed.remove(place);
                messages[*place] = message;
            }
            (None, Some(_)) => {
                return Err(format!(
                    "there is no message with the id {id:?} to be removed"
                ));
            }
            (None, None) => {
                places.insert(id, messages.len());
                messages.push(message);
            }
        }
    }
    let mut place = 0;
    messages.retain(|_| {
        place += 1;
        !removed.contains(&(place - 1))
    });
    Ok(())
}

fn identify<M: Message>(message: &mut M) {
    if message.id().is_none() {
        message.set_id(Uuid::new_v4().to_string());
    }
}
