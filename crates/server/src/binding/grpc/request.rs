use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use llamon_core::a2a::{A2aError, ErrorCode};
use llamon_grpc::framing::Decoder;
use prost::Message;
use tonic::Streaming;

use super::failure::Failure;

/// Reads the only message of a body, uncompressed and of at most `max` bytes.
pub(super) async fn read<M>(body: Body, max: usize) -> Result<M, Failure>
where
    M: Message + Default + 'static,
{
    let mut messages = Streaming::new_request(Decoder::<M>::default(), body, None, Some(max));
    match messages.message().await {
        Ok(Some(message)) => Ok(message),
        Ok(None) => {
            let error = A2aError::new(ErrorCode::InvalidParams, "the call has no message");
            Err(error.into())
        }
        Err(status) => Err(Failure::of_body(status, max)),
    }
}

/// Checks that a request says it is gRPC in protobuf.
///
/// # Errors
/// With what it says.
pub(super) fn content_type(headers: &HeaderMap) -> Result<(), String> {
    let value = headers.get(header::CONTENT_TYPE);
    let text = value.map(|value| String::from_utf8_lossy(value.as_bytes()));
    let text = text.as_deref().unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim();
    if matches!(essence, "application/grpc" | "application/grpc+proto") {
        return Ok(());
    }
    Err(text.chars().take(80).collect())
}

/// How long the client waits: up to eight digits and a unit.
///
/// # Errors
/// When the header is there and says something else.
pub(super) fn timeout(headers: &HeaderMap) -> Result<Option<Duration>, ()> {
    let Some(value) = headers.get("grpc-timeout") else {
        return Ok(None);
    };
    let text = value.to_str().map_err(drop)?;
    let (digits, unit) = text
        .split_at_checked(text.len().wrapping_sub(1))
        .ok_or(())?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(());
    }
    let number: u64 = digits.parse().map_err(drop)?;
    Ok(Some(match unit {
        "H" => Duration::from_secs(number * 3_600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return Err(()),
    }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::http::{HeaderMap, HeaderValue};

    use super::timeout;

    #[test]
    fn a_timeout_is_up_to_eight_digits_and_a_unit() {
        let read = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("grpc-timeout", HeaderValue::from_static(text));
            timeout(&headers)
        };
        assert_eq!(timeout(&HeaderMap::new()), Ok(None));
        let cases = [
            ("1S", Duration::from_secs(1)),
            ("250m", Duration::from_millis(250)),
            ("99999999H", Duration::from_secs(99_999_999 * 3_600)),
            ("0n", Duration::ZERO),
            ("3u", Duration::from_micros(3)),
            ("2M", Duration::from_secs(120)),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), Ok(Some(expected)), "{text}");
        }
        for text in ["", "S", "1", "1s", "123456789S", "-1S", "1.5S", " 1S"] {
            assert_eq!(read(text), Err(()), "{text}");
        }
    }
}
