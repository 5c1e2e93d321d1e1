//! Requests that are refused.

use llamon_agent::core::Limits;
use llamon_agent::testing::TestServer;

use crate::agents::{End, Script, scripted, serve};
use crate::http::{Connection, Request};
use crate::wire::{Op, Peer, Refusal, Wire, envelope};

/// Serves an agent whose first turn asks and whose second one completes.
pub async fn asking_server() -> TestServer {
    let scripts = vec![
        Script::new(End::InputRequired("which?")),
        Script::returns(&[r#"{"text":"done"}"#]),
    ];
    serve("append", Limits::default(), scripted(scripts)).await
}

/// The code that the table of a2a-facts.md has for a reason.
///
/// # Panics
/// When it has none.
pub fn code(wire: Wire, reason: &str) -> i64 {
    let (rpc, http) = match reason {
        "TASK_NOT_FOUND" => (-32001, 404),
        "TASK_NOT_CANCELABLE" => (-32002, 400),
        "PUSH_NOTIFICATION_NOT_SUPPORTED" => (-32003, 400),
        "UNSUPPORTED_OPERATION" => (-32004, 400),
        "CONTENT_TYPE_NOT_SUPPORTED" => (-32005, 400),
        "EXTENDED_AGENT_CARD_NOT_CONFIGURED" => (-32007, 400),
        "EXTENSION_SUPPORT_REQUIRED" => (-32008, 400),
        "UNAUTHENTICATED" => (-32000, 401),
        "PERMISSION_DENIED" => (-32000, 403),
        "VERSION_NOT_SUPPORTED" => (-32009, 400),
        "PARSE_ERROR" => (-32700, 400),
        "INVALID_REQUEST" => (-32600, 400),
        "METHOD_NOT_FOUND" => (-32601, 404),
        "METHOD_NOT_ALLOWED" => (-32601, 405),
        "INVALID_PARAMS" => (-32602, 400),
        "PAYLOAD_TOO_LARGE" => (-32600, 413),
        other => panic!("a reason {other}"),
    };
    if wire == Wire::JsonRpc { rpc } else { http }
}

/// Sends the request, which must be refused for `reason`; then a good one, on the same
/// connection where it is still open.
///
/// # Panics
/// When one of this is not so.
pub async fn refused(peer: &Peer, request: &Request, reason: &str, what: &str) -> Refusal {
    let mut connection = Connection::open(&peer.url).await;
    let response = connection.send(request).await;
    let what = format!("{:?}: {what}", peer.wire);
    let refusal = match peer.read(response.clone()) {
        Err(refusal) => refusal,
        Ok(result) => panic!("{what} was taken: {result:?}"),
    };
    assert_eq!(refusal.reason, reason, "{what}: {refusal:?}");
    assert_eq!(refusal.code, code(peer.wire, reason), "{what}: {refusal:?}");
    if response.header("connection") == Some("close") {
        connection = Connection::open(&peer.url).await;
    }
    let next = connection
        .send(&peer.wire.request(Op::List(&[("pageSize", "1")])))
        .await;
    assert!(peer.read(next).is_ok(), "{what}: the server still answers");
    refusal
}

/// The request that sends a message with these parameters.
pub fn send_request(wire: Wire, params: &str) -> Request {
    match wire {
        Wire::JsonRpc => Request::post("/", envelope("SendMessage", params)),
        Wire::Rest => Request::post("/message:send", params),
    }
}

/// Parameters of this message.
pub fn with_message(message: &str) -> String {
    format!(r#"{{"message":{message}}}"#)
}

/// Parameters of a message with this part, or these with commas between them.
pub fn with_part(part: &str) -> String {
    with_message(&format!(
        r#"{{"messageId":"m","role":"ROLE_USER","parts":[{part}]}}"#
    ))
}
