use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use bytestring::ByteString;
use llamon_core::Limits;
use llamon_core::a2a::{PUSH_ID_HEADER, PushConfig, StreamEvent};
use llamon_core::json::Reader;

use super::signature::{SigningSecret, are_same};
use super::{SIGNATURE_HEADER, TIMESTAMP_HEADER};
use crate::answer::response_limits;

/// What Standard Webhooks recommends.
const TOLERANCE: Duration = Duration::from_secs(5 * 60);

/// Tells notifications from what anybody else sends to a receiver's URL.
#[derive(Clone)]
#[must_use = "a receiver does nothing until it receives"]
pub struct PushReceiver {
    /// Names and values of the headers that the agent was told to send.
    expected: Vec<(&'static str, String)>,
    secret: Option<SigningSecret>,
    tolerance: Duration,
    limits: Limits,
}

/// A notification: an event of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notification {
    /// Names the notification, the same each time that it is sent; agents of other makers may not
    /// send one.
    pub id: Option<String>,
    /// What happened.
    pub event: StreamEvent,
}

impl PushReceiver {
    /// Takes what comes with the token or the credentials of `config`, as it was given to the
    /// agent. Where both are set, one of them has to come and none may be wrong: there are agents
    /// that send only one. Where neither is set, everybody's requests are taken, unless they have
    /// to be signed.
    pub fn of(config: &PushConfig) -> Self {
        Self {
            expected: config.headers(),
            secret: None,
            tolerance: TOLERANCE,
            limits: response_limits(&Limits::default()),
        }
    }

    /// Takes only what is signed with `secret`, as Standard Webhooks has it.
    pub fn signed_with(mut self, secret: SigningSecret) -> Self {
        self.secret = Some(secret);
        self
    }

    /// How far from now the time of a signed notification may be, so that nobody can send an old
    /// one again. Default 5 minutes.
    pub fn tolerance(mut self, tolerance: Duration) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Sizes of what an agent accepts; a notification may be as large as its answers.
    pub fn limits(mut self, limits: &Limits) -> Self {
        self.limits = response_limits(limits);
        self
    }

    /// Reads a request. `header` returns the value of a header by its name in lower case, and
    /// `now` is the time of day.
    ///
    /// # Errors
    /// When the request does not show that the agent sent it, and when it is no notification.
    pub fn receive<'h>(
        &self,
        header: impl Fn(&str) -> Option<&'h str>,
        body: impl Into<Bytes>,
        now: SystemTime,
    ) -> Result<Notification, NotificationError> {
        let body = body.into();
        self.check_expected(&header)?;
        let id = header(PUSH_ID_HEADER);
        if let Some(secret) = &self.secret {
            self.check_signed(secret, &header, &body, now)?;
        }
        Ok(Notification {
            id: id.map(str::to_owned),
            event: read(body, &self.limits)?,
        })
    }

    fn check_expected<'h>(
        &self,
        header: &impl Fn(&str) -> Option<&'h str>,
    ) -> Result<(), NotificationError> {
        let mut come = 0;
        for (name, expected) in &self.expected {
            let Some(given) = header(name) else {
                continue;
            };
            if !are_same(given.as_bytes(), expected.as_bytes()) {
                return Err(NotificationError::foreign(format!(
                    "the header {name} is wrong"
                )));
            }
            come += 1;
        }
        if come > 0 || self.expected.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = self.expected.iter().map(|(name, _)| *name).collect();
        Err(NotificationError::foreign(format!(
            "none of these headers came: {}",
            names.join(", ")
        )))
    }

    fn check_signed<'h>(
        &self,
        secret: &SigningSecret,
        header: &impl Fn(&str) -> Option<&'h str>,
        body: &[u8],
        now: SystemTime,
    ) -> Result<(), NotificationError> {
        let missing = |name| NotificationError::foreign(format!("the header {name} is missing"));
        let needed = |name| header(name).ok_or_else(|| missing(name));
        let id = needed(PUSH_ID_HEADER)?;
        let timestamp = needed(TIMESTAMP_HEADER)?;
        let signatures = needed(SIGNATURE_HEADER)?;
        if !secret.verifies(id, timestamp, body, signatures) {
            let wrong = "the signature is not of this notification and secret";
            return Err(NotificationError::foreign(wrong.to_owned()));
        }
        let seconds: Option<u64> = timestamp.parse().ok();
        let at = seconds.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
        let apart = at.map(|at| match now.duration_since(at) {
            Ok(later) => later,
            Err(earlier) => earlier.duration(),
        });
        if apart.is_none_or(|apart| apart > self.tolerance) {
            return Err(NotificationError::foreign(format!(
                "the notification was signed more than {:?} from now",
                self.tolerance
            )));
        }
        Ok(())
    }
}

impl Notification {
    /// Reads a body that is known to be an agent's; [`PushReceiver::receive`] tells whether it is.
    ///
    /// # Errors
    /// When it is no event.
    pub fn read(body: impl AsRef<[u8]>) -> Result<Self, NotificationError> {
        let body = Bytes::copy_from_slice(body.as_ref());
        let event = read(body, &response_limits(&Limits::default()))?;
        Ok(Self { id: None, event })
    }

    /// What happened.
    pub fn into_event(self) -> StreamEvent {
        self.event
    }

    /// The task that the event is of; none for a message that names no task.
    pub fn task_id(&self) -> Option<&str> {
        match &self.event {
            StreamEvent::Task(task) => Some(&task.id),
            StreamEvent::Message(message) => message.task_id.as_deref(),
            StreamEvent::Status(update) => Some(&update.task_id),
            StreamEvent::Artifact(update) => Some(&update.task_id),
        }
    }
}

