//! Who is let in, and as whom: authentication, tenants, extensions.

mod authentication;
mod extended_card;
mod extensions;
mod support;
mod tenants;
