//! A client for A2A agents, of 1.0 and of 0.3.
//!
//! ```no_run
//! use llamon_client::{Client, Outgoing};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let inventory = Client::discover("http://127.0.0.1:8080/inventory").await?;
//! let audit = Client::discover("http://127.0.0.1:8080/audit").await?;
//!
//! let reply = inventory.send("what is in the lock file?").await?;
//! println!("{} and {} data parts", reply.text(), reply.data().len());
//!
//! // What one agent answered goes to the next one, data and files token for token.
//! let mut events = audit.stream(Outgoing::new().with_payload(reply.payload())).await?;
//! while let Some(event) = events.next().await {
//!     println!("{:?}", event?.state());
//! }
//! println!("{}", events.finish().await?.text());
//! # Ok(())
//! # }
//! ```
//!
//! A [`Client`] finds an agent by its card, speaks JSON-RPC or REST ([`Binding`]), and returns
//! the types of `llamon-core`. Data parts are never parsed on the way. An agent whose card has no
//! interface of 1.0 is called in 0.3 ([`Client::version`]), with the same methods and types.
//!
//! Sizes are bounded while an answer is read, every wait has a limit, redirects are not
//! followed, no proxy is taken from the environment, and a card cannot send the client into this
//! machine or a private network that nobody named ([`ClientBuilder::trust_origin`], [`egress`]).
//!
//! All futures need a tokio runtime with its time and I/O drivers on, and all of them can be
//! dropped at any time; what that means is said at each method.

mod address;
mod answer;
mod binding;
mod builder;
mod choice;
mod client;
pub mod credentials;
pub mod egress;
mod error;
mod extensions;
mod folding;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "grpc")]
mod grpc;
mod incoming;
mod jsonrpc;
mod outgoing;
pub mod push;
mod reply;
mod rest;
mod resume;
mod retry;
pub mod signing;
mod sse;
mod stream;
mod tls;
pub mod trace;
mod v03;
mod wire_error;

pub use binding::Binding;
pub use builder::ClientBuilder;
pub use client::Client;
pub use error::ClientError;
pub use outgoing::Outgoing;
pub use reply::Reply;
pub use stream::EventStream;
