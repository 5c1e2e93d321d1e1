//! Servers that send push notifications.

use std::time::Duration;

use llamon_agent::server::{AgentError, Answer, PushNotifications, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, start};
use llamon_itest::hooks::Hook;
use llamon_itest::raw::{Raw, token};
use llamon_itest::say::Say;
use llamon_itest::wire::Peer;

pub(crate) const COMPLETED: &str = "TASK_STATE_COMPLETED";

/// Push notifications to receivers on loopback, tried again at once.
pub(crate) fn options() -> PushNotifications {
    PushNotifications::new()
        .allow_loopback()
        .allow_plain_http()
        .backoff(Duration::from_millis(1), Duration::from_millis(5))
}

/// Does what the query says: `emit <n>` shows n chunks first, `ask` asks and then completes.
pub(crate) async fn agent(turn: Turn) -> Result<Answer, AgentError> {
    if turn.query() == "ask" {
        return Ok(Answer::input_required("which?")?);
    }
    if let Some(count) = turn.query().strip_prefix("emit ") {
        for n in 0..count.parse::<u32>().expect("a number") {
            turn.emit(format!("{n} ")).await?;
        }
    }
    Ok(Answer::completed(())?)
}

pub(crate) async fn serve() -> TestServer {
    start(create_server(card("agent"), agent).push_notifications(options())).await
}

/// The fields of a configuration of this URL.
pub(crate) fn url(url: &str) -> String {
    format!(r#""url":{}"#, token(url))
}

/// The message with a configuration of these fields.
pub(crate) fn notifying(say: Say, fields: &str) -> Say {
    say.configured(&format!(r#"{{"taskPushNotificationConfig":{{{fields}}}}}"#))
}

/// The same, answered with the task at once.
pub(crate) fn notifying_at_once(say: Say, fields: &str) -> Say {
    say.configured(&format!(
        r#"{{"returnImmediately":true,"taskPushNotificationConfig":{{{fields}}}}}"#
    ))
}

/// A task that waits for its client.
pub(crate) async fn waiting_task(peer: &Peer) -> String {
    peer.send(&Say::text("ask")).await.string("id")
}

/// Creates a configuration of these fields and returns its id.
pub(crate) async fn create(peer: &Peer, task: &str, fields: &str) -> String {
    let created = Hook::Create(task, fields).call(peer).await;
    created.expect("a configuration").string("id")
}

/// The events that an answer brings, without the WORKING that a stream's first event, the task,
/// has already.
pub(crate) fn without_working(events: &[Raw]) -> &[Raw] {
    let state = events[0].string("statusUpdate.status.state");
    assert_eq!(state, "TASK_STATE_WORKING");
    &events[1..]
}
