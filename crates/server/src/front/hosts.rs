//! Whom a request is for. A page of a stranger's can have its own name resolve to this machine
//! (DNS rebinding); what it cannot do is send another name than its own.

use std::net::IpAddr;

use axum::http::{HeaderMap, Uri, header, uri};
use llamon_core::a2a::ErrorCode;

use super::HostRule;
use super::refusal::Refusal;
use crate::config_error::ConfigError;

/// A host as a request or a URL names it, so that two that are the same are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HostName {
    Address(IpAddr),
    /// In lower case, without a dot at its end.
    Name(String),
}

/// Whom a request is for: the one host that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Authority {
    pub(super) host: HostName,
    pub(super) port: Option<u16>,
}

/// The hosts that requests are taken for.
#[derive(Debug)]
pub(super) enum Hosts {
    Listed(Vec<Authority>),
    Any,
}

impl Hosts {
    /// Those of the rule, and the hosts of the server's own `urls`.
    pub(super) fn new<'a>(
        rule: &HostRule,
        urls: impl Iterator<Item = &'a str>,
    ) -> Result<Self, ConfigError> {
        let HostRule::Named(named) = rule else {
            return Ok(Self::Any);
        };
        // The port is often another one before a proxy than behind it.
        let own = urls.filter_map(of_url).map(|authority| Authority {
            port: None,
            ..authority
        });
        let mut listed: Vec<Authority> = own.collect();
        for name in named {
            listed.push(parse_allowed(name)?);
        }
        Ok(Self::Listed(listed))
    }

    pub(super) fn is_local(&self) -> bool {
        match self {
            Self::Listed(listed) => listed.iter().all(|entry| entry.host.is_loopback()),
            Self::Any => false,
        }
    }

    /// Checks that a request is for this server. `local` is the address that it came to: a page
    /// of a stranger's has a name, and never this address, unless it is this server's.
    ///
    /// # Errors
    /// 421, without the names that would do.
    pub(super) fn check(&self, asked: &Authority, local: Option<IpAddr>) -> Result<(), Refusal> {
        let Self::Listed(listed) = self else {
            return Ok(());
        };
        let is_local =
            |address: &IpAddr| local.is_some_and(|local| local.to_canonical() == *address);
        let is_known = match &asked.host {
            host if host.is_loopback() => true,
            HostName::Address(address) if is_local(address) => true,
            _ => listed.iter().any(|entry| entry.admits(asked)),
        };
        if is_known {
            return Ok(());
        }
        Err(Refusal::new(
            421,
            ErrorCode::PermissionDenied,
            format!(
                "this server is not known as {}; its operator can have it answer to that name with \
                 .public_url(...) or .allow_hosts([...]) on its builder",
                asked.host.shown()
            ),
        ))
    }
}

impl Authority {
    /// The host that a request names: in its target, in its header or in both, but once.
    ///
    /// # Errors
    /// 400 where there is none, or more than one.
    pub(super) fn of(target: &Uri, headers: &HeaderMap) -> Result<Self, Refusal> {
        let mut values = headers.get_all(header::HOST).iter();
        let (first, second) = (values.next(), values.next());
        if second.is_some() {
            return Err(Refusal::malformed(
                "the request has more than one Host; send exactly one",
            ));
        }
        let in_header = first
            .map(|value| {
                let text = value.to_str().ok();
                text.and_then(Self::parse).ok_or_else(|| {
                    Refusal::malformed(
                        "the Host of the request is not a host, with or without a port",
                    )
                })
            })
            .transpose()?;
        let in_target = target
            .authority()
            .map(|authority| {
                Self::parse(authority.as_str()).ok_or_else(|| {
                    Refusal::malformed(
                        "the request's target has something else than a host, with or without a \
                         port",
                    )
                })
            })
            .transpose()?;
        match (in_target, in_header) {
            (Some(target), Some(header)) if target != header => Err(Refusal::malformed(
                "the request's target and its Host are not the same host",
            )),
            (Some(only), _) | (None, Some(only)) => Ok(only),
            (None, None) => Err(Refusal::malformed(
                "the request names no host; send the header Host",
            )),
        }
    }

    /// Reads `host` or `host:port`; nothing in front of it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.contains('@') {
            return None;
        }
        let authority: uri::Authority = text.parse().ok()?;
        let port = match authority.port() {
            Some(port) => Some(port.as_str().parse().ok()?),
            // A colon without a port behind it, or with something else.
            None if authority.as_str().len() != authority.host().len() => return None,
            None => None,
        };
        let host = HostName::parse(authority.host())?;
        Some(Self { host, port })
    }

    fn admits(&self, asked: &Self) -> bool {
        self.host == asked.host && (self.port.is_none() || self.port == asked.port)
    }
}

impl HostName {
    pub(super) fn parse(host: &str) -> Option<Self> {
        let bare = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        if let Some(bare) = bare {
            let address: IpAddr = bare.parse().ok()?;
            return Some(Self::Address(address.to_canonical()));
        }
        if let Ok(address) = host.parse::<IpAddr>() {
            return Some(Self::Address(address));
        }
        let name = host.strip_suffix('.').unwrap_or(host);
        let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_name = !name.is_empty() && name.bytes().all(is_fine);
        is_name.then(|| Self::Name(name.to_ascii_lowercase()))
    }

