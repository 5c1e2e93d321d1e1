//! Keys in PEM, and the little of DER that they need.

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};

use super::Algorithm;
use super::error::KeyError;

const MIN_RSA_BITS: usize = 2048;
const MAX_RSA_BITS: usize = 8192;

const INTEGER: u8 = 2;
const BIT_STRING: u8 = 3;
const OCTET_STRING: u8 = 4;
const SEQUENCE: u8 = 0x30;

/// `AlgorithmIdentifier` with its tag: id-ecPublicKey with prime256v1 (RFC 5480).
const P256: &[u8] = &[
    0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48,
    0xce, 0x3d, 0x03, 0x01, 0x07,
];
/// id-Ed25519 (RFC 8410).
const ED25519: &[u8] = &[0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70];
/// rsaEncryption (RFC 3279).
const RSA: &[u8] = &[
    0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
];

/// A private key and its algorithm, with the DER that ring reads: PKCS#8, and PKCS#1 for RSA.
pub(super) fn private(text: &str) -> Result<(Algorithm, Vec<u8>), KeyError> {
    if text.contains("ENCRYPTED") {
        return Err(KeyError::new(
            "the key is encrypted; decrypt it first (openssl pkcs8 -topk8 -nocrypt)",
        ));
    }
    let key = PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| {
        KeyError::new(
            "the text has no private key in PEM (-----BEGIN PRIVATE KEY-----, EC PRIVATE KEY or \
             RSA PRIVATE KEY)",
        )
    })?;
    match key {
        PrivateKeyDer::Pkcs1(der) => Ok((Algorithm::Rs256, der.secret_pkcs1_der().to_vec())),
        PrivateKeyDer::Sec1(der) => Ok((Algorithm::Es256, pkcs8_of_sec1(der.secret_sec1_der()))),
        PrivateKeyDer::Pkcs8(der) => {
            let der = der.secret_pkcs8_der();
            let (_, content, _) = element(der).ok_or_else(not_der)?;
            let (_, _, rest) = element(content).ok_or_else(not_der)?;
            let (algorithm, rest) = algorithm(rest)?;
            if algorithm != Algorithm::Rs256 {
                return Ok((algorithm, der.to_vec()));
            }
            let (_, pkcs1, _) = element(rest).ok_or_else(not_der)?;
            Ok((algorithm, pkcs1.to_vec()))
        }
        _ => Err(KeyError::new("the private key's form is not known")),
    }
}

/// A public key as [`Algorithm::verifies`] takes it.
pub(super) fn public(text: &str) -> Result<(Algorithm, Vec<u8>), KeyError> {
    let key = SubjectPublicKeyInfoDer::from_pem_slice(text.as_bytes()).map_err(|_| {
        KeyError::new("the text has no public key in PEM (-----BEGIN PUBLIC KEY-----)")
    })?;
    let (_, content, _) = element(&key).ok_or_else(not_der)?;
    let (algorithm, rest) = algorithm(content)?;
    let bits = match element(rest) {
        Some((BIT_STRING, [0, bits @ ..], [])) => bits,
        _ => return Err(not_der()),
    };
    match algorithm {
        Algorithm::Rs256 => {
            let (_, numbers, _) = element(bits).ok_or_else(not_der)?;
            let (_, modulus, _) = element(numbers).ok_or_else(not_der)?;
            check_rsa_bits(modulus)?;
        }
        Algorithm::Es256 if bits.len() != 65 || bits.first() != Some(&4) => {
            return Err(KeyError::new(
                "the key's point is compressed; it must not be",
            ));
        }
        _ => {}
    }
    Ok((algorithm, bits.to_vec()))
}

/// `RSAPublicKey` (RFC 8017, appendix A.1.1).
pub(super) fn rsa_public(modulus: &[u8], exponent: &[u8]) -> Vec<u8> {
    let numbers = [unsigned(modulus), unsigned(exponent)].concat();
    tagged(SEQUENCE, &numbers)
}

/// Checks the size of a key whose modulus is big-endian.
pub(super) fn check_rsa_bits(modulus: &[u8]) -> Result<(), KeyError> {
    let start = modulus.iter().position(|byte| *byte != 0);
    let significant = start
        .and_then(|start| modulus.get(start..))
        .unwrap_or_default();
    let unused = significant.first().map_or(0, |byte| byte.leading_zeros());
    let bits = significant.len() * 8 - unused as usize;
    if (MIN_RSA_BITS..=MAX_RSA_BITS).contains(&bits) {
        return Ok(());
    }
    Err(KeyError::new(format!(
        "the RSA key has {bits} bits; it needs {MIN_RSA_BITS} to {MAX_RSA_BITS}"
    )))
}

fn algorithm(der: &[u8]) -> Result<(Algorithm, &[u8]), KeyError> {
    let known = [
        (P256, Algorithm::Es256),
        (ED25519, Algorithm::EdDsa),
        (RSA, Algorithm::Rs256),
    ];
    let mut known = known.into_iter();
    known
        .find_map(|(prefix, algorithm)| Some((algorithm, der.strip_prefix(prefix)?)))
        .ok_or_else(|| {
            KeyError::new("the key is of another type than EC with P-256, Ed25519 or RSA")
        })
}

/// PKCS#8 around a key as RFC 5915 has it.
fn pkcs8_of_sec1(sec1: &[u8]) -> Vec<u8> {
    let version = [INTEGER, 1, 0];
    tagged(
        SEQUENCE,
        &[&version[..], P256, &tagged(OCTET_STRING, sec1)].concat(),
    )
}

/// The tag, the content and what follows.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81 | 0x82 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let length = bytes
                .iter()
                .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            (length, rest)
        }
        // A key has less than 64 KiB.
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

fn unsigned(number: &[u8]) -> Vec<u8> {
    let start = number.iter().position(|byte| *byte != 0);
    let number = start.and_then(|start| number.get(start..)).unwrap_or(&[0]);
    let sign: &[u8] = if number.first().is_some_and(|byte| *byte >= 0x80) {
        &[0]
    } else {
        &[]
    };
    tagged(INTEGER, &[sign, number].concat())
}

fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let mut out = vec![tag];
    match u8::try_from(length) {
        Ok(length @ 0..=0x7f) => out.push(length),
        Ok(length) => out.extend([0x81, length]),
        Err(_) => {
            // A key has less than 64 KiB; a larger one is refused by its bits.
            let [high, low] = u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes();
            out.extend([0x82, high, low]);
        }
    }
    out.extend_from_slice(content);
    out
}

fn not_der() -> KeyError {
    KeyError::new("the key's content cannot be read; the file may be damaged")
}
