//! Where an issuer's keys come from, and how often they are fetched.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use llamon_client::egress::{Egress, Method};
use llamon_core::json::Tree;
use tokio::sync::watch;
use tokio::time::Instant;

use super::key::KeySet;

/// Where OpenID Connect Discovery has its document, below the issuer.
pub(in crate::auth) const DISCOVERY_PATH: &str = "/.well-known/openid-configuration";
const MAX_DEPTH: u32 = 16;

/// The keys that tokens are verified with.
#[derive(Clone, Debug)]
pub(super) enum Keys {
    Fixed(Arc<KeySet>),
    Fetched(Arc<Fetched>),
}

/// Keys that are fetched from their issuer and kept.
pub(super) struct Fetched {
    place: Place,
    egress: Egress,
    timing: Timing,
    state: Mutex<State>,
}

/// Where they are.
#[derive(Clone, Debug)]
pub(super) enum Place {
    KeySet(String),
    /// Where the issuer's discovery document says.
    Issuer(String),
}

/// When they are fetched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// From when on they are fetched anew, while they are still used.
    pub(super) max_age: Duration,
    /// Between two fetches, at least.
    pub(super) interval: Duration,
    /// How long a request waits for a fetch.
    pub(super) patience: Duration,
    /// How long they are used when they cannot be fetched any more.
    pub(super) usable_for: Duration,
}

#[derive(Default)]
struct State {
    keys: Option<(Arc<KeySet>, Instant)>,
    /// When the last fetch began.
    tried: Option<Instant>,
    last_failed: bool,
    /// Closed at the end of the fetch that runs.
    running: Option<watch::Receiver<()>>,
}

/// It cannot be said whether a key is the issuer's.
#[derive(Debug)]
pub(super) struct Unreachable;

impl Default for Timing {
    fn default() -> Self {
        Self {
            max_age: Duration::from_secs(10 * 60),
            interval: Duration::from_secs(10),
            patience: Duration::from_secs(5),
            usable_for: Duration::from_secs(24 * 60 * 60),
        }
    }
}

impl Keys {
    /// The keys as they are known, fetched first where none are.
    pub(super) async fn current(&self) -> Result<Arc<KeySet>, Unreachable> {
        match self {
            Self::Fixed(keys) => Ok(Arc::clone(keys)),
            Self::Fetched(fetched) => fetched.current().await,
        }
    }

    /// The keys after a fetch, for a token whose key is not among those that were known; `None`
    /// where they were fetched a moment ago.
    pub(super) async fn fresher(&self) -> Result<Option<Arc<KeySet>>, Unreachable> {
        match self {
            Self::Fixed(_) => Ok(None),
            Self::Fetched(fetched) => fetched.fresher().await,
        }
    }
}

impl Fetched {
    pub(super) fn new(place: Place, egress: Egress, timing: Timing) -> Self {
        Self {
            place,
            egress,
            timing,
            state: Mutex::default(),
        }
    }

    async fn current(self: &Arc<Self>) -> Result<Arc<KeySet>, Unreachable> {
        match self.known() {
            Some((keys, age)) => {
                if age >= self.timing.max_age {
                    // Nobody waits for it: these are good until it has ended.
                    drop(self.fetch());
                }
                Ok(keys)
            }
            None => {
                self.fetched().await?;
                self.known().map(|(keys, _)| keys).ok_or(Unreachable)
            }
        }
    }

    async fn fresher(self: &Arc<Self>) -> Result<Option<Arc<KeySet>>, Unreachable> {
        let has_fetched = self.fetched().await?;
        if self.lock().last_failed {
            return Err(Unreachable);
        }
        let fresh = has_fetched.then(|| self.known()).flatten();
        Ok(fresh.map(|(keys, _)| keys))
    }

    /// Waits for a fetch, if there is to be one.
    async fn fetched(self: &Arc<Self>) -> Result<bool, Unreachable> {
        let Some(mut running) = self.fetch() else {
            return Ok(false);
        };
        // An error is a closed channel, which is the end that is waited for.
        let ended = async { while running.changed().await.is_ok() {} };
        let ended = tokio::time::timeout(self.timing.patience, ended).await;
        ended.map(|()| true).map_err(|_| Unreachable)
    }

