use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use llamon_client::egress::Egress;

use super::key::KeySet;
use super::source::{Fetched, Keys, Place, Timing, discovery_url};
use super::token::Expected;
use super::{JwtAlgorithm, JwtBearer};
use crate::clock::Clock;
use crate::config_error::ConfigError;

/// What the answer of an issuer may have; a set of a hundred RSA keys has half of it.
const MAX_ANSWER_BYTES: usize = 256 * 1024;
const MAX_LEEWAY: Duration = Duration::from_secs(10 * 60);

/// What a [`JwtBearer`] takes. Issuer, audience, algorithms and keys must be said; nothing about
/// them is guessed from a token.
#[must_use = "a builder does nothing until it is built"]
pub struct JwtBuilder {
    issuer: Option<String>,
    audiences: Vec<String>,
    algorithms: Vec<JwtAlgorithm>,
    keys: Option<Given>,
    leeway: Duration,
    tenant_claim: Option<String>,
    principal_prefix: String,
    scheme_name: String,
    timing: Timing,
    egress: Option<Egress>,
    clock: Clock,
}

enum Given {
    Secret(Vec<u8>),
    KeySet(String),
    Url(String),
}

impl JwtBuilder {
    pub(super) fn new() -> Self {
        Self {
            issuer: None,
            audiences: Vec::new(),
            algorithms: Vec::new(),
            keys: None,
            leeway: Duration::from_secs(30),
            tenant_claim: None,
            principal_prefix: String::new(),
            scheme_name: "bearer".to_owned(),
            timing: Timing::default(),
            egress: None,
            clock: Clock::system(),
        }
    }

    /// What `iss` must be, to the letter.
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// What `aud` must be or have; several calls, one of them. It names this agent, so that no
    /// token for another service is taken here.
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// How tokens may be signed. What a token says itself is only compared with these.
    pub fn algorithms(mut self, algorithms: impl IntoIterator<Item = JwtAlgorithm>) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// The issuer's keys are at this URL, as a JSON Web Key Set (RFC 7517). Its origin is trusted
    /// as it is named here; see [`llamon_client::egress`]. The server starts without them: they
    /// are fetched at the first request, and no redirect is followed.
    pub fn jwks_url(mut self, url: impl Into<String>) -> Self {
        self.keys = Some(Given::Url(url.into()));
        self
    }

    /// The issuer's public keys as the text of a JSON Web Key Set.
    pub fn jwks(mut self, text: impl Into<String>) -> Self {
        self.keys = Some(Given::KeySet(text.into()));
        self
    }

    /// The secret that issuer and server share, for HS256, HS384 and HS512. Whoever can verify
    /// can then also sign.
    pub fn secret(mut self, secret: impl Into<Vec<u8>>) -> Self {
        self.keys = Some(Given::Secret(secret.into()));
        self
    }

