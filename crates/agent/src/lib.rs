//! Placeholder
pub use llamon_core as core;
pub use llamon_server as server;
pub use llamon_core::a2a;
pub mod prelude {
    //! p
    pub use llamon_core::a2a::{AgentCard, Skill};
    pub use llamon_core::{IntoPayload, Json, Part, PartKind, Payload, Upstream, UpstreamPartsPolicy};
    pub use llamon_server::{Agent, AgentError, Answer, IntoAnswer, Turn, create_server};
}
