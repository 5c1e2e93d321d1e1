use std::future::{IntoFuture, Ready, ready};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Uri;
use llamon_core::a2a::{AgentCard, AgentExtension, CardError};
use llamon_core::contracts::{self, InputContract, InputContracts};
use llamon_core::{Limits, PolicyError, UpstreamPartsPolicy, provenance};

use crate::agent::{ErasedAgent, IntoAgent};
use crate::backend::{Backend, MemoryBackend};
use crate::clock::Clock;
use crate::config_error::ConfigError;
use crate::engine::Engine;
use crate::handler::{Handler, TaskVisibility};
use crate::server::Server;
use crate::turn::{Producer, Shared};

/// Turns an agent into an A2A 1.0 server.
///
/// Returns a builder that is awaited; every mistake in the configuration ends there, the policy
/// first of all, before a socket is bound or a file exists.
///
/// ```
/// use llamon_core::a2a::{AgentCard, Skill};
/// use llamon_server::{AgentError, Turn, create_server};
///
/// async fn shout(turn: Turn) -> Result<String, AgentError> {
///     Ok(turn.query().to_uppercase())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let card = AgentCard::new("shout", "Says it louder", "1.0.0")
///     .skill(Skill::new("shout", "Shout", "Writes a text in capitals"));
/// let server = create_server(card.clone(), shout)
///     .upstream_parts_policy("append")
///     .await?;
///
/// let error = create_server(card, shout)
///     .upstream_parts_policy("merge")
///     .await
///     .unwrap_err();
/// assert!(error.is_policy());
/// # drop(server);
/// # Ok(())
/// # }
/// ```
pub fn create_server<M, A: IntoAgent<M>>(card: AgentCard, agent: A) -> ServerBuilder<M> {
    ServerBuilder {
        card,
        agent: agent.into_agent(),
        policy: Ok(UpstreamPartsPolicy::default()),
        limits: Limits::default(),
        cancel_grace: Duration::from_secs(5),
        shutdown_grace: Duration::from_secs(10),
        public_url: None,
        visibility: TaskVisibility::default(),
        contracts: None,
        publication: Publication::default(),
        output_schema: None,
        provenance: Provenance::default(),
        backend: None,
        clock: Clock::system(),
        kind: PhantomData,
    }
}

/// A server's configuration; see [`create_server`]. Await it to get the [`Server`].
#[must_use = "a server builder does nothing until it is awaited"]
pub struct ServerBuilder<M> {
    card: AgentCard,
    agent: ErasedAgent,
    policy: Result<UpstreamPartsPolicy, PolicyError>,
    limits: Limits,
    cancel_grace: Duration,
    shutdown_grace: Duration,
    public_url: Option<String>,
    visibility: TaskVisibility,
    contracts: Option<InputContracts>,
    publication: Publication,
    output_schema: Option<serde_json::Value>,
    provenance: Provenance,
    backend: Option<Arc<dyn Backend>>,
    clock: Clock,
    kind: PhantomData<fn() -> M>,
}

impl<M> ServerBuilder<M> {
    /// What the agent's answers keep of the upstream data and file parts:
    /// [`UpstreamPartsPolicy`], or exactly `"replace"` (the default) or `"append"`.
    pub fn upstream_parts_policy<P>(mut self, policy: P) -> Self
    where
        P: TryInto<UpstreamPartsPolicy>,
        P::Error: Into<PolicyError>,
    {
        self.policy = policy.try_into().map_err(Into::into);
        self
    }

    /// What the server accepts and keeps.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How long an agent may go on after its task was canceled before it is dropped. Default 5 s.
    pub fn cancel_grace(mut self, grace: Duration) -> Self {
        self.cancel_grace = grace;
        self
    }

    /// How long running turns may go on after the server was told to stop. Default 10 s.
    pub fn shutdown_grace(mut self, grace: Duration) -> Self {
        self.shutdown_grace = grace;
        self
    }

    /// The absolute URL that clients reach the agent under, for the card. Needed behind a proxy,
    /// with [`Server::into_router`], and when listening on all addresses; a card that names its
    /// interfaces wins.
    pub fn public_url(mut self, url: impl Into<String>) -> Self {
        self.public_url = Some(url.into());
        self
    }

    /// Whether others see a task before its agent has said anything.
    pub fn task_visibility(mut self, visibility: TaskVisibility) -> Self {
        self.visibility = visibility;
        self
    }

    /// What the agent reads of what arrives; see [`llamon_core::contracts`]. An agent that takes
    /// its inputs as a struct declares them there and must not be given others here.
    pub fn input_contracts(mut self, contracts: InputContracts) -> Self {
        self.contracts = Some(contracts);
        self
    }

    /// Whether the card says what the agent reads, as an A2A extension, so that a workflow can be
    /// checked before it runs. Default: it does not.
    pub fn contract_publication(mut self, publication: Publication) -> Self {
        self.publication = publication;
        self
    }

