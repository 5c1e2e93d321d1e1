//! Our client against our own server where both speak A2A 0.3, over JSON-RPC and REST.

use llamon_agent::a2a::{ErrorCode, ListTasksRequest, PushConfig, StreamEvent, TaskState};
use llamon_agent::client::{Binding, Client, Outgoing};
use llamon_agent::core::Part;
use llamon_agent::core::a2a::ProtocolVersion;
use llamon_agent::server::{
    AgentError, Answer, CardFields, PushNotifications, Turn, create_server,
};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, start};
use llamon_itest::http::{Request, send};
use serde_json::Value;

/// `ask` asks once, `wait` waits to be canceled, everything else is done at once.
async fn agent(turn: Turn) -> Result<Answer, AgentError> {
    match turn.query() {
        "ask" => Ok(Answer::input_required("which?")?),
        "wait" => {
            turn.emit("started").await?;
            turn.cancelled().await;
            Ok(Answer::completed("never seen")?)
        }
        query => Ok(Answer::completed(format!("done: {query}"))?),
    }
}

async fn serve() -> TestServer {
    let push = PushNotifications::new().allow_loopback().allow_plain_http();
    let server = create_server(card("agent"), agent)
        .upstream_parts_policy("append")
        .push_notifications(push)
        .also_speak(ProtocolVersion::V0_3)
        .card_fields(CardFields::AlsoV0_3);
    start(server).await
}

/// The card's text.
async fn card_of(server: &TestServer) -> Value {
    let response = send(server.url(), &Request::get("/.well-known/agent-card.json")).await;
    serde_json::from_str(&response.body).expect("a card")
}

/// Clients that see only the 0.3 of a server: on a card that lists only such interfaces, and on
/// one that is of 0.3 altogether.
async fn clients(server: &TestServer) -> Vec<Client> {
    let dual = card_of(server).await;
    let mut pure = dual.clone();
    pure.as_object_mut()
        .and_then(|card| card.remove("supportedInterfaces"))
        .expect("interfaces");
    let mut listed = dual;
    if let Some(interfaces) = listed["supportedInterfaces"].as_array_mut() {
        interfaces.retain(|interface| interface["protocolVersion"] == "0.3");
    }
    let mut clients = Vec::new();
    for card in [pure, listed] {
        for binding in [Binding::JsonRpc, Binding::Rest] {
            let client = Client::builder()
                .binding(binding)
                .with_card(&card.to_string(), server.url())
                .expect("a client");
            assert_eq!(client.version(), ProtocolVersion::V0_3);
            assert_eq!(client.binding(), binding);
            clients.push(client);
        }
    }
    clients
}

