//! Where a server speaks gRPC, and what the card says of it.

use std::net::SocketAddr;

use axum::http::Uri;
use tokio::net::TcpListener;

use crate::config_error::ConfigError;
use crate::host::resolve;
use crate::serve_error::ServeError;
use crate::server::Server;

/// Where a server speaks gRPC (section 10): with TLS where the server has it, else in plaintext.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GrpcAt {
    /// On the port of the other bindings: a connection that begins as HTTP/2 does is served so,
    /// and every other one as HTTP/1.1.
    SamePort,
    /// On a port of its own, `127.0.0.1:50051`; port 0 is any free one.
    Address(String),
}

impl GrpcAt {
    /// On a port of its own, `127.0.0.1:50051`; port 0 is any free one.
    pub fn address(address: impl Into<String>) -> Self {
        Self::Address(address.into())
    }
}

/// What the builder was told.
#[derive(Clone, Debug)]
pub(crate) struct Grpc {
    pub(crate) at: GrpcAt,
    /// What clients call.
    pub(crate) target: Option<String>,
}

/// A port of its own that is listened on.
pub(crate) struct GrpcPort {
    pub(crate) listener: TcpListener,
    pub(crate) local: SocketAddr,
}

impl Grpc {
    pub(crate) fn new(at: GrpcAt, target: Option<String>) -> Self {
        Self { at, target }
    }

    /// Checks what can be seen without an address.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let Some(target) = &self.target else {
            return Ok(());
        };
        let authority = target
            .strip_prefix("https://")
            .or_else(|| target.strip_prefix("http://"))
            .unwrap_or(target);
        let parsed = authority.parse::<axum::http::uri::Authority>();
        let with_port = target.contains("://")
            || parsed
                .as_ref()
                .is_ok_and(|authority| authority.port().is_some());
        if parsed.is_ok() && with_port && !authority.contains('@') {
            return Ok(());
        }
        Err(ConfigError::address(format!(
            "the gRPC target is {target:?}; it must be host and port, such as \
             agents.example.com:50051, or a URL without a path, such as https://grpc.example.com"
        )))
    }

    /// Checks that an agent under `prefix` can be reached, before anything is bound.
    pub(crate) fn check_prefix(&self, prefix: &str) -> Result<(), ConfigError> {
        if prefix.is_empty() || self.at != GrpcAt::SamePort {
            return Ok(());
        }
        Err(ConfigError::path(format!(
            "the agent under {prefix:?} cannot speak gRPC on the shared port, because gRPC has no \
             paths to tell agents apart; give it a port of its own with \
             .grpc(GrpcAt::address(\"127.0.0.1:50051\")), or serve it under \"/\""
        )))
    }

    /// Listens for the server, where the port is its own.
    pub(crate) async fn bind(&self, server: &Server) -> Result<Option<GrpcPort>, ServeError> {
        let GrpcAt::Address(address) = &self.at else {
            return Ok(None);
        };
        let sockets = resolve(address).await?;
        server.check_reach(address, &sockets)?;
        let bind = |error| ServeError::bind(address, error);
        let listener = TcpListener::bind(&*sockets).await.map_err(bind)?;
        let local = listener.local_addr().map_err(bind)?;
        Ok(Some(GrpcPort { listener, local }))
    }

    /// What the card tells clients to call; `local` is where they would find it on this machine,
    /// after the scheme of the server.
    pub(crate) fn target(
        &self,
        public_url: Option<&str>,
        local: Option<(&str, SocketAddr)>,
    ) -> Result<String, ConfigError> {
        if let Some(target) = &self.target {
            return Ok(target.clone());
        }
        let unknown = |why: &str| {
            ConfigError::address(format!(
                "the card cannot tell clients where to call gRPC: {why}; call \
                 .grpc_target(\"agents.example.com:50051\") on the server's builder"
            ))
        };
        match (public_url, local) {
            (Some(_), _) if self.at != GrpcAt::SamePort => Err(unknown(
                "the public URL says nothing of the port of its own",
            )),
            (Some(url), _) => of_public_url(url)
                .ok_or_else(|| unknown("the public URL has a path, and gRPC has none")),
            (None, Some((_, local))) if local.ip().is_unspecified() => {
                Err(unknown("it listens on all addresses of this machine"))
            }
            (None, Some(("https", local))) => Ok(format!("https://{local}")),
            (None, Some((_, local))) => Ok(local.to_string()),
            (None, None) => Err(unknown("the server does not know its public address")),
        }
    }
}

/// `host:port` of a URL without a path; with TLS the URL itself.
fn of_public_url(url: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    if !matches!(uri.path(), "" | "/") {
        return None;
    }
    let authority = uri.authority()?;
    if uri.scheme_str() == Some("https") {
        return Some(format!("https://{authority}"));
    }
    Some(match authority.port_u16() {
        Some(_) => authority.to_string(),
        None => format!("{authority}:80"),
    })
}

#[cfg(test)]
mod tests {
    use super::{Grpc, GrpcAt};

    fn target(at: GrpcAt, public_url: Option<&str>, local: Option<&str>) -> Option<String> {
        let local = local.map(|local| match local.split_once("://") {
            Some((scheme, local)) => (scheme, local.parse().unwrap()),
            None => ("http", local.parse().unwrap()),
        });
        Grpc::new(at, None).target(public_url, local).ok()
    }

    #[test]
    fn the_card_says_what_can_be_called_or_nothing() {
        let own = || GrpcAt::address("127.0.0.1:0");
        let same = || GrpcAt::SamePort;
        let cases = [
            (same(), None, Some("127.0.0.1:8080"), Some("127.0.0.1:8080")),
            (own(), None, Some("[::1]:50051"), Some("[::1]:50051")),
            (
                own(),
                None,
                Some("https://[::1]:1"),
                Some("https://[::1]:1"),
            ),
            (same(), None, Some("0.0.0.0:8080"), None),
            (same(), None, None, None),
            (own(), Some("https://a.example"), Some("127.0.0.1:1"), None),
            (
                same(),
                Some("https://a.example"),
                None,
                Some("https://a.example"),
            ),
            (same(), Some("http://a.example"), None, Some("a.example:80")),
            (
                same(),
                Some("http://a.example:8080"),
                None,
                Some("a.example:8080"),
            ),
            (same(), Some("https://a.example/audit"), None, None),
        ];
        for (at, public_url, local, expected) in cases {
            let found = target(at.clone(), public_url, local);
            assert_eq!(
                found.as_deref(),
                expected,
                "{at:?} {public_url:?} {local:?}"
            );
        }
    }

    #[test]
    fn a_target_is_host_and_port_or_a_url() {
        let check = |target: &str| {
            let target = Some(target.to_owned());
            Grpc::new(GrpcAt::SamePort, target).check().is_ok()
        };
        for target in [
            "a.example:50051",
            "[::1]:1",
            "https://a.example",
            "http://a:1",
        ] {
            assert!(check(target), "{target}");
        }
        for target in [
            "",
            "a.example",
            "https://a/b",
            "me@a:1",
            "a b:1",
            "ftp://a:1",
        ] {
            assert!(!check(target), "{target}");
        }
    }
}
