//! Who may call: a server asks an [`Authenticate`] of one's own about every request, and runs it
//! in the scope of whoever that says it is.
//!
//! ```
//! use llamon_core::a2a::SecurityScheme;
//! use llamon_server::auth::{Authenticate, Checked, Identity, Refusal, RequestHead, Security};
//!
//! /// Everybody who knows the password is the same caller.
//! struct Password(String);
//!
//! impl Authenticate for Password {
//!     fn authenticate<'a>(&'a self, request: &'a RequestHead<'a>) -> Checked<'a> {
//!         Box::pin(async move {
//!             match request.header("x-password") {
//!                 // Real secrets are compared in constant time.
//!                 Some(given) if given == self.0 => Ok(Identity::new("a friend")),
//!                 Some(_) => Err(Refusal::unauthenticated("Password", "the password is wrong")),
//!                 None => Err(Refusal::unauthenticated("Password", "send x-password")),
//!             }
//!         })
//!     }
//!
//!     fn security(&self) -> Security {
//!         Security::one("password", SecurityScheme::api_key("header", "X-Password"))
//!     }
//! }
//! ```

mod any_of;
mod api_key;
mod api_keys;
mod bearer;
mod jwt;
mod key_file;
#[cfg(feature = "tls")]
mod mutual_tls;
mod oidc;
mod operation;
pub(crate) mod scopes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use axum::http::{Extensions, HeaderMap};
use futures_util::future::BoxFuture;
use llamon_core::a2a::{SecurityRequirement, SecurityScheme};

use crate::config_error::ConfigError;

use crate::peer::{Peer, counted};
pub use any_of::AnyOf;
pub use api_key::{ApiKey, KeyHash};
pub use api_keys::ApiKeys;
pub use jwt::{JwtAlgorithm, JwtBearer, JwtBuilder};

#[cfg(feature = "tls")]
pub use mutual_tls::MutualTls;
pub use oidc::Oidc;
pub use operation::Operation;
pub use scopes::SKILL_KEY;

/// Decides who sent a request, from its head alone. Given to
/// [`ServerBuilder::authenticate`](crate::ServerBuilder::authenticate); the agent card and the
/// health routes are open without it.
pub trait Authenticate: Send + Sync + 'static {
    /// Who sent the request, or why it is refused. It is asked once per request, before the body
    /// is read. A panic in it refuses the request.
    ///
    /// The future is dropped when the client goes away.
    fn authenticate<'a>(&'a self, request: &'a RequestHead<'a>) -> Checked<'a>;

    /// What a caller must show, for the agent card: it is asked at start only, and nothing else
    /// can write these fields, so that the card says what is checked.
    fn security(&self) -> Security;

    /// Whether it can do its work, asked once, before the server is made. Default: it can.
    ///
    /// # Errors
    /// What is wrong in its configuration.
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }
}

/// What an [`Authenticate`] answers with: who it is, or why the request is refused.
pub type Checked<'a> = BoxFuture<'a, Result<Identity, Refusal>>;

/// What the card says about authentication (sections 4.5 and 7.3).
///
/// ```
/// use llamon_core::a2a::SecurityScheme;
/// use llamon_server::auth::Security;
///
/// let security = Security::one("key", SecurityScheme::api_key("header", "X-Api-Key"));
/// assert_eq!(security.schemes.len(), 1);
/// assert_eq!(security.requirements.len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Security {
    /// Ways to authenticate, by their names.
    pub schemes: BTreeMap<String, SecurityScheme>,
    /// What a caller must show: one of these.
    pub requirements: Vec<SecurityRequirement>,
}

impl Security {
    /// One scheme, which every caller must use.
    pub fn one(name: impl Into<String>, scheme: SecurityScheme) -> Self {
        Self::default().or(name, scheme)
    }

    /// The same with a scheme more, which does as well.
    #[must_use]
    pub fn or(mut self, name: impl Into<String>, scheme: SecurityScheme) -> Self {
        let name = name.into();
        let no_scopes: [String; 0] = [];
        let requirement = SecurityRequirement::new(name.as_str(), no_scopes);
        self.requirements.push(requirement);
        self.schemes.insert(name, scheme);
        self
    }

