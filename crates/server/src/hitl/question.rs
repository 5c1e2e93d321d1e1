use std::fmt::Write as _;

use llamon_core::{Part, Payload, PayloadError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// What an agent asks a person.
///
/// ```
/// use llamon_server::hitl::Question;
/// use serde_json::json;
///
/// let question = Question::new("Send the report?").schema(json!({"type": "boolean"}));
/// let details = Question::new(json!({"to": "board", "pages": 12})).text("Send this report?");
/// # drop((question, details));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub(crate) value: Value,
    pub(crate) schema: Option<Value>,
    pub(crate) text: Option<String>,
}

impl Question {
    /// A question: a text, or any value that whoever shows it understands.
    pub fn new(value: impl Into<Value>) -> Self {
        Self {
            value: value.into(),
            schema: None,
            text: None,
        }
    }

    /// The same with the JSON Schema (2020-12) that an answer must satisfy. An answer that does
    /// not keeps the task waiting, and says why.
    #[must_use]
    pub fn schema(mut self, schema: Value) -> Self {
        self.schema = Some(schema);
        self
    }

    /// The same with a text for people; without it, it is the value.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }
}

impl From<&str> for Question {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Question {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<Value> for Question {
    fn from(value: Value) -> Self {
        Self::new(value)
    }
}

/// A question that a task waits with, as its status message has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AskedQuestion {
    /// Names the question among those of its task.
    pub id: String,
    /// What is asked.
    pub value: Value,
    /// The JSON Schema that an answer must satisfy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The text for people, where it is not the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl AskedQuestion {
    /// A question of this id.
    pub fn new(id: impl Into<String>, question: Question) -> Self {
        Self {
            id: id.into(),
            value: question.value,
            schema: question.schema,
            text: question.text,
        }
    }
}

/// An answer, as it was given.
///
/// ```
/// # use llamon_server::hitl::Reply;
/// # fn example(reply: Reply) -> Result<(), Box<dyn std::error::Error>> {
/// let yes: bool = reply.read()?;
/// # drop(yes);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    json: String,
}

impl Reply {
    pub(crate) fn new(json: impl Into<String>) -> Self {
        Self { json: json.into() }
    }

    /// The JSON text, token for token.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The answer as a type of one's own.
    ///
    /// # Errors
    /// When it is something else.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.json)
    }

    /// The answer as text: a string's characters, or else the JSON text.
    pub fn text(&self) -> String {
        serde_json::from_str(&self.json).unwrap_or_else(|_| self.json.clone())
    }
}

/// The document that a question's data part holds.
#[derive(Serialize, Deserialize)]
pub(super) struct Document {
    pub(super) interrupts: Vec<AskedQuestion>,
}

/// The document in an answer's data part.
#[derive(Deserialize)]
pub(super) struct ResumeDocument {
    // No Option: null is an answer.
    pub(super) resume: Box<RawValue>,
}

/// The status message that asks: text for people, and the questions as data. `reason` says why an
/// answer before was none.
pub(crate) fn payload(
    asked: &[AskedQuestion],
    reason: Option<&str>,
) -> Result<Payload, PayloadError> {
    let mut text = reason
        .map(|reason| format!("{reason}\n"))
        .unwrap_or_default();
    for (index, question) in asked.iter().enumerate() {
        if asked.len() > 1 {
            let _ = write!(text, "{}. ", index + 1);
        }
        match (&question.text, &question.value) {
            (Some(shown), _) => text.push_str(shown),
            (None, Value::String(value)) => text.push_str(value),
            (None, value) => {
                let _ = write!(text, "{value}");
            }
        }
        if index + 1 < asked.len() {
            text.push('\n');
        }
    }
    let interrupts = asked.to_vec();
    let data = Part::data(&Document { interrupts })?;
    Ok(Payload::from(vec![Part::text(&text), data]))
}

/// The id of the `index`-th question that the message of turn `run` leads to: the same in every
/// attempt, and nothing that an answer's own keys would be.
pub(crate) fn question_id(task_id: &str, run: usize, index: usize) -> String {
    let name = format!("{task_id}/{run}/{index}");
    let digest = ring::digest::digest(&ring::digest::SHA256, name.as_bytes());
    digest
        .as_ref()
        .iter()
        .take(16)
        .fold(String::new(), |mut id, byte| {
            let _ = write!(id, "{byte:02x}");
            id
        })
}
