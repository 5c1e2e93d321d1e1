mod callers;
mod front;

use std::future::IntoFuture;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Uri;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use llamon_client::signing::SigningKey;
use llamon_core::a2a::{
    AgentCard, AgentExtension, CardError, IDEMPOTENT_MESSAGES_URI, ProtocolVersion,
};
use llamon_core::contracts::{self, InputContract, InputContracts};
use llamon_core::{Limits, PolicyError, UpstreamPartsPolicy, provenance};

use crate::agent::{AgentKind, ErasedAgent, IntoAgent};
use crate::auth::Authenticate;
use crate::auth::scopes::ScopeRules;
use crate::backend::{Backend, Durability, MemoryBackend};
use crate::card::{CardFields, ExtendedCard};
use crate::clock::Clock;
use crate::compat::Compat;
use crate::config_error::ConfigError;
use crate::engine::{Engine, Execution};
use crate::front::FrontOptions;
#[cfg(feature = "grpc")]
use crate::grpc::{Grpc, GrpcAt};
use crate::handler::{Handler, InputModes, Streaming, TaskVisibility, modes};
use crate::hitl::Asking;
use crate::listen::ConnectionLimits;
use crate::page_token::PageTokens;
use crate::push::{PushEngine, PushNotifications};
use crate::rate::RateLimit;
use crate::server::Server;
use crate::shared::{Producer, Served, Shared};
pub(crate) use callers::Anonymous;

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
    let settings = Settings {
        card,
        agent: agent.into_agent(),
        policy: Ok(UpstreamPartsPolicy::default()),
        limits: Limits::default(),
        cancel_grace: Duration::from_secs(5),
        shutdown_grace: Duration::from_secs(10),
        drain_delay: Duration::ZERO,
        public_url: None,
        visibility: TaskVisibility::default(),
        contracts: None,
        publication: Publication::default(),
        output_schema: None,
        provenance: Provenance::default(),
        backend: None,
        execution: Execution::default(),
        upkeep_interval: Duration::from_secs(2),
        repeats: RepeatedMessages::default(),
        asking: Asking::default(),
        question_expiry: None,
        push: None,
        card_keys: Vec::new(),
        streaming: Streaming::default(),
        compat: Compat::default(),
        speaks_v03: false,
        card_fields: CardFields::default(),
        #[cfg(feature = "grpc")]
        grpc: None,
        #[cfg(feature = "grpc")]
        grpc_target: None,
        authenticator: None,
        anonymous: Anonymous::default(),
        scopes: ScopeRules::default(),
        tenants: Vec::new(),
        input_modes: InputModes::default(),
        extended_card: ExtendedCard::Absent,
        extended_card_readers: ExtendedCardReaders::default(),
        clock: Clock::system(),
        front: FrontOptions::default(),
        connection_limits: None,
        rate_limit: None,
        turns_per_caller: None,
        #[cfg(feature = "tls")]
        tls: None,
    };
    ServerBuilder {
        settings,
        kind: PhantomData,
    }
}

/// A server's configuration; see [`create_server`]. Await it to get the [`Server`].
#[must_use = "a server builder does nothing until it is awaited"]
pub struct ServerBuilder<M> {
    settings: Settings,
    kind: PhantomData<fn() -> M>,
}

/// What a server is made of, whatever kind of agent it serves.
struct Settings {
    card: AgentCard,
    agent: ErasedAgent,
    policy: Result<UpstreamPartsPolicy, PolicyError>,
    limits: Limits,
    cancel_grace: Duration,
    shutdown_grace: Duration,
    drain_delay: Duration,
    public_url: Option<String>,
    visibility: TaskVisibility,
    contracts: Option<InputContracts>,
    publication: Publication,
    output_schema: Option<serde_json::Value>,
    provenance: Provenance,
    backend: Option<Arc<dyn Backend>>,
    execution: Execution,
    upkeep_interval: Duration,
    repeats: RepeatedMessages,
    asking: Asking,
    question_expiry: Option<Duration>,
    push: Option<PushNotifications>,
    card_keys: Vec<SigningKey>,
    streaming: Streaming,
    compat: Compat,
    speaks_v03: bool,
    card_fields: CardFields,
    #[cfg(feature = "grpc")]
    grpc: Option<GrpcAt>,
    #[cfg(feature = "grpc")]
    grpc_target: Option<String>,
    authenticator: Option<Arc<dyn Authenticate>>,
    anonymous: Anonymous,
    scopes: ScopeRules,
    tenants: Vec<Arc<str>>,
    input_modes: InputModes,
    extended_card: ExtendedCard,
    extended_card_readers: ExtendedCardReaders,
    clock: Clock,
    front: FrontOptions,
    connection_limits: Option<ConnectionLimits>,
    rate_limit: Option<RateLimit>,
    turns_per_caller: Option<usize>,
    #[cfg(feature = "tls")]
    tls: Option<crate::tls::Tls>,
}

