//! The one guarded way out: every connection to an address that came from outside is opened here.
//!
//! ```no_run
//! use llamon_client::egress::{Egress, Method};
//!
//! # async fn example(webhook: &str) -> Result<(), llamon_client::egress::EgressError> {
//! let egress = Egress::builder().trust_origin("http://collector.internal:9000").build()?;
//! // When a stranger gives the URL, and again, by itself, each time that it is used.
//! egress.check(webhook).await?;
//! let headers = [("content-type", "application/json")];
//! let answer = egress.request(Method::Post, webhook, &headers, "{}").await?;
//! println!("{}", answer.status());
//! # Ok(())
//! # }
//! ```
//!
//! # Two kinds of URLs
//!
//! An origin (scheme, host and port) that the operator named with [`EgressBuilder::trust_origin`]
//! is trusted as it is named: `http`, private addresses and every port are fine. Every other URL is
//! guarded:
//!
//! * `https` only ([`EgressBuilder::allow_plain_http`]), and written plainly: no user or password
//!   (those not for named origins either), white space, control characters or backslashes, at most
//!   8 KiB.
//! * The scheme's own port, or one from 1024 on where no well-known other service listens
//!   (databases, Docker, etcd, kubelet, X11, IRC and the like).
//! * No name of this machine, of a private network (without a dot, `.local`, `.internal`, ...) or of
//!   a cloud's metadata service, with a dot at its end or without.
//! * No address of the IANA special-purpose registries, nor of a metadata service, however it is
//!   written. NAT64 (`64:ff9b::/96`) is judged by the IPv4 address in it; IPv4-mapped answers are
//!   dialled as IPv4 and judged so; 6to4, Teredo, IPv4-compatible and local NAT64
//!   (`64:ff9b:1::/48`) addresses are refused, as is all that is not global unicast.
//! * If one address of a name is refused, all are. What was checked is dialled: the name is not
//!   looked up again in between.
//!
//! [`EgressBuilder::allow_private_networks`] and [`EgressBuilder::allow_loopback`] open those two,
//! and nothing else: link-local addresses and metadata services stay closed.
//!
//! For both kinds: no redirects, no proxy, no cookies, no unpacking, no hidden repeating; a whole
//! time, a size of the answer, and a number of requests to one host at a time.
//!
//! Whoever can give a URL reaches every origin that is named. So make one `Egress` per purpose: a
//! stranger's webhook must not profit from the trust in an issuer of keys.
//!
//! Not covered: a network whose NAT64 has a prefix of its own, which looks like any other public
//! address. Close such a translator to private addresses.

mod builder;
mod call;
mod error;
mod http;
mod names;
mod per_host;
mod resolver;
mod response;
mod rules;
mod special;

#[cfg(test)]
mod property;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap, HeaderName, HeaderValue};
use url::{Host, Url};

pub use builder::EgressBuilder;
pub(crate) use call::{Body, Chunks, Head, Request, Response};
pub use error::EgressError;
use http::Http;
use per_host::PerHost;
use resolver::NoAddress;
pub use resolver::{Resolve, Resolving};
pub use response::BoundedResponse;
pub(crate) use rules::{NotUsable, parse};
use rules::{Rules, Trust};

/// Makes requests to the URLs that the rules allow; see the [module](self). Cloning it is cheap,
/// and clones share their connections.
#[derive(Clone)]
pub struct Egress {
    inner: Arc<Inner>,
}

struct Inner {
    rules: Arc<Rules>,
    http: Http,
    per_host: PerHost,
    timeout: Duration,
    max_response_bytes: usize,
}

/// What a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Http1,
    /// From its first byte, in plaintext as well.
    #[cfg(feature = "grpc")]
    Http2,
}

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// GET.
    Get,
    /// POST.
    Post,
    /// DELETE.
    Delete,
}

/// Headers that say how a message is framed or where it goes, which is not the caller's to say.
const OURS: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

impl Egress {
    /// The default settings, to change them.
    pub fn builder() -> EgressBuilder {
        EgressBuilder::new()
    }

