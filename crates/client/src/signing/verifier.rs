use std::fmt;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use llamon_core::a2a::{CardForm, canonical_card};
use llamon_core::json::Tree;

use super::error::{KeyError, VerifyError};
use super::{Algorithm, jwk, pem, shown, signing_input};

/// More signatures than this on one card are refused: each costs a verification.
const MAX_SIGNATURES: usize = 16;
/// How deep a card may nest.
const MAX_DEPTH: u32 = 64;

/// The keys that a card's signature must be by, and nothing else: it fetches no keys.
#[derive(Clone)]
pub struct CardVerifier {
    keys: Vec<TrustedKey>,
    forms: &'static [CardForm],
}

#[derive(Clone)]
struct TrustedKey {
    kid: String,
    algorithm: Algorithm,
    public: Vec<u8>,
    not_before: Option<SystemTime>,
    expires: Option<SystemTime>,
    revoked: bool,
}

/// Who a card is by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedCard {
    kid: String,
    algorithm: Algorithm,
    index: usize,
}

impl VerifiedCard {
    /// The name of the key that verified the card.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// What it was signed with.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Which of the card's signatures it was, from 0.
    pub fn index(&self) -> usize {
        self.index
    }
}

impl CardVerifier {
    /// A verifier that trusts nobody.
    pub fn new() -> Self {
        Self {
            keys: Vec::new(),
            forms: &[CardForm::Specification],
        }
    }

    /// Trusts the keys of a JSON Web Key Set, or a single JSON Web Key (RFC 7517): EC with
    /// P-256, OKP with Ed25519, and RSA of 2,048 to 8,192 bits. Private keys are taken for the
    /// public ones in them. Keys of a set that are for something else are left out.
    ///
    /// `nbf` and `exp` (seconds since 1970) say from when and until when a key counts, and one
    /// with `revoked` does not (A2A section 8.4.3).
    ///
    /// # Errors
    /// When no key can be used, or one has no `kid`.
    pub fn jwks(mut self, text: &str) -> Result<Self, KeyError> {
        for key in jwk::read_set(text)? {
            let kid = key.kid.filter(|kid| !kid.is_empty()).ok_or_else(|| {
                KeyError::new("a key of the set has no id (kid), which signatures name it by")
            })?;
            self.keys.push(TrustedKey {
                kid,
                algorithm: key.algorithm,
                public: key.public,
                not_before: key.not_before.map(time),
                expires: key.expires.map(time),
                revoked: key.revoked,
            });
        }
        Ok(self)
    }

    /// Trusts a public key in PEM (`PUBLIC KEY`) under the id that signatures name it by.
    ///
    /// # Errors
    /// When there is none in the text, and when it is of a type or size that is not taken.
    pub fn pem(mut self, text: &str, kid: impl Into<String>) -> Result<Self, KeyError> {
        let (algorithm, public) = pem::public(text)?;
        self.keys.push(TrustedKey {
            kid: kid.into(),
            algorithm,
            public,
            not_before: None,
            expires: None,
            revoked: false,
        });
        Ok(self)
    }

    /// Takes signatures over [`CardForm::WithoutEmpty`], too, as the official SDKs for Python
    /// and JavaScript make them. Without it, those of their cards are taken in which no required
    /// field, parameter or list of scopes is empty; the two forms are the same then.
    ///
    /// Such a signature does not cover empty values: whoever hands the card on can take out an
    /// object whose content is all empty, for example a requirement of a scheme without scopes,
    /// and can put one in.
    #[must_use]
    pub fn accept_without_empty(mut self) -> Self {
        self.forms = &[CardForm::Specification, CardForm::WithoutEmpty];
        self
    }

