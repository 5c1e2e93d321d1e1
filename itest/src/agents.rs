//! Agents that do what a test tells them to.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use llamon_agent::a2a::{AgentCard, Skill};
use llamon_agent::core::{Limits, Part, Payload};
use llamon_agent::server::{AgentError, AgentHost, Answer, ServerBuilder, Turn, create_server};
use llamon_agent::testing::TestServer;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A card that is complete.
pub fn card(name: &str) -> AgentCard {
    AgentCard::new(name, "Does what a test tells it to", "1.0.0").skill(Skill::new(
        "test",
        "Test",
        "Does what a test tells it to",
    ))
}

/// Starts the server of a builder.
///
/// # Panics
/// When it does not start.
pub async fn start<M>(server: ServerBuilder<M>) -> TestServer {
    TestServer::start(server).await.expect("a server")
}

/// Agents that listen on loopback, whatever address their cards give. They stop when this value
/// is dropped.
#[derive(Debug)]
pub struct Bound {
    /// Where they listen.
    pub url: String,
    running: JoinHandle<()>,
}

impl Bound {
    /// Binds a server to a free port.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn server<M>(server: ServerBuilder<M>) -> Self {
        let server = server.await.expect("a server");
        Self::host(AgentHost::new().agent("/", server)).await
    }

    /// Binds a host to a free port.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn host(host: AgentHost) -> Self {
        let bound = host.bind("127.0.0.1:0").await.expect("a host");
        let url = format!("http://{}", bound.local_addr());
        let running = tokio::spawn(async move {
            let served = bound.serve_until(std::future::pending()).await;
            served.expect("a sound listener");
        });
        Self { url, running }
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// Parts from their JSON texts.
///
/// # Panics
/// When one is none.
pub fn parts(texts: &[impl AsRef<str>]) -> Vec<Part> {
    texts
        .iter()
        .map(|text| Part::from_json(text.as_ref().to_owned()).expect("a part"))
        .collect()
}

/// How a scripted turn ends.
#[derive(Clone, Debug)]
pub enum End {
    /// COMPLETED, returning these parts.
    Completed(Vec<String>),
    /// INPUT_REQUIRED, asking this.
    InputRequired(&'static str),
    /// AUTH_REQUIRED, asking this.
    AuthRequired(&'static str),
    /// REJECTED, saying why.
    Rejected(&'static str),
    /// An error for the caller.
    Failed(&'static str),
    /// A direct message of these parts.
    Message(Vec<String>),
    /// Waits for a cancel and returns these parts then.
    AwaitCancel(Vec<String>),
}

/// What an agent does in a turn.
#[derive(Clone, Debug)]
pub struct Script {
    emits: Vec<Vec<String>>,
    end: End,
}

impl Script {
    /// A turn that ends this way.
    pub fn new(end: End) -> Self {
        Self {
            emits: Vec::new(),
            end,
        }
    }

    /// A turn that returns these parts.
    pub fn returns(parts: &[&str]) -> Self {
        Self::new(End::Completed(own(parts)))
    }

    /// The turn with a chunk more that is emitted before its end.
    #[must_use]
    pub fn emitting(mut self, parts: &[&str]) -> Self {
        self.emits.push(own(parts));
        self
    }

    /// The turn with another end.
    #[must_use]
    pub fn ending(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    async fn run(&self, turn: &Turn) -> Result<Answer, AgentError> {
        for chunk in &self.emits {
            turn.emit(Payload::from(parts(chunk))).await?;
        }
        let texts = |parts_of: &[String]| Payload::from(parts(parts_of));
        match &self.end {
            End::Completed(parts) => Ok(Answer::Completed(texts(parts))),
            End::InputRequired(text) => Ok(Answer::input_required(*text)?),
            End::AuthRequired(text) => Ok(Answer::auth_required(*text)?),
            End::Rejected(text) => Ok(Answer::rejected(*text)?),
            End::Failed(text) => Err(AgentError::public(*text)),
            End::Message(parts) => Ok(Answer::Message(texts(parts))),
            End::AwaitCancel(parts) => {
                turn.cancelled().await;
                Ok(Answer::Completed(texts(parts)))
            }
        }
    }
}

fn own(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// The future of an agent here.
pub type Running = Pin<Box<dyn Future<Output = Result<Answer, AgentError>> + Send>>;

/// An agent whose n-th turn of a task does the n-th script.
pub fn scripted(scripts: Vec<Script>) -> impl Fn(Turn) -> Running + Send + Sync + 'static {
    let scripts: Arc<[Script]> = scripts.into();
    move |turn| {
        let scripts = Arc::clone(&scripts);
        Box::pin(async move {
            let script = scripts
                .get(turn.number() - 1)
                .expect("a script for the turn");
            script.run(&turn).await
        })
    }
}

/// Serves the scripts under a policy.
pub async fn serve_scripts(policy: &str, scripts: Vec<Script>) -> TestServer {
    serve(policy, Limits::default(), scripted(scripts)).await
}

/// Serves a function agent under a policy and with limits. A canceled agent is dropped soon.
pub async fn serve<F, Fut>(policy: &str, limits: Limits, agent: F) -> TestServer
where
    F: Fn(Turn) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Answer, AgentError>> + Send + 'static,
{
    let builder = create_server(card("agent"), agent)
        .upstream_parts_policy(policy)
        .limits(limits)
        .cancel_grace(Duration::from_millis(20));
    start(builder).await
}

/// A door between a test and its agents: who passes waits until it is opened. It stays open.
#[derive(Clone, Debug, Default)]
pub struct Gate(watch::Sender<bool>);

impl Gate {
    /// A closed door.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens it.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is open.
    pub async fn pass(&self) {
        let mut seen = self.0.subscribe();
        let opened = patient(seen.wait_for(|open| *open)).await;
        opened.expect("a gate that is there");
    }
}

/// Waits for what must come.
///
/// # Panics
/// When it does not within a minute: a test fails then instead of hanging.
pub async fn patient<T>(awaited: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(Duration::from_secs(60), awaited).await;
    waited.expect("it comes within a minute")
}

/// Asks again until the answer is there, as a client does that has no event to wait for.
pub async fn until<T, Fut: Future<Output = Option<T>>>(mut ask: impl FnMut() -> Fut) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::task::yield_now().await;
        }
    };
    patient(asking).await
}
