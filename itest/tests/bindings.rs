//! What the bindings accept besides the one way that the other tests write.

use llamon_agent::testing::TestServer;
use llamon_itest::agents::{End, Script, serve_scripts};
use llamon_itest::http::{Connection, Request, send};
use llamon_itest::raw::Raw;
use llamon_itest::refused::{asking_server, send_request};
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, Wire, envelope, peers};

async fn waiting(server: &TestServer, context: &str) -> String {
    let peer = Peer::new(server.url(), Wire::Rest);
    peer.send(&Say::text("go").in_context(context))
        .await
        .string("id")
}

#[tokio::test]
async fn subscribe_is_served_on_get_and_on_post_with_and_without_a_body() {
    let server = serve_scripts("append", vec![Script::new(End::AwaitCancel(Vec::new()))]).await;
    let peer = Peer::new(server.url(), Wire::Rest);
    let id = peer.send(&Say::text("go").at_once()).await.string("id");
    let path = format!("/tasks/{id}:subscribe");
    let requests = [
        Request::get(&path),
        Request::post(&path, ""),
        Request::post(&path, "{}"),
        Request::new("POST", &path),
    ];
    let mut streams = Vec::new();
    for request in &requests {
        let mut stream = Connection::open(&peer.url).await.stream(request).await;
        assert_eq!(stream.status, 200, "{request:?}");
        assert_eq!(stream.header("content-type"), Some("text/event-stream"));
        let first = Raw::parse(&stream.event().await.unwrap());
        assert_eq!(first.string("task.id"), id);
        streams.push(stream);
    }
    let cancel = Request::post(
        &format!("/tasks/{id}:cancel"),
        format!(r#"{{"id":"{id}"}}"#),
    );
    let canceled = peer.read(send(&peer.url, &cancel).await).unwrap();
    assert_eq!(canceled.string("status.state"), "TASK_STATE_CANCELED");
    for mut stream in streams {
        let mut last = None;
        while let Some(event) = stream.event().await {
            last = Some(Raw::parse(&event));
        }
        let state = last.unwrap().string("statusUpdate.status.state");
        assert_eq!(state, "TASK_STATE_CANCELED");
    }
}

#[tokio::test]
async fn the_version_may_be_in_the_query() {
    let server = asking_server().await;
    let say = Say::text("go").json();
    let query = "?A2A-Version=1.0";
    let send_path = format!("/message:send{query}");
    let requests = [
        (Wire::Rest, Request::post(&send_path, say.as_str())),
        (
            Wire::Rest,
            Request::get(&format!("/tasks{query}&pageSize=1")),
        ),
        (
            Wire::JsonRpc,
            Request::post(&format!("/{query}"), envelope("SendMessage", &say)),
        ),
    ];
    for (wire, request) in requests {
        let response = send(server.url(), &request.without("A2A-Version")).await;
        Peer::new(server.url(), wire).read(response).unwrap();
    }
}

#[tokio::test]
async fn the_names_of_the_proto_file_are_taken_too() {
    let server = asking_server().await;
    for peer in peers(server.url()) {
        let context = format!("of {:?}", peer.wire);
        let message = format!(
            r#"{{"message_id":"m","context_id":"{context}","role":"ROLE_USER","parts":[{{"data":1,"media_type":"a/b"}}]}}"#
        );
        let params = format!(
            r#"{{"message":{message},"configuration":{{"history_length":0,"return_immediately":false}}}}"#
        );
        let response = send(&peer.url, &send_request(peer.wire, &params)).await;
        let task = peer.read(response).unwrap().at("task");
        assert_eq!(task.string("contextId"), context);
        assert_eq!(task.find("history"), None);
        let more = Say::text("this").in_task(&task.string("id")).json();
        let more = more
            .replace("taskId", "task_id")
            .replace("messageId", "message_id");
        let response = send(&peer.url, &send_request(peer.wire, &more)).await;
        let done = peer.read(response).unwrap().at("task");
        assert_eq!(done.string("id"), task.string("id"));
        assert_eq!(done.string("status.state"), "TASK_STATE_COMPLETED");
    }
    let request = Request::get("/tasks?page_size=1&history_length=9&include_artifacts=true");
    let response = send(server.url(), &request).await;
    let page = Peer::new(server.url(), Wire::Rest).read(response).unwrap();
    assert_eq!(page.list("tasks").len(), 1);
    assert_eq!(page.list("tasks.0.history").len(), 3);
    assert_eq!(page.list("tasks.0.artifacts").len(), 1);
}

#[tokio::test]
async fn a_query_is_decoded() {
    let server = asking_server().await;
    let context = "a b+c&d=é/世";
    let id = waiting(&server, context).await;
    waiting(&server, "another").await;
    for encoded in ["a%20b%2Bc%26d%3D%C3%A9%2F%E4%B8%96", "a+b%2bc%26d%3dé/世"] {
        let request = Request::get(&format!("/tasks?contextId={encoded}"));
        let response = send(server.url(), &request).await;
        let page = Peer::new(server.url(), Wire::Rest).read(response).unwrap();
        assert_eq!(page.at("totalSize").text(), "1", "{encoded}");
        assert_eq!(page.string("tasks.0.id"), id);
        assert_eq!(page.string("tasks.0.contextId"), context);
    }
}

#[tokio::test]
async fn both_bindings_show_the_same_task() {
    let server = asking_server().await;
    let [rpc, rest] = peers(server.url());
    let id = rpc
        .send(&Say::text("go").with(&[r#"{"data":1.0}"#]))
        .await
        .string("id");
    assert_eq!(rpc.get(&id).await, rest.get(&id).await);
    let done = rest.send(&Say::text("this").in_task(&id)).await;
    assert_eq!(rpc.get(&id).await, done);
    let fields = [("includeArtifacts", "true"), ("historyLength", "2")];
    let of_rpc = rpc.call(Op::List(&fields)).await.unwrap();
    assert_eq!(of_rpc, rest.call(Op::List(&fields)).await.unwrap());
}

#[tokio::test]
async fn times_are_iso_8601_in_utc() {
    let server = asking_server().await;
    for peer in peers(server.url()) {
        let task = peer.send(&Say::text("go")).await;
        let time = task.string("status.timestamp");
        assert_eq!(llamon_itest::mask::without_times(&time), "<time>", "{time}");
    }
}
