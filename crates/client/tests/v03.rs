//! Agents of A2A 0.3: what the client writes, and what it reads.

use std::time::Duration;

use llamon_client::{Binding, Client, ClientError, EventStream, Outgoing};
use llamon_core::Part;
use llamon_core::a2a::{
    ErrorCode, ListTasksRequest, ProtocolVersion, PushConfig, StreamEvent, TaskRequest, TaskState,
};
use support::{Action, Server, card, events, json, open_stream, response, result};

#[expect(dead_code, reason = "each test file uses a part of the support")]
mod support;

const BINDINGS: [Binding; 2] = [Binding::JsonRpc, Binding::Rest];

/// A card as agents of 0.3 have it, with both bindings.
fn pure_card(base: &str) -> String {
    format!(
        r#"{{"name":"old","description":"d","version":"1","protocolVersion":"0.3.0","url":"{base}/rpc","preferredTransport":"JSONRPC","additionalInterfaces":[{{"url":"{base}/rpc","transport":"JSONRPC"}},{{"url":"{base}/rest","transport":"HTTP+JSON"}}],"capabilities":{{"streaming":true}},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{{"id":"s","name":"s","description":"d","tags":[]}}],"supportsAuthenticatedExtendedCard":true}}"#
    )
}

fn client(binding: Binding, server: &Server) -> Client {
    Client::builder()
        .binding(binding)
        .idle_timeout(Duration::from_millis(300))
        .resume_attempts(3)
        .with_card(&pure_card(&server.url("")), &server.url(""))
        .expect("a client")
}

fn value(binding: Binding, value: &str) -> String {
    match binding {
        Binding::JsonRpc => result(value),
        _ => value.to_owned(),
    }
}

/// A client whose calls are all answered with the value of its binding.
async fn answering(binding: Binding, rpc: &str, rest: &str) -> (Client, Server) {
    let body = match binding {
        Binding::JsonRpc => result(rpc),
        _ => rest.to_owned(),
    };
    let server = Server::start(move |_, _, _| json(&body)).await;
    (client(binding, &server), server)
}

// === which interface ===

#[test]
fn an_interface_of_0_3_is_used_where_there_is_none_of_1_0() {
    let url = "http://127.0.0.1/";
    let with = |interfaces: &[(&str, &str, &str)], preferred: &[Binding]| {
        Client::builder()
            .bindings(preferred.iter().copied())
            .with_card(&card(interfaces), url)
            .map(|client| (client.version(), client.binding()))
            .expect("a client")
    };
    let (new, old) = (ProtocolVersion::V1_0, ProtocolVersion::V0_3);
    let (rpc, rest) = (Binding::JsonRpc, Binding::Rest);
    let dual: &[_] = &[
        ("JSONRPC", "0.3.0", url),
        ("HTTP+JSON", "0.3", url),
        ("JSONRPC", "1.0", url),
    ];
    assert_eq!(with(dual, &[]), (new, rpc));
    assert_eq!(with(dual, &[rest, rpc]), (new, rpc));
    assert_eq!(with(dual, &[rest]), (old, rest));
    assert_eq!(with(&dual[..2], &[]), (old, rpc));
    assert_eq!(with(&dual[..2], &[rest, rpc]), (old, rest));
}

#[tokio::test]
async fn a_card_of_0_3_is_discovered() {
    let server = Server::start(|_, _, address| json(pure_card(&format!("http://{address}")))).await;
    let client = Client::discover(&server.url("")).await.unwrap();
    assert_eq!(client.version(), ProtocolVersion::V0_3);
    assert_eq!(client.url(), server.url("/rpc"));
    assert_eq!(client.card().name, "old");
    assert_eq!(client.card().supported_interfaces.len(), 2);
    assert_eq!(client.card_json(), pure_card(&server.url("")));
}

// === what is written ===

/// Every call once, as `METHOD TARGET` and the body, compared with a golden file.
#[tokio::test]
async fn requests_are_those_of_0_3() {
    for (binding, golden) in [
        (Binding::JsonRpc, include_str!("golden/v03-jsonrpc.txt")),
        (Binding::Rest, include_str!("golden/v03-rest.txt")),
    ] {
        let server = Server::start(|_, _, _| json("{}")).await;
        let client = client(binding, &server);
        call_everything(&client).await;
        let mut written = String::new();
        for request in server.requests() {
            assert_eq!(request.header("a2a-version"), Some("0.3"));
            let line = request.line.strip_suffix(" HTTP/1.1").expect("HTTP/1.1");
            written.push_str(&format!("{line}\n"));
            if !request.body.is_empty() {
                assert_eq!(request.header("content-type"), Some("application/json"));
                written.push_str(&format!("{}\n", request.body));
            }
            written.push('\n');
        }
        assert_eq!(written, golden, "{binding}:\n{written}");
    }
}

