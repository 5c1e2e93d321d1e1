//! The core of `llamon-agent`: parts as bytes, payloads, the upstream-parts policy, and the
//! types of A2A 1.0. Nothing in here does I/O, reads a clock or needs a runtime.
//!
//! ```
//! use llamon_core::{Part, Payload, Upstream, UpstreamPartsPolicy, compose};
//!
//! // What arrived, what the agent made of it, and what its answer keeps.
//! let upstream = Upstream::of(&[Part::from_json(r#"{"data":{"amount":1.0}}"#)?]);
//! let current = Payload::new().with_text("checked").with_data(&["ok"])?;
//! let answer = compose(current, &upstream, UpstreamPartsPolicy::Append);
//!
//! assert_eq!(answer.data().collect::<Vec<_>>(), [r#"["ok"]"#, r#"{"amount":1.0}"#]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod a2a;
#[cfg(feature = "contracts")]
pub mod contracts;
pub mod delegation;
pub mod json;
pub mod provenance;

mod limits;
mod part;
mod payload;
mod policy;
mod timestamp;
mod to_json;
mod untrusted;
mod upstream;

pub use limits::{InvalidLimit, LimitExceeded, Limits, MAX_JSON_DEPTH_CEILING, MIN_JSON_DEPTH};
pub use part::{Part, PartKind};
pub use payload::{IntoPayload, Json, Payload, PayloadError};
pub use policy::{PolicyError, UpstreamPartsPolicy, compose};
pub use timestamp::Timestamp;
pub use untrusted::{Made, Untrusted};
pub use upstream::Upstream;
