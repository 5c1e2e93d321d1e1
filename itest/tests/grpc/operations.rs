//! Every operation says the same as on the other bindings.

use llamon_agent::a2a::{ListTasksRequest, PushConfig, TaskRequest, TaskState};
use llamon_agent::client::{Binding, Client, Outgoing};
use llamon_agent::core::Payload;
use llamon_itest::agents::{End, Script, parts};

use crate::support::{client, grpc, reason, serve_scripts, serve_with_push};

const EVERY_PART: [&str; 7] = [
    r#"{"text":"한글 \"quoted\" \u0000"}"#,
    r#"{"raw":"AAECAwQ=","filename":"a.bin","mediaType":"application/octet-stream"}"#,
    r#"{"url":"https://example.com/a?b=c","metadata":{"k":[1,{"z":null}]}}"#,
    r#"{"data":{"b":3,"a":[null,true,"x",0.5,-7,1e300,{}],"":[]}}"#,
    r#"{"data":null}"#,
    r#"{"data":[]}"#,
    r#"{"data":"text"}"#,
];

#[tokio::test]
async fn a_message_is_answered_with_the_parts_of_every_kind_that_it_had() {
    let server = serve_scripts("append", vec![Script::returns(&[r#"{"data":{"own":1}}"#])]).await;
    let mut message = Outgoing::text("go");
    for part in parts(&EVERY_PART[1..]) {
        message = message.with_part(part);
    }
    let reply = grpc(&server).await.send(message.clone()).await.unwrap();
    assert_eq!(reply.state(), Some(TaskState::Completed));
    let over_json = client(&server, Binding::JsonRpc)
        .await
        .send(message)
        .await
        .unwrap();
    let texts = |payload: Payload| -> Vec<String> {
        let parts = payload.into_parts().into_iter();
        parts.map(|part| part.json().to_owned()).collect()
    };
    let found = texts(reply.payload());
    assert_eq!(found, texts(over_json.payload()));
    assert_eq!(found[0], r#"{"data":{"own":1}}"#);
    assert_eq!(found[1..], EVERY_PART[1..]);
    let id = reply.task().unwrap().id.to_string();
    let of_grpc = grpc(&server).await.get(&id).await.unwrap();
    let of_rest = client(&server, Binding::Rest).await.get(&id).await.unwrap();
    assert_eq!(of_grpc, of_rest);
}

#[tokio::test]
async fn a_text_is_the_same_text() {
    let server = serve_scripts("replace", vec![Script::returns(&EVERY_PART[..1])]).await;
    let reply = grpc(&server).await.send("go").await.unwrap();
    assert_eq!(reply.text(), "한글 \"quoted\" \0");
}

#[tokio::test]
async fn a_task_is_continued_read_listed_and_canceled() {
    let ask = Script::new(End::InputRequired("which?"));
    let wait = Script::new(End::AwaitCancel(Vec::new()));
    let server = serve_scripts("replace", vec![ask, wait]).await;
    let grpc = grpc(&server).await;
    let asked = grpc
        .send(Outgoing::text("go").in_context("c1"))
        .await
        .unwrap();
    assert_eq!(asked.state(), Some(TaskState::InputRequired));
    assert_eq!(asked.status_text().as_deref(), Some("which?"));
    let id = asked.task().unwrap().id.to_string();
    let working = Outgoing::text("this").in_task(&*id).return_immediately();
    let working = grpc.send(working).await.unwrap();
    assert!(!working.state().unwrap().is_settled());

    let mut request = ListTasksRequest::default();
    request.context_id = Some("c1".into());
    request.page_size = Some(1);
    request.history_length = Some(1);
    let page = grpc.list(request.clone()).await.unwrap();
    assert_eq!((page.total_size, page.page_size), (1, 1));
    assert_eq!(page.tasks[0].history.len(), 1);
    assert_eq!(page.next_page_token, "");
    request.status = Some(TaskState::Completed);
    assert_eq!(grpc.list(request.clone()).await.unwrap().total_size, 0);
    request.status = None;
    request.status_timestamp_after = page.tasks[0].status.timestamp;
    assert_eq!(grpc.list(request).await.unwrap().total_size, 1);

    let canceled = grpc.cancel(&id).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
    let mut request = TaskRequest::new(&*id);
    request.history_length = Some(0);
    let task = grpc.get_with(request).await.unwrap();
    assert_eq!(task.status.state, TaskState::Canceled);
    assert!(task.history.is_empty());
    assert_eq!(reason(grpc.cancel(&id).await), "TASK_NOT_CANCELABLE");
}

#[tokio::test]
async fn pages_join_to_all_tasks() {
    let server = serve_scripts("replace", vec![Script::returns(&[])]).await;
    let grpc = grpc(&server).await;
    for _ in 0..5 {
        grpc.send("go").await.unwrap();
    }
    let mut request = ListTasksRequest::default();
    request.page_size = Some(2);
    let mut ids = Vec::new();
    loop {
        let page = grpc.list(request.clone()).await.unwrap();
        ids.extend(page.tasks.iter().map(|task| task.id.to_string()));
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = Some(page.next_page_token);
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5);
}

#[tokio::test]
async fn a_direct_message_has_no_task() {
    let message = Script::new(End::Message(vec![r#"{"text":"hello"}"#.to_owned()]));
    let server = serve_scripts("replace", vec![message]).await;
    let reply = grpc(&server).await.send("go").await.unwrap();
    assert!(reply.task().is_none());
    assert_eq!(reply.text(), "hello");
}

async fn waiting(grpc: &Client) -> String {
    let asked = grpc.send("go").await.expect("an answer");
    asked.task().expect("a task").id.to_string()
}

#[tokio::test]
async fn push_configurations_are_created_read_listed_and_deleted_without_secrets() {
    let server = serve_with_push(vec![Script::new(End::InputRequired("which?"))]).await;
    let grpc = grpc(&server).await;
    let id = waiting(&grpc).await;
    let config = |name: &str| {
        PushConfig::new(format!("http://127.0.0.1:9999/{name}"))
            .with_id(name)
            .with_token("t0ken")
            .with_authentication("Bearer", "cr3dentials")
    };
    for name in ["b", "a"] {
        let created = grpc.create_push_config(&id, config(name)).await.unwrap();
        assert_eq!(created.id.as_deref(), Some(name));
        assert_eq!(created.token, None);
        let authentication = created.authentication.unwrap();
        assert_eq!(authentication.scheme, "Bearer");
        assert_eq!(authentication.credentials, None);
    }
    let found = grpc.get_push_config(&id, "a").await.unwrap();
    assert_eq!(found.url, "http://127.0.0.1:9999/a");
    let all = grpc.push_configs(&id).await.unwrap();
    let ids: Vec<_> = all
        .iter()
        .map(|config| config.id.as_deref().unwrap())
        .collect();
    assert_eq!(ids, ["a", "b"]);
    grpc.delete_push_config(&id, "a").await.unwrap();
    grpc.delete_push_config(&id, "a").await.unwrap();
    assert_eq!(
        reason(grpc.get_push_config(&id, "a").await),
        "TASK_NOT_FOUND"
    );
    assert_eq!(grpc.push_configs(&id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_push_configuration_comes_with_a_message() {
    let server = serve_with_push(vec![Script::new(End::InputRequired("which?"))]).await;
    let grpc = grpc(&server).await;
    let receiver = PushConfig::new("http://127.0.0.1:9999/hook").with_id("mine");
    let asked = grpc
        .send(Outgoing::text("go").with_push(receiver))
        .await
        .unwrap();
    let id = asked.task().unwrap().id.to_string();
    let found = grpc.push_configs(&id).await.unwrap();
    assert_eq!(found[0].id.as_deref(), Some("mine"));
}
