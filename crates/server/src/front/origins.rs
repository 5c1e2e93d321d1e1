//! Which page sent a request. A browser says so in `Origin`, and nobody else has to.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use llamon_core::a2a::{EXTENSIONS_HEADER, ErrorCode};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use super::hosts::{Authority, HostName};
use super::refusal::Refusal;
use crate::config_error::ConfigError;

/// How long a browser may remember what a page was allowed.
const REMEMBERED: Duration = Duration::from_secs(600);

/// The pages that may call, beside the server's own.
#[derive(Debug)]
pub(super) struct Origins(Vec<HeaderValue>);

impl Origins {
    /// # Errors
    /// With the text that is no origin.
    pub(super) fn parse(texts: &[String]) -> Result<Self, ConfigError> {
        let origins = texts.iter().map(|text| {
            // As browsers write them, so that what is sent back is what they compare with.
            let lower = text.to_ascii_lowercase();
            let is_origin = Origin::parse(&lower).is_some();
            let value = is_origin.then(|| HeaderValue::try_from(&lower).ok());
            value.flatten().ok_or_else(|| {
                ConfigError::address(format!(
                    "the allowed origin {text:?} is none; give scheme, host and, where it is not \
                     the scheme's, port, such as \"https://app.example.com\" or \
                     \"http://localhost:3000\""
                ))
            })
        });
        Ok(Self(origins.collect::<Result<_, _>>()?))
    }

    /// Checks that the page that sent a request, if one did, may call `host`.
    ///
    /// # Errors
    /// 403.
    pub(super) fn check(&self, headers: &HeaderMap, host: &Authority) -> Result<(), Refusal> {
        let mut values = headers.get_all(header::ORIGIN).iter();
        let Some(value) = values.next() else {
            return Ok(());
        };
        if values.next().is_some() {
            return Err(Refusal::malformed("the request has more than one Origin"));
        }
        if self.0.contains(value) {
            return Ok(());
        }
        let origin = value.to_str().ok().and_then(Origin::parse);
        if origin.is_some_and(|origin| origin.is_of(host)) {
            return Ok(());
        }
        let shown = String::from_utf8_lossy(value.as_bytes());
        let shown: String = shown.chars().take(120).collect();
        Err(Refusal::new(
            403,
            ErrorCode::PermissionDenied,
            format!(
                "pages of {shown:?} may not call this server; its operator can let them with \
                 .allow_origins([...]) on its builder"
            ),
        ))
    }

    /// What answers a browser that asks first, and tells it that a page may read an answer;
    /// nothing where no page but the server's own may call.
    pub(super) fn cors(&self) -> Option<CorsLayer> {
        if self.0.is_empty() {
            return None;
        }
        let exposed = [
            HeaderName::from_static("www-authenticate"),
            HeaderName::from_static("retry-after"),
        ];
        let extensions = HeaderName::try_from(EXTENSIONS_HEADER).ok();
        let layer = CorsLayer::new()
            .allow_origin(AllowOrigin::list(self.0.clone()))
            .allow_methods([Method::GET, Method::POST, Method::DELETE])
            // Which header carries the credentials is the authenticator's affair.
            .allow_headers(AllowHeaders::mirror_request())
            .expose_headers(exposed.into_iter().chain(extensions).collect::<Vec<_>>())
            .max_age(REMEMBERED);
        Some(layer)
    }
}

/// `scheme://host` with or without a port.
struct Origin {
    host: HostName,
    port: u16,
    default_port: u16,
}

impl Origin {
    fn parse(text: &str) -> Option<Self> {
        let uri: Uri = text.parse().ok()?;
        let default_port = match uri.scheme_str() {
            Some("http") => 80,
            Some("https") => 443,
            _ => return None,
        };
        let (_, authority) = text.split_once("://")?;
        let Authority { host, port } = Authority::parse(authority)?;
        Some(Self {
            host,
            port: port.unwrap_or(default_port),
            default_port,
        })
    }

    /// Whether it is the origin of a server that is called at `host`. Its scheme is not known
    /// where a proxy ends TLS, so it is the page's own.
    fn is_of(&self, host: &Authority) -> bool {
        self.host == host.host && self.port == host.port.unwrap_or(self.default_port)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue};

    use super::{Authority, Origins};

    fn is_let_in(allowed: &[&str], host: &str, origins: &[&'static str]) -> bool {
        let allowed: Vec<String> = allowed.iter().map(|&text| text.to_owned()).collect();
        let origins_allowed = Origins::parse(&allowed).unwrap();
        let mut headers = HeaderMap::new();
        for origin in origins {
            headers.append("origin", HeaderValue::from_static(origin));
        }
        let host = Authority::parse(host).unwrap();
        origins_allowed.check(&headers, &host).is_ok()
    }

    #[test]
    fn pages_of_the_server_itself_and_of_allowed_origins_are_let_in() {
        let allowed = &["https://App.example.com", "http://localhost:3000"];
        for (host, origin) in [
            ("a.example", "https://a.example"),
            ("a.example", "http://a.example"),
            ("a.example:443", "https://a.example"),
            ("a.example:8080", "http://a.example:8080"),
            ("[::1]:8080", "http://[::1]:8080"),
            ("a.example", "https://app.example.com"),
            ("a.example", "http://localhost:3000"),
        ] {
            assert!(is_let_in(allowed, host, &[origin]), "{host} {origin}");
        }
        assert!(is_let_in(allowed, "a.example", &[]));
        for (host, origin) in [
            ("a.example", "null"),
            ("a.example", ""),
            ("a.example", "https://evil.example"),
            ("a.example", "https://a.example.evil.example"),
            ("a.example", "https://a.example:8443"),
            ("a.example:8080", "http://a.example"),
            ("a.example", "https://app.example.com:8443"),
            ("a.example", "http://app.example.com"),
            ("a.example", "https://a.example/path"),
            ("a.example", "https://me@a.example"),
            ("a.example", "file://a.example"),
            ("localhost:8080", "http://localhost:5000"),
        ] {
            assert!(!is_let_in(allowed, host, &[origin]), "{host} {origin}");
        }
        let both = ["https://a.example", "https://a.example"];
        assert!(!is_let_in(allowed, "a.example", &both));
    }

    #[test]
    fn what_is_no_origin_cannot_be_allowed() {
        for text in [
            "",
            "*",
            "null",
            "app.example.com",
            "https://a.example/",
            "ftp://a",
        ] {
            let error = Origins::parse(&[text.to_owned()]).unwrap_err();
            assert!(
                error.is_address() && error.to_string().contains(text),
                "{error}"
            );
        }
    }
}
