//! Walking one text while another is written.

use std::borrow::Cow;

use crate::json::{Object, ReadError, Reader};

/// The next entry: its key, decoded and as it stands.
pub(super) fn entry<'a>(
    reader: &mut Reader<'a>,
    object: &mut Object,
) -> Result<Option<(Cow<'a, str>, &'a str)>, ReadError> {
    let before = reader.offset();
    let Some(key) = reader.key(object)? else {
        return Ok(None);
    };
    let raw = reader.source().get(before..reader.offset());
    let raw = raw.unwrap_or_default().trim_end();
    let raw = raw.strip_suffix(':').unwrap_or(raw).trim_end();
    Ok(Some((
        key,
        raw.trim_start_matches([',', ' ', '\t', '\r', '\n']),
    )))
}

/// Writes the object at the cursor anew; `field` writes what becomes of an entry.
pub(super) fn object(
    reader: &mut Reader<'_>,
    out: &mut String,
    mut field: impl FnMut(&Entry<'_>, &mut Reader<'_>, &mut String) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    out.push('{');
    let mut object = reader.object()?;
    while let Some((key, raw)) = entry(reader, &mut object)? {
        let entry = Entry { key: &key, raw };
        field(&entry, reader, out).map_err(|error| error.within(key.clone().into_owned()))?;
    }
    out.push('}');
    Ok(())
}

/// An entry's key.
pub(super) struct Entry<'a> {
    pub(super) key: &'a str,
    /// As it stands in the text, quotes included.
    pub(super) raw: &'a str,
}

impl Entry<'_> {
    /// Copies the entry.
    pub(super) fn keep(&self, reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
        push_raw_key(out, self.raw);
        copy(reader, out)
    }
}

/// Writes the array at the cursor anew; null stays null.
pub(super) fn list(
    reader: &mut Reader<'_>,
    out: &mut String,
    mut item: impl FnMut(&mut Reader<'_>, &mut String) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    if reader.peek() == Some(b'n') {
        return copy(reader, out);
    }
    out.push('[');
    let mut array = reader.array()?;
    let mut index = 0_usize;
    while reader.element(&mut array)? {
        if index > 0 {
            out.push(',');
        }
        item(reader, out).map_err(|error| error.within(format!("[{index}]")))?;
        index += 1;
    }
    out.push(']');
    Ok(())
}

/// Writes a value anew unless it is null.
pub(super) fn unless_null(
    reader: &mut Reader<'_>,
    out: &mut String,
    write: impl FnOnce(&mut Reader<'_>, &mut String) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    if reader.peek() == Some(b'n') {
        return copy(reader, out);
    }
    write(reader, out)
}

/// Writes another name for the one at the cursor; null stays null.
pub(super) fn rename(
    reader: &mut Reader<'_>,
    out: &mut String,
    rename: impl FnOnce(&str) -> Result<&'static str, ReadError>,
) -> Result<(), ReadError> {
    match reader.optional_string()? {
        Some(name) => crate::json::push_string(out, rename(&name)?),
        None => out.push_str("null"),
    }
    Ok(())
}

/// Copies the value at the cursor.
pub(super) fn copy(reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
    out.push_str(raw(reader)?);
    Ok(())
}

/// The text of the value at the cursor.
pub(super) fn raw<'a>(reader: &mut Reader<'a>) -> Result<&'a str, ReadError> {
    let span = reader.skip()?;
    Ok(span.of(reader.source()))
}

/// Appends a key that is a token already.
pub(super) fn push_raw_key(out: &mut String, raw: &str) {
    if !out.ends_with(['{', '[']) {
        out.push(',');
    }
    out.push_str(raw);
    out.push(':');
}

/// A reader of a text that was read before, for being JSON and for its depth.
pub(super) fn again(text: &str) -> Reader<'_> {
    Reader::of_str(text, super::MAX_DEPTH)
}
