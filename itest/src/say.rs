//! Messages.

use llamon_agent::client::Outgoing;
use llamon_agent::core::Part;

use crate::raw::token;

/// A message to an agent: the JSON texts of its parts, and where it belongs.
#[derive(Clone, Debug, Default)]
pub struct Say {
    parts: Vec<String>,
    task: Option<String>,
    context: Option<String>,
    configuration: Option<String>,
}

impl Say {
    /// A message of these parts.
    pub fn parts(parts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            parts: parts.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// A message of one text part.
    pub fn text(text: &str) -> Self {
        Self::parts([format!(r#"{{"text":{}}}"#, token(text))])
    }

    /// The message with more parts.
    #[must_use]
    pub fn with(mut self, parts: &[&str]) -> Self {
        self.parts.extend(parts.iter().map(ToString::to_string));
        self
    }

    /// The message as an answer to a task.
    #[must_use]
    pub fn in_task(mut self, id: &str) -> Self {
        self.task = Some(id.to_owned());
        self
    }

    /// The message in a conversation.
    #[must_use]
    pub fn in_context(mut self, id: &str) -> Self {
        self.context = Some(id.to_owned());
        self
    }

    /// The message with a configuration, JSON.
    #[must_use]
    pub fn configured(mut self, configuration: &str) -> Self {
        self.configuration = Some(configuration.to_owned());
        self
    }

    /// The message to be answered with the task at once.
    #[must_use]
    pub fn at_once(self) -> Self {
        self.configured(r#"{"returnImmediately":true}"#)
    }

    /// The JSON of SendMessage's parameters.
    pub fn json(&self) -> String {
        let mut json = r#"{"message":{"messageId":"m","role":"ROLE_USER""#.to_owned();
        if let Some(task) = &self.task {
            json.push_str(&format!(r#","taskId":{}"#, token(task)));
        }
        if let Some(context) = &self.context {
            json.push_str(&format!(r#","contextId":{}"#, token(context)));
        }
        json.push_str(&format!(r#","parts":[{}]}}"#, self.parts.join(",")));
        if let Some(configuration) = &self.configuration {
            json.push_str(&format!(r#","configuration":{configuration}"#));
        }
        json.push('}');
        json
    }

    /// The same message for the product's client.
    ///
    /// # Panics
    /// When the client has no way to say it.
    pub fn outgoing(&self) -> Outgoing {
        assert_eq!(self.configuration, None, "for the wire only");
        let mut outgoing = Outgoing::new();
        for part in &self.parts {
            outgoing = outgoing.with_part(Part::from_json(part.clone()).expect("a part"));
        }
        if let Some(task) = &self.task {
            outgoing = outgoing.in_task(task.as_str());
        }
        if let Some(context) = &self.context {
            outgoing = outgoing.in_context(context.as_str());
        }
        outgoing
    }
}
