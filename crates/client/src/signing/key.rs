use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use llamon_core::a2a::{AgentCardSignature, CardForm, canonical_card};
use llamon_core::json::{Tree, string_token};
use ring::rand::SystemRandom;
use ring::rsa;
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair, RsaKeyPair};

use super::error::{KeyError, SignError};
use super::{Algorithm, jwk, pem, signing_input};

/// A private key that cards are signed with, and its name. Cloning it is cheap.
///
/// `Debug` does not show the key.
#[derive(Clone)]
pub struct SigningKey {
    kid: Arc<str>,
    pair: Arc<Pair>,
    forms: &'static [CardForm],
}

enum Pair {
    Es256(EcdsaKeyPair),
    Rs256(RsaKeyPair),
    EdDsa(Ed25519KeyPair),
}

impl SigningKey {
    /// Reads a private key in PEM: PKCS#8 (`PRIVATE KEY`), SEC 1 (`EC PRIVATE KEY`) or PKCS#1
    /// (`RSA PRIVATE KEY`). `kid` names it in signatures. The algorithm is that of the key: EC
    /// with P-256, Ed25519, or RSA of 2,048 to 8,192 bits.
    ///
    /// # Errors
    /// When there is none of these in the text, when it is encrypted, and when `kid` is empty.
    pub fn from_pem(text: &str, kid: &str) -> Result<Self, KeyError> {
        let (algorithm, der) = pem::private(text)?;
        let random = SystemRandom::new();
        let pair = match algorithm {
            Algorithm::Es256 => {
                EcdsaKeyPair::from_pkcs8(&signature::ECDSA_P256_SHA256_FIXED_SIGNING, &der, &random)
                    .map(Pair::Es256)
            }
            Algorithm::Rs256 => RsaKeyPair::from_der(&der).map(Pair::Rs256),
            // Files that openssl writes have no public key to compare with.
            Algorithm::EdDsa => Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).map(Pair::EdDsa),
        };
        Self::new(pair, kid)
    }

    /// Reads a private JSON Web Key (RFC 7517) with its `kid`.
    ///
    /// # Errors
    /// When it is none, has no `kid`, or is of another type than [`SigningKey::from_pem`] takes.
    pub fn from_jwk(text: &str) -> Result<Self, KeyError> {
        let key = jwk::parse(text)?;
        let kid = key.get("kid").and_then(Tree::as_text).unwrap_or_default();
        Self::of_jwk(&key, kid)
    }

    /// As [`SigningKey::from_jwk`], with another name than the key's own, if it has one.
    ///
    /// # Errors
    /// As [`SigningKey::from_jwk`].
    pub fn from_jwk_as(text: &str, kid: &str) -> Result<Self, KeyError> {
        Self::of_jwk(&jwk::parse(text)?, kid)
    }

    fn of_jwk(key: &Tree, kid: &str) -> Result<Self, KeyError> {
        let member = |name: &str| jwk::field(key, name);
        let known = |name: &str| key.get(name).and_then(Tree::as_text).unwrap_or_default();
        let random = SystemRandom::new();
        let pair = match (known("kty"), known("crv")) {
            ("EC", "P-256") => {
                let public = [vec![4], member("x")?, member("y")?].concat();
                EcdsaKeyPair::from_private_key_and_public_key(
                    &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
                    &member("d")?,
                    &public,
                    &random,
                )
                .map(Pair::Es256)
            }
            ("OKP", "Ed25519") => {
                Ed25519KeyPair::from_seed_and_public_key(&member("d")?, &member("x")?)
                    .map(Pair::EdDsa)
            }
            ("RSA", _) => RsaKeyPair::from_components(&rsa::KeyPairComponents {
                public_key: rsa::PublicKeyComponents {
                    n: member("n")?,
                    e: member("e")?,
                },
                d: member("d")?,
                p: member("p")?,
                q: member("q")?,
                dP: member("dp")?,
                dQ: member("dq")?,
                qInv: member("qi")?,
            })
            .map(Pair::Rs256),
            _ => {
                return Err(KeyError::new(
                    "the key's type is not one that signs cards: EC with P-256, OKP with Ed25519, \
                     or RSA",
                ));
            }
        };
        Self::new(pair, kid)
    }

    fn new(pair: Result<Pair, ring::error::KeyRejected>, kid: &str) -> Result<Self, KeyError> {
        if kid.is_empty() {
            return Err(KeyError::new(
                "the key has no id (kid), by which a verifier finds it; give it one",
            ));
        }
        let pair =
            pair.map_err(|why| KeyError::new(format!("the private key cannot be used: {why}")))?;
        Ok(Self {
            kid: kid.into(),
            pair: Arc::new(pair),
            forms: &[CardForm::Specification],
        })
    }

    /// Has a card signed a second time, in [`CardForm::WithoutEmpty`], where that differs from
    /// the specification's form: the official SDKs for Python and JavaScript verify only that
    /// one. Cards differ that have an empty value in a required field, in an extension's
    /// parameters or in the list of a scheme's scopes, as those do which ask for a bearer token.
    #[must_use]
    pub fn also_without_empty(mut self) -> Self {
        self.forms = &[CardForm::Specification, CardForm::WithoutEmpty];
        self
    }

    /// The key's name.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// What it signs with.
    pub fn algorithm(&self) -> Algorithm {
        match *self.pair {
            Pair::Es256(_) => Algorithm::Es256,
            Pair::Rs256(_) => Algorithm::Rs256,
            Pair::EdDsa(_) => Algorithm::EdDsa,
        }
    }

    /// The signatures for a card's JSON text (A2A section 8.4.2): one, or two with
    /// [`SigningKey::also_without_empty`].
    ///
    /// # Errors
    /// When the text is no card that can be signed: no JSON object, a key twice.
    pub fn signatures(&self, card_json: &str) -> Result<Vec<AgentCardSignature>, SignError> {
        let mut signed: Vec<String> = Vec::new();
        let mut signatures = Vec::new();
        for form in self.forms {
            let card = canonical_card(card_json, *form)
                .map_err(|error| SignError::new(format!("the agent card {error}")))?;
            if signed.contains(&card) {
                continue;
            }
            let header = format!(
                r#"{{"alg":"{}","kid":{},"typ":"JOSE"}}"#,
                self.algorithm(),
                string_token(&self.kid)
            );
            let protected = URL_SAFE_NO_PAD.encode(header);
            let signature = self.pair.sign(&signing_input(&protected, &card))?;
            let signature = URL_SAFE_NO_PAD.encode(signature);
            signatures.push(AgentCardSignature::new(protected, signature));
            signed.push(card);
        }
        Ok(signatures)
    }

    /// The card's text with the signatures added to those that it has. Everything else is left
    /// as it is written.
    ///
    /// # Errors
    /// As [`SigningKey::signatures`], and when its `signatures` is no array.
    pub fn sign(&self, card_json: &str) -> Result<String, SignError> {
        let mut new = String::new();
        for signature in self.signatures(card_json)? {
            if !new.is_empty() {
                new.push(',');
            }
            let json = serde_json::to_string(&signature).map_err(|error| {
                SignError::new(format!("the signature cannot be written: {error}"))
            })?;
            new.push_str(&json);
        }
        add_to_signatures(card_json, &new)
    }
}