impl<M> ServerBuilder<M> {
    /// What the agent's answers keep of the upstream data and file parts:
    /// [`UpstreamPartsPolicy`], or exactly `"replace"` (the default) or `"append"`.
    pub fn upstream_parts_policy<P>(mut self, policy: P) -> Self
    where
        P: TryInto<UpstreamPartsPolicy>,
        P::Error: Into<PolicyError>,
    {
        self.settings.policy = policy.try_into().map_err(Into::into);
        self
    }

    /// What the server accepts and keeps.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// How long an agent may go on after its task was canceled before it is dropped. Default 5 s.
    pub fn cancel_grace(mut self, grace: Duration) -> Self {
        self.settings.cancel_grace = grace;
        self
    }

    /// How long running turns may go on after the server was told to stop. Default 10 s.
    pub fn shutdown_grace(mut self, grace: Duration) -> Self {
        self.settings.shutdown_grace = grace;
        self
    }

    /// How long the server goes on taking messages after it was told to stop, with `/readyz` saying
    /// 503, so that a load balancer notices. Default 0.
    pub fn drain_delay(mut self, delay: Duration) -> Self {
        self.settings.drain_delay = delay;
        self
    }

    /// The absolute URL that clients reach the agent under, for the card. Needed behind a proxy,
    /// with [`Server::into_router`], and when listening on all addresses; a card that names its
    /// interfaces wins.
    pub fn public_url(mut self, url: impl Into<String>) -> Self {
        self.settings.public_url = Some(url.into());
        self
    }

    /// Whether others see a task before its agent has said anything.
    pub fn task_visibility(mut self, visibility: TaskVisibility) -> Self {
        self.settings.visibility = visibility;
        self
    }

    /// What the agent reads of what arrives; see [`llamon_core::contracts`]. An agent that takes
    /// its inputs as a struct declares them there and must not be given others here.
    pub fn input_contracts(mut self, contracts: InputContracts) -> Self {
        self.settings.contracts = Some(contracts);
        self
    }

    /// Whether the card says what the agent reads, as an A2A extension, so that a workflow can be
    /// checked before it runs. Default: it does not.
    pub fn contract_publication(mut self, publication: Publication) -> Self {
        self.settings.publication = publication;
        self
    }

    /// JSON Schema 2020-12 of the data that the agent answers with. It is published beside the
    /// contracts, if they are.
    pub fn output_schema(mut self, schema: serde_json::Value) -> Self {
        self.settings.output_schema = Some(schema);
        self
    }

    /// Whether the server writes on the agent's own data and file parts who made them, as an A2A
    /// extension. Default: it does not.
    pub fn provenance(mut self, provenance: Provenance) -> Self {
        self.settings.provenance = provenance;
        self
    }

    /// Where tasks are kept. Default: a [`MemoryBackend`] of the server's own.
    pub fn backend(mut self, backend: Arc<dyn Backend>) -> Self {
        self.settings.backend = Some(backend);
        self
    }

    /// Keeps tasks in a store, under the card's name: they survive whatever the process does not.
    #[cfg(feature = "sqlite")]
    pub fn store(self, store: &crate::backend::sqlite::SqliteStore) -> Self {
        let backend = store.backend(self.settings.card.name.as_str());
        self.backend(backend)
    }

