use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::error::EgressError;
use super::http::Http;
use super::per_host::PerHost;
use super::resolver::{Resolve, System};
use super::rules::{NotUsable, Rules, parse};
use super::{Egress, Inner};

/// Settings of an [`Egress`]. What loosens a rule has a name of its own.
#[derive(Clone)]
#[must_use = "settings do nothing until an egress is built of them"]
pub struct EgressBuilder {
    trusted_origins: Vec<String>,
    plain_http: bool,
    private_networks: bool,
    loopback: bool,
    connect_timeout: Duration,
    timeout: Duration,
    max_response_bytes: usize,
    max_requests_per_host: usize,
    resolver: Arc<dyn Resolve>,
}

impl EgressBuilder {
    pub(super) fn new() -> Self {
        Self {
            trusted_origins: Vec::new(),
            plain_http: false,
            private_networks: false,
            loopback: false,
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(30),
            max_response_bytes: 1024 * 1024,
            max_requests_per_host: 16,
            resolver: Arc::new(System),
        }
    }

    /// Trusts the origin of `url`: its scheme, host and port, as they are written. None of the
    /// rules for hosts, ports and addresses holds for it.
    pub fn trust_origin(mut self, url: impl Into<String>) -> Self {
        self.trusted_origins.push(url.into());
        self
    }

    /// Lets other URLs be `http`. What is sent can then be read and changed on its way.
    pub fn allow_plain_http(mut self) -> Self {
        self.plain_http = true;
        self
    }

    /// Lets other URLs lead to private networks: 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16,
    /// 100.64.0.0/10, fc00::/7, and names that networks use among themselves. Metadata services
    /// and link-local addresses stay closed.
    pub fn allow_private_networks(mut self) -> Self {
        self.private_networks = true;
        self
    }

    /// Lets other URLs lead to this machine: 127.0.0.0/8, ::1 and `localhost`.
    pub fn allow_loopback(mut self) -> Self {
        self.loopback = true;
        self
    }

    /// How long a connection may take to be made, the name's lookup and TLS included. Default 10
    /// seconds.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long an [`Egress::request`] may take, from its call to the last byte of the answer.
    /// Default 30 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How many bytes the body of an answer may have. Default 1 MiB.
    pub fn max_response_bytes(mut self, bytes: usize) -> Self {
        self.max_response_bytes = bytes;
        self
    }

    /// How many [`Egress::request`]s to one host run at a time; others wait. Default 16.
    pub fn max_requests_per_host(mut self, requests: usize) -> Self {
        self.max_requests_per_host = requests;
        self
    }

    /// Finds the addresses of names in another way than the operating system does.
    pub fn resolver(mut self, resolver: impl Resolve) -> Self {
        self.resolver = Arc::new(resolver);
        self
    }

    /// Makes the egress. Does no I/O.
    ///
    /// # Errors
    /// When a setting is wrong; see [`EgressError::is_usage`].
    pub fn build(self) -> Result<Egress, EgressError> {
        let needed = [
            ("timeout", self.timeout.is_zero()),
            ("connect_timeout", self.connect_timeout.is_zero()),
            ("max_requests_per_host", self.max_requests_per_host == 0),
        ];
        if let Some((name, _)) = needed.iter().find(|(_, is_zero)| *is_zero) {
            return Err(EgressError::usage(format!(
                "the egress's {name} is 0; it needs some"
            )));
        }
        let origin = |text: &String| match parse(text) {
            Ok(url) => Ok(url.origin()),
            Err(NotUsable::UserOrPassword(_)) => Err(EgressError::usage(
                "the URL of a trusted origin has a user or password in it; take them out"
                    .to_owned(),
            )),
            Err(NotUsable::NoUrl(_) | NotUsable::Scheme) => Err(EgressError::usage(format!(
                "the trusted origin {text:?} is no http:// or https:// URL"
            ))),
        };
        let named: Result<Vec<_>, _> = self.trusted_origins.iter().map(origin).collect();
        let rules = Arc::new(Rules {
            named: named?,
            plain_http: self.plain_http,
            private_networks: self.private_networks,
            loopback: self.loopback,
        });
        Ok(Egress {
            inner: Arc::new(Inner {
                http: Http::new(self.connect_timeout, self.resolver, Arc::clone(&rules)),
                rules,
                per_host: PerHost::new(self.max_requests_per_host),
                timeout: self.timeout,
                max_response_bytes: self.max_response_bytes,
            }),
        })
    }
}

impl fmt::Debug for EgressBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EgressBuilder")
            .field("trusted_origins", &self.trusted_origins.len())
            .field("plain_http", &self.plain_http)
            .field("private_networks", &self.private_networks)
            .field("loopback", &self.loopback)
            .field("connect_timeout", &self.connect_timeout)
            .field("timeout", &self.timeout)
            .field("max_response_bytes", &self.max_response_bytes)
            .field("max_requests_per_host", &self.max_requests_per_host)
            .finish_non_exhaustive()
    }
}
