use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use llamon_core::a2a::AgentCard;
use tokio::net::TcpListener;

use crate::binding;
use crate::builder::TAKEN_SEGMENTS;
use crate::config_error::ConfigError;
use crate::handler::Handler;
use crate::health;
use crate::listen::ConnectionLimits;
use crate::serve_error::ServeError;
use crate::server::{Server, stop_signal};
#[cfg(feature = "tls")]
use crate::tls::Tls;

/// Several agents on one port, each under a path.
///
/// ```no_run
/// # use llamon_server::{AgentHost, Server};
/// # async fn example(audit: Server, report: Server) -> Result<(), Box<dyn std::error::Error>> {
/// AgentHost::new()
///     .agent("/audit", audit)
///     .agent("/report", report)
///     .serve("127.0.0.1:8080")
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
#[must_use = "a host does nothing until it serves"]
pub struct AgentHost {
    agents: Vec<(String, Server)>,
    connection_limits: Option<ConnectionLimits>,
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
}

/// Agents that listen already.
#[must_use = "a bound host does nothing until it serves"]
pub struct BoundHost {
    pub(crate) address: SocketAddr,
    pub(crate) doors: Vec<Door>,
    pub(crate) handlers: Vec<Arc<Handler>>,
    pub(crate) shutdown_grace: Duration,
    pub(crate) drain_delay: Duration,
    pub(crate) connection_limits: ConnectionLimits,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<Tls>,
    urls: Vec<String>,
    /// Where each agent is on this machine, and its card.
    agents: Vec<(String, AgentCard)>,
}

/// A port that is listened on, and what is behind it.
pub(crate) struct Door {
    pub(crate) listener: TcpListener,
    pub(crate) router: Router,
    pub(crate) speaks: Speaks,
}

/// What a port's connections are served as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    Http1,
    /// HTTP/1.1, or HTTP/2 where the connection begins so.
    #[cfg(feature = "grpc")]
    Http1AndHttp2,
}

impl AgentHost {
    /// A host without agents.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an agent under `path`: `/`, or segments of letters, digits, `-`, `_`, `.` and `~`.
    pub fn agent(mut self, path: impl Into<String>, server: Server) -> Self {
        self.agents.push((path.into(), server));
        self
    }

    /// What a client may hold of the port without a request that is worth it. Default: what the
    /// only agent was built with, or else [`ConnectionLimits::default`].
    pub fn connection_limits(mut self, limits: ConnectionLimits) -> Self {
        self.connection_limits = Some(limits);
        self
    }

    /// Serves with TLS, and with nothing else. Default: what the only agent was built with.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Serves all agents until SIGINT or SIGTERM.
    ///
    /// # Errors
    /// When a path or the address cannot be used.
    pub async fn serve(self, address: impl AsRef<str>) -> Result<(), ServeError> {
        let bound = self.bind(address).await?;
        bound.serve_until(stop_signal()).await
    }

