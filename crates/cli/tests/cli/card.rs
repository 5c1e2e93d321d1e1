//! `llamon card sign`, `verify` and `lint`.

use llamon_agent::client::signing::SigningKey;
use llamon_agent::server::create_server;
use llamon_agent::testing::TestServer;

use crate::support::{card, file, llamon};

const KEYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../client/tests/keys");
const CARD: &str = r#"{"name":"a","description":"b","version":"1",
 "supportedInterfaces":[{"url":"https://a.example","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],
 "capabilities":{},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],
 "skills":[{"id":"s","name":"s","description":"s","tags":["t"]}]}"#;

fn key(name: &str) -> String {
    format!("{KEYS}/{name}")
}

#[tokio::test]
async fn what_sign_prints_verify_takes_and_lint_likes() {
    let (_folder, path) = file("card.json", CARD.as_bytes());
    let jwks = key("public.jwks");
    let cases = [
        (key("ec.pem"), "ec", "ES256", key("ec_public.pem")),
        (key("rsa.pem"), "rsa", "RS256", key("rsa_public.pem")),
        (key("ed25519.jwk"), "ed", "EdDSA", key("ed25519_public.pem")),
    ];
    for (private, kid, algorithm, public) in cases {
        let args = ["card", "sign", &path, "--key", &private, "--kid", kid];
        let ran = llamon(&[&args[..], &["--alg", algorithm]].concat()).await;
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        let (_folder, signed) = file("signed.json", ran.stdout.as_bytes());
        let ran = llamon(&["card", "verify", &signed, "--keys", &jwks]).await;
        let expected = format!("signed by {kid} with {algorithm} (signatures[0])\n");
        assert_eq!((ran.code, ran.stdout), (Some(0), expected));
        let args = ["card", "verify", &signed, "--keys", &public, "--kid", kid];
        let ran = llamon(&[&args[..], &["--json"]].concat()).await;
        let expected = format!(
            "{{\"verified\":true,\"kid\":\"{kid}\",\"alg\":\"{algorithm}\",\"signature\":0}}\n"
        );
        assert_eq!((ran.code, ran.stdout), (Some(0), expected));
        let ran = llamon(&["card", "lint", &signed]).await;
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "0 errors, 0 warnings\n")
        );
    }
}

#[tokio::test]
async fn a_served_card_is_verified_by_its_url() {
    let agent =
        async |_: llamon_agent::server::Turn| -> Result<&str, llamon_agent::server::AgentError> {
            Ok("x")
        };
    let pem = std::fs::read_to_string(key("ed25519.pem")).unwrap();
    let builder =
        create_server(card("test"), agent).sign_card(SigningKey::from_pem(&pem, "ed").unwrap());
    let server = TestServer::start(builder).await.unwrap();
    let jwks = key("public.jwks");
    let ran = llamon(&["card", "verify", server.url(), "--keys", &jwks]).await;
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "signed by ed with EdDSA (signatures[0])\n")
    );
    let ran = llamon(&["card", "lint", server.url()]).await;
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "0 errors, 0 warnings\n")
    );
    // The card itself is still shown.
    let ran = llamon(&["card", server.url()]).await;
    assert_eq!(ran.code, Some(0));
}

#[tokio::test]
async fn a_card_that_nobody_trusted_signed_ends_with_1_and_the_reason() {
    let (_folder, path) = file("card.json", CARD.as_bytes());
    let jwks = key("public.jwks");
    let ran = llamon(&["card", "verify", &path, "--keys", &jwks]).await;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("not signed") && ran.stderr.contains("next: "),
        "{}",
        ran.stderr
    );
    let ran = llamon(&["card", "verify", &path, "--keys", &jwks, "--json"]).await;
    assert!(
        ran.stdout.starts_with("{\"verified\":false,\"reason\":\""),
        "{}",
        ran.stdout
    );

    let private = key("ed25519.jwk");
    let ran = llamon(&["card", "sign", &path, "--key", &private]).await;
    let forged = ran.stdout.replace("\"name\":\"a\"", "\"name\":\"c\"");
    let (_folder, forged) = file("forged.json", forged.as_bytes());
    let ran = llamon(&["card", "verify", &forged, "--keys", &jwks]).await;
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("was changed"), "{}", ran.stderr);
}

#[tokio::test]
async fn lint_says_what_is_wrong_and_where() {
    let bad = CARD
        .replace("https://a.example", "http://a.example")
        .replace("\"version\":\"1\",", "")
        .replace("[\"t\"]", "[]");
    let (_folder, path) = file("card.json", bad.as_bytes());
    let ran = llamon(&["card", "lint", &path]).await;
    let expected = "\
error: version is missing; it needs a text
warning: supportedInterfaces[0].url is not encrypted; production needs https (section 7.1)
error: skills[0].tags is empty; it needs at least one element
2 errors, 1 warning
";
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), expected));
    let ran = llamon(&["card", "lint", &path, "--json"]).await;
    let expected = "{\"errors\":2,\"warnings\":1,\"findings\":[\
        {\"severity\":\"error\",\"path\":\"version\",\"message\":\"is missing; it needs a text\"},";
    assert!(ran.stdout.starts_with(expected), "{}", ran.stdout);
    assert_eq!(ran.code, Some(1));
}

#[tokio::test]
async fn wrong_files_and_options_are_usage_errors() {
    let (_folder, path) = file("card.json", CARD.as_bytes());
    let (_folder2, doubled) = file("doubled.json", br#"{"name":"a","name":"b"}"#);
    let (pem, jwk, p384) = (key("ec.pem"), key("ec.jwk"), key("p384.pem"));
    let public = key("ec_public.pem");
    let cases: [(&[&str], &str); 8] = [
        (&["card"], "URL"),
        (&["card", "sign", &path, "--key", &pem], "--kid"),
        (
            &["card", "sign", &path, "--key", &jwk, "--alg", "EdDSA"],
            "ES256",
        ),
        (
            &["card", "sign", &path, "--key", &p384, "--kid", "k"],
            "another type",
        ),
        (&["card", "sign", &doubled, "--key", &jwk], "twice"),
        (
            &["card", "sign", "no-such-file", "--key", &jwk],
            "no-such-file",
        ),
        (&["card", "verify", &path, "--keys", &public], "--kid"),
        (&["card", "verify", &path], "--keys"),
    ];
    for (args, expected) in cases {
        let ran = llamon(args).await;
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    }
}
