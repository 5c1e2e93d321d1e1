//! The keys that tokens are verified with.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use llamon_core::json::Tree;
use ring::hmac;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};

use super::JwtAlgorithm;

/// Keys of one set: each can cost a verification, and issuers have a handful.
const MAX_KEYS: usize = 100;
const MAX_DEPTH: u32 = 16;
const UNCOMPRESSED_POINT: u8 = 4;
const RSA_BYTES: std::ops::RangeInclusive<usize> = 2048 / 8..=8192 / 8;

pub(super) struct Key {
    id: Option<String>,
    /// What its owner says it is for.
    algorithm: Option<JwtAlgorithm>,
    material: Material,
}

/// A key is of one kind, and no signature of another kind is ever checked with it.
enum Material {
    Secret(Vec<u8>),
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// Keys as they were at one time.
#[derive(Debug, Default)]
pub(super) struct KeySet(Vec<Key>);

/// What a token's header leads to.
pub(super) enum Found<'a> {
    Keys(Vec<&'a Key>),
    /// No key of that name, or none that fits a token which names none.
    Unknown,
    /// The key is there and is for something else.
    OfAnotherKind,
    /// The token names none of several keys.
    Ambiguous,
}

impl KeySet {
    /// The one key that issuer and server share.
    pub(super) fn of_secret(secret: Vec<u8>) -> Self {
        Self(vec![Key {
            id: None,
            algorithm: None,
            material: Material::Secret(secret),
        }])
    }

    /// The public keys of a JSON Web Key Set (RFC 7517). What is for something else, of an unknown
    /// type, or a private key, which must not have been published, is left out (section 5).
    ///
    /// # Errors
    /// When it is no set, or has more keys than are looked at.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let tree = Tree::parse(text, MAX_DEPTH)
            .map_err(|error| format!("the key set cannot be read: {error}"))?;
        let keys = tree.get("keys").and_then(Tree::as_array);
        let keys = keys.ok_or("the key set is no JSON object with an array \"keys\"")?;
        if keys.len() > MAX_KEYS {
            return Err(format!(
                "the key set has {} keys; at most {MAX_KEYS} are taken",
                keys.len()
            ));
        }
        Ok(Self(keys.iter().filter_map(Key::read).collect()))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn find(&self, id: Option<&str>, algorithm: JwtAlgorithm) -> Found<'_> {
        // A shared secret is the only key there is; issuers name it as they like.
        let is_only = matches!(
            &self.0[..],
            [Key {
                material: Material::Secret(_),
                ..
            }]
        );
        let id = id.filter(|_| !is_only);
        let is_named = |key: &&Key| id.is_none() || key.id.as_deref() == id;
        let fitting: Vec<&Key> = (self.0.iter())
            .filter(is_named)
            .filter(|key| key.fits(algorithm))
            .collect();
        match (id, fitting.len()) {
            (Some(_), 0) if self.0.iter().any(|key| is_named(&key)) => Found::OfAnotherKind,
            (_, 0) => Found::Unknown,
            (None, 2..) => Found::Ambiguous,
            _ => Found::Keys(fitting),
        }
    }
}

