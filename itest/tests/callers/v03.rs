//! Callers of A2A 0.3 are asked who they are before their bodies are read, and once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use llamon_agent::a2a::{ProtocolVersion, SecurityScheme};
use llamon_agent::server::auth::{Authenticate, Checked, Identity, Refusal, RequestHead, Security};
use llamon_agent::server::{AgentError, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, patient, start};
use llamon_itest::http::{Request, send};
use llamon_itest::raw::Raw;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Knows everybody who says something, and counts how often it is asked.
struct Counting(Arc<AtomicUsize>);

impl Authenticate for Counting {
    fn authenticate<'a>(&'a self, request: &'a RequestHead<'a>) -> Checked<'a> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            let name = request.header("authorization");
            let name = name.ok_or_else(|| Refusal::unauthenticated("Name", "say who you are"))?;
            Ok(Identity::new(name))
        })
    }

    fn security(&self) -> Security {
        Security::one("name", SecurityScheme::http("Name"))
    }
}

async fn who(turn: Turn) -> Result<String, AgentError> {
    Ok(turn.principal().unwrap_or_default().to_owned())
}

async fn serve() -> (TestServer, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let builder = create_server(card("agent"), who)
        .authenticate(Counting(Arc::clone(&asked)))
        .also_speak(ProtocolVersion::V0_3);
    (start(builder).await, asked)
}

#[tokio::test]
async fn a_body_is_not_waited_for_where_the_caller_is_refused() {
    let (server, _) = serve().await;
    let address = server
        .url()
        .trim_start_matches("http://")
        .trim_end_matches('/')
        .to_owned();
    for target in ["POST / ", "POST /v1/message:send "] {
        let mut socket = TcpStream::connect(&address).await.unwrap();
        let head = format!(
            "{target}HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Content-Length: 1000\r\n\r\n"
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        // Nothing of the body is ever sent.
        let mut answer = vec![0; 12];
        patient(socket.read_exact(&mut answer)).await.unwrap();
        assert_eq!(answer, b"HTTP/1.1 401", "{target}");
    }
}

#[tokio::test]
async fn a_caller_is_asked_once_and_known_in_both_versions() {
    let (server, asked) = serve().await;
    let message =
        r#"{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]}"#;
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"message/send","params":{{"message":{message}}}}}"#
    );
    let sent = Request::post("/", call).without("a2a-version");
    let sent = sent.header("Authorization", "alice");
    let response = send(server.url(), &sent).await;
    assert_eq!(response.status, 200);
    let text = Raw::parse(&response.body).string("result.artifacts.0.parts.0.text");
    assert_eq!(text, "alice");
    assert_eq!(asked.load(Ordering::SeqCst), 1);

    let listing = Request::get("/v1/tasks").without("a2a-version");
    let listing = listing.header("Authorization", "alice");
    let response = send(server.url(), &listing).await;
    assert_eq!(response.status, 200, "{}", response.body);
    assert_eq!(asked.load(Ordering::SeqCst), 2);

    let nobody = Request::get("/v1/tasks").without("a2a-version");
    let response = send(server.url(), &nobody).await;
    assert_eq!(response.status, 401);
    assert_eq!(response.header("www-authenticate"), Some("Name"));
    assert_eq!(response.header("content-type"), Some("application/json"));
}
