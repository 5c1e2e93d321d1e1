//! Push notification configurations, as the specification writes them on the wire.

use crate::http::{Request, Response, send};
use crate::raw::{Raw, token};
use crate::wire::{Peer, Refusal, Wire, envelope};

/// An operation on push notification configurations.
#[derive(Clone, Copy, Debug)]
pub enum Hook<'a> {
    /// Creates one of a task: the JSON of its fields, without braces.
    Create(&'a str, &'a str),
    /// Gets one of a task by its id.
    Get(&'a str, &'a str),
    /// Lists those of a task.
    List(&'a str),
    /// Deletes one of a task by its id.
    Delete(&'a str, &'a str),
}

impl Hook<'_> {
    /// The request of the operation.
    pub fn request(self, wire: Wire) -> Request {
        match wire {
            Wire::JsonRpc => {
                let (method, params) = self.params();
                Request::post("/", envelope(method, &params))
            }
            Wire::Rest => {
                let of = |task: &str| format!("/tasks/{task}/pushNotificationConfigs");
                match self {
                    Self::Create(task, fields) => Request::post(&of(task), format!("{{{fields}}}")),
                    Self::Get(task, id) => Request::get(&format!("{}/{id}", of(task))),
                    Self::List(task) => Request::get(&of(task)),
                    Self::Delete(task, id) => Request::new("DELETE", &format!("{}/{id}", of(task))),
                }
            }
        }
    }

    /// Sends the request and returns the whole response.
    pub async fn send(self, peer: &Peer) -> Response {
        send(&peer.url, &self.request(peer.wire)).await
    }

    /// Calls the operation.
    ///
    /// # Errors
    /// With what the agent refuses.
    pub async fn call(self, peer: &Peer) -> Result<Raw, Refusal> {
        peer.read(self.send(peer).await)
    }

    fn params(self) -> (&'static str, String) {
        let one =
            |task: &str, id: &str| format!(r#"{{"taskId":{},"id":{}}}"#, token(task), token(id));
        match self {
            Self::Create(task, fields) => {
                let task = token(task);
                let comma = if fields.is_empty() { "" } else { "," };
                let params = format!(r#"{{"taskId":{task}{comma}{fields}}}"#);
                ("CreateTaskPushNotificationConfig", params)
            }
            Self::Get(task, id) => ("GetTaskPushNotificationConfig", one(task, id)),
            Self::List(task) => (
                "ListTaskPushNotificationConfigs",
                format!(r#"{{"taskId":{}}}"#, token(task)),
            ),
            Self::Delete(task, id) => ("DeleteTaskPushNotificationConfig", one(task, id)),
        }
    }
}
