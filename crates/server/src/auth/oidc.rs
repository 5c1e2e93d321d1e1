use std::fmt;

use llamon_core::a2a::SecurityScheme;

use super::{Authenticate, Checked, JwtBearer, JwtBuilder, RequestHead, Security};
use crate::config_error::ConfigError;

/// Knows callers by the tokens of an OpenID Connect issuer, whose keys its discovery document
/// leads to. Everything else is as with [`JwtBearer`].
///
/// ```
/// use llamon_server::auth::{JwtAlgorithm, JwtBearer, Oidc};
///
/// let tokens = JwtBearer::builder()
///     .issuer("https://id.example.com")
///     .audience("https://agents.example.com/audit")
///     .algorithms([JwtAlgorithm::Rs256]);
/// let callers = Oidc::new(tokens)?;
/// # Ok::<(), llamon_server::ConfigError>(())
/// ```
///
/// The document is at `<issuer>/.well-known/openid-configuration`, and its `issuer` must be the
/// one that was named, to the letter. The issuer's origin is trusted as it is named; its
/// `jwks_uri` may be elsewhere where that is public and `https`, or with an
/// [egress](JwtBuilder::egress) that trusts it.
pub struct Oidc {
    tokens: JwtBearer,
    url: String,
}

impl Oidc {
    /// Of a builder that was told issuer, audience and algorithms, and no keys. Does no I/O.
    ///
    /// # Errors
    /// As [`JwtBuilder::build`], and when the builder was given keys.
    pub fn new(tokens: JwtBuilder) -> Result<Self, ConfigError> {
        let (tokens, url) = tokens.discover()?;
        Ok(Self { tokens, url })
    }
}

impl Authenticate for Oidc {
    fn authenticate<'a>(&'a self, request: &'a RequestHead<'a>) -> Checked<'a> {
        self.tokens.authenticate(request)
    }

    fn security(&self) -> Security {
        let scheme = SecurityScheme::open_id_connect(&self.url);
        Security::one(self.tokens.scheme_name(), scheme)
    }
}

impl fmt::Debug for Oidc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Oidc")
            .field("url", &self.url)
            .field("tokens", &self.tokens)
            .finish()
    }
}
