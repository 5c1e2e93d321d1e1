//! Agents as A2A servers, and the data that flows between them.
//!
//! An agent is a struct or an async function. `create_server` makes it a server that speaks
//! A2A 1.0 over JSON-RPC and REST; what its answer keeps of the data and files that arrived is
//! declared, not coded:
//!
//! ```no_run
//! use llamon_agent::prelude::*;
//!
//! async fn audit(turn: Turn) -> Result<impl IntoAnswer, AgentError> {
//!     let findings = turn.upstream().data().count();
//!     Ok((format!("{findings} inputs checked"), Json(findings)))
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let card = AgentCard::new("audit", "Checks what arrives", "1.0.0")
//!         .skill(Skill::new("audit", "Audit", "Checks data parts"));
//!     create_server(card, audit)
//!         .upstream_parts_policy("append")
//!         .await?
//!         .serve("127.0.0.1:8080")
//!         .await?;
//!     Ok(())
//! }
//! ```
//!
//! | path | what is there |
//! |---|---|
//! | [`prelude`] | what an agent's author types |
//! | [`server`] | `create_server`, agents, turns, backends |
//! | [`client`] | a client that calls agents |
//! | [`a2a`] | the protocol's types |
//! | [`testing`] | a server for tests |
//! | [`guide`] | the user's guide |

pub use llamon_client as client;
pub use llamon_core as core;
pub use llamon_core::a2a;
pub use llamon_server as server;
pub use llamon_server::check_agent;

pub mod testing;

/// What an agent's author types.
pub mod prelude {
    pub use llamon_client::{Client, Outgoing, Reply};
    pub use llamon_core::a2a::{AgentCard, Skill};
    pub use llamon_core::{
        IntoPayload, Json, Limits, Part, PartKind, Payload, Upstream, UpstreamPartsPolicy, compose,
    };
    pub use llamon_server::{
        Agent, AgentError, AgentHost, Answer, IntoAnswer, Server, TaskVisibility, Turn,
        create_server,
    };
}

/// The user's guide.
pub mod guide {
    /// What an answer keeps of what arrived.
    #[doc = include_str!("../../../docs/guide/upstream-parts-policy.md")]
    pub mod upstream_parts_policy {}

    /// What a server accepts and keeps.
    #[doc = include_str!("../../../docs/guide/limits.md")]
    pub mod limits {}

    /// 답변이 상류 파트 가운데 무엇을 유지하는가.
    #[doc = include_str!("../../../docs/guide/upstream-parts-policy.ko.md")]
    pub mod upstream_parts_policy_ko {}
}

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
