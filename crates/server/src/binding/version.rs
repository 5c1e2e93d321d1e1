use axum::http::{HeaderMap, Uri};
use llamon_core::a2a::{A2aError, ErrorCode, VERSION_HEADER};

/// Checks the protocol version that a request asks for (section 3.6): header `A2A-Version`, or
/// the query parameter of that name; absent or empty is 0.3, patch numbers do not count.
///
/// # Errors
/// VersionNotSupported, with what was asked and what is spoken.
pub(super) fn check(headers: &HeaderMap, uri: &Uri) -> Result<(), A2aError> {
    let header = headers.get(VERSION_HEADER);
    let asked = match header.map(|value| value.to_str()) {
        Some(Ok(value)) => value.trim(),
        Some(Err(_)) => return Err(not_supported("something that is not text")),
        None => from_query(uri).unwrap_or_default(),
    };
    if is_supported(asked) {
        return Ok(());
    }
    if asked.is_empty() {
        return Err(not_supported("no version, which means 0.3"));
    }
    let shown: String = asked.chars().take(40).collect();
    Err(not_supported(&format!("{shown:?}")))
}

fn from_query(uri: &Uri) -> Option<&str> {
    let pairs = uri.query()?.split('&');
    let mut values = pairs.filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.eq_ignore_ascii_case(VERSION_HEADER).then_some(value)
    });
    values.next()
}

fn is_supported(version: &str) -> bool {
    let mut numbers = version.split('.');
    let numeric = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    numbers.next() == Some("1")
        && numbers.next() == Some("0")
        && numbers.next().is_none_or(numeric)
        && numbers.next().is_none()
}

fn not_supported(asked: &str) -> A2aError {
    A2aError::new(
        ErrorCode::VersionNotSupported,
        format!(
            "the request asks for {asked}; this server speaks A2A 1.0, send the header A2A-Version: 1.0"
        ),
    )
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue, Uri};

    use super::check;

    fn accepts(header: Option<&'static str>, uri: &'static str) -> bool {
        let mut headers = HeaderMap::new();
        if let Some(header) = header {
            headers.insert("a2a-version", HeaderValue::from_static(header));
        }
        check(&headers, &Uri::from_static(uri)).is_ok()
    }

    #[test]
    fn one_zero_is_spoken_and_nothing_else() {
        for (header, uri, expected) in [
            (Some("1.0"), "/", true),
            (Some(" 1.0 "), "/", true),
            (Some("1.0.1"), "/", true),
            (None, "/?A2A-Version=1.0", true),
            (None, "/?x=1&a2a-version=1.0", true),
            (None, "/", false),
            (Some(""), "/?A2A-Version=1.0", false),
            (Some("0.3"), "/?A2A-Version=1.0", false),
            (Some("1"), "/", false),
            (Some("1.1"), "/", false),
            (Some("1.0.x"), "/", false),
            (Some("1.0.0.0"), "/", false),
            (Some("10.0"), "/", false),
        ] {
            assert_eq!(accepts(header, uri), expected, "{header:?} {uri}");
        }
    }
}
