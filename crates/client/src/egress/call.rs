//! What the A2A client asks for: answers as text of a size that it knows, and streams.

use std::pin::Pin;

use bytes::Bytes;
use bytestring::ByteString;
use futures_util::Stream;
use llamon_core::a2a::{ProtocolVersion, VERSION_HEADER};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use url::Url;

use super::{Egress, EgressError, Method, Version, http, response, shown};
use crate::error::ClientError;
use crate::{extensions, v03};

pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) version: ProtocolVersion,
    pub(crate) accept: &'static str,
    /// Those of the caller, such as credentials; the others are set here.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Body>,
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
    /// URIs of the extensions that the agent says are active.
    pub(crate) extensions: Vec<String>,
}

pub(crate) struct Response {
    pub(crate) head: Head,
    inner: Content,
}

enum Content {
    Received(reqwest::Response),
    /// Made of what was received in another form.
    #[cfg(feature = "grpc")]
    Made(Chunks),
}

/// A response's body as it arrives; an error is the text of what went wrong.
pub(crate) type Chunks = Pin<Box<dyn Stream<Item = Result<Bytes, String>> + Send>>;

impl Egress {
    /// Sends the request and waits for the response's head, without a limit of its own: neither
    /// the whole time nor the requests per host, which are as many as the caller makes.
    pub(crate) async fn send(&self, request: &Request) -> Result<Response, ClientError> {
        self.send_as(Version::Http1, request).await
    }

    /// The same over HTTP/2, for gRPC.
    #[cfg(feature = "grpc")]
    pub(crate) async fn send_http2(&self, request: &Request) -> Result<Response, ClientError> {
        self.send_as(Version::Http2, request).await
    }

    async fn send_as(&self, version: Version, request: &Request) -> Result<Response, ClientError> {
        let mut headers = request.headers.clone();
        #[cfg(feature = "grpc")]
        if version == Version::Http2 {
            headers.insert(reqwest::header::TE, HeaderValue::from_static("trailers"));
        }
        headers.insert(
            HeaderName::from_static(VERSION_HEADER),
            HeaderValue::from_static(request.version.as_str()),
        );
        headers.insert(ACCEPT, HeaderValue::from_static(request.accept));
        let body = request.body.as_ref().map(|body| {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(body.media_type));
            body.bytes.clone()
        });
        let inner = self
            .dispatch(version, request.method, &request.url, headers, body)
            .await?;
        let header = |name| {
            let value = inner.headers().get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let media_type: String = header(CONTENT_TYPE).unwrap_or_default();
        let head = Head {
            url: shown(&request.url, self.inner.rules.trust(&request.url)),
            status: inner.status().as_u16(),
            media_type: media_type
                .split(';')
                .next()
                .unwrap_or_default()
                .trim()
                .to_ascii_lowercase(),
            location: header(LOCATION),
            extensions: inner
                .headers()
                .get_all(extensions::HEADER)
                .iter()
                .chain(inner.headers().get_all(v03::EXTENSIONS_HEADER))
                .filter_map(|value| value.to_str().ok())
                .flat_map(extensions::named)
                .map(str::to_owned)
                .collect(),
        };
        Ok(Response {
            head,
            inner: Content::Received(inner),
        })
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
    pub(crate) async fn text(self, max: usize) -> Result<(Head, ByteString), ClientError> {
        let body = match self.inner.whole(&self.head.url, max).await {
            Ok(body) => body,
            Err(error) if error.is_too_large() => {
                return Err(ClientError::invalid_response(format!(
                    "{error}, four times the limit max_body_bytes; raise that limit if the answer is wanted"
                )));
            }
            Err(error) => return Err(error.into()),
        };
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
        match self.inner {
            Content::Received(response) => Box::pin(
                response
                    .bytes_stream()
                    .map_err(|error| http::root_cause(&error)),
            ),
            #[cfg(feature = "grpc")]
            Content::Made(chunks) => chunks,
        }
    }
}

impl Content {
    /// The whole body, which may have `max` bytes.
    async fn whole(self, url: &str, max: usize) -> Result<Vec<u8>, EgressError> {
        match self {
            Self::Received(response) => response::body(response, url, max).await,
            #[cfg(feature = "grpc")]
            Self::Made(mut chunks) => {
                use futures_util::StreamExt as _;
                let mut body = Vec::new();
                while let Some(chunk) = chunks.next().await {
                    body.extend_from_slice(&chunk.map_err(EgressError::disconnected)?);
                }
                Ok(body)
            }
        }
    }
}

#[cfg(feature = "grpc")]
impl Response {
    /// A response with another head and body, made of what was received.
    pub(crate) fn made(head: Head, chunks: Chunks) -> Self {
        Self {
            head,
            inner: Content::Made(chunks),
        }
    }

    /// The head and what was received.
    pub(crate) fn into_received(self) -> Option<(Head, reqwest::Response)> {
        match self.inner {
            Content::Received(response) => Some((self.head, response)),
            Content::Made(_) => None,
        }
    }
}
