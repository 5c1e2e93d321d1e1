use std::time::Duration;

use llamon_core::Limits;
use url::Url;

use crate::address;
use crate::binding::Binding;
use crate::client::{Client, Parts, Waits, fetch_card};
use crate::credentials::{self, Credentials};
use crate::egress::{Egress, EgressBuilder};
use crate::error::ClientError;
use crate::signing::CardVerifier;

/// Settings of a client, and the ways to make one.
///
/// ```no_run
/// use std::time::Duration;
/// use llamon_client::{Binding, Client};
///
/// # async fn example() -> Result<(), llamon_client::ClientError> {
/// let client = Client::builder()
///     .binding(Binding::Rest)
///     .timeout(Duration::from_secs(30))
///     .trust_origin("https://agents.example.com")
///     .discover("https://example.com")
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "settings do nothing until a client is made of them"]
pub struct ClientBuilder {
    bindings: Vec<Binding>,
    timeout: Duration,
    idle_timeout: Duration,
    connect_timeout: Duration,
    max_attempts: u32,
    resume_attempts: u32,
    egress: EgressBuilder,
    limits: Limits,
    extensions: Vec<String>,
    credentials: credentials::Settings,
    verifier: Option<CardVerifier>,
}

impl ClientBuilder {
    pub(crate) fn new() -> Self {
        let minutes = |n: u64| Duration::from_secs(60 * n);
        Self {
            bindings: Vec::new(),
            timeout: minutes(5),
            idle_timeout: minutes(5),
            connect_timeout: Duration::from_secs(10),
            max_attempts: 3,
            resume_attempts: 10,
            egress: Egress::builder(),
            limits: Limits::default(),
            extensions: Vec::new(),
            credentials: credentials::Settings::default(),
            verifier: None,
        }
    }

    /// Uses this binding, which the card must offer. Otherwise the first interface on the card
    /// that this client speaks is used: the card has the preferred one first.
    pub fn binding(self, binding: Binding) -> Self {
        self.bindings([binding])
    }

    /// Uses the first of these bindings that the card offers, whatever its place on the card; it
    /// must offer one of them. None at all is the order of the card.
    pub fn bindings(mut self, preferred: impl IntoIterator<Item = Binding>) -> Self {
        self.bindings = preferred.into_iter().collect();
        self
    }

    /// Says that the caller supports an extension of the protocol, in every call (A2A section
    /// 4.6). [`Outgoing::extension`](crate::Outgoing::extension) says it for one message.
    ///
    /// A call to an agent that requires an extension which was not named fails before anything
    /// is sent.
    pub fn extension(mut self, uri: impl Into<String>) -> Self {
        self.extensions.push(uri.into());
        self
    }

    /// Sends `Authorization: Bearer` with this token.
    ///
    /// Credentials go to the origin (scheme, host and port) of the URL that the client is made
    /// with, and nowhere else: a card cannot have them sent to an address of its choice. An agent
    /// whose interface is on another origin is refused unless that is named with
    /// [`ClientBuilder::credentials_origin`]. They are in no error, no log and no `Debug`.
    pub fn bearer(mut self, token: impl AsRef<str>) -> Self {
        let value = format!("Bearer {}", token.as_ref());
        self.credentials.add_header("authorization", value);
        self
    }

    /// Sends a header such as `X-API-Key` with this value; see [`ClientBuilder::bearer`].
    pub fn api_key(mut self, header: impl Into<String>, value: impl Into<String>) -> Self {
        self.credentials.add_header(header, value);
        self
    }

    /// Asks `credentials` for the headers of each call; see [`ClientBuilder::bearer`].
    pub fn credentials(mut self, credentials: impl Credentials) -> Self {
        self.credentials.add(credentials);
        self
    }

    /// Lets credentials go to the origin of `url` as well. It is not trusted by that; see
    /// [`ClientBuilder::trust_origin`].
    pub fn credentials_origin(mut self, url: impl Into<String>) -> Self {
        self.credentials.add_origin(url);
        self
    }

