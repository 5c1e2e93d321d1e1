use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::agent::{Answered, ask};

/// A JSON-RPC request's body. Whatever it is, the answer is JSON-RPC: HTTP 200, one of result and
/// error, the request's id as it was written or null, -32700 exactly for what is no JSON.
pub fn json_rpc(data: &[u8]) {
    let Some(answered) = ask("POST", "/", data) else {
        return;
    };
    assert_eq!(answered.status, 200, "{}", answered.text);
    for answer in answers(&answered) {
        check(data, answer);
    }
}

/// One answer, or those of a stream.
fn answers(answered: &Answered) -> Vec<&str> {
    match &*answered.media_type {
        "application/json" => vec![&answered.text],
        "text/event-stream" => {
            let events = answered.text.split("\n\n");
            let data = events.filter_map(|event| event.strip_prefix("data: "));
            let data: Vec<&str> = data.collect();
            assert!(!data.is_empty(), "a stream without an event");
            data
        }
        other => panic!("an answer of the media type {other:?}"),
    }
}

#[derive(Deserialize)]
struct Answer<'a> {
    jsonrpc: &'a str,
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Error {
    code: i64,
    message: String,
}

fn check(data: &[u8], text: &str) {
    let answer: Answer<'_> = match serde_json::from_str(text) {
        Ok(answer) => answer,
        Err(error) => panic!("{error}: {text}"),
    };
    assert_eq!(answer.jsonrpc, "2.0");
    assert!(answer.result.is_some() != answer.error.is_some(), "{text}");
    let id = answer.id.get();
    let source = std::str::from_utf8(data);
    if id != "null" {
        assert!(
            source.is_ok_and(|source| source.contains(id)),
            "the id {id} was not sent"
        );
    }
    let Some(error) = answer.error else { return };
    let error: Error = match serde_json::from_str(error.get()) {
        Ok(error) => error,
        Err(why) => panic!("{why}: {text}"),
    };
    assert!(!error.message.is_empty());
    if nests_too_deep(data) {
        return;
    }
    let is_json = source.is_ok_and(|source| serde_json::from_str::<IgnoredAny>(source).is_ok());
    match error.code {
        -32700 => {
            assert!(!is_json, "this is JSON: {text}");
            assert_eq!(id, "null");
        }
        // It may be larger than is read.
        -32600 => {}
        // A fault of ours, unless there is no room.
        -32603 => assert!(text.contains("UNAVAILABLE"), "{text}"),
        _ => assert!(is_json, "this is no JSON: {text}"),
    }
}

/// Whether it may nest deeper than is read: then it is not looked at to its end, and nobody knows
/// whether it is JSON.
fn nests_too_deep(data: &[u8]) -> bool {
    let mut depth = 0_usize;
    data.iter().any(|byte| {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_DEPTH
    })
}

/// The default of `max_json_depth`.
const MAX_DEPTH: usize = 100;
