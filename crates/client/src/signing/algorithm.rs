use std::fmt;

use ring::signature;

/// How a card is signed. A key is of one algorithm, and a signature that names another one is
/// never checked with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// ECDSA with P-256 and SHA-256. Two signatures of one card differ.
    Es256,
    /// RSA PKCS#1 v1.5 with SHA-256, keys of 2,048 to 8,192 bits.
    Rs256,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Es256, Self::Rs256, Self::EdDsa];

    /// The name in a signature's header (RFC 7518, RFC 8037).
    pub fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Rs256 => "RS256",
            Self::EdDsa => "EdDSA",
        }
    }

    /// The algorithm of that name, exactly.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
    }

    /// Whether `signature` is of `message`. The key is a point, a DER `RSAPublicKey`, or 32
    /// bytes.
    pub(super) fn verifies(self, key: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let algorithm: &dyn signature::VerificationAlgorithm = match self {
            Self::Es256 => &signature::ECDSA_P256_SHA256_FIXED,
            Self::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
            Self::EdDsa => &signature::ED25519,
        };
        signature::UnparsedPublicKey::new(algorithm, key)
            .verify(message, signature)
            .is_ok()
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
