use std::fmt;

use ring::digest;
use rustls::pki_types::CertificateDer;

/// A client's certificate that was checked: it was issued by one of the roots that the server was
/// given, for clients, and it is valid now.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    der: CertificateDer<'static>,
    uris: Vec<String>,
    dns_names: Vec<String>,
}

impl ClientCertificate {
    /// What a certificate says whose checks are over; `None` where it cannot be read.
    pub(crate) fn of_checked(der: &CertificateDer<'_>) -> Option<Self> {
        let read = webpki::EndEntityCert::try_from(der).ok()?;
        let own = |name: &str| name.to_owned();
        Some(Self {
            uris: read.valid_uri_names().map(own).collect(),
            dns_names: read.valid_dns_names().map(own).collect(),
            der: der.clone().into_owned(),
        })
    }

    /// The URIs among its alternative names, in their order; of SPIFFE there is one.
    pub fn uris(&self) -> &[String] {
        &self.uris
    }

    /// The DNS names among its alternative names, in their order.
    pub fn dns_names(&self) -> &[String] {
        &self.dns_names
    }

    /// The certificate itself, in DER, for those who need something else of it.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// SHA-256 of the certificate, as 64 hexadecimal digits.
    pub fn fingerprint(&self) -> String {
        let digest = digest::digest(&digest::SHA256, &self.der);
        let digits = digest.as_ref().iter();
        digits.map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCertificate")
            .field("uris", &self.uris)
            .field("dns_names", &self.dns_names)
            .finish_non_exhaustive()
    }
}
