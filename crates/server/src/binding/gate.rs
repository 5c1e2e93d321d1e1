//! What every binding checks of a request before it calls the handler, and the only way to a
//! [`Call`]. It takes plain texts, so that HTTP headers and gRPC metadata are the same to it.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use llamon_client::trace::TraceContext;
use llamon_core::a2a::{A2aError, AgentExtension, ErrorCode, ProtocolVersion};

use crate::auth::scopes::{Missing, ScopeRules, Wanted};
use crate::auth::{Authenticate, Identity, RefusalKind, RequestHead};
use crate::call::{ActiveExtensions, Call};
use crate::rate::Rates;
use crate::scope::Scope;

/// Who and what is let in.
pub(crate) struct Gate {
    pub(crate) authenticator: Option<Arc<dyn Authenticate>>,
    pub(crate) scopes: ScopeRules,
    /// How many requests a caller may make.
    pub(crate) rates: Option<Rates>,
    /// The tenants that callers of no identity may name.
    pub(crate) tenants: Vec<Arc<str>>,
    pub(crate) extensions: Vec<Extension>,
}

/// An extension on the card.
pub(crate) struct Extension {
    uri: String,
    required: bool,
}

/// Who sent a request, as far as its head tells.
#[derive(Clone, Debug)]
pub(crate) struct Caller(Option<Identity>);

/// What a request asks of the protocol, and the trace that it is part of.
#[derive(Clone, Debug)]
pub(crate) struct Parameters {
    pub(crate) version: ProtocolVersion,
    pub(crate) extensions: ActiveExtensions,
    pub(crate) trace: Option<TraceContext>,
}

/// Why a request is not let in.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) error: A2aError,
    /// The value of `WWW-Authenticate`, where nobody is known to ask or a scope is missing.
    pub(crate) challenge: Option<String>,
    /// Seconds after which the same request can succeed, where that is known.
    pub(crate) retry_after: Option<u64>,
}

/// Whose requests are counted together.
#[derive(Hash)]
enum Counted<'a> {
    Identity(Option<&'a str>, &'a str),
    /// Of somebody who is not known, or could not prove to be.
    Address(Option<IpAddr>),
}

impl Gate {
    /// Whether a request can name a tenant and be let in.
    pub(crate) fn has_tenants(&self) -> bool {
        !self.tenants.is_empty() || self.authenticator.is_some()
    }

    /// Asks the authenticator who sent the request, and counts it; to be called first of all,
    /// before the body is read.
    ///
    /// # Errors
    /// Unauthenticated, PermissionDenied or Unavailable, as the authenticator says;
    /// TooManyRequests.
    pub(crate) async fn authenticate(&self, head: &RequestHead<'_>) -> Result<Caller, Refused> {
        let caller = self.identify(head).await;
        let Some(rates) = &self.rates else {
            return caller;
        };
        let counted = match &caller {
            Ok(Caller(Some(identity))) => {
                let tenant = identity.tenant().map(|tenant| &**tenant);
                Counted::Identity(tenant, identity.principal())
            }
            Ok(Caller(None)) | Err(_) => Counted::Address(head.address()),
        };
        match rates.take(counted) {
            Ok(()) => caller,
            Err(wait) => Err(too_many(wait)),
        }
    }

    async fn identify(&self, head: &RequestHead<'_>) -> Result<Caller, Refused> {
        let Some(authenticator) = &self.authenticator else {
            return Ok(Caller(None));
        };
        // The call itself can panic as well as its future.
        let asked = AssertUnwindSafe(async { authenticator.authenticate(head).await });
        let refusal = match asked.catch_unwind().await {
            Ok(Ok(identity)) => return Ok(Caller(Some(identity))),
            Ok(Err(refusal)) => refusal,
            Err(_) => {
                tracing::error!("the authenticator panicked; the request is refused");
                return Err(Refused {
                    error: A2aError::internal(),
                    challenge: None,
                    retry_after: None,
                });
            }
        };
        let (code, challenge) = match refusal.kind {
            RefusalKind::Unauthenticated(challenge) => {
                (ErrorCode::Unauthenticated, Some(challenge))
            }
            RefusalKind::Forbidden => (ErrorCode::PermissionDenied, None),
            RefusalKind::Unavailable => (ErrorCode::Unavailable, None),
        };
        Err(Refused {
            error: A2aError::new(code, refusal.message),
            challenge,
            retry_after: None,
        })
    }

    /// Checks what `A2A-Version` says (section 3.6); absent or empty is 0.3.
    ///
    /// # Errors
    /// VersionNotSupported, with what was asked and what is spoken.
    pub(crate) fn version(&self, asked: Option<&str>) -> Result<ProtocolVersion, A2aError> {
        let asked = asked.unwrap_or_default();
        match ProtocolVersion::parse(asked) {
            Some(version @ ProtocolVersion::V1_0) => Ok(version),
            _ if asked.trim().is_empty() => {
                Err(version_not_supported("no version, which means 0.3"))
            }
            _ => {
                let shown: String = asked.trim().chars().take(40).collect();
                Err(version_not_supported(&format!("{shown:?}")))
            }
        }
    }

