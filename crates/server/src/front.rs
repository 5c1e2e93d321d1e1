//! What is checked of every request to an agent before anything else looks at it: whom it is for,
//! which page sent it, and that its body is not compressed. It is around the agent's routes, so that
//! it is there in somebody else's app as well.

mod hosts;
mod origins;
mod refusal;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Request, Response, header};
use axum::middleware::{self, Next};
use llamon_core::a2a::{AgentCard, ErrorCode};

use crate::config_error::ConfigError;
use crate::peer::Peer;
use hosts::{Authority, Hosts};
use origins::Origins;
use refusal::Refusal;

/// What the builder was told.
#[derive(Clone, Debug, Default)]
pub(crate) struct FrontOptions {
    pub(crate) hosts: HostRule,
    pub(crate) origins: Vec<String>,
}

/// For which hosts requests are taken.
#[derive(Clone, Debug)]
pub(crate) enum HostRule {
    /// The server's own, and these.
    Named(Vec<String>),
    Any,
}

impl Default for HostRule {
    fn default() -> Self {
        Self::Named(Vec::new())
    }
}

/// The checks in front of one agent.
#[derive(Clone, Debug)]
pub(crate) struct Front(Arc<Checks>);

#[derive(Debug)]
struct Checks {
    hosts: Hosts,
    origins: Origins,
}

impl FrontOptions {
    /// Checks what can be seen without a card.
    ///
    /// # Errors
    /// With the host or origin that is none.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if let HostRule::Named(names) = &self.hosts {
            for name in names {
                hosts::parse_allowed(name)?;
            }
        }
        Origins::parse(&self.origins).map(drop)
    }
}

impl Front {
    /// The checks of an agent with this card. Its interfaces, and `urls`, are hosts of its own.
    pub(crate) fn new(
        options: &FrontOptions,
        card: &AgentCard,
        urls: &[Option<&str>],
    ) -> Result<Self, ConfigError> {
        let interfaces = card.supported_interfaces.iter();
        let own = interfaces
            .map(|interface| interface.url.as_str())
            .chain(urls.iter().copied().flatten());
        Ok(Self(Arc::new(Checks {
            hosts: Hosts::new(&options.hosts, own)?,
            origins: Origins::parse(&options.origins)?,
        })))
    }

    /// Whether only who is on this machine can know a name to call.
    pub(crate) fn is_local(&self) -> bool {
        self.0.hosts.is_local()
    }

    /// The routes behind these checks.
    pub(crate) fn before(&self, router: Router) -> Router {
        let router = match self.0.origins.cors() {
            Some(cors) => router.layer(cors),
            None => router,
        };
        router.layer(middleware::from_fn_with_state(self.clone(), enter))
    }

    fn examine(&self, request: &Request<Body>) -> Result<(), Refusal> {
        let headers = request.headers();
        let host = Authority::of(request.uri(), headers)?;
        let peer = request.extensions().get::<Arc<Peer>>();
        self.0
            .hosts
            .check(&host, peer.map(|peer| peer.local.ip()))?;
        self.0.origins.check(headers, &host)?;
        check_coding(headers)
    }
}

async fn enter(State(front): State<Front>, request: Request<Body>, next: Next) -> Response<Body> {
    match front.examine(&request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(&request),
    }
}

/// Checks that the body is what it looks like.
fn check_coding(headers: &HeaderMap) -> Result<(), Refusal> {
    for value in headers.get_all(header::CONTENT_ENCODING) {
        let value = String::from_utf8_lossy(value.as_bytes());
        let other = (value.split(',').map(str::trim))
            .find(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case("identity"));
        if let Some(coding) = other {
            let shown: String = coding.chars().take(40).collect();
            return Err(Refusal::new(
                415,
                ErrorCode::ContentTypeNotSupported,
                format!(
                    "the body has the Content-Encoding {shown:?}; bodies are never decompressed \
                     here, send it as it is"
                ),
            ));
        }
    }
    Ok(())
}
