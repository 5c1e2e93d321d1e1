//! From a host's name to the addresses that are dialled.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use super::rules::{Barred, Rules};

/// What a [`Resolve`] returns.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>>;

/// Finds the addresses of a host's name.
///
/// What it finds is checked like any other answer: a resolver cannot make an address allowed.
///
/// ```
/// use std::net::SocketAddr;
/// use llamon_client::egress::{Resolve, Resolving};
///
/// struct Fixed(SocketAddr);
///
/// impl Resolve for Fixed {
///     fn resolve<'a>(&'a self, _host: &'a str) -> Resolving<'a> {
///         Box::pin(async move { Ok(vec![self.0]) })
///     }
/// }
/// ```
pub trait Resolve: Send + Sync + 'static {
    /// The addresses of `host`, which is a name in ASCII and not an address. Their ports are not
    /// looked at. The future is dropped when it takes longer than the connect timeout.
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a>;
}

/// What the operating system says.
pub(super) struct System;

impl Resolve for System {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, 0)).await?.collect()) })
    }
}

/// Finds what may be dialled for a name. The HTTP client asks it for each connection and dials
/// what it says, so that there is no time between a check and its use.
pub(super) struct Lookup {
    pub(super) resolver: Arc<dyn Resolve>,
    /// Those that the answer has to keep; none where the operator named the origin.
    pub(super) rules: Option<Arc<Rules>>,
}

/// Why there is nothing to dial for a name.
#[derive(Clone, Debug)]
pub(super) enum NoAddress {
    Barred(Barred),
    NotFound(String),
}

impl Lookup {
    pub(super) async fn addresses(&self, host: &str) -> Result<Vec<SocketAddr>, NoAddress> {
        let found = self.resolver.resolve(host).await;
        let found = found.map_err(|error| NoAddress::NotFound(error.to_string()))?;
        if found.is_empty() {
            return Err(NoAddress::NotFound("it has no address".to_owned()));
        }
        let Some(rules) = &self.rules else {
            return Ok(found.into_iter().map(without_port).collect());
        };
        let mut checked = Vec::with_capacity(found.len());
        for address in found {
            let ip = address.ip().to_canonical();
            // One that is barred spoils the others: who mixes them has a reason.
            rules.permit_address(ip).map_err(NoAddress::Barred)?;
            checked.push(SocketAddr::new(ip, 0));
        }
        Ok(checked)
    }
}

/// The URL's port is used where an address has none.
fn without_port(mut address: SocketAddr) -> SocketAddr {
    address.set_port(0);
    address
}

impl reqwest::dns::Resolve for Lookup {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let lookup = Self {
            resolver: Arc::clone(&self.resolver),
            rules: self.rules.clone(),
        };
        Box::pin(async move {
            let addresses = lookup.addresses(name.as_str()).await?;
            Ok(Box::new(addresses.into_iter()) as reqwest::dns::Addrs)
        })
    }
}

impl fmt::Display for NoAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Barred(barred) => barred.fmt(f),
            Self::NotFound(cause) => f.write_str(cause),
        }
    }
}

impl Error for NoAddress {}
