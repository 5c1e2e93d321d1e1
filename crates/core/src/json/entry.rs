//! An entry of an object's text.

use super::{ReadError, Reader, Span, string_token};

/// The text of the value under `key`; of a key that is there twice, the last one's. `None` also
/// where `object` cannot be read.
pub(crate) fn of<'a>(object: &'a str, key: &str) -> Option<&'a str> {
    let found = values(object, key).ok()?;
    Some(found.last()?.of(object))
}

/// The object with `value` under `key`, and every other byte of it as it was.
pub(crate) fn put(object: &str, key: &str, value: &str) -> String {
    let found = values(object, key).unwrap_or_default();
    if found.is_empty() {
        let head = object.trim_end().strip_suffix('}').unwrap_or("{");
        let comma = if head.trim() == "{" { "" } else { "," };
        return format!("{head}{comma}{}:{value}}}", string_token(key));
    }
    let mut out = object.to_owned();
    for span in found.iter().rev() {
        out.replace_range(span.start..span.end, value);
    }
    out
}

/// Where the values under `key` are.
fn values(object: &str, key: &str) -> Result<Vec<Span>, ReadError> {
    let mut reader = Reader::of_str(object, crate::MAX_JSON_DEPTH_CEILING);
    let mut entries = reader.object()?;
    let mut found = Vec::new();
    while let Some(name) = reader.key(&mut entries)? {
        let span = reader.skip()?;
        if name == key {
            found.push(span);
        }
    }
    Ok(found)
}
