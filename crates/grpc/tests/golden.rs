//! Messages that the official protobuf library made of JSON, each field set: they are read as core
//! reads that JSON, and written as the bytes that they came as.

use std::fmt::Debug;

use bytes::Bytes;
use llamon_core::Limits;
use llamon_core::a2a::{
    AgentCard, ListPushConfigsRequest, ListPushConfigsResponse, ListTasksRequest,
    ListTasksResponse, PushConfigRequest, Secrets, SendMessageRequest, SendResult, StreamEvent,
    Task, TaskPushConfig, TaskRequest, TaskView,
};
use llamon_core::json::{ReadError, Reader};
use llamon_grpc::{from_wire, to_wire, wire};
use prost::Message;

const TENANT: &str = "te";

struct Golden {
    bytes: Vec<u8>,
    json: String,
}

fn golden(name: &str) -> Golden {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    let read = |ending: &str| {
        std::fs::read_to_string(format!("{folder}/{name}.{ending}")).expect("a golden message")
    };
    let hex: String = read("hex").split_whitespace().collect();
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("a golden message");
    Golden {
        bytes: (0..hex.len()).step_by(2).map(byte).collect(),
        json: read("json"),
    }
}

/// The value in JSON's memory, for comparison: key order and spelling do not count.
fn value(json: &str) -> serde_json::Value {
    serde_json::from_str(json).expect("a golden message")
}

/// Reads the bytes and the JSON; both must say the same, and the bytes come back.
fn check<W, T>(
    name: &str,
    of_wire: impl Fn(W) -> Result<T, ReadError>,
    of_json: impl Fn(&str) -> Result<T, ReadError>,
    to_json: impl Fn(&T) -> String,
    to_wire: impl Fn(&T) -> Result<W, ReadError>,
) where
    W: Message + Default,
    T: Debug,
{
    let golden = golden(name);
    let wire = W::decode(Bytes::from(golden.bytes.clone())).expect("a golden message");
    assert_eq!(wire.encode_to_vec(), golden.bytes, "{name}: all fields");
    let found = of_wire(wire).expect("a golden message");
    let expected = of_json(&golden.json).expect("a golden message");
    assert_eq!(
        value(&to_json(&found)),
        value(&to_json(&expected)),
        "{name}"
    );
    assert_eq!(
        to_wire(&found).expect("a golden message").encode_to_vec(),
        golden.bytes
    );
}

fn limits() -> Limits {
    Limits::default()
}

