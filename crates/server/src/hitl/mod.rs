//! People in the loop: an agent stops to ask, its task waits, and the agent goes on with the answer.
//!
//! A question is a status message of its task, INPUT_REQUIRED, with text for people and one data
//! part `{"interrupts":[{"id","value","schema"}]}`. It is answered in the same task by the data
//! part `{"resume": x}` or `{"resume": {id: x, ...}}`, or by plain text where one question is open.
//! What was asked and answered is in the task's history, so it survives whatever the task survives.

mod conversation;
mod question;
mod schema;

pub use question::{AskedQuestion, Question, Reply};

pub(crate) use conversation::{Conversation, Problem};
pub(crate) use question::{payload, question_id};

/// What an agent's task ends with that asks and may not.
pub(crate) const NO_HITL: &str =
    "this agent asks a question, but it is served without .hitl(); call it on the server's builder";

/// Whether an agent may stop to ask a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Asking {
    /// It fails if it does.
    #[default]
    Refused,
    /// Every turn goes through people in the loop, also one in which nothing is asked.
    Allowed,
}
