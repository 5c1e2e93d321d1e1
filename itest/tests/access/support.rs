//! Callers, and every operation as each binding has it.

use futures_util::future::BoxFuture;
use llamon_agent::a2a::SecurityScheme;
use llamon_agent::server::auth::{Authenticate, Identity, Refusal, RequestHead, Security};
use llamon_itest::http::Request;
use llamon_itest::raw::token;
use llamon_itest::wire::{Wire, envelope};

/// Knows callers by `Authorization: Name <principal>[@<tenant>]`.
pub(crate) struct Names;

/// The challenge of [`Names`].
pub(crate) const CHALLENGE: &str = "Name realm=\"tests\"";

impl Authenticate for Names {
    fn authenticate<'a>(
        &'a self,
        request: &'a RequestHead<'a>,
    ) -> BoxFuture<'a, Result<Identity, Refusal>> {
        Box::pin(async move {
            let given = request.header("authorization");
            let name = given.and_then(|given| given.strip_prefix("Name "));
            match name {
                None => Err(Refusal::unauthenticated(CHALLENGE, "say who you are")),
                Some("mallory") => Err(Refusal::forbidden("mallory may do nothing here")),
                Some("down") => Err(Refusal::unavailable("the directory does not answer")),
                Some("panic") => panic!("an authenticator that panics"),
                Some(name) => Ok(match name.split_once('@') {
                    Some((principal, tenant)) => Identity::new(principal).of_tenant(tenant),
                    None => Identity::new(name),
                }),
            }
        })
    }

    fn security(&self) -> Security {
        Security::one("name", SecurityScheme::http("Name"))
    }
}

/// The request as somebody's.
pub(crate) fn by(name: &str, request: Request) -> Request {
    request.header("Authorization", &format!("Name {name}"))
}

/// All operations on the task `id`, with fields more in their parameters, beside those that send
/// a message to no task.
pub(crate) fn operations(
    wire: Wire,
    id: &str,
    tenant: Option<&str>,
) -> Vec<(&'static str, Request)> {
    let message = |task: &str| {
        format!(
            r#""message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"x"}}]{task}}}"#
        )
    };
    let of_task = format!(r#","taskId":{}"#, token(id));
    let url = r#""url":"https://receiver.example/""#;
    match wire {
        Wire::JsonRpc => {
            let tenant = tenant.map_or_else(String::new, |t| format!(r#","tenant":{}"#, token(t)));
            let id = token(id);
            [
                ("SendMessage", message(&of_task)),
                ("SendStreamingMessage", message(&of_task)),
                ("GetTask", format!(r#""id":{id}"#)),
                ("ListTasks", r#""pageSize":5"#.to_owned()),
                ("CancelTask", format!(r#""id":{id}"#)),
                ("SubscribeToTask", format!(r#""id":{id}"#)),
                (
                    "CreateTaskPushNotificationConfig",
                    format!(r#""taskId":{id},{url}"#),
                ),
                (
                    "GetTaskPushNotificationConfig",
                    format!(r#""taskId":{id},"id":"c""#),
                ),
                (
                    "ListTaskPushNotificationConfigs",
                    format!(r#""taskId":{id}"#),
                ),
                (
                    "DeleteTaskPushNotificationConfig",
                    format!(r#""taskId":{id},"id":"c""#),
                ),
                ("GetExtendedAgentCard", r#""x":1"#.to_owned()),
            ]
            .map(|(method, params)| {
                let body = envelope(method, &format!("{{{params}{tenant}}}"));
                (method, Request::post("/", body))
            })
            .into()
        }
        Wire::Rest => {
            let at = tenant.map_or_else(String::new, |tenant| format!("/{tenant}"));
            let configs = format!("{at}/tasks/{id}/pushNotificationConfigs");
            let send = format!("{{{}}}", message(&of_task));
            vec![
                (
                    "SendMessage",
                    Request::post(&format!("{at}/message:send"), send.as_str()),
                ),
                (
                    "SendStreamingMessage",
                    Request::post(&format!("{at}/message:stream"), send),
                ),
                ("GetTask", Request::get(&format!("{at}/tasks/{id}"))),
                ("ListTasks", Request::get(&format!("{at}/tasks?pageSize=5"))),
                (
                    "CancelTask",
                    Request::post(&format!("{at}/tasks/{id}:cancel"), ""),
                ),
                (
                    "SubscribeToTask",
                    Request::get(&format!("{at}/tasks/{id}:subscribe")),
                ),
                (
                    "CreateTaskPushNotificationConfig",
                    Request::post(&configs, format!("{{{url}}}")),
                ),
                (
                    "GetTaskPushNotificationConfig",
                    Request::get(&format!("{configs}/c")),
                ),
                ("ListTaskPushNotificationConfigs", Request::get(&configs)),
                (
                    "DeleteTaskPushNotificationConfig",
                    Request::new("DELETE", &format!("{configs}/c")),
                ),
                (
                    "GetExtendedAgentCard",
                    Request::get(&format!("{at}/extendedAgentCard")),
                ),
            ]
        }
    }
}
