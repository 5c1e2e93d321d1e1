//! Connections: what a port speaks, who is answered how, and what the card says of it.

use llamon_agent::a2a::AgentCard;
use llamon_agent::client::{Binding, Client, Outgoing};
use llamon_agent::server::{AgentHost, GrpcAt, RepeatedMessages, create_server};
use llamon_itest::agents::{Bound, End, Script, card, scripted, start};
use llamon_itest::grpc::{Call, call};
use llamon_itest::http::{Request, send};
use llamon_itest::raw::Raw;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{client, grpc, serve, serve_scripts};

const CARD: &str = "/.well-known/agent-card.json";

fn returning() -> Vec<Script> {
    vec![Script::returns(&[r#"{"text":"done"}"#])]
}

async fn interfaces(url: &str) -> Vec<(String, String)> {
    let card = Raw::parse(&send(url, &Request::get(CARD)).await.body);
    let interfaces = card.list("supportedInterfaces");
    let of = |i: &Raw| (i.string("protocolBinding"), i.string("url"));
    interfaces.iter().map(of).collect()
}

#[tokio::test]
async fn it_is_off_unless_it_is_switched_on() {
    let server = start(create_server(card("agent"), scripted(returning()))).await;
    let bindings: Vec<_> = interfaces(server.url()).await;
    let bindings: Vec<_> = bindings.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(bindings, ["JSONRPC", "HTTP+JSON"]);
    let error = server.client_with(Binding::Grpc).await.unwrap_err();
    assert!(error.is_usage(), "{error}");
    // And the port speaks HTTP/1.1 only.
    let address = server.url().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert!(
        answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn one_port_speaks_all_bindings_and_the_card_lists_grpc_last() {
    let server = serve_scripts("replace", returning()).await;
    let found = interfaces(server.url()).await;
    let target = server.url().strip_prefix("http://").unwrap().to_owned();
    assert_eq!(found.last(), Some(&("GRPC".to_owned(), target)));
    for binding in [Binding::Grpc, Binding::JsonRpc, Binding::Rest] {
        let reply = client(&server, binding).await.send("go").await.unwrap();
        assert_eq!(reply.text(), "done", "{binding}");
    }
}

#[tokio::test]
async fn a_port_of_its_own_speaks_grpc_and_nothing_else() {
    let builder = create_server(card("agent"), scripted(returning()));
    let bound = Bound::server(builder.grpc(GrpcAt::address("127.0.0.1:0"))).await;
    let found = interfaces(&bound.url).await;
    let target = &found.last().unwrap().1;
    assert_ne!(Some(&**target), bound.url.strip_prefix("http://"));
    // It is another origin than the card's, so it has to be named.
    let builder = || Client::builder().binding(Binding::Grpc);
    let error = builder().discover(&bound.url).await.unwrap_err();
    assert!(error.to_string().contains("trust_origin"), "{error}");
    let origin = format!("http://{target}");
    let grpc = builder()
        .trust_origin(&origin)
        .discover(&bound.url)
        .await
        .unwrap();
    assert_eq!(grpc.send("go").await.unwrap().text(), "done");
    assert_eq!(send(&origin, &Request::get(CARD)).await.status, 404);
    let post = Request::post("/message:send", "{}");
    assert_eq!(send(&origin, &post).await.status, 404);
    // The main port does not have it.
    let answer = call(&bound.url, &Call::new("GetTask", b"\x12\x01t")).await;
    assert_eq!(answer.http_status, None, "{answer:?}");
}

#[tokio::test]
async fn the_client_takes_grpc_when_the_card_has_nothing_else_or_it_is_asked_for() {
    let server = serve_scripts("replace", returning()).await;
    let found = Client::discover(server.url()).await.unwrap();
    assert_eq!(found.binding(), Binding::JsonRpc);
    let body = send(server.url(), &Request::get(CARD)).await.body;
    let mut card: AgentCard = serde_json::from_str(&body).unwrap();
    card.supported_interfaces.rotate_right(1);
    let with = |card: &AgentCard| {
        let json = serde_json::to_string(card).unwrap();
        Client::builder().with_card(&json, &format!("{}{CARD}", server.url()))
    };
    assert_eq!(with(&card).unwrap().binding(), Binding::JsonRpc);
    card.supported_interfaces.truncate(1);
    let only = with(&card).unwrap();
    assert_eq!(only.binding(), Binding::Grpc);
    assert_eq!(only.send("go").await.unwrap().text(), "done");
}

#[tokio::test]
async fn agents_under_paths_need_ports_of_their_own() {
    let server = || create_server(card("agent"), scripted(returning()));
    let same = server().grpc(GrpcAt::SamePort).await.unwrap();
    let host = AgentHost::new().agent("/audit", same);
    let error = host.bind("127.0.0.1:0").await.unwrap_err();
    assert!(
        error.config().is_some_and(|error| error.is_path()),
        "{error}"
    );
    assert!(error.to_string().contains("GrpcAt::address"), "{error}");
    let own = server().grpc(GrpcAt::address("127.0.0.1:0")).await.unwrap();
    let root = server().grpc(GrpcAt::SamePort).await.unwrap();
    let host = AgentHost::new().agent("/audit", own).agent("/", root);
    let bound = host.bind("127.0.0.1:0").await.unwrap();
    let targets: Vec<_> = bound
        .agents()
        .map(|(_, card)| card.supported_interfaces.last().unwrap().url.clone())
        .collect();
    assert_ne!(targets[0], targets[1]);
}

#[tokio::test]
async fn where_the_card_cannot_say_what_to_call_nothing_is_bound() {
    let server = || create_server(card("agent"), scripted(returning()));
    let own = || server().grpc(GrpcAt::address("127.0.0.1:0"));
    let behind_proxy = own()
        .public_url("https://agents.example.com")
        .await
        .unwrap();
    let error = behind_proxy.bind("127.0.0.1:0").await.unwrap_err();
    assert!(error.to_string().contains("grpc_target"), "{error}");
    let builder = own().public_url("https://agents.example.com");
    let named = builder.grpc_target("grpc.example.com:443").await.unwrap();
    let bound = named.bind("127.0.0.1:0").await.unwrap();
    let (_, card) = bound.agents().next().unwrap();
    assert_eq!(card.supported_interfaces[2].url, "grpc.example.com:443");
    let error = own().grpc_target("no port").await.unwrap_err();
    assert!(error.is_address(), "{error}");
    let mounted = own().public_url("https://a.example").await.unwrap();
    let error = mounted.into_router().unwrap_err();
    assert!(error.to_string().contains("GrpcAt::SamePort"), "{error}");
}

#[tokio::test]
async fn the_version_is_checked_on_every_method() {
    let server = serve_scripts("replace", returning()).await;
    for method in llamon_itest::grpc::METHODS {
        for version in [None, Some("0.3"), Some("2.0")] {
            let answer = call(server.url(), &Call::new(method, b"").version(version)).await;
            assert_eq!(answer.status, Some(9), "{method} {version:?}: {answer:?}");
            assert!(answer.details.contains("VERSION_NOT_SUPPORTED"));
            assert!(answer.details.contains("a2a-protocol.org"));
        }
    }
}

#[tokio::test]
async fn the_active_extensions_are_named_in_the_answer() {
    let builder = create_server(card("agent"), scripted(returning()));
    let server = serve(builder.repeated_messages(RepeatedMessages::Recognised)).await;
    let uri = llamon_agent::server::IDEMPOTENT_MESSAGES_URI;
    let grpc = Client::builder()
        .binding(Binding::Grpc)
        .extension(uri)
        .extension("urn:unknown")
        .discover(server.url())
        .await
        .unwrap();
    let message = || Outgoing::text("go").message_id("m1");
    let first = grpc.send(message()).await.unwrap();
    assert_eq!(first.extensions(), [uri]);
    let again = grpc.send(message()).await.unwrap();
    assert_eq!(again.task().unwrap().id, first.task().unwrap().id);
}

#[tokio::test]
async fn who_does_not_speak_grpc_is_told_so() {
    let server = serve_scripts("replace", returning()).await;
    let url = server.url();
    let path = "/lf.a2a.v1.A2AService/GetTask";
    assert_eq!(send(url, &Request::post(path, "{}")).await.status, 426);
    let json = Call::new("GetTask", b"{}").content_type("application/json");
    assert_eq!(call(url, &json).await.http_status, Some(415));
    let unknown = call(url, &Call::new("GetNothing", b"")).await;
    assert_eq!(unknown.status, Some(12), "{unknown:?}");
    let bad_timeout = Call::new("GetTask", b"\x12\x01t").timeout("soon");
    assert_eq!(call(url, &bad_timeout).await.status, Some(3));
}

#[tokio::test]
async fn a_router_that_is_mounted_has_it_too() {
    let builder = create_server(card("agent"), scripted(returning()));
    let builder = builder.public_url("http://agents.example.com");
    let router = builder
        .grpc(GrpcAt::SamePort)
        .await
        .unwrap()
        .into_router()
        .unwrap();
    let mut request =
        axum::http::Request::post("http://agents.example.com/lf.a2a.v1.A2AService/GetTask")
            .header("content-type", "application/grpc")
            .body(axum::body::Body::empty())
            .unwrap();
    *request.version_mut() = axum::http::Version::HTTP_2;
    let response = tower::ServiceExt::oneshot(router, request).await.unwrap();
    // The version is missing.
    assert_eq!(response.headers()["grpc-status"], "9");
}

#[tokio::test]
async fn a_deadline_ends_the_call_and_not_the_task() {
    let server = serve_scripts("replace", vec![Script::new(End::AwaitCancel(Vec::new()))]).await;
    let message = b"\x12\x0c\x0a\x01m\x20\x01\x2a\x05\x0a\x03go!";
    for method in ["SendMessage", "SendStreamingMessage"] {
        let answer = call(server.url(), &Call::new(method, message).timeout("50m")).await;
        assert_eq!(answer.status, Some(4), "{method}: {answer:?}");
    }
    let page = grpc(&server).await.list(Default::default()).await.unwrap();
    assert_eq!(page.total_size, 2);
    assert!(
        page.tasks
            .iter()
            .all(|task| !task.status.state.is_settled())
    );
}

#[tokio::test]
async fn a_stop_ends_streams_in_order_and_quickly_also_with_silent_connections() {
    let server = serve_scripts("replace", vec![Script::new(End::InputRequired("which?"))]).await;
    let grpc = grpc(&server).await;
    let asked = grpc.send("go").await.unwrap();
    let id = asked.task().unwrap().id.to_string();
    let mut followed = grpc.subscribe(&id).await.unwrap();
    followed.next().await.unwrap().unwrap();
    let address = server.url().strip_prefix("http://").unwrap();
    let silent = TcpStream::connect(address).await.unwrap();
    let mut half = TcpStream::connect(address).await.unwrap();
    half.write_all(b"PRI * HTTP").await.unwrap();
    server.stop().await.unwrap();
    // The task waits, so the stream may end there.
    assert!(followed.finish().await.is_ok());
    drop((silent, half));
}
