use std::path::{Path, PathBuf};

use llamon_client::{Binding, ClientBuilder};

/// An agent that a plan calls.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it does nothing until a plan has it"]
pub struct Agent {
    pub(crate) url: String,
    pub(crate) card: Option<PathBuf>,
    pub(crate) binding: Option<Binding>,
    pub(crate) trust_origins: Vec<String>,
    pub(crate) bearer_env: Option<String>,
}

impl Agent {
    /// The agent at `url`, its base URL or its card's.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            card: None,
            binding: None,
            trust_origins: Vec::new(),
            bearer_env: None,
        }
    }

    /// A file with the agent's card, for a check that asks nobody; relative to the plan's file.
    pub fn saved_card(mut self, path: impl Into<PathBuf>) -> Self {
        self.card = Some(path.into());
        self
    }

    /// How it is called, if its card offers several ways.
    pub fn binding(mut self, binding: Binding) -> Self {
        self.binding = Some(binding);
        self
    }

    /// An origin that its card may name an interface on; see
    /// [`ClientBuilder::trust_origin`](llamon_client::ClientBuilder::trust_origin).
    pub fn trust_origin(mut self, url: impl Into<String>) -> Self {
        self.trust_origins.push(url.into());
        self
    }

    /// The environment variable that has its bearer token. A plan holds no secrets.
    pub fn bearer_env(mut self, variable: impl Into<String>) -> Self {
        self.bearer_env = Some(variable.into());
        self
    }

    /// Its base URL, or its card's.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The file with its card.
    pub fn card_file(&self) -> Option<&Path> {
        self.card.as_deref()
    }

    /// How it is called.
    pub fn preferred_binding(&self) -> Option<Binding> {
        self.binding
    }

    /// Origins that its card may name an interface on.
    pub fn trusted_origins(&self) -> &[String] {
        &self.trust_origins
    }

    /// The environment variable that has its bearer token.
    pub fn bearer_variable(&self) -> Option<&str> {
        self.bearer_env.as_deref()
    }
}

impl Agent {
    /// The settings of a client with what the plan says of the agent: its binding, the origins that
    /// are trusted, and its token.
    ///
    /// # Errors
    /// When the variable that has the token is not set; the message names it.
    pub(crate) fn configure(&self, mut client: ClientBuilder) -> Result<ClientBuilder, String> {
        if let Some(binding) = self.binding {
            client = client.binding(binding);
        }
        for origin in &self.trust_origins {
            client = client.trust_origin(&**origin);
        }
        if let Some(variable) = &self.bearer_env {
            let token = std::env::var(variable).map_err(|_| {
                format!(
                    "the environment variable {variable}, which has the agent's token, is not set"
                )
            })?;
            client = client.bearer(token);
        }
        Ok(client)
    }
}
