//! What of a token counts, over the three bindings.

use llamon_agent::server::auth::{Authenticate, JwtAlgorithm, JwtBearer};
use llamon_agent::server::{AgentError, ConfigError, GrpcAt, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, start};
use llamon_itest::call::{Binding, Caller, Refused};
use llamon_itest::grpc::{Call, call};
use llamon_itest::http::{Request, send};

use crate::issuer::{AUDIENCE, Answer, ISSUER, Place, Signer, claims, key_set, tokens, unsigned};

/// An agent that says who asks.
pub(crate) async fn server(authenticator: impl Authenticate) -> TestServer {
    let who = |turn: Turn| async move {
        let (tenant, principal) = (turn.tenant(), turn.principal());
        let tenant = tenant.unwrap_or("-");
        Ok::<_, AgentError>(format!("{tenant}/{}", principal.unwrap_or("-")))
    };
    let builder = create_server(card("agent"), who).authenticate(authenticator);
    start(builder.grpc(GrpcAt::SamePort)).await
}

/// Who a token makes its sender, in this binding.
pub(crate) async fn sent_in(
    server: &TestServer,
    binding: Binding,
    token: &str,
) -> Result<String, Refused> {
    let caller = Caller::new(server.url(), binding);
    let caller = caller.with("authorization", &format!("Bearer {token}"));
    let message =
        r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"who am I?"}]}}"#;
    let sent = caller.call("SendMessage", message).await?;
    Ok(sent.string("task.artifacts.0.parts.0.text"))
}

/// The same in each binding, which must agree.
pub(crate) async fn sent(server: &TestServer, token: &str) -> Result<String, Refused> {
    let json_rpc = sent_in(server, Binding::JsonRpc, token).await;
    for (binding, status) in [(Binding::Rest, "401"), (Binding::Grpc, "UNAUTHENTICATED")] {
        match (&json_rpc, sent_in(server, binding, token).await) {
            (Ok(one), Ok(other)) => assert_eq!(*one, other, "{binding:?}"),
            (Err(one), Err(other)) => {
                assert_eq!(one.message, other.message, "{binding:?}");
                assert_eq!(one.reason, other.reason, "{binding:?}");
                if one.reason == "UNAUTHENTICATED" {
                    assert_eq!(other.code, status, "{binding:?}");
                }
            }
            (one, other) => panic!("{binding:?}: {one:?} and {other:?}"),
        }
    }
    json_rpc
}

