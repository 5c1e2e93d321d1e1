use std::sync::OnceLock;

use llamon_client::signing::{CardVerifier, SigningKey};
use serde::de::IgnoredAny;

/// A key of nobody: it signs nothing but what is fuzzed.
const KEY: &str = include_str!("../../../crates/client/tests/keys/ed25519.jwk");
const PUBLIC: &str = r#"{"keys":[{"kid":"ed","kty":"OKP","crv":"Ed25519","x":"MB8rjytTXwfXHgkYgbS6YOxoD6d7oG3PKpOKmTctlhk"}]}"#;

/// A text that may be an agent card, signed or not. What is trusted is JSON; what can be signed is
/// trusted afterwards, and not any more when something is added to it.
pub fn card(data: &[u8]) {
    static KEYS: OnceLock<(SigningKey, CardVerifier)> = OnceLock::new();
    let (key, verifier) = KEYS.get_or_init(|| {
        let key = SigningKey::from_jwk(KEY).expect("a key");
        let verifier = CardVerifier::new().jwks(PUBLIC).expect("a set of keys");
        (key, verifier)
    });
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let is_json = |text: &str| serde_json::from_str::<IgnoredAny>(text).is_ok();
    let is_trusted = verifier.verify(text).is_ok();
    assert!(!is_trusted || is_json(text), "this is no JSON: {text:?}");
    let Ok(signed) = key.sign(text) else { return };
    assert!(is_json(&signed), "this is no JSON: {signed:?}");
    // What is trusted already need not take another signature.
    if let Err(error) = verifier.verify(&signed)
        && !is_trusted
        && !text.contains("signatures")
    {
        panic!("{error}: {signed}");
    }
    let changed = signed.replacen('{', r#"{"fuzzed":true,"#, 1);
    assert!(verifier.verify(&changed).is_err(), "{changed}");
}
