//! API keys in a file, read again while the server runs.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::api_keys::KeyTable;
use super::{Identity, KeyHash};
use crate::config_error::ConfigError;

const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;
const RELOAD_INTERVAL: Duration = Duration::from_secs(2);

pub(super) struct KeyFile {
    path: PathBuf,
    interval: Duration,
    state: Mutex<State>,
    /// One request reads; those that come meanwhile wait, so that a key which was taken away is
    /// not taken once the interval is over.
    reading: tokio::sync::Mutex<()>,
}

struct State {
    keys: Arc<KeyTable>,
    /// What the file said last, wrong or not, so that it is read into keys only when it changes.
    text: Result<String, String>,
    /// `None` before the first request, as no clock of the runtime need exist then.
    checked: Option<Instant>,
}

impl KeyFile {
    pub(super) fn open(path: PathBuf) -> Result<Self, ConfigError> {
        let text = read(&path).map_err(ConfigError::authentication)?;
        let keys = parse(&path, &text).map_err(ConfigError::authentication)?;
        Ok(Self {
            path,
            interval: RELOAD_INTERVAL,
            state: Mutex::new(State {
                keys: Arc::new(keys),
                text: Ok(text),
                checked: None,
            }),
            reading: tokio::sync::Mutex::new(()),
        })
    }

    pub(super) fn set_interval(&mut self, interval: Duration) {
        self.interval = interval;
    }

    /// The keys, not older than the interval.
    pub(super) async fn current(&self) -> Arc<KeyTable> {
        if let Some(keys) = self.fresh() {
            return keys;
        }
        let _one = self.reading.lock().await;
        if let Some(keys) = self.fresh() {
            return keys;
        }
        let path = self.path.clone();
        let text = tokio::task::spawn_blocking(move || read(&path)).await;
        let text = text.unwrap_or_else(|error| Err(error.to_string()));
        self.settle(text)
    }

    fn fresh(&self) -> Option<Arc<KeyTable>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let age = state.checked.map(|checked| checked.elapsed());
        let is_fresh = age.is_some_and(|age| age < self.interval);
        is_fresh.then(|| Arc::clone(&state.keys))
    }

    fn settle(&self, text: Result<String, String>) -> Arc<KeyTable> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.checked = Some(Instant::now());
        if state.text != text {
            let parsed = text.as_deref().map_err(Clone::clone);
            match parsed.and_then(|text| parse(&self.path, text)) {
                Ok(keys) => {
                    tracing::info!(path = %self.path.display(), keys = keys.len(), "API keys read");
                    state.keys = Arc::new(keys);
                }
                Err(error) => {
                    tracing::error!(%error, "the API keys stay as they were before");
                }
            }
            state.text = text;
        }
        Arc::clone(&state.keys)
    }
}

impl fmt::Debug for KeyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeyFile").field(&self.path).finish()
    }
}

/// A caller as a line.
///
/// # Errors
/// When a name of theirs would be read as something else.
pub(super) fn line(hash: KeyHash, identity: &Identity) -> Result<String, String> {
    let mut line = format!("{hash} {}", identity.principal());
    if let Some(tenant) = identity.tenant() {
        line.push_str(&format!(" tenant={tenant}"));
    }
    let scopes: Vec<&str> = identity.scopes().collect();
    if !scopes.is_empty() {
        line.push_str(&format!(" scopes={}", scopes.join(",")));
    }
    let read = parse(Path::new("the new one"), &line);
    if read.is_ok_and(|table| table.find(hash) == Some(identity)) {
        return Ok(line);
    }
    Err(format!(
        "the caller {:?} cannot stand in a line of a file: names and scopes are not empty and have \
         no spaces, no \"=\" in the caller's name and no \",\" in a scope",
        identity.principal()
    ))
}

