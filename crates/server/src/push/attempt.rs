//! One attempt to send one event to one receiver.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use llamon_client::egress::{BoundedResponse, Egress, EgressError, Method};
use llamon_client::push::{SIGNATURE_HEADER, SigningSecret, TIMESTAMP_HEADER};
use llamon_core::a2a::v03::{Form, MAX_DEPTH, Shape, downgrade};
use llamon_core::a2a::{
    MEDIA_TYPE, PUSH_ID_HEADER, ProtocolVersion, PushConfig, StreamEvent, Task, TaskView,
    VERSION_HEADER,
};
use llamon_core::json::{ReadError, Reader};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::backend::Position;
use crate::clock::Clock;

/// What stands for itself in the id of a notification. A dot does not: it divides what is signed.
const ID: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_');

/// Sends events.
pub(super) struct Sender {
    pub(super) egress: Egress,
    pub(super) secret: Option<SigningSecret>,
    pub(super) clock: Clock,
}

/// An event on its way to a receiver.
pub(super) struct Notification {
    /// The same each time that the event is sent there.
    pub(super) id: String,
    pub(super) body: Bytes,
}

/// What became of an attempt.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The receiver has taken the event.
    Taken,
    /// It has not, and might later.
    Later {
        /// Without any secret.
        why: String,
        /// What it asks for.
        pause: Option<Duration>,
    },
    /// It never will.
    Never {
        /// Without any secret.
        why: String,
    },
}

impl Notification {
    pub(super) fn new(task_id: &str, config_id: &str, at: Position, event: &StreamEvent) -> Self {
        let mut body = String::with_capacity(512);
        event.write(&mut body, TaskView::FULL);
        Self::with_body(task_id, config_id, at, body)
    }

    /// For a receiver of 0.3: the task as it stands.
    pub(super) fn of_task(task: &Task, config_id: &str, at: Position) -> Result<Self, ReadError> {
        let (mut new, mut body) = (String::with_capacity(512), String::with_capacity(512));
        task.write(&mut new, TaskView::FULL);
        let mut reader = Reader::of_str(&new, MAX_DEPTH);
        downgrade(&mut reader, Shape::Task, Form::JsonRpc, &mut body)?;
        Ok(Self::with_body(&task.id, config_id, at, body))
    }

    fn with_body(task_id: &str, config_id: &str, at: Position, body: String) -> Self {
        let config_id = utf8_percent_encode(config_id, ID);
        Self {
            id: format!("{task_id}-{config_id}-{}", at.0),
            body: body.into(),
        }
    }
}

impl Sender {
    /// Sends an event once.
    pub(super) async fn send(&self, config: &PushConfig, notification: &Notification) -> Outcome {
        let Notification { id, body } = notification;
        let secrets = config.headers();
        let media_type = match config.version {
            ProtocolVersion::V0_3 => "application/json",
            _ => MEDIA_TYPE,
        };
        let mut headers = vec![
            ("content-type", media_type),
            (VERSION_HEADER, config.version.as_str()),
            (PUSH_ID_HEADER, id),
        ];
        headers.extend(secrets.iter().map(|(name, value)| (*name, value.as_str())));
        let signed = self.secret.as_ref().map(|secret| {
            let now = self.clock.time().duration_since(UNIX_EPOCH);
            let now = now.unwrap_or_default().as_secs();
            (now.to_string(), secret.sign(id, now, body))
        });
        if let Some((timestamp, signature)) = &signed {
            headers.extend([
                (TIMESTAMP_HEADER, &**timestamp),
                (SIGNATURE_HEADER, signature),
            ]);
        }
        let sent = self
            .egress
            .request(Method::Post, &config.url, &headers, body.clone())
            .await;
        match sent {
            Ok(response) => judge(&response, self.clock.time()),
            Err(error) => failed(&error),
        }
    }
}

fn judge(response: &BoundedResponse, now: SystemTime) -> Outcome {
    let status = response.status();
    let why = format!("it answered with HTTP {status}");
    match status {
        200..=299 => Outcome::Taken,
        // What may be different a moment later.
        408 | 409 | 425 | 429 => Outcome::Later {
            why,
            pause: retry_after(response, now),
        },
        400..=499 => Outcome::Never { why },
        300..=399 => Outcome::Later {
            why: format!("{why}, and redirects are not followed"),
            pause: None,
        },
        _ => Outcome::Later {
            why,
            pause: retry_after(response, now),
        },
    }
}

/// The receiver's wish, in seconds or as a time of day (RFC 9110, section 10.2.3).
fn retry_after(response: &BoundedResponse, now: SystemTime) -> Option<Duration> {
    let wish = response.header("retry-after")?.trim();
    if let Ok(seconds) = wish.parse() {
        return Some(Duration::from_secs(seconds));
    }
    httpdate::parse_http_date(wish)
        .ok()?
        .duration_since(now)
        .ok()
}

fn failed(error: &EgressError) -> Outcome {
    // Of what is refused, the text names the origin only. Other texts can have the path in them,
    // which often is a secret.
    if error.is_refused() || error.is_usage() {
        return Outcome::Never {
            why: error.to_string(),
        };
    }
    let why = if error.is_unresolved() {
        "its host has no address"
    } else if error.is_connect() {
        "it cannot be connected to"
    } else if error.is_timeout() {
        "it did not answer in time"
    } else if error.is_disconnected() {
        "it closed the connection before it had answered"
    } else if error.is_too_large() {
        "its answer is too large"
    } else {
        "its answer is packed, which it was not asked for"
    };
    Outcome::Later {
        why: why.to_owned(),
        pause: None,
    }
}

/// The host and port of a URL, to tell receivers apart; of one that was checked.
pub(super) fn authority(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.to_ascii_lowercase()
}