    /// By how much clocks may differ, in `exp` and `nbf`. Default 30 s, at most 10 minutes.
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway;
        self
    }

    /// The claim that says whose the caller is; a token without it is then refused. Default: none,
    /// and callers have no tenant.
    pub fn tenant_claim(mut self, claim: impl Into<String>) -> Self {
        self.tenant_claim = Some(claim.into());
        self
    }

    /// What principals begin with, before the token's `sub`: keeps callers of several issuers or
    /// schemes apart. Default: nothing.
    pub fn principal_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.principal_prefix = prefix.into();
        self
    }

    /// What the scheme is called on the card. Default `bearer`, and `oidc` with
    /// [`Oidc`](crate::auth::Oidc).
    pub fn scheme_name(mut self, name: impl Into<String>) -> Self {
        self.scheme_name = name.into();
        self
    }

    /// From when on fetched keys are fetched anew; they are used meanwhile. Default 10 minutes.
    pub fn keys_max_age(mut self, age: Duration) -> Self {
        self.timing.max_age = age;
        self
    }

    /// How long after the beginning of a fetch the next one may begin, whatever tokens come: one
    /// whose key is not known has the keys fetched at most this often. Default 10 s.
    pub fn keys_interval(mut self, interval: Duration) -> Self {
        self.timing.interval = interval;
        self
    }

    /// How long a request waits for keys before it is answered with 503. Default 5 s.
    pub fn keys_timeout(mut self, timeout: Duration) -> Self {
        self.timing.patience = timeout;
        self
    }

    /// How long fetched keys are used when the issuer does not answer any more. Default 24 hours.
    pub fn keys_usable_for(mut self, time: Duration) -> Self {
        self.timing.usable_for = time;
        self
    }

    /// The way out that keys are fetched by, with trust in other origins or another resolver. It
    /// must trust the origin of the keys by itself, where that is needed.
    pub fn egress(mut self, egress: Egress) -> Self {
        self.egress = Some(egress);
        self
    }

    /// Where the time of day is read, for tests.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Makes the authenticator. Does no I/O.
    ///
    /// # Errors
    /// When something that must be said was not, when the algorithms are not all of the kind of
    /// the keys, and when keys, secret, URL or leeway cannot be used.
    pub fn build(mut self) -> Result<JwtBearer, ConfigError> {
        let Some(given) = self.keys.take() else {
            return Err(wrong("keys", ".jwks_url(...), .jwks(...) or .secret(...)"));
        };
        let is_secret = matches!(given, Given::Secret(_));
        self.check(is_secret)?;
        let keys = match given {
            Given::Secret(secret) => Keys::Fixed(Arc::new(self.read_secret(secret)?)),
            Given::KeySet(text) => {
                let keys = KeySet::read(&text).map_err(ConfigError::authentication)?;
                if keys.len() == 0 {
                    return Err(ConfigError::authentication(
                        "the key set has no public key that tokens are verified with: RSA of 2,048 \
                         to 8,192 bits, EC with P-256 or P-384, or Ed25519",
                    ));
                }
                Keys::Fixed(Arc::new(keys))
            }
            Given::Url(url) => self.fetched(Place::KeySet(url.clone()), &url)?,
        };
        self.finish(keys)
    }

    /// The same with keys that the issuer's discovery document leads to, and the document's URL.
    pub(in crate::auth) fn discover(mut self) -> Result<(JwtBearer, String), ConfigError> {
        if self.keys.is_some() {
            return Err(ConfigError::authentication(
                "Oidc finds the keys of its issuer itself; take .jwks_url(...), .jwks(...) or \
                 .secret(...) out, or use JwtBearer",
            ));
        }
        self.check(false)?;
        if self.scheme_name == "bearer" {
            "oidc".clone_into(&mut self.scheme_name);
        }
        let issuer = self.issuer.clone().unwrap_or_default();
        let url = discovery_url(&issuer);
        let keys = self.fetched(Place::Issuer(issuer), &url)?;
        Ok((self.finish(keys)?, url))
    }

    fn check(&self, is_secret: bool) -> Result<(), ConfigError> {
        if self.issuer.as_ref().is_none_or(String::is_empty) {
            return Err(wrong("issuer", ".issuer(\"https://id.example.com\")"));
        }
        if self.audiences.is_empty() || self.audiences.contains(&String::new()) {
            let how = ".audience(\"https://agents.example.com/audit\")";
            return Err(wrong("audience", how));
        }
        if self.algorithms.is_empty() {
            return Err(wrong("algorithms", ".algorithms([JwtAlgorithm::Es256])"));
        }
        let is_of_kind = |one: &JwtAlgorithm| one.min_secret_bytes().is_some() == is_secret;
        if let Some(other) = self.algorithms.iter().find(|one| !is_of_kind(one)) {
            // A public key taken for a secret would let everybody sign.
            let keys = if is_secret {
                "a shared secret"
            } else {
                "public keys"
            };
            return Err(ConfigError::authentication(format!(
                "the algorithm {other} is not one for {keys}, which tokens are verified with here; \
                 two kinds at once are two authenticators in AnyOf"
            )));
        }
        if self.leeway > MAX_LEEWAY {
            return Err(ConfigError::authentication(format!(
                "the leeway for clocks is {:?}; at most {MAX_LEEWAY:?} are taken",
                self.leeway
            )));
        }
        Ok(())
    }

    fn read_secret(&self, secret: Vec<u8>) -> Result<KeySet, ConfigError> {
        for algorithm in &self.algorithms {
            let needed = algorithm.min_secret_bytes().unwrap_or_default();
            if secret.len() < needed {
                return Err(ConfigError::authentication(format!(
                    "the secret for tokens has {} bytes; {algorithm} needs at least {needed}, \
                     random ones",
                    secret.len()
                )));
            }
        }
        Ok(KeySet::of_secret(secret))
    }

    fn fetched(&mut self, place: Place, url: &str) -> Result<Keys, ConfigError> {
        let unusable = |error| {
            ConfigError::authentication(format!("the issuer's keys cannot be fetched: {error}"))
        };
        let egress = match self.egress.take() {
            Some(egress) => egress,
            None => Egress::builder()
                .trust_origin(url)
                .timeout(self.timing.patience)
                .max_response_bytes(MAX_ANSWER_BYTES)
                .build()
                .map_err(unusable)?,
        };
        egress.check_url(url).map_err(unusable)?;
        let fetched = Fetched::new(place, egress, self.timing);
        Ok(Keys::Fetched(Arc::new(fetched)))
    }

    fn finish(self, keys: Keys) -> Result<JwtBearer, ConfigError> {
        Ok(JwtBearer {
            keys,
            algorithms: self.algorithms,
            expected: Expected {
                issuer: self.issuer.unwrap_or_default(),
                audiences: self.audiences,
                leeway: self.leeway,
                tenant_claim: self.tenant_claim,
                principal_prefix: self.principal_prefix,
            },
            scheme_name: self.scheme_name,
            clock: self.clock,
        })
    }
}

impl fmt::Debug for JwtBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JwtBuilder")
            .field("issuer", &self.issuer)
            .field("audiences", &self.audiences)
            .field("algorithms", &self.algorithms)
            .finish_non_exhaustive()
    }
}

fn wrong(what: &str, how: &str) -> ConfigError {
    ConfigError::authentication(format!(
        "tokens are to be verified, and nothing was said of their {what}; call {how}"
    ))
}
