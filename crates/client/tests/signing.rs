//! Signatures of agent cards: what is made is verified, and what is forged is not.

#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise; clippy takes helpers of tests for no tests"
)]

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use llamon_client::signing::{Algorithm, CardVerifier, SigningKey};
use ring::hmac;
use serde_json::{Value, json};

const PUBLIC: &str = include_str!("keys/public.jwks");
const EC_PEM: &str = include_str!("keys/ec.pem");
const EC_PUBLIC: &str = include_str!("keys/ec_public.pem");
const RSA_PEM: &str = include_str!("keys/rsa.pem");
const RSA_PUBLIC: &str = include_str!("keys/rsa_public.pem");
const ED_PEM: &str = include_str!("keys/ed25519.pem");
const ED_PUBLIC: &str = include_str!("keys/ed25519_public.pem");

const CARD: &str = r#"{ "name": "audit", "description": "d", "version": "1.0.0",
  "capabilities": {"streaming": false}, "skills": [], "x-own": {"n": 1.50} }"#;

fn keys() -> Vec<SigningKey> {
    let jwks = [
        include_str!("keys/ec.jwk"),
        include_str!("keys/rsa.jwk"),
        include_str!("keys/ed25519.jwk"),
    ];
    let pems = [
        (EC_PEM, "ec"),
        (include_str!("keys/ec_sec1.pem"), "ec"),
        (RSA_PEM, "rsa"),
        (include_str!("keys/rsa_pkcs1.pem"), "rsa"),
        (ED_PEM, "ed"),
    ];
    let jwks = jwks.iter().map(|text| SigningKey::from_jwk(text).unwrap());
    let pems = pems
        .iter()
        .map(|(text, kid)| SigningKey::from_pem(text, kid).unwrap());
    jwks.chain(pems).collect()
}

fn ed() -> SigningKey {
    SigningKey::from_pem(ED_PEM, "ed").unwrap()
}

fn trusted() -> CardVerifier {
    CardVerifier::new().jwks(PUBLIC).unwrap()
}

fn header(header: &Value) -> String {
    URL_SAFE_NO_PAD.encode(header.to_string())
}

/// The card with a signature of these fields in place of its own.
fn with_signature(protected: &str, signature: &str) -> String {
    let mut card: Value = serde_json::from_str(CARD).unwrap();
    card["signatures"] = json!([{"protected": protected, "signature": signature}]);
    card.to_string()
}

/// A signed card's first signature: its protected header and its bytes in base64url.
fn parts(signed: &str) -> (String, String) {
    let card: Value = serde_json::from_str(signed).unwrap();
    let part = |name: &str| card["signatures"][0][name].as_str().unwrap().to_owned();
    (part("protected"), part("signature"))
}

fn reason(verifier: &CardVerifier, card: &str) -> String {
    verifier.verify(card).unwrap_err().to_string()
}

#[test]
fn each_kind_of_key_signs_what_its_public_key_verifies() {
    let by_pem = CardVerifier::new()
        .pem(EC_PUBLIC, "ec")
        .and_then(|verifier| verifier.pem(RSA_PUBLIC, "rsa"))
        .and_then(|verifier| verifier.pem(ED_PUBLIC, "ed"))
        .unwrap();
    for key in keys() {
        let signed = key.sign(CARD).unwrap();
        for verifier in [&trusted(), &by_pem] {
            let verified = verifier.verify(&signed).unwrap();
            assert_eq!((verified.kid(), verified.index()), (key.kid(), 0));
            assert_eq!(verified.algorithm(), key.algorithm());
        }
    }
}

#[test]
fn card_sign_001_the_card_is_signed_in_its_canonical_form() {
    let signed = ed().sign(CARD).unwrap();
    let (protected, signature) = parts(&signed);
    // The same card with its fields in another order and another white space.
    let other = with_signature(&protected, &signature);
    assert_ne!(other, signed);
    assert!(trusted().verify(&other).is_ok());
    // The form itself, signed by hand.
    let form = r#"{"capabilities":{"streaming":false},"description":"d","name":"audit","skills":[],"version":"1.0.0","x-own":{"n":1.5}}"#;
    let input = format!("{protected}.{}", URL_SAFE_NO_PAD.encode(form));
    let jwk: Value = serde_json::from_str(include_str!("keys/ed25519.jwk")).unwrap();
    let member = |name: &str| URL_SAFE_NO_PAD.decode(jwk[name].as_str().unwrap()).unwrap();
    let pair =
        ring::signature::Ed25519KeyPair::from_seed_and_public_key(&member("d"), &member("x"));
    let by_hand = URL_SAFE_NO_PAD.encode(pair.unwrap().sign(input.as_bytes()));
    assert_eq!(signature, by_hand);
}

