//! Several agents on one port, and an agent in somebody else's axum app.

use axum::Router;
use axum::body::Body;
use axum::http;
use llamon_agent::client::{Binding, Client};
use llamon_agent::server::{AgentError, AgentHost, Answer, Server, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::card;
use llamon_itest::http::{Request, send};
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, WIRES, Wire, envelope, peers};
use tower::ServiceExt as _;

const CARD: &str = "/.well-known/agent-card.json";

/// An agent that says its name.
async fn named(name: &'static str, public_url: Option<&str>) -> Server {
    let agent = move |turn: Turn| async move {
        if turn.query() == "ask" {
            return Ok::<_, AgentError>(Answer::input_required("which?")?);
        }
        Ok(Answer::completed(name)?)
    };
    let builder = create_server(card(name), agent);
    let builder = match public_url {
        Some(url) => builder.public_url(url),
        None => builder,
    };
    builder.await.expect("a server")
}

async fn host() -> TestServer {
    let host = AgentHost::new()
        .agent("/audit", named("audit", None).await)
        .agent("/agents/report/", named("report", None).await)
        .agent("/", named("root", None).await);
    TestServer::start_host(host).await.expect("a host")
}

const NAMES: [&str; 3] = ["audit", "report", "root"];

#[tokio::test]
async fn each_agent_has_its_own_card_and_answers_under_its_path() {
    let host = host().await;
    let origin = host.urls()[2].clone();
    let expected = [
        format!("{origin}/audit"),
        format!("{origin}/agents/report"),
        origin.clone(),
    ];
    assert_eq!(host.urls(), expected);
    for (url, name) in host.urls().iter().zip(NAMES) {
        let response = send(url, &Request::get(CARD)).await;
        let card = Raw::parse(&response.body);
        assert_eq!(card.string("name"), name);
        for interface in card.list("supportedInterfaces") {
            assert_eq!(interface.string("url"), *url);
        }
        for peer in peers(url) {
            let task = peer.send(&Say::text("who?")).await;
            assert_eq!(task.string("artifacts.0.parts.0.text"), name);
        }
        for binding in [Binding::JsonRpc, Binding::Rest] {
            for url in [url.clone(), format!("{}/", url.trim_end_matches('/'))] {
                let client = Client::builder()
                    .binding(binding)
                    .discover(&url)
                    .await
                    .unwrap();
                assert_eq!(client.card().name, name);
                assert_eq!(client.send("who?").await.unwrap().text(), name);
            }
        }
    }
}

