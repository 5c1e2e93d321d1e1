//! `llamon key new`.

use llamon_agent::server::auth::{ApiKey, ApiKeys};

use crate::support::{file, llamon};

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
