use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use crate::payload::Payload;
use crate::upstream::Upstream;

/// What an answer keeps of the upstream data and file parts.
///
/// It changes what the response keeps, never what the agent reads. Each server decides for
/// itself, and the value is published nowhere.
///
/// ```
/// use llamon_core::UpstreamPartsPolicy;
/// assert_eq!("append".parse(), Ok(UpstreamPartsPolicy::Append));
/// let error = UpstreamPartsPolicy::try_from("Append").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the upstream parts policy \"Append\" is unknown; it takes exactly \"replace\" or \"append\"",
/// );
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UpstreamPartsPolicy {
    /// The answer is what the agent produced.
    #[default]
    Replace,
    /// The answer is what the agent produced, then every upstream data and file part.
    Append,
}

impl UpstreamPartsPolicy {
    /// The value's name, `replace` or `append`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::Append => "append",
        }
    }
}

impl fmt::Display for UpstreamPartsPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for UpstreamPartsPolicy {
    type Err = PolicyError;

    fn from_str(value: &str) -> Result<Self, PolicyError> {
        match value {
            "replace" => Ok(Self::Replace),
            "append" => Ok(Self::Append),
            other => Err(PolicyError(other.to_owned())),
        }
    }
}

impl TryFrom<&str> for UpstreamPartsPolicy {
    type Error = PolicyError;

    fn try_from(value: &str) -> Result<Self, PolicyError> {
        value.parse()
    }
}

impl TryFrom<String> for UpstreamPartsPolicy {
    type Error = PolicyError;

    fn try_from(value: String) -> Result<Self, PolicyError> {
        value.parse()
    }
}

impl TryFrom<&String> for UpstreamPartsPolicy {
    type Error = PolicyError;

    fn try_from(value: &String) -> Result<Self, PolicyError> {
        value.parse()
    }
}

/// A policy value that is neither `replace` nor `append`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError(String);

impl PolicyError {
    /// The value that was given.
    pub fn value(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the upstream parts policy {:?} is unknown; it takes exactly \"replace\" or \"append\"",
            self.0
        )
    }
}

impl std::error::Error for PolicyError {}

/// So that the enum itself is accepted wherever a string is.
impl From<Infallible> for PolicyError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// The response of a turn that produced `current` and was sent `upstream`.
///
/// Under `replace` that is `current`. Under `append` it is `current`, then every upstream part in
/// arrival order: nothing is deduplicated, nothing reordered, and `current` stays in front.
/// Returns before it allocates anything when upstream is empty.
///
/// ```
/// use llamon_core::{Part, Payload, Upstream, UpstreamPartsPolicy, compose};
/// let upstream = Upstream::of(&[Part::data(&"A")?]);
/// let current = Payload::new().with_data(&"B")?;
/// let response = compose(current, &upstream, UpstreamPartsPolicy::Append);
/// assert_eq!(response.data().collect::<Vec<_>>(), [r#""B""#, r#""A""#]);
/// # Ok::<(), llamon_core::PayloadError>(())
/// ```
#[must_use]
pub fn compose(current: Payload, upstream: &Upstream, policy: UpstreamPartsPolicy) -> Payload {
    if policy == UpstreamPartsPolicy::Replace || upstream.is_empty() {
        return current;
    }
    let mut response = current;
    response.reserve(upstream.len());
    response.extend(upstream.parts().iter().cloned());
    response
}