impl Key {
    fn read(key: &Tree) -> Option<Self> {
        let text = |name: &str| key.get(name).and_then(Tree::as_text);
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?).ok();
        if key.get("d").is_some() || text("use").is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        if let Some(operations) = key.get("key_ops") {
            let mut operations = operations.as_array()?.iter();
            operations.find(|operation| operation.as_text() == Some("verify"))?;
        }
        let algorithm = match key.get("alg") {
            None => None,
            Some(name) => Some(JwtAlgorithm::from_name(name.as_text()?)?),
        };
        let point = |size: usize| {
            let (x, y) = (bytes("x")?, bytes("y")?);
            (x.len() == size && y.len() == size)
                .then(|| [&[UNCOMPRESSED_POINT][..], &x, &y].concat())
        };
        let material = match (text("kty")?, text("crv")) {
            ("RSA", _) => {
                let modulus = significant(bytes("n")?);
                let exponent = significant(bytes("e")?);
                if !RSA_BYTES.contains(&modulus.len()) {
                    return None;
                }
                Material::Rsa { modulus, exponent }
            }
            ("EC", Some("P-256")) => Material::P256(point(32)?),
            ("EC", Some("P-384")) => Material::P384(point(48)?),
            ("OKP", Some("Ed25519")) => {
                Material::Ed25519(bytes("x").filter(|point| point.len() == 32)?)
            }
            _ => return None,
        };
        Some(Self {
            id: text("kid").map(str::to_owned),
            algorithm,
            material,
        })
    }

    fn fits(&self, algorithm: JwtAlgorithm) -> bool {
        use JwtAlgorithm as A;
        let is_of_kind = match &self.material {
            Material::Secret(_) => algorithm.min_secret_bytes().is_some(),
            Material::Rsa { .. } => matches!(
                algorithm,
                A::Rs256 | A::Rs384 | A::Rs512 | A::Ps256 | A::Ps384 | A::Ps512
            ),
            Material::P256(_) => algorithm == A::Es256,
            Material::P384(_) => algorithm == A::Es384,
            Material::Ed25519(_) => algorithm == A::EdDsa,
        };
        is_of_kind && self.algorithm.is_none_or(|own| own == algorithm)
    }

    /// Whether `tag` is this key's, of `message`.
    pub(super) fn verifies(&self, algorithm: JwtAlgorithm, message: &[u8], tag: &[u8]) -> bool {
        use JwtAlgorithm as A;
        if !self.fits(algorithm) {
            return false;
        }
        let by_point = |how: &'static dyn VerificationAlgorithm, point: &[u8]| {
            UnparsedPublicKey::new(how, point)
                .verify(message, tag)
                .is_ok()
        };
        match (&self.material, algorithm) {
            (Material::Secret(secret), algorithm) => {
                let digest = match algorithm {
                    A::Hs384 => hmac::HMAC_SHA384,
                    A::Hs512 => hmac::HMAC_SHA512,
                    _ => hmac::HMAC_SHA256,
                };
                let key = hmac::Key::new(digest, secret);
                hmac::verify(&key, message, tag).is_ok()
            }
            (Material::Rsa { modulus, exponent }, algorithm) => {
                let how = match algorithm {
                    A::Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
                    A::Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
                    A::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
                    A::Ps384 => &signature::RSA_PSS_2048_8192_SHA384,
                    A::Ps512 => &signature::RSA_PSS_2048_8192_SHA512,
                    _ => &signature::RSA_PKCS1_2048_8192_SHA256,
                };
                let key = RsaPublicKeyComponents {
                    n: modulus,
                    e: exponent,
                };
                key.verify(how, message, tag).is_ok()
            }
            (Material::P256(point), _) => by_point(&signature::ECDSA_P256_SHA256_FIXED, point),
            (Material::P384(point), _) => by_point(&signature::ECDSA_P384_SHA384_FIXED, point),
            (Material::Ed25519(point), _) => by_point(&signature::ED25519, point),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.material {
            Material::Secret(_) => "secret",
            Material::Rsa { .. } => "RSA",
            Material::P256(_) => "P-256",
            Material::P384(_) => "P-384",
            Material::Ed25519(_) => "Ed25519",
        };
        f.debug_struct("Key")
            .field("id", &self.id)
            .field("kind", &kind)
            .finish_non_exhaustive()
    }
}

/// Without leading zeros, as ring wants it.
fn significant(mut number: Vec<u8>) -> Vec<u8> {
    let start = number.iter().position(|byte| *byte != 0);
    number.drain(..start.unwrap_or(number.len()));
    number
}

#[cfg(test)]
mod tests {
    use super::KeySet;

    #[test]
    fn what_is_no_public_key_for_signatures_is_left_out() {
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        let ok = format!(r#""kty":"OKP","crv":"Ed25519","x":"{x}""#);
        for (key, expected) in [
            (format!("{{{ok}}}"), 1),
            (
                format!(r#"{{{ok},"kid":"a","use":"sig","alg":"EdDSA","key_ops":["verify"]}}"#),
                1,
            ),
            (format!(r#"{{{ok},"use":"enc"}}"#), 0),
            (format!(r#"{{{ok},"key_ops":["encrypt"]}}"#), 0),
            (format!(r#"{{{ok},"key_ops":"verify"}}"#), 0),
            (format!(r#"{{{ok},"alg":"none"}}"#), 0),
            (format!(r#"{{{ok},"alg":7}}"#), 0),
            (format!(r#"{{{ok},"d":"AAAA"}}"#), 0),
            (
                r#"{"kty":"oct","k":"c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"}"#.to_owned(),
                0,
            ),
            (
                r#"{"kty":"EC","crv":"P-521","x":"AA","y":"AA"}"#.to_owned(),
                0,
            ),
            (
                format!(r#"{{"kty":"EC","crv":"P-256","x":"{x}","y":"{x}"}}"#),
                1,
            ),
            (
                format!(r#"{{"kty":"EC","crv":"P-384","x":"{x}","y":"{x}"}}"#),
                0,
            ),
            (format!(r#"{{"kty":"EC","crv":"P-256","x":"{x}"}}"#), 0),
            (r#"{"kty":"OKP","crv":"Ed25519","x":"AAAA"}"#.to_owned(), 0),
            (r#"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#.to_owned(), 0),
            (
                format!(
                    r#"{{"kty":"RSA","n":"{}","e":"AQAB"}}"#,
                    "_".repeat(341) + "w"
                ),
                1,
            ),
            ("7".to_owned(), 0),
            ("{}".to_owned(), 0),
        ] {
            let set = KeySet::read(&format!(r#"{{"keys":[{key}]}}"#));
            assert_eq!(set.map(|set| set.len()), Ok(expected), "{key}");
        }
        for text in ["", "[]", "{}", r#"{"keys":{}}"#, r#"{"keys":[],"keys":[]}"#] {
            assert!(KeySet::read(text).is_err(), "{text}");
        }
        let many = |count: usize| format!(r#"{{"keys":[{}]}}"#, vec!["{}"; count].join(","));
        assert!(KeySet::read(&many(100)).is_ok());
        assert!(KeySet::read(&many(101)).is_err());
    }
}