fn read(body: Bytes, limits: &Limits) -> Result<StreamEvent, NotificationError> {
    if body.len() > limits.max_body_bytes {
        return Err(NotificationError::malformed(format!(
            "the body has {} bytes, {} are allowed",
            body.len(),
            limits.max_body_bytes
        )));
    }
    let text = ByteString::try_from(body)
        .map_err(|_| NotificationError::malformed("the body is not UTF-8".to_owned()))?;
    let mut reader = Reader::of_str(&text, limits.max_json_depth);
    StreamEvent::read(&mut reader, &text, limits)
        .and_then(|event| reader.end().map(|()| event))
        .map_err(|error| NotificationError::malformed(error.to_string()))
}

impl fmt::Debug for PushReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.expected.iter().map(|(name, _)| *name).collect();
        f.debug_struct("PushReceiver")
            .field("expected", &names)
            .field("signed", &self.secret.is_some())
            .finish_non_exhaustive()
    }
}

/// Why a request is no notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotificationError {
    status: u16,
    message: String,
}

impl NotificationError {
    /// Whether the request does not show that the agent sent it.
    pub fn is_foreign(&self) -> bool {
        self.status == 401
    }

    /// The HTTP status to answer with: 401 for a stranger's request, 400 for one that is no
    /// notification.
    pub fn status(&self) -> u16 {
        self.status
    }

    fn foreign(message: String) -> Self {
        Self {
            status: 401,
            message,
        }
    }

    fn malformed(message: String) -> Self {
        Self {
            status: 400,
            message,
        }
    }
}

impl fmt::Display for NotificationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for NotificationError {}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use llamon_core::a2a::PushConfig;

    use super::super::SigningSecret;
    use super::{Notification, NotificationError, PushReceiver};

    const BODY: &str = r#"{"statusUpdate":{"taskId":"t1","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;
    const NOW: u64 = 1_700_000_000;

    fn receive(
        receiver: &PushReceiver,
        headers: &[(&str, &str)],
        body: &'static str,
    ) -> Result<Notification, NotificationError> {
        let header = |name: &str| {
            let mut headers = headers.iter();
            headers
                .find(|(known, _)| *known == name)
                .map(|(_, value)| *value)
        };
        receiver.receive(header, body, UNIX_EPOCH + Duration::from_secs(NOW))
    }

    #[test]
    fn a_token_or_the_credentials_have_to_come_and_to_be_right() {
        let config = PushConfig::new("https://a/")
            .with_token("t")
            .with_authentication("bearer", "c");
        let receiver = PushReceiver::of(&config);
        let token = ("x-a2a-notification-token", "t");
        let bearer = ("authorization", "Bearer c");
        for headers in [
            &[token, bearer][..],
            &[token],
            &[bearer],
            &[("a2a-notification-token", "t")],
        ] {
            let notification = receive(&receiver, headers, BODY).unwrap();
            assert_eq!(notification.task_id(), Some("t1"));
        }
        let wrong = ("authorization", "Bearer d");
        for headers in [
            &[][..],
            &[token, wrong],
            &[wrong],
            &[("a2a-notification-token", "")],
        ] {
            assert!(receive(&receiver, headers, BODY).unwrap_err().is_foreign());
        }
        let open = PushReceiver::of(&PushConfig::new("https://a/"));
        assert!(receive(&open, &[], BODY).is_ok());
    }

    #[test]
    fn what_is_no_event_is_refused() {
        let open = PushReceiver::of(&PushConfig::new("https://a/"));
        for body in ["", "{}", "[]", r#"{"task":1}"#, r#"{"statusUpdate":{}} x"#] {
            let error = receive(&open, &[], body).unwrap_err();
            assert_eq!(error.status(), 400, "{error}");
        }
    }

    #[test]
    fn a_signature_is_of_its_notification_and_time() {
        let secret = SigningSecret::from_bytes(&[1; 32]).unwrap();
        let receiver = PushReceiver::of(&PushConfig::new("https://a/")).signed_with(secret.clone());
        let check = |time: u64, id: &str, body: &'static str, signature: &str| {
            let time = time.to_string();
            let headers = [
                ("webhook-id", id),
                ("webhook-timestamp", &time),
                ("webhook-signature", signature),
            ];
            receive(&receiver, &headers, body)
        };
        for time in [NOW, NOW - 300, NOW + 300] {
            let signature = secret.sign("n1", time, BODY.as_bytes());
            let notification = check(time, "n1", BODY, &signature).unwrap();
            assert_eq!(notification.id.as_deref(), Some("n1"));
        }
        for time in [0, NOW - 301, NOW + 301, u64::MAX] {
            let signature = secret.sign("n1", time, BODY.as_bytes());
            assert!(
                check(time, "n1", BODY, &signature)
                    .unwrap_err()
                    .is_foreign()
            );
        }
        let signature = secret.sign("n1", NOW, BODY.as_bytes());
        let tampered = r#"{"statusUpdate":{"taskId":"t2","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;
        assert!(
            check(NOW, "n1", tampered, &signature)
                .unwrap_err()
                .is_foreign()
        );
        assert!(check(NOW, "n2", BODY, &signature).unwrap_err().is_foreign());
        assert!(receive(&receiver, &[], BODY).unwrap_err().is_foreign());
    }
}
