//! The one way out: every request is made here, with the same guards.

use std::error::Error;
use std::pin::Pin;
use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use bytestring::ByteString;
use futures_util::Stream;
use llamon_core::a2a::{PROTOCOL_VERSION, VERSION_HEADER};
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use url::Url;

use crate::address::shown;
use crate::error::ClientError;
use crate::tls;

/// Less than the five seconds after which common servers close an idle connection: a send is
/// never repeated, so it must not meet a connection that is being closed.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// A body's first allocation at most, whatever length its head claims.
const FIRST_ALLOCATION: usize = 1024 * 1024;

/// Makes requests. No redirects, no proxy, no compression, no cookies, no hidden retries.
pub(crate) struct Egress {
    connect_timeout: Duration,
    plain: reqwest::Client,
    // Made when the first https URL comes: reading the system's certificates takes a while.
    secure: OnceLock<Result<reqwest::Client, String>>,
}

pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) accept: &'static str,
    pub(crate) body: Option<Body>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
}

pub(crate) struct Body {
    pub(crate) media_type: &'static str,
    pub(crate) bytes: Bytes,
}

/// What stands before a response's body.
pub(crate) struct Head {
    /// Where it came from, as it may stand in a message.
    pub(crate) url: String,
    pub(crate) status: u16,
    /// In lower case, without parameters.
    pub(crate) media_type: String,
    pub(crate) location: Option<String>,
}

pub(crate) struct Response {
    pub(crate) head: Head,
    inner: reqwest::Response,
}

/// A response's body as it arrives; an error is the text of what went wrong.
pub(crate) type Chunks = Pin<Box<dyn Stream<Item = Result<Bytes, String>> + Send>>;

impl Egress {
    pub(crate) fn new(connect_timeout: Duration) -> Result<Self, ClientError> {
        let plain = tls::none()
            .map_err(|error| error.to_string())
            .and_then(|tls| build(connect_timeout, tls))
            .map_err(|error| {
                ClientError::usage(format!("cannot set up an HTTP client: {error}"))
            })?;
        Ok(Self {
            connect_timeout,
            plain,
            secure: OnceLock::new(),
        })
    }

    /// Sends the request and waits for the response's head.
    pub(crate) async fn send(&self, request: &Request) -> Result<Response, ClientError> {
        let method = match request.method {
            Method::Get => reqwest::Method::GET,
            Method::Post => reqwest::Method::POST,
        };
        let mut builder = self
            .client(&request.url)?
            .request(method, request.url.clone())
            .header(VERSION_HEADER, PROTOCOL_VERSION)
            .header(ACCEPT, request.accept);
        if let Some(body) = &request.body {
            builder = builder
                .header(CONTENT_TYPE, body.media_type)
                .body(body.bytes.clone());
        }
        let sent = builder.send().await;
        let inner = sent.map_err(|error| self.failed(&request.url, &error))?;
        let header = |name| {
            let value = inner.headers().get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let media_type: String = header(CONTENT_TYPE).unwrap_or_default();
        let head = Head {
            url: shown(&request.url),
            status: inner.status().as_u16(),
            media_type: media_type
                .split(';')
                .next()
                .unwrap_or_default()
                .trim()
                .to_ascii_lowercase(),
            location: header(LOCATION),
        };
        Ok(Response { head, inner })
    }

    fn client(&self, url: &Url) -> Result<&reqwest::Client, ClientError> {
        if url.scheme() != "https" {
            return Ok(&self.plain);
        }
        let secure = self.secure.get_or_init(|| {
            let tls = tls::of_platform().map_err(|error| error.to_string())?;
            build(self.connect_timeout, tls)
        });
        secure.as_ref().map_err(|error| {
            ClientError::connect(format!(
                "cannot connect to {} with TLS: {error}; install the system's certificates (ca-certificates)",
                shown(url)
            ))
        })
    }

    fn failed(&self, url: &Url, error: &reqwest::Error) -> ClientError {
        let url = shown(url);
        if error.is_connect() && error.is_timeout() {
            let within = self.connect_timeout;
            return ClientError::connect(format!("no connection to {url} within {within:?}"));
        }
        let cause = root_cause(error);
        if error.is_connect() {
            return ClientError::connect(format!("cannot connect to {url}: {cause}"));
        }
        if error.is_builder() {
            return ClientError::usage(format!("cannot make a request to {url}: {cause}"));
        }
        ClientError::disconnected(format!(
            "the connection to {url} failed before an answer came: {cause}"
        ))
    }
}

impl Head {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(crate) fn is_event_stream(&self) -> bool {
        self.is_success() && self.media_type == "text/event-stream"
    }
}

impl Response {
    /// Reads the body, which may have `max` bytes.
    pub(crate) async fn text(mut self, max: usize) -> Result<(Head, ByteString), ClientError> {
        let claimed = self.inner.content_length();
        if claimed.is_some_and(|length| length > max as u64) {
            return Err(too_large(&self.head.url, max));
        }
        let claimed = claimed.map_or(0, |length| usize::try_from(length).unwrap_or(0));
        let mut body = Vec::with_capacity(claimed.min(FIRST_ALLOCATION));
        while let Some(chunk) = self.inner.chunk().await.map_err(|error| {
            ClientError::disconnected(format!(
                "the connection to {} ended before the whole answer had arrived: {}",
                self.head.url,
                root_cause(&error)
            ))
        })? {
            if chunk.len() > max - body.len() {
                return Err(too_large(&self.head.url, max));
            }
            body.extend_from_slice(&chunk);
        }
        match String::from_utf8(body) {
            Ok(text) => Ok((self.head, ByteString::from(text))),
            Err(error) => Err(ClientError::invalid_response(format!(
                "the answer of {} is not UTF-8 (at byte {})",
                self.head.url,
                error.utf8_error().valid_up_to()
            ))
            .with_status(self.head.status)),
        }
    }

    /// The body as it arrives.
    pub(crate) fn into_chunks(self) -> Chunks {
        use futures_util::TryStreamExt as _;
        Box::pin(
            self.inner
                .bytes_stream()
                .map_err(|error| root_cause(&error)),
        )
    }
}

/// The error of an answer with more than `max` bytes.
pub(crate) fn too_large(url: &str, max: usize) -> ClientError {
    ClientError::invalid_response(format!(
        "the answer of {url} is larger than {max} bytes, four times the limit max_body_bytes; raise that limit if the answer is wanted"
    ))
}

fn build(connect_timeout: Duration, tls: rustls::ClientConfig) -> Result<reqwest::Client, String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that builds a client"
    )]
    let builder = reqwest::Client::builder();
    builder
        .tls_backend_preconfigured(tls)
        .connect_timeout(connect_timeout)
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

/// What went wrong in the end; the errors around it only say that a request failed.
fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
