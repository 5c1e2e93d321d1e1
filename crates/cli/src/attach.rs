//! Parts made of what the command line names.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;

use llamon_agent::core::Part;

use crate::error::CliError;
use crate::text::clean_line;

/// Media types of the files that agents are sent most. What is not here is text if it is UTF-8.
const MEDIA_TYPES: [(&str, &str); 32] = [
    ("avif", "image/avif"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    (
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("lock", "text/plain"),
    ("m4a", "audio/mp4"),
    ("md", "text/markdown"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    (
        "pptx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("toml", "application/toml"),
    ("txt", "text/plain"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("zip", "application/zip"),
];

/// A data part of `--data`: a JSON text, or `@` and the name of a file that has one.
pub(crate) fn data(argument: &str) -> Result<Part, CliError> {
    let Some(path) = argument.strip_prefix('@') else {
        return Part::data_from_json(argument).map_err(|error| {
            CliError::usage(format!("--data is not a JSON value: {error}"))
                .with_next("quote it for the shell, as in --data '{\"n\":3}', or use --data @FILE")
        });
    };
    let json = read_text(
        Path::new(path),
        "JSON is UTF-8; send the file as it is with --file",
    )?;
    Part::data_from_json(json).map_err(|error| {
        CliError::usage(format!(
            "the file {} is not a JSON value: {error}",
            clean_line(path)
        ))
        .with_next("correct it, or send the file as it is with --file")
    })
}

/// A file part with the file's bytes, its name and a media type that was guessed.
pub(crate) fn file(path: &Path) -> Result<Part, CliError> {
    let bytes = read(path)?;
    let media_type = media_type(path, &bytes);
    let name = path.file_name().unwrap_or(path.as_os_str());
    Ok(Part::file_bytes(bytes)
        .with_filename(name.to_string_lossy())
        .with_media_type(media_type))
}

/// All of standard input, as text.
pub(crate) fn standard_input() -> Result<String, CliError> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).map_err(|error| {
        CliError::usage(format!("standard input is no text: {error}"))
            .with_next("send bytes with --file")
    })?;
    Ok(text)
}

/// The bytes of a file that the command line names.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    std::fs::read(path).map_err(|error| {
        CliError::usage(format!(
            "the file {} cannot be read: {error}",
            path.display()
        ))
        .with_next("check the path")
    })
}

/// The text of a file that the command line names; `next` is for one that is none.
pub(crate) fn read_text(path: &Path, next: &str) -> Result<String, CliError> {
    let mut text = String::from_utf8(read(path)?).map_err(|error| {
        CliError::usage(format!(
            "the file {} is not UTF-8: {error}",
            clean_line(&path.to_string_lossy())
        ))
        .with_next(next)
    })?;
    // Editors of some platforms put a byte order mark before the first token.
    let marks = text.len() - text.trim_start_matches('\u{feff}').len();
    text.drain(..marks);
    Ok(text)
}

fn media_type(path: &Path, bytes: &[u8]) -> &'static str {
    let extension = path
        .extension()
        .and_then(OsStr::to_str)
        .map(str::to_ascii_lowercase);
    let known = MEDIA_TYPES
        .iter()
        .find(|(name, _)| Some(*name) == extension.as_deref());
    if let Some((_, media_type)) = known {
        return media_type;
    }
    let is_text = std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0);
    if is_text {
        "text/plain"
    } else {
        "application/octet-stream"
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{MEDIA_TYPES, data, media_type};

    #[test]
    fn media_types_are_guessed_by_name_and_then_by_content() {
        let of = |name: &str, bytes: &[u8]| media_type(Path::new(name), bytes);
        assert_eq!(of("a/Photo.JPG", b""), "image/jpeg");
        assert_eq!(of("Cargo.lock", b"\0"), "text/plain");
        assert_eq!(of("Makefile", "안녕".as_bytes()), "text/plain");
        assert_eq!(of("core.1234", b"\x7fELF\0"), "application/octet-stream");
        assert_eq!(of("noise", &[0xff]), "application/octet-stream");
        assert!(MEDIA_TYPES.is_sorted());
    }

    #[test]
    fn data_keeps_its_tokens() {
        let json = r#"{"n":9007199254740993,"n":1.0,"e":1e400}"#;
        assert_eq!(data(json).unwrap().data_json(), Some(json));
        let error = data("{n:3}").unwrap_err();
        assert_eq!(error.exit().code(), 2);
        assert!(error.next().unwrap().contains("quote"));
    }
}
