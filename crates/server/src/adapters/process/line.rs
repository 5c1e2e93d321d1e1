//! The lines between server and program.

use bytestring::ByteString;
use llamon_core::json::{ReadError, Reader, Seen, compact, push_string};
use llamon_core::{Limits, Part, Payload};

use crate::adapter::AdapterRequest;

/// Levels that a line nests deeper than the parts in it.
const LINE_LEVELS: u32 = 2;

/// What a program says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    Status(String),
    Emit(Payload),
    Done(Payload),
    Keep,
    Ask(Payload),
    Error(String),
}

/// The line that a program gets for a request, with its end.
pub(super) fn request_line(id: &str, request: &AdapterRequest<'_>) -> String {
    let upstream = request.upstream().parts();
    let bytes: usize = upstream.iter().map(|part| part.json().len()).sum();
    let mut line = String::with_capacity(bytes + request.query().len() + 256);
    line.push_str("{\"id\":");
    push_string(&mut line, id);
    line.push_str(",\"query\":");
    push_string(&mut line, request.query());
    line.push_str(",\"upstream\":");
    push_list(&mut line, upstream.iter().map(Part::json));
    push_inputs(&mut line, request);
    line.push_str(",\"taskId\":");
    push_string(&mut line, request.task_id());
    line.push_str(",\"contextId\":");
    push_string(&mut line, request.context_id());
    line.push_str(&format!(
        ",\"turn\":{},\"attempt\":{}",
        request.number(),
        request.attempt()
    ));
    if let Some(metadata) = request.request_metadata() {
        line.push_str(",\"metadata\":");
        line.push_str(metadata);
    }
    if !request.history().is_empty() {
        line.push_str(",\"history\":");
        let messages = request.history().iter().map(|message| {
            let mut text = String::new();
            message.write(&mut text);
            text
        });
        push_list(&mut line, messages);
    }
    line.push('}');
    if line.contains(['\n', '\r']) {
        line = compact(&line);
    }
    line.push('\n');
    line
}

/// Appends what the input contracts selected.
fn push_inputs(line: &mut String, request: &AdapterRequest<'_>) {
    let mut defaults = String::new();
    line.push_str(",\"inputs\":{");
    for (index, (name, input)) in request.inputs().iter().enumerate() {
        if index > 0 {
            line.push(',');
        }
        push_string(line, name);
        line.push(':');
        let values = input.items().iter().map(|item| {
            // A file is of little use without its name and media type.
            if item.part().kind().is_file() {
                item.part().json()
            } else {
                item.json()
            }
        });
        push_list(line, values);
        if let (true, Some(default)) = (input.items().is_empty(), input.json()) {
            defaults.push_str(if defaults.is_empty() { "" } else { "," });
            push_string(&mut defaults, name);
            defaults.push(':');
            defaults.push_str(default);
        }
    }
    line.push('}');
    if !defaults.is_empty() {
        line.push_str(",\"defaults\":{");
        line.push_str(&defaults);
        line.push('}');
    }
}

fn push_list(line: &mut String, texts: impl Iterator<Item = impl AsRef<str>>) {
    line.push('[');
    for (index, text) in texts.enumerate() {
        if index > 0 {
            line.push(',');
        }
        line.push_str(text.as_ref());
    }
    line.push(']');
}

