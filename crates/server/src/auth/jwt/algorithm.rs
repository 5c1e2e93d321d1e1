use std::fmt;

/// How a token is signed (RFC 7518, RFC 8037). There is no `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JwtAlgorithm {
    /// HMAC with SHA-256: issuer and server share a secret of at least 32 bytes.
    Hs256,
    /// HMAC with SHA-384, a secret of at least 48 bytes.
    Hs384,
    /// HMAC with SHA-512, a secret of at least 64 bytes.
    Hs512,
    /// RSA PKCS#1 v1.5 with SHA-256, keys of 2,048 to 8,192 bits.
    Rs256,
    /// The same with SHA-384.
    Rs384,
    /// The same with SHA-512.
    Rs512,
    /// RSA-PSS with SHA-256, keys of 2,048 to 8,192 bits.
    Ps256,
    /// The same with SHA-384.
    Ps384,
    /// The same with SHA-512.
    Ps512,
    /// ECDSA with P-256 and SHA-256.
    Es256,
    /// ECDSA with P-384 and SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

impl JwtAlgorithm {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Hs256,
        Self::Hs384,
        Self::Hs512,
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
    ];

    /// The name in a token's header.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            Self::Hs384 => "HS384",
            Self::Hs512 => "HS512",
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
        }
    }

    /// The algorithm of that name, exactly. `Ed25519` is `EdDSA` with that curve (RFC 9864).
    pub(super) fn from_name(name: &str) -> Option<Self> {
        if name == "Ed25519" {
            return Some(Self::EdDsa);
        }
        let mut all = Self::ALL.into_iter();
        all.find(|algorithm| algorithm.name() == name)
    }

    /// Bytes that a shared secret has at least (RFC 7518, section 3.2); `None` where keys have a
    /// public part.
    pub(super) fn min_secret_bytes(self) -> Option<usize> {
        match self {
            Self::Hs256 => Some(32),
            Self::Hs384 => Some(48),
            Self::Hs512 => Some(64),
            _ => None,
        }
    }
}

impl fmt::Display for JwtAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
