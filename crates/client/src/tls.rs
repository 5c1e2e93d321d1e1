//! TLS with one named provider: a process that has several, or none as its default, must not
//! make a client panic.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::BuilderVerifierExt;

/// TLS that trusts what the operating system trusts. Reads its certificates from disk.
pub(crate) fn of_platform() -> Result<ClientConfig, rustls::Error> {
    Ok(builder()?.with_platform_verifier()?.with_no_client_auth())
}

/// TLS that trusts nobody, for a client that makes plain connections only.
pub(crate) fn none() -> Result<ClientConfig, rustls::Error> {
    Ok(builder()?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth())
}

fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, rustls::Error> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
}