    /// Listens on `address` without serving yet, so that the port is known.
    ///
    /// # Errors
    /// When a path or the address cannot be used. Paths are checked before anything is bound.
    pub async fn bind(self, address: impl AsRef<str>) -> Result<BoundHost, ServeError> {
        let address = address.as_ref();
        let mut prefixes = Vec::new();
        for (path, _) in &self.agents {
            let prefix = check_path(path)?;
            if prefixes.contains(&prefix) {
                return Err(ConfigError::path(format!(
                    "the path {path:?} is given to two agents; each needs its own"
                ))
                .into());
            }
            prefixes.push(prefix);
        }
        check_apart(&prefixes)?;
        #[cfg(feature = "grpc")]
        for ((_, server), prefix) in self.agents.iter().zip(&prefixes) {
            if let Some(grpc) = &server.grpc {
                grpc.check_prefix(prefix)?;
            }
        }
        for ((_, server), prefix) in self.agents.iter().zip(&prefixes) {
            check_tenants_apart(prefix, &server.tenants, &prefixes)?;
        }
        if prefixes.is_empty() {
            let message = "there is no agent to serve; add one with .agent(\"/path\", server)";
            return Err(ConfigError::path(message).into());
        }
        let connection_limits = self.limits_of_port()?;
        #[cfg(feature = "tls")]
        let tls = self.tls_of_port()?;
        #[cfg(feature = "tls")]
        let scheme = if tls.is_some() { "https" } else { "http" };
        #[cfg(not(feature = "tls"))]
        let scheme = "http";
        let sockets = resolve(address).await?;
        for (_, server) in &self.agents {
            server.check_reach(address, &sockets)?;
        }
        let needs_address = self.agents.iter().any(|(_, server)| {
            server.public_url.is_none() && server.card.supported_interfaces.is_empty()
        });
        if needs_address && sockets.iter().any(|socket| socket.ip().is_unspecified()) {
            return Err(ConfigError::address(format!(
                "the address {address:?} means all addresses of this machine, so the card cannot \
                 tell clients where to send; call .public_url(\"https://host/path\") or listen on \
                 one address"
            ))
            .into());
        }
        let listener = TcpListener::bind(&*sockets)
            .await
            .map_err(|error| ServeError::bind(address, error))?;
        let local = listener
            .local_addr()
            .map_err(|error| ServeError::bind(address, error))?;
        let origin = format!("{scheme}://{local}");
        let mut doors = Vec::new();
        #[cfg_attr(not(feature = "grpc"), expect(unused_mut, reason = "gRPC changes it"))]
        let mut speaks = Speaks::Http1;
        let mut router = Router::new();
        let mut handlers = Vec::new();
        let mut urls = Vec::new();
        let mut agents = Vec::new();
        let mut shutdown_grace = Duration::ZERO;
        let mut drain_delay = Duration::ZERO;
        for ((_, server), prefix) in self.agents.into_iter().zip(&prefixes) {
            handlers.push(Arc::clone(&server.handler));
            shutdown_grace = shutdown_grace.max(server.shutdown_grace);
            drain_delay = drain_delay.max(server.drain_delay);
            #[cfg(feature = "grpc")]
            let (grpc_target, grpc_port) = match &server.grpc {
                None => (None, None),
                Some(grpc) => {
                    let port = grpc.bind(&server).await?;
                    if port.is_none() {
                        speaks = Speaks::Http1AndHttp2;
                    }
                    let at = port.as_ref().map_or(local, |port| port.local);
                    let target = server.card.supported_interfaces.is_empty();
                    let target = target
                        .then(|| grpc.target(server.public_url.as_deref(), Some((scheme, at))));
                    (target.transpose()?, port)
                }
            };
            #[cfg(not(feature = "grpc"))]
            let grpc_target = None;
            let routes = server.routes(prefix, Some(&origin), grpc_target)?;
            if routes.is_local && !local.ip().is_loopback() {
                tracing::warn!(
                    agent = %routes.card.name,
                    %local,
                    "the agent can be reached from other machines, but knows itself only by names \
                     of this one, and answers to no other: call .public_url(...) or \
                     .allow_hosts([...]) on its builder"
                );
            }
            let card = routes.card;
            router = router.merge(routes.router);
            #[cfg(feature = "grpc")]
            if let (Some(port), Some(router)) = (grpc_port, routes.grpc) {
                doors.push(Door {
                    listener: port.listener,
                    router: router.fallback(binding::not_found),
                    speaks: Speaks::Http1AndHttp2,
                });
            }
            let interface = card.supported_interfaces.first();
            urls.push(interface.map_or_else(String::new, |interface| interface.url.clone()));
            agents.push((format!("{origin}{prefix}"), card));
        }
        doors.insert(
            0,
            Door {
                listener,
                router: router
                    .merge(health::routes(handlers.clone()))
                    .fallback(binding::not_found),
                speaks,
            },
        );
        Ok(BoundHost {
            address: local,
            doors,
            handlers,
            shutdown_grace,
            drain_delay,
            connection_limits,
            #[cfg(feature = "tls")]
            tls,
            urls,
            agents,
        })
    }

    /// The limits of the port: the host's own, or those of its only agent.
    fn limits_of_port(&self) -> Result<ConnectionLimits, ConfigError> {
        let limits = match (&self.connection_limits, &self.agents[..]) {
            (Some(limits), _) => limits.clone(),
            (None, [(_, server)]) => server.connection_limits.clone().unwrap_or_default(),
            (None, agents) => {
                let own = agents
                    .iter()
                    .find(|(_, server)| server.connection_limits.is_some());
                if let Some((path, _)) = own {
                    return Err(ConfigError::limit(format!(
                        "the agent at {path:?} has connection limits of its own, and shares its \
                         port with others; call .connection_limits(...) on the AgentHost instead"
                    )));
                }
                ConnectionLimits::default()
            }
        };
        limits.check().map(|()| limits)
    }

    /// The TLS of the port: the host's own, or that of its only agent.
    #[cfg(feature = "tls")]
    fn tls_of_port(&self) -> Result<Option<Tls>, ConfigError> {
        match (&self.tls, &self.agents[..]) {
            (Some(tls), _) => Ok(Some(tls.clone())),
            (None, [(_, server)]) => Ok(server.tls.clone()),
            (None, agents) => match agents.iter().find(|(_, server)| server.tls.is_some()) {
                Some((path, _)) => Err(ConfigError::address(format!(
                    "the agent at {path:?} has TLS of its own, and shares its port with others; \
                     call .tls(...) on the AgentHost instead"
                ))),
                None => Ok(None),
            },
        }
    }
}

