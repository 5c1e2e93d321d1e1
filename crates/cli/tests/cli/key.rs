//! `llamon key new`, and calls of agents that want a key.

use llamon_agent::server::auth::{ApiKey, ApiKeys, Identity};
use llamon_agent::server::{AgentError, Turn, create_server};
use llamon_agent::testing::TestServer;

use crate::support::{card, file, llamon, llamon_in};

#[tokio::test]
async fn a_new_key_goes_to_the_caller_and_its_line_into_the_file() {
    let args = [
        "key", "new", "alice", "--tenant", "acme", "--scope", "b", "--scope", "a",
    ];
    let ran = llamon(&args).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let key = ran.stderr.trim().rsplit(' ').next().unwrap();
    let hash = ApiKey::new(key).unwrap().hash();
    assert_eq!(ran.stdout, format!("{hash} alice tenant=acme scopes=a,b\n"));
    let (_folder, path) = file("keys", ran.stdout.as_bytes());
    drop(ApiKeys::new().file(path).unwrap());

    let again = llamon(&args).await;
    assert_ne!(again.stdout, ran.stdout);
    let wrong = llamon(&["key", "new", "a b"]).await;
    assert_eq!((wrong.code, wrong.stdout.as_str()), (Some(2), ""));
    assert!(wrong.stderr.contains("no spaces"), "{}", wrong.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_wants_a_key_gets_it_from_a_variable() {
    let key = ApiKey::generate().unwrap();
    let whoami = |turn: Turn| async move {
        Ok::<_, AgentError>(turn.principal().unwrap_or("nobody").to_owned())
    };
    let keys = || ApiKeys::new().key(key.hash(), Identity::new("alice"));
    for (keys, option) in [
        (keys(), ["--header-env", "X-API-Key=KEY"]),
        (keys().bearer(), ["--bearer-env", "KEY"]),
    ] {
        let server = create_server(card("closed"), whoami).authenticate(keys);
        let server = TestServer::start(server).await.unwrap();
        let send = ["send", server.url(), "who am I?"];
        let ran = llamon_in(&[("KEY", key.expose())], &[&send[..], &option[..]].concat()).await;
        assert_eq!((ran.code, &*ran.stdout), (Some(0), "alice\n"), "{ran:?}");
        assert!(!ran.stderr.contains(key.expose()), "{ran:?}");
        let list = ["task", "list", server.url()];
        let listed = llamon_in(&[("KEY", key.expose())], &[&list[..], &option[..]].concat()).await;
        assert_eq!(listed.code, Some(0), "{listed:?}");

        let unknown = llamon(&send).await;
        assert_eq!(unknown.code, Some(1), "{unknown:?}");
        assert!(unknown.stderr.contains("--bearer-env"), "{unknown:?}");
        let unset = llamon(&[&send[..], &option[..]].concat()).await;
        assert_eq!(unset.code, Some(2), "{unset:?}");
        assert!(unset.stderr.contains("\"KEY\" is not set"), "{unset:?}");
    }
    let wrong = llamon(&["send", "http://127.0.0.1:9", "x", "--header-env", "KEY"]).await;
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
}
