//! A page token is good for the next page of its caller's own list.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use llamon_agent::server::backend::sqlite::SqliteStore;
use llamon_agent::server::create_server;
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, start};
use llamon_itest::call::{BINDINGS, Caller};

use crate::support::{Names, asking_agent, begin, caller, server};

async fn token(caller: &Caller, operation: &str, parameters: &str) -> String {
    let page = caller.call(operation, parameters).await.expect("a page");
    page.string("nextPageToken")
}

/// Demands that the token is refused with these parameters, and is not shown.
async fn refused(caller: &Caller, operation: &str, parameters: &str, token: &str) {
    let parameters = parameters.replace("TOKEN", token);
    let refused = caller.call(operation, &parameters).await;
    let refused = refused.expect_err("a token that is not theirs");
    let what = format!("{:?} {parameters}: {refused:?}", caller.binding);
    assert_eq!(refused.reason, "INVALID_PARAMS", "{what}");
    assert!(refused.message.starts_with("pageToken: "), "{what}");
    assert!(!refused.message.contains(token), "{what}");
}

#[tokio::test]
async fn a_token_of_a_list_of_tasks_is_its_callers_and_its_querys() {
    let server = server().await;
    for binding in BINDINGS {
        let alice = caller(&server, binding, Some("alice@acme"));
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(begin(&alice).await.0);
        }
        let token = token(&alice, "ListTasks", r#"{"pageSize":1}"#).await;
        let decoded = URL_SAFE_NO_PAD.decode(&token).expect("base64");
        let decoded = String::from_utf8_lossy(&decoded).into_owned();
        for told in ["alice", "acme", "1:", "/", ids[0].as_str(), ids[2].as_str()] {
            let told_in = token.contains(told) || (told.len() > 2 && decoded.contains(told));
            assert!(!told_in, "{told} in {token}");
        }
        for who in ["bob@acme", "alice@globex", "alice"] {
            let other = caller(&server, binding, Some(who));
            begin(&other).await;
            refused(&other, "ListTasks", r#"{"pageToken":"TOKEN"}"#, &token).await;
        }
        for query in [
            r#"{"contextId":"c","pageToken":"TOKEN"}"#,
            r#"{"status":"TASK_STATE_INPUT_REQUIRED","pageToken":"TOKEN"}"#,
            r#"{"statusTimestampAfter":"2020-01-01T00:00:00Z","pageToken":"TOKEN"}"#,
        ] {
            refused(&alice, "ListTasks", query, &token).await;
        }
        let mut changed = token.clone();
        let last = if changed.ends_with('A') { "B" } else { "A" };
        changed.replace_range(5..6, if &token[5..6] == last { "C" } else { last });
        for none in [changed.as_str(), &token[1..], "nonsense", "MTIz"] {
            refused(&alice, "ListTasks", r#"{"pageToken":"TOKEN"}"#, none).await;
        }
        // The size of a page may change, and what is shown of a task.
        let next = format!(r#"{{"pageSize":2,"historyLength":0,"pageToken":"{token}"}}"#);
        let page = alice.call("ListTasks", &next).await.expect("a page");
        let found: Vec<String> = page.list("tasks").iter().map(|t| t.string("id")).collect();
        assert_eq!(found, [ids[1].clone(), ids[0].clone()], "{binding:?}");
    }
}

#[tokio::test]
async fn a_token_of_a_list_of_receivers_is_its_tasks() {
    let server = server().await;
    for binding in BINDINGS {
        let alice = caller(&server, binding, Some("alice@acme"));
        let (task, _) = begin(&alice).await;
        let (other, _) = begin(&alice).await;
        for id in ["receiver-a", "receiver-b", "receiver-c"] {
            for task in [&task, &other] {
                let config = format!(
                    r#"{{"taskId":"{task}","id":"{id}","url":"https://receiver.example/"}}"#
                );
                let added = alice.call("CreateTaskPushNotificationConfig", &config);
                added.await.expect("a receiver");
            }
        }
        let operation = "ListTaskPushNotificationConfigs";
        let first = format!(r#"{{"taskId":"{task}","pageSize":1}}"#);
        let token = token(&alice, operation, &first).await;
        assert!(!token.contains("receiver"), "{token}");
        let of_other = format!(r#"{{"taskId":"{other}","pageToken":"TOKEN"}}"#);
        refused(&alice, operation, &of_other, &token).await;
        let of_task = format!(r#"{{"taskId":"{task}","pageToken":"TOKEN"}}"#);
        for made_up in ["receiver-a", "nonsense"] {
            refused(&alice, operation, &of_task, made_up).await;
        }
        let next = of_task.replace("TOKEN", &token);
        let page = alice.call(operation, &next).await.expect("a page");
        let ids: Vec<String> = (page.list("configs").iter())
            .map(|config| config.string("id"))
            .collect();
        assert_eq!(ids, ["receiver-b", "receiver-c"]);
    }
}

async fn durable(file: &Path, agent: &str) -> TestServer {
    let store = SqliteStore::open(file).expect("a store");
    let builder = create_server(card("agent"), asking_agent())
        .backend(store.backend(agent))
        .authenticate(Names);
    start(builder).await
}

#[tokio::test]
async fn a_token_outlives_a_server_whose_tasks_do() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("tasks.db");
    let binding = BINDINGS[0];
    let listing = |token: &str| format!(r#"{{"pageSize":1,"pageToken":"{token}"}}"#);
    let first = durable(&file, "agent").await;
    let alice = caller(&first, binding, Some("alice"));
    let (older, _) = begin(&alice).await;
    begin(&alice).await;
    let token = token(&alice, "ListTasks", r#"{"pageSize":1}"#).await;
    drop(first);

    let second = durable(&file, "agent").await;
    let alice = caller(&second, binding, Some("alice"));
    let page = alice.call("ListTasks", &listing(&token)).await;
    let page = page.expect("a token stays good");
    assert_eq!(page.string("tasks.0.id"), older);

    // Another agent of the same file has a secret of its own.
    let other = durable(&file, "another").await;
    let alice = caller(&other, binding, Some("alice"));
    begin(&alice).await;
    refused(&alice, "ListTasks", r#"{"pageToken":"TOKEN"}"#, &token).await;
}