impl Pair {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError> {
        let random = SystemRandom::new();
        let no_random = |_| SignError::new("the system gives no random numbers to sign with");
        match self {
            Self::Es256(pair) => {
                let signature = pair.sign(&random, message).map_err(no_random)?;
                Ok(signature.as_ref().to_vec())
            }
            Self::Rs256(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(
                    &signature::RSA_PKCS1_SHA256,
                    &random,
                    message,
                    &mut signature,
                )
                .map_err(no_random)?;
                Ok(signature)
            }
            Self::EdDsa(pair) => Ok(pair.sign(message).as_ref().to_vec()),
        }
    }
}

fn add_to_signatures(card_json: &str, new: &str) -> Result<String, SignError> {
    use llamon_core::json::Reader;
    let wrong = |error| SignError::new(format!("the agent card {error}"));
    let mut reader = Reader::of_str(card_json, 64);
    let mut card = reader.object().map_err(wrong)?;
    let mut is_empty = true;
    let mut replaced = None;
    while let Some(name) = reader.key(&mut card).map_err(wrong)? {
        is_empty = false;
        let value = reader.skip().map_err(wrong)?;
        if name == "signatures" {
            let text = value.of(card_json);
            let begin = reader.offset() - text.len();
            let list = match text {
                "null" => format!("[{new}]"),
                _ => {
                    let inner = text
                        .strip_prefix('[')
                        .and_then(|text| text.strip_suffix(']'));
                    let inner = inner.ok_or_else(|| {
                        SignError::new("the agent card's signatures are no array")
                    })?;
                    let comma = if inner.trim().is_empty() { "" } else { "," };
                    format!("[{}{comma}{new}]", inner.trim_end())
                }
            };
            replaced = Some((begin..reader.offset(), list));
        }
    }
    let mut out = card_json.to_owned();
    match replaced {
        Some((range, list)) => out.replace_range(range, &list),
        None => {
            let end = out.rfind('}').unwrap_or(out.len());
            let end = out.get(..end).map_or(end, |before| before.trim_end().len());
            let comma = if is_empty { "" } else { "," };
            out.insert_str(end, &format!("{comma}\"signatures\":[{new}]"));
        }
    }
    Ok(out)
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("kid", &self.kid)
            .field("algorithm", &self.algorithm())
            .finish_non_exhaustive()
    }
}