    /// Puts people in the loop: the agent may stop to ask, with [`crate::Turn::ask`] or by an
    /// interrupt of its graph, and goes on when the answer comes. Every turn is then sent as the
    /// agent gave it, and the upstream parts policy has no effect; see [`crate::hitl`].
    pub fn hitl(mut self) -> Self {
        self.settings.asking = Asking::Allowed;
        self
    }

    /// How long a question waits for its answer before its task fails. Default: for ever.
    pub fn question_expiry(mut self, expiry: Duration) -> Self {
        self.settings.question_expiry = Some(expiry);
        self
    }

    /// How often a turn may be run when its process dies, on a durable backend.
    pub fn execution(mut self, execution: Execution) -> Self {
        self.settings.execution = execution;
        self
    }

    /// How often the server looks after its store when nothing happens: for turns that a dead
    /// process has left, questions that have expired, and finished tasks to remove. Default 2 s.
    pub fn upkeep_interval(mut self, interval: Duration) -> Self {
        self.settings.upkeep_interval = interval;
        self
    }

    /// Whether a client may ask that a message which it sends again is not accepted again.
    /// Default: it may not, as the id of a message is no idempotency key in A2A.
    pub fn repeated_messages(mut self, repeats: RepeatedMessages) -> Self {
        self.settings.repeats = repeats;
        self
    }

    /// Has the server send push notifications, and say so on its card. Default: it does not, and
    /// refuses everything that has to do with them.
    pub fn push_notifications(mut self, options: PushNotifications) -> Self {
        self.settings.push = Some(options);
        self
    }

    /// Whether answers can be streamed, and tasks subscribed to. Default: they can.
    pub fn streaming(mut self, streaming: Streaming) -> Self {
        self.settings.streaming = streaming;
        self
    }

    /// In whose forms the server answers where editions of A2A 1.0 differ. Default: the present
    /// one's.
    pub fn compat(mut self, compat: Compat) -> Self {
        self.settings.compat = compat;
        self
    }

    /// Speaks another version of the protocol beside 1.0, on the same paths and with the same
    /// tasks: a request that names no version, or 0.3, is then one of 0.3. The card names the
    /// version's interfaces after those of 1.0, unless the card names its interfaces itself.
    /// Default: only 1.0 is spoken.
    ///
    /// A client of 0.3 that reads the card needs [`ServerBuilder::card_fields`] as well.
    pub fn also_speak(mut self, version: ProtocolVersion) -> Self {
        self.settings.speaks_v03 |= version == ProtocolVersion::V0_3;
        self
    }

    /// Whose fields the served card has. Default: those of 1.0.
    pub fn card_fields(mut self, fields: CardFields) -> Self {
        self.settings.card_fields = fields;
        self
    }

    /// Speaks gRPC as well, in plaintext unless the server has TLS. Default: it does not.
    #[cfg(feature = "grpc")]
    pub fn grpc(mut self, at: GrpcAt) -> Self {
        self.settings.grpc = Some(at);
        self
    }

    /// What clients call gRPC at, for the card: `agents.example.com:50051`, or a URL without a path.
    /// Needed behind a proxy with [`GrpcAt::Address`], and when listening on all addresses; a card
    /// that names its interfaces wins.
    #[cfg(feature = "grpc")]
    pub fn grpc_target(mut self, target: impl Into<String>) -> Self {
        self.settings.grpc_target = Some(target.into());
        self
    }

    /// The tenants that this agent serves without authentication: each request must name one of
    /// them (in `tenant`, or in front of a REST path), and tasks of one are not seen by the others.
    /// The card then lists an interface for each. This keeps apart and does not protect: with
    /// [`ServerBuilder::authenticate`] the tenant is that of the caller's identity, and this list
    /// has no effect.
    pub fn tenants(mut self, tenants: impl IntoIterator<Item = impl Into<Arc<str>>>) -> Self {
        self.settings.tenants = tenants.into_iter().map(Into::into).collect();
        self
    }

    /// Whether a message is refused whose parts have media types that the card does not name.
    /// Default: it is not, as parts that the agent does not read may be for the next one.
    pub fn input_modes(mut self, modes: InputModes) -> Self {
        self.settings.input_modes = modes;
        self
    }

