//! The protocol's types on the wire: what is written is read back, and golden texts.

use std::sync::Arc;

use bytestring::ByteString;
use llamon_core::a2a::{
    Artifact, ArtifactUpdate, ListTasksRequest, ListTasksResponse, Message, Role,
    SendMessageRequest, StatusUpdate, StreamEvent, Task, TaskRequest, TaskState, TaskStatus,
    TaskView,
};
use llamon_core::json::{ReadError, Reader};
use llamon_core::{Limits, Part, Timestamp};

fn read<T>(
    text: &str,
    read: impl FnOnce(&mut Reader<'_>, &ByteString) -> Result<T, ReadError>,
) -> Result<T, String> {
    let source = ByteString::from(text);
    let mut reader = Reader::of_str(&source, 100);
    let value = read(&mut reader, &source).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(value)
}

fn read_send(text: &str) -> Result<SendMessageRequest, String> {
    read(text, |reader, source| {
        SendMessageRequest::read(reader, source, &Limits::default())
    })
}

fn message() -> Message {
    let parts = vec![
        Part::text("hi"),
        Part::from_json(r#"{"data":1.0,"x":[]}"#).expect("a part"),
    ];
    let mut message = Message::new("m-1", Role::User, parts);
    message.context_id = Some("c-1".into());
    message.task_id = Some("t-1".into());
    message.metadata = Some(r#"{"n":1e400}"#.to_owned());
    message.extensions = vec!["urn:x".to_owned()];
    message.reference_task_ids = vec!["t-0".to_owned()];
    message
}

const MESSAGE: &str = r#"{"messageId":"m-1","contextId":"c-1","taskId":"t-1","role":"ROLE_USER","parts":[{"text":"hi"},{"data":1.0,"x":[]}],"metadata":{"n":1e400},"extensions":["urn:x"],"referenceTaskIds":["t-0"]}"#;

fn task() -> Task {
    let mut status = TaskStatus::new(
        TaskState::InputRequired,
        Timestamp::from_micros(1_767_225_600_123_456),
    );
    status.message = Some(message());
    let mut task = Task::new("t-1".into(), "c-1".into(), status);
    let mut artifact = Artifact::new("response", vec![Part::data(&[1]).expect("JSON")]);
    artifact.name = Some("name".into());
    task.artifacts = vec![artifact];
    task.history = vec![message(), message()];
    task
}

#[test]
fn golden_events() {
    let update = |append, last| {
        let mut update = ArtifactUpdate::new(
            Arc::from("t-1"),
            Arc::from("c-1"),
            Artifact::new("response", vec![Part::text("a")]),
        );
        update.append = append;
        update.last_chunk = last;
        StreamEvent::Artifact(update)
    };
    let status = TaskStatus::new(TaskState::Completed, Timestamp::from_micros(0));
    let task_json = format!(
        r#"{{"task":{{"id":"t-1","contextId":"c-1","status":{{"state":"TASK_STATE_INPUT_REQUIRED","message":{MESSAGE},"timestamp":"2026-01-01T00:00:00.123Z"}},"artifacts":[{{"artifactId":"response","name":"name","parts":[{{"data":[1]}}]}}],"history":[{MESSAGE},{MESSAGE}]}}}}"#
    );
    for (event, expected) in [
        (StreamEvent::Message(Arc::new(message())), format!(r#"{{"message":{MESSAGE}}}"#)),
        (StreamEvent::Task(Arc::new(task())), task_json),
        (
            StreamEvent::Status(StatusUpdate::new("t-1".into(), "c-1".into(), status)),
            r#"{"statusUpdate":{"taskId":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"1970-01-01T00:00:00.000Z"}}}"#.to_owned(),
        ),
        (
            update(false, false),
            r#"{"artifactUpdate":{"taskId":"t-1","contextId":"c-1","artifact":{"artifactId":"response","parts":[{"text":"a"}]}}}"#.to_owned(),
        ),
        (
            update(true, true),
            r#"{"artifactUpdate":{"taskId":"t-1","contextId":"c-1","artifact":{"artifactId":"response","parts":[{"text":"a"}]},"append":true,"lastChunk":true}}"#.to_owned(),
        ),
    ] {
        let mut written = String::new();
        event.write(&mut written, TaskView::FULL);
        assert_eq!(written, expected);
        let again = read(&written, |reader, source| StreamEvent::read(reader, source, &Limits::default())).unwrap();
        let mut rewritten = String::new();
        again.write(&mut rewritten, TaskView::FULL);
        assert_eq!(rewritten, written);
    }
}

#[test]
fn a_view_cuts_history_to_the_newest_and_artifacts_away() {
    for (history_length, artifacts, messages) in [
        (None, true, 3),
        (Some(0), true, 1),
        (Some(1), false, 2),
        (Some(9), true, 3),
    ] {
        let mut written = String::new();
        task().write(
            &mut written,
            TaskView {
                history_length,
                artifacts,
            },
        );
        assert_eq!(written.matches("\"messageId\"").count(), messages);
        assert_eq!(written.contains("\"artifacts\""), artifacts);
        assert_eq!(written.contains("\"history\""), history_length != Some(0));
    }
}

#[test]
fn a_request_is_read_back_in_both_spellings() {
    let mut request = SendMessageRequest::new(message());
    request.configuration.history_length = Some(3);
    request.configuration.return_immediately = true;
    request.configuration.accepted_output_modes = vec!["text/plain".to_owned()];
    request.metadata = Some("{}".to_owned());
    let mut written = String::new();
    request.write(&mut written);
    assert_eq!(read_send(&written).unwrap(), request);
    let proto_names = written
        .replace("messageId", "message_id")
        .replace("contextId", "context_id")
        .replace("taskId", "task_id")
        .replace("historyLength\":3", "history_length\":\"3\"")
        .replace("returnImmediately", "return_immediately")
        .replace("referenceTaskIds", "reference_task_ids")
        .replace("acceptedOutputModes", "accepted_output_modes");
    assert_ne!(proto_names, written);
    assert_eq!(read_send(&proto_names).unwrap(), request);
}

#[test]
fn wrong_fields_are_errors_that_name_them() {
    let message = |fields: &str| {
        format!(
            r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"a"}}]{fields}}}}}"#
        )
    };
    for (text, expected) in [
        ("{}".to_owned(), "message: is required"),
        (r#"{"message":null}"#.to_owned(), "message: is required"),
        (r#"{"message":[]}"#.to_owned(), "message: expected an object, found an array"),
        (r#"{"message":{}}"#.to_owned(), "message.messageId: is required"),
        (r#"{"message":{"messageId":""}}"#.to_owned(), "message.messageId: is required"),
        (r#"{"message":{"messageId":"m"}}"#.to_owned(), "message.role: is required"),
        (r#"{"message":{"messageId":"m","role":"user"}}"#.to_owned(), "message.role: \"user\" is no role; there are ROLE_USER and ROLE_AGENT"),
        (r#"{"message":{"messageId":"m","role":"ROLE_USER"}}"#.to_owned(), "message.parts: is required"),
        (r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}"#.to_owned(), "message.parts: is required"),
        (r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"},{"data":1,"data":2}]}}"#.to_owned(), "message.parts[1].data: is given twice"),
        (message(r#","message_id":"n""#), "message.messageId: is given twice"),
        (message(r#","contextId":7"#), "message.contextId: expected a string, found a number"),
        (message(r#","metadata":"x""#), "message.metadata: expected an object, found a string"),
        (message(r#","extensions":[1]"#), "message.extensions[0]: expected a string, found a number"),
        (r#"{"configuration":{"historyLength":-1}}"#.to_owned(), "configuration.historyLength: expected a whole number from 0 to 4294967295, found -1"),
        (r#"{"configuration":{"historyLength":1.5}}"#.to_owned(), "configuration.historyLength: expected a whole number"),
        (r#"{"configuration":{"returnImmediately":"yes"}}"#.to_owned(), "configuration.returnImmediately: expected true or false, found a string"),
        (r#"{"tenant":1}"#.to_owned(), "tenant: expected a string, found a number"),
    ] {
        let error = read_send(&text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
    // Null is absence, unknown fields are nobody's business.
    assert!(
        read_send(&message(
            r#","contextId":null,"metadata":null,"later":{"a":[1]}"#
        ))
        .is_ok()
    );
}

#[test]
fn list_requests_are_the_same_as_json_and_as_query() {
    let text = r#"{"contextId":"c","status":"TASK_STATE_FAILED","statusTimestampAfter":"2026-01-01T00:00:00Z","pageSize":7,"pageToken":"p","historyLength":0,"includeArtifacts":true}"#;
    let request = read(text, |reader, _| ListTasksRequest::read(reader)).unwrap();
    let mut from_query = ListTasksRequest::default();
    for (name, value) in request.query() {
        from_query.set(name, &value).unwrap();
    }
    assert_eq!(from_query, request);
    let mut written = String::new();
    request.write(&mut written);
    assert_eq!(
        read(&written, |reader, _| ListTasksRequest::read(reader)).unwrap(),
        request
    );
    let mut wrong = ListTasksRequest::default();
    for (name, value) in [
        ("status", "failed"),
        ("pageSize", "-1"),
        ("includeArtifacts", "1"),
        ("statusTimestampAfter", "now"),
    ] {
        let error = wrong.set(name, value).unwrap_err().to_string();
        assert!(error.starts_with(name), "{error}");
    }
}

#[test]
fn pages_and_task_requests_are_read_back() {
    let page = ListTasksResponse::new(vec![Arc::new(task())], "next".to_owned(), 50, 51);
    let mut written = String::new();
    page.write(&mut written, TaskView::FULL);
    let again = read(&written, |reader, source| {
        ListTasksResponse::read(reader, source, &Limits::default())
    })
    .unwrap();
    assert_eq!(again.total_size, 51);
    assert_eq!(again.next_page_token, "next");
    assert_eq!(again.tasks[0].history, task().history);
    let request = TaskRequest::new("t-1");
    let mut written = String::new();
    request.write(&mut written);
    assert_eq!(
        read(&written, |reader, _| TaskRequest::read(reader)).unwrap(),
        request
    );
}

#[test]
fn limits_of_parts_are_kept_at_under_and_over() {
    let limits = Limits::default()
        .with_max_message_parts(2)
        .with_max_part_bytes(20);
    let send = |parts: &str| {
        let text =
            format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{parts}]}}}}"#);
        read(&text, |reader, source| {
            SendMessageRequest::read(reader, source, &limits)
        })
    };
    // {"text":"123456789"} has 20 bytes.
    assert!(send(r#"{"text":"12345678"}"#).is_ok());
    assert!(send(r#"{"text":"123456789"},{"text":"a"}"#).is_ok());
    let error = send(r#"{"text":"1234567890"}"#).unwrap_err();
    assert!(
        error.contains("message.parts[0]: has 21 bytes, max_part_bytes allows 20"),
        "{error}"
    );
    let error = send(r#"{"text":"a"},{"text":"a"},{"text":"a"}"#).unwrap_err();
    assert!(
        error.contains("message.parts: has more parts than max_message_parts allows, which is 2"),
        "{error}"
    );
}

#[test]
fn limits_that_cannot_be_are_refused() {
    assert!(Limits::default().check().is_ok());
    assert!(Limits::default().with_max_json_depth(8).check().is_ok());
    assert!(Limits::default().with_max_json_depth(120).check().is_ok());
    for (limits, expected) in [
        (
            Limits::default().with_max_json_depth(7),
            "the limit max_json_depth is 7; it takes 8 to 120",
        ),
        (
            Limits::default().with_max_json_depth(121),
            "max_json_depth is 121",
        ),
        (
            Limits::default().with_max_body_bytes(0),
            "the limit max_body_bytes is 0; it takes 1 to 1073741824",
        ),
        (
            Limits::default().with_max_part_bytes(usize::MAX),
            "max_part_bytes",
        ),
    ] {
        let error = limits.check().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn what_others_leave_out_is_read() {
    let limits = Limits::default();
    let event = r#"{"message":null,"task":{"id":"t","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m","role":"ROLE_AGENT"}},"history":[{"messageId":"m","role":"ROLE_USER"}]}}"#;
    let event = read(event, |reader, source| {
        StreamEvent::read(reader, source, &limits)
    })
    .unwrap();
    assert_eq!(event.state(), Some(TaskState::Working));
    let page = read("{}", |reader, source| {
        ListTasksResponse::read(reader, source, &limits)
    })
    .unwrap();
    assert!(page.tasks.is_empty());
}
