use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytestring::ByteString;
use llamon_core::Limits;
use llamon_core::a2a::v03::upgraded_card;
use llamon_core::a2a::{
    AgentCard, ListTasksRequest, ListTasksResponse, ProtocolVersion, Task, TaskRequest,
};
use llamon_core::json::Reader;
use reqwest::header::{HeaderMap, HeaderName};
use tracing::Span;
use url::Url;

use crate::answer::{self, Form, Read};
use crate::binding::{Binding, Endpoint, Operation};
use crate::builder::ClientBuilder;
use crate::choice::choose;
use crate::credentials::Wallet;
use crate::egress::{Egress, Head, Method, Request, Response};
use crate::error::ClientError;
use crate::incoming::Incoming;
use crate::outgoing::Outgoing;
use crate::reply::Reply;
use crate::resume::Resume;
use crate::retry::retrying;
use crate::signing::CardVerifier;
use crate::sse;
use crate::stream::{EventStream, Follow};
use crate::trace::{TraceContext, within as in_trace};
use crate::{address, extensions, v03};

/// A client for one agent. Cloning it is cheap, and clones share their connections.
///
/// Every method's future can be dropped at any time: its connection is closed and the agent is
/// told nothing. A task that it had begun runs on; [`Client::cancel`] stops one.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    card: AgentCard,
    card_json: ByteString,
    endpoint: Endpoint,
    egress: Egress,
    wallet: Wallet,
    extensions: Vec<String>,
    waits: Waits,
    verifier: Option<CardVerifier>,
    /// Of responses.
    limits: Limits,
}

impl Client {
    /// Fetches the card of the agent at `url`, its base URL or the card's own, and makes a
    /// client with the default settings.
    ///
    /// # Errors
    /// As [`ClientBuilder::discover`].
    pub async fn discover(url: &str) -> Result<Self, ClientError> {
        Self::builder().discover(url).await
    }

