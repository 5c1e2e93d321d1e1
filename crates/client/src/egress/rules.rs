//! What a request may go to. Nothing here does I/O.

use std::fmt;
use std::net::IpAddr;

use url::{Host, Origin, Url};

use super::error::EgressError;
use super::names;
use super::special::{self, Reach};

/// Longer ones are not read: nobody needs them, and they are kept and shown.
const MAX_URL_BYTES: usize = 8 * 1024;

/// Ports from 1024 on where servers listen that a few bytes of a stranger's HTTP or TLS could
/// harm, or that control a machine over HTTP. Below 1024 only the scheme's own port is open.
const CLOSED_PORTS: &[u16] = &[
    1433, 1434, 1521, // SQL Server, Oracle
    1719, 1720, 1723, // H.323, PPTP
    2049, 2181, 2375, 2376, 2377, 2379, 2380, // NFS, ZooKeeper, Docker, etcd
    3306, 3389, 3659, // MySQL, remote desktop, SASL
    4045, 4190, 4369, // NFS locks, sieve, Erlang
    5060, 5061, 5432, 5671, 5672, 5900, 5984, 5985,
    5986, // SIP, Postgres, AMQP, VNC, CouchDB, WinRM
    6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, // X11, Redis, SANE, IRC
    7077, 9042, 9092, 9200, 9300, // Spark, Cassandra, Kafka, Elasticsearch
    10250, 10255, 10256, 11211, 27017, 27018, 27019, // kubelet, memcached, MongoDB
];

/// What the operator has named and allowed.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) named: Vec<Origin>,
    pub(super) plain_http: bool,
    pub(super) private_networks: bool,
    pub(super) loopback: bool,
}

/// Whose word there is for a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// The operator named its origin.
    Named,
    /// Nobody's: it keeps the rules.
    Guarded,
}

/// An address that the rules do not allow, and why.
#[derive(Clone, Debug)]
pub(super) struct Barred {
    address: IpAddr,
    name: &'static str,
    reach: Reach,
}

/// Why a text is no URL that any request could go to, wherever it comes from.
pub(crate) enum NotUsable {
    NoUrl(url::ParseError),
    UserOrPassword(Url),
    Scheme,
}

/// Reads an `http` or `https` URL without user, password and fragment.
pub(crate) fn parse(text: &str) -> Result<Url, NotUsable> {
    let mut url = Url::parse(text.trim()).map_err(NotUsable::NoUrl)?;
    // The parser drops an empty user; whoever wrote one meant to hide the host behind it.
    if !url.username().is_empty() || url.password().is_some() || authority(text).contains('@') {
        return Err(NotUsable::UserOrPassword(url));
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(NotUsable::Scheme);
    }
    url.set_fragment(None);
    Ok(url)
}

impl Rules {
    pub(super) fn trust(&self, url: &Url) -> Trust {
        if self.named.contains(&url.origin()) {
            Trust::Named
        } else {
            Trust::Guarded
        }
    }

    /// Reads a URL and checks what can be seen in it.
    pub(super) fn read(&self, text: &str) -> Result<(Url, Trust), EgressError> {
        if text.len() > MAX_URL_BYTES {
            return Err(EgressError::malformed(format!(
                "the URL has {} bytes; it may have {MAX_URL_BYTES}",
                text.len()
            )));
        }
        // The text is not shown: what cannot be read cannot be shortened to what is no secret.
        let url = parse(text).map_err(|why| match why {
            NotUsable::NoUrl(error) => {
                EgressError::malformed(format!("the URL is not one: {error}"))
            }
            NotUsable::UserOrPassword(_) => EgressError::malformed(
                "the URL has a user or password in it; take them out".to_owned(),
            ),
            NotUsable::Scheme => {
                EgressError::malformed("the URL is no http:// or https:// URL".to_owned())
            }
        })?;
        let trust = self.trust(&url);
        if trust == Trust::Guarded {
            plain_text(text)?;
            self.permit(&url)?;
            plain_address(text, &url)?;
        }
        Ok((url, trust))
    }