    /// JSON Schema 2020-12 of the data that the agent answers with. It is published beside the
    /// contracts, if they are.
    pub fn output_schema(mut self, schema: serde_json::Value) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// Whether the server writes on the agent's own data and file parts who made them, as an A2A
    /// extension. Default: it does not.
    pub fn provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = provenance;
        self
    }

    /// Where tasks are kept. Default: a [`MemoryBackend`] of the server's own.
    pub fn backend(mut self, backend: Arc<dyn Backend>) -> Self {
        self.backend = Some(backend);
        self
    }

    /// Where the server reads the time of day, for tests.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    fn build(mut self) -> Result<Server, ConfigError> {
        let policy = self.policy?;
        self.card.check()?;
        for (index, interface) in self.card.supported_interfaces.iter().enumerate() {
            check_interface(index, &interface.url, &interface.protocol_binding)?;
        }
        self.limits.check()?;
        let contracts = match (self.agent.contracts(), self.contracts) {
            (Some(_), Some(_)) => {
                return Err(ConfigError::contracts(
                    "the agent takes its inputs as a struct, so .input_contracts() must not be \
                     called; declare all inputs in one place",
                ));
            }
            (Some(declared), None) => declared.clone(),
            (None, given) => given.unwrap_or_default(),
        };
        let compiled = contracts.compile()?;
        let compiled = (!compiled.is_empty()).then_some(compiled);
        let extensions = extensions(
            &contracts,
            self.publication,
            self.output_schema.as_ref(),
            self.provenance,
        )?;
        self.card.capabilities.extensions.extend(extensions);
        let producer = (self.provenance == Provenance::Stamped).then(|| Producer {
            name: self.card.name.as_str().into(),
            skill: match &self.card.skills[..] {
                [only] => Some(only.id.as_str().into()),
                _ => None,
            },
        });
        let public_url = self.public_url.map(check_public_url).transpose()?;
        let backend = self.backend.unwrap_or_else(|| {
            tracing::info!(
                agent = %self.card.name,
                "tasks are kept in memory: they are bounded, and lost at a restart"
            );
            Arc::new(MemoryBackend::new(self.limits.clone()))
        });
        let shared = Arc::new(Shared {
            backend,
            clock: self.clock,
            limits: self.limits,
            policy,
            contracts: compiled,
            producer,
        });
        let engine = Engine::new(self.agent, Arc::clone(&shared), self.cancel_grace);
        Ok(Server {
            card: self.card,
            public_url,
            handler: Arc::new(Handler::new(engine, shared, self.visibility)),
            shutdown_grace: self.shutdown_grace,
        })
    }
}

impl<M> IntoFuture for ServerBuilder<M> {
    type Output = Result<Server, ConfigError>;
    type IntoFuture = Ready<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        ready(self.build())
    }
}

impl<M> std::fmt::Debug for ServerBuilder<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerBuilder")
            .field("card", &self.card.name)
            .finish_non_exhaustive()
    }
}

/// Whether the card says what the agent reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Publication {
    /// It does not.
    #[default]
    Private,
    /// It has names, kinds, schemas and what is required. The policy is never part of it.
    Published,
}

/// Whether a server writes on parts who made them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Provenance {
    /// It does not.
    #[default]
    Unstamped,
    /// On the data and file parts that its own agent produced, never on upstream.
    Stamped,
}

/// What goes onto the card.
fn extensions(
    contracts: &InputContracts,
    publication: Publication,
    output_schema: Option<&serde_json::Value>,
    provenance: Provenance,
) -> Result<Vec<AgentExtension>, ConfigError> {
    let mut extensions = Vec::new();
    if let Some(schema) = output_schema {
        // A schema of an output is checked as that of an input would be.
        InputContracts::new()
            .with(InputContract::data("output_schema").schema(schema.clone()))
            .compile()?;
    }
    if publication == Publication::Published {
        let mut params = contracts.published();
        if let (Some(schema), Some(object)) = (output_schema, params.as_object_mut()) {
            object.insert("outputSchema".to_owned(), schema.clone());
        }
        let description = "What the agent reads of what it is sent.";
        let extension = AgentExtension::new(contracts::EXTENSION_URI, description);
        extensions.push(extension.with_params(params));
    }
    if provenance == Provenance::Stamped {
        let description = "Data and file parts say which agent made them.";
        extensions.push(AgentExtension::new(provenance::EXTENSION_URI, description));
    }
    Ok(extensions)
}

fn check_interface(index: usize, url: &str, binding: &str) -> Result<(), ConfigError> {
    // A gRPC target is host and port, and an own binding's URL is its own affair.
    let is_http = matches!(binding, "JSONRPC" | "HTTP+JSON");
    if is_http && !is_absolute_http(url) || url.trim().is_empty() {
        let field = format!("supportedInterfaces[{index}].url");
        let expected = "an absolute URL such as https://agents.example.com/audit";
        return Err(CardError::new(field, format!("{url:?}"), expected).into());
    }
    Ok(())
}

fn check_public_url(url: String) -> Result<String, ConfigError> {
    if is_absolute_http(&url) {
        return Ok(url.trim_end_matches('/').to_owned());
    }
    Err(ConfigError::address(format!(
        "the public URL is {url:?}; it must be absolute, without query, such as \
         https://agents.example.com/audit"
    )))
}

fn is_absolute_http(url: &str) -> bool {
    url.parse::<Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| !host.is_empty())
            && uri.query().is_none()
            && !url.contains(['#', '@'])
    })
}
