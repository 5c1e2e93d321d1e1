use std::borrow::Cow;

use super::ReadError;

/// Decodes a JSON string token, quotes included.
///
/// Borrows when the token has no escapes. Fails on a lone surrogate, which no Rust string (and
/// no UTF-8 text) can hold.
///
/// ```
/// assert_eq!(llamon_core::json::decode(r#""caf\u00e9""#)?, "café");
/// assert!(llamon_core::json::decode(r#""\ud800""#).is_err());
/// # Ok::<(), llamon_core::json::ReadError>(())
/// ```
pub fn decode(token: &str) -> Result<Cow<'_, str>, ReadError> {
    let inner = token
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .ok_or_else(|| ReadError::invalid("expected a string"))?;
    if !inner.contains('\\') {
        return Ok(Cow::Borrowed(inner));
    }
    serde_json::from_str::<String>(token)
        .map(Cow::Owned)
        .map_err(|_| {
            ReadError::invalid("has a lone surrogate escape (\\ud800 to \\udfff without its pair)")
        })
}
