//! What the end-to-end tests share.
//!
//! The tests look at the product from outside. So what is here reads the wire by itself: HTTP
//! over a socket ([`http`]), JSON whose tokens stay as they are ([`raw`]), A2A calls
//! ([`wire`], and [`call`] where gRPC is among them), and a fold of events of its own ([`outcome`]). [`matrix`] runs one conversation
//! on both bindings, blocking and streaming, with the product's client and without it, and
//! demands one answer. [`grpc`] makes calls over HTTP/2 with bytes of the test's own. [`agents`] has agents that do what a test tells them to;
//! [`certificates`] and [`tls`] are for servers with TLS.

pub mod agents;
pub mod call;
pub mod certificates;
pub mod chance;
pub mod durable;
pub mod grpc;
pub mod hooked;
pub mod hooks;
pub mod http;
pub mod log;
pub mod mask;
pub mod matrix;
pub mod outcome;
pub mod process;
pub mod raw;
pub mod receiver;
pub mod refused;
pub mod say;
pub mod tls;
pub mod wire;
