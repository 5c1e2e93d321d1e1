//! Parts: the envelope is written anew, the texts in it are copied.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Form;
use super::walk::{again, copy, entry, object, push_raw_key, raw};
use crate::a2a::push_field;
use crate::json::{ReadError, Reader, Seen, string_token};

/// In a part's metadata: its data is `{"value": x}` because 0.3 has only objects as data. The
/// official Python SDK writes the same.
const WRAPPED: &str = "data_part_compat";

pub(super) fn upgrade(
    reader: &mut Reader<'_>,
    form: Form,
    out: &mut String,
) -> Result<(), ReadError> {
    let part = Old::read(reader)?;
    out.push('{');
    let kind = part.kind()?;
    let mut metadata = part.metadata;
    let unwrapped;
    match kind {
        "text" => push_content(out, "text", part.text)?,
        "file" => {
            let file = part.file.ok_or_else(|| is_required("file"))?;
            upgrade_file(file, form, out).map_err(|error| error.within("file"))?;
        }
        _ => {
            let mut data = part.data.ok_or_else(|| is_required("data"))?;
            if part.kind.is_none() {
                data = inner_data(data).map_err(|error| error.within("data"))?;
            }
            if !data.starts_with('{') {
                return Err(again(data).wrong_type("an object").within("data"));
            }
            if let Some((value, rest)) = unwrap(data, metadata)? {
                data = value;
                unwrapped = rest;
                metadata = unwrapped.as_deref();
            }
            push_content(out, "data", Some(data))?;
        }
    }
    if let Some(metadata) = metadata {
        push_field(out, "metadata");
        out.push_str(metadata);
    }
    for (key, name, value) in &part.others {
        // A file's own fields are in `file`.
        if kind != "file" || !matches!(&**name, "filename" | "mediaType" | "media_type") {
            push_raw_key(out, key);
            out.push_str(value);
        }
    }
    out.push('}');
    Ok(())
}

pub(super) fn downgrade(
    reader: &mut Reader<'_>,
    form: Form,
    out: &mut String,
) -> Result<(), ReadError> {
    let part = New::read(reader)?;
    let (content, value) = part
        .content
        .ok_or_else(|| is_required("one of text, data, raw and url"))?;
    let kind = match content {
        "raw" | "url" => "file",
        other => other,
    };
    let mut metadata = part.metadata.map(str::to_owned);
    out.push('{');
    if form == Form::JsonRpc {
        out.push_str(&format!("\"kind\":\"{kind}\""));
    }
    match content {
        "text" => push_content(out, "text", Some(value))?,
        "data" => {
            push_field(out, "data");
            if form == Form::Rest {
                out.push_str("{\"data\":");
            }
            if value.starts_with('{') {
                out.push_str(value);
            } else {
                out.push_str("{\"value\":");
                out.push_str(value);
                out.push('}');
                metadata = Some(mark_wrapped(metadata.as_deref()));
            }
            if form == Form::Rest {
                out.push('}');
            }
        }
        _ => {
            push_field(out, "file");
            downgrade_file(&part, content, value, form, out)?;
        }
    }
    if let Some(metadata) = metadata {
        push_field(out, "metadata");
        out.push_str(&metadata);
    }
    if form == Form::JsonRpc {
        for (key, name, value) in &part.others {
            let taken = match &**name {
                "kind" | "file" => true,
                "filename" | "mediaType" => kind == "file",
                _ => false,
            };
            if !taken {
                push_raw_key(out, key);
                out.push_str(value);
            }
        }
    }
    out.push('}');
    Ok(())
}

/// A field that nobody knows: its key as it stands, its name, its value.
type Other<'a> = (&'a str, String, &'a str);

/// A part of 0.3.
#[derive(Default)]
struct Old<'a> {
    kind: Option<String>,
    text: Option<&'a str>,
    file: Option<&'a str>,
    data: Option<&'a str>,
    metadata: Option<&'a str>,
    others: Vec<Other<'a>>,
}

