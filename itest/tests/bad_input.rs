//! Requests that are wrong: each gets the error of the table in a2a-facts.md with its
//! `ErrorInfo`, and the server answers the next one.

use llamon_itest::http::{Request, send};
use llamon_itest::mask::without_ids;
use llamon_itest::refused::{asking_server, refused, send_request, with_message, with_part};
use llamon_itest::say::Say;
use llamon_itest::wire::{Peer, WIRES, Wire, envelope, peers};

/// Each text is refused on both bindings, blocking and streaming, with a message that has the
/// word beside it.
async fn assert_params(cases: &[(String, &str)], reason: &str) {
    let server = asking_server().await;
    for peer in peers(server.url()) {
        for (params, word) in cases {
            let request = send_request(peer.wire, params);
            let refusal = refused(&peer, &request, reason, params).await;
            assert!(refusal.message.contains(word), "{word}: {refusal:?}");
            let streaming = match peer.wire {
                Wire::JsonRpc => Request::post("/", envelope("SendStreamingMessage", params)),
                Wire::Rest => Request::post("/message:stream", params.as_str()),
            };
            let streamed = refused(&peer, &streaming, reason, params).await;
            assert_eq!(streamed.reason, refusal.reason);
        }
    }
}

fn owned<'a>(cases: &[(&str, &'a str)], wrap: impl Fn(&str) -> String) -> Vec<(String, &'a str)> {
    cases
        .iter()
        .map(|(text, word)| (wrap(text), *word))
        .collect()
}

// === wrong types and missing fields ===

