//! gRPC, over HTTP/2 on loopback, with the product's own client and without it.

mod connections;
mod data;
mod errors;
mod operations;
mod streams;
mod support;
