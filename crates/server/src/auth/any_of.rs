use std::fmt;

use llamon_core::a2a::SecurityRequirement;

use super::{Authenticate, Checked, Identity, Refusal, RefusalKind, RequestHead, Security};
use crate::config_error::ConfigError;

/// Lets in whom one of several schemes knows; the card lists all of them.
///
/// ```
/// use llamon_server::auth::{AnyOf, ApiKey, ApiKeys, Authenticate as _, Identity, JwtAlgorithm, JwtBearer};
///
/// # fn main() -> Result<(), llamon_server::ConfigError> {
/// let key = ApiKey::generate()?;
/// let tokens = JwtBearer::builder()
///     .issuer("https://id.example.com")
///     .audience("https://agents.example.com/audit")
///     .algorithms([JwtAlgorithm::Es256])
///     .jwks_url("https://id.example.com/keys")
///     .build()?;
/// let schemes = AnyOf::new()
///     .with(ApiKeys::new().key(key.hash(), Identity::new("nightly-run")))
///     .with(tokens);
/// assert_eq!(schemes.security().requirements.len(), 2);
/// # Ok(())
/// # }
/// ```
///
/// They are asked in order, and the first that knows the caller decides who it is. Where one says
/// that a caller is known and may not ([`Refusal::forbidden`]), that is the answer; where none
/// knows the caller and one cannot tell at the moment, it is 503; otherwise 401 with the challenges
/// of all.
///
/// Principals of two schemes with the same text are one caller, with the same tasks. Where they are
/// not, keep their names apart: [`JwtBuilder::principal_prefix`](super::JwtBuilder::principal_prefix).
#[must_use]
#[derive(Default)]
pub struct AnyOf {
    schemes: Vec<Box<dyn Authenticate>>,
}

impl AnyOf {
    /// No scheme yet, so nobody is let in.
    pub fn new() -> Self {
        Self::default()
    }

    /// One scheme more.
    pub fn with(mut self, scheme: impl Authenticate) -> Self {
        self.schemes.push(Box::new(scheme));
        self
    }

    async fn ask(&self, request: &RequestHead<'_>) -> Result<Identity, Refusal> {
        let mut unavailable = None;
        let (mut challenges, mut messages) = (Vec::new(), Vec::new());
        for scheme in &self.schemes {
            let refusal = match scheme.authenticate(request).await {
                Ok(identity) => return Ok(identity),
                Err(refusal) => refusal,
            };
            match refusal.kind {
                RefusalKind::Forbidden => return Err(refusal),
                RefusalKind::Unavailable => {
                    unavailable.get_or_insert(refusal);
                }
                RefusalKind::Unauthenticated(challenge) => {
                    push_new(&mut challenges, challenge);
                    push_new(&mut messages, refusal.message);
                }
            }
        }
        Err(unavailable.unwrap_or_else(|| {
            // RFC 9110, section 11.6.1: one field can have several challenges.
            Refusal::unauthenticated(challenges.join(", "), messages.join("; or "))
        }))
    }
}

impl Authenticate for AnyOf {
    fn authenticate<'a>(&'a self, request: &'a RequestHead<'a>) -> Checked<'a> {
        Box::pin(self.ask(request))
    }

    fn security(&self) -> Security {
        let mut all = Security::default();
        for scheme in &self.schemes {
            add(&mut all, scheme.security());
        }
        all
    }

    fn check(&self) -> Result<(), ConfigError> {
        if self.schemes.is_empty() {
            return Err(ConfigError::authentication(
                "AnyOf has no scheme, so nobody could call; add one with .with(...)",
            ));
        }
        self.schemes.iter().try_for_each(|scheme| scheme.check())
    }
}

impl fmt::Debug for AnyOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyOf")
            .field("security", &self.security())
            .finish()
    }
}

/// Adds what another scheme says; where a name is taken by something else, under another one.
fn add(all: &mut Security, of_one: Security) {
    let mut names = Vec::new();
    for (name, scheme) in of_one.schemes {
        let others = (2..).map(|number| format!("{name}-{number}"));
        let mut candidates = std::iter::once(name.clone()).chain(others);
        let is_free = |candidate: &String| {
            let taken = all.schemes.get(candidate);
            taken.is_none_or(|taken| *taken == scheme)
        };
        let free = candidates.find(is_free).unwrap_or_else(|| name.clone());
        all.schemes.insert(free.clone(), scheme);
        names.push((name, free));
    }
    for requirement in of_one.requirements {
        let mut renamed = SecurityRequirement::default();
        for (name, scopes) in requirement.schemes {
            let new = names.iter().find(|(old, _)| *old == name);
            let new = new.map_or(name.clone(), |(_, new)| new.clone());
            renamed.schemes.insert(new, scopes);
        }
        if !all.requirements.contains(&renamed) {
            all.requirements.push(renamed);
        }
    }
}

fn push_new(list: &mut Vec<String>, text: String) {
    if !list.contains(&text) {
        list.push(text);
    }
}