impl BoundHost {
    /// The address that is listened on, with the port that was free.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves until SIGINT or SIGTERM.
    ///
    /// # Errors
    /// When the listener breaks.
    pub async fn serve(self) -> Result<(), ServeError> {
        self.serve_until(stop_signal()).await
    }

    /// Serves until `stop` resolves. Then `/readyz` says 503; after the drain delay no connection
    /// and no message is accepted any more; running turns get the shutdown grace and, after it, the
    /// cancel grace. What still runs then fails, or on a durable backend is parked for the next
    /// start. Streams end with their last event, or before it where the task goes on later.
    ///
    /// Dropping the future stops at once.
    ///
    /// # Errors
    /// When the listener breaks.
    pub async fn serve_until(
        self,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        crate::listen::serve(self, stop).await
    }

    /// The URL of the first agent, as its card has it.
    pub fn url(&self) -> &str {
        self.urls.first().map_or("", String::as_str)
    }

    /// The URLs of all agents, as their cards have them, in the order in which they were added.
    pub fn urls(&self) -> &[String] {
        &self.urls
    }

    /// Where each agent is on this machine, whatever its card says, and its card.
    pub fn agents(&self) -> impl Iterator<Item = (&str, &AgentCard)> {
        self.agents.iter().map(|(url, card)| (url.as_str(), card))
    }
}

impl fmt::Debug for AgentHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths = self.agents.iter().map(|(path, _)| path);
        f.debug_list().entries(paths).finish()
    }
}

impl fmt::Debug for BoundHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundHost")
            .field("address", &self.address)
            .field("urls", &self.urls)
            .finish_non_exhaustive()
    }
}

/// The path as a prefix of routes: without the slash at its end.
fn check_path(path: &str) -> Result<String, ConfigError> {
    let segment_is_fine = |segment: &str| {
        !segment.is_empty()
            && segment != "."
            && segment != ".."
            && segment
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte))
    };
    let prefix = path.trim_end_matches('/');
    let fine = match prefix.strip_prefix('/') {
        Some(rest) => rest.split('/').all(segment_is_fine),
        None => path == "/",
    };
    if fine {
        return Ok(prefix.to_owned());
    }
    Err(ConfigError::path(format!(
        "the path {path:?} cannot be used; it must be \"/\" or begin with a slash and have \
         segments of letters, digits, '-', '_', '.' and '~', such as \"/agents/audit\""
    )))
}

/// Checks that no agent is under a path that another one's operations have.
fn check_apart(prefixes: &[String]) -> Result<(), ConfigError> {
    for prefix in prefixes {
        let first = prefix.split('/').nth(1).unwrap_or_default();
        if health::PATHS.contains(&first) {
            return Err(ConfigError::path(format!(
                "the path {prefix:?} cannot be used: the host answers there itself whether it is \
                 alive and ready"
            )));
        }
    }
    for outer in prefixes {
        for inner in prefixes {
            let below = inner.strip_prefix(outer.as_str()).unwrap_or_default();
            let first = below
                .strip_prefix('/')
                .unwrap_or_default()
                .split('/')
                .next();
            if first.is_some_and(|segment| TAKEN_SEGMENTS.contains(&segment)) {
                return Err(ConfigError::path(format!(
                    "the path {inner:?} cannot be used beside the agent at \"{outer}/\", whose own \
                     operations are there; choose one that does not begin with {outer}/tasks, \
                     {outer}/extendedAgentCard or {outer}/.well-known"
                )));
            }
        }
    }
    Ok(())
}

/// Checks that no agent is where another one's tenants are.
fn check_tenants_apart(
    prefix: &str,
    tenants: &[Arc<str>],
    prefixes: &[String],
) -> Result<(), ConfigError> {
    for tenant in tenants {
        let taken = format!("{prefix}/{tenant}");
        let is_below = |other: &&String| other.strip_prefix(&taken).is_some_and(is_whole);
        if let Some(other) = prefixes.iter().find(is_below) {
            return Err(ConfigError::path(format!(
                "the path {other:?} cannot be used beside the agent at \"{prefix}/\", whose tenant \
                 {tenant:?} is there; choose another path, or another name for the tenant"
            )));
        }
    }
    Ok(())
}

/// Whether what follows a path begins with a segment of its own.
fn is_whole(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('/')
}

pub(crate) async fn resolve(address: &str) -> Result<Vec<SocketAddr>, ConfigError> {
    let unusable = |reason: String| {
        ConfigError::address(format!(
            "cannot listen on {address:?}: {reason}; expected host and port, such as 127.0.0.1:8080"
        ))
    };
    let sockets = tokio::net::lookup_host(address)
        .await
        .map_err(|error| unusable(error.to_string()))?;
    let sockets: Vec<SocketAddr> = sockets.collect();
    if sockets.is_empty() {
        return Err(unusable("the host has no address".to_owned()));
    }
    Ok(sockets)
}
