//! API keys, from the configuration and from a file, alone and beside tokens.

use std::time::Duration;

use llamon_agent::client::Client;
use llamon_agent::server::auth::{AnyOf, ApiKey, ApiKeys, Authenticate, Identity};
use llamon_agent::server::create_server;
use llamon_agent::testing::TestServer;
use llamon_itest::agents::card;
use llamon_itest::http::{Request, send};
use llamon_itest::raw::Raw;

use crate::issuer::{Signer, claims, key_set, tokens};
use crate::tokens::server;

async fn with(server: &TestServer, name: &str, value: &str) -> (u16, Option<String>) {
    let request = Request::get("/tasks").header(name, value);
    let response = send(server.url(), &request).await;
    let challenge = response.header("www-authenticate").map(str::to_owned);
    (response.status, challenge)
}

async fn schemes(server: &TestServer) -> String {
    let card = send(server.url(), &Request::get("/.well-known/agent-card.json")).await;
    Raw::parse(&card.body)
        .at("securitySchemes")
        .text()
        .to_owned()
}

#[tokio::test]
async fn a_caller_is_known_by_the_key_in_its_place() {
    let (alice, bob) = (ApiKey::generate().unwrap(), ApiKey::generate().unwrap());
    let keys = || {
        ApiKeys::new()
            .key(alice.hash(), Identity::new("alice").of_tenant("acme"))
            .key(bob.hash(), Identity::new("bob"))
    };
    let in_header = server(keys()).await;
    let client = Client::builder().api_key("X-Api-Key", alice.expose());
    let client = client.discover(in_header.url()).await.unwrap();
    assert_eq!(client.send("hi").await.unwrap().text(), "acme/alice");
    let challenge = Some("ApiKey header=\"X-Api-Key\"".to_owned());
    for (name, value, expected) in [
        ("X-Api-Key", bob.expose(), (200, None)),
        ("X-Api-Key", "", (401, challenge.clone())),
        ("X-Api-Key", &bob.expose()[1..], (401, challenge.clone())),
        (
            "X-Api-Key",
            &bob.hash().to_string(),
            (401, challenge.clone()),
        ),
        ("Authorization", bob.expose(), (401, challenge)),
    ] {
        assert_eq!(
            with(&in_header, name, value).await,
            expected,
            "{name}: {value}"
        );
    }
    assert_eq!(
        schemes(&in_header).await,
        r#"{"apiKey":{"apiKeySecurityScheme":{"location":"header","name":"X-Api-Key"}}}"#
    );

    let as_bearer = server(keys().bearer()).await;
    let bearer = format!("Bearer {}", bob.expose());
    assert_eq!(with(&as_bearer, "Authorization", &bearer).await.0, 200);
    let (status, challenge) = with(&as_bearer, "Authorization", "Bearer x").await;
    assert_eq!(status, 401);
    assert!(challenge.unwrap().contains("invalid_token"));
    assert_eq!(with(&as_bearer, "X-Api-Key", bob.expose()).await.0, 401);
}

#[tokio::test]
async fn a_file_of_keys_is_read_again_and_a_broken_one_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    let (alice, bob) = (ApiKey::generate().unwrap(), ApiKey::generate().unwrap());
    std::fs::write(&path, format!("{} alice\n", alice.hash())).unwrap();
    let keys = ApiKeys::new().file(&path).unwrap();
    let server = server(keys.reload_interval(Duration::ZERO)).await;
    let both = || async {
        let alice = with(&server, "x-api-key", alice.expose()).await.0;
        let bob = with(&server, "x-api-key", bob.expose()).await.0;
        (alice, bob)
    };
    assert_eq!(both().await, (200, 401));
    let line = format!("# all\n{} bob tenant=acme scopes=a,b\n", bob.hash());
    std::fs::write(&path, &line).unwrap();
    assert_eq!(both().await, (401, 200));
    std::fs::write(&path, format!("{line}{} alice\n", alice.expose())).unwrap();
    assert_eq!(
        both().await,
        (401, 200),
        "the key stands where its hash should"
    );
    std::fs::remove_file(&path).unwrap();
    assert_eq!(both().await, (401, 200));
    std::fs::write(&path, "").unwrap();
    assert_eq!(both().await, (401, 401));
    let error = ApiKeys::new().file(folder.path().join("none")).unwrap_err();
    assert!(error.to_string().contains("cannot be read"), "{error}");
}

