//! A2A 0.3 beside 1.0, over JSON-RPC and REST. A request that names no version is one of 0.3.

use llamon_agent::core::a2a::ProtocolVersion;
use llamon_agent::server::{
    AgentError, Answer, CardFields, PushNotifications, Turn, create_server,
};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, start};
use llamon_itest::http::{Connection, Request, send};
use llamon_itest::raw::Raw;
use llamon_itest::receiver::Receiver;
use llamon_itest::say::Say;
use llamon_itest::wire::{Peer, Wire};

const PARTS: &str = r#"{"kind":"text","text":"echo"},{"kind":"data","data":{"b":1.0,"a":1e400,"b":"\u0041"},"metadata":{"x":2.50}},{"kind":"data","data":{"value":[1, 2]},"metadata":{"data_part_compat":true}},{"kind":"file","file":{"bytes":"aGk=","mimeType":"text/plain","name":"a.txt"}},{"kind":"file","file":{"uri":"https://h/a"}}"#;

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

fn rpc(method: &str, params: &str) -> Request {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    Request::post("/", body).without("A2A-Version")
}

async fn call(server: &TestServer, method: &str, params: &str) -> Raw {
    let response = send(server.url(), &rpc(method, params)).await;
    assert_eq!(response.status, 200);
    Raw::parse(&response.body)
}

fn message(parts: &str, more: &str) -> String {
    format!(
        r#"{{"message":{{"kind":"message","messageId":"m","role":"user","parts":[{parts}]{more}}}}}"#
    )
}