#[tokio::test]
async fn requests_that_lack_something() {
    let cases = owned(
        &[
            ("{}", "message"),
            (r#"{"message":null}"#, "message"),
            (r#"{"message":{}}"#, "messageId"),
            (
                r#"{"message":{"role":"ROLE_USER","parts":[{"text":"a"}]}}"#,
                "messageId",
            ),
            (
                r#"{"message":{"messageId":"","role":"ROLE_USER","parts":[{"text":"a"}]}}"#,
                "messageId",
            ),
            (
                r#"{"message":{"messageId":null,"role":"ROLE_USER","parts":[{"text":"a"}]}}"#,
                "messageId",
            ),
            (
                r#"{"message":{"messageId":"m","parts":[{"text":"a"}]}}"#,
                "role",
            ),
            (
                r#"{"message":{"messageId":"m","role":"ROLE_USER"}}"#,
                "parts",
            ),
            (
                r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}"#,
                "parts",
            ),
            (
                r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":null}}"#,
                "parts",
            ),
        ],
        str::to_owned,
    );
    assert_params(&cases, "INVALID_PARAMS").await;
}

#[tokio::test]
async fn envelopes_of_wrong_types() {
    let cases = owned(
        &[
            ("[]", "object"),
            ("\"x\"", "object"),
            ("7", "object"),
            (r#"{"message":[]}"#, "message"),
            (r#"{"message":"hello"}"#, "message"),
            (r#"{"message":true}"#, "message"),
        ],
        str::to_owned,
    );
    assert_params(&cases, "INVALID_PARAMS").await;
    let message = |field: &str| {
        let parts = r#""parts":[{"text":"a"}]"#;
        with_message(&format!(
            r#"{{{field},"messageId":"m","role":"ROLE_USER",{parts}}}"#
        ))
    };
    let cases = owned(
        &[
            (r#""contextId":7"#, "message.contextId"),
            (r#""taskId":{}"#, "message.taskId"),
            (r#""metadata":[]"#, "message.metadata"),
            (r#""metadata":"x""#, "message.metadata"),
            (r#""extensions":"x""#, "message.extensions"),
            (r#""extensions":[7]"#, "message.extensions[0]"),
            (r#""referenceTaskIds":{}"#, "message.referenceTaskIds"),
        ],
        message,
    );
    assert_params(&cases, "INVALID_PARAMS").await;
    let cases = owned(
        &[
            (
                r#"{"messageId":7,"role":"ROLE_USER","parts":[{"text":"a"}]}"#,
                "message.messageId",
            ),
            (
                r#"{"messageId":"m","role":1,"parts":[{"text":"a"}]}"#,
                "message.role",
            ),
            (
                r#"{"messageId":"m","role":"user","parts":[{"text":"a"}]}"#,
                "ROLE_USER",
            ),
            (
                r#"{"messageId":"m","role":"ROLE_USER","parts":{"text":"a"}}"#,
                "message.parts",
            ),
            (
                r#"{"messageId":"m","role":"ROLE_USER","parts":"a"}"#,
                "message.parts",
            ),
            (
                r#"{"messageId":"m","role":"ROLE_USER","parts":["a"]}"#,
                "message.parts[0]",
            ),
        ],
        with_message,
    );
    assert_params(&cases, "INVALID_PARAMS").await;
    let configured = |field: &str| Say::text("a").configured(field).json();
    let cases = owned(
        &[
            ("[]", "configuration"),
            (r#"{"historyLength":-1}"#, "configuration.historyLength"),
            (r#"{"historyLength":"x"}"#, "configuration.historyLength"),
            (r#"{"historyLength":1.5}"#, "configuration.historyLength"),
            (
                r#"{"returnImmediately":"yes"}"#,
                "configuration.returnImmediately",
            ),
            (
                r#"{"acceptedOutputModes":"text/plain"}"#,
                "configuration.acceptedOutputModes",
            ),
            (
                r#"{"taskPushNotificationConfig":"x"}"#,
                "configuration.taskPushNotificationConfig",
            ),
        ],
        configured,
    );
    assert_params(&cases, "INVALID_PARAMS").await;
}

#[tokio::test]
async fn parts_that_are_none() {
    let cases = owned(
        &[
            ("{}", "no content"),
            (r#"{"text":null}"#, "no content"),
            (r#"{"metadata":{}}"#, "no content"),
            (r#"{"text":"a","data":1}"#, "both text and data"),
            (r#"{"data":null,"text":"a"}"#, "both data and text"),
            (r#"{"raw":"","url":"u"}"#, "both raw and url"),
            (r#"{"text":7}"#, "parts[0].text"),
            (r#"{"text":{"a":1}}"#, "parts[0].text"),
            (r#"{"raw":7}"#, "parts[0].raw"),
            (r#"{"raw":"not base64!"}"#, "base64"),
            (r#"{"raw":"AAAAA"}"#, "base64"),
            (r#"{"raw":"AA="}"#, "base64"),
            (r#"{"url":[]}"#, "parts[0].url"),
            (r#"{"data":1,"filename":7}"#, "parts[0].filename"),
            (r#"{"data":1,"mediaType":{}}"#, "parts[0].mediaType"),
            (r#"{"data":1,"metadata":[]}"#, "parts[0].metadata"),
            ("7", "parts[0]"),
            ("null", "parts[0]"),
            (r#"{"text":"fine"},{}"#, "parts[1]"),
        ],
        with_part,
    );
    assert_params(&cases, "INVALID_PARAMS").await;
}

#[tokio::test]
async fn a_part_of_a2a_0_3_gets_a_hint() {
    let cases = owned(
        &[
            (
                r#"{"kind":"file","file":{"uri":"https://example.com"}}"#,
                "0.3",
            ),
            (r#"{"file":{"bytes":""},"kind":"file"}"#, "0.3"),
        ],
        with_part,
    );
    assert_params(&cases, "INVALID_PARAMS").await;
    let cases = owned(
        &[(r#"{"file":{"uri":"https://example.com"}}"#, "no content")],
        with_part,
    );
    assert_params(&cases, "INVALID_PARAMS").await;
}

#[tokio::test]
async fn keys_that_are_there_twice() {
    let part = r#"[{"text":"a"}]"#;
    let cases = owned(
        &[
            (
                &*format!(
                    r#"{{"message":{{"messageId":"m","messageId":"m","role":"ROLE_USER","parts":{part}}}}}"#
                ),
                "messageId",
            ),
            (
                &*format!(
                    r#"{{"message":{{"messageId":"m","message_id":"m","role":"ROLE_USER","parts":{part}}}}}"#
                ),
                "messageId",
            ),
            (
                &*format!(
                    r#"{{"message":{{"message\u0049d":"m","messageId":"m","role":"ROLE_USER","parts":{part}}}}}"#
                ),
                "messageId",
            ),
            (
                &*format!(
                    r#"{{"message":{{"messageId":"m","role":"ROLE_USER","role":"ROLE_USER","parts":{part}}}}}"#
                ),
                "role",
            ),
            (
                &*format!(
                    r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":{part},"parts":{part}}}}}"#
                ),
                "parts",
            ),
            (
                &*format!(
                    r#"{{"message":{{"messageId":"m","contextId":"c","contextId":null,"role":"ROLE_USER","parts":{part}}}}}"#
                ),
                "contextId",
            ),
            (r#"{"message":null,"message":null}"#, "message"),
            (
                r#"{"configuration":{},"configuration":{}}"#,
                "configuration",
            ),
            (r#"{"metadata":{},"metadata":{}}"#, "metadata"),
            (
                r#"{"configuration":{"historyLength":1,"history_length":1}}"#,
                "historyLength",
            ),
            (&*with_part(r#"{"text":"a","text":"a"}"#), "text"),
            (&*with_part(r#"{"data":1,"data":1}"#), "data"),
            (
                &*with_part(r#"{"data":1,"mediaType":"a/b","media_type":"a/b"}"#),
                "mediaType",
            ),
            (
                &*with_part(r#"{"data":1,"metadata":{},"metadata":{}}"#),
                "metadata",
            ),
        ],
        str::to_owned,
    );
    assert_params(&cases, "INVALID_PARAMS").await;
}

#[tokio::test]
async fn strings_of_the_envelope_with_a_lone_surrogate() {
    let cases = owned(
        &[
            (&*with_part(r#"{"text":"a\ud800b"}"#), "parts[0].text"),
            (&*with_part(r#"{"url":"\udc00"}"#), "parts[0].url"),
            (
                &*with_part(r#"{"data":1,"filename":"\udfff"}"#),
                "parts[0].filename",
            ),
            (
                r#"{"message":{"messageId":"\ud800","role":"ROLE_USER","parts":[{"text":"a"}]}}"#,
                "messageId",
            ),
            (
                r#"{"message":{"messageId":"m","contextId":"\ud800x","role":"ROLE_USER","parts":[{"text":"a"}]}}"#,
                "contextId",
            ),
            (
                r#"{"message":{"messageId":"m","\ud800":1,"role":"ROLE_USER","parts":[{"text":"a"}]}}"#,
                "surrogate",
            ),
        ],
        str::to_owned,
    );
    assert_params(&cases, "INVALID_PARAMS").await;
}

#[tokio::test]
async fn a_push_config_of_a_message() {
    let push = r#"{"taskPushNotificationConfig":{"url":"https://example.com"}}"#;
    let cases = [(Say::text("a").configured(push).json(), "push")];
    assert_params(&cases, "PUSH_NOTIFICATION_NOT_SUPPORTED").await;
}

#[tokio::test]
async fn ids_that_are_too_long() {
    let server = asking_server().await;
    let long = |length: usize| "x".repeat(length);
    let parts = r#""role":"ROLE_USER","parts":[{"text":"a"}]"#;
    for peer in peers(server.url()) {
        for (length, over) in [(511, false), (512, false), (513, true)] {
            for (field, id) in [("messageId", ""), ("contextId", r#""messageId":"m","#)] {
                let message = format!(r#"{{{id}"{field}":"{}",{parts}}}"#, long(length));
                let request = send_request(peer.wire, &with_message(&message));
                if over {
                    let refusal = refused(&peer, &request, "INVALID_PARAMS", field).await;
                    assert!(refusal.message.contains(field), "{refusal:?}");
                } else {
                    assert!(peer.read(send(&peer.url, &request).await).is_ok());
                }
            }
        }
    }
}

// === what is no JSON, or too much of it ===

const NO_JSON: [&str; 17] = [
    "",
    " ",
    "{",
    "}",
    r#"{"a":}"#,
    r#"{"a":1,}"#,
    r#"{"a" 1}"#,
    "{'a':1}",
    "{\"a\":NaN}",
    r#"{"a":01}"#,
    r#"{"a":1.}"#,
    r#"{"a":+1}"#,
    r#"{"a":"\x"}"#,
    r#"{"a":"\u12"}"#,
    "{\"a\":\"\u{1}\"}",
    r#"{"a":[1,]}"#,
    "\u{feff}{}",
];

#[tokio::test]
async fn malformed_json() {
    let server = asking_server().await;
    for peer in peers(server.url()) {
        let path = if peer.wire == Wire::JsonRpc {
            "/"
        } else {
            "/message:send"
        };
        for body in NO_JSON {
            let request = Request::post(path, body);
            let refusal = refused(&peer, &request, "PARSE_ERROR", body).await;
            if peer.wire == Wire::JsonRpc {
                assert!(refusal.body.contains(r#""id":null"#), "{refusal:?}");
            }
        }
        let latin = Request::post(path, b"{\"a\":\"\xe9\"}".to_vec());
        refused(&peer, &latin, "PARSE_ERROR", "not UTF-8").await;
    }
}

#[tokio::test]
async fn malformed_json_that_begins_like_a_value_of_another_type() {
    let server = asking_server().await;
    for peer in peers(server.url()) {
        let path = if peer.wire == Wire::JsonRpc {
            "/"
        } else {
            "/message:send"
        };
        for body in ["nul", "tru", "\"x", "-", "1x", "[1", "[{]"] {
            refused(&peer, &Request::post(path, body), "PARSE_ERROR", body).await;
        }
    }
}

#[tokio::test]
async fn malformed_json_after_a_field_of_a_wrong_type() {
    let server = asking_server().await;
    let bad = [
        r#"{"message":tru}"#.to_owned(),
        r#"{"message":7,"metadata":{]}"#.to_owned(),
        with_part(r#"{"text":7},{"data":01}"#),
        with_part("{}").replace("]}}", "]}"),
        format!("{} x", with_part("{}")),
    ];
    for peer in peers(server.url()) {
        for params in &bad {
            let request = send_request(peer.wire, params);
            let refusal = refused(&peer, &request, "PARSE_ERROR", params).await;
            if peer.wire == Wire::JsonRpc {
                assert!(refusal.body.contains(r#""id":null"#), "{refusal:?}");
            }
        }
    }
}

#[tokio::test]
async fn malformed_json_amid_a_good_request() {
    let server = asking_server().await;
    let bad = [
        with_part(r#"{"data":01}"#),
        with_part(r#"{"data":[1,]}"#),
        with_part(r#"{"data":{"a":1,}}"#),
        with_part(r#"{"data":"\q"}"#),
        with_part(r#"{"data":tru}"#),
        with_part("{\"text\":\"a\tb\"}"),
        with_part(r#"{"text":"a"}"#).replace("]}}", "]}"),
        with_part(r#"{"text":"a"}"#).replace("}]}", "}}"),
    ];
    for peer in peers(server.url()) {
        for params in &bad {
            let request = send_request(peer.wire, params);
            refused(&peer, &request, "PARSE_ERROR", params).await;
        }
        // And after it.
        for more in [" x", "{}", ",", "\u{0}"] {
            let say = Say::text("a").json();
            let (path, body) = match peer.wire {
                Wire::JsonRpc => ("/", envelope("SendMessage", &say)),
                Wire::Rest => ("/message:send", say),
            };
            let request = Request::post(path, format!("{body}{more}"));
            refused(&peer, &request, "PARSE_ERROR", more).await;
        }
    }
}

#[tokio::test]
async fn a_depth_bomb() {
    const LEVELS: usize = 100_000;
    let server = asking_server().await;
    let arrays = "[".repeat(LEVELS);
    let objects = r#"{"a":"#.repeat(LEVELS);
    let closed = format!("{arrays}{}", "]".repeat(LEVELS));
    for peer in peers(server.url()) {
        let path = if peer.wire == Wire::JsonRpc {
            "/"
        } else {
            "/message:send"
        };
        for bomb in [&arrays, &objects, &closed] {
            for params in [
                with_part(&format!(r#"{{"data":{bomb}}}"#)),
                with_part(&format!(r#"{{"text":"a","metadata":{{"a":{bomb}}}}}"#)),
                with_part(&format!(r#"{{"text":"a","unknown":{bomb}}}"#)),
                format!(r#"{{"metadata":{{"a":{bomb}}}}}"#),
                format!(r#"{{"unknown":{bomb}}}"#),
            ] {
                let request = send_request(peer.wire, &params);
                let refusal = refused(&peer, &request, "INVALID_PARAMS", "a bomb").await;
                assert!(refusal.message.contains("max_json_depth"), "{refusal:?}");
            }
            // As the whole body, where there is no telling what it was to be.
            let response = send(&peer.url, &Request::post(path, bomb.as_str())).await;
            let refusal = peer.read(response).unwrap_err();
            let reasons = ["INVALID_REQUEST", "INVALID_PARAMS"];
            assert!(reasons.contains(&&*refusal.reason), "{refusal:?}");
        }
    }
}

#[tokio::test]
async fn a_body_of_17_mib() {
    let server = asking_server().await;
    let text = "x".repeat(17 << 20);
    for peer in peers(server.url()) {
        let request = send_request(peer.wire, &Say::text(&text).json());
        let refusal = refused(&peer, &request, "PAYLOAD_TOO_LARGE", "17 MiB").await;
        assert!(refusal.message.contains("max_body_bytes"), "{refusal:?}");
        assert!(refusal.message.contains("16777216"), "{refusal:?}");
    }
}

#[tokio::test]
async fn unknown_fields_are_ignored() {
    let server = asking_server().await;
    let message = r#"{"unknown":{"a":[1e400]},"messageId":"m","role":"ROLE_USER","parts":[{"text":"a","unknown":1}]}"#;
    let params = format!(
        r#"{{"unknown":[],"message":{message},"configuration":{{"unknown":7}},"tenant":""}}"#
    );
    let mut answers = Vec::new();
    for wire in WIRES {
        let peer = Peer::new(server.url(), wire);
        let response = send(&peer.url, &send_request(wire, &params)).await;
        let task = peer.read(response).unwrap().at("task");
        answers.push(without_ids(task.at("history").text()));
    }
    assert_eq!(answers[0], answers[1]);
}
