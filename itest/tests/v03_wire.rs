//! What the server writes in A2A 0.3, byte for byte but for ids and times (`golden/v03/`), and
//! extensions, whose header has another name there. `UPDATE_GOLDEN=1` writes the files anew.

use std::fmt::Write as _;
use std::path::Path;

use llamon_agent::a2a::AgentExtension;
use llamon_agent::core::a2a::ProtocolVersion;
use llamon_agent::server::{AgentError, Answer, CardFields, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, start};
use llamon_itest::http::{Request, send};
use llamon_itest::mask::{without_ids, without_times};

const EXTENSION: &str = "https://example.com/ext";
const PARTS: &str = r#"{"kind":"text","text":"echo"},{"kind":"data","data":{"b":1.0,"a":1e400,"b":"\u0041"},"metadata":{"x":2.50}},{"kind":"file","file":{"bytes":"aGk=","mimeType":"text/plain","name":"a.txt"}}"#;

async fn agent(turn: Turn) -> Result<Answer, AgentError> {
    match turn.query() {
        "ask" => Ok(Answer::input_required("which?")?),
        "fail" => Err(AgentError::public("cannot")),
        "extensions" => {
            let asked: Vec<&str> = turn.extensions().collect();
            Ok(Answer::completed(asked.join(" "))?)
        }
        query => Ok(Answer::completed(format!("done: {query}"))?),
    }
}

async fn serve() -> TestServer {
    let server = create_server(card("agent"), agent)
        .upstream_parts_policy("append")
        .extension(AgentExtension::new(EXTENSION, "For a test"))
        .also_speak(ProtocolVersion::V0_3)
        .card_fields(CardFields::AlsoV0_3);
    start(server).await
}

fn rpc(method: &str, params: &str) -> Request {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    Request::post("/", body).without("A2A-Version")
}

fn message(parts: &str) -> String {
    format!(
        r#"{{"message":{{"kind":"message","messageId":"m","role":"user","contextId":"c","parts":[{parts}]}}}}"#
    )
}

fn text(text: &str) -> String {
    message(&format!(r#"{{"kind":"text","text":"{text}"}}"#))
}

fn rest(text: &str) -> String {
    format!(
        r#"{{"message":{{"messageId":"m","contextId":"c","role":"ROLE_USER","content":[{{"text":"{text}"}}]}},"configuration":{{"blocking":true}}}}"#
    )
}

#[tokio::test]
async fn answers_of_0_3_are_what_they_were() {
    let server = serve().await;
    let requests = [
        ("send", rpc("message/send", &message(PARTS))),
        ("stream", rpc("message/stream", &message(PARTS))),
        ("question", rpc("message/send", &text("ask"))),
        ("failure", rpc("message/send", &text("fail"))),
        ("no such task", rpc("tasks/get", r#"{"id":"nobody"}"#)),
        ("no such method", rpc("tasks/list", "{}")),
        ("no parts", rpc("message/send", &message(""))),
        ("no JSON", Request::post("/", "{").without("A2A-Version")),
        (
            "REST send",
            Request::post("/v1/message:send", rest("hello")).without("A2A-Version"),
        ),
        (
            "REST stream",
            Request::post("/v1/message:stream", rest("hello")).without("A2A-Version"),
        ),
        (
            "REST no such task",
            Request::get("/v1/tasks/nobody").without("A2A-Version"),
        ),
    ];
    let mut written = String::new();
    for (name, request) in requests {
        let response = send(server.url(), &request).await;
        let media_type = response.header("content-type").unwrap_or_default();
        let body = without_times(&without_ids(&response.body));
        writeln!(
            written,
            "# {name}: {} {media_type}\n{}\n",
            response.status,
            body.trim_end()
        )
        .expect("a string takes everything");
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/v03/answers.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &written).expect("a folder that can be written");
    }
    let golden = std::fs::read_to_string(&file).expect("the golden answers");
    assert_eq!(written, golden);
}

#[tokio::test]
async fn extensions_have_the_header_of_0_3_in_requests_and_answers() {
    let server = serve().await;
    for request in [
        rpc("message/send", &text("extensions")),
        Request::post("/v1/message:send", rest("extensions")).without("A2A-Version"),
    ] {
        let request = request.header("X-A2A-Extensions", EXTENSION);
        let response = send(server.url(), &request).await;
        assert_eq!(response.status, 200);
        assert!(
            response.body.contains(&format!(r#""text":"{EXTENSION}""#)),
            "{}",
            response.body
        );
        assert_eq!(response.header("x-a2a-extensions"), Some(EXTENSION));
    }
}
