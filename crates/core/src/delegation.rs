//! Delegation: how far a message has been handed on from agent to agent, and how much further it
//! may go.
//!
//! An agent that asks another agent to do something says so in the metadata of its request (not of
//! the message), under [`METADATA_KEY`]:
//!
//! ```json
//! {"urn:llamon:ext:delegation:v1": {"depth": 2, "maxDepth": 8, "maxCalls": 100}}
//! ```
//!
//! A request without it comes from whoever began, at depth 0. Each agent hands on the smaller of
//! what arrived and of its own limits, so a limit can only shrink on its way. It is a statement of
//! whoever sent the request, not a proof: it ends the circles of agents that keep to it, and what a
//! stranger can cause is bounded by the other limits of a server.

use serde::{Deserialize, Serialize};

use crate::json::{ReadError, entry};

/// The key in a request's metadata.
pub const METADATA_KEY: &str = "urn:llamon:ext:delegation:v1";

/// Where a request stands among those that were handed on.
///
/// ```
/// use llamon_core::delegation::Delegation;
///
/// let begun = Delegation::none(2, 100);
/// let once = begun.next().expect("one agent may hand it on");
/// let metadata = once.put_into(Some(r#"{"trace": 1}"#));
/// assert_eq!(Delegation::of(Some(&metadata))?, Some(once));
/// let twice = once.next().expect("and one more");
/// assert_eq!((twice.depth, twice.next()), (2, None));
/// # Ok::<(), llamon_core::json::ReadError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Delegation {
    /// How many agents have handed it on.
    pub depth: u32,
    /// The largest depth that any agent may hand it on with.
    #[serde(default = "unlimited")]
    pub max_depth: u32,
    /// How many calls of other agents each agent may make for one message.
    #[serde(default = "unlimited")]
    pub max_calls: u32,
}

impl Delegation {
    /// Nobody has handed it on.
    pub fn none(max_depth: u32, max_calls: u32) -> Self {
        Self {
            depth: 0,
            max_depth,
            max_calls,
        }
    }

    /// What a request's metadata, an object, says; `None` where it says nothing.
    ///
    /// # Errors
    /// When what is under the key is no delegation.
    pub fn of(metadata: Option<&str>) -> Result<Option<Self>, ReadError> {
        let Some(found) = metadata.and_then(|metadata| entry::of(metadata, METADATA_KEY)) else {
            return Ok(None);
        };
        let read = serde_json::from_str(found).map_err(|_| {
            let shown: String = found.chars().take(80).collect();
            ReadError::invalid(format!(
                "expected an object such as {{\"depth\":1}} with whole numbers, found {shown}"
            ))
            .within(METADATA_KEY)
            .within("metadata")
        });
        read.map(Some)
    }

    /// The same within these limits as well.
    #[must_use]
    pub fn within(self, max_depth: u32, max_calls: u32) -> Self {
        Self {
            depth: self.depth,
            max_depth: self.max_depth.min(max_depth),
            max_calls: self.max_calls.min(max_calls),
        }
    }

    /// Whether it was handed on more often than it may be.
    pub fn is_too_deep(self) -> bool {
        self.depth > self.max_depth
    }

    /// As the next agent gets it; `None` where that would be too deep.
    pub fn next(self) -> Option<Self> {
        let depth = self.depth.checked_add(1)?;
        (depth <= self.max_depth).then_some(Self { depth, ..self })
    }

    /// The metadata with this in it, in the place of what said the same before. Nothing else of it
    /// is changed.
    pub fn put_into(self, metadata: Option<&str>) -> String {
        let Self {
            depth,
            max_depth,
            max_calls,
        } = self;
        let value =
            format!("{{\"depth\":{depth},\"maxDepth\":{max_depth},\"maxCalls\":{max_calls}}}");
        entry::put(metadata.unwrap_or("{}"), METADATA_KEY, &value)
    }
}

fn unlimited() -> u32 {
    u32::MAX
}

#[cfg(test)]
mod tests {
    use super::{Delegation, METADATA_KEY};

    #[test]
    fn what_is_no_delegation_is_an_error_that_says_where() {
        for value in [
            "null",
            "1",
            "[]",
            "{}",
            r#"{"depth":-1}"#,
            r#"{"depth":1.5}"#,
            r#"{"depth":"1"}"#,
            r#"{"depth":4294967296}"#,
            r#"{"depth":1,"maxDepth":null}"#,
        ] {
            let metadata = format!(r#"{{"a":1,"{METADATA_KEY}":{value}}}"#);
            let error = Delegation::of(Some(&metadata)).unwrap_err().to_string();
            assert!(error.contains("metadata.urn:llamon"), "{error}");
            assert!(error.contains(value), "{error}");
        }
    }

    #[test]
    fn limits_shrink_and_never_grow() {
        let metadata = format!(r#"{{"{METADATA_KEY}":{{"depth":3,"maxDepth":5,"new":[]}}}}"#);
        let arrived = Delegation::of(Some(&metadata)).unwrap().unwrap();
        assert_eq!((arrived.depth, arrived.max_depth), (3, 5));
        let here = arrived.within(8, 100);
        assert_eq!((here.max_depth, here.max_calls), (5, 100));
        assert_eq!(here.within(4, 200).max_depth, 4);
        assert!(here.within(2, 1).is_too_deep());
        assert!(!here.within(3, 1).is_too_deep());
        let last = Delegation {
            depth: u32::MAX,
            ..here
        };
        assert_eq!(last.within(u32::MAX, 1).next(), None);
    }

    #[test]
    fn metadata_keeps_every_other_token() {
        let put = Delegation::none(8, 100).put_into(Some(r#" { "n" : 1e400, "a":{"b":1.0} } "#));
        assert!(put.contains(r#""n" : 1e400, "a":{"b":1.0}"#), "{put}");
        let again = Delegation::none(1, 2).next().unwrap().put_into(Some(&put));
        assert_eq!(again.matches(METADATA_KEY).count(), 1, "{again}");
        let found = Delegation::of(Some(&again)).unwrap().unwrap();
        assert_eq!((found.depth, found.max_depth, found.max_calls), (1, 1, 2));
        for nothing in [None, Some("{}"), Some("{ }")] {
            let put = Delegation::none(1, 1).put_into(nothing);
            assert!(Delegation::of(Some(&put)).unwrap().is_some(), "{put}");
            assert_eq!(Delegation::of(nothing).unwrap(), None);
        }
    }
}