impl<'a> Old<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, ReadError> {
        let mut part = Self::default();
        let mut seen = Seen::default();
        let mut object = reader.object()?;
        while let Some((key, token)) = entry(reader, &mut object)? {
            let (index, name, place) = match &*key {
                "kind" => {
                    seen.mark(0, "kind")?;
                    let kind = reader.optional_string().map_err(|e| e.within("kind"))?;
                    part.kind = kind.map(Into::into);
                    continue;
                }
                "text" => (1, "text", &mut part.text),
                "file" => (2, "file", &mut part.file),
                "data" => (3, "data", &mut part.data),
                "metadata" => (4, "metadata", &mut part.metadata),
                name => {
                    let name = name.to_owned();
                    let value = raw(reader).map_err(|e| e.within(name.clone()))?;
                    part.others.push((token, name, value));
                    continue;
                }
            };
            seen.mark(index, name)?;
            let value = raw(reader).map_err(|e| e.within(name))?;
            *place = Some(value).filter(|value| *value != "null");
        }
        Ok(part)
    }

    /// What it says it is; in the protobuf form, what it has.
    fn kind(&self) -> Result<&str, ReadError> {
        let has = [
            ("text", self.text),
            ("file", self.file),
            ("data", self.data),
        ];
        match &self.kind {
            Some(kind) if has.iter().any(|(known, _)| known == kind) => {
                let other = has
                    .iter()
                    .find(|(known, value)| known != kind && value.is_some());
                match other {
                    None => Ok(kind),
                    Some((other, _)) => Err(ReadError::invalid(format!(
                        "is of kind {kind} and has {other}: exactly one of text, file and data is allowed"
                    ))),
                }
            }
            Some(kind) => {
                Err(super::unknown(kind, "kind of part", "text, file and data").within("kind"))
            }
            None => {
                let mut has = has.iter().filter(|(_, value)| value.is_some());
                match (has.next(), has.next()) {
                    (Some((kind, _)), None) => Ok(kind),
                    (None, _) => Err(ReadError::invalid(
                        "has no content: a kind and one of text, file and data are required",
                    )),
                    (Some((one, _)), Some((two, _))) => Err(ReadError::invalid(format!(
                        "has both {one} and {two}: exactly one of text, file and data is allowed"
                    ))),
                }
            }
        }
    }
}

/// A part of 1.0.
#[derive(Default)]
struct New<'a> {
    content: Option<(&'static str, &'a str)>,
    filename: Option<&'a str>,
    media_type: Option<&'a str>,
    metadata: Option<&'a str>,
    others: Vec<Other<'a>>,
}

impl<'a> New<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, ReadError> {
        let mut part = Self::default();
        let mut object = reader.object()?;
        while let Some((key, token)) = entry(reader, &mut object)? {
            let value = raw(reader).map_err(|e| e.within(key.clone().into_owned()))?;
            match &*key {
                // Its null is a value.
                "data" => part.content = Some(("data", value)),
                "text" | "raw" | "url" | "metadata" if value == "null" => {}
                "text" => part.content = Some(("text", value)),
                "raw" => part.content = Some(("raw", value)),
                "url" => part.content = Some(("url", value)),
                "metadata" => part.metadata = Some(value),
                name => {
                    match name {
                        "filename" => part.filename = Some(value).filter(|v| *v != "null"),
                        "mediaType" | "media_type" => {
                            part.media_type = Some(value).filter(|v| *v != "null");
                        }
                        _ => {}
                    }
                    let name = if name == "media_type" {
                        "mediaType"
                    } else {
                        name
                    };
                    part.others.push((token, name.to_owned(), value));
                }
            }
        }
        Ok(part)
    }
}

fn push_content(
    out: &mut String,
    name: &'static str,
    value: Option<&str>,
) -> Result<(), ReadError> {
    let value = value.ok_or_else(|| is_required(name))?;
    push_field(out, name);
    out.push_str(value);
    Ok(())
}

fn is_required(name: &'static str) -> ReadError {
    ReadError::invalid("is required").within(name)
}

/// The object in the protobuf form's `{"data": {...}}`.
fn inner_data(data: &str) -> Result<&str, ReadError> {
    let mut reader = again(data);
    let mut found = None;
    let mut object = reader.object()?;
    while let Some(key) = reader.key(&mut object)? {
        let value = raw(&mut reader)?;
        if key == "data" {
            found = Some(value);
        }
    }
    // The protobuf form leaves out what is empty.
    Ok(found.unwrap_or("{}"))
}

