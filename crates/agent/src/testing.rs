//! A server for tests of agents: in-process, on a free port of loopback, over real HTTP.

use std::error::Error;
use std::fmt;
use std::future::IntoFuture;

use llamon_client::{Binding, Client, ClientBuilder, ClientError, Outgoing, Reply};
use llamon_core::a2a::{
    AgentCard, AgentInterface, BINDING_GRPC, BINDING_JSONRPC, BINDING_REST, CARD_PATH,
};
use llamon_server::{AgentHost, ConfigError, ServeError, Server};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// An agent that runs while this value lives.
///
/// ```
/// use llamon_agent::prelude::*;
/// use llamon_agent::testing::TestServer;
///
/// async fn shout(turn: Turn) -> Result<String, AgentError> {
///     Ok(turn.query().to_uppercase())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let card = AgentCard::new("shout", "Says it louder", "1.0.0")
///     .skill(Skill::new("shout", "Shout", "Writes a text in capitals"));
/// let server = TestServer::start(create_server(card, shout)).await?;
/// let reply = server.send("hello").await?;
/// assert_eq!(reply.text(), "HELLO");
/// # Ok(())
/// # }
/// ```
pub struct TestServer {
    urls: Vec<String>,
    cards: Vec<AgentCard>,
    client: Client,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<Result<(), ServeError>>,
}

impl TestServer {
    /// Starts the agent of a server builder (or of anything else that resolves to a server).
    ///
    /// # Errors
    /// When the configuration is wrong, or loopback cannot be used.
    pub async fn start(
        server: impl IntoFuture<Output = Result<Server, ConfigError>>,
    ) -> Result<Self, TestServerError> {
        let server = server.await.map_err(TestServerError::new)?;
        Self::start_host(AgentHost::new().agent("/", server)).await
    }

    /// Starts several agents on one port.
    ///
    /// # Errors
    /// As [`TestServer::start`].
    pub async fn start_host(host: AgentHost) -> Result<Self, TestServerError> {
        let bound = host
            .bind("127.0.0.1:0")
            .await
            .map_err(TestServerError::new)?;
        let agents = bound.agents();
        let (urls, cards): (Vec<String>, Vec<AgentCard>) = agents
            .map(|(url, card)| (url.to_owned(), local_card(url, card)))
            .unzip();
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(bound.serve_until(async {
            // A dropped sender is a stop as well.
            let _ = stopped.await;
        }));
        let client = client_of(Client::builder(), &urls, &cards).map_err(TestServerError::new)?;
        Ok(Self {
            urls,
            cards,
            client,
            stop: Some(stop),
            running,
        })
    }

    /// Where the first agent is on this machine, also where its card has a public URL.
    pub fn url(&self) -> &str {
        self.urls.first().map_or("", String::as_str)
    }

    /// Where all agents are on this machine, in the order in which they were added.
    pub fn urls(&self) -> &[String] {
        &self.urls
    }

    /// A client of the first agent.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// A client of the first agent that uses `binding`.
    ///
    /// # Errors
    /// When there is no agent.
    pub async fn client_with(&self, binding: Binding) -> Result<Client, ClientError> {
        let builder = Client::builder().binding(binding);
        client_of(builder, &self.urls, &self.cards)
    }

    /// Sends a message to the first agent and waits for its answer.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn send(&self, message: impl Into<Outgoing>) -> Result<Reply, ClientError> {
        self.client.send(message).await
    }

    /// Stops as a signal would stop the server, and waits until it has.
    ///
    /// # Errors
    /// When the server ended with an error.
    pub async fn stop(mut self) -> Result<(), TestServerError> {
        if let Some(stop) = self.stop.take() {
            // It may have ended by itself; then there is nobody to tell.
            let _ = stop.send(());
        }
        match (&mut self.running).await {
            Ok(served) => served.map_err(TestServerError::new),
            Err(error) => Err(TestServerError::new(error)),
        }
    }
}

/// The card of an agent that is reached where it is on this machine: the one it serves may name a
/// public URL, which a test does not reach.
fn local_card(url: &str, card: &AgentCard) -> AgentCard {
    let mut local = card.clone();
    let mut tenants: Vec<String> = (card.supported_interfaces.iter())
        .map(|interface| interface.tenant.clone())
        .collect();
    tenants.dedup();
    let here = tenants.iter().flat_map(|tenant| {
        [BINDING_JSONRPC, BINDING_REST].map(|binding| {
            let mut interface = AgentInterface::new(url, binding);
            interface.tenant.clone_from(tenant);
            interface
        })
    });
    local.supported_interfaces = here.collect();
    let others = card.supported_interfaces.iter();
    let grpc = others.filter(|other| other.protocol_binding == BINDING_GRPC);
    local.supported_interfaces.extend(grpc.cloned());
    local
}

fn client_of(
    builder: ClientBuilder,
    urls: &[String],
    cards: &[AgentCard],
) -> Result<Client, ClientError> {
    let url = urls.first().map_or("", String::as_str);
    let card = cards.first().map(serde_json::to_string);
    let card = card.and_then(Result::ok).unwrap_or_default();
    builder.with_card(&card, &format!("{url}/{CARD_PATH}"))
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl fmt::Debug for TestServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestServer")
            .field("urls", &self.urls)
            .finish_non_exhaustive()
    }
}

/// A test server that did not start or did not end well.
#[derive(Debug)]
pub struct TestServerError(Box<dyn Error + Send + Sync>);

impl TestServerError {
    fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

impl fmt::Display for TestServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for TestServerError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