#[tokio::test]
async fn keys_and_tokens_do_side_by_side() {
    let signer = Signer::ed25519();
    let key = ApiKey::generate().unwrap();
    let of_keys = ApiKeys::new().key(key.hash(), Identity::new("nightly"));
    let of_tokens = tokens()
        .jwks(key_set(&[signer.named("one")]))
        .build()
        .unwrap();
    let server = server(AnyOf::new().with(of_keys).with(of_tokens)).await;
    let token = signer.token(r#"{"alg":"EdDSA","kid":"one"}"#, &claims("alice", ""));
    assert_eq!(with(&server, "X-Api-Key", key.expose()).await.0, 200);
    assert_eq!(
        with(&server, "Authorization", &format!("Bearer {token}"))
            .await
            .0,
        200
    );
    let (status, challenge) = with(&server, "X-Api-Key", "wrong").await;
    assert_eq!(status, 401);
    let both = "ApiKey header=\"X-Api-Key\", Bearer realm=\"a2a\"";
    assert_eq!(challenge.as_deref(), Some(both));
    let card = send(server.url(), &Request::get("/.well-known/agent-card.json")).await;
    let card = Raw::parse(&card.body);
    assert_eq!(
        card.at("securityRequirements").text(),
        r#"[{"schemes":{"apiKey":{}}},{"schemes":{"bearer":{}}}]"#
    );
    assert!(card.find("securitySchemes.apiKey").is_some());
    assert!(card.find("securitySchemes.bearer").is_some());
}

#[tokio::test]
async fn two_schemes_of_one_name_are_both_on_the_card() {
    let one = ApiKey::generate().unwrap();
    let keys = |header: &str| {
        ApiKeys::new()
            .header(header)
            .key(one.hash(), Identity::new("a"))
    };
    let server = server(
        AnyOf::new()
            .with(keys("X-One"))
            .with(keys("X-Two"))
            .with(keys("X-One")),
    )
    .await;
    assert_eq!(
        schemes(&server).await,
        "{\"apiKey\":{\"apiKeySecurityScheme\":{\"location\":\"header\",\"name\":\"X-One\"}},\
         \"apiKey-2\":{\"apiKeySecurityScheme\":{\"location\":\"header\",\"name\":\"X-Two\"}}}"
    );
    assert_eq!(with(&server, "X-Two", one.expose()).await.0, 200);
}

#[tokio::test]
async fn a_scheme_that_cannot_work_makes_no_server() {
    async fn refused(authenticator: impl Authenticate) -> String {
        let agent = |_: llamon_agent::server::Turn| async {
            Ok::<_, llamon_agent::server::AgentError>("x")
        };
        let error = create_server(card("agent"), agent)
            .authenticate(authenticator)
            .await;
        let error = error.expect_err("it cannot work");
        assert!(error.is_authentication(), "{error}");
        error.to_string()
    }
    let key = ApiKey::generate().unwrap();
    let twice = ApiKeys::new()
        .key(key.hash(), Identity::new("alice"))
        .key(key.hash(), Identity::new("bob"));
    assert!(refused(twice).await.contains("given twice"));
    let in_any = AnyOf::new().with(ApiKeys::new().header("no header"));
    assert!(refused(in_any).await.contains("no name of an HTTP header"));
    assert!(refused(AnyOf::new()).await.contains("nobody could call"));
}

#[tokio::test]
async fn a_card_cannot_have_the_schemes_of_both_versions() {
    let agent =
        |_: llamon_agent::server::Turn| async { Ok::<_, llamon_agent::server::AgentError>("x") };
    let key = ApiKey::generate().unwrap();
    let error = create_server(card("agent"), agent)
        .authenticate(ApiKeys::new().key(key.hash(), Identity::new("alice")))
        .card_fields(llamon_agent::server::CardFields::AlsoV0_3)
        .await
        .unwrap_err();
    assert!(error.is_card(), "{error}");
}
