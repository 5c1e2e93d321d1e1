//! With [`Compat::V1_0_0`], what A2A 1.0.0 has otherwise is otherwise, and nothing else.

use llamon_agent::server::{Compat, Streaming};
use llamon_itest::call::{Binding, Caller};
use llamon_itest::http::{Request, send};
use llamon_itest::raw::Raw;

use super::support::*;

async fn serve_1_0_0() -> Served {
    let compat = Compat::V1_0_0;
    serve_as(|server| server.compat(compat).streaming(Streaming::Off)).await
}

/// Code and reason of a refusal.
async fn error(caller: &Caller, method: &str, params: &str) -> (String, String) {
    let error = caller.call(method, params).await.expect_err(method);
    assert!(error.message.len() > 15, "{error:?}");
    (error.code, error.reason)
}

#[tokio::test]
async fn the_statuses_of_1_0_0_are_said_where_they_differ() {
    let served = serve_1_0_0().await;
    for caller in served.callers() {
        let ended = task_id(&caller, "text").await;
        let old = caller.clone().with("a2a-version", "0.1");
        let push = r#"{"taskId":"t"}"#;
        for (caller, method, params, jsonrpc, http, grpc) in [
            (
                &caller,
                "CancelTask",
                &*of(&ended),
                "-32002",
                "409",
                "FAILED_PRECONDITION",
            ),
            (
                &caller,
                "SendMessage",
                &say_in(&ended, "x"),
                "-32004",
                "400",
                "UNIMPLEMENTED",
            ),
            (
                &old,
                "GetTask",
                &of(&ended),
                "-32009",
                "400",
                "UNIMPLEMENTED",
            ),
            (
                &caller,
                "ListTaskPushNotificationConfigs",
                push,
                "-32003",
                "400",
                "UNIMPLEMENTED",
            ),
            (
                &caller,
                "GetTask",
                &of("none"),
                "-32001",
                "404",
                "NOT_FOUND",
            ),
            (
                &caller,
                "SendMessage",
                "{}",
                "-32602",
                "400",
                "INVALID_ARGUMENT",
            ),
        ] {
            let expected = match caller.binding {
                Binding::JsonRpc => jsonrpc,
                Binding::Rest => http,
                Binding::Grpc => grpc,
            };
            let (code, reason) = error(caller, method, params).await;
            assert_eq!(code, expected, "{:?} {method} {reason}", caller.binding);
            assert!(!reason.is_empty());
        }
    }
}

#[tokio::test]
async fn rest_says_application_json() {
    let served = serve_1_0_0().await;
    let url = served.server.url();
    let fine = send(url, &Request::post("/message:send", say("text"))).await;
    let refused = send(url, &Request::get("/tasks/none")).await;
    let media = Request::post("/message:send", "x").header("Content-Type", "text/plain");
    let media = send(url, &media).await;
    for (response, status) in [(fine, 200), (refused, 404), (media, 415)] {
        assert_eq!(response.status, status);
        assert_eq!(response.header("content-type"), Some("application/json"));
        if status >= 400 {
            let code = Raw::parse(&response.body).at("error.code");
            assert_eq!(code.text(), status.to_string());
        }
    }
}

#[tokio::test]
async fn a_body_that_does_not_say_it_is_json_is_refused_for_that_first() {
    let served = serve().await;
    for (media_type, code) in [("text/plain", "-32005"), ("application/json", "-32700")] {
        let request = Request::post("/", "not json").header("Content-Type", media_type);
        let response = send(served.server.url(), &request).await;
        let body = Raw::parse(&response.body);
        assert_eq!(body.at("error.code").text(), code);
        assert_eq!(body.at("id").text(), "null");
    }
}
