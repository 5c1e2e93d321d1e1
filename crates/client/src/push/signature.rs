//! Signatures of Standard Webhooks: HMAC-SHA256 over id, time and body.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

const PREFIX: &str = "whsec_";
/// Bytes that the specification of Standard Webhooks asks for.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// What an agent's server signs notifications with and a receiver verifies them with, as Standard
/// Webhooks has it.
///
/// `Debug` does not show it.
#[derive(Clone)]
pub struct SigningSecret(hmac::Key);

impl SigningSecret {
    /// Reads a secret as it is handed around: `whsec_` and base64 of 24 to 64 bytes. The prefix
    /// may be missing.
    ///
    /// # Errors
    /// When it is not base64, or too short or long.
    pub fn parse(text: &str) -> Result<Self, InvalidSecret> {
        let encoded = text.strip_prefix(PREFIX).unwrap_or(text);
        let bytes = STANDARD.decode(encoded).map_err(|_| InvalidSecret(None))?;
        Self::from_bytes(&bytes)
    }

    /// A secret of these bytes, 24 to 64 random ones.
    ///
    /// # Errors
    /// When there are too few or too many.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidSecret> {
        if !SECRET_BYTES.contains(&bytes.len()) {
            return Err(InvalidSecret(Some(bytes.len())));
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, bytes)))
    }

    /// The value of the signature header for a notification that is sent at `timestamp`, in
    /// seconds since 1970.
    pub fn sign(&self, id: &str, timestamp: u64, body: &[u8]) -> String {
        let tag = self.tag(id, &timestamp.to_string(), body);
        format!("v1,{}", STANDARD.encode(tag))
    }

    /// Whether one of the signatures in `header` is of this secret. The time that it takes does
    /// not tell how much of a signature is right.
    pub(super) fn verifies(&self, id: &str, timestamp: &str, body: &[u8], header: &str) -> bool {
        let tag = self.tag(id, timestamp, body);
        let mut signatures = header.split_ascii_whitespace();
        signatures.any(|signature| {
            let encoded = signature.strip_prefix("v1,");
            let given = encoded.and_then(|encoded| STANDARD.decode(encoded).ok());
            given.is_some_and(|given| are_same(&given, tag.as_ref()))
        })
    }

    fn tag(&self, id: &str, timestamp: &str, body: &[u8]) -> hmac::Tag {
        let mut context = hmac::Context::with_key(&self.0);
        for piece in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
            context.update(piece);
        }
        context.sign()
    }
}

/// Whether two texts are the same, in a time that does not tell where they differ.
pub(super) fn are_same(given: &[u8], expected: &[u8]) -> bool {
    // What is compared in the end are the tags, whose bytes nobody can choose one by one.
    let key = hmac::Key::new(hmac::HMAC_SHA256, expected);
    let expected = hmac::sign(&key, expected);
    hmac::verify(&key, given, expected.as_ref()).is_ok()
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret")
    }
}

/// Why a text is no [`SigningSecret`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidSecret(Option<usize>);

impl fmt::Display for InvalidSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (SECRET_BYTES.start(), SECRET_BYTES.end());
        match self.0 {
            Some(found) => write!(
                f,
                "the signing secret has {found} bytes; it needs {least} to {most} random ones"
            ),
            None => write!(
                f,
                "the signing secret is not base64; it is whsec_ and base64 of {least} to {most} \
                 random bytes"
            ),
        }
    }
}

impl std::error::Error for InvalidSecret {}

#[cfg(test)]
mod tests {
    use super::{InvalidSecret, SigningSecret};

    /// The example of the Standard Webhooks specification's libraries.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const SIGNED: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    #[test]
    fn signatures_are_those_of_standard_webhooks() {
        let secret = SigningSecret::parse(SECRET).unwrap();
        assert_eq!(secret.sign(ID, 1_614_265_330, BODY), SIGNED);
        let other = SigningSecret::from_bytes(&[7; 24]).unwrap();
        let rotated = format!("v1a,AAAA {} {SIGNED}", other.sign(ID, 1, BODY));
        for header in [SIGNED, &rotated] {
            assert!(secret.verifies(ID, "1614265330", BODY, header), "{header}");
        }
        for (id, time, body, header) in [
            ("msg", "1614265330", BODY, SIGNED),
            (ID, "1614265331", BODY, SIGNED),
            (ID, "1614265330", &BODY[1..], SIGNED),
            (ID, "1614265330", BODY, &SIGNED[..20]),
            (ID, "1614265330", BODY, &SIGNED[3..]),
            (ID, "1614265330", BODY, "v1,"),
            (ID, "1614265330", BODY, ""),
        ] {
            assert!(
                !secret.verifies(id, time, body, header),
                "{id} {time} {header}"
            );
        }
        assert!(!other.verifies(ID, "1614265330", BODY, SIGNED));
    }

    #[test]
    fn a_secret_has_its_length_and_is_not_shown() {
        for (text, found) in [
            ("whsec_!", None),
            ("whsec_", Some(0)),
            ("AAAA", Some(3)),
            (&"A".repeat(88), Some(66)),
        ] {
            assert_eq!(
                SigningSecret::parse(text).unwrap_err(),
                InvalidSecret(found)
            );
        }
        let secret = SigningSecret::parse(SECRET).unwrap();
        assert_eq!(format!("{secret:?}"), "SigningSecret");
    }
}
