use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use llamon_client::signing::SigningKey;
use llamon_core::a2a::AgentCard;

use crate::auth::Authenticate;
use crate::auth::scopes::ScopeRules;
use crate::binding::gate::Gate;
use crate::binding::{self, Service};
use crate::builder::Anonymous;
use crate::card::{self, CardDocument, CardFields, ExtendedCard, Facts};
use crate::compat::Compat;
use crate::config_error::ConfigError;
use crate::front::{Front, FrontOptions};
#[cfg(feature = "grpc")]
use crate::grpc::{Grpc, GrpcAt};
use crate::handler::Handler;
use crate::host::{AgentHost, BoundHost};
use crate::listen::ConnectionLimits;
use crate::rate::{RateLimit, Rates};
use crate::serve_error::ServeError;

/// An agent that can be served; made by [`crate::create_server`].
pub struct Server {
    pub(crate) card: AgentCard,
    pub(crate) card_keys: Vec<SigningKey>,
    pub(crate) public_url: Option<String>,
    pub(crate) authenticator: Option<Arc<dyn Authenticate>>,
    pub(crate) anonymous: Anonymous,
    pub(crate) scopes: ScopeRules,
    pub(crate) tenants: Vec<Arc<str>>,
    pub(crate) extended_card: ExtendedCard,
    pub(crate) handler: Arc<Handler>,
    pub(crate) compat: Compat,
    pub(crate) shutdown_grace: Duration,
    pub(crate) drain_delay: Duration,
    pub(crate) speaks_v03: bool,
    pub(crate) card_fields: CardFields,
    pub(crate) front: FrontOptions,
    pub(crate) connection_limits: Option<ConnectionLimits>,
    pub(crate) rate_limit: Option<RateLimit>,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<crate::tls::Tls>,
    #[cfg(feature = "grpc")]
    pub(crate) grpc: Option<Grpc>,
}

/// What a server answers.
pub(crate) struct Routes {
    pub(crate) router: Router,
    /// Those of a port of their own.
    #[cfg(feature = "grpc")]
    pub(crate) grpc: Option<Router>,
    /// The card that they serve.
    pub(crate) card: AgentCard,
    /// Whether only who is on this machine can know a name to call.
    pub(crate) is_local: bool,
}

impl Server {
    /// Listens on `address` (`127.0.0.1:8080`; port 0 is any free one) and serves until SIGINT or
    /// SIGTERM. Then it takes no more requests, waits for the turns that run, and returns.
    ///
    /// # Errors
    /// When the address is none, cannot be bound, or cannot be reached by a client and the card
    /// has no other; when other machines can reach it and the server asks nobody who they are
    /// ([`crate::ServerBuilder::allow_anonymous`]).
    pub async fn serve(self, address: impl AsRef<str>) -> Result<(), ServeError> {
        self.bind(address).await?.serve().await
    }

    /// Listens on `address` without serving yet, so that the port is known.
    ///
    /// # Errors
    /// As [`Server::serve`].
    pub async fn bind(self, address: impl AsRef<str>) -> Result<BoundHost, ServeError> {
        AgentHost::new().agent("/", self).bind(address).await
    }

    /// The agent as a router, to be mounted in an axum app at its root or, with `nest_service`,
    /// under a path (with `nest`, axum does not route the path with a slash at its end). Hosts,
    /// origins, bodies and versions are checked in it; connections are not limited by it, and a stop
    /// of the app does not wait for its turns. Who can reach the app is not known here, so an agent
    /// without an authenticator is served to everybody who can. gRPC is in it with
    /// `GrpcAt::SamePort`; the app's own accept
    /// loop must then speak HTTP/2.
    ///
    /// # Errors
    /// When neither the card nor [`crate::ServerBuilder::public_url`] says where the agent is.
    pub fn into_router(self) -> Result<Router, ConfigError> {
        let handler = Arc::clone(&self.handler);
        #[cfg(feature = "tls")]
        if self.tls.is_some() {
            return Err(ConfigError::address(
                "into_router() listens nowhere, so TLS is the affair of the app that does; leave \
                 out .tls(...)",
            ));
        }
        #[cfg(feature = "grpc")]
        let grpc_target = match &self.grpc {
            Some(grpc) if grpc.at != GrpcAt::SamePort => {
                return Err(ConfigError::address(
                    "into_router() listens nowhere, so gRPC cannot have a port of its own there; call \
                 .grpc(GrpcAt::SamePort), whose routes are in the router",
                ));
            }
            Some(grpc) if self.card.supported_interfaces.is_empty() => {
                Some(grpc.target(self.public_url.as_deref(), None)?)
            }
            _ => None,
        };
        #[cfg(not(feature = "grpc"))]
        let grpc_target = None;
        let Routes { router, .. } = self.routes("", None, grpc_target)?;
        if tokio::runtime::Handle::try_current().is_ok() {
            handler.keep();
        }
        Ok(router.fallback(binding::not_found))
    }