#[tokio::test]
async fn json_rpc_is_served_with_and_without_a_slash_at_the_end() {
    let host = host().await;
    let body = || envelope("SendMessage", &Say::text("who?").json());
    for (url, name) in host.urls().iter().zip(NAMES) {
        let paths: &[&str] = if name == "root" { &["/"] } else { &["", "/"] };
        for path in paths {
            let response = send(url, &Request::post(path, body())).await;
            let answer = Peer::new(url, Wire::JsonRpc).read(response).unwrap();
            assert_eq!(
                answer.string("task.artifacts.0.parts.0.text"),
                name,
                "{path:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_task_of_one_agent_is_not_found_at_another() {
    let host = host().await;
    for wire in WIRES {
        let agents: Vec<Peer> = host.urls().iter().map(|url| Peer::new(url, wire)).collect();
        for owner in &agents {
            let id = owner.send(&Say::text("ask")).await.string("id");
            for other in agents.iter().filter(|other| other.url != owner.url) {
                let more = Say::text("this").in_task(&id);
                let missing = "no-such-task";
                for (foreign, missing) in [
                    (Op::Get(&id), Op::Get(missing)),
                    (Op::Cancel(&id), Op::Cancel(missing)),
                ] {
                    let foreign = other.call(foreign).await.unwrap_err();
                    let missing = other.call(missing).await.unwrap_err();
                    assert_eq!(foreign.reason, "TASK_NOT_FOUND");
                    assert_eq!(foreign.body, missing.body);
                }
                let refused = other.open(Op::Subscribe(&id)).await.unwrap_err();
                assert_eq!(refused.reason, "TASK_NOT_FOUND");
                let refused = other.call(Op::Send(&more)).await.unwrap_err();
                assert_eq!(refused.reason, "TASK_NOT_FOUND");
                let listed = other.call(Op::List(&[])).await.unwrap();
                assert!(!listed.text().contains(&id));
            }
            owner.call(Op::Cancel(&id)).await.unwrap();
        }
    }
}

#[tokio::test]
async fn what_is_under_no_path_is_not_found() {
    let agents = AgentHost::new().agent("/audit", named("audit", None).await);
    let host = TestServer::start_host(agents).await.unwrap();
    let origin = host.url().strip_suffix("/audit").unwrap();
    for request in [
        Request::get(CARD),
        Request::get("/tasks"),
        Request::post("/", envelope("ListTasks", "{}")),
        Request::get("/auditor/tasks"),
        Request::get("/audit/no/such/path"),
        Request::get("/"),
    ] {
        let response = send(origin, &request).await;
        assert_eq!(response.status, 404, "{request:?}");
        let refusal = Peer::new(origin, Wire::Rest).read(response).unwrap_err();
        assert_eq!(refusal.reason, "METHOD_NOT_FOUND");
    }
}

// === in an axum app ===

async fn ask(app: &Router, method: &str, path: &str, body: String) -> (u16, String) {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("host", "example.com")
        .header("a2a-version", "1.0")
        .header("content-type", "application/json")
        .body(Body::from(body))
        .expect("a request");
    let response = app.clone().oneshot(request).await.expect("an answer");
    let status = response.status().as_u16();
    let body = axum::body::to_bytes(response.into_body(), 1 << 20)
        .await
        .expect("a body");
    (status, String::from_utf8(body.to_vec()).expect("UTF-8"))
}

#[tokio::test]
async fn an_agent_is_nested_in_an_axum_app() {
    let url = "https://example.com/agents/audit";
    let agent = named("audit", Some(url)).await.into_router().unwrap();
    let app = Router::new()
        .route("/health", axum::routing::get(|| async { "fine" }))
        .nest("/agents/audit", agent);
    let (status, body) = ask(&app, "GET", "/health", String::new()).await;
    assert_eq!((status, &*body), (200, "fine"));
    let (status, body) = ask(&app, "GET", &format!("/agents/audit{CARD}"), String::new()).await;
    assert_eq!(status, 200);
    assert_eq!(Raw::parse(&body).string("supportedInterfaces.0.url"), url);

    let say = Say::text("who?");
    let (status, body) = ask(&app, "POST", "/agents/audit/message:send", say.json()).await;
    let task = Raw::parse(&body);
    assert_eq!(status, 200, "{task:?}");
    assert_eq!(task.string("task.artifacts.0.parts.0.text"), "audit");
    let path = format!("/agents/audit/tasks/{}", task.string("task.id"));
    let (status, body) = ask(&app, "GET", &path, String::new()).await;
    assert_eq!((status, Raw::parse(&body)), (200, task.at("task")));

    let rpc = envelope("SendMessage", &say.json());
    let (status, body) = ask(&app, "POST", "/agents/audit", rpc).await;
    assert_eq!(status, 200, "{body}");
    let text = Raw::parse(&body).string("result.task.artifacts.0.parts.0.text");
    assert_eq!(text, "audit");
    let (status, _) = ask(&app, "GET", "/agents/audit/no/such", String::new()).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn with_nest_service_json_rpc_is_served_with_a_slash_at_the_end_as_well() {
    // With `nest`, axum gives a router no path that ends at the slash.
    let url = "https://example.com/agents/audit";
    let agent = named("audit", Some(url)).await.into_router().unwrap();
    let app = Router::new().nest_service("/agents/audit", agent);
    for path in ["/agents/audit", "/agents/audit/"] {
        let rpc = envelope("SendMessage", &Say::text("who?").json());
        let (status, body) = ask(&app, "POST", path, rpc).await;
        assert_eq!(status, 200, "{path}: {body}");
    }
    let (status, _) = ask(&app, "GET", &format!("/agents/audit{CARD}"), String::new()).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn an_agent_is_merged_at_the_root_of_an_axum_app() {
    let agent = named("audit", Some("https://example.com"))
        .await
        .into_router()
        .unwrap();
    let app = Router::new()
        .route("/health", axum::routing::get(|| async { "fine" }))
        .merge(agent);
    let rpc = envelope("SendMessage", &Say::text("who?").json());
    let (status, body) = ask(&app, "POST", "/", rpc).await;
    assert_eq!(status, 200, "{body}");
    let (status, _) = ask(&app, "GET", "/health", String::new()).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn a_router_needs_to_know_where_it_is() {
    let error = named("audit", None).await.into_router().unwrap_err();
    assert!(error.is_address(), "{error}");
    assert!(error.to_string().contains("public_url"), "{error}");
}
