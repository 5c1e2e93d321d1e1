//! Errors keep their meaning, whatever the binding.

use llamon_agent::a2a::{A2aError, ListTasksRequest, PushConfig};
use llamon_agent::client::{Binding, Client, Outgoing};
use llamon_agent::core::{Limits, Part};
use llamon_agent::server::create_server;
use llamon_itest::agents::{End, Script, card, scripted};

use crate::support::{client, grpc, reason, serve, serve_scripts};

/// The error of a call that must fail.
async fn error(client: &Client, call: &Call) -> A2aError {
    let error = match call {
        Call::Get(id) => client.get(id).await.map(drop),
        Call::Cancel(id) => client.cancel(id).await.map(drop),
        Call::Subscribe(id) => client.subscribe(id).await.map(drop),
        Call::Send(message) => client.send(message.clone()).await.map(drop),
        Call::Stream(message) => client.stream(message.clone()).await.map(drop),
        Call::List(request) => client.list(request.clone()).await.map(drop),
        Call::Push(id) => {
            let config = PushConfig::new("https://example.com/");
            client.create_push_config(id, config).await.map(drop)
        }
        Call::Pushes(id) => client.push_configs(id).await.map(drop),
        Call::Card => client.extended_card().await.map(drop),
    };
    let error = error.expect_err("an error");
    error
        .protocol()
        .unwrap_or_else(|| panic!("{error}"))
        .clone()
}

#[derive(Debug)]
enum Call {
    Get(String),
    Cancel(String),
    Subscribe(String),
    Send(Outgoing),
    Stream(Outgoing),
    List(ListTasksRequest),
    Push(String),
    Pushes(String),
    Card,
}

#[tokio::test]
async fn every_error_is_the_one_that_json_rpc_and_rest_give() {
    let server = serve_scripts("replace", vec![Script::returns(&[])]).await;
    let done = grpc(&server).await.send("go").await.unwrap();
    let done = done.task().unwrap().id.to_string();
    let none = "no-such-task".to_owned();
    let mut pages = ListTasksRequest::default();
    pages.page_size = Some(101);
    let mut token = ListTasksRequest::default();
    token.page_token = Some("of somebody else".to_owned());
    let other_context = Outgoing::text("go").in_task(&*done).in_context("another");
    let cases = [
        (Call::Get(none.clone()), "TASK_NOT_FOUND"),
        (Call::Cancel(none.clone()), "TASK_NOT_FOUND"),
        (Call::Subscribe(none.clone()), "TASK_NOT_FOUND"),
        (
            Call::Send(Outgoing::text("go").in_task(&*none)),
            "TASK_NOT_FOUND",
        ),
        (
            Call::Stream(Outgoing::text("go").in_task(&*none)),
            "TASK_NOT_FOUND",
        ),
        (Call::Cancel(done.clone()), "TASK_NOT_CANCELABLE"),
        (Call::Subscribe(done.clone()), "UNSUPPORTED_OPERATION"),
        (
            Call::Send(Outgoing::text("go").in_task(&*done)),
            "UNSUPPORTED_OPERATION",
        ),
        (Call::Send(other_context), "INVALID_PARAMS"),
        (Call::List(pages), "INVALID_PARAMS"),
        (Call::List(token), "INVALID_PARAMS"),
        (Call::Push(done.clone()), "PUSH_NOTIFICATION_NOT_SUPPORTED"),
        (Call::Pushes(done), "PUSH_NOTIFICATION_NOT_SUPPORTED"),
        (Call::Card, "UNSUPPORTED_OPERATION"),
        (
            Call::Send(Outgoing::text("go").message_id("m".repeat(513))),
            "INVALID_PARAMS",
        ),
    ];
    for (call, expected) in cases {
        let over_grpc = error(&grpc(&server).await, &call).await;
        assert_eq!(over_grpc.code().reason(), expected, "{call:?}");
        for binding in [Binding::JsonRpc, Binding::Rest] {
            let other = error(&client(&server, binding).await, &call).await;
            assert_eq!(over_grpc, other, "{call:?} over {binding}");
        }
    }
}

#[tokio::test]
async fn a_task_that_fails_is_an_answer() {
    let server = serve_scripts("replace", vec![Script::new(End::Failed("no luck"))]).await;
    let reply = grpc(&server).await.send("go").await.unwrap();
    assert_eq!(reply.status_text().as_deref(), Some("no luck"));
}

#[tokio::test]
async fn a_message_at_the_limit_is_taken_and_one_over_it_is_not() {
    let limits = Limits::default().with_max_body_bytes(2_000);
    let builder = create_server(card("agent"), scripted(vec![Script::returns(&[])]));
    let server = serve(builder.limits(limits)).await;
    let grpc = grpc(&server).await;
    grpc.send("x".repeat(1_900)).await.unwrap();
    assert_eq!(
        reason(grpc.send("x".repeat(2_001)).await),
        "PAYLOAD_TOO_LARGE"
    );
    let many = vec![Part::text("x"); 10_001];
    let message = many.into_iter().fold(Outgoing::new(), Outgoing::with_part);
    assert_eq!(reason(grpc.send(message).await), "PAYLOAD_TOO_LARGE");
}
