use std::fmt;
use std::time::{Duration, SystemTime};

use crate::json::ReadError;

/// A moment, in whole microseconds of UTC; on the wire ISO 8601 with `Z`.
///
/// ```
/// use llamon_core::Timestamp;
/// let at = Timestamp::parse("2026-03-01T12:00:00.250+01:00")?;
/// assert_eq!(at.to_string(), "2026-03-01T11:00:00.250Z");
/// # Ok::<(), llamon_core::json::ReadError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// `micros` microseconds after 1970-01-01T00:00:00Z.
    pub fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds after 1970-01-01T00:00:00Z.
    pub fn as_micros(self) -> i64 {
        self.0
    }

    /// Reads an ISO 8601 date and time with `Z` or an offset.
    ///
    /// # Errors
    /// When it is not one.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        text.parse::<jiff::Timestamp>()
            .map(|at| Self(at.as_microsecond()))
            .map_err(|_| {
                let shown: String = text.chars().take(40).collect();
                ReadError::invalid(format!(
                    "expected a time such as 2026-03-01T12:00:00Z, found {shown:?}"
                ))
            })
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let micros = |duration: Duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => Self(micros(after)),
            Err(before) => Self(-micros(before.duration())),
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The wire has milliseconds, as the specification's examples.
        let millis = self.0.div_euclid(1_000);
        match jiff::Timestamp::from_millisecond(millis) {
            Ok(at) => write!(f, "{at:.3}"),
            Err(_) => f.write_str("1970-01-01T00:00:00.000Z"),
        }
    }
}
