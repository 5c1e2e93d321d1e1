use std::fmt;

use bytes::Bytes;

use super::error::EgressError;
use super::http::root_cause;

/// A body's first allocation at most, whatever length its head claims.
const FIRST_ALLOCATION: usize = 1024 * 1024;

/// Headers that say how an answer is to be read, how long it is good, or when to come again.
const KEPT: &[&str] = &[
    "age",
    "cache-control",
    "content-type",
    "date",
    "etag",
    "expires",
    "last-modified",
    "location",
    "retry-after",
];

/// A whole answer, within its size.
#[derive(Clone)]
pub struct BoundedResponse {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
}

impl BoundedResponse {
    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Whether the status is one of 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The first header of this name, in lower case: `age`, `cache-control`, `content-type`,
    /// `date`, `etag`, `expires`, `last-modified`, `location` and `retry-after` are kept, where
    /// they are UTF-8.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(known, _)| *known == name)?;
        Some(value)
    }

    /// The body.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The body, without the rest.
    pub fn into_body(self) -> Bytes {
        self.body
    }
}

impl fmt::Debug for BoundedResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundedResponse")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

pub(super) async fn read(
    response: reqwest::Response,
    shown: &str,
    max: usize,
) -> Result<BoundedResponse, EgressError> {
    let kept = |name: &&'static str| {
        let value = response.headers().get(*name)?;
        let value = str::from_utf8(value.as_bytes()).ok()?;
        Some((*name, value.to_owned()))
    };
    Ok(BoundedResponse {
        status: response.status().as_u16(),
        headers: KEPT.iter().filter_map(kept).collect(),
        body: body(response, shown, max).await?.into(),
    })
}

/// Reads a body that may have `max` bytes.
pub(super) async fn body(
    mut response: reqwest::Response,
    shown: &str,
    max: usize,
) -> Result<Vec<u8>, EgressError> {
    let claimed = response.content_length();
    if claimed.is_some_and(|length| length > max as u64) {
        return Err(EgressError::too_large(shown, max));
    }
    let claimed = claimed.map_or(0, |length| usize::try_from(length).unwrap_or(0));
    let mut body = Vec::with_capacity(claimed.min(FIRST_ALLOCATION));
    while let Some(chunk) = response.chunk().await.map_err(|error| {
        EgressError::disconnected(format!(
            "the connection to {shown} ended before the whole answer had arrived: {}",
            root_cause(&error)
        ))
    })? {
        if chunk.len() > max - body.len() {
            return Err(EgressError::too_large(shown, max));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