    /// Whether a request to `url` would be made now: the URL keeps the rules, and so do all
    /// addresses that its name has, which are looked up. Nothing is dialled. A named origin is
    /// not looked up.
    ///
    /// This is for the moment when a URL is given. [`Egress::request`] checks all of it again.
    /// Cancel-safe.
    ///
    /// # Errors
    /// [`EgressError::is_refused`], and [`EgressError::is_unresolved`] when the name has no
    /// address or none was found within the connect timeout. Give the stranger
    /// [`EgressError::public`], not the error.
    pub async fn check(&self, url: &str) -> Result<(), EgressError> {
        let (url, trust) = self.inner.rules.read(url)?;
        let (Trust::Guarded, Some(Host::Domain(host))) = (trust, url.host()) else {
            return Ok(());
        };
        let within = self.inner.http.connect_timeout;
        let found = self.inner.http.lookup(trust);
        match tokio::time::timeout(within, found.addresses(host)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(why)) => Err(no_address(&url, trust, &why)),
            Err(_) => {
                let cause = format!("none was found within {within:?}");
                Err(EgressError::unresolved(&shown(&url, trust), &cause))
            }
        }
    }

    /// Whether `url` keeps the rules that can be seen in it: all but what its name resolves to.
    /// Nothing is looked up, so it says nothing about names here and waits for nobody's name
    /// server.
    ///
    /// # Errors
    /// [`EgressError::is_refused`]. Give the stranger [`EgressError::public`], not the error.
    pub fn check_url(&self, url: &str) -> Result<(), EgressError> {
        self.read(url).map(drop)
    }

    /// Makes a request and reads the whole answer, whatever its status. An empty `body` is none.
    ///
    /// It waits while as many requests to the same host run as may run at a time; the wait counts
    /// towards the whole time. When the future is dropped, the connection is closed, and the host
    /// may have got the request.
    ///
    /// # Errors
    /// When a header cannot be sent ([`EgressError::is_usage`]), when the URL or an address that
    /// it leads to is refused, when there is no answer in time, and when the answer is too large
    /// or packed. A redirect is an answer and is not followed.
    pub async fn request(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<BoundedResponse, EgressError> {
        let (url, trust) = self.inner.rules.read(url)?;
        let headers = header_map(headers)?;
        let body = Some(body.into()).filter(|body| !body.is_empty());
        let whole = async {
            let host = url.host_str().unwrap_or_default();
            let _place = self.inner.per_host.enter(host).await;
            let response = self
                .dispatch(Version::Http1, method, &url, headers, body)
                .await?;
            response::read(response, &shown(&url, trust), self.inner.max_response_bytes).await
        };
        let within = self.inner.timeout;
        match tokio::time::timeout(within, whole).await {
            Ok(answer) => answer,
            Err(_) => Err(EgressError::timeout(format!(
                "{} gave no whole answer within {within:?}",
                shown(&url, trust)
            ))),
        }
    }

    /// Reads a URL that somebody outside gave and checks what can be seen in it.
    pub(crate) fn read(&self, url: &str) -> Result<Url, EgressError> {
        self.inner.rules.read(url).map(|(url, _)| url)
    }

    /// Sends a request and waits for the head of its answer. All requests are made here.
    async fn dispatch(
        &self,
        version: Version,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Option<Bytes>,
    ) -> Result<reqwest::Response, EgressError> {
        let trust = self.inner.rules.permit(url)?;
        let method = match method {
            Method::Get => reqwest::Method::GET,
            Method::Post => reqwest::Method::POST,
            Method::Delete => reqwest::Method::DELETE,
        };
        let mut request = self
            .inner
            .http
            .client(version, url, trust)?
            .request(method, url.clone())
            .headers(headers)
            // Without it a server may pack what it sends.
            .header(ACCEPT_ENCODING, "identity");
        if let Some(body) = body {
            request = request.body(body);
        }
        let response = request.send().await;
        let response = response.map_err(|error| self.failed(url, trust, &error))?;
        let encodings = response.headers().get_all(CONTENT_ENCODING).iter();
        for encoding in encodings {
            let encoding = String::from_utf8_lossy(encoding.as_bytes());
            if !encoding.trim().is_empty() && !encoding.trim().eq_ignore_ascii_case("identity") {
                return Err(EgressError::encoded(&shown(url, trust), &encoding));
            }
        }
        Ok(response)
    }

    fn failed(&self, url: &Url, trust: Trust, error: &reqwest::Error) -> EgressError {
        if let Some(why) = http::cause_of(error) {
            return no_address(url, trust, why);
        }
        let url = shown(url, trust);
        if error.is_connect() && error.is_timeout() {
            let within = self.inner.http.connect_timeout;
            return EgressError::connect(format!("no connection to {url} within {within:?}"));
        }
        let cause = http::root_cause(error);
        if error.is_connect() {
            return EgressError::connect(format!("cannot connect to {url}: {cause}"));
        }
        if error.is_builder() {
            return EgressError::usage(format!("cannot make a request to {url}: {cause}"));
        }
        EgressError::disconnected(format!(
            "the connection to {url} failed before an answer came: {cause}"
        ))
    }
}

impl fmt::Debug for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Egress")
            .field("rules", &self.inner.rules)
            .field("timeout", &self.inner.timeout)
            .field("max_response_bytes", &self.inner.max_response_bytes)
            .finish_non_exhaustive()
    }
}

fn no_address(url: &Url, trust: Trust, why: &NoAddress) -> EgressError {
    match why {
        NoAddress::Barred(barred) => EgressError::barred(url, &barred.to_string()),
        NoAddress::NotFound(cause) => EgressError::unresolved(&shown(url, trust), cause),
    }
}

/// The URL as it may stand in a log.
fn shown(url: &Url, trust: Trust) -> String {
    match trust {
        Trust::Named => crate::address::shown(url),
        Trust::Guarded => url.origin().ascii_serialization(),
    }
}

fn header_map(headers: &[(&str, &str)]) -> Result<HeaderMap, EgressError> {
    let mut map = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let (name, value) = header(name, value)?;
        map.append(name, value);
    }
    Ok(map)
}

/// A header that a caller gives; its value is kept out of every log.
pub(crate) fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), EgressError> {
    let Ok(parsed) = HeaderName::try_from(name) else {
        return Err(EgressError::usage(format!(
            "{name:?} is no name of an HTTP header"
        )));
    };
    if OURS.contains(&parsed.as_str()) {
        return Err(EgressError::usage(format!(
            "the header {name:?} is set by whoever makes the connection; leave it out"
        )));
    }
    let Ok(mut value) = HeaderValue::try_from(value) else {
        // The value is not shown: it can be a token.
        return Err(EgressError::usage(format!(
            "the value of the header {name:?} has a character that HTTP does not allow, such as a line break"
        )));
    };
    value.set_sensitive(true);
    Ok((parsed, value))
}
