use std::fmt;

/// A key that cannot be used. It never has the key's secret in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError(String);

impl KeyError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for KeyError {}

/// A card that could not be signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignError(String);

impl SignError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for SignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SignError {}

/// A card that is not to be trusted: why, for each of its signatures.
///
/// Texts from the card are quoted and cut to 80 characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    unsigned: bool,
    message: String,
}

impl VerifyError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            unsigned: false,
            message: message.into(),
        }
    }

    pub(super) fn unsigned() -> Self {
        Self {
            unsigned: true,
            message: "the agent card is not signed, and a signature by a trusted key is required"
                .into(),
        }
    }

    /// Whether the card has no signature at all.
    pub fn is_unsigned(&self) -> bool {
        self.unsigned
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for VerifyError {}