/// What comes back is of no interest.
async fn call_everything(client: &Client) {
    let data = |json: &str| Part::data_from_json(json).expect("JSON");
    let whole = Outgoing::text("hi")
        .message_id("m")
        .in_task("t/1")
        .in_context("c")
        .with_part(data(r#"{"b":1.0,"a":1e400,"b":"\u0041"}"#))
        .with_part(data("[1, null]"))
        .with_part(
            Part::file_bytes("hi")
                .with_filename("a.txt")
                .with_media_type("text/plain"),
        )
        .with_part(Part::file_url("https://h/a"))
        .history_length(2)
        .return_immediately()
        .with_push(
            PushConfig::new("https://r/")
                .with_token("t")
                .with_authentication("Bearer", "s"),
        );
    let short = || Outgoing::text("hi").message_id("m");
    let _ = client.send(whole).await;
    let _ = client.send(short()).await;
    let _ = client.stream(short()).await;
    let mut get = TaskRequest::new("t/1");
    get.history_length = Some(3);
    let _ = client.get_with(get).await;
    let _ = client.cancel("t/1").await;
    let _ = client.subscribe("t/1").await;
    let config = PushConfig::new("https://r/").with_id("p");
    let _ = client.create_push_config("t/1", config).await;
    let _ = client.get_push_config("t/1", "p").await;
    let _ = client.push_configs("t/1").await;
    let _ = client.delete_push_config("t/1", "p").await;
    let _ = client.list(ListTasksRequest::default()).await;
    let _ = client.extended_card().await;
}

#[tokio::test]
async fn what_0_3_does_not_have_is_refused_before_anything_is_sent() {
    let server = Server::start(|_, _, _| json("{}")).await;
    let rpc = client(Binding::JsonRpc, &server);
    let error = rpc.list(ListTasksRequest::default()).await.unwrap_err();
    assert!(error.is_usage());
    assert!(error.to_string().contains("no list of tasks"), "{error}");
    let plain = pure_card(&server.url("")).replace("ExtendedCard\":true", "ExtendedCard\":false");
    let plain = Client::builder()
        .with_card(&plain, &server.url(""))
        .unwrap();
    let error = plain.extended_card().await.unwrap_err();
    assert!(error.is_usage());
    assert!(
        error
            .to_string()
            .contains("supportsAuthenticatedExtendedCard"),
        "{error}"
    );
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn extensions_have_the_header_of_0_3() {
    let server = Server::start(|_, _, _| json("{}")).await;
    let message = Outgoing::text("hi").extension("urn:a");
    let _ = client(Binding::Rest, &server).send(message).await;
    let [request] = &server.requests()[..] else {
        panic!("one request");
    };
    assert_eq!(request.header("x-a2a-extensions"), Some("urn:a"));
    assert_eq!(request.header("a2a-extensions"), None);
}

// === what is read ===

#[tokio::test]
async fn an_answer_of_0_3_is_read_token_for_token() {
    let rpc = r#"{"kind":"task","id":"t","contextId":"c","status":{"state":"input-required","timestamp":"2026-01-02T03:04:05.678901+00:00","message":{"kind":"message","messageId":"q","role":"agent","parts":[{"kind":"text","text":"which?"}]}},"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"hi"},{"kind":"data","data":{"b":1.0,"a":1e400,"b":"\u0041"},"metadata":{"x":2.50}},{"kind":"data","data":{"value":[1, null]},"metadata":{"data_part_compat":true}},{"kind":"file","file":{"bytes":"aGk=","mimeType":"text/plain","name":"a.txt"}},{"kind":"file","file":{"uri":"https://h/a"}}]}],"metadata":null}"#;
    let rest = r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED","timestamp":"2026-01-02T03:04:05.678901Z","update":{"messageId":"q","role":"ROLE_AGENT","content":[{"text":"which?"}]}},"artifacts":[{"artifactId":"a","parts":[{"text":"hi"},{"data":{"data":{"b":1.0,"a":1e400,"b":"\u0041"}},"metadata":{"x":2.50}},{"data":{"data":{"value":[1, null]}},"metadata":{"data_part_compat":true}},{"file":{"fileWithBytes":"YUdrPQ==","mimeType":"text/plain","name":"a.txt"}},{"file":{"fileWithUri":"https://h/a"}}]}]}}"#;
    for binding in BINDINGS {
        let (client, _server) = answering(binding, rpc, rest).await;
        let reply = client.send("hi").await.unwrap();
        assert_eq!(reply.state(), Some(TaskState::InputRequired), "{binding}");
        assert_eq!(reply.status_text().as_deref(), Some("which?"));
        assert_eq!(reply.text(), "hi");
        assert_eq!(
            reply.data(),
            [r#"{"b":1.0,"a":1e400,"b":"\u0041"}"#, "[1, null]"]
        );
        let payload = reply.payload();
        assert_eq!(payload.parts()[1].metadata_json(), Some(r#"{"x":2.50}"#));
        assert_eq!(payload.parts()[2].metadata_json(), None);
        let files = reply.files();
        assert_eq!(files[0].file_content().unwrap().to_vec(), b"hi");
        assert_eq!(files[0].filename().as_deref(), Some("a.txt"));
        assert_eq!(files[1].url().as_deref(), Some("https://h/a"));
    }
}

#[tokio::test]
async fn direct_messages_push_configurations_and_acknowledgements_are_read() {
    for binding in BINDINGS {
        let (client, _server) = answering(
            binding,
            r#"{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"hi"}]}"#,
            r#"{"message":{"messageId":"m","role":"ROLE_AGENT","content":[{"text":"hi"}]}}"#,
        )
        .await;
        let reply = client.send("hi").await.unwrap();
        assert!(reply.task().is_none(), "{binding}");
        assert_eq!(reply.text(), "hi");

        let rpc = r#"{"taskId":"t","pushNotificationConfig":{"id":"p","url":"https://r/","authentication":{"schemes":["Bearer","Basic"]}}}"#;
        let rest = r#"{"name":"tasks/t/pushNotificationConfigs/p","pushNotificationConfig":{"id":"p","url":"https://r/","authentication":{"schemes":["Bearer"]}}}"#;
        let (client, _server) = answering(binding, rpc, rest).await;
        let config = client.get_push_config("t", "p").await.unwrap();
        assert_eq!(config.id.as_deref(), Some("p"));
        assert_eq!(config.url, "https://r/");
        assert_eq!(config.authentication.unwrap().scheme, "Bearer");
        let (client, _server) = answering(
            binding,
            &format!("[{rpc},{rpc}]"),
            &format!(r#"{{"configs":[{rest},{rest}]}}"#),
        )
        .await;
        assert_eq!(client.push_configs("t").await.unwrap().len(), 2);
        let (client, _server) = answering(binding, "null", "{}").await;
        client.delete_push_config("t", "p").await.unwrap();
    }
}

#[tokio::test]
async fn the_extended_card_of_0_3_is_read() {
    for binding in BINDINGS {
        let extended = pure_card("http://127.0.0.1:9").replace("\"old\"", "\"more\"");
        let (client, _server) = answering(binding, &extended, &extended).await;
        let card = client.extended_card().await.unwrap();
        assert_eq!(card.name, "more");
        assert_eq!(card.supported_interfaces.len(), 2);
        assert_eq!(client.extended_card_json().await.unwrap(), extended);
    }
}

#[tokio::test]
async fn errors_of_0_3_have_their_codes() {
    type Failed = (u16, &'static str, ErrorCode);
    let cases: [(Binding, Failed); 5] = [
        (
            Binding::JsonRpc,
            (
                200,
                r#"{"jsonrpc":"2.0","id":"1","error":{"code":-32001,"message":"none"}}"#,
                ErrorCode::TaskNotFound,
            ),
        ),
        (
            Binding::Rest,
            (404, r#"{"message":"none"}"#, ErrorCode::TaskNotFound),
        ),
        (
            Binding::Rest,
            (409, r#"{"message":"none"}"#, ErrorCode::TaskNotCancelable),
        ),
        (
            Binding::Rest,
            (
                400,
                r#"{"code":-32002,"message":"none"}"#,
                ErrorCode::TaskNotCancelable,
            ),
        ),
        (
            Binding::Rest,
            (
                404,
                r#"{"error":{"code":404,"message":"none"}}"#,
                ErrorCode::TaskNotFound,
            ),
        ),
    ];
    for (binding, (status, body, expected)) in cases {
        let server =
            Server::start(move |_, _, _| Action::Send(response(status, "application/json", body)))
                .await;
        let client = client(binding, &server);
        let code = |error: ClientError| error.protocol().map(|error| error.code());
        for got in [
            client.get("t").await.map(drop).map_err(code),
            client.stream("hi").await.map(drop).map_err(code),
            client.delete_push_config("t", "p").await.map_err(code),
        ] {
            assert_eq!(got, Err(Some(expected)), "{binding} {body}");
        }
    }
}

#[tokio::test]
async fn what_is_not_0_3_says_so() {
    for (binding, rpc, rest, expected) in [
        (
            Binding::JsonRpc,
            r#"{"kind":"video"}"#,
            "",
            "is no kind of answer",
        ),
        (
            Binding::Rest,
            "",
            r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_ODD"}}}"#,
            "is no task state",
        ),
        (Binding::Rest, "", "<html>", "not A2A 0.3"),
    ] {
        let (client, _server) = answering(binding, rpc, rest).await;
        let error = client.send("hi").await.unwrap_err();
        assert!(error.is_invalid_response());
        let text = error.to_string();
        assert!(text.contains("what is not A2A 0.3"), "{text}");
        assert!(text.contains(expected), "{text}");
    }
}

// === streams ===

fn task_event(binding: Binding, state: &str, text: &str) -> String {
    let upper = format!("TASK_STATE_{}", state.to_uppercase());
    let parts = |part: String| format!(r#"[{{"artifactId":"a","parts":[{part}]}}]"#);
    value(
        binding,
        &match binding {
            Binding::JsonRpc => format!(
                r#"{{"kind":"task","id":"t","contextId":"c","status":{{"state":"{state}"}},"artifacts":{}}}"#,
                parts(format!(r#"{{"kind":"text","text":"{text}"}}"#))
            ),
            _ => format!(
                r#"{{"task":{{"id":"t","contextId":"c","status":{{"state":"{upper}"}},"artifacts":{}}}}}"#,
                parts(format!(r#"{{"text":"{text}"}}"#))
            ),
        },
    )
}

fn chunk(binding: Binding, text: &str) -> String {
    value(
        binding,
        &match binding {
            Binding::JsonRpc => format!(
                r#"{{"kind":"artifact-update","taskId":"t","contextId":"c","append":true,"artifact":{{"artifactId":"a","parts":[{{"kind":"text","text":"{text}"}}]}}}}"#
            ),
            _ => format!(
                r#"{{"artifactUpdate":{{"taskId":"t","contextId":"c","append":true,"artifact":{{"artifactId":"a","parts":[{{"text":"{text}"}}]}}}}}}"#
            ),
        },
    )
}

fn completed(binding: Binding) -> String {
    value(
        binding,
        match binding {
            Binding::JsonRpc => {
                r#"{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"completed"},"final":true}"#
            }
            _ => {
                r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"final":true}}"#
            }
        },
    )
}

/// A stream of these events that breaks then.
fn broken(sent: &[String]) -> Action {
    let text: String = sent
        .iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect();
    Action::Send(open_stream(&[text.as_bytes()]))
}

async fn kinds(stream: &mut EventStream) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    while let Some(event) = stream.next().await {
        kinds.push(match event {
            Ok(StreamEvent::Task(_)) => "task",
            Ok(StreamEvent::Status(_)) => "status",
            Ok(StreamEvent::Artifact(_)) => "artifact",
            Ok(StreamEvent::Message(_)) => "message",
            Err(error) => panic!("{error}"),
        });
    }
    kinds
}

#[tokio::test]
async fn a_stream_of_0_3_is_read_to_its_end() {
    for binding in BINDINGS {
        let sent = [
            task_event(binding, "working", "one"),
            chunk(binding, " two"),
            completed(binding),
        ];
        let server = Server::start(move |_, _, _| events(&sent)).await;
        let client = client(binding, &server);
        for mut stream in [
            client.stream("hi").await.unwrap(),
            client.subscribe("t").await.unwrap(),
        ] {
            assert_eq!(kinds(&mut stream).await, ["task", "artifact", "status"]);
            let reply = stream.finish().await.unwrap();
            assert_eq!(reply.text(), "one two", "{binding}");
            assert_eq!(reply.state(), Some(TaskState::Completed));
        }
    }
}

#[tokio::test]
async fn a_stream_that_breaks_is_continued_with_the_task() {
    for binding in BINDINGS {
        let server = Server::start(move |number, _, _| match number {
            0 => broken(&[task_event(binding, "working", "one")]),
            _ => events(&[
                task_event(binding, "working", "one two"),
                chunk(binding, " three"),
                completed(binding),
            ]),
        })
        .await;
        let mut stream = client(binding, &server).stream("hi").await.unwrap();
        let expected = ["task", "artifact", "artifact", "status"];
        assert_eq!(kinds(&mut stream).await, expected, "{binding}");
        assert_eq!(stream.finish().await.unwrap().text(), "one two three");
        let again = &server.requests()[1];
        let subscribed = again.line.contains("/v1/tasks/t:subscribe")
            || again.body.contains("tasks/resubscribe");
        assert!(subscribed, "{again:?}");
    }
}

#[tokio::test]
async fn a_server_that_knows_only_the_other_method_is_subscribed_to() {
    let server = Server::start(|_, request, _| {
        if request.line.starts_with("GET") {
            return Action::Send(response(405, "text/plain", "no"));
        }
        events(&[
            task_event(Binding::Rest, "working", "one"),
            completed(Binding::Rest),
        ])
    })
    .await;
    let stream = client(Binding::Rest, &server).subscribe("t").await.unwrap();
    assert_eq!(stream.finish().await.unwrap().text(), "one");
}