    /// The same with one more thing that a caller can show, of schemes that are declared.
    #[must_use]
    pub fn requirement(mut self, requirement: SecurityRequirement) -> Self {
        self.requirements.push(requirement);
        self
    }
}

/// What of a request is known before its body: HTTP headers or gRPC metadata. `Debug` shows no
/// value, as most of them are secrets here.
#[derive(Clone, Copy)]
pub struct RequestHead<'a> {
    headers: &'a HeaderMap,
    /// What the connection tells.
    extensions: &'a Extensions,
}

impl<'a> RequestHead<'a> {
    pub(crate) fn new(headers: &'a HeaderMap, extensions: &'a Extensions) -> Self {
        Self {
            headers,
            extensions,
        }
    }

    /// The certificate of the client whose connection the request came on, checked; `None` where
    /// it has shown none, and where the connection is not the server's own (`into_router()`).
    #[cfg(feature = "tls")]
    pub fn client_certificate(&self) -> Option<&'a crate::tls::ClientCertificate> {
        let peer = self.extensions.get::<Arc<Peer>>();
        peer.and_then(|peer| peer.certificate.as_ref())
    }

    /// Where it came from, as limits count it; `None` where the connection is not the server's own.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        let peer = self.extensions.get::<Arc<Peer>>();
        peer.map(|peer| counted(peer.remote.ip()))
    }

    /// A header's value, whatever the case of its name. `None` also where it is given more than
    /// once or is not text: which of several values counts must not be a matter of who reads it.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        let mut values = self.headers.get_all(name).iter();
        let value = values.next().filter(|_| values.next().is_none());
        value.and_then(|value| value.to_str().ok())
    }
}

impl fmt::Debug for RequestHead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.headers.keys()).finish()
    }
}

/// Somebody who is known. Tasks belong to an identity, and no other one sees them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    principal: Arc<str>,
    tenant: Option<Arc<str>>,
    scopes: BTreeSet<Arc<str>>,
}

impl Identity {
    /// Somebody of no tenant. `principal` must be the same at each request of theirs, and nobody
    /// else's.
    pub fn new(principal: impl Into<Arc<str>>) -> Self {
        Self {
            principal: principal.into(),
            tenant: None,
            scopes: BTreeSet::new(),
        }
    }

    /// The same as one of a tenant. A request may name this tenant or none.
    #[must_use]
    pub fn of_tenant(mut self, tenant: impl Into<Arc<str>>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// The same with these scopes more, as they stand in a token: what the caller may do, where
    /// the server asks for it with [`ServerBuilder::require_scope`](crate::ServerBuilder::require_scope).
    #[must_use]
    pub fn with_scopes(mut self, scopes: impl IntoIterator<Item = impl Into<Arc<str>>>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Who it is.
    pub fn principal(&self) -> &Arc<str> {
        &self.principal
    }

    /// Whose they are.
    pub fn tenant(&self) -> Option<&Arc<str>> {
        self.tenant.as_ref()
    }

    /// What they may do, in alphabetical order.
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        self.scopes.iter().map(|scope| &**scope)
    }

    /// Whether they may do it, to the letter.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.contains(scope)
    }
}

/// Why a request is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub(crate) kind: RefusalKind,
    /// For the caller; it says nothing about what is there.
    pub(crate) message: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RefusalKind {
    /// With the value of `WWW-Authenticate`.
    Unauthenticated(String),
    Forbidden,
    Unavailable,
}

impl Refusal {
    /// It is not known who asks (HTTP 401, gRPC UNAUTHENTICATED). `challenge` is the value of
    /// `WWW-Authenticate`, such as `Bearer realm="agents"` (RFC 9110, section 11.6.1).
    pub fn unauthenticated(challenge: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind: RefusalKind::Unauthenticated(challenge.into()),
            message: message.into(),
        }
    }

    /// It is known, and they may not (HTTP 403, gRPC PERMISSION_DENIED).
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self {
            kind: RefusalKind::Forbidden,
            message: message.into(),
        }
    }

    /// It cannot be decided at the moment (HTTP 503, gRPC UNAVAILABLE); the same request can
    /// succeed later.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self {
            kind: RefusalKind::Unavailable,
            message: message.into(),
        }
    }
}
