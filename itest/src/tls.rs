//! Requests over TLS, with roots and certificates of the test's own.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use llamon_agent::server::ServerBuilder;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::certificates::{Authority, Issued};

/// How a client speaks TLS.
#[derive(Clone, Debug)]
pub struct Caller {
    config: Arc<ClientConfig>,
}

impl Caller {
    /// One that trusts the authority and has no certificate.
    pub fn of(authority: &Authority) -> Self {
        Self::with(authority.roots(), None, rustls::ALL_VERSIONS)
    }

    /// One that has a certificate.
    pub fn known(authority: &Authority, certificate: &Issued) -> Self {
        Self::with(authority.roots(), Some(certificate), rustls::ALL_VERSIONS)
    }

    /// One of certain versions of TLS.
    ///
    /// # Panics
    /// When the certificate and its key do not fit.
    pub fn with(
        roots: RootCertStore,
        certificate: Option<&Issued>,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Self {
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(versions)
            .expect("versions")
            .with_root_certificates(roots);
        let config = match certificate {
            None => builder.with_no_client_auth(),
            Some(issued) => builder
                .with_client_auth_cert(vec![issued.der()], issued.key_der())
                .expect("a certificate and its key"),
        };
        Self {
            config: Arc::new(config),
        }
    }

    /// The same with these protocols to choose from.
    #[must_use]
    pub fn speaking(&self, protocols: &[&[u8]]) -> Self {
        let mut config = (*self.config).clone();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Self {
            config: Arc::new(config),
        }
    }

    /// Connects to the server at an https URL.
    ///
    /// # Errors
    /// When the handshake fails.
    ///
    /// # Panics
    /// When nobody listens there.
    pub async fn connect(&self, url: &str) -> io::Result<TlsStream<TcpStream>> {
        let address = url.strip_prefix("https://").expect("an https URL");
        let address = address.split('/').next().expect("an address");
        let stream = TcpStream::connect(address).await.expect("a server");
        let name = ServerName::try_from("127.0.0.1").expect("a name");
        TlsConnector::from(Arc::clone(&self.config))
            .connect(name, stream)
            .await
    }

    /// Makes a request on a connection of its own and reads the answer, head and all.
    ///
    /// # Errors
    /// When the handshake fails, or the connection ends before an answer: with TLS 1.3 that is
    /// where a client learns that its certificate is not good.
    pub async fn ask(&self, url: &str, method: &str, path: &str, body: &str) -> io::Result<String> {
        let mut stream = self.connect(url).await?;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\nConnection: \
             close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let read = tokio::time::timeout(Duration::from_secs(60), read).await;
        read.expect("an end of the connection")?;
        if answer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }
}

/// The certificate that the server showed.
pub fn shown(stream: &TlsStream<TcpStream>) -> Option<CertificateDer<'static>> {
    let (_, connection) = stream.get_ref();
    let chain = connection.peer_certificates()?;
    chain
        .first()
        .map(|certificate| certificate.clone().into_owned())
}

/// A server with TLS on loopback. It stops when this value is dropped.
#[derive(Debug)]
pub struct Secure {
    /// Where it is, with https.
    pub url: String,
    running: JoinHandle<()>,
}

impl Secure {
    /// Starts the server of a builder that was given TLS.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn start<M>(server: ServerBuilder<M>) -> Self {
        let server = server.await.expect("a server");
        let bound = server.bind("127.0.0.1:0").await.expect("a port");
        let url = bound.url().to_owned();
        let running = tokio::spawn(async move {
            let served = bound.serve_until(std::future::pending()).await;
            served.expect("a sound listener");
        });
        Self { url, running }
    }
}

impl Drop for Secure {
    fn drop(&mut self) {
        self.running.abort();
    }
}
