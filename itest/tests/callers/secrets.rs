//! What is shown of things with secrets in them: never the secrets.

use std::time::Duration;

use llamon_agent::server::auth::{AnyOf, ApiKey, ApiKeys, Identity, JwtAlgorithm};
use llamon_itest::http::{Request, send};
use llamon_itest::log::Log;
use tracing_subscriber::filter::LevelFilter;

use crate::issuer::{Answer, Place, Signer, claims, key_set, tokens};
use crate::tokens::server;

#[test]
fn debug_shows_no_secret() {
    let key = ApiKey::generate().unwrap();
    let secret = "a shared secret that nobody may read";
    let builder = || tokens().algorithms([JwtAlgorithm::Hs256]).secret(secret);
    let keys = || ApiKeys::new().key(key.hash(), Identity::new("alice"));
    let shown = [
        format!("{key:?}"),
        format!("{:?}", keys()),
        format!("{:?}", builder()),
        format!("{:?}", builder().build().unwrap()),
        format!(
            "{:?}",
            AnyOf::new().with(keys()).with(builder().build().unwrap())
        ),
    ];
    let bytes = format!("{:?}", secret.as_bytes());
    let bytes = bytes.trim_matches(['[', ']']);
    for text in shown {
        for hidden in [key.expose(), secret, bytes] {
            assert!(!text.contains(hidden), "{text}");
        }
    }
}

/// All of it runs on this test's thread, whose log is looked at.
#[tokio::test]
async fn neither_logs_nor_answers_have_what_a_caller_showed() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);

    let signer = Signer::ed25519();
    let keys = Answer::Json(key_set(&[signer.named("one")]));
    let place = Place::at("/keys", keys).await;
    let (known, unknown) = (ApiKey::generate().unwrap(), ApiKey::generate().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    std::fs::write(&path, "").unwrap();
    let of_keys = ApiKeys::new()
        .key(known.hash(), Identity::new("alice"))
        .file(&path)
        .unwrap()
        .reload_interval(Duration::ZERO);
    let of_tokens = tokens()
        .jwks_url(place.keys_url())
        .keys_interval(Duration::ZERO)
        .keys_max_age(Duration::ZERO);
    let callers = AnyOf::new().with(of_keys).with(of_tokens.build().unwrap());
    let server = server(callers).await;
    // Somebody wrote the key where its hash should be.
    std::fs::write(&path, format!("{} bob\n", unknown.expose())).unwrap();

    let header = r#"{"alg":"EdDSA","kid":"one"}"#;
    let good = signer.token(header, &claims("canary-subject", ""));
    let expired = claims("canary-subject", "").replace("4000000000", "1000000000");
    let credentials = [
        ("X-Api-Key", known.expose().to_owned()),
        ("X-Api-Key", unknown.expose().to_owned()),
        ("Authorization", format!("Bearer {good}")),
        (
            "Authorization",
            format!("Bearer {}", signer.token(header, &expired)),
        ),
        (
            "Authorization",
            format!("Bearer {}", Signer::ed25519().token(header, &expired)),
        ),
        (
            "Authorization",
            format!(
                "Bearer {}",
                signer.token(r#"{"alg":"EdDSA","kid":"two"}"#, &expired)
            ),
        ),
        ("Authorization", "Bearer canary.of.nothing".to_owned()),
    ];
    let mut said = String::new();
    for answer in [None, Some(Answer::Status(500))] {
        if let Some(answer) = answer {
            place.set("/keys", answer);
        }
        for (name, value) in &credentials {
            let response = send(server.url(), &Request::get("/tasks").header(name, value)).await;
            said.push_str(&format!("{:?}{}", response.headers, response.body));
        }
    }
    let logged = log.text();
    assert!(
        logged.contains("the API keys stay as they were before"),
        "{logged}"
    );
    assert!(logged.contains("could not be fetched"), "{logged}");
    for (_, value) in &credentials {
        let value = value.trim_start_matches("Bearer ");
        for hidden in value
            .split('.')
            .filter(|part| part.len() > 16)
            .chain([value])
        {
            assert!(!logged.contains(hidden), "{hidden} was logged");
            assert!(!said.contains(hidden), "{hidden} was sent back");
        }
    }
}