fn upgrade_file(file: &str, form: Form, out: &mut String) -> Result<(), ReadError> {
    let mut reader = again(file);
    let mut seen = Seen::default();
    let mut object = reader.object()?;
    while let Some(key) = reader.key(&mut object)? {
        let (index, name) = match &*key {
            "bytes" | "fileWithBytes" | "file_with_bytes" => (0, "raw"),
            "uri" | "fileWithUri" | "file_with_uri" => (1, "url"),
            "mimeType" | "mime_type" => (2, "mediaType"),
            "name" => (3, "filename"),
            _ => {
                reader.skip()?;
                continue;
            }
        };
        seen.mark(index, name)?;
        let value = raw(&mut reader)?;
        if value == "null" {
            continue;
        }
        push_field(out, name);
        match (name, form, &*key) {
            ("raw", Form::Rest, "fileWithBytes" | "file_with_bytes") => {
                out.push_str(&encoded_once(value));
            }
            _ => out.push_str(value),
        }
    }
    Ok(())
}

fn downgrade_file(
    part: &New<'_>,
    content: &str,
    value: &str,
    form: Form,
    out: &mut String,
) -> Result<(), ReadError> {
    out.push('{');
    match (content, form) {
        ("raw", Form::JsonRpc) => push_content(out, "bytes", Some(value))?,
        ("raw", Form::Rest) => {
            push_field(out, "fileWithBytes");
            let text = crate::json::decode(value)?;
            out.push_str(&string_token(&STANDARD.encode(text.as_bytes())));
        }
        (_, Form::JsonRpc) => push_content(out, "uri", Some(value))?,
        (_, Form::Rest) => push_content(out, "fileWithUri", Some(value))?,
    }
    if let Some(media_type) = part.media_type {
        push_content(out, "mimeType", Some(media_type))?;
    }
    if let Some(filename) = part.filename {
        push_content(out, "name", Some(filename))?;
    }
    out.push('}');
    Ok(())
}

/// The official Python SDK puts a file's base64 text, as bytes, into a field whose bytes are
/// encoded once more. What is base64 within base64 is taken out of it.
fn encoded_once(token: &str) -> String {
    let inner = || {
        let text = crate::json::decode(token).ok()?;
        let inner = String::from_utf8(STANDARD.decode(text.as_bytes()).ok()?).ok()?;
        let is_encoded = inner.len() % 4 == 0 && STANDARD.decode(&inner).is_ok();
        is_encoded.then(|| string_token(&inner))
    };
    inner().unwrap_or_else(|| token.to_owned())
}

/// The value that was wrapped into an object for 0.3, and the metadata without the mark.
fn unwrap<'a>(
    data: &'a str,
    metadata: Option<&str>,
) -> Result<Option<(&'a str, Option<String>)>, ReadError> {
    let Some(metadata) = metadata.filter(|metadata| metadata.contains(WRAPPED)) else {
        return Ok(None);
    };
    let mut marked = false;
    let mut rest = String::new();
    let mut reader = again(metadata);
    object(&mut reader, &mut rest, |entry, reader, out| {
        if entry.key == WRAPPED && reader.peek() == Some(b't') {
            marked = true;
            return reader.skip().map(drop);
        }
        entry.keep(reader, out)
    })
    .map_err(|error| error.within("metadata"))?;
    let mut reader = again(data);
    let mut only = None;
    let mut entries = 0;
    let mut object = reader.object()?;
    while let Some(key) = reader.key(&mut object)? {
        let value = raw(&mut reader)?;
        entries += 1;
        if key == "value" {
            only = Some(value);
        }
    }
    let only = only.filter(|_| marked && entries == 1);
    Ok(only.map(|value| (value, Some(rest).filter(|rest| rest != "{}"))))
}

fn mark_wrapped(metadata: Option<&str>) -> String {
    let mut out = String::new();
    let mut reader = again(metadata.unwrap_or("{}"));
    let copied = object(&mut reader, &mut out, |entry, reader, out| {
        if entry.key == WRAPPED {
            return reader.skip().map(drop);
        }
        push_raw_key(out, entry.raw);
        copy(reader, out)
    });
    let mut out = match copied {
        Ok(()) => out,
        // No object: nothing of it could be read anyway.
        Err(_) => "{}".to_owned(),
    };
    out.pop();
    push_field(&mut out, WRAPPED);
    out.push_str("true}");
    out
}
