//! The JSON of an answer: what is already JSON text is copied, never written anew.

use llamon_agent::client::Reply;
use llamon_agent::core::json::push_string;
use llamon_agent::core::{Part, Payload};

use crate::send::questions;

/// `{"text","data","files","task"}`, without a line end. `task` is null for a direct message. A task
/// that waits for people has `interrupts` as well: what it asks, as the agent wrote it.
pub(crate) fn of_reply(reply: &Reply) -> String {
    let mut json = String::from("{");
    push_payload(&mut json, &reply.payload());
    json.push_str(",\"task\":");
    match reply.task() {
        None => json.push_str("null"),
        Some(task) => {
            json.push_str("{\"id\":");
            push_string(&mut json, &task.id);
            json.push_str(",\"contextId\":");
            push_string(&mut json, &task.context_id);
            json.push_str(",\"state\":");
            push_string(&mut json, task.status.state.as_str());
            json.push('}');
            if let Some(interrupts) = questions::json_of(task) {
                json.push_str(",\"interrupts\":");
                json.push_str(&interrupts);
            }
        }
    }
    json.push('}');
    json
}

/// Appends `"text":...,"data":[...],"files":[...]`.
pub(crate) fn push_payload(json: &mut String, payload: &Payload) {
    json.push_str("\"text\":");
    push_string(json, &payload.text());
    json.push_str(",\"data\":");
    push_list(json, payload.data());
    json.push_str(",\"files\":");
    push_list(json, payload.files().map(Part::json));
}

/// Appends an array of JSON texts.
pub(crate) fn push_list<'a>(json: &mut String, texts: impl Iterator<Item = &'a str>) {
    json.push('[');
    for (index, text) in texts.enumerate() {
        if index > 0 {
            json.push(',');
        }
        json.push_str(text);
    }
    json.push(']');
}