/// A line of a program: the request that it is about, and what it says.
///
/// # Errors
/// Why it is no line of the protocol, without its content.
pub(super) fn read_line(line: &ByteString) -> Result<(String, Said), ReadError> {
    let depth = Limits::default().max_json_depth + LINE_LEVELS;
    let mut reader = Reader::of_str(line, depth);
    let mut id = None;
    let mut said: Option<(&'static str, Said)> = None;
    let mut seen = Seen::default();
    let mut object = reader.object()?;
    while let Some(key) = reader.key(&mut object)? {
        let (name, index) = match &*key {
            "id" => {
                seen.mark(0, "id")?;
                let text = reader.string().map_err(|e| e.within("id"))?;
                id = Some(text.into_owned());
                continue;
            }
            "status" => ("status", 1),
            "emit" => ("emit", 2),
            "done" => ("done", 3),
            "keep" => ("keep", 4),
            "ask" => ("ask", 5),
            "error" => ("error", 6),
            _ => {
                reader.skip()?;
                continue;
            }
        };
        seen.mark(index, name)?;
        let read = read_said(name, &mut reader, line).map_err(|e| e.within(name))?;
        if let Some((before, _)) = said.replace((name, read)) {
            return Err(ReadError::invalid(format!(
                "has both {before} and {name}; a line says one thing"
            )));
        }
    }
    reader.end()?;
    let id = id.ok_or_else(|| {
        ReadError::invalid("has no id; each line repeats the id of the request that it is about")
    })?;
    let (_, said) = said.ok_or_else(|| {
        ReadError::invalid("says nothing; there are status, emit, done, keep, ask and error")
    })?;
    Ok((id, said))
}

fn read_said(name: &str, reader: &mut Reader<'_>, line: &ByteString) -> Result<Said, ReadError> {
    Ok(match name {
        "status" => Said::Status(reader.string()?.into_owned()),
        "emit" => Said::Emit(read_payload(reader, line)?),
        "done" => Said::Done(read_payload(reader, line)?),
        "ask" => Said::Ask(read_payload(reader, line)?),
        "error" => Said::Error(reader.string()?.into_owned()),
        _ => match reader.optional_bool()? {
            Some(true) => Said::Keep,
            _ => {
                return Err(ReadError::invalid(
                    "is not true; leave it out, or send done",
                ));
            }
        },
    })
}

/// A string, a part or a list of parts.
fn read_payload(reader: &mut Reader<'_>, line: &ByteString) -> Result<Payload, ReadError> {
    let read_part = |reader: &mut Reader<'_>| {
        let part = Part::read(reader, line)?;
        Ok::<_, ReadError>(part.detached_from(line.len()))
    };
    match reader.peek() {
        Some(b'"') => Ok(Payload::new().with_text(reader.string()?)),
        Some(b'[') => {
            let mut parts = Vec::new();
            let mut array = reader.array()?;
            while reader.element(&mut array)? {
                let index = parts.len();
                parts.push(read_part(reader).map_err(|e| e.within(format!("[{index}]")))?);
            }
            Ok(Payload::from(parts))
        }
        Some(b'{') => Ok(Payload::new().with_part(read_part(reader)?)),
        _ => Err(reader.wrong_type("a text, a part or a list of parts")),
    }
}

#[cfg(test)]
mod tests {
    use llamon_core::{Part, Payload};

    use super::{Said, read_line};

    fn read(line: &str) -> Result<(String, Said), String> {
        read_line(&line.to_owned().into()).map_err(|error| error.to_string())
    }

    #[test]
    fn parts_keep_their_tokens() {
        let part = r#"{"data":{"n":1e400,"n":1.0,"s":"\ud800"},"x":true}"#;
        let parts = Payload::from(vec![
            Part::from_json(part).unwrap(),
            Part::from_json(r#"{"raw":"b3du"}"#).unwrap(),
        ]);
        let line = format!(r#"{{ "id" : "1", "done": [{part} , {{"raw":"b3du"}}] }}"#);
        assert_eq!(read(&line), Ok(("1".to_owned(), Said::Done(parts))));
        let one = Payload::from(vec![Part::from_json(part).unwrap()]);
        let line = format!(r#"{{"emit":{part},"id":"1","other":[1]}}"#);
        assert_eq!(read(&line), Ok(("1".to_owned(), Said::Emit(one))));
        let text = Payload::new().with_text("a\nb");
        let line = r#"{"id":"1","ask":"a\nb"}"#;
        assert_eq!(read(line), Ok(("1".to_owned(), Said::Ask(text))));
    }

    #[test]
    fn what_is_no_line_of_the_protocol_says_why() {
        let cases = [
            ("", "expected"),
            ("Traceback (most recent call last):", "expected an object"),
            ("[]", "expected an object"),
            (r#"{"id":"1"}"#, "says nothing"),
            (r#"{"done":[]}"#, "has no id"),
            (r#"{"id":1,"done":[]}"#, "id: expected a string"),
            (r#"{"id":"1","done":[],"keep":true}"#, "both done and keep"),
            (r#"{"id":"1","done":[],"done":[]}"#, "given twice"),
            (r#"{"id":"1","keep":false}"#, "is not true"),
            (r#"{"id":"1","emit":7}"#, "emit: expected a text, a part"),
            (r#"{"id":"1","done":[{"text":"a"},{}]}"#, "[1]"),
            (r#"{"id":"1","done":[]} x"#, "the end"),
            (r#"{"id":"1","status":null}"#, "status: expected a string"),
        ];
        for (line, reason) in cases {
            let error = read(line).unwrap_err();
            assert!(error.contains(reason), "{line}: {error}");
        }
    }
}
