//! A2A 1.0 in protobuf (package `lf.a2a.v1`), for the gRPC binding of client and server.
//!
//! The messages are written by hand ([`wire`]), so that a build needs no `protoc`, and converted to
//! and from the types of `llamon-core` ([`to_wire`], [`from_wire`]). JSON text stays the only truth
//! inside: what the protocol declares as `google.protobuf.Value` or `Struct` is bytes on these
//! messages and goes straight from protobuf to JSON text and back ([`value`]), without a tree in
//! between. Nothing here does I/O.
//!
//! ```
//! use llamon_core::{Limits, Part};
//! use llamon_grpc::{from_wire, to_wire};
//!
//! let part = Part::from_json(r#"{"data":{"b":3,"a":[null,"x",0.5]}}"#)?;
//! let wire = to_wire::part(&part)?;
//! assert_eq!(from_wire::part(&wire, &Limits::default())?, part);
//!
//! let too_large = Part::from_json(r#"{"data":[1e400]}"#)?;
//! let error = to_wire::part(&too_large).unwrap_err();
//! assert!(error.to_string().starts_with("data[0]: 1e400 has no form in gRPC"), "{error}");
//! # Ok::<(), llamon_core::json::ReadError>(())
//! ```
//!
//! # What gRPC cannot carry
//!
//! From gRPC to gRPC, data is byte for byte what came, if it was encoded as protobuf libraries do.
//! From JSON to gRPC, the values are the same and their spelling is not: numbers become doubles
//! (whole ones are exact up to 2^53), escapes and the spelling of base64 are lost, of a key that an
//! object has twice readers keep the last, the order of keys is up to the reader, and fields of a
//! part that A2A does not know are left out. What has no form there at all fails its call: a number
//! beyond a double (`1e400`), a lone surrogate, nesting beyond [`value::MAX_LEVELS`].

pub mod framing;
pub mod from_wire;
pub mod method;
pub mod status;
pub mod to_wire;
pub mod value;
pub mod wire;
