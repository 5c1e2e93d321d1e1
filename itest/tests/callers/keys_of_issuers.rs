//! Keys by URL: fetched seldom, once for all, and missed without harm.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use llamon_agent::client::egress::Egress;
use llamon_agent::server::auth::{Authenticate as _, Oidc};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{Gate, until};
use llamon_itest::call::Binding;
use llamon_itest::http::{Request, send};

use crate::issuer::{Answer, Place, Signer, claims, key_set, tokens};
use crate::tokens::{sent, sent_in, server};

const NEVER: Duration = Duration::from_secs(3_600);

fn token(signer: &Signer, id: &str) -> String {
    let header = format!(r#"{{"alg":"EdDSA","kid":"{id}"}}"#);
    signer.token(&header, &claims("alice", ""))
}

fn keys(signer: &Signer, id: &str) -> Answer {
    Answer::Json(key_set(&[signer.named(id)]))
}

/// Whether a token is taken now, refused, or cannot be judged.
async fn verdict(server: &TestServer, token: &str) -> u16 {
    let request = Request::get("/tasks").header("Authorization", &format!("Bearer {token}"));
    send(server.url(), &request).await.status
}

#[tokio::test]
async fn keys_are_fetched_once_and_a_flood_of_unknown_ones_fetches_nothing() {
    let signer = Signer::ed25519();
    let place = Place::at("/keys", keys(&signer, "one")).await;
    let builder = tokens().jwks_url(place.keys_url()).keys_interval(NEVER);
    let server = server(builder.build().unwrap()).await;
    assert_eq!(
        place.asked().len(),
        0,
        "nothing is fetched before it is needed"
    );
    assert_eq!(
        sent(&server, &token(&signer, "one")).await.unwrap(),
        "-/alice"
    );
    let unknown: Vec<String> = (0..50)
        .map(|n| token(&signer, &format!("no-{n}")))
        .collect();
    let verdicts = join_all(unknown.iter().map(|token| verdict(&server, token))).await;
    assert_eq!(verdicts, vec![401; 50]);
    assert_eq!(verdict(&server, &token(&signer, "one")).await, 200);
    assert_eq!(place.asked(), ["/keys"]);
}

#[tokio::test]
async fn a_new_key_is_found_and_an_old_one_is_gone() {
    let (old, new) = (Signer::ed25519(), Signer::ed25519());
    let place = Place::at("/keys", keys(&old, "old")).await;
    let builder = tokens()
        .jwks_url(place.keys_url())
        .keys_interval(Duration::ZERO);
    let server = server(builder.build().unwrap()).await;
    assert_eq!(verdict(&server, &token(&old, "old")).await, 200);
    assert_eq!(verdict(&server, &token(&new, "new")).await, 401);
    place.set("/keys", keys(&new, "new"));
    assert_eq!(
        verdict(&server, &token(&old, "old")).await,
        200,
        "it is not fetched for this"
    );
    assert_eq!(verdict(&server, &token(&new, "new")).await, 200);
    assert_eq!(verdict(&server, &token(&old, "old")).await, 401);
    // An issuer that has taken all keys back has said so.
    place.set("/keys", Answer::Json(key_set(&[])));
    assert_eq!(verdict(&server, &token(&old, "old")).await, 401);
    assert_eq!(verdict(&server, &token(&new, "new")).await, 401);
}

#[tokio::test]
async fn who_comes_while_keys_are_fetched_waits_for_the_same_fetch() {
    let signer = Signer::ed25519();
    let gate = Arc::new(Gate::new());
    let then = Box::new(keys(&signer, "one"));
    let place = Place::at("/keys", Answer::After(Arc::clone(&gate), then)).await;
    let builder = tokens()
        .jwks_url(place.keys_url())
        .keys_interval(Duration::ZERO)
        .keys_timeout(Duration::from_secs(60));
    let server = server(builder.build().unwrap()).await;
    let token = token(&signer, "one");
    let opened = async {
        until(|| async { (!place.asked().is_empty()).then_some(()) }).await;
        gate.open();
    };
    let asking = join_all((0..20).map(|_| verdict(&server, &token)));
    let (verdicts, ()) = tokio::join!(asking, opened);
    assert_eq!(verdicts, vec![200; 20]);
    assert_eq!(place.asked(), ["/keys"]);
}

#[tokio::test]
async fn an_issuer_that_does_not_answer_is_503_and_holds_nobody() {
    let signer = Signer::ed25519();
    let gate = Arc::new(Gate::new());
    let then = Box::new(keys(&signer, "one"));
    let place = Place::at("/keys", Answer::After(Arc::clone(&gate), then)).await;
    let builder = tokens()
        .jwks_url(place.keys_url())
        .keys_interval(NEVER)
        .keys_timeout(Duration::from_millis(50));
    let server = server(builder.build().unwrap()).await;
    let token = token(&signer, "one");
    for binding in llamon_itest::call::BINDINGS {
        // It comes back although the gate is never opened.
        let refused = sent_in(&server, binding, &token).await.unwrap_err();
        assert_eq!(refused.reason, "UNAVAILABLE", "{binding:?}: {refused:?}");
    }
    let request = Request::get("/tasks").header("Authorization", &format!("Bearer {token}"));
    let response = send(server.url(), &request).await;
    assert_eq!(response.status, 503);
    assert_eq!(response.header("retry-after"), Some("1"));
    assert_eq!(place.asked(), ["/keys"]);
}

#[tokio::test]
async fn what_is_no_key_set_lets_nobody_in_until_it_is_one() {
    let signer = Signer::ed25519();
    let place = Place::at("/keys", Answer::Status(500)).await;
    let elsewhere = Place::at("/keys", keys(&signer, "one")).await;
    let builder = tokens()
        .jwks_url(place.keys_url())
        .keys_interval(Duration::ZERO);
    let server = server(builder.build().unwrap()).await;
    let token = token(&signer, "one");
    let one = signer.named("one");
    let padded = format!(r#"{{"keys":[{one}],"x":"{}"}}"#, "x".repeat(256 * 1024));
    for answer in [
        Answer::Status(500),
        Answer::Status(404),
        Answer::Close,
        Answer::Redirect(elsewhere.keys_url()),
        Answer::Json(String::new()),
        Answer::Json("{}".to_owned()),
        Answer::Json(r#"{"keys":7}"#.to_owned()),
        Answer::Json(padded),
        Answer::Json(key_set(&vec![one.clone(); 101])),
        Answer::Json("[".repeat(100_000)),
    ] {
        place.set("/keys", answer);
        assert_eq!(verdict(&server, &token).await, 503);
    }
    assert_eq!(elsewhere.asked().len(), 0, "a redirect is not followed");
    place.set("/keys", keys(&signer, "one"));
    assert_eq!(verdict(&server, &token).await, 200);
}

#[tokio::test]
async fn known_keys_count_while_the_issuer_is_down() {
    let signer = Signer::ed25519();
    let place = Place::at("/keys", keys(&signer, "one")).await;
    let builder = tokens()
        .jwks_url(place.keys_url())
        .keys_interval(Duration::ZERO)
        .keys_max_age(Duration::ZERO);
    let server = server(builder.build().unwrap()).await;
    let (known, unknown) = (token(&signer, "one"), token(&signer, "two"));
    assert_eq!(verdict(&server, &known).await, 200);
    for answer in [
        Answer::Close,
        Answer::Status(503),
        Answer::Json("no".to_owned()),
    ] {
        place.set("/keys", answer);
        let asked = place.asked().len();
        assert_eq!(verdict(&server, &known).await, 200);
        // Old keys are fetched anew behind the scenes.
        until(|| async { (place.asked().len() > asked).then_some(()) }).await;
        assert_eq!(verdict(&server, &unknown).await, 503, "it can be a new key");
        assert_eq!(verdict(&server, &known).await, 200);
    }
    place.set("/keys", keys(&signer, "two"));
    assert_eq!(verdict(&server, &unknown).await, 200);
}

#[tokio::test]
async fn keys_for_something_else_are_no_keys() {
    let (signer, leaked) = (Signer::ed25519(), Signer::ed25519());
    let secret = Signer::Secret(b"a secret of thirty-two bytes, ok!".to_vec());
    let set = key_set(&[
        leaked.jwk(r#","kid":"leaked","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A""#),
        secret.named("secret"),
        r#"{"kty":"unknown","kid":"unknown"}"#.to_owned(),
        leaked.jwk(r#","kid":"enc","use":"enc""#),
        "null".to_owned(),
        signer.named("one"),
    ]);
    let place = Place::at("/keys", Answer::Json(set)).await;
    let builder = tokens().jwks_url(place.keys_url()).keys_interval(NEVER);
    let server = server(builder.build().unwrap()).await;
    assert_eq!(verdict(&server, &token(&signer, "one")).await, 200);
    for (signer, id) in [(&leaked, "leaked"), (&leaked, "enc"), (&signer, "unknown")] {
        assert_eq!(verdict(&server, &token(signer, id)).await, 401, "{id}");
    }
    let shared = secret.token(r#"{"alg":"HS256","kid":"secret"}"#, &claims("alice", ""));
    assert_eq!(verdict(&server, &shared).await, 401);
}

#[tokio::test]
async fn discovery_leads_to_the_keys_of_its_issuer() {
    const DOCUMENT: &str = "/.well-known/openid-configuration";
    let signer = Signer::ed25519();
    let place = Place::at("/keys", keys(&signer, "one")).await;
    let other = Place::at("/keys", keys(&signer, "one")).await;
    let issuer = place.url.clone();
    let builder = || {
        let builder = tokens().issuer(issuer.as_str());
        builder.keys_interval(Duration::ZERO)
    };
    let header = r#"{"alg":"EdDSA","kid":"one"}"#;
    let of_issuer = claims("alice", "").replace(crate::issuer::ISSUER, &issuer);
    let token = signer.token(header, &of_issuer);
    let document = |issuer: &str, keys: &str| {
        Answer::Json(format!(r#"{{"issuer":"{issuer}","jwks_uri":"{keys}"}}"#))
    };

    let oidc = Oidc::new(builder()).unwrap();
    let scheme = serde_json::to_string(&oidc.security().schemes).unwrap();
    let expected = format!(
        r#"{{"oidc":{{"openIdConnectSecurityScheme":{{"openIdConnectUrl":"{issuer}{DOCUMENT}"}}}}}}"#
    );
    assert_eq!(scheme, expected);
    let server_of = server(oidc).await;
    for answer in [
        Answer::Status(404),
        document("https://id.example", &place.keys_url()),
        document(&format!("{issuer}/"), &place.keys_url()),
        Answer::Json(format!(r#"{{"issuer":"{issuer}"}}"#)),
        // Another place of this machine, which only the issuer has named.
        document(&issuer, &other.keys_url()),
    ] {
        place.set(DOCUMENT, answer);
        assert_eq!(verdict(&server_of, &token).await, 503);
    }
    assert_eq!(other.asked().len(), 0);
    place.set(DOCUMENT, document(&issuer, &place.keys_url()));
    assert_eq!(sent(&server_of, &token).await.unwrap(), "-/alice");
    assert_eq!(
        verdict(&server_of, &signer.token(header, &claims("alice", ""))).await,
        401
    );

    place.set(DOCUMENT, document(&issuer, &other.keys_url()));
    let egress = Egress::builder()
        .trust_origin(&*issuer)
        .trust_origin(&*other.url);
    let trusting = Oidc::new(builder().egress(egress.build().unwrap())).unwrap();
    let trusting = server(trusting).await;
    let found = sent_in(&trusting, Binding::Rest, &token).await;
    assert_eq!(found.unwrap(), "-/alice");
    assert_eq!(other.asked(), ["/keys"]);

    let error = Oidc::new(builder().jwks_url("https://id.example/keys")).unwrap_err();
    assert!(error.to_string().contains("finds the keys"), "{error}");
}