    /// A card for callers that are known, with more in it than the public one
    /// (GetExtendedAgentCard, section 3.1.11). What the server knows better, such as interfaces,
    /// is completed as on the public card. It needs [`ServerBuilder::authenticate`].
    pub fn extended_card(mut self, card: AgentCard) -> Self {
        self.settings.extended_card = ExtendedCard::Set(Box::new(card));
        self
    }

    /// Says on the card that there is an extended card without having one: callers get
    /// ExtendedAgentCardNotConfigured. For where the extended card comes later, or from elsewhere.
    pub fn declare_extended_card(mut self) -> Self {
        self.settings.extended_card = ExtendedCard::Unset;
        self
    }

    /// Who may read the extended card. Default: callers that are known.
    pub fn extended_card_readers(mut self, readers: ExtendedCardReaders) -> Self {
        self.settings.extended_card_readers = readers;
        self
    }

    /// Declares an A2A extension on the card (section 4.6). A client activates it by naming it in
    /// `A2A-Extensions`; [`crate::Turn::has_extension`] tells the agent. Where it is `required`,
    /// requests that do not name it are refused.
    pub fn extension(mut self, extension: AgentExtension) -> Self {
        self.settings.card.capabilities.extensions.push(extension);
        self
    }

    /// Signs the card with this key (A2A section 8.4), when the server begins to serve; several
    /// calls, several signatures. ES256 signs one card differently each time, so the card's `ETag`
    /// is another one after a restart; with RS256 and EdDSA it stays.
    ///
    /// Signatures that the card already has are taken off: the server completes the card, and
    /// they would not be of what it serves.
    pub fn sign_card(mut self, key: SigningKey) -> Self {
        self.settings.card_keys.push(key);
        self
    }

    /// Where the server reads the time of day, for tests.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.settings.clock = clock;
        self
    }
}