    /// The fetch that runs, or a new one unless the last has just begun. It goes on when nobody
    /// waits any more, so that callers who come and go cannot keep it from ending.
    fn fetch(self: &Arc<Self>) -> Option<watch::Receiver<()>> {
        let mut state = self.lock();
        if let Some(running) = &state.running {
            return Some(running.clone());
        }
        let tried = state.tried.map(|tried| tried.elapsed());
        if tried.is_some_and(|since| since < self.timing.interval) {
            return None;
        }
        let (end, running) = watch::channel(());
        state.tried = Some(Instant::now());
        state.running = Some(running.clone());
        let ending = Ending {
            fetched: Arc::clone(self),
            _end: end,
        };
        tokio::spawn(async move {
            let fetched = &ending.fetched;
            let answer = fetched.ask().await;
            fetched.settle(answer);
        });
        Some(running)
    }

    fn settle(&self, answer: Result<KeySet, String>) {
        let mut state = self.lock();
        state.last_failed = answer.is_err();
        match answer {
            Ok(keys) => {
                tracing::debug!(from = %self.place, keys = keys.len(), "keys of an issuer fetched");
                state.keys = Some((Arc::new(keys), Instant::now()));
            }
            Err(error) => {
                tracing::warn!(from = %self.place, %error, "keys of an issuer could not be fetched");
            }
        }
    }

    async fn ask(&self) -> Result<KeySet, String> {
        let text = match &self.place {
            Place::KeySet(url) => self.get(url).await?,
            Place::Issuer(issuer) => {
                let document = self.get(&discovery_url(issuer)).await?;
                self.get(&jwks_uri(&document, issuer)?).await?
            }
        };
        KeySet::read(&text)
    }

    async fn get(&self, url: &str) -> Result<String, String> {
        let headers = [("accept", "application/json")];
        let answer = self.egress.request(Method::Get, url, &headers, "").await;
        let answer = answer.map_err(|error| error.to_string())?;
        if answer.status() != 200 {
            return Err(format!("the answer has status {}", answer.status()));
        }
        let body = Vec::from(answer.into_body());
        String::from_utf8(body).map_err(|_| "the answer is not UTF-8".to_owned())
    }

    /// The keys with their age, while they may be used.
    fn known(&self) -> Option<(Arc<KeySet>, Duration)> {
        let state = self.lock();
        let (keys, since) = state.keys.as_ref()?;
        let age = since.elapsed();
        (age < self.timing.usable_for).then(|| (Arc::clone(keys), age))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Fetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetched")
            .field("place", &self.place)
            .field("timing", &self.timing)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeySet(url) | Self::Issuer(url) => f.write_str(url),
        }
    }
}

/// Ends a fetch, also where it panics or its runtime stops.
struct Ending {
    fetched: Arc<Fetched>,
    _end: watch::Sender<()>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.fetched.lock().running = None;
    }
}

/// OpenID Connect Discovery 1.0, section 4: a slash at the end of the issuer is taken off.
pub(in crate::auth) fn discovery_url(issuer: &str) -> String {
    format!("{}{DISCOVERY_PATH}", issuer.trim_end_matches('/'))
}

/// Where the keys are, of a document that is this issuer's (section 4.3).
fn jwks_uri(document: &str, issuer: &str) -> Result<String, String> {
    let document = Tree::parse(document, MAX_DEPTH)
        .map_err(|error| format!("the discovery document cannot be read: {error}"))?;
    let text = |name: &str| document.get(name).and_then(Tree::as_text);
    if text("issuer") != Some(issuer) {
        return Err(format!(
            "the discovery document is not of the issuer {issuer:?}, to the letter"
        ));
    }
    let keys = text("jwks_uri").ok_or("the discovery document has no text \"jwks_uri\"")?;
    Ok(keys.to_owned())
}
