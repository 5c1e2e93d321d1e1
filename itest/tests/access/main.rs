//! Who is let in, and as whom: authentication, tenants, extensions.

mod authentication;
mod extensions;
mod support;
mod tenants;
