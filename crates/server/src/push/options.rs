use std::fmt;
use std::time::Duration;

use llamon_client::egress::{Egress, EgressBuilder, Resolve};
use llamon_client::push::SigningSecret;

use crate::config_error::ConfigError;

/// That a server sends push notifications, and how.
///
/// A receiver's URL comes from a client, so it is guarded: https only, and no address of this
/// machine, of a private network or of a metadata service; see [`llamon_client::egress`]. What
/// loosens a rule has a name of its own here.
///
/// ```
/// use std::time::Duration;
/// use llamon_server::PushNotifications;
///
/// let push = PushNotifications::new()
///     .trust_origin("http://collector.internal:9000")
///     .max_attempts(5)
///     .backoff(Duration::from_secs(2), Duration::from_secs(60));
/// ```
#[derive(Clone)]
#[must_use = "options do nothing until a server is given them"]
pub struct PushNotifications {
    egress: EgressBuilder,
    timeout: Duration,
    pub(super) max_attempts: u32,
    pub(super) first_pause: Duration,
    pub(super) longest_pause: Duration,
    pub(super) max_requests: usize,
    pub(super) max_requests_per_host: usize,
    pub(super) secret: Option<SigningSecret>,
}

impl PushNotifications {
    /// The default settings: 12 attempts within about half an hour, 15 s for each.
    pub fn new() -> Self {
        Self {
            egress: Egress::builder(),
            timeout: Duration::from_secs(15),
            max_attempts: 12,
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(10 * 60),
            max_requests: 256,
            max_requests_per_host: 16,
            secret: None,
        }
    }

    /// Trusts receivers at the origin of `url`, whatever it resolves to; see
    /// [`EgressBuilder::trust_origin`].
    pub fn trust_origin(mut self, url: impl Into<String>) -> Self {
        self.egress = self.egress.trust_origin(url);
        self
    }

    /// Lets receivers be on this machine.
    pub fn allow_loopback(mut self) -> Self {
        self.egress = self.egress.allow_loopback();
        self
    }

    /// Lets receivers be in private networks.
    pub fn allow_private_networks(mut self) -> Self {
        self.egress = self.egress.allow_private_networks();
        self
    }

    /// Lets receivers have `http` URLs. Events, tokens and credentials can then be read on their
    /// way.
    pub fn allow_plain_http(mut self) -> Self {
        self.egress = self.egress.allow_plain_http();
        self
    }

    /// Finds the addresses of receivers in another way than the operating system does.
    pub fn resolver(mut self, resolver: impl Resolve) -> Self {
        self.egress = self.egress.resolver(resolver);
        self
    }

    /// How long one attempt may take. Default 15 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How often an event is tried before its receiver is given up. Default 12.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts;
        self
    }

    /// The pause after a first failed attempt, which doubles each time, and the longest one, also
    /// of those that a receiver asks for with `Retry-After`. A part of each pause is chance.
    /// Default 1 s and 10 min.
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        self.first_pause = first;
        self.longest_pause = longest;
        self
    }

    /// How many requests run at a time. Default 256.
    pub fn max_requests(mut self, requests: usize) -> Self {
        self.max_requests = requests;
        self
    }

    /// How many requests to one host and port run at a time. Default 16.
    pub fn max_requests_per_host(mut self, requests: usize) -> Self {
        self.max_requests_per_host = requests;
        self
    }

    /// Signs notifications with HMAC-SHA256, as Standard Webhooks has it. A receiver verifies
    /// them with [`llamon_client::push::PushReceiver::signed_with`].
    ///
    /// All receivers share the secret, and whoever has it can sign. So this is for receivers of
    /// one owner; others tell their notifications by a token of their own.
    pub fn sign_with(mut self, secret: SigningSecret) -> Self {
        self.secret = Some(secret);
        self
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        self.egress().map(drop)
    }

    pub(super) fn egress(&self) -> Result<Egress, ConfigError> {
        let counts = [
            ("max_attempts", self.max_attempts == 0),
            ("max_requests", self.max_requests == 0),
            ("max_requests_per_host", self.max_requests_per_host == 0),
            ("timeout", self.timeout.is_zero()),
            ("first pause of the backoff", self.first_pause.is_zero()),
        ];
        if let Some((name, _)) = counts.iter().find(|(_, is_zero)| *is_zero) {
            return Err(ConfigError::push(format!(
                "the {name} of the push notifications is 0; it takes more"
            )));
        }
        if self.longest_pause < self.first_pause {
            return Err(ConfigError::push(format!(
                "the backoff of the push notifications begins with {:?}, which is longer than its \
                 longest pause, {:?}",
                self.first_pause, self.longest_pause
            )));
        }
        let egress = self.egress.clone().timeout(self.timeout);
        // How many run at a time is limited here, before their time begins.
        let egress = egress
            .connect_timeout(self.timeout)
            .max_requests_per_host(self.max_requests);
        egress
            .build()
            .map_err(|error| ConfigError::push(format!("the push notifications: {error}")))
    }
}

impl Default for PushNotifications {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for PushNotifications {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushNotifications")
            .field("egress", &self.egress)
            .field("timeout", &self.timeout)
            .field("max_attempts", &self.max_attempts)
            .field("backoff", &(self.first_pause, self.longest_pause))
            .field("max_requests", &self.max_requests)
            .field("max_requests_per_host", &self.max_requests_per_host)
            .field("signed", &self.secret.is_some())
            .finish()
    }
}
