use llamon_core::a2a::SecurityScheme;

use super::{Authenticate, Checked, Identity, Refusal, RequestHead, Security};
use crate::tls::ClientCertificate;

/// Callers by the certificates of their connections. The server needs TLS of its own with the
/// roots of its clients: [`crate::ServerBuilder::tls`] with [`crate::tls::TlsFiles::client_roots`].
///
/// Who it is, is the first URI among the certificate's alternative names, with `uri:` before it,
/// or else the first DNS name, with `dns:`; the common name and addresses of mail count for
/// nothing. [`MutualTls::with_identity`] decides otherwise.
///
/// ```
/// use llamon_server::auth::{Identity, MutualTls};
///
/// // Certificates of a mesh, spiffe://example.org/tenant/service.
/// let by_tenant = MutualTls::new().with_identity(|certificate| {
///     let [uri] = certificate.uris() else { return None };
///     let path = uri.strip_prefix("spiffe://example.org/")?;
///     let (tenant, service) = path.split_once('/')?;
///     Some(Identity::new(service).of_tenant(tenant))
/// });
/// # drop(by_tenant);
/// ```
pub struct MutualTls {
    identity: Box<Identify>,
}

type Identify = dyn Fn(&ClientCertificate) -> Option<Identity> + Send + Sync;

impl MutualTls {
    /// Callers by the first name in their certificates.
    pub fn new() -> Self {
        Self::default()
    }

    /// Callers as this says; one that it has no identity for gets 403.
    #[must_use]
    pub fn with_identity(
        mut self,
        identity: impl Fn(&ClientCertificate) -> Option<Identity> + Send + Sync + 'static,
    ) -> Self {
        self.identity = Box::new(identity);
        self
    }
}

impl Default for MutualTls {
    fn default() -> Self {
        Self {
            identity: Box::new(by_first_name),
        }
    }
}

impl std::fmt::Debug for MutualTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MutualTls").finish_non_exhaustive()
    }
}

impl Authenticate for MutualTls {
    fn authenticate<'a>(&'a self, request: &'a RequestHead<'a>) -> Checked<'a> {
        let Some(certificate) = request.client_certificate() else {
            let refusal = Refusal::unauthenticated(
                "MutualTLS",
                "the connection has no certificate of the client; connect with one",
            );
            return Box::pin(std::future::ready(Err(refusal)));
        };
        let identity = (self.identity)(certificate).ok_or_else(|| {
            Refusal::forbidden("the certificate of the connection is not one of a caller here")
        });
        Box::pin(std::future::ready(identity))
    }

    fn security(&self) -> Security {
        Security::one("mutualTls", SecurityScheme::mutual_tls())
    }
}

fn by_first_name(certificate: &ClientCertificate) -> Option<Identity> {
    let uri = certificate.uris().first().map(|uri| format!("uri:{uri}"));
    let dns = || {
        let name = certificate.dns_names().first();
        name.map(|name| format!("dns:{}", name.to_ascii_lowercase()))
    };
    uri.or_else(dns).map(Identity::new)
}