    /// The extensions that `A2A-Extensions` asks for, as far as this agent has them (section
    /// 4.6.3). `values` are the values of the header, each of which may hold several.
    ///
    /// # Errors
    /// ExtensionSupportRequired where one that the card requires is not asked for.
    pub(crate) fn extensions(&self, values: &[&str]) -> Result<ActiveExtensions, A2aError> {
        let active = self.active(values);
        let missing = self
            .extensions
            .iter()
            .filter(|extension| extension.required && !active.0.contains(&extension.uri));
        let missing: Vec<&str> = missing.map(|extension| extension.uri.as_str()).collect();
        if missing.is_empty() {
            return Ok(active);
        }
        Err(A2aError::new(
            ErrorCode::ExtensionSupportRequired,
            format!(
                "this agent requires extensions that the request does not ask for; a client that \
                 supports them sends the header A2A-Extensions: {}",
                missing.join(", ")
            ),
        ))
    }

    /// Those of the agent's extensions that are asked for, in the card's order.
    pub(crate) fn active(&self, values: &[&str]) -> ActiveExtensions {
        let asked = |uri: &str| {
            let mut uris = values.iter().flat_map(|value| value.split(','));
            uris.any(|asked| asked.trim() == uri)
        };
        let known = self.extensions.iter().map(|extension| &extension.uri);
        ActiveExtensions(known.filter(|uri| asked(uri.as_str())).cloned().collect())
    }

    /// Lets a request in. The tenant of the path and that of the body are `None` where there is
    /// none; a tenant is checked against who asks and never decides it.
    ///
    /// # Errors
    /// InvalidParams where path and body disagree, and for callers of no identity where the tenant
    /// is not served or must be named; PermissionDenied for a tenant that is not the caller's and
    /// for a scope that the caller does not have.
    pub(crate) fn enter(
        &self,
        caller: Caller,
        parameters: Parameters,
        in_path: Option<&str>,
        in_body: Option<&str>,
        wanted: Wanted<'_>,
    ) -> Result<Call, Refused> {
        let named = match (in_path, in_body) {
            (Some(path), Some(body)) if path != body => {
                return Err(A2aError::new(
                    ErrorCode::InvalidParams,
                    "tenant: is not the tenant in the path; send that one or none",
                )
                .into());
            }
            (path, body) => path.or(body),
        };
        let scope = match caller.0 {
            Some(identity) => {
                let scope = scope_of(&identity, named)?;
                self.scopes.check(&identity, wanted)?;
                scope
            }
            None => self.anonymous_scope(named)?,
        };
        Ok(Call {
            scope,
            version: parameters.version,
            extensions: parameters.extensions,
            trace: parameters.trace,
        })
    }

    fn anonymous_scope(&self, named: Option<&str>) -> Result<Scope, A2aError> {
        let wrong = |message: String| A2aError::new(ErrorCode::InvalidParams, message);
        match named {
            None if self.tenants.is_empty() => Ok(Scope::anonymous()),
            None => Err(wrong(
                "tenant: is required here; the agent card's interfaces name it".to_owned(),
            )),
            Some(named) => {
                let known = self.tenants.iter().find(|tenant| ***tenant == *named);
                let known = known.ok_or_else(|| {
                    let shown: String = named.chars().take(80).collect();
                    let why = if self.tenants.is_empty() {
                        "this agent has no tenants, so none must be sent"
                    } else {
                        "the agent card's interfaces name those that are served"
                    };
                    wrong(format!("tenant: {shown:?} is not served here; {why}"))
                })?;
                Ok(Scope::of_tenant(Arc::clone(known)))
            }
        }
    }
}

/// The scope of somebody who is known. What other tenants there are is not for them to find out.
fn scope_of(identity: &Identity, named: Option<&str>) -> Result<Scope, A2aError> {
    let tenant = identity.tenant();
    if named.is_some() && named != tenant.map(|tenant| &**tenant) {
        return Err(A2aError::new(
            ErrorCode::PermissionDenied,
            "tenant: is not the caller's; send the caller's own or none",
        ));
    }
    let principal = Arc::clone(identity.principal());
    Ok(match tenant {
        Some(tenant) => Scope::new(Arc::clone(tenant), principal),
        None => Scope::of_principal(principal),
    })
}

impl From<&AgentExtension> for Extension {
    fn from(extension: &AgentExtension) -> Self {
        Self {
            uri: extension.uri.clone(),
            required: extension.required,
        }
    }
}

impl From<A2aError> for Refused {
    fn from(error: A2aError) -> Self {
        Self {
            error,
            challenge: None,
            retry_after: None,
        }
    }
}

impl From<Missing> for Refused {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Scope { error, challenge } => Self {
                error,
                challenge,
                retry_after: None,
            },
            Missing::Skill(error) => error.into(),
        }
    }
}

/// The caller has used up its requests, and has another one after this time.
fn too_many(wait: Duration) -> Refused {
    // A moment more than a second is two.
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let message =
        format!("there are more requests than this caller may make; try again in {seconds} s");
    Refused {
        error: A2aError::new(ErrorCode::TooManyRequests, message),
        challenge: None,
        retry_after: Some(seconds),
    }
}