impl Settings {
    async fn build(mut self) -> Result<Server, ConfigError> {
        let policy = self.policy.clone()?;
        // Before the card's own check, which would ask for schemes that must not be there.
        self.check_security()?;
        self.card.check()?;
        if let ExtendedCard::Set(extended) = &self.extended_card {
            extended.check()?;
        }
        for (index, interface) in self.card.supported_interfaces.iter().enumerate() {
            check_interface(index, &interface.url, &interface.protocol_binding)?;
        }
        let authenticator = self.authenticator.as_ref();
        let has_schemes = !self.card.security_schemes.is_empty()
            || authenticator.is_some_and(|known| !known.security().schemes.is_empty());
        if self.card_fields == CardFields::AlsoV0_3 && has_schemes {
            return Err(ConfigError::card(
                "securitySchemes: A2A 1.0 and 0.3 have different things under this name, so a card \
                 cannot have both; leave card_fields as it is, and give clients of 0.3 a card of \
                 their own",
            ));
        }
        let is_signed = !self.card_keys.is_empty() || !self.card.signatures.is_empty();
        if self.card_fields == CardFields::AlsoV0_3 && is_signed {
            return Err(ConfigError::card(
                "the card is signed, and a signature does not cover the fields of A2A 0.3; leave \
                 card_fields as it is, or the card unsigned",
            ));
        }
        self.limits.check()?;
        self.front.check()?;
        if let Some(limits) = &self.connection_limits {
            limits.check()?;
        }
        if let Some(limit) = &self.rate_limit {
            limit.check()?;
        }
        if let Some(push) = &self.push {
            push.check()?;
        }
        check_tenants(&self.tenants)?;
        let served = self.served(policy)?;
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
            self.repeats,
        )?;
        self.card.capabilities.extensions.extend(extensions);
        check_extensions(&self.card.capabilities.extensions)?;
        if let ExtendedCard::Set(extended) = &mut self.extended_card {
            let own = &mut extended.capabilities.extensions;
            for extension in &self.card.capabilities.extensions {
                if !own.iter().any(|other| other.uri == extension.uri) {
                    own.push(extension.clone());
                }
            }
            check_extensions(own)?;
        }
        let producer = (self.provenance == Provenance::Stamped).then(|| Producer {
            name: self.card.name.as_str().into(),
            skill: match &self.card.skills[..] {
                [only] => Some(only.id.as_str().into()),
                _ => None,
            },
        });
        let public_url = self.public_url.map(check_public_url).transpose()?;
        #[cfg(feature = "grpc")]
        let grpc = self.grpc.map(|at| Grpc::new(at, self.grpc_target));
        #[cfg(feature = "grpc")]
        if let Some(grpc) = &grpc {
            grpc.check()?;
        }
        let backend = self.backend.unwrap_or_else(|| {
            tracing::info!(
                agent = %self.card.name,
                "tasks are kept in memory: they are bounded, and lost at a restart"
            );
            Arc::new(MemoryBackend::new(self.limits.clone()))
        });
        let worker = backend.enlist().await.map_err(ConfigError::store)?;
        let page_secret = backend.page_secret(&worker).await;
        let page_tokens = page_secret.and_then(|secret| PageTokens::new(&secret));
        let page_tokens = page_tokens.map_err(ConfigError::store)?;
        let push = self.push.map(|options| {
            let (backend, worker) = (Arc::clone(&backend), Arc::clone(&worker));
            PushEngine::new(options, backend, worker, self.clock.clone())
        });
        let push = push.transpose()?;
        let shared = Arc::new(Shared {
            agent_name: self.card.name.as_str().into(),
            worker,
            runs_again: backend.durability() == Durability::Durable
                && self.execution != Execution::AtMostOnce,
            durability: backend.durability(),
            backend,
            clock: self.clock,
            limits: self.limits,
            policy,
            served,
            question_expiry: self.question_expiry,
            contracts: compiled,
            input_modes: match (self.input_modes, &self.extended_card) {
                (InputModes::Described, _) => None,
                (InputModes::Enforced, ExtendedCard::Set(extended)) => {
                    Some(modes::of_cards([&self.card, extended]))
                }
                (InputModes::Enforced, _) => Some(modes::of_cards([&self.card])),
            },
            extensions: (self.card.capabilities.extensions.iter())
                .map(|extension| extension.uri.clone())
                .collect(),
            producer,
        });
        let engine = Arc::new(Engine::new(
            self.agent,
            Arc::clone(&shared),
            self.execution,
            self.cancel_grace,
            self.upkeep_interval,
            self.turns_per_caller,
        ));
        Ok(Server {
            card: self.card,
            card_keys: self.card_keys,
            public_url,
            authenticator: self.authenticator,
            anonymous: self.anonymous,
            scopes: self.scopes,
            tenants: self.tenants,
            extended_card: self.extended_card,
            handler: Arc::new(Handler::new(
                engine,
                shared,
                self.visibility,
                self.streaming,
                push,
                page_tokens,
            )),
            compat: self.compat,
            shutdown_grace: self.shutdown_grace,
            drain_delay: self.drain_delay,
            speaks_v03: self.speaks_v03,
            card_fields: self.card_fields,
            front: self.front,
            connection_limits: self.connection_limits,
            rate_limit: self.rate_limit,
            #[cfg(feature = "tls")]
            tls: self.tls,
            #[cfg(feature = "grpc")]
            grpc,
        })
    }
}

impl Settings {
    /// As what the agent is served; says where the policy has no effect.
    fn served(&self, policy: UpstreamPartsPolicy) -> Result<Served, ConfigError> {
        let served = match (self.asking, self.agent.kind()) {
            (Asking::Allowed, _) => Served::Hitl,
            #[cfg(feature = "graph")]
            (Asking::Refused, AgentKind::Asks) => {
                return Err(ConfigError::hitl(
                    "the graph has static interrupts, so it stops to ask; call .hitl() on the \
                     server's builder, or compile the graph without them",
                ));
            }
            (Asking::Refused, AgentKind::Adapter) => Served::Adapter,
            (Asking::Refused, AgentKind::Plain) => Served::Agent,
        };
        let appends = policy == UpstreamPartsPolicy::Append;
        match served {
            Served::Adapter if appends => tracing::warn!(
                agent = %self.card.name,
                "upstream_parts_policy(\"append\") has no effect on a runtime adapter, which owns \
                 its response: merge upstream in postprocess with compose(), or serve the agent as \
                 a function, struct or graph"
            ),
            Served::Hitl if appends => tracing::warn!(
                agent = %self.card.name,
                "upstream_parts_policy(\"append\") has no effect with .hitl(): questions and \
                 answers are sent as the agent gives them; merge upstream in the agent with \
                 compose(), or serve it without .hitl()"
            ),
            _ => {}
        }
        Ok(served)
    }
}

