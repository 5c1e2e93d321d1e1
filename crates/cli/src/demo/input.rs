use std::path::{Path, PathBuf};

use cargo_lock::Lockfile;

use crate::attach;
use crate::checkout;
use crate::error::CliError;
use crate::text::{clean_line, size};

/// Larger files would exceed the agents' limits on the way: base64 adds a third, and under
/// `append` the file travels beside what was made of it.
const MAX_BYTES: usize = 4_000_000;

/// This repository's lock file, for a command that outlived its checkout.
const EMBEDDED: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock"));

/// The lock file that the chain works on.
#[derive(Debug)]
pub(crate) struct Input {
    /// What it is called in what is printed.
    pub(super) shown: String,
    /// Where it is; `None` when it came with the command.
    pub(super) path: Option<PathBuf>,
    pub(super) bytes: Vec<u8>,
}

impl Input {
    /// Reads the file at `path`, or this repository's own lock file.
    pub(crate) fn load(path: Option<&Path>) -> Result<Self, CliError> {
        let Some(path) = path else {
            return Ok(Self::own());
        };
        let bytes = attach::read(path)?;
        check(path, &bytes)?;
        Ok(Self {
            shown: path.display().to_string(),
            path: Some(path.to_owned()),
            bytes,
        })
    }

    fn own() -> Self {
        let path = checkout::lock_file().and_then(|path| path.canonicalize().ok());
        let bytes = path.as_deref().and_then(|path| std::fs::read(path).ok());
        match (path, bytes) {
            (Some(path), Some(bytes)) if check(&path, &bytes).is_ok() => Self {
                shown: path.display().to_string(),
                path: Some(path),
                bytes,
            },
            _ => Self {
                shown: "the Cargo.lock that llamon was built with".to_owned(),
                path: None,
                bytes: EMBEDDED.as_bytes().to_vec(),
            },
        }
    }
}

fn check(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let wrong = |reason: String| {
        let shown = clean_line(&path.display().to_string());
        CliError::usage(format!("the file {shown} {reason}"))
            .with_next("give a Cargo.lock with --input, or leave --input out")
    };
    if bytes.len() > MAX_BYTES {
        return Err(wrong(format!(
            "has {}, and the demo takes {}",
            size(bytes.len()),
            size(MAX_BYTES)
        )));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| wrong("is no text".to_owned()))?;
    let lock: Lockfile = text.parse().map_err(|error: cargo_lock::Error| {
        wrong(format!("is no Cargo.lock: {}", first_and_last_line(&error)))
    })?;
    if lock.packages.is_empty() {
        return Err(wrong("has no packages in it".to_owned()));
    }
    Ok(())
}

/// What a TOML error says, without the picture of the line between where and what.
fn first_and_last_line(error: &cargo_lock::Error) -> String {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let line = match lines.next_back() {
        Some(last) => format!("{first}: {last}"),
        None => first.to_owned(),
    };
    clean_line(&line)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{EMBEDDED, check};

    #[test]
    fn what_is_embedded_is_a_lock_file() {
        assert!(check(Path::new("Cargo.lock"), EMBEDDED.as_bytes()).is_ok());
    }

    #[test]
    fn what_is_no_lock_file_is_a_usage_error_that_says_why() {
        let huge = format!("#{}", "x".repeat(super::MAX_BYTES));
        let wrong: [(&[u8], &str); 4] = [
            (b"[package]\nname = 3", "is no Cargo.lock"),
            (b"\xff", "is no text"),
            (b"version = 4\n", "packages"),
            (huge.as_bytes(), "the demo takes 4.0 MB"),
        ];
        for (bytes, reason) in wrong {
            let error = check(Path::new("a.lock"), bytes).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
            assert_eq!(error.exit().code(), 2);
            assert!(error.next().is_some());
        }
    }
}
