use std::sync::Arc;

use llamon_core::a2a::{Message, PushConfig, Role, SendMessageRequest};
use llamon_core::delegation::Delegation;
use llamon_core::{Part, Payload, PayloadError};
use serde::Serialize;
use uuid::Uuid;

use crate::error::ClientError;

/// A message to an agent, and how it is to be handled.
///
/// ```
/// use llamon_client::Outgoing;
/// use llamon_core::Part;
///
/// let message = Outgoing::text("check this")
///     .with_part(Part::file_bytes("[[package]]").with_filename("Cargo.lock"))
///     .in_context("review-7");
/// ```
#[derive(Clone, Debug)]
#[must_use = "a message does nothing until it is sent"]
pub struct Outgoing {
    // Its message has no parts: they are in `parts` until it is sent.
    request: SendMessageRequest,
    parts: Vec<Part>,
    extensions: Vec<String>,
}

impl Outgoing {
    /// A message without parts, which it needs before it can be sent. Its id is a new UUID.
    pub fn new() -> Self {
        let message = Message::new(Uuid::new_v4().to_string(), Role::User, []);
        Self {
            request: SendMessageRequest::new(message),
            parts: Vec::new(),
            extensions: Vec::new(),
        }
    }

    /// A message with a text part.
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::new().with_text(text)
    }

    /// Adds a text part.
    pub fn with_text(self, text: impl AsRef<str>) -> Self {
        self.with_part(Part::text(text))
    }

    /// Adds a data part that holds `value`.
    ///
    /// # Errors
    /// When `value` cannot be JSON; see [`Part::data`].
    pub fn with_data(self, value: &(impl Serialize + ?Sized)) -> Result<Self, PayloadError> {
        Ok(self.with_part(Part::data(value)?))
    }

    /// Adds a part, which is sent token for token.
    pub fn with_part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// Adds what an agent answered, for the next agent: its whole text as one text part, then
    /// its data and files in their order, token for token. No text part where it has no text.
    pub fn with_payload(mut self, payload: Payload) -> Self {
        let text = payload.text();
        if !text.is_empty() {
            self.parts.push(Part::text(text));
        }
        let rest = payload.into_parts().into_iter();
        self.parts
            .extend(rest.filter(|part| part.as_text().is_none()));
        self
    }

    /// Sends it to a task that waits for an answer.
    pub fn in_task(mut self, task_id: impl Into<Arc<str>>) -> Self {
        self.request.message.task_id = Some(task_id.into());
        self
    }

    /// Sends it in a conversation.
    pub fn in_context(mut self, context_id: impl Into<Arc<str>>) -> Self {
        self.request.message.context_id = Some(context_id.into());
        self
    }

    /// Lets the agent answer with its task at once, instead of when the task has come to rest.
    pub fn return_immediately(mut self) -> Self {
        self.request.configuration.return_immediately = true;
        self
    }

    /// Has the agent send the events of the message's task to a receiver as well (A2A section
    /// 3.2.2). [`push`](crate::push) has the receiver's side.
    pub fn with_push(mut self, receiver: PushConfig) -> Self {
        self.request.configuration.push = Some(receiver);
        self
    }

    /// How many of the newest messages the answer has in its history; 0 is none.
    pub fn history_length(mut self, messages: u32) -> Self {
        self.request.configuration.history_length = Some(messages);
        self
    }

    /// Asks for an extension of the protocol for this message (A2A section 4.6), beside those of
    /// [`ClientBuilder::extension`](crate::ClientBuilder::extension).
    pub fn extension(mut self, uri: impl Into<String>) -> Self {
        self.extensions.push(uri.into());
        self
    }

    /// Sets the message's id, which is a new UUID otherwise.
    pub fn message_id(mut self, message_id: impl Into<String>) -> Self {
        self.request.message.message_id = message_id.into();
        self
    }

    /// Takes out the extensions that are asked for with [`Outgoing::extension`].
    /// Says in the request's metadata how far it was handed on from agent to agent, and how much
    /// further it may go; see [`llamon_core::delegation`]. An agent's turn does it by itself.
    pub fn handed_on(mut self, delegation: Delegation) -> Self {
        let metadata = self.request.metadata.as_deref();
        self.request.metadata = Some(delegation.put_into(metadata));
        self
    }

    pub(crate) fn take_extensions(&mut self) -> Vec<String> {
        std::mem::take(&mut self.extensions)
    }

    pub(crate) fn into_request(mut self) -> Result<SendMessageRequest, ClientError> {
        if self.parts.is_empty() {
            return Err(ClientError::usage(
                "the message has no parts; add a text, data or a file",
            ));
        }
        self.request.message.parts = self.parts.into();
        Ok(self.request)
    }
}

impl Default for Outgoing {
    fn default() -> Self {
        Self::new()
    }
}

impl From<&str> for Outgoing {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Outgoing {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Payload> for Outgoing {
    fn from(payload: Payload) -> Self {
        Self::new().with_payload(payload)
    }
}

/// The request as it is, its message's id included.
impl From<SendMessageRequest> for Outgoing {
    fn from(mut request: SendMessageRequest) -> Self {
        let parts = std::mem::replace(&mut request.message.parts, Arc::from([]));
        Self {
            request,
            parts: parts.to_vec(),
            extensions: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use llamon_core::{Part, Payload};

    use super::Outgoing;

    #[test]
    fn a_payload_is_forwarded_as_one_text_and_its_data_and_files() {
        let data = Part::from_json(r#"{"data":{"n":1e400,"n":1.0},"x":1}"#).unwrap();
        let file = Part::file_bytes("abc").with_filename("a.txt");
        let payload = Payload::new()
            .with_text("one ")
            .with_part(data.clone())
            .with_text("two")
            .with_part(file.clone());
        let request = Outgoing::from(payload).into_request().unwrap();
        let expected = [Part::text("one two"), data, file];
        assert_eq!(*request.message.parts, expected);
    }

    #[test]
    fn a_message_without_parts_is_a_usage_error() {
        let empty = [Outgoing::new(), Outgoing::from(Payload::new())];
        for message in empty {
            assert!(message.into_request().unwrap_err().is_usage());
        }
    }

    #[test]
    fn each_message_has_an_id_of_its_own_and_a_copy_keeps_it() {
        let id = |message: Outgoing| message.into_request().unwrap().message.message_id;
        let message = Outgoing::text("a");
        assert_eq!(id(message.clone()), id(message.clone()));
        assert_ne!(id(message), id(Outgoing::text("a")));
        assert_eq!(id(Outgoing::text("a").message_id("m1")), "m1");
    }
}
