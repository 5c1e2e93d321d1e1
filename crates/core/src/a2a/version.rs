use std::fmt;

/// A version of the protocol, as `A2A-Version` and the card's interfaces name it: major and minor
/// number (section 3.6).
///
/// ```
/// use llamon_core::a2a::ProtocolVersion;
/// assert_eq!(ProtocolVersion::parse("1.0.1"), Some(ProtocolVersion::V1_0));
/// // A client that names none speaks 0.3.
/// assert_eq!(ProtocolVersion::parse(""), Some(ProtocolVersion::V0_3));
/// assert_eq!(ProtocolVersion::parse("1.1"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProtocolVersion {
    /// 1.0.
    V1_0,
    /// 0.3.
    V0_3,
}

impl ProtocolVersion {
    const ALL: [Self; 2] = [Self::V1_0, Self::V0_3];

    /// The version that `text` names; empty is 0.3, and a patch number does not count. `None` for
    /// one that is not known here, and for what is no version.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() {
            return Some(Self::V0_3);
        }
        Self::ALL.into_iter().find(|version| {
            let patch = text.strip_prefix(version.as_str());
            patch.is_some_and(|patch| patch.is_empty() || is_patch(patch))
        })
    }

    /// Major and minor number.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1_0 => super::PROTOCOL_VERSION,
            Self::V0_3 => "0.3",
        }
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether `text` is a dot and a number.
fn is_patch(text: &str) -> bool {
    let number = text.strip_prefix('.').unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::ProtocolVersion::{self, V0_3, V1_0};

    #[test]
    fn major_and_minor_number_decide() {
        for (text, expected) in [
            ("1.0", Some(V1_0)),
            (" 1.0 ", Some(V1_0)),
            ("1.0.1", Some(V1_0)),
            ("0.3", Some(V0_3)),
            ("0.3.26", Some(V0_3)),
            ("", Some(V0_3)),
            ("1", None),
            ("1.1", None),
            ("1.0.", None),
            ("1.0.x", None),
            ("1.0.0.0", None),
            ("1.00", None),
            ("10.0", None),
            ("0.2", None),
            ("one", None),
        ] {
            assert_eq!(ProtocolVersion::parse(text), expected, "{text:?}");
        }
    }
}
