//! Where the command writes: what was asked for to standard output, everything else to standard
//! error.

use std::io::{self, IsTerminal, Write};

use crate::error::CliError;
use crate::text::clean;

/// The width that is assumed where there is no terminal.
const DEFAULT_WIDTH: usize = 100;

/// Standard output and standard error.
#[derive(Debug, Default)]
pub(crate) struct Out {
    /// Whether the last line of standard output is not ended yet.
    mid_line: bool,
}

impl Out {
    /// Writes to standard output as it is: JSON, which nobody's eyes read first.
    pub(crate) fn raw(&mut self, text: &str) -> Result<(), CliError> {
        let mut stdout = io::stdout().lock();
        stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush())
            .map_err(|error| CliError::of_stdout(&error))?;
        if !text.is_empty() {
            self.mid_line = !text.ends_with('\n');
        }
        Ok(())
    }

    /// Writes to standard output, cleaned.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), CliError> {
        self.raw(&clean(text))
    }

    /// Writes to standard output, cleaned, and ends the line if the text does not.
    pub(crate) fn line(&mut self, text: &str) -> Result<(), CliError> {
        let mut line = clean(text).into_owned();
        if !line.ends_with('\n') {
            line.push('\n');
        }
        self.raw(&line)
    }

    /// Ends the line that was begun, if one was.
    pub(crate) fn end_line(&mut self) -> Result<(), CliError> {
        if self.mid_line {
            return self.raw("\n");
        }
        Ok(())
    }

    /// Says something on standard error, cleaned.
    pub(crate) fn note(&mut self, text: &str) {
        let both_seen = io::stdout().is_terminal() && io::stderr().is_terminal();
        let gap = if self.mid_line && both_seen { "\n" } else { "" };
        let note = format!("{gap}{}\n", clean(text));
        // Nobody is left to hear of a failure here.
        let _ = io::stderr().lock().write_all(note.as_bytes());
    }
}

/// Whether standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether standard error is a terminal.
pub(crate) fn is_error_terminal() -> bool {
    io::stderr().is_terminal()
}

/// The columns that standard output has.
pub(crate) fn width() -> usize {
    if !is_terminal() {
        return DEFAULT_WIDTH;
    }
    terminal_size::terminal_size().map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0))
}