    /// How long a call without streaming may take, all attempts and the whole answer included.
    /// Default 5 minutes. A send waits until the task has come to rest, unless it is sent with
    /// [`Outgoing::return_immediately`](crate::Outgoing::return_immediately).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How long a stream may be silent, before its first byte as well. Default 5 minutes.
    /// Keep-alives count as bytes; gRPC's are pings of the connection, which breaks where nobody
    /// answers them for 20 seconds.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// How long a connection may take to be made, TLS included. Default 10 seconds.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How often a call is attempted at most, the first attempt included. Default 3; 1 switches
    /// repeating off.
    ///
    /// Only reading is repeated: the card, get, list, and the opening of a subscription; and
    /// only where [`ClientError::is_temporary`] holds. Sending and canceling are attempted once,
    /// whatever is set here. The pause begins at 100 ms and doubles, half of it by chance.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts;
        self
    }

    /// How often in a row it is attempted to continue a stream that broke while its task was not
    /// at rest: the connection was lost, nothing came for the idle time, or the server ended it.
    /// Default 10, which is about 20 seconds of a server that is away; 0 switches it off, and
    /// then such a stream ends with [`ClientError::is_interrupted_stream`].
    ///
    /// [`EventStream`](crate::EventStream) says what a continued stream gives. A message is never
    /// sent again. What is counted begins anew when the agent says something new.
    pub fn resume_attempts(mut self, attempts: u32) -> Self {
        self.resume_attempts = attempts;
        self
    }

    /// Trusts an origin, scheme, host and port of `url`, as the card's own is trusted.
    ///
    /// An interface on any other origin has to keep the rules for URLs that nobody named: https,
    /// and no address of this machine or a private network (see [`egress`](crate::egress)). So a
    /// card cannot use the client to reach what only the client's network reaches. `localhost`
    /// and `127.0.0.1` are two origins.
    pub fn trust_origin(mut self, url: impl Into<String>) -> Self {
        self.egress = self.egress.trust_origin(url);
        self
    }

    /// The rules for URLs that nobody named, and the origins that are trusted already; it
    /// replaces what was set with [`ClientBuilder::trust_origin`] before. Its times, size and
    /// requests per host are not used: a client has its own.
    pub fn egress(mut self, egress: EgressBuilder) -> Self {
        self.egress = egress;
        self
    }

    /// The limits that the agent's own server is likely to have. From them follows what an
    /// answer may have: four times `max_body_bytes` (64 MiB by default), which also bounds each
    /// event of a stream and the answer that is folded from it; `max_json_depth` and a few
    /// levels more; ten times `max_message_parts`; and `max_artifacts`.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Takes no card that is not signed by a key that the verifier trusts (A2A section 8.4.3),
    /// the extended card included. Default: signatures are not looked at.
    pub fn verify_card(mut self, verifier: CardVerifier) -> Self {
        self.verifier = Some(verifier);
        self
    }

    /// Fetches the card of the agent at `url` and makes a client for it.
    ///
    /// `url` is the agent's base URL, with or without a slash at its end, under which the card
    /// is at `.well-known/agent-card.json`; or the card's own URL, which ends in `.json` (A2A
    /// section 8.2).
    ///
    /// Cancel-safe: when the future is dropped, nothing is left behind.
    ///
    /// # Errors
    /// When a setting or the URL is wrong, when the card cannot be fetched, is none or is not
    /// signed as [`ClientBuilder::verify_card`] wants ([`ClientError::is_untrusted_card`]), when it
    /// has no interface that this client speaks, and when its interface is on another origin that
    /// was not named and does not keep the rules.
    pub async fn discover(self, url: &str) -> Result<Client, ClientError> {
        let card_url = address::card_url(url)?;
        self.named(&card_url).fetch(card_url, Card::Named).await
    }

    /// Fetches the text of the card of the agent at `url`, whatever it says: it need not be one
    /// that a client can be made of. Its signatures are not looked at.
    ///
    /// Cancel-safe.
    ///
    /// # Errors
    /// When a setting or the URL is wrong, and when there is no text within the client's time and
    /// limits.
    pub async fn fetch_card(self, url: &str) -> Result<String, ClientError> {
        let card_url = address::card_url(url)?;
        let (parts, waits) = self.named(&card_url).check(&card_url, Card::Named)?;
        Ok(fetch_card(&parts, &waits, &card_url).await?.to_string())
    }

    /// As [`ClientBuilder::discover`], for a URL that somebody else gave: in a message, on
    /// another card, in a list. It is not trusted either and has to keep the rules for URLs that
    /// nobody named. Credentials are not sent to its origin unless that is named for them.
    ///
    /// # Errors
    /// As [`ClientBuilder::discover`], and when the URL or what it leads to is refused.
    pub async fn discover_guarded(self, url: &str) -> Result<Client, ClientError> {
        let card_url = address::card_url(url)?;
        self.fetch(card_url, Card::FromOutside).await
    }

    /// Makes a client of a card that was fetched before, from `card_url`. Does no I/O.
    ///
    /// # Errors
    /// As [`ClientBuilder::discover`].
    pub fn with_card(self, card_json: &str, card_url: &str) -> Result<Client, ClientError> {
        let card_url = address::parse(card_url)?;
        let (parts, waits) = self.named(&card_url).check(&card_url, Card::Named)?;
        Client::new(card_json.into(), &card_url, parts, waits)
    }

    fn named(self, card_url: &Url) -> Self {
        self.trust_origin(card_url.as_str())
    }

    async fn fetch(self, card_url: Url, card: Card) -> Result<Client, ClientError> {
        let (parts, waits) = self.check(&card_url, card)?;
        let card_json = fetch_card(&parts, &waits, &card_url).await?;
        Client::new(card_json, &card_url, parts, waits)
    }

    fn check(self, card_url: &Url, card: Card) -> Result<(Parts, Waits), ClientError> {
        let times = [
            ("timeout", self.timeout),
            ("idle_timeout", self.idle_timeout),
            ("connect_timeout", self.connect_timeout),
        ];
        if let Some((name, _)) = times.iter().find(|(_, time)| time.is_zero()) {
            return Err(ClientError::usage(format!(
                "the client's {name} is 0 s; it needs some time"
            )));
        }
        if self.max_attempts == 0 {
            return Err(ClientError::usage(
                "the client's max_attempts is 0; it takes 1 (no repeating) or more",
            ));
        }
        self.limits
            .check()
            .map_err(|error| ClientError::usage(error.to_string()))?;
        let parts = Parts {
            preferred: self.bindings,
            extensions: self.extensions,
            wallet: self
                .credentials
                .check((card == Card::Named).then_some(card_url))?,
            egress: self.egress.connect_timeout(self.connect_timeout).build()?,
            limits: self.limits,
            verifier: self.verifier,
        };
        let waits = Waits {
            timeout: self.timeout,
            idle_timeout: self.idle_timeout,
            max_attempts: self.max_attempts,
            resume_attempts: self.resume_attempts,
        };
        Ok((parts, waits))
    }
}

/// Whose word there is for a card's URL.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Card {
    /// The caller's.
    Named,
    /// Nobody's.
    FromOutside,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self::new()
    }
}
