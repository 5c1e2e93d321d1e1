//! Clients of a plan's agents: each card is fetched once.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use llamon_client::{Client, ClientBuilder, ClientError};
use tokio::sync::OnceCell;

use crate::plan::Agent;

/// Longer than any step waits: the step's own time is what counts.
const NO_LIMIT: Duration = Duration::from_secs(366 * 24 * 3600);

pub(super) struct Agents {
    settings: ClientBuilder,
    clients: Mutex<HashMap<Key, Arc<OnceCell<Client>>>>,
}

/// What makes two clients the same.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    url: String,
    binding: Option<&'static str>,
    trusted: Vec<String>,
    bearer: Option<String>,
}

/// Why there is no client.
pub(super) enum NoClient {
    /// The plan or its surroundings must change.
    Usage(String),
    Client(ClientError),
}

impl Agents {
    pub(super) fn new(settings: ClientBuilder) -> Self {
        Self {
            settings: settings.timeout(NO_LIMIT).idle_timeout(NO_LIMIT),
            clients: Mutex::default(),
        }
    }

    /// The agent's client. A card that could not be fetched is fetched again the next time.
    pub(super) async fn client(&self, agent: &Agent) -> Result<Client, NoClient> {
        let key = Key {
            url: agent.url().to_owned(),
            binding: agent.preferred_binding().map(|binding| binding.as_str()),
            trusted: agent.trusted_origins().to_vec(),
            bearer: agent.bearer_variable().map(str::to_owned),
        };
        let cell = {
            let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(clients.entry(key).or_default())
        };
        let client = cell.get_or_try_init(|| self.discover(agent)).await?;
        Ok(client.clone())
    }

    async fn discover(&self, agent: &Agent) -> Result<Client, NoClient> {
        let builder = agent.configure(self.settings.clone());
        let builder = builder.map_err(NoClient::Usage)?;
        builder
            .discover(agent.url())
            .await
            .map_err(NoClient::Client)
    }
}

impl fmt::Debug for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Agents")
    }
}
