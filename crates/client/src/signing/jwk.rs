//! Keys as JSON (RFC 7517).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use llamon_core::json::Tree;

use super::error::KeyError;
use super::{Algorithm, pem, shown};

const MAX_DEPTH: u32 = 16;
const UNCOMPRESSED_POINT: u8 = 4;
const SIGNS_WITH: &str = "EC with P-256, OKP with Ed25519, or RSA";

/// A public key with what its owner says about its use.
pub(super) struct Jwk {
    pub(super) kid: Option<String>,
    pub(super) algorithm: Algorithm,
    /// As [`Algorithm::verifies`] takes it.
    pub(super) public: Vec<u8>,
    /// Seconds since 1970.
    pub(super) not_before: Option<f64>,
    pub(super) expires: Option<f64>,
    pub(super) revoked: bool,
}

/// The keys of a set, or the one key that the text is. Keys that are for something else are left
/// out, as RFC 7517 section 5 wants.
pub(super) fn read_set(text: &str) -> Result<Vec<Jwk>, KeyError> {
    let tree = parse(text)?;
    let Some(keys) = tree.get("keys") else {
        return Ok(vec![read(&tree)?]);
    };
    let keys = keys
        .as_array()
        .ok_or_else(|| KeyError::new("the key set's \"keys\" is no array"))?;
    let found: Vec<Jwk> = keys.iter().filter_map(|key| read(key).ok()).collect();
    if found.is_empty() {
        let why = match keys.first().map(read) {
            Some(Err(error)) => format!("the first: {error}"),
            _ => "it is empty".into(),
        };
        return Err(KeyError::new(format!(
            "the key set has no key that cards are verified with; {why}"
        )));
    }
    Ok(found)
}

fn read(key: &Tree) -> Result<Jwk, KeyError> {
    let text = |name: &str| key.get(name).and_then(Tree::as_text);
    if let Some(other) = text("use").filter(|purpose| *purpose != "sig") {
        let other = shown(other);
        return Err(KeyError::new(format!(
            "the key is for {other} and not for signatures"
        )));
    }
    let operations = key.get("key_ops").and_then(Tree::as_array);
    let verifies = |operation: &Tree| matches!(operation.as_text(), Some("verify" | "sign"));
    if operations.is_some_and(|operations| !operations.iter().any(verifies)) {
        return Err(KeyError::new("the key's key_ops do not permit \"verify\""));
    }
    let (algorithm, public) = match (text("kty"), text("crv")) {
        (Some("EC"), Some("P-256")) => {
            let point = [vec![UNCOMPRESSED_POINT], field(key, "x")?, field(key, "y")?].concat();
            check_length("x and y", point.len() - 1, 64)?;
            (Algorithm::Es256, point)
        }
        (Some("OKP"), Some("Ed25519")) => {
            let point = field(key, "x")?;
            check_length("x", point.len(), 32)?;
            (Algorithm::EdDsa, point)
        }
        (Some("RSA"), _) => {
            let (modulus, exponent) = (field(key, "n")?, field(key, "e")?);
            pem::check_rsa_bits(&modulus)?;
            (Algorithm::Rs256, pem::rsa_public(&modulus, &exponent))
        }
        (kind, curve) => {
            let (kind, curve) = (kind.unwrap_or("nothing"), curve.unwrap_or("no curve"));
            return Err(KeyError::new(format!(
                "the key's type is {} with {}; it needs to be {SIGNS_WITH}",
                shown(kind),
                shown(curve)
            )));
        }
    };
    if let Some(other) = text("alg").filter(|name| *name != algorithm.name()) {
        return Err(KeyError::new(format!(
            "the key is for alg {}; a key of its type signs cards with {algorithm}",
            shown(other)
        )));
    }
    Ok(Jwk {
        kid: text("kid").map(str::to_owned),
        algorithm,
        public,
        not_before: seconds(key, "nbf")?,
        expires: seconds(key, "exp")?,
        revoked: !matches!(
            key.get("revoked"),
            None | Some(Tree::Null | Tree::Bool(false))
        ),
    })
}

/// A member's bytes, without telling them where they are none.
pub(super) fn field(key: &Tree, name: &str) -> Result<Vec<u8>, KeyError> {
    let text = key.get(name).and_then(Tree::as_text);
    let bytes = text.and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
    bytes
        .filter(|bytes| !bytes.is_empty())
        .ok_or_else(|| KeyError::new(format!("the key's {name:?} is missing or not base64url")))
}

pub(super) fn parse(text: &str) -> Result<Tree, KeyError> {
    let tree = Tree::parse(text, MAX_DEPTH)
        .map_err(|error| KeyError::new(format!("the key is no JSON Web Key: {error}")))?;
    match tree {
        Tree::Object(_) => Ok(tree),
        _ => Err(KeyError::new(
            "the key is no JSON Web Key, which is a JSON object",
        )),
    }
}

fn check_length(what: &str, found: usize, needed: usize) -> Result<(), KeyError> {
    if found == needed {
        return Ok(());
    }
    Err(KeyError::new(format!(
        "the key's {what} have {found} bytes; they need {needed}"
    )))
}

/// A date that cannot be read must not make a key valid for ever.
fn seconds(key: &Tree, name: &str) -> Result<Option<f64>, KeyError> {
    match key.get(name) {
        None => Ok(None),
        Some(Tree::Number(seconds)) => Ok(Some(*seconds)),
        Some(_) => Err(KeyError::new(format!(
            "the key's {name:?} is no number of seconds since 1970"
        ))),
    }
}