fn text(text: &str, more: &str) -> String {
    message(&format!(r#"{{"kind":"text","text":"{text}"}}"#), more)
}

/// The same as an official client of 0.3 sends it over REST.
fn rest_text(text: &str, more: &str) -> String {
    format!(
        r#"{{"message":{{"messageId":"m","role":"ROLE_USER","content":[{{"text":"{text}"}}]{more}}},"configuration":{{"blocking":true}}}}"#
    )
}

async fn rest(server: &TestServer, method: &str, path: &str, body: &str) -> (u16, Raw) {
    let request = match method {
        "GET" => Request::get(path),
        _ => Request::post(path, body),
    };
    let request = request.without("A2A-Version");
    let response = send(server.url(), &request).await;
    (response.status, Raw::parse(&response.body))
}

#[tokio::test]
async fn parts_keep_their_tokens_over_both_versions() {
    let server = serve().await;
    let answer = call(&server, "message/send", &message(PARTS, "")).await;
    let task = answer.at("result");
    assert_eq!(task.string("kind"), "task");
    assert_eq!(task.string("status.state"), "completed");
    let parts = task.at("artifacts.0.parts");
    let carried = PARTS.split_once("},").expect("several parts").1;
    assert_eq!(
        parts.text(),
        format!(r#"[{{"kind":"text","text":"done: echo"}},{carried}]"#)
    );
    let id = task.string("id");
    let new = Peer::new(server.url(), Wire::Rest).get(&id).await;
    assert_eq!(new.string("status.state"), "TASK_STATE_COMPLETED");
    assert_eq!(
        new.at("artifacts.0.parts.1").text(),
        r#"{"data":{"b":1.0,"a":1e400,"b":"\u0041"},"metadata":{"x":2.50}}"#
    );
    assert_eq!(new.at("artifacts.0.parts.2").text(), r#"{"data":[1, 2]}"#);
}

#[tokio::test]
async fn a_question_of_one_version_is_answered_in_the_other() {
    let server = serve().await;
    let asked = call(&server, "message/send", &text("ask", "")).await;
    assert_eq!(asked.string("result.status.state"), "input-required");
    assert_eq!(asked.string("result.status.message.role"), "agent");
    let id = asked.string("result.id");
    let peer = Peer::new(server.url(), Wire::JsonRpc);
    let done = peer.send(&Say::text("this").in_task(&id)).await;
    assert_eq!(done.string("status.state"), "TASK_STATE_COMPLETED");

    let asked = peer.send(&Say::text("ask")).await.string("id");
    let more = format!(r#","taskId":"{asked}""#);
    let (status, done) = rest(
        &server,
        "POST",
        "/v1/message:send",
        &rest_text("this", &more),
    )
    .await;
    assert_eq!(status, 200);
    assert_eq!(done.string("task.id"), asked);
    assert_eq!(done.string("task.status.state"), "TASK_STATE_COMPLETED");
    assert_eq!(done.string("task.artifacts.0.parts.0.text"), "done: this");
    assert_eq!(done.string("task.history.0.content.0.text"), "ask");
}

#[tokio::test]
async fn streams_say_which_event_is_final() {
    let server = serve().await;
    let request = rpc("message/stream", &text("hi", ""));
    let mut stream = Connection::open(server.url()).await.stream(&request).await;
    let mut kinds = Vec::new();
    let mut last = None;
    while let Some(event) = stream.event().await {
        let result = Raw::parse(&event).at("result");
        kinds.push(result.string("kind"));
        last = Some(result);
    }
    assert_eq!(kinds.first().map(String::as_str), Some("task"));
    assert!(kinds.contains(&"artifact-update".to_owned()), "{kinds:?}");
    let last = last.expect("an event");
    assert_eq!(last.at("final").text(), "true");
    assert_eq!(last.string("status.state"), "completed");
}

#[tokio::test]
async fn a_running_task_is_followed_and_canceled() {
    let server = serve().await;
    let peer = Peer::new(server.url(), Wire::Rest);
    for over_rest in [false, true] {
        let id = peer.send(&Say::text("wait").at_once()).await.string("id");
        let params = format!(r#"{{"id":"{id}"}}"#);
        let request = if over_rest {
            Request::get(&format!("/v1/tasks/{id}:subscribe")).without("A2A-Version")
        } else {
            rpc("tasks/resubscribe", &params)
        };
        let mut stream = Connection::open(server.url()).await.stream(&request).await;
        assert_eq!(stream.status, 200);
        let first = Raw::parse(&stream.event().await.expect("the task"));
        let first = first.find("result").unwrap_or_else(|| first.at("task"));
        assert_eq!(first.string("id"), id);
        let canceled = if over_rest {
            let path = format!("/v1/tasks/{id}:cancel");
            rest(
                &server,
                "POST",
                &path,
                &format!(r#"{{"name":"tasks/{id}"}}"#),
            )
            .await
            .1
        } else {
            call(&server, "tasks/cancel", &params).await.at("result")
        };
        let state = if over_rest {
            "TASK_STATE_CANCELLED"
        } else {
            "canceled"
        };
        assert_eq!(canceled.string("status.state"), state);
        let mut last = None;
        while let Some(event) = stream.event().await {
            last = Some(Raw::parse(&event));
        }
        let last = last.expect("an event");
        let last = last
            .find("result")
            .unwrap_or_else(|| last.at("statusUpdate"));
        assert_eq!(last.at("final").text(), "true");
    }
}

#[tokio::test]
async fn a_receiver_of_0_3_gets_the_bare_task() {
    let server = serve().await;
    let receiver = Receiver::start().await;
    let asked = call(&server, "message/send", &text("ask", "")).await;
    let id = asked.string("result.id");
    let params = format!(
        r#"{{"taskId":"{id}","pushNotificationConfig":{{"id":"p","url":"{}","token":"t","authentication":{{"schemes":["Bearer"],"credentials":"c"}}}}}}"#,
        receiver.url
    );
    let set = call(&server, "tasks/pushNotificationConfig/set", &params).await;
    assert_eq!(set.string("result.pushNotificationConfig.id"), "p");
    let of_task = format!(r#"{{"id":"{id}"}}"#);
    let named = format!(r#"{{"id":"{id}","pushNotificationConfigId":"p"}}"#);
    for params in [&of_task, &named] {
        let got = call(&server, "tasks/pushNotificationConfig/get", params).await;
        assert_eq!(got.at("result").text(), set.at("result").text());
    }
    let list = call(&server, "tasks/pushNotificationConfig/list", &of_task).await;
    assert_eq!(list.list("result").len(), 1);
    let path = format!("/v1/tasks/{id}/pushNotificationConfigs/p");
    let (_, got) = rest(&server, "GET", &path, "").await;
    assert_eq!(
        got.string("name"),
        format!("tasks/{id}/pushNotificationConfigs/p")
    );

    let more = format!(r#","taskId":"{id}""#);
    call(&server, "message/send", &text("this", &more)).await;
    let got = receiver
        .wait_for(|got| got.body.contains("\"completed\""))
        .await;
    let last = got.last().expect("a notification");
    assert_eq!(last.event().string("kind"), "task");
    assert_eq!(last.event().string("id"), id);
    assert_eq!(last.header("authorization"), Some("Bearer c"));

    let gone = call(&server, "tasks/pushNotificationConfig/delete", &named).await;
    assert_eq!(gone.at("result").text(), "null");
    let got = call(&server, "tasks/pushNotificationConfig/get", &of_task).await;
    assert_eq!(got.at("error.code").text(), "-32602");
}

#[tokio::test]
async fn what_is_wrong_is_an_error_of_0_3() {
    let server = serve().await;
    for (method, params, code) in [
        ("tasks/get", r#"{"id":"none"}"#, "-32001"),
        ("tasks/list", "{}", "-32601"),
        ("SendMessage", "{}", "-32601"),
        ("message/send", "{}", "-32602"),
        (
            "message/send",
            r#"{"message":{"role":"user","parts":[{"kind":"video"}]}}"#,
            "-32602",
        ),
        ("message/send", "[]", "-32602"),
        ("agent/getAuthenticatedExtendedCard", "{}", "-32004"),
    ] {
        let answer = call(&server, method, params).await;
        assert_eq!(answer.at("id").text(), "1");
        assert_eq!(
            answer.at("error.code").text(),
            code,
            "{method} {params}: {answer:?}"
        );
    }
    for (body, code) in [("{", "-32700"), ("[]", "-32600"), ("{}", "-32600")] {
        let request = Request::post("/", body).without("A2A-Version");
        let answer = Raw::parse(&send(server.url(), &request).await.body);
        assert_eq!(answer.at("error.code").text(), code, "{body}");
        assert_eq!(answer.at("id").text(), "null");
    }
    for (path, body, expected) in [
        ("/v1/message:send", "{", 400),
        ("/v1/message:send", r#"{"message":{"content":[{}]}}"#, 400),
        ("/v1/message:fly", "{}", 404),
    ] {
        let (status, _) = rest(&server, "POST", path, body).await;
        assert_eq!(status, expected, "{path} {body}");
    }
}

#[tokio::test]
async fn the_card_is_read_by_both() {
    let server = serve().await;
    let response = send(server.url(), &Request::get("/.well-known/agent-card.json")).await;
    let card = Raw::parse(&response.body);
    let versions: Vec<String> = card
        .list("supportedInterfaces")
        .iter()
        .map(|interface| interface.string("protocolVersion"))
        .collect();
    assert_eq!(versions, ["1.0", "1.0", "0.3", "0.3"]);
    assert_eq!(card.string("protocolVersion"), "0.3.0");
    assert_eq!(card.string("preferredTransport"), "JSONRPC");
    assert_eq!(card.string("additionalInterfaces.0.transport"), "HTTP+JSON");
    assert_eq!(card.string("url"), card.string("supportedInterfaces.0.url"));
}

#[tokio::test]
async fn it_is_off_unless_it_is_switched_on() {
    let server = start(create_server(card("agent"), agent)).await;
    let answer = call(&server, "message/send", &text("hi", "")).await;
    assert_eq!(answer.at("error.code").text(), "-32009");
    let (status, _) = rest(&server, "POST", "/v1/message:send", &rest_text("hi", "")).await;
    assert_eq!(status, 404);
}