fn read<T>(
    json: &str,
    read: impl Fn(&mut Reader<'_>, &bytestring::ByteString) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    let source = bytestring::ByteString::from(json);
    read(&mut Reader::of_str(&source, 100), &source)
}

fn written(write: impl FnOnce(&mut String)) -> String {
    let mut out = String::new();
    write(&mut out);
    out
}

#[test]
fn send_message_requests() {
    check(
        "send_message_request",
        |wire| from_wire::send_message_request(wire, &limits()),
        |json| read(json, |r, s| SendMessageRequest::read(r, s, &limits())),
        |request| written(|out| request.write(out)),
        |request| to_wire::send_message_request(request, TENANT),
    );
}

#[test]
fn tasks() {
    check(
        "task",
        |wire| from_wire::task(wire, &limits()),
        |json| read(json, |r, s| Task::read(r, s, &limits())),
        |task| written(|out| task.write(out, TaskView::FULL)),
        |task| to_wire::task(task, TaskView::FULL),
    );
}

#[test]
fn send_message_responses() {
    for name in [
        "send_message_response_task",
        "send_message_response_message",
    ] {
        check(
            name,
            |wire| from_wire::send_message_response(wire, &limits()),
            |json| {
                let event = read(json, |r, s| StreamEvent::read(r, s, &limits()))?;
                Ok(match event {
                    StreamEvent::Task(task) => SendResult::Task(task),
                    StreamEvent::Message(message) => SendResult::Message(message),
                    other => panic!("{other:?}"),
                })
            },
            |result| {
                let event = match result {
                    SendResult::Task(task) => StreamEvent::Task(task.clone()),
                    SendResult::Message(message) => StreamEvent::Message(message.clone()),
                };
                written(|out| event.write(out, TaskView::FULL))
            },
            |result| to_wire::send_message_response(result, TaskView::FULL),
        );
    }
}

#[test]
fn stream_responses() {
    for name in ["task", "message", "status", "artifact"] {
        check(
            &format!("stream_response_{name}"),
            |wire| from_wire::stream_response(wire, &limits()),
            |json| read(json, |r, s| StreamEvent::read(r, s, &limits())),
            |event| written(|out| event.write(out, TaskView::FULL)),
            |event| to_wire::stream_response(event, TaskView::FULL),
        );
    }
}

#[test]
fn requests_for_one_task() {
    check(
        "get_task_request",
        from_wire::get_task_request,
        |json| read(json, |r, _| TaskRequest::read(r)),
        |request| written(|out| request.write(out)),
        |request| Ok(to_wire::get_task_request(request, TENANT)),
    );
    check(
        "cancel_task_request",
        from_wire::cancel_task_request,
        |json| read(json, |r, _| TaskRequest::read(r)),
        |request| written(|out| request.write(out)),
        |request| Ok(to_wire::cancel_task_request(&request.id, TENANT)),
    );
    check(
        "subscribe_to_task_request",
        from_wire::subscribe_to_task_request,
        |json| read(json, |r, _| TaskRequest::read(r)),
        |request| written(|out| request.write(out)),
        |request| Ok(to_wire::subscribe_to_task_request(&request.id, TENANT)),
    );
}

#[test]
fn lists_of_tasks() {
    check(
        "list_tasks_request",
        from_wire::list_tasks_request,
        |json| read(json, |r, _| ListTasksRequest::read(r)),
        |request| written(|out| request.write(out)),
        |request| Ok(to_wire::list_tasks_request(request, TENANT)),
    );
    for name in ["list_tasks_response", "states"] {
        check(
            name,
            |wire| from_wire::list_tasks_response(wire, &limits()),
            |json| read(json, |r, s| ListTasksResponse::read(r, s, &limits())),
            |page| written(|out| page.write(out, TaskView::FULL)),
            |page| to_wire::list_tasks_response(page, TaskView::FULL),
        );
    }
}

#[test]
fn push_notification_configurations() {
    check(
        "push_config",
        from_wire::push_config,
        |json| read(json, |r, _| TaskPushConfig::read(r)),
        |config| written(|out| config.write(out, Secrets::Shown)),
        |config| Ok(to_wire::push_config(config, Secrets::Shown)),
    );
    check(
        "get_push_config_request",
        from_wire::get_push_config_request,
        |json| read(json, |r, _| PushConfigRequest::read(r)),
        |request| written(|out| request.write(out)),
        |request| Ok(to_wire::get_push_config_request(request, TENANT)),
    );
    check(
        "delete_push_config_request",
        from_wire::delete_push_config_request,
        |json| read(json, |r, _| PushConfigRequest::read(r)),
        |request| written(|out| request.write(out)),
        |request| Ok(to_wire::delete_push_config_request(request, TENANT)),
    );
    check(
        "list_push_configs_request",
        from_wire::list_push_configs_request,
        |json| read(json, |r, _| ListPushConfigsRequest::read(r)),
        |request| written(|out| request.write(out)),
        |request| Ok(to_wire::list_push_configs_request(request, TENANT)),
    );
    check(
        "list_push_configs_response",
        from_wire::list_push_configs_response,
        |json| read(json, |r, _| ListPushConfigsResponse::read(r)),
        |page| written(|out| page.write(out, Secrets::Shown)),
        |page| Ok(to_wire::list_push_configs_response(page, Secrets::Shown)),
    );
}

#[test]
fn secrets_stay_where_they_are_wanted() {
    let golden = golden("push_config");
    let wire = wire::TaskPushNotificationConfig::decode(&golden.bytes[..]).unwrap();
    let config = from_wire::push_config(wire).unwrap();
    let hidden = to_wire::push_config(&config, Secrets::Hidden);
    let hidden = String::from_utf8(hidden.encode_to_vec()).unwrap();
    assert!(hidden.contains("Bearer"));
    assert!(!hidden.contains("tok") && !hidden.contains("cred"));
}

#[test]
fn agent_cards() {
    let golden = golden("agent_card");
    let wire = wire::AgentCard::decode(&golden.bytes[..]).unwrap();
    assert_eq!(wire.encode_to_vec(), golden.bytes, "all fields");
    let json = from_wire::agent_card_json(&wire).unwrap();
    assert_eq!(value(&json), value(&golden.json));
    let card: AgentCard = serde_json::from_str(&golden.json).unwrap();
    let ours = to_wire::agent_card(&card).unwrap();
    assert_eq!(ours.encode_to_vec(), golden.bytes);
}

#[test]
fn the_extended_cards_request_has_only_a_tenant() {
    let golden = golden("get_extended_agent_card_request");
    let wire = wire::GetExtendedAgentCardRequest::decode(&golden.bytes[..]).unwrap();
    assert_eq!(wire.tenant, TENANT);
    assert_eq!(wire.encode_to_vec(), golden.bytes);
}
