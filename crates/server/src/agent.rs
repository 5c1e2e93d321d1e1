use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use llamon_core::contracts::{InputContracts, Inputs};

use crate::agent_error::AgentError;
use crate::answer::{Answer, IntoAnswer};
use crate::turn::Turn;

/// An agent that is a struct, with a model client or a pool in its fields.
///
/// ```
/// use llamon_server::{Agent, AgentError, Answer, Turn};
///
/// struct Greeter {
///     greeting: String,
/// }
///
/// impl Agent for Greeter {
///     async fn run(&self, turn: Turn) -> Result<Answer, AgentError> {
///         Ok(Answer::completed(format!("{}, {}", self.greeting, turn.query()))?)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no struct agent",
    note = "implement `Agent` for it: `async fn run(&self, turn: Turn) -> Result<Answer, AgentError>`"
)]
pub trait Agent: Send + Sync + 'static {
    /// Answers one turn.
    ///
    /// When the task is canceled, [`Turn::cancelled`] resolves; after the server's grace the
    /// future is dropped wherever it waits. A panic fails the task, not the server.
    ///
    /// # Errors
    /// Whatever keeps the agent from answering; the task ends FAILED.
    fn run(&self, turn: Turn) -> impl Future<Output = Result<Answer, AgentError>> + Send;
}

/// What `create_server` serves: a struct that implements [`Agent`], or an async function
/// `(Turn)` or `(Inputs, Turn) -> Result<impl IntoAnswer, AgentError>`.
///
/// `M` only tells the kinds apart; it is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an agent",
    label = "neither a struct agent nor a function agent",
    note = "a function agent is `async fn(Turn)` or `async fn(Inputs, Turn)` `-> Result<impl IntoAnswer, AgentError>`, and its future must be `Send`: hold no `Rc`, `RefCell` guard or `std::sync::MutexGuard` over an `.await`",
    note = "a struct agent implements `Agent`"
)]
pub trait IntoAgent<M>: Sized {
    /// Erases the agent's type.
    fn into_agent(self) -> ErasedAgent;
}

/// The kind of struct agents.
#[derive(Debug)]
pub struct StructKind;

/// The kind of function agents that take their inputs as a struct `I`.
#[derive(Debug)]
pub struct InputsFunctionKind<I, Fut, R>(PhantomData<(I, Fut, R)>);

/// The kind of function agents whose future is `Fut` and whose answer is `R`.
#[derive(Debug)]
pub struct FunctionKind<Fut, R>(PhantomData<fn() -> (Fut, R)>);

pub(crate) type AgentFuture = Pin<Box<dyn Future<Output = Result<Answer, AgentError>> + Send>>;

/// An agent of whatever kind.
#[derive(Clone)]
pub struct ErasedAgent {
    run: Arc<dyn Fn(Turn) -> AgentFuture + Send + Sync>,
    /// What the agent's own inputs declare.
    contracts: Option<InputContracts>,
    kind: AgentKind,
}

/// What the server must know of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgentKind {
    /// A function, a struct or a graph that may or may not ask.
    Plain,
    /// A graph that is sure to ask: it has static interrupts.
    #[cfg(feature = "graph")]
    Asks,
    /// A runtime adapter.
    Adapter,
}

impl ErasedAgent {
    pub(crate) fn new(run: impl Fn(Turn) -> AgentFuture + Send + Sync + 'static) -> Self {
        Self {
            run: Arc::new(run),
            contracts: None,
            kind: AgentKind::Plain,
        }
    }

    /// The same agent as one of another kind.
    pub(crate) fn of_kind(mut self, kind: AgentKind) -> Self {
        self.kind = kind;
        self
    }

    pub(crate) fn kind(&self) -> AgentKind {
        self.kind
    }

    pub(crate) fn run(&self, turn: Turn) -> AgentFuture {
        (self.run)(turn)
    }

    pub(crate) fn contracts(&self) -> Option<&InputContracts> {
        self.contracts.as_ref()
    }
}

impl std::fmt::Debug for ErasedAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ErasedAgent")
    }
}

impl<A: Agent> IntoAgent<StructKind> for A {
    fn into_agent(self) -> ErasedAgent {
        let agent = Arc::new(self);
        ErasedAgent::new(move |turn| {
            let agent = Arc::clone(&agent);
            Box::pin(async move { agent.run(turn).await })
        })
    }
}

impl<F, Fut, R> IntoAgent<FunctionKind<Fut, R>> for F
where
    F: Fn(Turn) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, AgentError>> + Send + 'static,
    R: IntoAnswer + 'static,
{
    fn into_agent(self) -> ErasedAgent {
        ErasedAgent::new(move |turn| {
            let running = self(turn);
            Box::pin(async move { running.await?.into_answer() })
        })
    }
}

impl<F, I, Fut, R> IntoAgent<InputsFunctionKind<I, Fut, R>> for F
where
    F: Fn(I, Turn) -> Fut + Send + Sync + 'static,
    I: Inputs,
    Fut: Future<Output = Result<R, AgentError>> + Send + 'static,
    R: IntoAnswer + 'static,
{
    fn into_agent(self) -> ErasedAgent {
        let agent = Arc::new(self);
        let mut erased = ErasedAgent::new(move |turn| {
            let agent = Arc::clone(&agent);
            Box::pin(async move {
                let inputs = I::from_selected(turn.inputs())?;
                agent(inputs, turn).await?.into_answer()
            })
        });
        erased.contracts = Some(I::contracts());
        erased
    }
}
