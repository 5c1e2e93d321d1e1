//! Servers that speak gRPC.

use llamon_agent::client::{Binding, Client, ClientError};
use llamon_agent::server::{GrpcAt, PushNotifications, ServerBuilder, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{Script, card, scripted, start};

/// Serves a builder's agent with gRPC on the same port.
pub(crate) async fn serve<M>(builder: ServerBuilder<M>) -> TestServer {
    start(builder.grpc(GrpcAt::SamePort)).await
}

/// Serves scripts under a policy.
pub(crate) async fn serve_scripts(policy: &str, scripts: Vec<Script>) -> TestServer {
    serve(create_server(card("agent"), scripted(scripts)).upstream_parts_policy(policy)).await
}

/// Serves scripts and sends push notifications, to loopback too.
pub(crate) async fn serve_with_push(scripts: Vec<Script>) -> TestServer {
    let push = PushNotifications::new().allow_loopback().allow_plain_http();
    serve(create_server(card("agent"), scripted(scripts)).push_notifications(push)).await
}

pub(crate) async fn grpc(server: &TestServer) -> Client {
    client(server, Binding::Grpc).await
}

pub(crate) async fn client(server: &TestServer, binding: Binding) -> Client {
    let client = server.client_with(binding).await.expect("a client");
    assert_eq!(client.binding(), binding);
    client
}

/// The reason of the protocol's error.
pub(crate) fn reason<T: std::fmt::Debug>(answer: Result<T, ClientError>) -> &'static str {
    let error = answer.expect_err("an error");
    let protocol = error.protocol();
    protocol
        .unwrap_or_else(|| panic!("{error}"))
        .code()
        .reason()
}