fn version_not_supported(asked: &str) -> A2aError {
    A2aError::new(
        ErrorCode::VersionNotSupported,
        format!(
            "the request asks for {asked}; this server speaks A2A 1.0, send the header A2A-Version: 1.0"
        ),
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use llamon_core::a2a::{AgentExtension, ErrorCode, ProtocolVersion};

    use super::{Caller, Gate, Parameters};
    use crate::auth::scopes::ScopeRules;
    use crate::auth::{Identity, Operation};
    use crate::call::ActiveExtensions;
    use crate::scope::Scope;

    fn gate(tenants: &[&str], extensions: &[(&str, bool)]) -> Gate {
        let extension = |(uri, required): &(&str, bool)| {
            let mut extension = AgentExtension::new(*uri, "");
            extension.required = *required;
            (&extension).into()
        };
        Gate {
            authenticator: None,
            scopes: ScopeRules::default(),
            rates: None,
            tenants: tenants.iter().map(|tenant| Arc::from(*tenant)).collect(),
            extensions: extensions.iter().map(extension).collect(),
        }
    }

    #[test]
    fn one_zero_is_spoken_and_nothing_else() {
        let gate = gate(&[], &[]);
        for (asked, expected) in [
            (Some("1.0"), true),
            (Some(" 1.0 "), true),
            (Some("1.0.1"), true),
            (None, false),
            (Some(""), false),
            (Some("0.3"), false),
            (Some("1"), false),
            (Some("1.1"), false),
            (Some("1.0.x"), false),
            (Some("1.0.0.0"), false),
            (Some("10.0"), false),
        ] {
            assert_eq!(gate.version(asked).is_ok(), expected, "{asked:?}");
        }
    }

    #[test]
    fn known_extensions_are_activated_and_required_ones_demanded() {
        let gate = gate(&[], &[("urn:a", false), ("urn:b", true)]);
        for (values, expected) in [
            (&["urn:b"][..], Some("urn:b")),
            (&["urn:x, urn:b ,urn:a"], Some("urn:a, urn:b")),
            (&["urn:a", "urn:b"], Some("urn:a, urn:b")),
            (&["urn:a"], None),
            (&["urn:bb", "URN:B"], None),
            (&[], None),
        ] {
            let active = gate.extensions(values);
            let found = active.as_ref().ok().and_then(ActiveExtensions::echo);
            assert_eq!(found.as_deref(), expected, "{values:?}");
            if let Err(error) = active {
                assert_eq!(error.code(), ErrorCode::ExtensionSupportRequired);
                assert!(
                    error.message().ends_with("A2A-Extensions: urn:b"),
                    "{error}"
                );
            }
        }
    }

    #[test]
    fn a_tenant_is_checked_against_who_asks() {
        let nobody = || Caller(None);
        let alice = || Caller(Some(Identity::new("alice")));
        let bob = || Caller(Some(Identity::new("bob").of_tenant("acme")));
        let wrong = Err(ErrorCode::InvalidParams);
        let denied = Err(ErrorCode::PermissionDenied);
        let acme_alone = || Ok(Scope::of_tenant("acme"));
        for (tenants, caller, path, body, expected) in [
            (&[][..], nobody(), None, None, Ok(Scope::anonymous())),
            (&[], nobody(), Some("acme"), None, wrong.clone()),
            (&["acme", "globex"], nobody(), None, None, wrong.clone()),
            (
                &["acme", "globex"],
                nobody(),
                Some("acme"),
                None,
                acme_alone(),
            ),
            (
                &["acme", "globex"],
                nobody(),
                None,
                Some("acme"),
                acme_alone(),
            ),
            (
                &["acme"],
                nobody(),
                Some("acme"),
                Some("acme"),
                acme_alone(),
            ),
            (
                &["acme", "globex"],
                nobody(),
                Some("acme"),
                Some("globex"),
                wrong.clone(),
            ),
            (&["acme"], nobody(), None, Some("ACME"), wrong),
            (&[], alice(), None, None, Ok(Scope::of_principal("alice"))),
            // Whom the authenticator gives no tenant can name none, served or not.
            (&["acme"], alice(), None, Some("acme"), denied.clone()),
            (&[], bob(), None, None, Ok(Scope::new("acme", "bob"))),
            (
                &["globex"],
                bob(),
                Some("acme"),
                None,
                Ok(Scope::new("acme", "bob")),
            ),
            (&["globex"], bob(), None, Some("globex"), denied.clone()),
            (&["globex"], bob(), None, Some("none such"), denied),
        ] {
            let parameters = Parameters {
                version: ProtocolVersion::V1_0,
                extensions: ActiveExtensions::default(),
                trace: None,
            };
            let shown = format!("{tenants:?} {caller:?} {path:?} {body:?}");
            let entered =
                gate(tenants, &[]).enter(caller, parameters, path, body, Operation::GetTask.into());
            let scope = entered
                .map(|call| call.scope)
                .map_err(|refused| refused.error.code());
            assert_eq!(scope, expected, "{shown}");
        }
    }
}
