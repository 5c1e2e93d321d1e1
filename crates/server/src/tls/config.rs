//! From files to what rustls serves with.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};

use super::{ClientCertificates, TlsError, TlsFiles};

/// A file that is larger is none of certificates.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// What the files have.
#[derive(PartialEq, Eq)]
pub(super) struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_roots: Option<Vec<u8>>,
}

/// What connections are accepted with, by what is spoken on them.
pub(super) struct Configs {
    pub(super) http1: Arc<ServerConfig>,
    pub(super) http2: Arc<ServerConfig>,
}

impl Contents {
    pub(super) fn read(files: &TlsFiles) -> Result<Self, TlsError> {
        let roots = files.clients.as_ref();
        Ok(Self {
            certificate: read(files.certificate_path(), "the certificate")?,
            key: read(files.key_path(), "the private key")?,
            client_roots: roots
                .map(|(path, _)| read(path, "the certificates"))
                .transpose()?,
        })
    }
}

impl Configs {
    pub(super) fn new(files: &TlsFiles, contents: &Contents) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let chain = certificates(files.certificate_path(), &contents.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&contents.key)
            .map_err(|error| TlsError::of_file(files.key_path(), "the private key", error))?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::of_options(format!("TLS cannot be used: {error}")))?;
        let builder = match (&files.clients, &contents.client_roots) {
            (Some((path, asked)), Some(roots)) => {
                builder.with_client_cert_verifier(verifier(path, roots, *asked, &provider)?)
            }
            _ => builder.with_no_client_auth(),
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|error| {
            let what = "the certificate and its private key";
            TlsError::of_file(files.certificate_path(), what, error)
        })?;
        if files.clients.is_some() {
            // A connection that goes on from an earlier one shows no certificate again, and the
            // one that was shown may have expired since.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let mut http2 = config.clone();
        http2.alpn_protocols.insert(0, b"h2".to_vec());
        Ok(Self {
            http1: Arc::new(config),
            http2: Arc::new(http2),
        })
    }
}

/// What checks the certificates of clients.
fn verifier(
    path: &Path,
    roots: &[u8],
    asked: ClientCertificates,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let wrong = |why: &dyn std::fmt::Display| TlsError::of_file(path, "the certificates", why);
    let mut store = RootCertStore::empty();
    for root in certificates(path, roots)? {
        store.add(root).map_err(|error| wrong(&error))?;
    }
    let builder =
        WebPkiClientVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider));
    let builder = match asked {
        ClientCertificates::Required => builder,
        ClientCertificates::Optional => builder.allow_unauthenticated(),
    };
    builder.build().map_err(|error| wrong(&error))
}

fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let what = "the certificates";
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let read = read.map_err(|error| TlsError::of_file(path, what, error))?;
    if read.is_empty() {
        return Err(TlsError::of_file(path, what, "there is none in it (PEM)"));
    }
    Ok(read)
}

fn read(path: &Path, what: &str) -> Result<Vec<u8>, TlsError> {
    let wrong = |error: std::io::Error| TlsError::of_file(path, what, error);
    let bytes = std::fs::metadata(path).map_err(wrong)?.len();
    if bytes > MAX_FILE_BYTES {
        let why = format!("the file has {bytes} bytes, {MAX_FILE_BYTES} are allowed");
        return Err(TlsError::of_file(path, what, why));
    }
    std::fs::read(path).map_err(wrong)
}
