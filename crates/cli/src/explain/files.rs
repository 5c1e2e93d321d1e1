use std::path::Path;

use bytestring::ByteString;
use llamon_agent::contracts::{ContractError, InputContracts};
use llamon_agent::core::json::{ReadError, Reader};
use llamon_agent::core::{MAX_JSON_DEPTH_CEILING, Part, Payload};
use serde_json::value::RawValue;

use crate::attach;
use crate::error::CliError;
use crate::text::clean_line;

/// Reads a document of contracts. They are not compiled yet.
pub(super) fn contracts(path: &Path) -> Result<InputContracts, CliError> {
    let text = attach::read_text(path, "YAML and JSON are UTF-8")?;
    let is_named_json = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    // JSON is YAML, but a reader of JSON knows better where it goes wrong.
    let contracts = if is_named_json || serde_json::from_str::<&RawValue>(&text).is_ok() {
        InputContracts::from_json(&text)
    } else {
        InputContracts::from_yaml(&text)
    };
    contracts.map_err(|error| bad_contracts(path, &error))
}

/// The error for contracts that are none.
pub(super) fn bad_contracts(path: &Path, error: &ContractError) -> CliError {
    CliError::usage(format!("the file {}: {error}", shown(path)))
        .with_next("correct it; a contract is {name, kind, select, schema, ...}")
}

/// Reads the parts of a message.
pub(super) fn message(path: &Path) -> Result<Vec<Part>, CliError> {
    let parts = parts(path, Outermost::Request)?;
    if parts.is_empty() {
        let message = format!("the file {} is a message without parts", shown(path));
        return Err(CliError::usage(message).with_next("add a part; an agent is never sent none"));
    }
    Ok(parts)
}

/// Reads what an agent produces, in the order in which an answer has it.
pub(super) fn current(path: &Path) -> Result<Payload, CliError> {
    let parts = parts(path, Outermost::Message)?;
    Ok(Payload::from(parts).into_answer_order())
}

/// What an object may be, besides being an array of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outermost {
    /// `{"message": {"parts": [...]}}`, or what a message may be.
    Request,
    /// `{"parts": [...]}`.
    Message,
}

fn parts(path: &Path, outermost: Outermost) -> Result<Vec<Part>, CliError> {
    let next = match outermost {
        Outermost::Request => "a message is {\"parts\":[...]}, a request around it, or the array",
        Outermost::Message => "what an agent produces is [...] or {\"parts\":[...]}",
    };
    let source = ByteString::from(attach::read_text(path, "JSON is UTF-8")?);
    // As deep as any server can be told to accept.
    let mut reader = Reader::of_str(&source, MAX_JSON_DEPTH_CEILING);
    read_outermost(&mut reader, &source, outermost)
        .and_then(|parts| reader.end().map(|()| parts))
        .map_err(|error| {
            CliError::usage(format!("the file {}: {error}", shown(path))).with_next(next)
        })
}

fn read_outermost(
    reader: &mut Reader<'_>,
    source: &ByteString,
    outermost: Outermost,
) -> Result<Vec<Part>, ReadError> {
    if reader.peek() == Some(b'[') {
        return read_parts(reader, source);
    }
    let mut found = None;
    let mut object = reader.object()?;
    while let Some(key) = reader.key(&mut object)? {
        let read = match (&*key, outermost) {
            ("parts", _) => read_parts(reader, source),
            ("message", Outermost::Request) => read_outermost(reader, source, Outermost::Message),
            _ => {
                reader
                    .skip()
                    .map_err(|error| error.within(key.into_owned()))?;
                continue;
            }
        };
        let parts = read.map_err(|error| error.within(key.clone().into_owned()))?;
        if found.replace(parts).is_some() {
            let message = "gives parts for a second time; which of them counts?";
            return Err(ReadError::invalid(message).within(key.into_owned()));
        }
    }
    found.ok_or_else(|| ReadError::invalid("has no parts"))
}

fn read_parts(reader: &mut Reader<'_>, source: &ByteString) -> Result<Vec<Part>, ReadError> {
    let mut parts = Vec::new();
    let mut array = reader.array()?;
    while reader.element(&mut array)? {
        let part = Part::read(reader, source)
            .map_err(|error| error.within(format!("[{}]", parts.len())))?;
        parts.push(part);
    }
    Ok(parts)
}

fn shown(path: &Path) -> String {
    clean_line(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use bytestring::ByteString;
    use llamon_agent::core::json::Reader;

    use super::{Outermost, read_outermost};

    fn read(json: &str, outermost: Outermost) -> Result<Vec<String>, String> {
        let source = ByteString::from(json);
        let mut reader = Reader::of_str(&source, 100);
        let parts = read_outermost(&mut reader, &source, outermost).map_err(|e| e.to_string())?;
        Ok(parts.iter().map(|part| part.json().to_owned()).collect())
    }

    #[test]
    fn parts_are_found_in_every_form_of_a_message() {
        let parts = r#"[{"data":{"n":1.0,"n":1e400}},{"text":"\u00e9"}]"#;
        let expected = [r#"{"data":{"n":1.0,"n":1e400}}"#, r#"{"text":"\u00e9"}"#];
        let forms = [
            parts.to_owned(),
            format!(r#"{{"parts":{parts}}}"#),
            format!(r#"{{"messageId":"1","role":"ROLE_USER","parts":{parts}}}"#),
            format!(r#" {{"tenant":"","message":{{"parts":{parts},"role":"ROLE_USER"}}}}"#),
        ];
        for form in &forms {
            assert_eq!(read(form, Outermost::Request).unwrap(), expected, "{form}");
        }
        assert!(read(&forms[3], Outermost::Message).is_err());
        assert_eq!(read(&forms[1], Outermost::Message).unwrap(), expected);
        assert_eq!(read("[]", Outermost::Request).unwrap(), [""; 0]);
    }

    #[test]
    fn an_error_says_where() {
        let wrong = [
            ("7", "expected an object"),
            ("{}", "has no parts"),
            (r#"{"data":1}"#, "has no parts"),
            (r#"{"parts":[{"text":1}]}"#, "parts[0].text: "),
            (r#"{"message":{"parts":[{}]}}"#, "message.parts[0]: "),
            (r#"{"parts":[],"message":{"parts":[]}}"#, "message: gives"),
            (r#"{"parts":[{"data":}]}"#, "(at byte 18)"),
        ];
        for (json, expected) in wrong {
            let error = read(json, Outermost::Request).unwrap_err();
            assert!(error.contains(expected), "{json}: {error}");
        }
    }
}