    /// Checks a card's JSON text as it was received, unknown fields included: one of its
    /// signatures must be by a trusted key that counts now (A2A section 8.4.3).
    ///
    /// # Errors
    /// When none is, with the reason for each; when the card is not signed, has more than 16
    /// signatures, is no JSON object or has a key twice in one object.
    #[expect(
        clippy::disallowed_methods,
        reason = "the time of day is what is asked for here; verify_at takes another one"
    )]
    pub fn verify(&self, card_json: &str) -> Result<VerifiedCard, VerifyError> {
        self.verify_at(card_json, SystemTime::now())
    }

    /// As [`CardVerifier::verify`], at another time.
    ///
    /// # Errors
    /// As [`CardVerifier::verify`].
    pub fn verify_at(&self, card_json: &str, now: SystemTime) -> Result<VerifiedCard, VerifyError> {
        let not_readable = |error| VerifyError::new(format!("the agent card {error}"));
        let card = Tree::parse(card_json, MAX_DEPTH).map_err(not_readable)?;
        let signatures = match card.get("signatures") {
            None | Some(Tree::Null) => return Err(VerifyError::unsigned()),
            Some(Tree::Array(signatures)) if signatures.is_empty() => {
                return Err(VerifyError::unsigned());
            }
            Some(Tree::Array(signatures)) => signatures,
            Some(_) => {
                return Err(VerifyError::new("the agent card's signatures are no array"));
            }
        };
        if signatures.len() > MAX_SIGNATURES {
            return Err(VerifyError::new(format!(
                "the agent card has {} signatures; at most {MAX_SIGNATURES} are looked at",
                signatures.len()
            )));
        }
        let mut forms = Vec::new();
        for form in self.forms {
            forms.push(canonical_card(card_json, *form).map_err(not_readable)?);
        }
        let mut reasons = Vec::new();
        for (index, signature) in signatures.iter().enumerate() {
            match self.verify_signature(signature, &forms, now) {
                Ok(key) => {
                    return Ok(VerifiedCard {
                        kid: key.kid.clone(),
                        algorithm: key.algorithm,
                        index,
                    });
                }
                Err(reason) => reasons.push(format!("signatures[{index}] {reason}")),
            }
        }
        Err(VerifyError::new(format!(
            "the agent card has no signature that can be trusted: {}",
            reasons.join("; ")
        )))
    }

    /// The key that a signature is by, or why it does not count.
    fn verify_signature(
        &self,
        signature: &Tree,
        forms: &[String],
        now: SystemTime,
    ) -> Result<&TrustedKey, String> {
        let text = |name: &str| {
            let text = signature.get(name).and_then(Tree::as_text);
            text.ok_or_else(|| format!("has no text {name:?}"))
        };
        let (protected, encoded) = (text("protected")?, text("signature")?);
        let header = read_header(protected)?;
        check_unprotected(&header, signature.get("header"))?;
        let bytes = URL_SAFE_NO_PAD
            .decode(encoded)
            .map_err(|_| "is not base64url without padding")?;
        let parameter = |name: &str| {
            let value = header.get(name).and_then(Tree::as_text);
            value.ok_or_else(|| format!("has no text {name:?} in its protected header"))
        };
        let (name, kid) = (parameter("alg")?, parameter("kid")?);
        let algorithm = Algorithm::from_name(name).ok_or_else(|| {
            format!(
                "has the algorithm {}; ES256, RS256 and EdDSA are taken",
                shown(name)
            )
        })?;
        let mut reason = format!("is by the key {}, which is not trusted", shown(kid));
        for key in self.keys.iter().filter(|key| key.kid == kid) {
            if key.algorithm != algorithm {
                reason = format!(
                    "says {algorithm}, but the key {} is for {}",
                    shown(kid),
                    key.algorithm
                );
                continue;
            }
            if let Some(why) = key.is_out_of_use(now) {
                reason = format!("is by the key {}, which {why}", shown(kid));
                continue;
            }
            let verifies = |form: &String| {
                algorithm.verifies(&key.public, &signing_input(protected, form), &bytes)
            };
            if forms.iter().any(verifies) {
                return Ok(key);
            }
            reason = format!(
                "is not one of this card by the key {}: the card or its signature was changed, \
                 or another key made it",
                shown(kid)
            );
        }
        Err(reason)
    }
}

impl TrustedKey {
    fn is_out_of_use(&self, now: SystemTime) -> Option<&'static str> {
        if self.revoked {
            return Some("is revoked");
        }
        if self.expires.is_some_and(|end| now >= end) {
            return Some("has expired");
        }
        self.not_before
            .is_some_and(|begin| now < begin)
            .then_some("does not count yet")
    }
}

fn read_header(protected: &str) -> Result<Tree, String> {
    let bytes = URL_SAFE_NO_PAD
        .decode(protected)
        .map_err(|_| "has a protected header that is not base64url without padding")?;
    let text = String::from_utf8(bytes).map_err(|_| "has a protected header that is not UTF-8")?;
    let header = Tree::parse(&text, MAX_DEPTH)
        .map_err(|error| format!("has a protected header that cannot be read: {error}"))?;
    let Tree::Object(parameters) = &header else {
        return Err("has a protected header that is no object".into());
    };
    // RFC 7515 section 4.1.11: what must be understood and is not makes it invalid. `b64` would
    // change what is signed (RFC 7797).
    let refused = |(name, _): &&(String, Tree)| matches!(name.as_str(), "crit" | "b64");
    if let Some((name, _)) = parameters.iter().find(refused) {
        return Err(format!(
            "has {name:?} in its header, which is not supported"
        ));
    }
    Ok(header)
}

/// RFC 7515 section 7.2.1: no parameter is in both headers. Nothing is taken from this one.
fn check_unprotected(protected: &Tree, header: Option<&Tree>) -> Result<(), String> {
    let parameters = match header {
        None | Some(Tree::Null) => return Ok(()),
        Some(Tree::Object(parameters)) => parameters,
        Some(_) => return Err("has a header that is no object".into()),
    };
    let wrong = |(name, _): &&(String, Tree)| {
        protected.get(name).is_some() || matches!(name.as_str(), "crit" | "b64")
    };
    match parameters.iter().find(wrong) {
        None => Ok(()),
        Some((name, _)) => Err(format!(
            "has {} in its unprotected header, where it must not be",
            shown(name)
        )),
    }
}

fn time(seconds: f64) -> SystemTime {
    let since = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
    let latest = || SystemTime::UNIX_EPOCH + Duration::from_secs(u32::MAX.into());
    SystemTime::UNIX_EPOCH
        .checked_add(since)
        .unwrap_or_else(latest)
}

impl Default for CardVerifier {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CardVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kids: Vec<&str> = self.keys.iter().map(|key| key.kid.as_str()).collect();
        f.debug_struct("CardVerifier")
            .field("kids", &kids)
            .field("forms", &self.forms)
            .finish()
    }
}
