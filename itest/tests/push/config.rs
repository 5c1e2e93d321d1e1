//! Configurations that are refused.

use std::time::Duration;

use llamon_agent::client::push::SigningSecret;
use llamon_agent::server::{PushNotifications, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, start};
use llamon_itest::hooks::Hook;
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, peers};

use crate::support::{agent, notifying, serve, url, waiting_task};

/// Both ways to give a configuration refuse these fields, naming `what` and without `secret`.
async fn refused(server: &TestServer, fields: &str, what: &str, secret: &str) {
    for peer in peers(server.url()) {
        let task = waiting_task(&peer).await;
        let created = Hook::Create(&task, fields).call(&peer).await;
        let created = created.expect_err("a refusal");
        let inline = inline(&peer, fields).await;
        for refusal in [created, inline] {
            assert_eq!(refusal.reason, "INVALID_PARAMS", "{refusal:?}");
            assert!(refusal.message.contains(what), "{what}: {refusal:?}");
            assert!(!refusal.body.contains(secret), "{refusal:?}");
        }
        let listed = Hook::List(&task).call(&peer).await.expect("a list");
        assert!(listed.list("configs").is_empty());
    }
}

async fn inline(peer: &Peer, fields: &str) -> llamon_itest::wire::Refusal {
    let say = notifying(Say::text("emit 1"), fields);
    let refusal = peer.call(Op::Send(&say)).await.expect_err("a refusal");
    let inside = "configuration.taskPushNotificationConfig";
    assert!(refusal.message.contains(inside), "{refusal:?}");
    refusal
}

#[tokio::test]
async fn what_could_break_out_of_a_header() {
    let server = serve().await;
    let hook = url("http://127.0.0.1:9999/hook");
    for (token, what) in [
        (
            r"s3cret\r\nX-Admin: 1",
            "token: has a line break (CR or LF)",
        ),
        (r"s3cret\n", "token: has a line break (CR or LF)"),
        (r"s3cret\u0000", "token: has a control character"),
        (r"s3cret\u00e9", "token: has a character that is not ASCII"),
    ] {
        let fields = format!(r#"{hook},"token":"{token}""#);
        refused(&server, &fields, what, "s3cret").await;
    }
    for (authentication, what) in [
        (
            r#"{"scheme":"Bearer","credentials":"s3cret\r\nX: 1"}"#,
            "credentials: has a line break",
        ),
        (
            r#"{"scheme":"Bea\r\nrer","credentials":"s3cret"}"#,
            "scheme: is no name of a scheme",
        ),
        (r#"{"scheme":"Bearer"}"#, "credentials: is required"),
        (r#"{"credentials":"s3cret"}"#, "scheme: is required"),
    ] {
        let fields = format!(r#"{hook},"authentication":{authentication}"#);
        refused(&server, &fields, what, "s3cret").await;
    }
    let fields = format!(r#"{hook},"id":"a\r\nb""#);
    refused(&server, &fields, "id: has a control character", "s3cret").await;
}

#[tokio::test]
async fn urls_that_are_not_called() {
    let server = serve().await;
    for (text, what) in [
        ("/hook", "url: is not absolute"),
        ("ftp://example.com/hook", "url: is not absolute"),
        (
            "http://169.254.169.254/latest/meta-data",
            "url: the URL's host is not one",
        ),
        (
            "http://[fd00:ec2::254]/latest",
            "url: the URL's host is not one",
        ),
        (
            "http://metadata.google.internal/",
            "url: the URL's host is not one",
        ),
        ("http://2852039166/", "url: the URL's host is not one"),
        ("http://10.0.0.1/", "url: the URL's host is not one"),
        (
            "http://user:s3cret@127.0.0.1/",
            "url: the URL is not a plain",
        ),
        ("http://127.0.0.1:22/", "url: the URL's port is not allowed"),
    ] {
        refused(&server, &url(text), what, "s3cret").await;
    }
    let builder = create_server(card("agent"), agent).push_notifications(PushNotifications::new());
    let strict = start(builder).await;
    for (text, what) in [
        (
            "http://example.com/hook",
            "url: the URL has to begin with https://",
        ),
        ("https://127.0.0.1/hook", "url: the URL's host is not one"),
        ("https://localhost/hook", "url: the URL's host is not one"),
        ("https://192.168.0.1/hook", "url: the URL's host is not one"),
    ] {
        refused(&strict, &url(text), what, "s3cret").await;
    }
    for peer in peers(strict.url()) {
        // Nothing is looked up while a client waits.
        let task = waiting_task(&peer).await;
        let fields = url("https://no-such-host.example.com/hook");
        assert!(Hook::Create(&task, &fields).call(&peer).await.is_ok());
    }
}

#[tokio::test]
async fn parameters_that_are_missing_or_wrong() {
    let server = serve().await;
    let hook = url("http://127.0.0.1:9999/hook");
    for peer in peers(server.url()) {
        let task = waiting_task(&peer).await;
        for (fields, what) in [
            ("", "url: is required"),
            (r#""url":7"#, "url"),
            (&format!(r#"{hook},"token":{{}}"#), "token"),
            (&format!("{hook},{hook}"), "given twice"),
        ] {
            let refusal = Hook::Create(&task, fields).call(&peer).await.unwrap_err();
            assert_eq!(refusal.reason, "INVALID_PARAMS", "{refusal:?}");
            assert!(refusal.message.contains(what), "{what}: {refusal:?}");
        }
    }
    let [rpc, rest] = peers(server.url());
    let other = format!(r#""taskId":"another",{hook}"#);
    let refusal = Hook::Create("x", &other).call(&rest).await.unwrap_err();
    assert!(
        refusal
            .message
            .contains("taskId: is not the task in the path")
    );
    for hook in [
        Hook::Get("", "x"),
        Hook::List(""),
        Hook::Delete("", "x"),
        Hook::Get("x", ""),
    ] {
        let refusal = hook.call(&rpc).await.unwrap_err();
        assert_eq!(refusal.reason, "INVALID_PARAMS", "{refusal:?}");
        assert!(refusal.message.contains("is required"), "{refusal:?}");
    }
}

#[tokio::test]
async fn options_that_cannot_be_kept() {
    let second = Duration::from_secs(1);
    for (options, what) in [
        (PushNotifications::new().max_attempts(0), "max_attempts"),
        (PushNotifications::new().timeout(Duration::ZERO), "timeout"),
        (PushNotifications::new().max_requests(0), "max_requests"),
        (
            PushNotifications::new().max_requests_per_host(0),
            "max_requests_per_host",
        ),
        (
            PushNotifications::new().backoff(second * 2, second),
            "longer than its longest pause",
        ),
        (
            PushNotifications::new().trust_origin("collector"),
            "collector",
        ),
    ] {
        let built = create_server(card("agent"), agent)
            .push_notifications(options)
            .await;
        let error = built.unwrap_err();
        assert!(error.is_push());
        assert!(error.to_string().contains(what), "{error}");
    }
    assert!(SigningSecret::parse("short").is_err());
}
