use std::borrow::Cow;
use std::fmt;

/// Why a JSON text could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The text is not JSON (RFC 8259) or not UTF-8.
    Syntax,
    /// The text is JSON but nests deeper than the limit.
    Depth,
    /// A size or count limit is exceeded.
    Limit,
    /// The text is JSON, but a field has the wrong type, is given twice or is missing.
    Invalid,
}

/// A JSON text that could not be read: where, and what is wrong there.
///
/// The path names the field as the specification spells it (`message.parts[2].metadata`).
#[derive(Clone, PartialEq, Eq)]
pub struct ReadError(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ReadErrorKind,
    // Innermost first: the path grows while the error travels outwards.
    path: Vec<Cow<'static, str>>,
    offset: Option<usize>,
    message: String,
}

impl ReadError {
    /// An error of `kind` saying `message`, a lower-case fragment.
    pub fn new(kind: ReadErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            path: Vec::new(),
            offset: None,
            message: message.into(),
        }))
    }

    /// An error about a field's value: wrong type, missing, or given twice.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ReadErrorKind::Invalid, message)
    }

    pub(crate) fn at(kind: ReadErrorKind, offset: usize, message: impl Into<String>) -> Self {
        let mut error = Self::new(kind, message);
        error.0.offset = Some(offset);
        error
    }

    /// The same error, one level further out.
    #[must_use]
    pub fn within(mut self, field: impl Into<Cow<'static, str>>) -> Self {
        self.0.path.push(field.into());
        self
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ReadErrorKind {
        self.0.kind
    }

    /// The field's path, `""` at the top.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for segment in self.0.path.iter().rev() {
            if !path.is_empty() && !segment.starts_with('[') {
                path.push('.');
            }
            path.push_str(segment);
        }
        path
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path();
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        f.write_str(&self.0.message)?;
        if let Some(offset) = self.0.offset {
            write!(f, " (at byte {offset})")?;
        }
        Ok(())
    }
}

impl fmt::Debug for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadError({:?}: {self})", self.kind())
    }
}

impl std::error::Error for ReadError {}
