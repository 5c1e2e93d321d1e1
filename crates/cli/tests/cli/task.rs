//! `llamon task`.

use std::sync::Arc;

use llamon_agent::prelude::*;
use serde_json::Value;
use tokio::sync::Notify;

use crate::support::{Running, llamon, serve};

async fn echo(turn: Turn) -> Result<Answer, AgentError> {
    if turn.query() == "ask" {
        return Ok(Answer::input_required("which?")?);
    }
    Ok(Answer::completed((turn.query(), Json(1.0)))?)
}

#[tokio::test(flavor = "multi_thread")]
async fn get_shows_a_task_and_gives_its_json() {
    let server = serve(echo).await;
    let reply = server.send("hello").await.unwrap();
    let task = reply.task().unwrap();
    let ran = llamon(&["task", "get", server.url(), &task.id]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let first = format!("task {} is completed since ", task.id);
    assert!(ran.stdout.starts_with(&first), "{ran:?}");
    assert!(ran.stdout.ends_with("\nhello\ndata[0] 1.0\n"), "{ran:?}");
    let ran = llamon(&["task", "get", server.url(), &task.id, "--json"]).await;
    assert!(ran.stdout.contains(r#"{"data":1.0}"#), "{ran:?}");
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["id"], *task.id);
    assert_eq!(json["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test(flavor = "multi_thread")]
async fn list_filters_and_goes_on_to_the_next_page() {
    let server = serve(echo).await;
    let url = server.url();
    let calls = (0..120).map(|_| server.send(Outgoing::text("hi").in_context("many")));
    for call in calls {
        call.await.unwrap();
    }
    server.send("ask").await.unwrap();
    let ran = llamon(&["task", "list", url, "--limit", "110", "--json"]).await;
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["tasks"].as_array().unwrap().len(), 110);
    assert_eq!(json["totalSize"], 121);

    let ran = llamon(&["task", "list", url, "--limit", "3"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout.lines().count(), 4, "{ran:?}");
    assert!(ran.stdout.starts_with("TASK "), "{ran:?}");
    assert!(ran.stderr.contains("3 of 121 tasks"), "{ran:?}");

    let ran = llamon(&["task", "list", url, "--status", "input-required"]).await;
    assert_eq!(ran.stdout.lines().count(), 2, "{ran:?}");
    let ran = llamon(&["task", "list", url, "--context", "many", "--limit", "500"]).await;
    assert_eq!(ran.stdout.lines().count(), 121, "{ran:?}");
    let ran = llamon(&["task", "list", url, "--context", "none"]).await;
    assert_eq!((ran.code, &*ran.stdout), (Some(0), ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_cancels_once() {
    let server = serve(echo).await;
    let reply = server.send("ask").await.unwrap();
    let id = &*reply.task().unwrap().id;
    let ran = llamon(&["task", "cancel", server.url(), id]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("is canceled"), "{ran:?}");
    let ran = llamon(&["task", "cancel", server.url(), id]).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("TASK_NOT_CANCELABLE"), "{ran:?}");
    let ran = llamon(&["task", "watch", server.url(), id]).await;
    assert_eq!(ran.code, Some(6), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn watch_follows_a_task_to_its_end() {
    let gate = Arc::new(Notify::new());
    let opened = Arc::clone(&gate);
    let agent = move |turn: Turn| {
        let gate = Arc::clone(&opened);
        async move {
            gate.notified().await;
            turn.emit("two\nlines").await?;
            Ok::<_, AgentError>(Json([1.0]))
        }
    };
    let server = serve(agent).await;
    for json in [&[][..], &["--json"]] {
        let message = Outgoing::text("hi").return_immediately();
        let reply = server.send(message).await.unwrap();
        let id = &*reply.task().unwrap().id;
        let running = Running::start(&[&["task", "watch", server.url(), id][..], json].concat());
        // The snapshot: from here on nothing is missed.
        let (running, first) = running.line().await;
        gate.notify_one();
        let ran = running.wait().await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let rest: Vec<&str> = ran.stdout.lines().collect();
        if json.is_empty() {
            assert!(first.starts_with(&format!("task {id} ")), "{first}");
            let text = r#"artifact response is "two\nlines""#;
            assert!(rest.iter().any(|line| line.starts_with(text)), "{rest:?}");
            assert!(ran.stdout.contains("1 data"), "{rest:?}");
            assert_eq!(rest.last(), Some(&"status completed"));
        } else {
            let events: Vec<Value> = std::iter::once(&*first)
                .chain(rest)
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            assert_eq!(events[0]["task"]["id"], id);
            let last = events.last().unwrap();
            assert_eq!(
                last["statusUpdate"]["status"]["state"],
                "TASK_STATE_COMPLETED"
            );
            assert!(ran.stdout.contains(r#"{"data":[1.0]}"#), "{ran:?}");
        }
    }
}
