//! A server that signs its card, and clients that take no other.

#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise; clippy takes helpers of tests for no tests"
)]

use llamon_agent::client::signing::{CardVerifier, SigningKey};
use llamon_agent::client::{Client, ClientError};
use llamon_agent::prelude::*;
use llamon_agent::server::create_server;
use llamon_agent::testing::TestServer;

const EC: &str = include_str!("../../client/tests/keys/ec.pem");
const ED: &str = include_str!("../../client/tests/keys/ed25519.pem");
const ED_PUBLIC: &str = include_str!("../../client/tests/keys/ed25519_public.pem");
const RSA: &str = include_str!("../../client/tests/keys/rsa.pem");
const RSA_PUBLIC: &str = include_str!("../../client/tests/keys/rsa_public.pem");
const PUBLIC: &str = include_str!("../../client/tests/keys/public.jwks");

async fn echo(turn: Turn) -> Result<String, AgentError> {
    Ok(turn.query().to_owned())
}

fn card() -> AgentCard {
    AgentCard::new("echo", "Says it again", "1.0.0").skill(Skill::new("echo", "Echo", "Repeats"))
}

async fn serve(keys: &[(&str, &str)]) -> TestServer {
    let mut builder = create_server(card(), echo);
    for (pem, kid) in keys {
        builder = builder.sign_card(SigningKey::from_pem(pem, kid).unwrap());
    }
    TestServer::start(builder).await.unwrap()
}

async fn discover(server: &TestServer, verifier: CardVerifier) -> Result<Client, ClientError> {
    Client::builder()
        .verify_card(verifier)
        .discover(server.url())
        .await
}

fn trusted() -> CardVerifier {
    CardVerifier::new().jwks(PUBLIC).unwrap()
}

#[tokio::test]
async fn a_signed_card_is_taken_with_each_kind_of_key() {
    for key in [(EC, "ec"), (RSA, "rsa"), (ED, "ed")] {
        let server = serve(&[key]).await;
        let client = discover(&server, trusted()).await.unwrap();
        assert_eq!(client.send("hello").await.unwrap().text(), "hello");
        server.stop().await.unwrap();
    }
}

#[tokio::test]
async fn one_of_several_signatures_is_enough() {
    let server = serve(&[(EC, "ec"), (RSA, "rsa")]).await;
    let rsa = CardVerifier::new().pem(RSA_PUBLIC, "rsa").unwrap();
    let client = discover(&server, rsa.clone()).await.unwrap();
    assert_eq!(client.card().signatures.len(), 2);
    assert_eq!(rsa.verify(client.card_json()).unwrap().index(), 1);
    let ed = CardVerifier::new().pem(ED_PUBLIC, "ed").unwrap();
    let error = discover(&server, ed).await.unwrap_err();
    assert!(error.is_untrusted_card(), "{error}");
    assert!(error.to_string().contains("signatures[1]"), "{error}");
}

#[tokio::test]
async fn a_client_that_wants_a_signature_takes_no_card_without_one() {
    let server = serve(&[]).await;
    let error = discover(&server, trusted()).await.unwrap_err();
    assert!(error.is_untrusted_card() && !error.is_temporary());
    assert!(error.to_string().contains("not signed"), "{error}");
    assert!(error.to_string().contains(server.url()), "{error}");
}

#[tokio::test]
async fn a_card_that_was_changed_on_its_way_is_refused() {
    let server = serve(&[(ED, "ed")]).await;
    let with = |json: &str| {
        let builder = Client::builder().verify_card(trusted());
        builder.with_card(json, server.url())
    };
    let client = Client::discover(server.url()).await.unwrap();
    assert!(with(client.card_json()).is_ok());
    let changed = client.card_json().replace("Says it again", "Says it");
    assert!(with(&changed).unwrap_err().is_untrusted_card());
    let redirected = client.card_json().replace("127.0.0.1", "127.0.0.2");
    assert!(with(&redirected).unwrap_err().is_untrusted_card());
}

#[tokio::test]
async fn a_deterministic_key_gives_the_same_card_after_a_restart() {
    let mut cards = Vec::new();
    for _ in 0..2 {
        let builder = create_server(card(), echo)
            .public_url("http://127.0.0.1:1/")
            .sign_card(SigningKey::from_pem(ED, "ed").unwrap());
        let server = TestServer::start(builder).await.unwrap();
        let client = Client::builder().trust_origin("http://127.0.0.1:1");
        let client = client.discover(server.url()).await.unwrap();
        assert!(trusted().verify(client.card_json()).is_ok());
        cards.push(client.card_json().to_owned());
    }
    assert_eq!(cards[0], cards[1]);
}

#[tokio::test]
async fn signatures_of_another_card_are_not_served() {
    let mut signed = card();
    let json = r#"{"name":"another"}"#;
    let key = SigningKey::from_pem(EC, "ec").unwrap();
    signed.signatures = key.signatures(json).unwrap();
    let key = SigningKey::from_pem(ED, "ed").unwrap();
    let server = TestServer::start(create_server(signed, echo).sign_card(key))
        .await
        .unwrap();
    let client = discover(&server, trusted()).await.unwrap();
    assert_eq!(client.card().signatures.len(), 1);
}
