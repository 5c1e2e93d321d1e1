//! Provenance: which agent made a part, as an A2A extension.
//!
//! A server that stamps writes an object under [`EXTENSION_URI`] into the metadata of the data and
//! file parts that its agent produced. It never touches a part that came from upstream, nor one
//! that bears a stamp already. A stamp is a statement of whoever sent the part, not a proof.

use serde::{Deserialize, Serialize};

use crate::json::entry;
use crate::part::{Part, PartKind};
use crate::untrusted::Made;
use crate::upstream::Upstream;

/// The extension's URI: the key in a part's metadata and the entry on the card.
pub const EXTENSION_URI: &str = "urn:llamon:ext:provenance:v1";

/// Where a part comes from.
///
/// ```
/// use llamon_core::Part;
/// use llamon_core::provenance::Stamp;
/// let stamp = Stamp::new("audit", None, "task-1", "response", 2);
/// let part = stamp.put_on(Part::data(&1)?);
/// assert_eq!(Stamp::of(&part).as_ref(), Some(&stamp));
/// # Ok::<(), llamon_core::PayloadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Stamp {
    /// The agent's name, as its card has it.
    pub producer: String,
    /// The agent's skill, where it has only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// The task in which it was produced.
    pub task_id: String,
    /// The artifact's name, or its id where it has none.
    pub artifact: String,
    /// How many agents it has come through, its producer included.
    pub hop: u32,
}

impl Stamp {
    /// A stamp.
    pub fn new(
        producer: impl Into<String>,
        skill: Option<String>,
        task_id: impl Into<String>,
        artifact: impl Into<String>,
        hop: u32,
    ) -> Self {
        Self {
            producer: producer.into(),
            skill,
            task_id: task_id.into(),
            artifact: artifact.into(),
            hop,
        }
    }

    /// The stamp on a part, if it has a readable one.
    pub fn of(part: &Part) -> Option<Self> {
        // Only the stamp is parsed: what stands beside it may be what cannot be.
        serde_json::from_str(entry::of(part.metadata_json()?, EXTENSION_URI)?).ok()
    }

    /// The hop of what is made from `upstream`: one more than the highest in it.
    pub fn next_hop(upstream: &Upstream) -> u32 {
        let hops = upstream.parts().iter().filter_map(Self::of);
        hops.map(|stamp| stamp.hop)
            .max()
            .unwrap_or(0)
            .saturating_add(1)
    }

    /// Who made a part, as its stamp says, for somebody at hop `here`; see [`Stamp::next_hop`].
    pub fn made(part: &Part, here: u32) -> Option<Made> {
        let stamp = Self::of(part)?;
        // A stamp that is out of order was not written by the agents on the way.
        let hops = here.checked_sub(stamp.hop).filter(|hops| *hops > 0)?;
        Some(Made::new(stamp.producer, hops))
    }

    /// The part with this stamp. Text parts, which become a query and no upstream, stay as they
    /// are, and so does a part that has a stamp.
    #[must_use]
    pub fn put_on(&self, part: Part) -> Part {
        if part.kind() == PartKind::Text {
            return part;
        }
        match serde_json::to_string(self) {
            Ok(json) => part.with_metadata_entry(EXTENSION_URI, &json),
            Err(_) => part,
        }
    }
}
