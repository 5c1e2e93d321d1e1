//! The HTTP clients: the only place that builds one.

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::Client;
use url::Url;

use super::error::EgressError;
use super::resolver::{Lookup, NoAddress, Resolve};
use super::rules::{Rules, Trust};
use super::{Version, shown};
use crate::tls;

/// Less than the five seconds after which common servers close an idle connection: a send is
/// never repeated, so it must not meet a connection that is being closed.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// How often a connection with calls is asked whether it is alive, and how long it has to answer.
#[cfg(feature = "grpc")]
const PING: Duration = Duration::from_secs(20);

/// HTTP clients. No redirects, no proxy, no compression, no cookies, no hidden retries.
pub(super) struct Http {
    pub(super) connect_timeout: Duration,
    resolver: Arc<dyn Resolve>,
    rules: Arc<Rules>,
    // Made when the first https URL comes: reading the system's certificates takes a while.
    tls: OnceLock<Result<rustls::ClientConfig, String>>,
    // Apart, because a resolver sees a name and not the origin: of one name, one port can be
    // named and another one not.
    named: Pair,
    guarded: Pair,
    #[cfg(feature = "grpc")]
    named_http2: Pair,
    #[cfg(feature = "grpc")]
    guarded_http2: Pair,
}

#[derive(Default)]
struct Pair {
    plain: OnceLock<Result<Client, String>>,
    secure: OnceLock<Result<Client, String>>,
}

impl Http {
    pub(super) fn new(
        connect_timeout: Duration,
        resolver: Arc<dyn Resolve>,
        rules: Arc<Rules>,
    ) -> Self {
        Self {
            connect_timeout,
            resolver,
            rules,
            tls: OnceLock::new(),
            named: Pair::default(),
            guarded: Pair::default(),
            #[cfg(feature = "grpc")]
            named_http2: Pair::default(),
            #[cfg(feature = "grpc")]
            guarded_http2: Pair::default(),
        }
    }

    pub(super) fn lookup(&self, trust: Trust) -> Lookup {
        Lookup {
            resolver: Arc::clone(&self.resolver),
            rules: match trust {
                Trust::Named => None,
                Trust::Guarded => Some(Arc::clone(&self.rules)),
            },
        }
    }

    pub(super) fn client(
        &self,
        version: Version,
        url: &Url,
        trust: Trust,
    ) -> Result<&Client, EgressError> {
        let pair = match (version, trust) {
            (Version::Http1, Trust::Named) => &self.named,
            (Version::Http1, Trust::Guarded) => &self.guarded,
            #[cfg(feature = "grpc")]
            (Version::Http2, Trust::Named) => &self.named_http2,
            #[cfg(feature = "grpc")]
            (Version::Http2, Trust::Guarded) => &self.guarded_http2,
        };
        if url.scheme() == "https" {
            let secure = pair.secure.get_or_init(|| {
                let tls = self
                    .tls
                    .get_or_init(|| tls::of_platform().map_err(|error| error.to_string()));
                self.build(version, tls.clone()?, trust)
            });
            return secure.as_ref().map_err(|error| {
                EgressError::connect(format!(
                    "cannot connect to {} with TLS: {error}; install the system's certificates (ca-certificates)",
                    shown(url, trust)
                ))
            });
        }
        let plain = pair.plain.get_or_init(|| {
            let tls = tls::none().map_err(|error| error.to_string())?;
            self.build(version, tls, trust)
        });
        plain
            .as_ref()
            .map_err(|error| EgressError::usage(format!("cannot set up an HTTP client: {error}")))
    }

    fn build(
        &self,
        version: Version,
        #[cfg_attr(not(feature = "grpc"), expect(unused_mut, reason = "gRPC changes it"))]
        mut tls: rustls::ClientConfig,
        trust: Trust,
    ) -> Result<Client, String> {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the one place that builds a client"
        )]
        let builder = Client::builder();
        let builder = match version {
            // Also where another crate switches HTTP/2 on.
            Version::Http1 => builder.http1_only(),
            #[cfg(feature = "grpc")]
            Version::Http2 => {
                tls.alpn_protocols = vec![b"h2".to_vec()];
                builder
                    .http2_prior_knowledge()
                    .http2_keep_alive_interval(PING)
                    .http2_keep_alive_timeout(PING)
                    .http2_adaptive_window(true)
            }
        };
        builder
            .tls_backend_preconfigured(tls)
            .dns_resolver(self.lookup(trust))
            .connect_timeout(self.connect_timeout)
            .tcp_nodelay(true)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .no_proxy()
            // Features of reqwest that another crate switches on must change nothing here: a body
            // that unpacks itself would not have the size that was read.
            .no_gzip()
            .no_brotli()
            .no_deflate()
            .no_zstd()
            .pool_idle_timeout(POOL_IDLE)
            .user_agent(concat!("llamon-client/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| root_cause(&error))
    }
}

/// What the lookup said, if it was the lookup that failed.
pub(super) fn cause_of(error: &reqwest::Error) -> Option<&NoAddress> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

/// What went wrong in the end; the errors around it only say that a request failed.
pub(super) fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
