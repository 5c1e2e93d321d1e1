use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::agent::ask;

/// The path and query of a REST call: of a list, or, where it begins with a slash, whatever it
/// is; after a `!`, `-` or `+` as POST with an empty object, DELETE or POST without a body.
/// Whatever it is, the answer is a success or says what is wrong, in JSON and with its own status.
pub fn rest_query(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (method, body, rest) = match text.as_bytes().first() {
        Some(b'!') => ("POST", "{}", text.get(1..)),
        Some(b'+') => ("POST", "", text.get(1..)),
        Some(b'-') => ("DELETE", "", text.get(1..)),
        _ => ("GET", "", Some(text)),
    };
    let rest = rest.unwrap_or_default();
    let uri = if rest.starts_with('/') {
        rest.to_owned()
    } else {
        format!("/tasks?{rest}")
    };
    let Some(answered) = ask(method, &uri, body.as_bytes()) else {
        return;
    };
    let (status, text) = (answered.status, &answered.text);
    if (200..300).contains(&status) {
        assert!(
            serde_json::from_str::<IgnoredAny>(text).is_ok(),
            "{method} {uri}: {text}"
        );
        return;
    }
    assert!(
        (400..500).contains(&status) || status == 503,
        "{method} {uri}: {status} {text}"
    );
    // The router's own refusals, of a path that is not the agent's, may have no body.
    if uri.starts_with("/tasks") {
        let refusal: Refusal = match serde_json::from_str(text) {
            Ok(refusal) => refusal,
            Err(error) => panic!("{method} {uri}: {error}: {text:?}"),
        };
        assert_eq!(refusal.error.code, status, "{method} {uri}");
        assert!(!refusal.error.message.is_empty(), "{method} {uri}");
    }
}

#[derive(Deserialize)]
struct Refusal {
    error: Error,
}

#[derive(Deserialize)]
struct Error {
    code: u16,
    message: String,
}
