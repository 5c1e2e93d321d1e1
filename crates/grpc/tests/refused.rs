//! What is refused, with the words that say where.

use bytes::Bytes;
use llamon_core::a2a::{Message, Role, SendMessageRequest};
use llamon_core::{Limits, Part};
use llamon_grpc::wire::{self, PartContent};
use llamon_grpc::{from_wire, to_wire};

fn request(change: impl FnOnce(&mut wire::SendMessageRequest)) -> String {
    let message = Message::new("m", Role::User, [Part::text("x")]);
    let mut wire =
        to_wire::send_message_request(&SendMessageRequest::new(message), "").expect("a request");
    change(&mut wire);
    from_wire::send_message_request(wire, &Limits::default())
        .expect_err("it is wrong")
        .to_string()
}

fn said(wire: &mut wire::SendMessageRequest) -> &mut wire::Message {
    wire.message.as_mut().expect("it has one")
}

fn data(bytes: &'static [u8]) -> wire::Part {
    wire::Part {
        content: Some(PartContent::Data(Bytes::from_static(bytes))),
        ..wire::Part::default()
    }
}

#[test]
fn a_wrong_field_is_named_as_the_specification_spells_it() {
    let cases: Vec<(String, &str)> = vec![
        (request(|wire| wire.message = None), "message: is required"),
        (
            request(|wire| said(wire).message_id.clear()),
            "message.messageId: is required",
        ),
        (
            request(|wire| said(wire).parts.clear()),
            "message.parts: is required",
        ),
        (
            request(|wire| said(wire).role = 0),
            "message.role: is required",
        ),
        (
            request(|wire| said(wire).role = 7),
            "message.role: 7 is no role",
        ),
        (
            request(|wire| said(wire).role = 2),
            "message.role: is ROLE_AGENT",
        ),
        (
            request(|wire| said(wire).parts.push(wire::Part::default())),
            "message.parts[1]: has no content",
        ),
        (
            request(|wire| {
                said(wire)
                    .parts
                    .push(data(b"\x32\x0b\x0a\x09\x11\0\0\0\0\0\0\xf8\x7f"))
            }),
            "message.parts[1].data[0]: is NaN, which JSON does not have",
        ),
        (
            request(|wire| said(wire).parts.push(data(b"\xff"))),
            "message.parts[1].data: is no protobuf Value",
        ),
        (
            request(|wire| said(wire).parts[0].metadata = Some(b"\x0a\x00"[..].into())),
            "message.parts[0].metadata.: is a protobuf Value without a kind",
        ),
        (
            request(|wire| said(wire).metadata = Some(b"\x0a\x7f"[..].into())),
            "message.metadata: is no protobuf Value",
        ),
        (
            request(|wire| {
                wire.configuration = Some(wire::SendMessageConfiguration {
                    history_length: Some(-1),
                    ..Default::default()
                });
            }),
            "configuration.historyLength: is -1",
        ),
        (
            request(|wire| {
                wire.configuration = Some(wire::SendMessageConfiguration {
                    task_push_notification_config: Some(Default::default()),
                    ..Default::default()
                });
            }),
            "configuration.taskPushNotificationConfig.url: is required",
        ),
    ];
    for (error, expected) in cases {
        assert!(error.starts_with(expected), "{expected:?} but {error:?}");
    }
}

#[test]
fn limits_hold_at_and_over_their_value() {
    let limits = Limits::default()
        .with_max_message_parts(2)
        .with_max_part_bytes(20)
        .with_max_json_depth(8);
    let message = |parts: Vec<wire::Part>| {
        let message = wire::Message {
            message_id: "m".to_owned(),
            role: 1,
            parts,
            ..wire::Message::default()
        };
        from_wire::message(message, &limits).map_err(|error| error.to_string())
    };
    let text = |length: usize| to_wire::part(&Part::text("x".repeat(length))).unwrap();
    assert!(message(vec![text(1), text(9)]).is_ok());
    let error = message(vec![text(1), text(1), text(1)]).unwrap_err();
    assert!(
        error.contains("max_message_parts") && error.contains('2'),
        "{error}"
    );
    let error = message(vec![text(1), text(10)]).unwrap_err();
    assert!(
        error.contains("parts[1]") && error.contains("max_part_bytes"),
        "{error}"
    );
    let nested = |json: &str| to_wire::part(&Part::data_from_json(json).unwrap()).unwrap();
    assert!(message(vec![nested("[[[1]]]")]).is_ok());
    let error = message(vec![nested("[[[[1]]]]")]).unwrap_err();
    assert!(error.contains("max_json_depth"), "{error}");
}

#[test]
fn a_value_without_a_form_in_grpc_names_its_part() {
    let parts = [
        Part::text("x"),
        Part::from_json(r#"{"data":{"a":[1e400]}}"#).unwrap(),
    ];
    let message = Message::new("m", Role::User, parts);
    let error = to_wire::send_message_request(&SendMessageRequest::new(message), "").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("message.parts[1].data.a[0]: 1e400 has no form in gRPC"),
        "{error}"
    );
}

#[test]
fn fields_that_a_part_does_not_have_are_left_out() {
    let part = Part::from_json(r#"{"x":1,"data":[1.0],"raw2":"y","filename":""}"#).unwrap();
    let wire = to_wire::part(&part).unwrap();
    let back = from_wire::part(&wire, &Limits::default()).unwrap();
    assert_eq!(back.json(), r#"{"data":[1]}"#);
}
