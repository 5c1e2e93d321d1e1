//! Answers for people.

use llamon_agent::core::{Part, PartKind, Payload};

use crate::error::CliError;
use crate::out::Out;
use crate::text::{clean_line, size};

/// Prints the text, then data and files.
pub(crate) fn payload(payload: &Payload, out: &mut Out) -> Result<(), CliError> {
    let text = payload.text();
    if !text.is_empty() {
        out.line(&text)?;
    }
    data_and_files(payload, out)
}

/// Prints each data part's JSON text, and what there is to know of each file, one a line.
pub(crate) fn data_and_files(payload: &Payload, out: &mut Out) -> Result<(), CliError> {
    for (index, json) in payload.data().enumerate() {
        out.line(&format!("data[{index}] {json}"))?;
    }
    for (index, file) in payload.files().enumerate() {
        out.line(&format!("files[{index}] {}", describe(file)))?;
    }
    Ok(())
}

fn describe(file: &Part) -> String {
    let name = file.filename().unwrap_or("(no name)".into());
    let media_type = file.media_type().unwrap_or("(no type)".into());
    let content = match file.kind() {
        PartKind::Url => file.url().unwrap_or_default().into_owned(),
        _ => match file.file_content() {
            Ok(bytes) => size(bytes.len()),
            Err(error) => error.to_string(),
        },
    };
    clean_line(&format!("{name}  {media_type}  {content}"))
}