impl<M> IntoFuture for ServerBuilder<M> {
    type Output = Result<Server, ConfigError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.settings.build().boxed()
    }
}

impl<M> std::fmt::Debug for ServerBuilder<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerBuilder")
            .field("card", &self.settings.card.name)
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

/// Whether a message that comes again is accepted again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepeatedMessages {
    /// It always is.
    #[default]
    Accepted,
    /// It is not where the client activates the A2A extension
    /// [`IDEMPOTENT_MESSAGES_URI`]: the same message with the same `messageId` is answered with
    /// what became of it, another one with that id is an error. An id is known as long as its task
    /// is kept.
    Recognised,
}

/// Who may read the extended card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExtendedCardReaders {
    /// Callers that [`ServerBuilder::authenticate`] lets in.
    #[default]
    Known,
    /// Everybody whom the server answers, against section 13.3 of the specification: for where
    /// something in front of the server has let callers in already.
    Anybody,
}

/// Bytes that the name of a tenant has at most.
const MAX_TENANT_BYTES: usize = 512;

/// First segments of the paths of an agent's operations.
pub(crate) const TAKEN_SEGMENTS: [&str; 5] = [
    "message:send",
    "message:stream",
    "tasks",
    "extendedAgentCard",
    ".well-known",
];

/// What goes onto the card.
fn extensions(
    contracts: &InputContracts,
    publication: Publication,
    output_schema: Option<&serde_json::Value>,
    provenance: Provenance,
    repeats: RepeatedMessages,
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
    if repeats == RepeatedMessages::Recognised {
        let description = "A message that is sent again with its id is accepted only once.";
        extensions.push(AgentExtension::new(IDEMPOTENT_MESSAGES_URI, description));
    }
    Ok(extensions)
}

/// Checks that each extension can be named in a header, and is there once.
fn check_extensions(extensions: &[AgentExtension]) -> Result<(), ConfigError> {
    for (index, extension) in extensions.iter().enumerate() {
        let uri = &extension.uri;
        let field = format!("capabilities.extensions[{index}].uri");
        let is_fine = |byte: u8| byte.is_ascii_graphic() && byte != b',';
        if uri.is_empty() || !uri.bytes().all(is_fine) {
            let expected = "a URI without spaces and commas, as it stands in a header";
            return Err(CardError::new(field, format!("{uri:?}"), expected).into());
        }
        if extensions[..index].iter().any(|other| other.uri == *uri) {
            let expected = "a URI that no other extension has";
            return Err(CardError::new(field, format!("{uri:?}"), expected).into());
        }
    }
    Ok(())
}

/// Checks that each tenant can stand in front of a path, and is there once.
fn check_tenants(tenants: &[Arc<str>]) -> Result<(), ConfigError> {
    for (index, tenant) in tenants.iter().enumerate() {
        let why = if tenant.is_empty() || tenant.len() > MAX_TENANT_BYTES {
            format!("a name has 1 to {MAX_TENANT_BYTES} bytes")
        } else if matches!(&**tenant, "." | "..") || tenant.contains('/') {
            "a name stands in REST paths and is not \".\" or \"..\" and has no slash".to_owned()
        } else if TAKEN_SEGMENTS.contains(&&**tenant) {
            "the operations of the agent have paths of that name".to_owned()
        } else if tenants[..index].contains(tenant) {
            "it is given twice".to_owned()
        } else {
            continue;
        };
        return Err(ConfigError::tenants(format!(
            "the tenant {tenant:?} cannot be used: {why}"
        )));
    }
    Ok(())
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
