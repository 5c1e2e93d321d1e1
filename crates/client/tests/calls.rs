//! Calls without streaming, on both bindings: what is sent and what is read.

use llamon_client::{Binding, Client, Outgoing, Reply};
use llamon_core::a2a::{ListTasksRequest, TaskRequest, TaskState};
use llamon_core::{Limits, Part};
use support::{answering, both, task};

#[expect(dead_code, reason = "each test file uses a part of the support")]
mod support;

const BINDINGS: [Binding; 2] = [Binding::JsonRpc, Binding::Rest];

#[tokio::test]
async fn each_call_is_put_into_its_binding() {
    let mut list = ListTasksRequest::default();
    list.context_id = Some("c 1".into());
    list.status = Some(TaskState::Working);
    list.include_artifacts = true;
    let mut get = TaskRequest::new("t/1");
    get.history_length = Some(2);
    let message = || {
        Outgoing::text("hi")
            .in_task("t1")
            .in_context("c1")
            .return_immediately()
            .history_length(0)
            .message_id("m1")
    };
    let sent = r#"{"message":{"messageId":"m1","contextId":"c1","taskId":"t1","role":"ROLE_USER","parts":[{"text":"hi"}]},"configuration":{"historyLength":0,"returnImmediately":true}}"#;
    let rpc = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":"1","method":"{method}","params":{params}}}"#)
    };
    let expected = [
        (Binding::JsonRpc, "POST /rpc", rpc("SendMessage", sent)),
        (
            Binding::JsonRpc,
            "POST /rpc",
            rpc("GetTask", r#"{"id":"t/1","historyLength":2}"#),
        ),
        (
            Binding::JsonRpc,
            "POST /rpc",
            rpc(
                "ListTasks",
                r#"{"contextId":"c 1","status":"TASK_STATE_WORKING","includeArtifacts":true}"#,
            ),
        ),
        (
            Binding::JsonRpc,
            "POST /rpc",
            rpc("CancelTask", r#"{"id":"t/1"}"#),
        ),
        (Binding::Rest, "POST /rest/message:send", sent.to_owned()),
        (
            Binding::Rest,
            "GET /rest/tasks/t%2F1?historyLength=2",
            String::new(),
        ),
        (
            Binding::Rest,
            "GET /rest/tasks?contextId=c+1&status=TASK_STATE_WORKING&includeArtifacts=true",
            String::new(),
        ),
        (
            Binding::Rest,
            "POST /rest/tasks/t%2F1:cancel",
            "{}".to_owned(),
        ),
    ];
    let mut expected = expected.iter();
    for binding in BINDINGS {
        // An error for every call: only what is sent matters here.
        let (client, server) = answering(binding, "7").await;
        assert!(client.send(message()).await.is_err());
        assert!(client.get_with(get.clone()).await.is_err());
        assert!(client.list(list.clone()).await.is_err());
        assert!(client.cancel("t/1").await.is_err());
        for request in server.requests() {
            let (wanted, line, body) = expected.next().unwrap();
            assert_eq!(*wanted, binding);
            assert_eq!(request.line, format!("{line} HTTP/1.1"));
            assert_eq!(request.body, *body);
            assert_eq!(request.header("a2a-version"), Some("1.0"));
            let (sent, accepted) = match binding {
                Binding::JsonRpc => ("application/json", "application/json"),
                _ => (
                    "application/a2a+json",
                    "application/a2a+json, application/json",
                ),
            };
            assert_eq!(request.header("accept"), Some(accepted));
            let sent = (!request.body.is_empty()).then_some(sent);
            assert_eq!(request.header("content-type"), sent);
        }
    }
    assert!(expected.next().is_none());
}

#[tokio::test]
async fn a_reply_is_seen_as_text_data_and_files_token_for_token() {
    let data = r#"{"b":1e400,"b":1.0,"a":[9007199254740993,"\ud800","é"]}"#;
    let artifact = format!(
        r#"{{"artifactId":"response","parts":[{{"text":"two "}},{{"data":{data},"x":1}},{{"text":"parts"}},{{"data":null}},{{"raw":"QUJD","filename":"a.txt"}}]}}"#
    );
    for binding in BINDINGS {
        let value = format!(r#"{{"task":{}}}"#, task("COMPLETED", &artifact));
        let (client, _server) = answering(binding, &value).await;
        let reply = client.send("hi").await.unwrap();
        assert_eq!(reply.text(), "two parts");
        assert_eq!(reply.data(), [data, "null"]);
        let files = reply.files();
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].file_content().unwrap(), "ABC");
        assert_eq!(reply.state(), Some(TaskState::Completed));
        assert_eq!(reply.task().unwrap().id, "t1".into());
        assert_eq!(reply.context_id(), Some("c1"));
        assert_eq!(reply.status_text(), None);
        assert!(reply.message().is_none());
        let unknown = format!(r#"{{"data":{data},"x":1}}"#);
        assert!(
            reply
                .payload()
                .parts()
                .iter()
                .any(|part| part.json() == unknown)
        );
    }
}

#[tokio::test]
async fn a_pretty_printed_answer_keeps_its_tokens() {
    let body = "{\r\n  \"task\": {\r\n    \"id\": \"t1\",\r\n    \"status\": { \"state\": \"TASK_STATE_COMPLETED\" },\r\n    \"artifacts\": [ { \"artifactId\": \"a\", \"parts\": [\r\n      { \"data\": { \"n\": 1.0,\r\n \"n\": 1e400 } } ] } ]\r\n  }\r\n}";
    let (client, _server) = answering(Binding::Rest, body).await;
    let reply = client.send("hi").await.unwrap();
    assert_eq!(reply.data(), [r#"{"n":1.0,"n":1e400}"#]);
    assert_eq!(reply.context_id(), None);
}

#[tokio::test]
async fn a_direct_message_and_a_question_are_replies() {
    for binding in BINDINGS {
        let message = r#"{"message":{"messageId":"m","contextId":"c2","role":"ROLE_AGENT","parts":[{"text":"hello"},{"data":3}]}}"#;
        let (client, _server) = answering(binding, message).await;
        let reply = client.send("hi").await.unwrap();
        assert_eq!(
            (reply.text(), reply.data()),
            ("hello".to_owned(), vec!["3".to_owned()])
        );
        assert!(reply.task().is_none() && reply.state().is_none());
        assert_eq!(reply.message().unwrap().message_id, "m");
        assert_eq!(reply.context_id(), Some("c2"));

        let question = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"q","role":"ROLE_AGENT","parts":[{"text":"which"},{"text":"one?"}]}}}}"#;
        let (client, _server) = answering(binding, question).await;
        let reply = client.send("hi").await.unwrap();
        assert_eq!(reply.state(), Some(TaskState::InputRequired));
        assert_eq!(reply.status_text().as_deref(), Some("which\none?"));
        assert_eq!(reply.text(), "");
    }
}

