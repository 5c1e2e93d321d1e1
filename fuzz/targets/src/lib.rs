//! What the fuzz targets do with their bytes. Each function panics when a promise is broken, and
//! returns otherwise, whatever the bytes are. `cargo test` replays the committed corpus through
//! them; `just fuzz TARGET SECONDS` has libfuzzer look for more.

mod agent;
mod card;
mod json_rpc;
mod parts;
mod plan;
mod protobuf;
mod rest_query;
mod sse;

pub use card::card;
pub use json_rpc::json_rpc;
pub use parts::parts;
pub use plan::plan;
pub use protobuf::protobuf;
pub use rest_query::rest_query;
pub use sse::sse;

/// A target: its name, which is that of its corpus, and what it does.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("card", card),
    ("json_rpc", json_rpc),
    ("parts", parts),
    ("plan", plan),
    ("protobuf", protobuf),
    ("rest_query", rest_query),
    ("sse", sse),
];
