//! TLS of a server: a certificate from files that can change while it serves, and certificates of
//! clients.

mod certificate;
mod config;
mod error;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::ServerConfig;
use tokio_rustls::TlsAcceptor;

pub use certificate::ClientCertificate;
pub use error::TlsError;

use config::{Configs, Contents};

/// The files that a server's TLS is made of, in PEM; [`TlsFiles::load`] reads them.
///
/// ```no_run
/// use llamon_server::tls::{ClientCertificates, TlsFiles};
///
/// # fn example() -> Result<(), llamon_server::tls::TlsError> {
/// let tls = TlsFiles::new("server.pem", "server.key")
///     .client_roots("clients.pem", ClientCertificates::Required)
///     .load()?;
/// # drop(tls);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "files do nothing until they are loaded"]
pub struct TlsFiles {
    certificate: PathBuf,
    key: PathBuf,
    clients: Option<(PathBuf, ClientCertificates)>,
    look_again: Duration,
}

/// Whether a client must have a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificates {
    /// A connection without one fails. Nothing can be read without it, the agent card included.
    Required,
    /// A connection without one is made, and it is the authenticator's affair what may be done on
    /// it; the agent card and the health routes can be read. A certificate that is not good fails
    /// here as well.
    Optional,
}

/// TLS 1.2 and 1.3 of a server, with ring for its cryptography. Clones are one and the same: what
/// [`Tls::reload`] reads is used by all of them.
#[derive(Clone)]
pub struct Tls {
    inner: Arc<Inner>,
}

struct Inner {
    files: TlsFiles,
    /// What is used for new connections, and what it was read from.
    current: RwLock<(Configs, Contents)>,
}

impl TlsFiles {
    /// The server's certificate, with what certifies it behind it, and its private key
    /// (PKCS #8, PKCS #1 or SEC 1).
    pub fn new(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self {
            certificate: certificate.into(),
            key: key.into(),
            clients: None,
            look_again: Duration::from_secs(10),
        }
    }

    /// Asks clients for a certificate that was issued by one of those in this file; see
    /// [`crate::auth::MutualTls`] for whom the server takes them.
    pub fn client_roots(
        mut self,
        roots: impl Into<PathBuf>,
        certificates: ClientCertificates,
    ) -> Self {
        self.clients = Some((roots.into(), certificates));
        self
    }

    /// How often a server looks whether the files have changed. Default 10 s.
    pub fn look_again(mut self, interval: Duration) -> Self {
        self.look_again = interval;
        self
    }

    /// Reads the files.
    ///
    /// # Errors
    /// With the file that cannot be read, or that has something else than it should.
    pub fn load(self) -> Result<Tls, TlsError> {
        if self.look_again < Duration::from_millis(100) {
            return Err(TlsError::of_options(format!(
                "look_again is {:?}; it takes 100 ms or more",
                self.look_again
            )));
        }
        let contents = Contents::read(&self)?;
        let configs = Configs::new(&self, &contents)?;
        Ok(Tls {
            inner: Arc::new(Inner {
                files: self,
                current: RwLock::new((configs, contents)),
            }),
        })
    }

    fn certificate_path(&self) -> &Path {
        &self.certificate
    }

    fn key_path(&self) -> &Path {
        &self.key
    }
}

impl Tls {
    /// Reads the files again, and uses what is in them for new connections; those that exist go on
    /// as they are. Says whether anything has changed. A server does this by itself; see
    /// [`TlsFiles::look_again`].
    ///
    /// # Errors
    /// As [`TlsFiles::load`]; what was used before is used on.
    pub fn reload(&self) -> Result<bool, TlsError> {
        let files = &self.inner.files;
        let contents = Contents::read(files)?;
        if self.read().1 == contents {
            return Ok(false);
        }
        let configs = Configs::new(files, &contents)?;
        let mut current = (self.inner.current.write()).unwrap_or_else(PoisonError::into_inner);
        *current = (configs, contents);
        Ok(true)
    }

    /// What accepts a connection, with HTTP/2 or without it.
    pub(crate) fn acceptor(&self, http2: bool) -> TlsAcceptor {
        let current = self.read();
        let config: &Arc<ServerConfig> = if http2 {
            &current.0.http2
        } else {
            &current.0.http1
        };
        TlsAcceptor::from(Arc::clone(config))
    }

    /// Looks after the files for ever.
    pub(crate) async fn keep_up(self) {
        let mut told = None;
        loop {
            tokio::time::sleep(self.inner.files.look_again).await;
            let tls = self.clone();
            let read = tokio::task::spawn_blocking(move || tls.reload()).await;
            match read {
                Ok(Ok(true)) => {
                    told = None;
                    tracing::info!("the certificates have changed, and new connections use them");
                }
                Ok(Ok(false)) => told = None,
                Ok(Err(error)) => {
                    let error = error.to_string();
                    // While a certificate and its key are being replaced, one of them is there
                    // first; and what is wrong stays so, and is said once.
                    if told.as_ref() != Some(&error) {
                        tracing::warn!(%error, "the certificates that are in use stay so");
                        told = Some(error);
                    }
                }
                Err(error) => tracing::error!(%error, "the certificates could not be read again"),
            }
        }
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, (Configs, Contents)> {
        (self.inner.current.read()).unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The paths, and nothing of what is in the files.
        f.debug_tuple("Tls").field(&self.inner.files).finish()
    }
}
