//! A2A 0.3 beside 1.0: the same values in the other form, text to text.
//!
//! What the versions share is copied token for token; only the envelope is written anew. So
//! everything that reads and writes 1.0 also serves 0.3, with one of these functions before it and
//! one behind it. 0.3 has two forms of its own: JSON-RPC has the specification's JSON with `kind`,
//! REST has the JSON of its protobuf file, as the official SDKs send it. Reading takes either.
//!
//! ```
//! use llamon_core::a2a::v03::{self, Form, Shape};
//! use llamon_core::json::Reader;
//!
//! let old = r#"{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"data","data":{"n":1e400}}]}"#;
//! let mut new = String::new();
//! v03::upgrade(&mut Reader::of_str(old, 100), Shape::Message, Form::JsonRpc, &mut new)?;
//! assert_eq!(new, r#"{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"n":1e400}}]}"#);
//!
//! let mut back = String::new();
//! v03::downgrade(&mut Reader::of_str(&new, 100), Shape::Message, Form::JsonRpc, &mut back)?;
//! assert_eq!(back, old.replace(r#""kind":"message","#, "").replace("}]}", r#"}],"kind":"message"}"#));
//! # Ok::<(), llamon_core::json::ReadError>(())
//! ```

mod card;
mod downgrade;
mod part;
mod push;
#[cfg(test)]
mod tests;
mod upgrade;
mod walk;

pub use card::{upgraded_card, with_old_fields};
pub use downgrade::downgrade;
pub use upgrade::upgrade;

use super::{Role, TaskState};
use crate::json::ReadError;

/// The version, as a card and the `A2A-Version` header have it.
pub const PROTOCOL_VERSION: &str = "0.3";

/// Containers that a reader of what was read before can keep apart: more than any limit for a body
/// and what an answer puts around its data.
pub const MAX_DEPTH: u32 = 127;

/// Which of its two forms of JSON a binding of 0.3 has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// With `kind`, `parts` and lower-case names (0.3, section 6).
    JsonRpc,
    /// That of the protobuf file: `content`, `ROLE_USER`, `fileWithBytes`. It takes no fields that
    /// the file does not have, so those of a part are left out.
    Rest,
}

/// What a text holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shape {
    /// The parameters of `message/send` and `message/stream`.
    SendRequest,
    /// A message.
    Message,
    /// A task.
    Task,
    /// A page of tasks, which only REST has.
    Tasks,
    /// What `message/send` answers with, or an event of a stream that is closed when the task has
    /// come to rest; its `final` says so.
    Event,
    /// An event of a stream that goes on to the task's end.
    TaskEvent,
    /// A push notification configuration with its task.
    PushConfig,
    /// All those of a task.
    PushConfigs,
    /// All those of a task, of which the first is meant.
    FirstPushConfig,
    /// Which of them: the parameters of `tasks/pushNotificationConfig/get` and `delete`.
    PushConfigRequest,
    /// Whose: the parameters of `tasks/pushNotificationConfig/list`.
    PushConfigsRequest,
    /// An answer that says nothing but that it was done.
    Nothing,
    /// What both versions write alike.
    Same,
}

/// Names of a state: in 1.0, in 0.3, in 0.3's protobuf file.
const STATES: [(TaskState, &str, &str); 8] = [
    (TaskState::Submitted, "submitted", "TASK_STATE_SUBMITTED"),
    (TaskState::Working, "working", "TASK_STATE_WORKING"),
    (TaskState::Completed, "completed", "TASK_STATE_COMPLETED"),
    (TaskState::Failed, "failed", "TASK_STATE_FAILED"),
    (TaskState::Canceled, "canceled", "TASK_STATE_CANCELLED"),
    (TaskState::Rejected, "rejected", "TASK_STATE_REJECTED"),
    (
        TaskState::InputRequired,
        "input-required",
        "TASK_STATE_INPUT_REQUIRED",
    ),
    (
        TaskState::AuthRequired,
        "auth-required",
        "TASK_STATE_AUTH_REQUIRED",
    ),
];

const ROLES: [(Role, &str); 2] = [(Role::User, "user"), (Role::Agent, "agent")];

/// The 1.0 name of a state.
fn upgraded_state(name: &str) -> Result<&'static str, ReadError> {
    let known = STATES
        .iter()
        .find(|(state, old, proto)| name == *old || name == *proto || name == state.as_str());
    known.map(|(state, ..)| state.as_str()).ok_or_else(|| {
        let names = STATES.map(|(_, old, _)| old).join(", ");
        unknown(name, "task state", &names)
    })
}

fn upgraded_role(name: &str) -> Result<&'static str, ReadError> {
    let known = ROLES
        .iter()
        .find(|(role, old)| name == *old || name == role.as_str());
    known
        .map(|(role, _)| role.as_str())
        .ok_or_else(|| unknown(name, "role", "user and agent"))
}

fn downgraded_state(name: &str, form: Form) -> Result<&'static str, ReadError> {
    let state = TaskState::parse(name)?;
    let known = STATES.iter().find(|(known, ..)| *known == state);
    let (_, old, proto) = known.ok_or_else(|| unknown(name, "task state", "none"))?;
    Ok(match form {
        Form::JsonRpc => old,
        Form::Rest => proto,
    })
}

fn downgraded_role(name: &str, form: Form) -> Result<&'static str, ReadError> {
    let known = ROLES.iter().find(|(role, _)| name == role.as_str());
    let (role, old) = known.ok_or_else(|| unknown(name, "role", "ROLE_USER and ROLE_AGENT"))?;
    Ok(match form {
        Form::JsonRpc => old,
        Form::Rest => role.as_str(),
    })
}

fn unknown(name: &str, what: &str, names: &str) -> ReadError {
    let shown: String = name.chars().take(40).collect();
    ReadError::invalid(format!("{shown:?} is no {what}; there are {names}"))
}