fn message() -> Outgoing {
    let data = |json: &str| Part::data_from_json(json).expect("JSON");
    Outgoing::text("hi")
        .with_part(data(r#"{"b":1.0,"a":1e400,"b":"\u0041"}"#))
        .with_part(data("[1, null]"))
        .with_part(data("null"))
        .with_part(
            Part::file_bytes("a file")
                .with_filename("a.txt")
                .with_media_type("text/plain"),
        )
        .with_part(Part::file_url("https://h/a"))
}

#[tokio::test]
async fn a_card_of_both_is_used_in_1_0() {
    let server = serve().await;
    let client = Client::discover(server.url()).await.expect("a client");
    assert_eq!(client.version(), ProtocolVersion::V1_0);
    let reply = client.send("hi").await.expect("an answer");
    assert_eq!(reply.text(), "done: hi");
}

#[tokio::test]
async fn parts_come_back_token_for_token_blocking_and_streamed() {
    let server = serve().await;
    for client in clients(&server).await {
        let blocking = client.send(message()).await.expect("an answer");
        let stream = client.stream(message()).await.expect("a stream");
        let streamed = stream.finish().await.expect("an answer");
        for reply in [blocking, streamed] {
            assert_eq!(reply.state(), Some(TaskState::Completed));
            assert_eq!(reply.text(), "done: hi");
            let expected = [r#"{"b":1.0,"a":1e400,"b":"\u0041"}"#, "[1, null]", "null"];
            assert_eq!(reply.data(), expected);
            let files = reply.files();
            assert_eq!(files[0].file_content().expect("bytes").to_vec(), b"a file");
            assert_eq!(files[0].filename().as_deref(), Some("a.txt"));
            assert_eq!(files[0].media_type().as_deref(), Some("text/plain"));
            assert_eq!(files[1].url().as_deref(), Some("https://h/a"));
            let id = reply.task().expect("a task").id.to_string();
            let got = client.get(&id).await.expect("the task");
            assert_eq!(got.payload(), reply.payload());
            assert_eq!(got.history[0].query(), "hi");
        }
    }
}

#[tokio::test]
async fn a_question_is_answered() {
    let server = serve().await;
    for client in clients(&server).await {
        let asked = client.send("ask").await.expect("a question");
        assert_eq!(asked.state(), Some(TaskState::InputRequired));
        assert_eq!(asked.status_text().as_deref(), Some("which?"));
        let id = asked.task().expect("a task").id.to_string();
        let answer = Outgoing::text("this").in_task(id.as_str());
        let done = client.send(answer).await.expect("an answer");
        assert_eq!(done.task().expect("a task").id.to_string(), id);
        assert_eq!(done.text(), "done: this");
    }
}

#[tokio::test]
async fn a_running_task_is_followed_and_canceled() {
    let server = serve().await;
    for client in clients(&server).await {
        let begun = Outgoing::text("wait").return_immediately();
        let begun = client.send(begun).await.expect("a task");
        let id = begun.task().expect("a task").id.to_string();
        let mut stream = client.subscribe(&id).await.expect("a stream");
        match stream.next().await.expect("an event").expect("the task") {
            StreamEvent::Task(task) => assert_eq!(*task.id, *id),
            other => panic!("{other:?}"),
        }
        let canceled = client.cancel(&id).await.expect("the task");
        assert_eq!(canceled.status.state, TaskState::Canceled);
        let reply = stream.finish().await.expect("an answer");
        assert_eq!(reply.state(), Some(TaskState::Canceled));
        assert_eq!(reply.text(), "started");
    }
}

#[tokio::test]
async fn push_configurations_are_kept() {
    let server = serve().await;
    for client in clients(&server).await {
        let asked = client.send("ask").await.expect("a question");
        let id = asked.task().expect("a task").id.to_string();
        let config = PushConfig::new("http://127.0.0.1:8099/hook")
            .with_id("p")
            .with_authentication("Bearer", "s");
        let created = client.create_push_config(&id, config).await;
        assert_eq!(created.expect("it").id.as_deref(), Some("p"));
        let got = client.get_push_config(&id, "p").await.expect("it");
        assert_eq!(got.url, "http://127.0.0.1:8099/hook");
        assert_eq!(client.push_configs(&id).await.expect("a list").len(), 1);
        client.delete_push_config(&id, "p").await.expect("nothing");
        assert!(client.push_configs(&id).await.expect("a list").is_empty());
    }
}

#[tokio::test]
async fn errors_have_their_codes() {
    let server = serve().await;
    for client in clients(&server).await {
        let done = client.send("hi").await.expect("an answer");
        let id = done.task().expect("a task").id.to_string();
        let codes = [
            client.get("none").await.map(drop),
            client.cancel(&id).await.map(drop),
            client.subscribe(&id).await.map(drop),
            client
                .stream(Outgoing::text("hi").in_task("none"))
                .await
                .map(drop),
        ]
        .map(|answer| {
            let error = answer.expect_err("an error");
            error.protocol().map(|error| error.code())
        });
        let expected = [
            ErrorCode::TaskNotFound,
            ErrorCode::TaskNotCancelable,
            ErrorCode::UnsupportedOperation,
            ErrorCode::TaskNotFound,
        ];
        assert_eq!(codes, expected.map(Some), "{}", client.binding());
        assert!(client.extended_card().await.expect_err("none").is_usage());
        let list = client.list(ListTasksRequest::default()).await;
        match client.binding() {
            Binding::JsonRpc => assert!(list.expect_err("none").is_usage()),
            _ => assert!(!list.expect("a page").tasks.is_empty()),
        }
    }
}
