//! From messages to the types of core, with the checks that JSON gets.
//!
//! An error names the field as the specification spells it (`message.parts[2].data`).

mod card;
mod message;
mod request;
mod task;

pub use card::agent_card_json;
pub use message::{artifact, message, part};
pub use request::{
    cancel_task_request, delete_push_config_request, get_push_config_request, get_task_request,
    list_push_configs_request, list_tasks_request, push_config, send_message_request,
    subscribe_to_task_request,
};
pub use task::{
    list_push_configs_response, list_tasks_response, send_message_response, stream_response, task,
};

use std::sync::Arc;

use llamon_core::a2a::{Role, TaskState};
use llamon_core::json::ReadError;
use llamon_core::{Limits, Timestamp};

use crate::{value, wire};

/// Levels around a part's data in a request, as JSON-RPC has them: a server takes the same data on
/// every binding.
const ENVELOPE_LEVELS: u32 = 5;

/// How deep data may nest where a whole text may nest so deep.
fn data_depth(limits: &Limits) -> u32 {
    limits.max_json_depth.saturating_sub(ENVELOPE_LEVELS)
}

fn metadata(bytes: Option<impl AsRef<[u8]>>, limits: &Limits) -> Result<Option<String>, ReadError> {
    bytes
        .map(|bytes| value::struct_to_json(bytes.as_ref(), data_depth(limits)))
        .transpose()
        .map_err(|error| error.within("metadata"))
}

fn each<T, U>(
    items: Vec<T>,
    name: &'static str,
    convert: impl Fn(T) -> Result<U, ReadError>,
) -> Result<Vec<U>, ReadError> {
    let convert = |(index, item)| {
        convert(item).map_err(|error| error.within(format!("[{index}]")).within(name))
    };
    items.into_iter().enumerate().map(convert).collect()
}

/// An id; empty is none.
fn id(id: String) -> Option<Arc<str>> {
    (!id.is_empty()).then(|| id.into())
}

fn required_id(text: String, field: &'static str) -> Result<Arc<str>, ReadError> {
    id(text).ok_or_else(|| missing(field))
}

fn missing(field: &'static str) -> ReadError {
    ReadError::invalid("is required").within(field)
}

fn not_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

fn count(number: i32, field: &'static str) -> Result<u32, ReadError> {
    u32::try_from(number)
        .map_err(|_| ReadError::invalid(format!("is {number}; it takes 0 or more")).within(field))
}

fn role(number: i32) -> Result<Role, ReadError> {
    match number {
        1 => Ok(Role::User),
        2 => Ok(Role::Agent),
        0 => Err(missing("role")),
        other => Err(ReadError::invalid(format!(
            "{other} is no role; there are ROLE_USER (1) and ROLE_AGENT (2)"
        ))
        .within("role")),
    }
}

/// A state; 0 is none.
fn state(number: i32, field: &'static str) -> Result<Option<TaskState>, ReadError> {
    Ok(Some(match number {
        0 => return Ok(None),
        1 => TaskState::Submitted,
        2 => TaskState::Working,
        3 => TaskState::Completed,
        4 => TaskState::Failed,
        5 => TaskState::Canceled,
        6 => TaskState::InputRequired,
        7 => TaskState::Rejected,
        8 => TaskState::AuthRequired,
        other => {
            let error = ReadError::invalid(format!("{other} is no task state; there are 1 to 8"));
            return Err(error.within(field));
        }
    }))
}

fn timestamp(at: wire::Timestamp, field: &'static str) -> Result<Timestamp, ReadError> {
    // What google.protobuf.Timestamp allows: the years 1 to 9999.
    let seconds = -62_135_596_800..=253_402_300_799;
    let nanos = 0..1_000_000_000;
    if !seconds.contains(&at.seconds) || !nanos.contains(&at.nanos) {
        let error = ReadError::invalid(format!(
            "is no time: {} seconds and {} nanoseconds after 1970",
            at.seconds, at.nanos
        ));
        return Err(error.within(field));
    }
    Ok(Timestamp::from_micros(
        at.seconds * 1_000_000 + i64::from(at.nanos) / 1_000,
    ))
}