#[test]
fn card_sign_002_signatures_are_not_signed_so_that_there_can_be_several() {
    let once = ed().sign(CARD).unwrap();
    let twice = SigningKey::from_pem(EC_PEM, "ec")
        .unwrap()
        .sign(&once)
        .unwrap();
    let only_ec = CardVerifier::new().pem(EC_PUBLIC, "ec").unwrap();
    assert_eq!(only_ec.verify(&twice).unwrap().index(), 1);
    let only_ed = CardVerifier::new().pem(ED_PUBLIC, "ed").unwrap();
    assert_eq!(only_ed.verify(&twice).unwrap().index(), 0);
    // Nothing else of the text is touched.
    assert!(twice.starts_with(CARD.trim_end_matches(" }")), "{twice}");
}

#[test]
fn card_sign_003_the_protected_header_has_alg_kid_and_typ() {
    for key in keys() {
        let (protected, _) = parts(&key.sign(CARD).unwrap());
        let header: Value =
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(protected).unwrap()).unwrap();
        let expected = json!({"alg": key.algorithm().name(), "kid": key.kid(), "typ": "JOSE"});
        assert_eq!(header, expected);
    }
}

#[test]
fn card_sign_004_keys_that_have_expired_or_are_revoked_do_not_count() {
    let signed = ed().sign(CARD).unwrap();
    let jwk = |more: Value| {
        let mut jwk: Value = serde_json::from_str(include_str!("keys/ed25519.jwk")).unwrap();
        for (name, value) in more.as_object().unwrap() {
            jwk[name] = value.clone();
        }
        CardVerifier::new().jwks(&jwk.to_string())
    };
    let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let limited = jwk(json!({"nbf": 100, "exp": 200})).unwrap();
    assert!(limited.verify_at(&signed, at(100)).is_ok());
    assert!(limited.verify_at(&signed, at(199)).is_ok());
    for (seconds, why) in [(99, "does not count yet"), (200, "has expired")] {
        let error = limited.verify_at(&signed, at(seconds)).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    for revoked in [json!(true), json!({"revoked_at": 1})] {
        let verifier = jwk(json!({ "revoked": revoked })).unwrap();
        assert!(reason(&verifier, &signed).contains("is revoked"));
    }
    // A date that cannot be read does not mean for ever.
    assert!(jwk(json!({"exp": "2030-01-01"})).is_err());
}

#[test]
fn a_card_without_signatures_is_told_from_a_forged_one() {
    for card in [
        CARD.to_owned(),
        CARD.replacen('{', r#"{"signatures":[],"#, 1),
        CARD.replacen('{', r#"{"signatures":null,"#, 1),
    ] {
        assert!(trusted().verify(&card).unwrap_err().is_unsigned(), "{card}");
    }
    let forged = ed().sign(CARD).unwrap().replace("audit", "fraud");
    assert!(!trusted().verify(&forged).unwrap_err().is_unsigned());
}

#[test]
fn whatever_is_changed_in_the_card_breaks_the_signature() {
    let signed = ed().sign(CARD).unwrap();
    let changes = [
        ("\"audit\"", "\"Audit\""),
        ("false", "true"),
        ("1.50", "1.51"),
        ("\"x-own\"", "\"x-oWn\""),
        ("\"skills\": []", "\"skills\": [], \"iconUrl\": \"\""),
        ("\"skills\": []", "\"skills\": [{}]"),
        ("\"skills\": [], ", ""),
    ];
    for (from, to) in changes {
        let changed = signed.replacen(from, to, 1);
        assert_ne!(changed, signed);
        assert!(
            reason(&trusted(), &changed).contains("was changed"),
            "{changed}"
        );
    }
    // A key that is given twice could be read in two ways.
    let doubled = signed.replacen('{', r#"{"name":"fraud","#, 1);
    assert!(reason(&trusted(), &doubled).contains("twice"));
    assert!(reason(&trusted(), &format!("{signed} x")).contains("the agent card"));
}

#[test]
fn forged_signatures_are_refused_with_the_reason() {
    let (protected, signature) = parts(&ed().sign(CARD).unwrap());
    let (rsa_protected, rsa_signature) = parts(
        &SigningKey::from_pem(RSA_PEM, "rsa")
            .unwrap()
            .sign(CARD)
            .unwrap(),
    );
    let stranger = {
        let pkcs8 =
            ring::signature::Ed25519KeyPair::generate_pkcs8(&ring::rand::SystemRandom::new())
                .unwrap();
        let body = base64::engine::general_purpose::STANDARD.encode(pkcs8);
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
        SigningKey::from_pem(&pem, "ed").unwrap()
    };
    let by_stranger = parts(&stranger.sign(CARD).unwrap());
    let hs256 = header(&json!({"alg": "HS256", "kid": "rsa", "typ": "JOSE"}));
    let mac = hmac::sign(
        &hmac::Key::new(hmac::HMAC_SHA256, RSA_PUBLIC.as_bytes()),
        hs256.as_bytes(),
    );
    let mac = URL_SAFE_NO_PAD.encode(mac);
    let ed_header = |more: Value| {
        let mut all = json!({"alg": "EdDSA", "kid": "ed", "typ": "JOSE"});
        for (name, value) in more.as_object().unwrap() {
            all[name] = value.clone();
        }
        header(&all)
    };
    let cases = [
        (
            by_stranger.0.clone(),
            by_stranger.1.clone(),
            "another key made it",
        ),
        (rsa_protected, signature.clone(), "was changed"),
        (protected.clone(), rsa_signature, "was changed"),
        (ed_header(json!({"alg": "none"})), String::new(), "\"none\""),
        (
            ed_header(json!({"alg": "NONE"})),
            signature.clone(),
            "\"NONE\"",
        ),
        (hs256, mac, "\"HS256\""),
        (
            ed_header(json!({"alg": "ES256"})),
            signature.clone(),
            "is for EdDSA",
        ),
        (
            ed_header(json!({"alg": 1})),
            signature.clone(),
            "no text \"alg\"",
        ),
        (
            ed_header(json!({"kid": "who"})),
            signature.clone(),
            "\"who\", which is not trusted",
        ),
        (
            ed_header(json!({"kid": null})),
            signature.clone(),
            "no text \"kid\"",
        ),
        (
            ed_header(json!({"b64": false})),
            signature.clone(),
            "\"b64\"",
        ),
        (
            ed_header(json!({"crit": ["b64"]})),
            signature.clone(),
            "\"crit\"",
        ),
        (
            ed_header(json!({"crit": []})),
            signature.clone(),
            "\"crit\"",
        ),
        // The header is signed, too.
        (
            ed_header(json!({"typ": "JWT"})),
            signature.clone(),
            "was changed",
        ),
        (format!("{protected}="), signature.clone(), "base64url"),
        (protected.clone(), format!("{signature}=="), "base64url"),
        (protected.clone(), format!("{signature}.x"), "base64url"),
        (protected.clone(), format!("{signature}AAAA"), "was changed"),
        (protected.clone(), String::new(), "was changed"),
        (URL_SAFE_NO_PAD.encode("[]"), signature.clone(), "no object"),
        (URL_SAFE_NO_PAD.encode(b"\xff"), signature.clone(), "UTF-8"),
        (
            URL_SAFE_NO_PAD.encode(r#"{"alg":"none","alg":"EdDSA","kid":"ed"}"#),
            signature.clone(),
            "twice",
        ),
        (
            URL_SAFE_NO_PAD.encode(r#"{"alg":"EdDSA","kid":"ed"} x"#),
            signature,
            "cannot be read",
        ),
    ];
    for (protected, signature, expected) in cases {
        let reason = reason(&trusted(), &with_signature(&protected, &signature));
        assert!(reason.contains(expected), "{expected}: {reason}");
        assert!(reason.contains("signatures[0]"), "{reason}");
    }
}

#[test]
fn keys_that_a_signature_brings_along_are_not_used() {
    let pkcs8 =
        ring::signature::Ed25519KeyPair::generate_pkcs8(&ring::rand::SystemRandom::new()).unwrap();
    let pair = ring::signature::Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap();
    let public = {
        use ring::signature::KeyPair as _;
        URL_SAFE_NO_PAD.encode(pair.public_key())
    };
    let jwk = json!({"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": public});
    let form = r#"{"capabilities":{"streaming":false},"description":"d","name":"audit","skills":[],"version":"1.0.0","x-own":{"n":1.5}}"#;
    for more in [
        json!({ "jwk": jwk }),
        json!({"jku": "http://127.0.0.1:9/keys"}),
        json!({"x5c": ["AAAA"]}),
    ] {
        let mut all = json!({"alg": "EdDSA", "kid": "ed"});
        for (name, value) in more.as_object().unwrap() {
            all[name] = value.clone();
        }
        let protected = header(&all);
        let input = format!("{protected}.{}", URL_SAFE_NO_PAD.encode(form));
        let signature = URL_SAFE_NO_PAD.encode(pair.sign(input.as_bytes()));
        let reason = reason(&trusted(), &with_signature(&protected, &signature));
        assert!(reason.contains("another key made it"), "{reason}");
    }
}

#[test]
fn the_unprotected_header_decides_nothing() {
    let signed = ed().sign(CARD).unwrap();
    let with = |header: Value| {
        let mut card: Value = serde_json::from_str(&signed).unwrap();
        card["signatures"][0]["header"] = header;
        card.to_string()
    };
    assert!(trusted().verify(&with(json!({"note": "x"}))).is_ok());
    for wrong in [
        json!({"alg": "none"}),
        json!({"kid": "x"}),
        json!({"crit": []}),
        json!([]),
    ] {
        assert!(trusted().verify(&with(wrong)).is_err());
    }
}

#[test]
fn more_signatures_than_are_looked_at_are_refused() {
    let (protected, signature) = parts(&ed().sign(CARD).unwrap());
    let mut card: Value = serde_json::from_str(CARD).unwrap();
    let one = json!({"protected": protected, "signature": signature});
    card["signatures"] = Value::Array(vec![one.clone(); 16]);
    assert!(trusted().verify(&card.to_string()).is_ok());
    card["signatures"] = Value::Array(vec![one; 17]);
    assert!(reason(&trusted(), &card.to_string()).contains("17"));
}

#[test]
fn the_form_without_empty_values_is_taken_only_when_asked_for() {
    let bearer = CARD.replacen(
        '{',
        r#"{"securityRequirements":[{"schemes":{"bearer":{}}}],"#,
        1,
    );
    let key = ed().also_without_empty();
    let signed: Value = serde_json::from_str(&key.sign(&bearer).unwrap()).unwrap();
    assert_eq!(signed["signatures"].as_array().unwrap().len(), 2);
    let mut second = signed.clone();
    second["signatures"] = json!([signed["signatures"][1]]);
    let second = second.to_string();
    assert!(trusted().verify(&second).is_err());
    assert!(trusted().accept_without_empty().verify(&second).is_ok());
    // Where the forms are the same, one signature is enough.
    let full = r#"{"name":"audit","version":"1"}"#;
    assert_eq!(key.signatures(full).unwrap().len(), 1);
}

#[test]
fn keys_that_cannot_be_used_are_refused_with_the_reason() {
    let rsa_1024 = include_str!("keys/rsa_1024_public.pem");
    let p384 = include_str!("keys/p384_public.pem");
    let pems = [
        (rsa_1024, "1024 bits"),
        (p384, "another type"),
        (EC_PEM, "no public key"),
    ];
    for (pem, expected) in pems {
        let error = CardVerifier::new().pem(pem, "k").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let private = [
        (include_str!("keys/rsa_1024.pem"), "k", "cannot be used"),
        (include_str!("keys/p384.pem"), "k", "another type"),
        (EC_PUBLIC, "k", "no private key"),
        (EC_PEM, "", "no id"),
        ("-----BEGIN ENCRYPTED PRIVATE KEY-----", "k", "encrypted"),
        (
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            "k",
            "damaged",
        ),
        ("", "k", "no private key"),
    ];
    for (pem, kid, expected) in private {
        let error = SigningKey::from_pem(pem, kid).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let sets = [
        (r#"{"keys":[]}"#, "empty"),
        (r#"{"keys":{}}"#, "no array"),
        (r#"{"kty":"oct","k":"AAAA","kid":"a"}"#, "\"oct\""),
        (
            r#"{"kty":"OKP","crv":"Ed25519","x":"AAAA","kid":"a"}"#,
            "32",
        ),
        (
            r#"{"kty":"RSA","n":"AQAB","e":"AQAB","kid":"a"}"#,
            "17 bits",
        ),
        (r#"{"kty":"EC","crv":"P-256","use":"enc"}"#, "\"enc\""),
        (
            r#"{"kty":"EC","crv":"P-256","key_ops":["deriveKey"]}"#,
            "key_ops",
        ),
        ("no json", "no JSON Web Key"),
    ];
    for (set, expected) in sets {
        let error = CardVerifier::new().jwks(set).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let mut jwk: Value = serde_json::from_str(include_str!("keys/rsa.jwk")).unwrap();
    jwk["alg"] = json!("RS512");
    let error = CardVerifier::new().jwks(&jwk.to_string()).unwrap_err();
    assert!(error.to_string().contains("RS512"));
}

#[test]
fn a_key_is_never_shown() {
    let key = SigningKey::from_jwk(include_str!("keys/ed25519.jwk")).unwrap();
    assert_eq!(
        format!("{key:?}"),
        r#"SigningKey { kid: "ed", algorithm: EdDsa, .. }"#
    );
    assert_eq!(Algorithm::from_name("eddsa"), None);
}