    /// The default settings, to change them.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::new()
    }

    /// The agent's card.
    pub fn card(&self) -> &AgentCard {
        &self.inner.card
    }

    /// The card's text as the agent serves it, with the fields that this client does not know.
    pub fn card_json(&self) -> &str {
        &self.inner.card_json
    }

    /// The URL of the interface that calls go to.
    pub fn url(&self) -> &str {
        self.inner.endpoint.url.as_str()
    }

    /// The binding that calls are made in.
    pub fn binding(&self) -> Binding {
        self.inner.endpoint.binding
    }

    /// The version of the protocol that calls are made in: 0.3 where the card has no interface of
    /// 1.0 that this client speaks.
    pub fn version(&self) -> ProtocolVersion {
        self.inner.endpoint.version
    }

    /// Sends a message and waits for the answer: until the task has come to rest, unless the
    /// message says otherwise (A2A section 3.1.1).
    ///
    /// It is attempted once: no server can tell a repeated message from a second one. When the
    /// future is dropped, the agent may have got the message, and its task runs on.
    ///
    /// # Errors
    /// When the message has no parts, when there is no answer in time, and the agent's error.
    /// A task that failed is an answer: see [`Reply::state`].
    pub async fn send(&self, message: impl Into<Outgoing>) -> Result<Reply, ClientError> {
        let mut message = message.into();
        let extensions = message.take_extensions();
        let operation = Operation::Send(message.into_request()?);
        let read = |form: Form, head: &Head, text: &_, limits: &_| {
            let result = answer::read(form, head, text, limits, answer::read_send_result)?;
            Ok(Reply::from(result).with_extensions(head.extensions.clone()))
        };
        self.ask_with(&operation, &extensions, read).await
    }

    /// Sends a message and opens the stream of what happens then (A2A section 3.1.2).
    ///
    /// It is attempted once. When the future is dropped, the agent may have got the message, and
    /// its task runs on. A stream that breaks later is continued, without sending the message
    /// again: see [`EventStream`].
    ///
    /// # Errors
    /// When the message has no parts, when no stream begins in time, and the agent's error, also
    /// that it has no streams.
    pub async fn stream(&self, message: impl Into<Outgoing>) -> Result<EventStream, ClientError> {
        let mut message = message.into();
        let extensions = message.take_extensions();
        let operation = Operation::Stream(message.into_request()?);
        let span = self.span(&operation);
        let opening = async {
            let request = self.request(&operation, &extensions).await?;
            self.open(&operation, &request, 1).await
        };
        let opened = in_trace(None, span.clone(), opening).await?;
        Ok(self.events(opened, Follow::Answer, extensions, span))
    }

    /// The task as it stands (A2A section 3.1.3). Repeated where that can help; cancel-safe.
    ///
    /// # Errors
    /// When there is no such task, and when there is no answer in time.
    pub async fn get(&self, id: &str) -> Result<Task, ClientError> {
        self.get_with(TaskRequest::new(id)).await
    }

    /// As [`Client::get`], with a history of the length that the request says.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub async fn get_with(&self, request: TaskRequest) -> Result<Task, ClientError> {
        self.call(&Operation::Get(request), Task::read).await
    }

    /// A page of the tasks that match (A2A section 3.1.4). Repeated where that can help;
    /// cancel-safe.
    ///
    /// # Errors
    /// When a filter is wrong, and when there is no answer in time.
    pub async fn list(&self, request: ListTasksRequest) -> Result<ListTasksResponse, ClientError> {
        self.call(&Operation::List(request), ListTasksResponse::read)
            .await
    }

    /// Cancels a task and returns it as it stands then (A2A section 3.1.5).
    ///
    /// It is attempted once. When the future is dropped, the agent may cancel the task all the
    /// same.
    ///
    /// # Errors
    /// When there is no such task, when it has ended before, and when there is no answer in
    /// time.
    pub async fn cancel(&self, id: &str) -> Result<Task, ClientError> {
        self.call(&Operation::Cancel(id.into()), Task::read).await
    }

    /// The agent's card for callers that it knows (A2A section 3.1.11). Repeated where that can
    /// help; cancel-safe.
    ///
    /// Use it instead of [`Client::card`] for as long as the credentials hold; a client that is
    /// made of [`Client::extended_card_json`] with [`ClientBuilder::with_card`] does.
    ///
    /// # Errors
    /// When the agent has none, or wants credentials ([`ClientBuilder::bearer`]), when there is no
    /// answer in time, and when it is not signed as [`ClientBuilder::verify_card`] wants.
    pub async fn extended_card(&self) -> Result<AgentCard, ClientError> {
        let json = self.extended_card_json().await?;
        serde_json::from_str(&upgraded_card(&json)).map_err(|error| {
            ClientError::invalid_response(format!(
                "what {} answered with is no agent card: {error}",
                address::shown(&self.inner.endpoint.url)
            ))
        })
    }

    /// As [`Client::extended_card`]: its text as the agent serves it, with the fields that this
    /// client does not know.
    ///
    /// # Errors
    /// As [`Client::extended_card`].
    pub async fn extended_card_json(&self) -> Result<String, ClientError> {
        let read = |reader: &mut Reader<'_>, text: &ByteString, _: &Limits| {
            if reader.peek() != Some(b'{') {
                return Err(reader.wrong_type("an agent card"));
            }
            Ok(reader.skip()?.of(text).to_owned())
        };
        let Inner {
            card,
            verifier,
            endpoint,
            ..
        } = &*self.inner;
        v03::check_extended_card(card, endpoint)?;
        let json = self.call(&Operation::ExtendedCard, read).await?;
        check_signature(verifier.as_ref(), &json, &endpoint.url)?;
        Ok(json)
    }

    /// Follows a task that runs or waits: the task as it stands, then every event until its end
    /// (A2A section 3.1.6). Opening is repeated where that can help; cancel-safe.
    ///
    /// # Errors
    /// When there is no such task, when it has ended (get it then), and when no stream begins in
    /// time.
    pub async fn subscribe(&self, id: &str) -> Result<EventStream, ClientError> {
        let id: Arc<str> = id.into();
        let span = self.span(&Operation::Subscribe(Arc::clone(&id)));
        let opening = self.follow(&id, &[], self.inner.waits.max_attempts);
        let opened = in_trace(None, span.clone(), opening).await?;
        Ok(self.events(opened, Follow::Task(id), Vec::new(), span))
    }
}

impl Client {
    pub(crate) fn new(
        card_json: ByteString,
        card_url: &Url,
        parts: Parts,
        waits: Waits,
    ) -> Result<Self, ClientError> {
        check_signature(parts.verifier.as_ref(), &card_json, card_url)?;
        let card = serde_json::from_str(&upgraded_card(&card_json));
        let card: AgentCard = card.map_err(|error| {
            ClientError::invalid_response(format!(
                "what is at {} is no agent card: {error}",
                address::shown(card_url)
            ))
        })?;
        let endpoint = choose(&card, card_url, &parts.preferred, &parts.egress)?;
        parts.wallet.permit(&endpoint.url)?;
        Ok(Self {
            inner: Arc::new(Inner {
                card,
                card_json,
                endpoint,
                egress: parts.egress,
                wallet: parts.wallet,
                extensions: parts.extensions,
                waits,
                verifier: parts.verifier,
                limits: answer::response_limits(&parts.limits),
            }),
        })
    }

