use llamon_core::Limits;
use llamon_core::json::ReadErrorKind;
use llamon_grpc::{from_wire, to_wire, value, wire};
use prost::Message;
use serde::de::IgnoredAny;

const DEPTH: u32 = 100;

/// Bytes that may be a protobuf Value, JSON, or a request of gRPC. What is read as a value is JSON
/// and has one form in bytes from then on; what is read as a request says the same when it is
/// written and read again.
pub fn protobuf(data: &[u8]) {
    if let Ok(json) = value::value_to_json(data, DEPTH) {
        settled(&json);
    }
    if let Ok(json) = value::struct_to_json(data, DEPTH) {
        assert!(json.starts_with('{'), "{json}");
        settled(&json);
    }
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(bytes) = value::value_of_json(text)
    {
        assert!(is_json(text), "this is no JSON: {text:?}");
        match value::value_to_json(&bytes, DEPTH) {
            Ok(json) => settled(&json),
            Err(error) => panic!("{error}: {text:?}"),
        }
    }
    request(data);
}

/// JSON that came from protobuf goes there and comes back as it is.
fn settled(json: &str) {
    assert!(is_json(json), "this is no JSON: {json:?}");
    match value::value_of_json(json) {
        Ok(bytes) => assert_eq!(
            value::value_to_json(&bytes, DEPTH).ok().as_deref(),
            Some(json)
        ),
        // A struct that was read on its own is one level deeper as a value.
        Err(error) => assert_eq!(error.kind(), ReadErrorKind::Depth, "{error}: {json:?}"),
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn request(data: &[u8]) {
    let limits = Limits::default();
    let Ok(decoded) = wire::SendMessageRequest::decode(data) else {
        return;
    };
    let Ok(request) = from_wire::send_message_request(decoded, &limits) else {
        return;
    };
    let mut json = String::new();
    request.write(&mut json);
    assert!(is_json(&json), "this is no JSON: {json:?}");
    // A part may have a form in JSON only: unknown fields, for instance, have none in protobuf.
    let Ok(wire) =
        to_wire::send_message_request(&request, request.tenant.as_deref().unwrap_or_default())
    else {
        return;
    };
    let Ok(again) = wire::SendMessageRequest::decode(&*wire.encode_to_vec()) else {
        panic!("what was written cannot be read: {json}");
    };
    match from_wire::send_message_request(again, &limits) {
        Ok(again) => {
            let mut text = String::new();
            again.write(&mut text);
            assert_eq!(text, json);
        }
        Err(error) => panic!("{error}: {json}"),
    }
}
