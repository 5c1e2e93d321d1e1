//! The same for callers of A2A 0.3, over JSON-RPC.

use llamon_itest::call::Binding;
use llamon_itest::http::{Request, Response, send};

use crate::support::{MISSING, begin, caller, server};

/// The operations on a task, with their parameters for it.
fn operations(task: &str) -> [(&'static str, String); 9] {
    let message = format!(
        r#"{{"message":{{"kind":"message","messageId":"m","role":"user","parts":[{{"kind":"text","text":"x"}}],"taskId":"{task}"}}}}"#
    );
    let of_task = format!(r#"{{"id":"{task}"}}"#);
    let of_config = format!(r#"{{"id":"{task}","pushNotificationConfigId":"c"}}"#);
    let config = format!(
        r#"{{"taskId":"{task}","pushNotificationConfig":{{"id":"c","url":"https://receiver.example/"}}}}"#
    );
    [
        ("message/send", message.clone()),
        ("message/stream", message),
        ("tasks/get", of_task.clone()),
        ("tasks/cancel", of_task.clone()),
        ("tasks/resubscribe", of_task.clone()),
        ("tasks/pushNotificationConfig/set", config),
        ("tasks/pushNotificationConfig/get", of_config.clone()),
        ("tasks/pushNotificationConfig/list", of_task),
        ("tasks/pushNotificationConfig/delete", of_config),
    ]
}

async fn call(url: &str, who: &str, method: &str, params: &str) -> Response {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let request = Request::post("/", body).without("A2A-Version");
    let mut response = send(url, &request.header("x-name", who)).await;
    response.headers.retain(|(name, _)| name != "date");
    response
}

#[tokio::test]
async fn a_foreign_and_a_missing_task_give_the_same_bytes() {
    let server = server().await;
    let owner = caller(&server, Binding::JsonRpc, Some("alice@acme"));
    let (task, _) = begin(&owner).await;
    for who in ["bob@acme", "alice@globex", "alice"] {
        for ((method, there), (_, missing)) in operations(&task).iter().zip(operations(MISSING)) {
            let foreign = call(server.url(), who, method, there).await;
            let absent = call(server.url(), who, method, &missing).await;
            assert_eq!(foreign, absent, "{who} {method}");
            assert!(foreign.body.contains("-32001"), "{method}: {foreign:?}");
            assert!(!foreign.body.contains(&task), "{method}: {foreign:?}");
        }
    }
    let (method, there) = &operations(&task)[2];
    let theirs = call(server.url(), "alice@acme", method, there).await;
    assert!(theirs.body.contains(&task));
}