    fn is_loopback(&self) -> bool {
        match self {
            Self::Address(address) => address.is_loopback(),
            Self::Name(name) => name == "localhost" || name.ends_with(".localhost"),
        }
    }

    /// For an error: what the client sent, and not too much of it.
    fn shown(&self) -> String {
        match self {
            Self::Address(address) => address.to_string(),
            Self::Name(name) => format!("{:?}", name.chars().take(80).collect::<String>()),
        }
    }
}

/// What stands in `.allow_hosts([...])`.
pub(super) fn parse_allowed(text: &str) -> Result<Authority, ConfigError> {
    // An address of IPv6 may be given as it is.
    let whole = text.parse::<IpAddr>().ok().map(|address| Authority {
        host: HostName::Address(address.to_canonical()),
        port: None,
    });
    whole.or_else(|| Authority::parse(text)).ok_or_else(|| {
        ConfigError::address(format!(
            "the allowed host {text:?} is none; give a name or an address, with a port if only \
             that one is meant, such as \"agents.example.com\" or \"10.0.0.5:8080\"; for any host \
             call .allow_any_host()"
        ))
    })
}

/// The host of a URL, or of the target of gRPC, which has no scheme.
fn of_url(url: &str) -> Option<Authority> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    Authority::parse(authority)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue, Uri};

    use super::{Authority, HostRule, Hosts};

    fn named(target: &'static str, hosts: &[&'static str]) -> Result<Authority, ()> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append("host", HeaderValue::from_static(host));
        }
        Authority::of(&Uri::from_static(target), &headers).map_err(drop)
    }

    #[test]
    fn a_request_is_for_one_host() {
        for (target, hosts, expected) in [
            ("/", &["a.example"][..], "a.example"),
            ("/", &["A.Example.:80"], "a.example:80"),
            ("/", &["[::1]:8080"], "[::1]:8080"),
            ("/", &["127.0.0.1"], "127.0.0.1"),
            ("/", &["[::ffff:127.0.0.1]"], "127.0.0.1"),
            ("http://a.example/x", &["a.example"], "a.example"),
            ("http://a.example/x", &[], "a.example"),
            ("http://A.example:1/", &["a.example:1"], "a.example:1"),
        ] {
            let found = named(target, hosts);
            let expected = Authority::parse(expected).unwrap();
            assert_eq!(found, Ok(expected), "{target} {hosts:?}");
        }
        for (target, hosts) in [
            ("/", &[][..]),
            ("/", &["a.example", "a.example"]),
            ("/", &["a.example", "b.example"]),
            ("/", &[""]),
            ("/", &["a.example:"]),
            ("/", &["a.example:x"]),
            ("/", &["a.example:99999"]),
            ("/", &["me@a.example"]),
            ("/", &["a.example/x"]),
            ("/", &["a.example, b.example"]),
            ("/", &["a b"]),
            ("/", &["[::1"]),
            ("/", &["a%2eexample"]),
            ("http://a.example/", &["b.example"]),
            ("http://a.example:1/", &["a.example:2"]),
            ("http://me@a.example/", &["a.example"]),
            ("http://me:secret@a.example/", &[]),
        ] {
            assert_eq!(named(target, hosts), Err(()), "{target} {hosts:?}");
        }
    }

    fn is_taken(hosts: &Hosts, host: &str, local: Option<&str>) -> bool {
        let local = local.map(|local| local.parse().unwrap());
        hosts.check(&Authority::parse(host).unwrap(), local).is_ok()
    }

    #[test]
    fn loopback_the_servers_own_and_the_named_hosts_are_taken() {
        let rule = HostRule::Named(vec![
            "Other.example".to_owned(),
            "ported.example:81".to_owned(),
            "2001:db8::1".to_owned(),
        ]);
        let urls = ["https://agents.example.com/audit", "grpc.example.com:50051"];
        let hosts = Hosts::new(&rule, urls.into_iter()).unwrap();
        let local = Some("192.0.2.1");
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "agent.localhost",
            "127.0.0.1:1",
            "127.9.9.9",
            "[::1]",
            "agents.example.com",
            "Agents.Example.com.:8443",
            "grpc.example.com",
            "other.example:1",
            "ported.example:81",
            "[2001:db8::1]:8",
            "192.0.2.1:8080",
        ] {
            assert!(is_taken(&hosts, host, local), "{host}");
        }
        for host in [
            "evil.example",
            "agents.example.com.evil.example",
            "example.com",
            "ported.example",
            "ported.example:82",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "192.0.2.2",
            "0.0.0.0",
            "2130706433",
            "0x7f000001",
        ] {
            assert!(!is_taken(&hosts, host, local), "{host}");
        }
        assert!(!is_taken(&hosts, "192.0.2.1", None));
        assert!(is_taken(&Hosts::Any, "evil.example", None));
    }

    #[test]
    fn what_is_no_host_cannot_be_allowed() {
        for text in [
            "",
            "https://a.example",
            "a.example/x",
            "*.example.com",
            "a b",
        ] {
            let rule = HostRule::Named(vec![text.to_owned()]);
            let error = Hosts::new(&rule, std::iter::empty()).unwrap_err();
            assert!(
                error.is_address() && error.to_string().contains(text),
                "{error}"
            );
        }
    }
}
