use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use axum::http::HeaderName;
use llamon_core::a2a::SecurityScheme;

use super::key_file::{self, KeyFile};
use super::{Authenticate, Checked, Identity, KeyHash, Refusal, RequestHead, Security, bearer};
use crate::config_error::ConfigError;

/// How many keys one server knows: each request is compared with all of them.
const MAX_KEYS: usize = 10_000;

/// Knows callers by API keys, of which it keeps only the SHA-256.
///
/// ```
/// # use llamon_core::a2a::{AgentCard, Skill};
/// # use llamon_server::{AgentError, Turn, create_server};
/// use llamon_server::auth::{ApiKey, ApiKeys, Identity};
///
/// # async fn work(_turn: Turn) -> Result<&'static str, AgentError> { Ok("done") }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let card = AgentCard::new("work", "Works", "1.0.0").skill(Skill::new("work", "Work", "Works"));
/// let key = ApiKey::generate()?;
/// let keys = ApiKeys::new().key(key.hash(), Identity::new("alice").of_tenant("acme"));
/// let server = create_server(card, work).authenticate(keys).await?;
/// # drop(server);
/// # Ok(())
/// # }
/// ```
///
/// A caller shows the key in the header `X-Api-Key`, or where [`ApiKeys::header`] or
/// [`ApiKeys::bearer`] says. What was given is hashed first and then compared with every hash that
/// is known, in constant time.
#[must_use]
pub struct ApiKeys {
    place: Place,
    name: String,
    keys: KeyTable,
    file: Option<KeyFile>,
    wrong: Option<ConfigError>,
}

/// Where a caller shows the key.
enum Place {
    Header(String),
    Bearer,
}

/// Hashes and whose they are.
#[derive(Default)]
pub(super) struct KeyTable(Vec<(KeyHash, Identity)>);

impl KeyTable {
    /// # Errors
    /// When the key is another one's already, and when there are too many.
    pub(super) fn add(&mut self, hash: KeyHash, identity: Identity) -> Result<(), String> {
        if self.find(hash).is_some() {
            return Err(format!(
                "the key {hash} is given twice; each caller needs its own"
            ));
        }
        if self.0.len() >= MAX_KEYS {
            return Err(format!("there are more than {MAX_KEYS} API keys"));
        }
        self.0.push((hash, identity));
        Ok(())
    }

    /// Looks at all of them, wherever the right one is.
    pub(super) fn find(&self, hash: KeyHash) -> Option<&Identity> {
        let mut found = None;
        for (known, identity) in &self.0 {
            if *known == hash {
                found = Some(identity);
            }
        }
        found
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl ApiKeys {
    /// Knows nobody yet.
    pub fn new() -> Self {
        Self {
            place: Place::Header("X-Api-Key".to_owned()),
            name: "apiKey".to_owned(),
            keys: KeyTable::default(),
            file: None,
            wrong: None,
        }
    }

    /// Knows one more caller.
    pub fn key(mut self, hash: KeyHash, identity: Identity) -> Self {
        if let Err(why) = self.keys.add(hash, identity) {
            self.wrong.get_or_insert(ConfigError::authentication(why));
        }
        self
    }

    /// Knows the callers of a file, too: one a line, as `llamon key new` prints it, with
    /// `tenant=` and `scopes=` (separated by commas) where there are any:
    ///
    /// ```text
    /// # Comments and empty lines are left out.
    /// sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad alice
    /// sha256:cb8379ac2098aa165029e3938a51da0bcecfc008fd6795f401178647f96c5b34 bob tenant=acme scopes=tasks:read
    /// ```
    ///
    /// The file is read again while the server runs, at most every 2 seconds
    /// ([`ApiKeys::reload_interval`]) and only when somebody calls. One that cannot be read then is
    /// logged as an error, and the keys stay as they were; to take all away, empty it.
    ///
    /// # Errors
    /// When the file cannot be read, is larger than 4 MiB, or a line is wrong.
    pub fn file(mut self, path: impl Into<PathBuf>) -> Result<Self, ConfigError> {
        self.file = Some(KeyFile::open(path.into())?);
        Ok(self)
    }

    /// A caller's line for such a file.
    ///
    /// # Errors
    /// When a name or scope of theirs cannot stand in it, as it has a space.
    pub fn file_line(hash: KeyHash, identity: &Identity) -> Result<String, ConfigError> {
        key_file::line(hash, identity).map_err(ConfigError::authentication)
    }

    /// How soon a change of the file counts. Default 2 s.
    pub fn reload_interval(mut self, interval: Duration) -> Self {
        if let Some(file) = &mut self.file {
            file.set_interval(interval);
        }
        self
    }

    /// The header that callers show the key in. Default `X-Api-Key`.
    pub fn header(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        if HeaderName::try_from(name.as_str()).is_err() {
            self.wrong
                .get_or_insert(ConfigError::authentication(format!(
                    "{name:?} is no name of an HTTP header for API keys"
                )));
        }
        self.place = Place::Header(name);
        self
    }

    /// Callers show the key as `Authorization: Bearer <key>`.
    pub fn bearer(mut self) -> Self {
        self.place = Place::Bearer;
        self
    }

    /// What the scheme is called on the card. Default `apiKey`.
    pub fn scheme_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// What the caller shows, or how they can.
    fn given<'a>(&self, request: &RequestHead<'a>) -> Result<&'a str, Refusal> {
        match &self.place {
            Place::Header(name) => request.header(name).ok_or_else(|| {
                let message = format!("send your API key in the header {name}");
                Refusal::unauthenticated(challenge(name), message)
            }),
            Place::Bearer => bearer::token(request).ok_or_else(|| {
                let message = "send your API key as Authorization: Bearer";
                Refusal::unauthenticated(bearer::CHALLENGE, message)
            }),
        }
    }

    fn unknown(&self) -> Refusal {
        let message = "the API key is not known here";
        match &self.place {
            Place::Header(name) => Refusal::unauthenticated(challenge(name), message),
            Place::Bearer => Refusal::unauthenticated(bearer::invalid(message), message),
        }
    }
}

impl Authenticate for ApiKeys {
    fn authenticate<'a>(&'a self, request: &'a RequestHead<'a>) -> Checked<'a> {
        Box::pin(async move {
            let hash = KeyHash::of(self.given(request)?);
            if let Some(identity) = self.keys.find(hash) {
                return Ok(identity.clone());
            }
            let in_file = match &self.file {
                Some(file) => file.current().await.find(hash).cloned(),
                None => None,
            };
            in_file.ok_or_else(|| self.unknown())
        })
    }

    fn security(&self) -> Security {
        let scheme = match &self.place {
            Place::Header(name) => SecurityScheme::api_key("header", name),
            Place::Bearer => SecurityScheme::http("Bearer"),
        };
        Security::one(&self.name, scheme)
    }

    fn check(&self) -> Result<(), ConfigError> {
        self.wrong.clone().map_or(Ok(()), Err)
    }
}

impl Default for ApiKeys {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKeys")
            .field("keys", &self.keys.len())
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

fn challenge(header: &str) -> String {
    format!("ApiKey header=\"{header}\"")
}