    async fn request(
        &self,
        operation: &Operation,
        extensions: &[String],
    ) -> Result<Request, ClientError> {
        let endpoint = &self.inner.endpoint;
        let mut request = endpoint.binding.request(endpoint, operation)?;
        request.headers = self.headers(extensions).await?;
        Ok(request)
    }

    /// The headers of a call, whatever its binding: extensions and credentials.
    async fn headers(&self, extensions: &[String]) -> Result<HeaderMap, ClientError> {
        let Inner {
            card,
            endpoint,
            wallet,
            waits,
            ..
        } = &*self.inner;
        let asked = extensions::asked(card, &self.inner.extensions, extensions)?;
        let given = tokio::time::timeout(waits.timeout, wallet.headers(&endpoint.url));
        let mut headers = given.await.map_err(|_| {
            ClientError::timeout(format!(
                "there were no credentials within {:?}; raise the client's timeout if they need longer",
                waits.timeout
            ))
        })??;
        if let Some(asked) = asked {
            let name = match endpoint.version {
                ProtocolVersion::V0_3 => v03::EXTENSIONS_HEADER,
                _ => extensions::HEADER,
            };
            headers.insert(HeaderName::from_static(name), asked);
        }
        if let Some(context) = TraceContext::current() {
            context.put(&mut headers);
        }
        Ok(headers)
    }

    fn attempts(&self, operation: &Operation) -> u32 {
        if operation.is_idempotent() {
            self.inner.waits.max_attempts
        } else {
            1
        }
    }

    pub(crate) async fn call<T>(
        &self,
        operation: &Operation,
        read: Read<T>,
    ) -> Result<T, ClientError> {
        let read = |form: Form, head: &_, text: &_, limits: &_| {
            answer::read(form, head, text, limits, read)
        };
        self.ask(operation, read).await
    }

    /// Makes a call whose answer is read by `read`.
    pub(crate) async fn ask<T>(
        &self,
        operation: &Operation,
        read: impl Fn(Form, &Head, &ByteString, &Limits) -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        self.ask_with(operation, &[], read).await
    }

    async fn ask_with<T>(
        &self,
        operation: &Operation,
        extensions: &[String],
        read: impl Fn(Form, &Head, &ByteString, &Limits) -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        let Inner {
            waits,
            limits,
            endpoint,
            ..
        } = &*self.inner;
        let form = endpoint.form(operation);
        let asking = async {
            let request = self.request(operation, extensions).await?;
            let attempt = || async {
                let response = self.exchange(operation, &request).await?;
                let (head, text) = response.text(limits.max_body_bytes).await?;
                read(form, &head, &text, limits)
            };
            let name = operation.name();
            let answer = retrying(self.attempts(operation), attempt);
            within(waits.timeout, name, "timeout", &request, answer).await
        };
        in_trace(None, self.span(operation), asking).await
    }

    /// The span of a call, for who records traces.
    fn span(&self, operation: &Operation) -> Span {
        let endpoint = &self.inner.endpoint;
        tracing::info_span!(
            "call",
            otel.name = operation.name(),
            otel.kind = "client",
            agent = %self.inner.card.name,
            binding = %endpoint.binding,
            server.address = endpoint.url.host_str(),
            server.port = endpoint.url.port_or_known_default(),
        )
    }

    /// Opens the stream of a task.
    pub(crate) async fn follow(
        &self,
        id: &Arc<str>,
        extensions: &[String],
        attempts: u32,
    ) -> Result<Opened, ClientError> {
        let operation = Operation::Subscribe(Arc::clone(id));
        let mut request = self.request(&operation, extensions).await?;
        match self.open(&operation, &request, attempts).await {
            // The specification's table says POST, its protobuf file says GET; some servers
            // know only one of them.
            Err(error) if error.http_status() == Some(405) && self.binding() == Binding::Rest => {
                request.method = match request.method {
                    Method::Post => Method::Get,
                    _ => Method::Post,
                };
                self.open(&operation, &request, attempts).await
            }
            opened => opened,
        }
    }