    /// Checks that nobody on another machine can call an agent that asks nobody who they are,
    /// unless it was told so.
    pub(crate) fn check_reach(
        &self,
        address: &str,
        sockets: &[SocketAddr],
    ) -> Result<(), ConfigError> {
        let is_near = |socket: &SocketAddr| socket.ip().to_canonical().is_loopback();
        if self.authenticator.is_some()
            || self.anonymous == Anonymous::Anywhere
            || sockets.iter().all(is_near)
        {
            return Ok(());
        }
        Err(ConfigError::authentication(format!(
            "other machines can reach {address:?}, and the agent {:?} asks nobody who they are: \
             call .authenticate(...) on its builder, with auth::ApiKeys for example, or \
             .allow_anonymous() if everybody may call it; or listen on 127.0.0.1",
            self.card.name
        )))
    }

    /// The routes under `prefix`.
    pub(crate) fn routes(
        self,
        prefix: &str,
        origin: Option<&str>,
        grpc_target: Option<String>,
    ) -> Result<Routes, ConfigError> {
        let base_url = self
            .public_url
            .or_else(|| origin.map(|origin| format!("{origin}{prefix}")));
        // An identity has its tenant, so that its requests need not name any.
        let tenants = match self.authenticator {
            Some(_) => &[],
            None => &*self.tenants,
        };
        let sends_push = self.handler.sends_push();
        let facts = Facts {
            base_url: base_url.as_deref(),
            tenants,
            streaming: self.handler.streaming(),
            sends_push,
            grpc_target: grpc_target.as_deref(),
            speaks_v03: self.speaks_v03,
            extended: !matches!(self.extended_card, ExtendedCard::Absent),
            security: self.authenticator.as_ref().map(|known| known.security()),
            scopes: &self.scopes,
        };
        let mut card = card::complete(&self.card, &facts)?;
        card::sign(&mut card, &self.card_keys)?;
        let extended = match &self.extended_card {
            ExtendedCard::Set(extended) => {
                let mut extended = card::complete(extended, &facts)?;
                card::sign(&mut extended, &self.card_keys)?;
                ExtendedCard::Set(Box::new(extended))
            }
            ExtendedCard::Unset => ExtendedCard::Unset,
            ExtendedCard::Absent => ExtendedCard::Absent,
        };
        let grpc_url = grpc_target.as_deref();
        let front = Front::new(&self.front, &card, &[base_url.as_deref(), grpc_url])?;
        let is_local = front.is_local();
        let extensions = card.capabilities.extensions.iter();
        let service = Arc::new(Service {
            card: CardDocument::new(&card, self.card_fields)?,
            extended,
            speaks_v03: self.speaks_v03,
            gate: Gate {
                extensions: extensions.map(Into::into).collect(),
                authenticator: self.authenticator,
                scopes: self.scopes,
                rates: self.rate_limit.map(Rates::new),
                tenants: self.tenants,
            },
            handler: self.handler,
        });
        let router = binding::router(prefix, Arc::clone(&service));
        let router = front.before(self.compat.apply(router));
        #[cfg(feature = "grpc")]
        let (router, grpc) = match self.grpc {
            None => (router, None),
            Some(grpc) => {
                let routes = front.before(self.compat.apply(binding::grpc_router(service)));
                match grpc.at {
                    GrpcAt::SamePort => (router.merge(routes), None),
                    GrpcAt::Address(_) => (router, Some(routes)),
                }
            }
        };
        Ok(Routes {
            router,
            #[cfg(feature = "grpc")]
            grpc,
            card,
            is_local,
        })
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("card", &self.card.name)
            .finish_non_exhaustive()
    }
}

/// Waits for SIGINT or, where there is one, SIGTERM.
pub(crate) async fn stop_signal() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminate = async {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminate = std::future::pending::<()>();
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}
