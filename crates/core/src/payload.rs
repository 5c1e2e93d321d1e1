//! What an agent produces and what a client gets: parts, seen as text, data and files.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use crate::json::ReadError;
use crate::part::{Part, PartKind};

/// Parts in an order, seen as `text`, `data` and `files`.
///
/// ```
/// use llamon_core::{Part, Payload};
/// let payload = Payload::new()
///     .with_text("two findings")
///     .with_part(Part::data(&["a", "b"])?);
/// assert_eq!(payload.text(), "two findings");
/// assert_eq!(payload.data().collect::<Vec<_>>(), [r#"["a","b"]"#]);
/// # Ok::<(), llamon_core::PayloadError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    parts: Vec<Part>,
}

impl Payload {
    /// A payload without parts. Does not allocate.
    pub const fn new() -> Self {
        Self { parts: Vec::new() }
    }

    /// The payload with a text part at its end.
    #[must_use]
    pub fn with_text(self, text: impl AsRef<str>) -> Self {
        self.with_part(Part::text(text))
    }

    /// The payload with a part at its end.
    #[must_use]
    pub fn with_part(mut self, part: Part) -> Self {
        if self.parts.is_empty() {
            // Most payloads have one part, and an answer is kept as it is.
            self.parts.reserve_exact(1);
        }
        self.parts.push(part);
        self
    }

    /// The payload with a data part at its end that holds `value`.
    ///
    /// # Errors
    /// When `value` cannot be JSON; see [`Part::data`].
    pub fn with_data(self, value: &(impl Serialize + ?Sized)) -> Result<Self, PayloadError> {
        Ok(self.with_part(Part::data(value)?))
    }

    /// The texts of all text parts, with nothing between them: chunks of a stream are joined as
    /// they were cut.
    pub fn text(&self) -> Cow<'_, str> {
        let mut texts = self.parts.iter().filter_map(Part::as_text);
        let Some(first) = texts.next() else {
            return Cow::Borrowed("");
        };
        let Some(second) = texts.next() else {
            return first;
        };
        let mut text = first.into_owned();
        text.push_str(&second);
        for more in texts {
            text.push_str(&more);
        }
        Cow::Owned(text)
    }

    /// The JSON texts of all data parts, in order, token for token as they were sent.
    pub fn data(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(Part::data_json)
    }

    /// All file parts, in order.
    pub fn files(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(|part| part.kind().is_file())
    }

    /// All parts, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// All parts, in order.
    pub fn into_parts(self) -> Vec<Part> {
        self.parts
    }

    /// Whether there are no parts.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Bytes of the JSON texts of all parts.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.json().len()).sum()
    }

    /// The parts as an answer counts them: text, then data, then files, each in its own order.
    #[must_use]
    pub fn into_answer_order(mut self) -> Self {
        let rank = |part: &Part| match part.kind() {
            PartKind::Text => 0,
            PartKind::Data => 1,
            PartKind::Raw | PartKind::Url => 2,
        };
        if !self.parts.is_sorted_by_key(rank) {
            self.parts.sort_by_key(rank);
        }
        self
    }

    pub(crate) fn reserve(&mut self, additional: usize) {
        self.parts.reserve(additional);
    }

    pub(crate) fn extend(&mut self, parts: impl IntoIterator<Item = Part>) {
        self.parts.extend(parts);
    }
}

impl From<Vec<Part>> for Payload {
    fn from(parts: Vec<Part>) -> Self {
        Self { parts }
    }
}

/// A data part made of any `T: Serialize`.
///
/// ```
/// use llamon_core::{IntoPayload, Json};
/// let payload = ("done", Json([1, 2])).into_payload()?;
/// assert_eq!(payload.parts().len(), 2);
/// # Ok::<(), llamon_core::PayloadError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// What can be an answer's payload: text, [`Json`], parts, and tuples of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an answer's payload",
    label = "expected text, `Json(value)`, `Part`, `Vec<Part>`, `Payload`, `()`, an `Option` or a tuple of these",
    note = "wrap a value that implements `Serialize` in `Json(...)` to send it as a data part"
)]
pub trait IntoPayload {
    /// Makes the payload.
    ///
    /// # Errors
    /// When a value cannot be JSON, a float that is not finite for instance.
    fn into_payload(self) -> Result<Payload, PayloadError>;
}

impl IntoPayload for Payload {
    fn into_payload(self) -> Result<Payload, PayloadError> {
        Ok(self)
    }
}

impl IntoPayload for () {
    fn into_payload(self) -> Result<Payload, PayloadError> {
        Ok(Payload::new())
    }
}

/// An empty text is no part at all.
impl IntoPayload for &str {
    fn into_payload(self) -> Result<Payload, PayloadError> {
        if self.is_empty() {
            return Ok(Payload::new());
        }
        Ok(Payload::new().with_text(self))
    }
}

impl IntoPayload for String {
    fn into_payload(self) -> Result<Payload, PayloadError> {
        self.as_str().into_payload()
    }
}

impl IntoPayload for &String {
    fn into_payload(self) -> Result<Payload, PayloadError> {
        self.as_str().into_payload()
    }
}

impl IntoPayload for Cow<'_, str> {
    fn into_payload(self) -> Result<Payload, PayloadError> {
        self.as_ref().into_payload()
    }
}

impl<T: Serialize> IntoPayload for Json<T> {
    fn into_payload(self) -> Result<Payload, PayloadError> {
        Payload::new().with_data(&self.0)
    }
}

impl IntoPayload for Part {
    fn into_payload(self) -> Result<Payload, PayloadError> {
        Ok(Payload::new().with_part(self))
    }
}

impl IntoPayload for Vec<Part> {
    fn into_payload(self) -> Result<Payload, PayloadError> {
        Ok(Payload::from(self))
    }
}

impl<T: IntoPayload> IntoPayload for Option<T> {
    fn into_payload(self) -> Result<Payload, PayloadError> {
        self.map_or_else(|| Ok(Payload::new()), IntoPayload::into_payload)
    }
}

macro_rules! tuples {
    ($($first:ident $($more:ident)*;)*) => {
        $(impl<$first: IntoPayload, $($more: IntoPayload),*> IntoPayload for ($first, $($more,)*) {
            fn into_payload(self) -> Result<Payload, PayloadError> {
                #[expect(non_snake_case, reason = "the type parameters name the fields")]
                let ($first, $($more,)*) = self;
                let mut payload = $first.into_payload()?;
                $(payload.extend($more.into_payload()?.into_parts());)*
                Ok(payload)
            }
        })*
    };
}

tuples! {
    A B;
    A B C;
    A B C D;
    A B C D E;
}

/// A payload that could not be made or read.
#[derive(Clone, PartialEq, Eq)]
pub struct PayloadError(String);

impl PayloadError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for PayloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PayloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PayloadError({})", self.0)
    }
}

impl std::error::Error for PayloadError {}

impl From<ReadError> for PayloadError {
    fn from(error: ReadError) -> Self {
        Self(format!("the part cannot be made: {error}"))
    }
}
