//! An agent that does what it is told, and what its refusals must look like in each binding.

use std::time::Duration;

use llamon_agent::prelude::*;
use llamon_agent::server::{GrpcAt, PushNotifications, ServerBuilder, Streaming};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{Gate, card, start};
use llamon_itest::call::{Binding, Caller, Refused};
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;
use serde_json::json;

/// A server and the gate that its agent waits at.
pub(crate) struct Served {
    pub(crate) server: TestServer,
    pub(crate) gate: Gate,
}

impl Served {
    pub(crate) fn callers(&self) -> [Caller; 3] {
        Caller::all(self.server.url())
    }

    pub(crate) fn caller(&self, binding: Binding) -> Caller {
        Caller::new(self.server.url(), binding)
    }
}

/// With everything that is optional.
pub(crate) async fn serve() -> Served {
    let receivers = PushNotifications::new()
        .allow_loopback()
        .allow_plain_http()
        .backoff(Duration::from_millis(1), Duration::from_millis(5));
    serve_as(|server| server.push_notifications(receivers)).await
}

/// With nothing that is optional.
pub(crate) async fn serve_bare() -> Served {
    serve_as(|server| server.streaming(Streaming::Off)).await
}

pub(crate) async fn serve_as<M>(
    with: impl FnOnce(ServerBuilder<llamon_agent::server::StructKind>) -> ServerBuilder<M>,
) -> Served {
    let gate = Gate::new();
    let agent = Obedient(gate.clone());
    let server = create_server(card("agent"), agent).grpc(GrpcAt::SamePort);
    let server = start(with(server)).await;
    Served { server, gate }
}

/// Does what the query says.
struct Obedient(Gate);

impl Agent for Obedient {
    async fn run(&self, turn: Turn) -> Result<Answer, AgentError> {
        Ok(match turn.query() {
            "ask" => Answer::input_required("which?")?,
            "authorize" => Answer::auth_required("log in at https://example.com/login")?,
            "reject" => Answer::rejected("not this one")?,
            "message" => Answer::message("a message")?,
            "text" => Answer::completed("a text")?,
            "data" => Answer::completed(Json(json!({"key": "value", "count": 42})))?,
            "file" => {
                let file = Part::file_bytes("content").with_filename("output.txt");
                Answer::completed(file.with_media_type("text/plain"))?
            }
            "url" => {
                let file = Part::file_url("https://example.com/output.txt");
                Answer::completed(file.with_filename("output.txt"))?
            }
            "chunks" => {
                turn.emit("one ").await?;
                turn.emit("two").await?;
                Answer::completed(())?
            }
            "wait" => {
                turn.emit("begun").await?;
                tokio::select! {
                    () = self.0.pass() => {}
                    () = turn.cancelled() => {}
                }
                turn.emit(" done").await?;
                Answer::completed(())?
            }
            _ => Answer::completed(())?,
        })
    }
}

/// The parameters of a message.
pub(crate) fn say(text: &str) -> String {
    Say::text(text).json()
}

/// The parameters of a message that is to be answered at once.
pub(crate) fn say_at_once(text: &str) -> String {
    Say::text(text).at_once().json()
}

/// The parameters of a message in a task.
pub(crate) fn say_in(task: &str, text: &str) -> String {
    Say::text(text).in_task(task).json()
}

/// Parameters that name a task.
pub(crate) fn of(task: &str) -> String {
    format!(r#"{{"id":"{task}"}}"#)
}

/// The task that a message is answered with.
pub(crate) async fn task(caller: &Caller, params: &str) -> Raw {
    let sent = caller.call("SendMessage", params).await;
    sent.expect("an answer").at("task")
}

/// The id of the task that a message is answered with.
pub(crate) async fn task_id(caller: &Caller, text: &str) -> String {
    task(caller, &say(text)).await.string("id")
}

/// The state of a task.
pub(crate) fn state(task: &Raw) -> String {
    let state = task.string("status.state");
    state.trim_start_matches("TASK_STATE_").to_owned()
}

/// The task of a first event.
pub(crate) fn snapshot(event: Option<Raw>) -> Raw {
    event.expect("a first event").at("task")
}

/// What an error is in each binding (section 5.4): its reason, then JSON-RPC, HTTP and gRPC.
pub(crate) const ERRORS: [(&str, &str, &str, &str); 10] = [
    ("TASK_NOT_FOUND", "-32001", "404", "NOT_FOUND"),
    (
        "TASK_NOT_CANCELABLE",
        "-32002",
        "400",
        "FAILED_PRECONDITION",
    ),
    (
        "PUSH_NOTIFICATION_NOT_SUPPORTED",
        "-32003",
        "400",
        "FAILED_PRECONDITION",
    ),
    (
        "UNSUPPORTED_OPERATION",
        "-32004",
        "400",
        "FAILED_PRECONDITION",
    ),
    (
        "CONTENT_TYPE_NOT_SUPPORTED",
        "-32005",
        "400",
        "INVALID_ARGUMENT",
    ),
    ("INVALID_AGENT_RESPONSE", "-32006", "500", "INTERNAL"),
    (
        "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
        "-32007",
        "400",
        "FAILED_PRECONDITION",
    ),
    (
        "EXTENSION_SUPPORT_REQUIRED",
        "-32008",
        "400",
        "FAILED_PRECONDITION",
    ),
    (
        "VERSION_NOT_SUPPORTED",
        "-32009",
        "400",
        "FAILED_PRECONDITION",
    ),
    ("INVALID_PARAMS", "-32602", "400", "INVALID_ARGUMENT"),
];

/// Demands that a call was refused for this reason, with the binding's code for it.
pub(crate) fn refused<T: std::fmt::Debug>(
    caller: &Caller,
    answer: Result<T, Refused>,
    reason: &str,
) -> Refused {
    let refused = answer.expect_err(reason);
    let row = ERRORS.iter().find(|row| row.0 == reason).expect(reason);
    let code = match caller.binding {
        Binding::JsonRpc => row.1,
        Binding::Rest => row.2,
        Binding::Grpc => row.3,
    };
    let shown = format!("{:?}: {refused:?}", caller.binding);
    assert_eq!(
        (refused.reason.as_str(), refused.code.as_str()),
        (reason, code),
        "{shown}"
    );
    assert_eq!(refused.domain, "a2a-protocol.org", "{shown}");
    assert!(refused.message.len() > 15, "says what to do: {shown}");
    refused
}
