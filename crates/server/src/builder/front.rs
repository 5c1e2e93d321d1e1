use std::num::NonZeroUsize;

use super::ServerBuilder;
use crate::front::HostRule;
use crate::listen::ConnectionLimits;
use crate::rate::RateLimit;

impl<M> ServerBuilder<M> {
    /// More hosts that requests are taken for: names or addresses, with a port if only that one
    /// is meant. Default: names of loopback, the address that a request came to, and the hosts of
    /// the card's interfaces and of [`ServerBuilder::public_url`]. A request for another host gets
    /// 421, so that a stranger's page whose name resolves to this machine cannot call the agent
    /// (DNS rebinding).
    pub fn allow_hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let named = hosts.into_iter().map(Into::into);
        if let HostRule::Named(hosts) = &mut self.settings.front.hosts {
            hosts.extend(named);
        }
        self
    }

    /// Takes requests for any host, for where something in front of the server checks it.
    pub fn allow_any_host(mut self) -> Self {
        self.settings.front.hosts = HostRule::Any;
        self
    }

    /// Origins whose pages may call the agent from a browser, such as `https://app.example.com`;
    /// browsers that ask first (CORS) are answered for them. Default: none, and what a page of
    /// another origin than the server's sends gets 403.
    pub fn allow_origins(mut self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let named = origins.into_iter().map(Into::into);
        self.settings.front.origins.extend(named);
        self
    }

    /// What a client may hold of the server without a request that is worth it. Where several
    /// agents share a port, this is set on the [`crate::AgentHost`].
    pub fn connection_limits(mut self, limits: ConnectionLimits) -> Self {
        self.settings.connection_limits = Some(limits);
        self
    }

    /// How many requests a caller may make; what is over it gets 429 (gRPC RESOURCE_EXHAUSTED) and
    /// `Retry-After`. The agent card and the health routes are not counted. Default: no limit.
    pub fn rate_limit(mut self, limit: RateLimit) -> Self {
        self.settings.rate_limit = Some(limit);
        self
    }

    /// How many turns one known caller may run at once; a message beyond that gets 429 (gRPC
    /// RESOURCE_EXHAUSTED). Turns that wait for their caller do not count, nor do those that are
    /// taken over after a crash. Callers whom no authenticator knows have no such limit, and
    /// `Limits::max_concurrent_turns` holds for all together. Default: no limit.
    pub fn max_turns_per_caller(mut self, turns: NonZeroUsize) -> Self {
        self.settings.turns_per_caller = Some(turns.get());
        self
    }

    /// Serves with TLS, and with nothing else, also gRPC. Default: in plaintext, for loopback and
    /// for where a proxy has TLS. Where several agents share a port, this is set on the
    /// [`crate::AgentHost`].
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: crate::tls::Tls) -> Self {
        self.settings.tls = Some(tls);
        self
    }
}