#[tokio::test]
async fn get_list_and_cancel_return_their_types() {
    for binding in BINDINGS {
        let (client, _server) = answering(binding, &task("WORKING", "")).await;
        assert_eq!(
            client.get("t1").await.unwrap().status.state,
            TaskState::Working
        );
        assert_eq!(client.cancel("t1").await.unwrap().id, "t1".into());
        let page = format!(
            r#"{{"tasks":[{}],"nextPageToken":"n","pageSize":1,"totalSize":2}}"#,
            task("CANCELED", "")
        );
        let (client, _server) = answering(binding, &page).await;
        let page = client.list(ListTasksRequest::default()).await.unwrap();
        assert_eq!(page.tasks.len(), 1);
        assert_eq!(
            (&*page.next_page_token, page.page_size, page.total_size),
            ("n", 1, 2)
        );
    }
}

#[tokio::test]
async fn data_as_deep_as_a_server_accepts_comes_back() {
    let limits = Limits::default();
    // A message's data stands four levels deep in a REST request.
    let depth = limits.max_json_depth as usize - 4;
    let data = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let artifact = format!(r#"{{"artifactId":"a","parts":[{{"data":{data}}}]}}"#);
    for binding in BINDINGS {
        let page = format!(r#"{{"tasks":[{}]}}"#, task("COMPLETED", &artifact));
        let (client, _server) = answering(binding, &page).await;
        let page = client.list(ListTasksRequest::default()).await.unwrap();
        assert_eq!(page.tasks[0].payload().data().next(), Some(&*data));
    }
}

#[tokio::test]
async fn a_payload_goes_on_token_for_token() {
    let part = r#"{"data":{"n":1e400,"n":1.0},"x-unknown":[ ]}"#;
    let artifact = format!(r#"{{"artifactId":"a","parts":[{{"text":"so"}},{part}]}}"#);
    let value = format!(r#"{{"task":{}}}"#, task("COMPLETED", &artifact));
    let (client, server) = answering(Binding::JsonRpc, &value).await;
    let reply: Reply = client
        .send(
            Part::from_json(part)
                .map(|part| Outgoing::new().with_part(part))
                .unwrap(),
        )
        .await
        .unwrap();
    client.send(reply.payload()).await.unwrap();
    for (request, parts) in server.requests().iter().zip([
        format!("\"parts\":[{part}]"),
        format!("\"parts\":[{{\"text\":\"so\"}},{part}]"),
    ]) {
        assert!(request.body.contains(&parts), "{}", request.body);
    }
}

#[test]
fn clients_and_their_futures_can_move_between_threads() {
    fn sendable<T: Send>(_: &T) {}
    fn shareable<T: Send + Sync + Clone>() {}
    shareable::<Client>();
    let client = Client::builder()
        .with_card(&both(([127, 0, 0, 1], 1).into()), "http://127.0.0.1:1")
        .unwrap();
    sendable(&Client::discover("http://127.0.0.1:1"));
    sendable(&client.send("hi"));
    sendable(&client.stream("hi"));
    sendable(&client.get("t1"));
    sendable(&client.subscribe("t1"));
}
