//! Push notifications: for whoever receives them.
//!
//! A receiver is a web server of yours. It hands each request that comes in to a [`PushReceiver`],
//! which tells whether the agent sent it and what it says:
//!
//! ```
//! use std::time::SystemTime;
//! use llamon_client::push::PushReceiver;
//! use llamon_core::a2a::PushConfig;
//!
//! // What the agent was given with Client::create_push_config or Outgoing::with_push.
//! let config = PushConfig::new("https://client.example.com/hook").with_token("5f0c7e");
//! let receiver = PushReceiver::of(&config);
//!
//! // In the handler of the receiver's web server: a way to its headers, and the body.
//! let header = |name: &str| (name == "x-a2a-notification-token").then_some("5f0c7e");
//! let body = r#"{"statusUpdate":{"taskId":"t1","contextId":"c1",
//!     "status":{"state":"TASK_STATE_COMPLETED"}}}"#;
//! let notification = receiver.receive(header, body, SystemTime::now())?;
//! assert_eq!(notification.task_id(), Some("t1"));
//! # Ok::<(), llamon_client::push::NotificationError>(())
//! ```
//!
//! Answer with a 2xx status when the notification is kept, and with
//! [`NotificationError::status`] when it is not one. A notification comes at least once; those of
//! one configuration come in order, and [`Notification::id`] tells a repeated one.

mod configs;
mod receiver;
mod signature;

pub use receiver::{Notification, NotificationError, PushReceiver};
pub use signature::{InvalidSecret, SigningSecret};

/// The header that says when a signed notification was sent, in seconds since 1970.
pub const TIMESTAMP_HEADER: &str = "webhook-timestamp";
/// The header that carries the signatures of a notification.
pub const SIGNATURE_HEADER: &str = "webhook-signature";
