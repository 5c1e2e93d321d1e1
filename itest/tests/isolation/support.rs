//! A server that knows its callers.

use std::sync::Arc;

use llamon_agent::a2a::SecurityScheme;
use llamon_agent::core::Limits;
use llamon_agent::core::a2a::ProtocolVersion;
use llamon_agent::server::auth::{Authenticate, Checked, Identity, Refusal, RequestHead, Security};
use llamon_agent::server::backend::{Backend, MemoryBackend};
use llamon_agent::server::{GrpcAt, PushNotifications, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{End, Running, Script, card, scripted, start};
use llamon_itest::call::{Binding, Caller};
use llamon_itest::say::Say;

/// A task that never was.
pub(crate) const MISSING: &str = "00000000-0000-4000-8000-000000000000";

/// Knows callers by the header `x-name: <principal>[@<tenant>]`.
pub(crate) struct Names;

impl Authenticate for Names {
    fn authenticate<'a>(&'a self, request: &'a RequestHead<'a>) -> Checked<'a> {
        Box::pin(async move {
            match request.header("x-name") {
                None => Err(Refusal::unauthenticated("Name", "say who you are")),
                Some(name) => Ok(match name.split_once('@') {
                    Some((principal, tenant)) => Identity::new(principal).of_tenant(tenant),
                    None => Identity::new(name),
                }),
            }
        })
    }

    fn security(&self) -> Security {
        Security::one("name", SecurityScheme::api_key("header", "x-name"))
    }
}

/// A server with everything that is optional, whose tasks are in memory.
pub(crate) async fn server() -> TestServer {
    server_with(Arc::new(MemoryBackend::new(Limits::default()))).await
}

/// The same with tasks somewhere else.
pub(crate) async fn server_with(backend: Arc<dyn Backend>) -> TestServer {
    let builder = create_server(card("agent"), asking_agent())
        .push_notifications(PushNotifications::new())
        .backend(backend)
        .authenticate(Names)
        .extended_card(card("agent, extended"))
        .also_speak(ProtocolVersion::V0_3)
        .grpc(GrpcAt::SamePort);
    start(builder).await
}

/// Asks first, and is done then.
pub(crate) fn asking_agent() -> impl Fn(Turn) -> Running + Send + Sync + 'static {
    scripted(vec![
        Script::new(End::InputRequired("which?")),
        Script::returns(&[r#"{"text":"done"}"#]),
    ])
}

/// Somebody who calls; nobody that is known where there is no name.
pub(crate) fn caller(server: &TestServer, binding: Binding, name: Option<&str>) -> Caller {
    let caller = Caller::new(server.url(), binding);
    match name {
        Some(name) => caller.with("x-name", name),
        None => caller,
    }
}

/// Begins a task that waits for its caller, and returns its id and that of its context.
pub(crate) async fn begin(owner: &Caller) -> (String, String) {
    let sent = owner.call("SendMessage", &Say::text("go").json()).await;
    let task = sent.expect("a task").at("task");
    (task.string("id"), task.string("contextId"))
}
