//! Certificates of a test's own, in files.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    SanType, date_time_ymd,
};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// An authority that issues certificates.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: rcgen::Certificate,
}

/// A certificate and its key.
#[derive(Debug)]
pub struct Issued {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

/// For which years a certificate is valid.
#[derive(Clone, Copy, Debug)]
pub struct Years(pub i32, pub i32);

/// As long as any test is run.
pub const VALID: Years = Years(2020, 2090);

impl Authority {
    /// A new one.
    ///
    /// # Panics
    /// When there are no random numbers.
    pub fn new(name: &str) -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.self_signed(&key).expect("a certificate");
        Self {
            issuer: Issuer::new(params, key),
            certificate,
        }
    }

    /// A server's certificate, for loopback.
    pub fn server(&self) -> Issued {
        let names = ["127.0.0.1".to_owned(), "localhost".to_owned()];
        let params = CertificateParams::new(names).expect("names");
        self.issue(params, VALID, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// A client's certificate; names with a colon are URIs.
    pub fn client(&self, names: &[&str], years: Years) -> Issued {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.subject_alt_names = names.iter().map(|name| alternative(name)).collect();
        params
            .distinguished_name
            .push(DnType::CommonName, "nobody looks here");
        self.issue(params, years, ExtendedKeyUsagePurpose::ClientAuth)
    }

    /// Who trusts this authority alone.
    pub fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.der().clone()).expect("a root");
        roots
    }

    /// Writes the authority's own certificate.
    pub fn write(&self, path: &Path) {
        std::fs::write(path, self.certificate.pem()).expect("a file");
    }

    fn issue(
        &self,
        mut params: CertificateParams,
        Years(from, to): Years,
        purpose: ExtendedKeyUsagePurpose,
    ) -> Issued {
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(to, 1, 1);
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Issued { certificate, key }
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl Issued {
    /// Writes the certificate and its key into a folder, and says where.
    pub fn write(&self, folder: &Path) -> (PathBuf, PathBuf) {
        let (certificate, key) = (folder.join("server.pem"), folder.join("server.key"));
        std::fs::write(&certificate, self.certificate.pem()).expect("a file");
        std::fs::write(&key, self.key.serialize_pem()).expect("a file");
        (certificate, key)
    }

    /// The certificate.
    pub fn der(&self) -> CertificateDer<'static> {
        self.certificate.der().clone()
    }

    /// Its key.
    pub fn key_der(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.key.serialize_der().into())
    }
}

fn alternative(name: &str) -> SanType {
    let text = name.try_into().expect("a name of ASCII");
    if name.contains(':') {
        SanType::URI(text)
    } else if name.contains('@') {
        SanType::Rfc822Name(text)
    } else {
        SanType::DnsName(text)
    }
}
