use llamon_core::{IntoPayload, Payload, PayloadError};

use crate::agent_error::AgentError;

/// How a turn ends.
///
/// ```
/// use llamon_server::Answer;
/// let answer = Answer::completed("done")?;
/// assert!(matches!(answer, Answer::Completed(payload) if payload.text() == "done"));
/// # Ok::<(), llamon_core::PayloadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// The task is completed. The payload becomes the turn's artifact, together with what was
    /// emitted and with what the policy keeps of upstream.
    Completed(Payload),
    /// The task waits for another message; the payload is the question. The policy adds nothing.
    InputRequired(Payload),
    /// The task waits for credentials; the payload says which. The policy adds nothing.
    AuthRequired(Payload),
    /// The agent declines the task; the payload says why. The policy adds nothing.
    Rejected(Payload),
    /// A direct message instead of a task, with what the policy keeps of upstream. Only possible
    /// if nothing was emitted. Where the client has seen the task already (it streams, asked to
    /// be answered at once, or continued a task), the payload completes the task instead.
    Message(Payload),
}

impl Answer {
    /// [`Answer::Completed`] of anything that is a payload.
    ///
    /// # Errors
    /// When a value cannot be JSON.
    pub fn completed(payload: impl IntoPayload) -> Result<Self, PayloadError> {
        payload.into_payload().map(Self::Completed)
    }

    /// [`Answer::InputRequired`] of anything that is a payload.
    ///
    /// # Errors
    /// When a value cannot be JSON.
    pub fn input_required(payload: impl IntoPayload) -> Result<Self, PayloadError> {
        payload.into_payload().map(Self::InputRequired)
    }

    /// [`Answer::AuthRequired`] of anything that is a payload.
    ///
    /// # Errors
    /// When a value cannot be JSON.
    pub fn auth_required(payload: impl IntoPayload) -> Result<Self, PayloadError> {
        payload.into_payload().map(Self::AuthRequired)
    }

    /// [`Answer::Rejected`] of anything that is a payload.
    ///
    /// # Errors
    /// When a value cannot be JSON.
    pub fn rejected(payload: impl IntoPayload) -> Result<Self, PayloadError> {
        payload.into_payload().map(Self::Rejected)
    }

    /// [`Answer::Message`] of anything that is a payload.
    ///
    /// # Errors
    /// When a value cannot be JSON.
    pub fn message(payload: impl IntoPayload) -> Result<Self, PayloadError> {
        payload.into_payload().map(Self::Message)
    }
}

/// What a function agent may return: an [`Answer`], or a payload, which completes the task.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an agent's answer",
    label = "expected `Answer`, text, `Json(value)`, `Part`, `Vec<Part>`, `Payload`, `()` or a tuple of these",
    note = "wrap a value that implements `Serialize` in `Json(...)` to answer with a data part"
)]
pub trait IntoAnswer {
    /// Makes the answer.
    ///
    /// # Errors
    /// When a value cannot be JSON.
    fn into_answer(self) -> Result<Answer, AgentError>;
}

impl IntoAnswer for Answer {
    fn into_answer(self) -> Result<Answer, AgentError> {
        Ok(self)
    }
}

impl<P: IntoPayload> IntoAnswer for P {
    fn into_answer(self) -> Result<Answer, AgentError> {
        Ok(Answer::completed(self)?)
    }
}