    /// Sends a request and waits for the head of its answer.
    async fn exchange(
        &self,
        #[cfg_attr(
            not(feature = "grpc"),
            expect(unused_variables, reason = "only protobuf needs to know what it reads")
        )]
        operation: &Operation,
        request: &Request,
    ) -> Result<Response, ClientError> {
        let egress = &self.inner.egress;
        match self.binding() {
            #[cfg(feature = "grpc")]
            Binding::Grpc => {
                crate::grpc::send(egress, operation, request, &self.inner.limits).await
            }
            _ => egress.send(request).await,
        }
    }

    async fn open(
        &self,
        operation: &Operation,
        request: &Request,
        attempts: u32,
    ) -> Result<Opened, ClientError> {
        let Inner {
            waits,
            limits,
            endpoint,
            ..
        } = &*self.inner;
        let form = endpoint.form(operation);
        let attempt = || async {
            let begun = async {
                let response = self.exchange(operation, request).await?;
                if response.head.is_event_stream() {
                    return Ok(response);
                }
                let (head, text) = response.text(limits.max_body_bytes).await?;
                Err(answer::not_a_stream(form, &head, &text, limits))
            };
            within(
                waits.idle_timeout,
                operation.name(),
                "idle_timeout",
                request,
                begun,
            )
            .await
        };
        let response = retrying(attempts, attempt).await?;
        Ok(Opened {
            extensions: response.head.extensions.clone(),
            incoming: sse::events(form, response.into_chunks(), limits, waits.idle_timeout),
        })
    }

    fn events(
        &self,
        opened: Opened,
        follow: Follow,
        extensions: Vec<String>,
        span: Span,
    ) -> EventStream {
        let Inner { waits, limits, .. } = &*self.inner;
        let resume = Resume::new(self.clone(), extensions, waits.resume_attempts);
        EventStream::new(opened, follow, limits.clone(), resume, span)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("agent", &self.inner.card.name)
            .field("url", &address::shown(&self.inner.endpoint.url))
            .field("binding", &self.binding())
            .finish_non_exhaustive()
    }
}

/// What a client is made of, besides its card.
pub(crate) struct Parts {
    /// Empty for the order of the card.
    pub(crate) preferred: Vec<Binding>,
    pub(crate) extensions: Vec<String>,
    pub(crate) wallet: Wallet,
    pub(crate) egress: Egress,
    /// Of a server.
    pub(crate) limits: Limits,
    pub(crate) verifier: Option<CardVerifier>,
}

/// A stream that has begun.
pub(crate) struct Opened {
    pub(crate) incoming: Incoming,
    /// URIs of the extensions that the agent says are active.
    pub(crate) extensions: Vec<String>,
}

/// How long and how often.
pub(crate) struct Waits {
    pub(crate) timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) max_attempts: u32,
    pub(crate) resume_attempts: u32,
}

/// Refuses a card that is not signed by a key of the verifier, if there is one.
fn check_signature(
    verifier: Option<&CardVerifier>,
    card_json: &str,
    from: &Url,
) -> Result<(), ClientError> {
    let Some(verifier) = verifier else {
        return Ok(());
    };
    verifier.verify(card_json).map(|_| ()).map_err(|error| {
        ClientError::untrusted_card(format!("{error} (from {})", address::shown(from)))
    })
}

/// The text of the card at `url`.
pub(crate) async fn fetch_card(
    parts: &Parts,
    waits: &Waits,
    url: &Url,
) -> Result<ByteString, ClientError> {
    let request = Request {
        method: Method::Get,
        url: url.clone(),
        version: ProtocolVersion::V1_0,
        accept: "application/json",
        headers: parts.wallet.headers(url).await?,
        body: None,
    };
    let limits = answer::response_limits(&parts.limits);
    let attempt = || async {
        let response = parts.egress.send(&request).await?;
        let (head, text) = response.text(limits.max_body_bytes).await?;
        if head.is_success() {
            return Ok(text);
        }
        Err(answer::refusal(
            Form::Bare,
            &head,
            &text,
            limits.max_json_depth,
        ))
    };
    let card = retrying(waits.max_attempts, attempt);
    within(waits.timeout, "the agent card", "timeout", &request, card).await
}

async fn within<T>(
    limit: Duration,
    what: &str,
    setting: &str,
    request: &Request,
    answer: impl Future<Output = Result<T, ClientError>>,
) -> Result<T, ClientError> {
    match tokio::time::timeout(limit, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(ClientError::timeout(format!(
            "{} did not answer {what} within {limit:?}; raise the client's {setting} if the agent needs longer",
            address::shown(&request.url)
        ))),
    }
}
