//! Schemes of authentication: keys, tokens, scopes, and who can reach a server that has none.

#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise; clippy takes helpers of tests for no tests"
)]

mod api_keys;
mod issuer;
mod keys_of_issuers;
mod reach;
mod scopes;
mod secrets;
mod tokens;
mod v03;
