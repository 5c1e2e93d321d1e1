//! A request is for one host, and for one that the server is known as.

use axum::Router;
use axum::body::Body;
use llamon_agent::server::{GrpcAt, create_server};
use llamon_itest::agents::{Bound, Script, card, scripted, start};
use llamon_itest::grpc::{Call, call};
use llamon_itest::http::{Request, send};
use tower::ServiceExt as _;

use crate::support::{CARD, done, exchange, get, status};

#[tokio::test]
async fn names_of_loopback_and_of_the_card_are_answered_and_no_others() {
    let builder = done().public_url("https://agents.example.com/audit");
    let server = start(builder.allow_hosts(["audit", "proxy.example:81"])).await;
    for host in [
        "127.0.0.1",
        "localhost:1",
        "[::1]",
        "agents.example.com",
        "Agents.Example.com:8443",
        "audit:80",
        "proxy.example:81",
    ] {
        let answer = get(server.url(), CARD, &format!("Host: {host}\r\n")).await;
        assert_eq!(status(&answer), 200, "{host}: {answer}");
    }
    for host in [
        "evil.example",
        "audit.evil.example",
        "proxy.example",
        "10.0.0.1",
    ] {
        let answer = get(server.url(), CARD, &format!("Host: {host}\r\n")).await;
        assert_eq!(status(&answer), 421, "{host}: {answer}");
        assert!(answer.contains(".allow_hosts(["), "{answer}");
        assert!(answer.contains(host), "{answer}");
        assert!(!answer.contains("agents.example.com"), "{answer}");
    }
}

#[tokio::test]
async fn a_request_names_exactly_one_host() {
    let server = start(done()).await;
    let url = server.url();
    let authority = url.strip_prefix("http://").unwrap();
    let host = format!("Host: {authority}\r\n");
    for (target, headers) in [
        (CARD, String::new()),
        (CARD, format!("{host}{host}")),
        (CARD, format!("{host}Host: evil.example\r\n")),
        (CARD, "Host:\r\n".to_owned()),
        (CARD, format!("Host: me@{authority}\r\n")),
        (CARD, format!("Host: {authority}/x\r\n")),
        (&*format!("http://evil.example{CARD}"), host.clone()),
        (&*format!("http://me@{authority}{CARD}"), host.clone()),
    ] {
        let answer = get(url, target, &headers).await;
        assert_eq!(status(&answer), 400, "{target} {headers}: {answer}");
        assert!(
            answer.to_lowercase().contains("connection: close"),
            "{answer}"
        );
    }
    let same = get(url, &format!("http://{authority}{CARD}"), &host).await;
    assert_eq!(status(&same), 200, "{same}");
}

#[tokio::test]
async fn any_host_is_answered_by_name_only() {
    let server = start(done().allow_any_host()).await;
    let answer = get(server.url(), CARD, "Host: whatever.example\r\n").await;
    assert_eq!(status(&answer), 200, "{answer}");
    // It still has to be one.
    let answer = get(server.url(), CARD, "Host: a.example\r\nHost: a.example\r\n").await;
    assert_eq!(status(&answer), 400, "{answer}");
}

#[tokio::test]
async fn operations_are_behind_the_same_check() {
    let server = start(done()).await;
    for path in ["/", "/message:send", "/tasks", "/no/such/tenant/tasks"] {
        let request = Request::post(path, "{}").header("Host", "evil.example");
        let two = send(server.url(), &request).await;
        let expected = if path.starts_with("/no") { 404 } else { 400 };
        assert_eq!(two.status, expected, "{path}: two hosts, {two:?}");
    }
    let body = r#"{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"go"}]}}"#;
    let length = body.len();
    let rest = format!(
        "POST /message:send HTTP/1.1\r\nHost: evil.example\r\nA2A-Version: 1.0\r\nConnection: \
         close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let answer = exchange(server.url(), rest).await;
    assert_eq!(status(&answer), 421, "{answer}");
}

#[tokio::test]
async fn probes_may_use_any_name() {
    let server = start(done()).await;
    let answer = get(server.url(), "/readyz", "Host: 10.1.2.3:8080\r\n").await;
    assert_eq!(status(&answer), 200, "{answer}");
}

#[tokio::test]
async fn grpc_calls_are_for_a_host_as_well() {
    let script = Script::returns(&[r#"{"text":"done"}"#]);
    let agent =
        || create_server(card("agent"), scripted(vec![script.clone()])).grpc(GrpcAt::SamePort);
    let refusing = Bound::server(agent()).await;
    let asked = Call::new("GetTask", b"\x12\x01t");
    let fine = call(&refusing.url, &asked).await;
    assert_eq!(fine.status, Some(5), "{fine:?}");
    let other = call(&refusing.url, &asked.clone().authority("evil.example")).await;
    assert_eq!(other.status, Some(7), "{other:?}");
    assert!(other.message.contains(".allow_hosts(["), "{other:?}");
    let open = Bound::server(agent().allow_hosts(["evil.example"])).await;
    let known = call(&open.url, &asked.authority("evil.example")).await;
    assert_eq!(known.status, Some(5), "{known:?}");
}

#[tokio::test]
async fn the_check_is_in_a_router_of_somebody_elses_app() {
    let builder = done().public_url("https://agents.example.com/audit");
    let agent = builder.await.unwrap().into_router().unwrap();
    let app = Router::new().nest("/audit", agent);
    for (host, expected) in [
        (Some("agents.example.com"), 200),
        (Some("localhost:8080"), 200),
        (Some("evil.example"), 421),
        (None, 400),
    ] {
        let mut request = axum::http::Request::get(format!("/audit{CARD}"));
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let request = request.body(Body::empty()).unwrap();
        let answer = app.clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), expected, "{host:?}");
    }
}

#[tokio::test]
async fn what_is_no_host_is_an_error_of_the_builder() {
    for host in ["https://agents.example.com", "*.example.com", ""] {
        let error = done().allow_hosts([host]).await.unwrap_err();
        assert!(error.is_address(), "{error}");
        assert!(error.to_string().contains("allow_any_host"), "{error}");
    }
}
