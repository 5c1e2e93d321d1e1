//! Which pages may call from a browser.

use llamon_itest::agents::start;
use llamon_itest::http::{Request, send};

use crate::support::{CARD, done, exchange, get, status};

const APP: &str = "https://app.example.com";

fn post(url: &str) -> Request {
    let body = r#"{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"go"}]}}"#;
    Request::post("/message:send", body).header("Origin", url)
}

#[tokio::test]
async fn pages_of_other_origins_get_nothing() {
    let server = start(done()).await;
    for origin in [APP, "null", "http://localhost:3000", "http://127.0.0.1"] {
        let answer = send(server.url(), &post(origin)).await;
        assert_eq!(answer.status, 403, "{origin}: {answer:?}");
        assert!(answer.body.contains(".allow_origins(["), "{answer:?}");
        let card = get(
            server.url(),
            CARD,
            &format!("Host: localhost\r\nOrigin: {origin}\r\n"),
        )
        .await;
        assert_eq!(status(&card), 403, "{card}");
    }
    for same in [
        server.url().to_owned(),
        server.url().replace("http", "https"),
    ] {
        let answer = send(server.url(), &post(&same)).await;
        assert_eq!(answer.status, 200, "{same}: {answer:?}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
}

#[tokio::test]
async fn pages_of_allowed_origins_may_read_the_answers() {
    let server = start(done().allow_origins([APP])).await;
    let answer = send(server.url(), &post(APP)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("access-control-allow-origin"), Some(APP));
    assert!(
        answer
            .header("vary")
            .is_some_and(|vary| vary.contains("origin"))
    );
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    let other = send(server.url(), &post("https://app.example.com.evil.example")).await;
    assert_eq!(other.status, 403, "{other:?}");
    assert_eq!(other.header("access-control-allow-origin"), None);
    // Who is no browser says nothing of pages.
    let plain = send(server.url(), &post(APP).without("Origin")).await;
    assert_eq!(plain.status, 200, "{plain:?}");
}

fn preflight(origin: &str) -> String {
    format!(
        "OPTIONS /message:send HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\n\
         Access-Control-Request-Method: POST\r\n\
         Access-Control-Request-Headers: a2a-version,authorization,content-type\r\n\
         Connection: close\r\n\r\n"
    )
}

#[tokio::test]
async fn a_browser_that_asks_first_is_answered_for_allowed_origins() {
    let server = start(done().allow_origins([APP])).await;
    let answer = exchange(server.url(), preflight(APP)).await;
    assert_eq!(status(&answer), 200, "{answer}");
    for header in [
        "access-control-allow-origin: https://app.example.com",
        "access-control-allow-methods: GET,POST,DELETE",
        "access-control-allow-headers: a2a-version,authorization,content-type",
        "access-control-max-age: 600",
    ] {
        assert!(answer.contains(header), "{header}: {answer}");
    }
    for (server, origin) in [
        (&server, "https://evil.example"),
        (&start(done()).await, APP),
    ] {
        let answer = exchange(server.url(), preflight(origin)).await;
        assert_eq!(status(&answer), 403, "{origin}: {answer}");
        assert!(!answer.contains("access-control"), "{answer}");
    }
}

#[tokio::test]
async fn what_is_no_origin_is_an_error_of_the_builder() {
    for origin in ["*", "null", "app.example.com", "https://app.example.com/"] {
        let error = done().allow_origins([origin]).await.unwrap_err();
        assert!(error.is_address(), "{error}");
        assert!(error.to_string().contains(origin), "{error}");
    }
}