fn read(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let failed = |error| format!("the file of API keys {shown} cannot be read: {error}");
    let file = File::open(path).map_err(failed)?;
    let mut text = String::new();
    let most = MAX_FILE_BYTES + 1;
    file.take(most).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(format!(
            "the file of API keys {shown} has more than {MAX_FILE_BYTES} bytes"
        ));
    }
    Ok(text)
}

/// Errors name the line and never show it: it can hold a key that somebody took for its hash.
fn parse(path: &Path, text: &str) -> Result<KeyTable, String> {
    let mut table = KeyTable::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let number = index + 1;
        let wrong = |why: String| format!("line {number} of {}: {why}", path.display());
        let mut words = line.split_ascii_whitespace();
        let hash = words.next().unwrap_or_default().parse();
        let hash = hash.map_err(|error: ConfigError| wrong(error.to_string()))?;
        let Some(principal) = words.next().filter(|word| !word.contains('=')) else {
            let why = "after the hash comes the caller's name, which has no = and no spaces";
            return Err(wrong(why.to_owned()));
        };
        let mut identity = Identity::new(principal);
        for word in words {
            identity = match word.split_once('=') {
                Some(("tenant", tenant)) if !tenant.is_empty() => identity.of_tenant(tenant),
                Some(("scopes", scopes)) => {
                    let scopes = scopes.split(',').filter(|scope| !scope.is_empty());
                    identity.with_scopes(scopes)
                }
                _ => {
                    let why = "after the name come tenant=<name> and scopes=<one>,<another> only";
                    return Err(wrong(why.to_owned()));
                }
            };
        }
        table.add(hash, identity).map_err(wrong)?;
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{line, parse};
    use crate::auth::{ApiKey, Identity};

    #[test]
    fn a_line_that_is_wrong_is_named_and_not_shown() {
        let key = ApiKey::generate().unwrap();
        let (secret, hash) = (key.expose(), key.hash());
        for (text, expected) in [
            (format!("# x\n\n{hash} alice tenant=a scopes=x,y\n"), None),
            (String::new(), None),
            (
                format!("\n{secret} alice"),
                Some("line 2 of keys: the hash"),
            ),
            (format!("{hash}"), Some("line 1 of keys: after the hash")),
            (
                format!("{hash} tenant=a"),
                Some("line 1 of keys: after the hash"),
            ),
            (
                format!("{hash} alice tenant="),
                Some("line 1 of keys: after the name"),
            ),
            (
                format!("{hash} alice {secret}"),
                Some("line 1 of keys: after the name"),
            ),
            (
                format!("{hash} a\n{hash} b"),
                Some("line 2 of keys: the key sha256:"),
            ),
        ] {
            let error = parse(Path::new("keys"), &text).err();
            match (&error, expected) {
                (None, None) => {}
                (Some(error), Some(expected)) => {
                    assert!(error.starts_with(expected), "{error}");
                    assert!(!error.contains(secret), "{error}");
                }
                _ => panic!("{text}: {error:?}"),
            }
        }
    }

    #[test]
    fn a_line_is_read_as_whom_it_was_written_for_or_not_written() {
        let hash = ApiKey::generate().unwrap().hash();
        let alice = || Identity::new("alice");
        for (identity, expected) in [
            (alice(), Some("alice")),
            (
                alice().of_tenant("a=b").with_scopes(["y", "x"]),
                Some("alice tenant=a=b scopes=x,y"),
            ),
            (Identity::new(""), None),
            (Identity::new("a b"), None),
            (Identity::new("a\nb"), None),
            (Identity::new("tenant=x"), None),
            (alice().of_tenant(""), None),
            (alice().of_tenant("a b"), None),
            (alice().with_scopes(["x,y"]), None),
            (alice().with_scopes(["x y"]), None),
        ] {
            let found = line(hash, &identity).ok();
            let expected = expected.map(|rest| format!("{hash} {rest}"));
            assert_eq!(found, expected, "{identity:?}");
        }
    }
}
