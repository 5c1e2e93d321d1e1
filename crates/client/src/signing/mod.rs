//! Signatures of agent cards (A2A section 8.4): making them, and checking them against keys that
//! the one who checks has chosen.
//!
//! A signature says that whoever holds a key wrote the card. Which keys count is settled by the
//! [`CardVerifier`] alone: what a signature says about where to find its key (`jku`, `jwk`,
//! `x5c`) is not looked at, since whoever forges a card writes that, too.
//!
//! ```
//! use llamon_client::signing::{CardVerifier, SigningKey};
//! # const JWK: &str = r#"{"kty":"OKP","crv":"Ed25519","kid":"2026-12",
//! #   "d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
//! #   "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let key = SigningKey::from_jwk(JWK)?;
//! let signed = key.sign(r#"{"name":"audit","version":"1.0.0"}"#)?;
//!
//! let verifier = CardVerifier::new().jwks(JWK)?;
//! let verified = verifier.verify(&signed)?;
//! assert_eq!(verified.kid(), "2026-12");
//!
//! let forged = signed.replace("audit", "fraud");
//! assert!(verifier.verify(&forged).is_err());
//! # Ok(())
//! # }
//! ```

mod algorithm;
mod error;
mod jwk;
mod key;
mod pem;
mod verifier;

pub use algorithm::Algorithm;
pub use error::{KeyError, SignError, VerifyError};
pub use key::SigningKey;
pub use verifier::{CardVerifier, VerifiedCard};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// What is signed (RFC 7515, section 5.1): the protected header as it is written, and the card.
fn signing_input(protected: &str, canonical_card: &str) -> Vec<u8> {
    let mut input = String::with_capacity(protected.len() + 2 + canonical_card.len() * 4 / 3);
    input.push_str(protected);
    input.push('.');
    URL_SAFE_NO_PAD.encode_string(canonical_card, &mut input);
    input.into_bytes()
}

/// A text from outside as it may stand in a message.
fn shown(text: &str) -> String {
    const MOST: usize = 80;
    match text.char_indices().nth(MOST) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}...", text.get(..end).unwrap_or_default()),
    }
}
