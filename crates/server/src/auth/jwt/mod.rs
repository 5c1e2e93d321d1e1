//! Callers known by signed tokens. Why this is our own code: `docs/adr/0016-tokens-on-ring.md`.

mod algorithm;
mod builder;
mod key;
mod source;
mod token;

use std::fmt;

use llamon_core::a2a::SecurityScheme;

use super::{Authenticate, Checked, Identity, Refusal, RequestHead, Security, bearer};
use crate::clock::Clock;
use key::{Found, KeySet};
use source::{Keys, Unreachable};
use token::{Expected, Invalid, Unverified};

pub use algorithm::JwtAlgorithm;
pub use builder::JwtBuilder;

/// Knows callers by JSON Web Tokens (RFC 7519) that an issuer has signed, sent as
/// `Authorization: Bearer <token>`.
///
/// ```
/// use llamon_server::auth::{JwtAlgorithm, JwtBearer};
///
/// let tokens = JwtBearer::builder()
///     .issuer("https://id.example.com")
///     .audience("https://agents.example.com/audit")
///     .algorithms([JwtAlgorithm::Es256, JwtAlgorithm::Rs256])
///     .jwks_url("https://id.example.com/keys")
///     .build()?;
/// # Ok::<(), llamon_server::ConfigError>(())
/// ```
///
/// A token counts when
///
/// * it is signed in one of the algorithms, by a key of the issuer that is for it;
/// * `iss` is the issuer and `aud` is or has the audience;
/// * `exp` is there and not over, and `nbf`, if it is there, is;
/// * `sub` names the caller: the principal. `scope` and `scp` are the identity's scopes, and
///   [`JwtBuilder::tenant_claim`] its tenant.
///
/// The token's header says which key (`kid`) and nothing more: no key is taken from it, nor from
/// where it points. With [`JwtBuilder::jwks_url`], keys are fetched when they are needed first and
/// every 10 minutes while they are used, and for a token whose key is not known at most every 10
/// seconds, once for all who wait. While the issuer does not answer, the keys that were fetched
/// count for another 24 hours; a token whose key is not among them gets 503, and so do all while
/// there are none.
pub struct JwtBearer {
    keys: Keys,
    algorithms: Vec<JwtAlgorithm>,
    expected: Expected,
    scheme_name: String,
    clock: Clock,
}

/// Why a token lets nobody in.
enum Refused {
    Invalid(Invalid),
    Unreachable,
}

impl JwtBearer {
    /// Nothing is taken before it is said.
    pub fn builder() -> JwtBuilder {
        JwtBuilder::new()
    }

    async fn verify(&self, token: &str) -> Result<Identity, Refused> {
        let token = Unverified::read(token, &self.algorithms)?;
        let mut keys = self.keys.current().await?;
        if matches!(find(&keys, &token), Found::Unknown)
            && let Some(fresher) = self.keys.fresher().await?
        {
            keys = fresher;
        }
        let claims = match find(&keys, &token) {
            Found::Keys(keys) => token.verify(&keys)?,
            Found::Unknown => return Err(Refused::Invalid("the key of the token is not known")),
            Found::OfAnotherKind => {
                let why = "the key of the token is not for its algorithm";
                return Err(Refused::Invalid(why));
            }
            Found::Ambiguous => {
                let why = "the token does not say which of the keys it is signed with";
                return Err(Refused::Invalid(why));
            }
        };
        Ok(self.expected.identity(&claims, self.clock.time())?)
    }

    pub(super) fn scheme_name(&self) -> &str {
        &self.scheme_name
    }
}

impl Authenticate for JwtBearer {
    fn authenticate<'a>(&'a self, request: &'a RequestHead<'a>) -> Checked<'a> {
        Box::pin(async move {
            let Some(token) = bearer::token(request) else {
                let message = "send a token as Authorization: Bearer";
                return Err(Refusal::unauthenticated(bearer::CHALLENGE, message));
            };
            self.verify(token).await.map_err(|refused| match refused {
                Refused::Invalid(why) => Refusal::unauthenticated(bearer::invalid(why), why),
                Refused::Unreachable => Refusal::unavailable(
                    "the keys that tokens are verified with cannot be had at the moment",
                ),
            })
        })
    }

    fn security(&self) -> Security {
        let mut scheme = SecurityScheme::http("Bearer");
        if let SecurityScheme::Http(http) = &mut scheme {
            "JWT".clone_into(&mut http.bearer_format);
        }
        Security::one(&self.scheme_name, scheme)
    }
}

impl fmt::Debug for JwtBearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JwtBearer")
            .field("expected", &self.expected)
            .field("algorithms", &self.algorithms)
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

impl From<Invalid> for Refused {
    fn from(why: Invalid) -> Self {
        Self::Invalid(why)
    }
}

impl From<Unreachable> for Refused {
    fn from(_: Unreachable) -> Self {
        Self::Unreachable
    }
}

fn find<'a>(keys: &'a KeySet, token: &Unverified<'_>) -> Found<'a> {
    keys.find(token.key_id.as_deref(), token.algorithm)
}