    /// Checks what can be seen in a URL: all but what its name resolves to.
    pub(super) fn permit(&self, url: &Url) -> Result<Trust, EgressError> {
        if self.trust(url) == Trust::Named {
            return Ok(Trust::Named);
        }
        if url.scheme() != "https" && !self.plain_http {
            return Err(EgressError::not_https(url));
        }
        self.permit_host(url)?;
        permit_port(url)?;
        Ok(Trust::Guarded)
    }

    /// Checks an address that is to be dialled for a URL of nobody that the operator named.
    pub(super) fn permit_address(&self, address: IpAddr) -> Result<(), Barred> {
        let (reach, name) = special::reach(address);
        if self.permits(reach) {
            return Ok(());
        }
        Err(Barred {
            address,
            name,
            reach,
        })
    }

    fn permits(&self, reach: Reach) -> bool {
        match reach {
            Reach::Public => true,
            Reach::Private => self.private_networks,
            Reach::Loopback => self.loopback,
            Reach::Forbidden => false,
        }
    }

    fn permit_host(&self, url: &Url) -> Result<(), EgressError> {
        let address = match url.host() {
            Some(Host::Domain(name)) => {
                let (reach, called) = names::reach(name);
                if self.permits(reach) {
                    return Ok(());
                }
                let advice = advice(reach);
                return Err(EgressError::barred(
                    url,
                    &format!("{name:?} is {called}{advice}"),
                ));
            }
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => {
                // Resolved, such an address is dialled as IPv4. Written, it is there to deceive.
                if address.to_ipv4_mapped().is_some() {
                    return Err(EgressError::barred(
                        url,
                        &format!("{address} is an IPv4 address written as IPv6"),
                    ));
                }
                IpAddr::V6(address)
            }
            None => return Err(EgressError::malformed("the URL has no host".to_owned())),
        };
        self.permit_address(address)
            .map_err(|barred| EgressError::barred(url, &barred.to_string()))
    }
}

/// What a lenient reader forgives, two readers forgive in two ways.
fn plain_text(text: &str) -> Result<(), EgressError> {
    let wrong = text
        .chars()
        .find(|c| c.is_whitespace() || c.is_control() || *c == '\\');
    if let Some(wrong) = wrong {
        return Err(EgressError::malformed(format!(
            "the URL has a {wrong:?} in it; escape it"
        )));
    }
    if authority(text).is_empty() {
        return Err(EgressError::malformed(
            "the URL has no host after https://".to_owned(),
        ));
    }
    Ok(())
}

/// An IPv4 address has four decimal numbers. Of `0127.1`, two readers can make two hosts.
fn plain_address(text: &str, url: &Url) -> Result<(), EgressError> {
    let Some(Host::Ipv4(address)) = url.host() else {
        return Ok(());
    };
    let written = authority(text).split(':').next().unwrap_or_default();
    if written == address.to_string() {
        return Ok(());
    }
    Err(EgressError::malformed(format!(
        "the URL's host is an address that is not written plainly; write {address}"
    )))
}

fn permit_port(url: &Url) -> Result<(), EgressError> {
    match url.port() {
        // The scheme's own.
        None => Ok(()),
        Some(port) if port >= 1024 && !CLOSED_PORTS.contains(&port) => Ok(()),
        Some(port) => Err(EgressError::port(url, port)),
    }
}

/// The text between `//` and the path, as it is written.
fn authority(text: &str) -> &str {
    let text = text.trim();
    let Some((_, rest)) = text.split_once("://") else {
        return "";
    };
    rest.split(['/', '\\', '?', '#']).next().unwrap_or_default()
}

fn advice(reach: Reach) -> &'static str {
    match reach {
        Reach::Private => "; allow_private_networks() allows such hosts",
        Reach::Loopback => "; allow_loopback() allows this machine",
        Reach::Public | Reach::Forbidden => "",
    }
}

impl fmt::Display for Barred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            address,
            name,
            reach,
        } = self;
        write!(f, "{address} is {name}{}", advice(*reach))
    }
}
