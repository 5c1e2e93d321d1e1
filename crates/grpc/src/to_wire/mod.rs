//! From the types of core to messages.
//!
//! An error says that a value has no form in gRPC (see [`crate::value`]) and where it is
//! (`artifacts[0].parts[2].data.total`). Only data and metadata can have such values.

mod card;
mod message;
mod request;
mod task;

pub use card::agent_card;
pub use message::{artifact, message, part};
pub use request::{
    cancel_task_request, delete_push_config_request, get_push_config_request, get_task_request,
    list_push_configs_request, list_tasks_request, send_message_request, subscribe_to_task_request,
};
pub use task::{
    list_push_configs_response, list_tasks_response, push_config, send_message_response,
    stream_response, task,
};

use bytes::Bytes;
use llamon_core::Timestamp;
use llamon_core::a2a::{Role, TaskState};
use llamon_core::json::ReadError;

use crate::{value, wire};

fn metadata(json: Option<&str>) -> Result<Option<Bytes>, ReadError> {
    json.map(value::struct_of_json)
        .transpose()
        .map_err(|error| error.within("metadata"))
}

fn each<T, U>(
    items: &[T],
    name: &'static str,
    convert: impl Fn(&T) -> Result<U, ReadError>,
) -> Result<Vec<U>, ReadError> {
    let convert = |(index, item)| {
        convert(item).map_err(|error| error.within(format!("[{index}]")).within(name))
    };
    items.iter().enumerate().map(convert).collect()
}

fn timestamp(at: Timestamp) -> wire::Timestamp {
    // To the millisecond, as on the other bindings.
    let millis = at.as_micros().div_euclid(1_000);
    wire::Timestamp {
        seconds: millis.div_euclid(1_000),
        nanos: millis.rem_euclid(1_000) as i32 * 1_000_000,
    }
}

fn role(role: Role) -> i32 {
    match role {
        Role::User => 1,
        Role::Agent => 2,
    }
}

fn state(state: TaskState) -> i32 {
    match state {
        TaskState::Submitted => 1,
        TaskState::Working => 2,
        TaskState::Completed => 3,
        TaskState::Failed => 4,
        TaskState::Canceled => 5,
        TaskState::InputRequired => 6,
        TaskState::Rejected => 7,
        TaskState::AuthRequired => 8,
    }
}

/// A number that the protocol has as `int32`; larger ones are the largest.
fn int32(number: impl TryInto<i32>) -> i32 {
    number.try_into().unwrap_or(i32::MAX)
}

fn text(value: Option<&str>) -> String {
    value.unwrap_or_default().to_owned()
}
