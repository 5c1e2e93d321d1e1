//! `create_server`: turns an agent into a server that speaks A2A 1.0 over JSON-RPC and REST.
//!
//! ```no_run
//! use llamon_core::a2a::{AgentCard, Skill};
//! use llamon_server::{AgentError, Turn, create_server};
//!
//! async fn count(turn: Turn) -> Result<String, AgentError> {
//!     Ok(format!("{} data parts arrived", turn.upstream().data().count()))
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let card = AgentCard::new("count", "Counts what arrives", "1.0.0")
//!         .skill(Skill::new("count", "Count", "Counts data parts"));
//!     create_server(card, count).await?.serve("127.0.0.1:8080").await?;
//!     Ok(())
//! }
//! ```

pub mod adapters;
pub mod auth;
pub mod backend;
#[cfg(feature = "graph")]
pub mod graph;
pub mod hitl;
pub mod push;
#[cfg(feature = "tls")]
pub mod tls;

mod adapter;
mod agent;
mod agent_error;
mod answer;
mod binding;
mod builder;
mod call;
mod card;
mod check;
mod clock;
mod compat;
mod composer;
mod config_error;
mod engine;
mod front;
#[cfg(feature = "grpc")]
mod grpc;
mod handler;
mod health;
mod host;
mod listen;
mod page_token;
mod peer;
mod rate;
mod scope;
mod serve_error;
mod server;
mod shared;
mod turn;
mod view;

pub use adapter::{AdapterKind, AdapterRequest, Response, RuntimeAdapter};
pub use agent::{Agent, ErasedAgent, FunctionKind, InputsFunctionKind, IntoAgent, StructKind};
pub use agent_error::AgentError;
pub use answer::{Answer, IntoAnswer};
pub use builder::{
    ExtendedCardReaders, Provenance, Publication, RepeatedMessages, ServerBuilder, create_server,
};
#[doc(hidden)]
pub use card::CardFields;
pub use check::{is_function_agent as __is_function_agent, is_inputs_agent as __is_inputs_agent};
pub use clock::Clock;
pub use compat::Compat;
pub use config_error::ConfigError;
pub use engine::Execution;
#[cfg(feature = "grpc")]
pub use grpc::GrpcAt;
pub use handler::{InputModes, Streaming, TaskVisibility};
pub use host::{AgentHost, BoundHost};
pub use listen::ConnectionLimits;
pub use llamon_core::a2a::IDEMPOTENT_MESSAGES_URI;
pub use push::PushNotifications;
pub use rate::RateLimit;
pub use scope::Scope;
pub use serve_error::ServeError;
pub use server::Server;
pub use turn::{ArtifactWriter, Turn};