#[tokio::test]
async fn a_token_counts_to_the_letter_or_not_at_all() {
    let (ed, ec, rsa) = (Signer::ed25519(), Signer::p256(), Signer::rsa());
    let (ec_2, stranger) = (Signer::p256(), Signer::ed25519());
    let keys = [
        ed.named("ed"),
        ec.named("ec"),
        ec_2.named("ec-2"),
        rsa.named("rsa"),
    ];
    let keys = key_set(&keys);
    let attacker = Place::at("/keys", Answer::Json(key_set(&[stranger.named("ed")]))).await;
    let builder = JwtBearer::builder()
        .issuer(ISSUER)
        .audience("https://another.name.of.the.agent.example")
        .audience(AUDIENCE)
        .algorithms([
            JwtAlgorithm::EdDsa,
            JwtAlgorithm::Es256,
            JwtAlgorithm::Rs256,
        ])
        .jwks(keys.as_str());
    let server = server(builder.build().unwrap()).await;

    let header =
        |alg: &str, kid: &str, more: &str| format!(r#"{{"alg":"{alg}","kid":"{kid}"{more}}}"#);
    let plain = header("EdDSA", "ed", "");
    let of = |claims: &str| ed.token(&plain, claims);
    let headed = |signer: &Signer, header: &str| signer.token(header, &claims("alice", ""));
    let with = |name: &str, value: &str| {
        let all = claims("alice", "");
        let old = all.find(&format!("\"{name}\":")).unwrap();
        let rest = &all[old..];
        let end = rest.find([',', '}']).unwrap();
        all.replacen(&rest[..end], &format!("\"{name}\":{value}"), 1)
    };

    let good = [
        of(&claims("alice", "")),
        of(&claims(
            "alice",
            r#","nbf":1000000000,"iat":1000000000,"unknown":[{}]"#,
        )),
        of(&with(
            "aud",
            &format!(r#"["https://other.example","{AUDIENCE}"]"#),
        )),
        headed(&ec, &header("ES256", "ec", "")),
        headed(&ec_2, &header("ES256", "ec-2", r#","typ":"at+jwt""#)),
        headed(&rsa, &header("RS256", "rsa", "")),
        // The only key that it can be.
        headed(&ed, r#"{"alg":"EdDSA"}"#),
        headed(&ed, &header("Ed25519", "ed", "")),
        // What a header says of keys is not looked at, also where it is right.
        headed(
            &ed,
            &header(
                "EdDSA",
                "ed",
                r#","x5t":"AAAA","jku":"https://id.example/keys""#,
            ),
        ),
    ];
    for token in &good {
        let found = sent(&server, token).await;
        assert_eq!(found.as_deref().ok(), Some("-/alice"), "{token}: {found:?}");
    }

    let Signer::Rsa(pair) = &rsa else {
        panic!("it is RSA")
    };
    let modulus = ring::rsa::PublicKeyComponents::<Vec<u8>>::from(pair.public()).n;
    let confused = |secret: &[u8]| {
        let header = header("HS256", "rsa", "");
        headed(&Signer::Secret(secret.to_vec()), &header)
    };
    let jwk = stranger.named("ed");
    let way = "signed in a way";
    let signature = "signature of the token is wrong";
    let bad = [
        // No signature, and the wrong kind of one.
        (
            format!("{}.", unsigned(r#"{"alg":"none"}"#, &claims("alice", ""))),
            way,
        ),
        (
            format!(
                "{}.",
                unsigned(r#"{"alg":"None","kid":"ed"}"#, &claims("alice", ""))
            ),
            way,
        ),
        (
            format!("{}.", unsigned(&plain, &claims("alice", ""))),
            signature,
        ),
        (headed(&ed, r#"{"alg":"none","kid":"ed"}"#), way),
        (headed(&ed, r#"{"kid":"ed"}"#), "not a signed JWT"),
        (
            headed(&ed, r#"{"alg":["EdDSA"],"kid":"ed"}"#),
            "not a signed JWT",
        ),
        (
            headed(&ed, r#"{"alg":"EdDSA","alg":"EdDSA","kid":"ed"}"#),
            "not a signed JWT",
        ),
        (headed(&ed, &header("eddsa", "ed", "")), way),
        (confused(&modulus), way),
        (confused(keys.as_bytes()), way),
        (confused(b""), way),
        (headed(&rsa, &header("RS512", "rsa", "")), way),
        (headed(&rsa, &header("PS256", "rsa", "")), way),
        (
            headed(&rsa, &header("RS256", "ed", "")),
            "not for its algorithm",
        ),
        (
            headed(&ec, &header("EdDSA", "ec", "")),
            "not for its algorithm",
        ),
        (headed(&ec_2, &header("ES256", "ec", "")), signature),
        (headed(&stranger, &plain), signature),
        // Which key.
        (headed(&ed, &header("EdDSA", "unknown", "")), "not known"),
        (headed(&ed, &header("EdDSA", "", "")), "not known"),
        (
            headed(&ed, r#"{"alg":"EdDSA","kid":7}"#),
            "not a signed JWT",
        ),
        (headed(&ec, r#"{"alg":"ES256"}"#), "does not say which"),
        // Keys that the token brings along or points to.
        (
            headed(
                &stranger,
                &header("EdDSA", "ed", &format!(r#","jwk":{jwk}"#)),
            ),
            signature,
        ),
        (
            headed(
                &stranger,
                &header(
                    "EdDSA",
                    "ed",
                    &format!(r#","jku":"{}""#, attacker.keys_url()),
                ),
            ),
            signature,
        ),
        (
            headed(
                &stranger,
                &header(
                    "EdDSA",
                    "new",
                    &format!(r#","x5u":"{}""#, attacker.keys_url()),
                ),
            ),
            "not known",
        ),
        (
            headed(&ed, &header("EdDSA", "ed", r#","crit":["exp"]"#)),
            "not supported",
        ),
        (
            headed(&ed, &header("EdDSA", "ed", r#","b64":false"#)),
            "not supported",
        ),
        // Claims.
        (
            of(&with("iss", r#""https://id.example.evil""#)),
            "another issuer",
        ),
        (
            of(&with("iss", r#""https://id.example/""#)),
            "another issuer",
        ),
        (
            of(&with("aud", r#""https://other.example""#)),
            "another audience",
        ),
        (
            of(&with("aud", r#"["https://other.example"]"#)),
            "another audience",
        ),
        (of(&with("aud", "[]")), "another audience"),
        (of(&with("exp", "1000000000")), "has expired"),
        (of(&with("exp", r#""4000000000""#)), "no number"),
        (
            of(&claims("alice", "").replace(r#","exp":4000000000"#, "")),
            "never expires",
        ),
        (
            of(&claims("alice", r#","nbf":4000000000"#)),
            "does not count yet",
        ),
        (of(&claims("alice", r#","nbf":"0""#)), "no number"),
        (of(&claims("alice", r#","iat":"0""#)), "no number"),
        (of(&claims("alice", r#","scope":7"#)), "no texts"),
        (of(&claims("", "")), "nothing of its subject"),
        (of(&claims(&"a".repeat(513), "")), "more than 512 bytes"),
        (of("[]"), "no object"),
        (of("{"), "cannot be read"),
        (of(&claims("alice", r#","sub":"bob""#)), "cannot be read"),
        // What is no token.
        ("a.b.c".to_owned(), "not a signed JWT"),
        ("a.b".to_owned(), "not a signed JWT"),
        (format!("{}.x", good[0]), "not a signed JWT"),
        (good[0].replacen('.', ".A", 1), signature),
        (good[0][..good[0].len() - 2].to_owned(), signature),
        ("x".repeat(16 * 1024 + 1), "larger than 16 KiB"),
    ];
    for (token, expected) in &bad {
        let refused = sent(&server, token).await.expect_err(expected);
        assert_eq!(refused.reason, "UNAUTHENTICATED", "{expected}: {token}");
        assert!(
            refused.message.contains(expected),
            "{expected}: {refused:?}"
        );
        assert!(!refused.message.contains(token.as_str()), "{refused:?}");
    }
    assert_eq!(
        attacker.asked(),
        Vec::<String>::new(),
        "nobody asks where a token points"
    );
}

#[tokio::test]
async fn a_refusal_has_the_challenge_of_its_reason() {
    let ed = Signer::ed25519();
    let authenticator = tokens().jwks(key_set(&[ed.named("ed")])).build().unwrap();
    let server = server(authenticator).await;
    let plain = "Bearer realm=\"a2a\"";
    let expired = claims("alice", "").replace("4000000000", "1000000000");
    let expired = ed.token(r#"{"alg":"EdDSA","kid":"ed"}"#, &expired);
    let invalid =
        format!("{plain}, error=\"invalid_token\", error_description=\"the token has expired\"");
    for (authorization, expected) in [
        (None, plain),
        (Some("Basic YTpi".to_owned()), plain),
        (Some("Bearer".to_owned()), plain),
        (Some("Bearer a b".to_owned()), plain),
        (Some(format!("bearer {expired}")), &invalid),
    ] {
        for request in [
            Request::get("/tasks"),
            Request::post("/", r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks"}"#),
        ] {
            let request = match &authorization {
                Some(value) => request.header("Authorization", value),
                None => request,
            };
            let response = send(server.url(), &request).await;
            assert_eq!(response.status, 401, "{authorization:?}");
            assert_eq!(response.header("www-authenticate"), Some(expected));
        }
        let listing = Call::new("ListTasks", b"");
        let listing = match &authorization {
            Some(value) => listing.metadata("authorization", value),
            None => listing,
        };
        let answer = call(server.url(), &listing).await;
        assert_eq!(answer.status, Some(16), "{authorization:?}");
        assert_eq!(answer.metadata("www-authenticate"), Some(expected));
    }
}

#[tokio::test]
async fn the_tenant_and_a_prefix_are_the_servers_to_say() {
    let ed = Signer::ed25519();
    let builder = tokens()
        .jwks(key_set(&[ed.named("ed")]))
        .tenant_claim("org")
        .principal_prefix("id.example:");
    let server = server(builder.build().unwrap()).await;
    let header = r#"{"alg":"EdDSA","kid":"ed"}"#;
    let of_acme = ed.token(
        header,
        &claims("alice", r#","org":"acme","tenant":"other""#),
    );
    assert_eq!(
        sent(&server, &of_acme).await.unwrap(),
        "acme/id.example:alice"
    );
    for org in ["", r#","org":"""#, r#","org":["acme"]"#] {
        let token = ed.token(header, &claims("alice", org));
        let refused = sent(&server, &token).await.unwrap_err();
        assert!(refused.message.contains("its tenant"), "{refused:?}");
    }
}

#[tokio::test]
async fn a_shared_secret_verifies_what_it_signs_and_nothing_else() {
    let secret = b"a secret of thirty-two bytes, ok!".to_vec();
    let signer = Signer::Secret(secret.clone());
    let builder = tokens().algorithms([JwtAlgorithm::Hs256]).secret(secret);
    let server = server(builder.build().unwrap()).await;
    let alice = claims("alice", "");
    for header in [r#"{"alg":"HS256"}"#, r#"{"alg":"HS256","kid":"whatever"}"#] {
        let found = sent(&server, &signer.token(header, &alice)).await;
        assert_eq!(found.unwrap(), "-/alice");
    }
    let other = Signer::Secret(b"another secret of thirty-two bytes".to_vec());
    for token in [
        other.token(r#"{"alg":"HS256"}"#, &alice),
        signer.token(r#"{"alg":"HS512"}"#, &alice),
        signer.token(r#"{"alg":"none"}"#, &alice),
    ] {
        assert!(sent(&server, &token).await.is_err(), "{token}");
    }
}

#[test]
fn what_cannot_be_verified_safely_is_not_built() {
    use JwtAlgorithm::{EdDsa, Hs256, Hs512, Rs256};
    let set = key_set(&[Signer::ed25519().named("ed")]);
    let secret = vec![7; 63];
    let all = || tokens().jwks(set.as_str());
    let cases = [
        (all(), None),
        (tokens().algorithms([Hs256]).secret(secret.clone()), None),
        (tokens(), Some(".jwks_url(")),
        (JwtBearer::builder().jwks(set.as_str()), Some(".issuer(")),
        (
            JwtBearer::builder().issuer(ISSUER).jwks(set.as_str()),
            Some(".audience("),
        ),
        (all().audience(""), Some(".audience(")),
        (all().algorithms([]), Some(".algorithms(")),
        (
            all().algorithms([EdDsa, Hs256]),
            Some("HS256 is not one for public keys"),
        ),
        (
            tokens().algorithms([Hs256, Rs256]).secret(secret.clone()),
            Some("RS256 is not one for a shared secret"),
        ),
        (
            tokens().algorithms([Hs512]).secret(secret),
            Some("63 bytes; HS512 needs at least 64"),
        ),
        (
            tokens().algorithms([Hs256]).secret("too short"),
            Some("at least 32"),
        ),
        (tokens().jwks("{}"), Some("no JSON object with an array")),
        (tokens().jwks(r#"{"keys":[]}"#), Some("no public key")),
        (
            tokens().jwks_url("file:///etc/keys"),
            Some("cannot be fetched"),
        ),
        (
            all().leeway(std::time::Duration::from_secs(601)),
            Some("at most 600s"),
        ),
    ];
    for (builder, expected) in cases {
        let error: Option<ConfigError> = builder.build().err();
        match (&error, expected) {
            (None, None) => {}
            (Some(error), Some(expected)) => {
                assert!(error.is_authentication(), "{error}");
                assert!(error.to_string().contains(expected), "{expected}: {error}");
            }
            _ => panic!("{expected:?}: {error:?}"),
        }
    }
}
