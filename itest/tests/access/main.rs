//! Who is let in, and as whom: authentication, tenants, extensions.

mod authentication;
mod extended_card;
mod extensions;
mod grpc;
mod support;
mod tenants;
