//! What a node is, what it returns, and how often it is tried.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::route::{Route, Routes};
use crate::{GraphState, NodeContext, NodeError, Stored};

/// What a node has done: its writes, and where it wants to go besides its edges.
#[derive(Clone)]
pub struct NodeOutput<S: GraphState> {
    pub(crate) update: S::Update,
    pub(crate) goto: Vec<Route>,
}

impl<S: GraphState> NodeOutput<S> {
    /// Only writes.
    pub fn new(update: S::Update) -> Self {
        let goto = Vec::new();
        Self { update, goto }
    }
}

/// What a node may return: an update of the state, a [`Command`], or `()`.
#[diagnostic::on_unimplemented(
    message = "a node of a graph over `{S}` cannot return `{Self}`",
    note = "return `Ok(State::update().field(value))`, `Ok(Command::goto(\"node\"))` or `Ok(())`"
)]
pub trait IntoNodeOutput<S: GraphState> {
    /// What it says.
    fn into_node_output(self) -> NodeOutput<S>;
}

impl<S: GraphState> IntoNodeOutput<S> for NodeOutput<S> {
    fn into_node_output(self) -> NodeOutput<S> {
        self
    }
}

impl<S: GraphState> IntoNodeOutput<S> for () {
    fn into_node_output(self) -> NodeOutput<S> {
        NodeOutput {
            update: S::Update::default(),
            goto: Vec::new(),
        }
    }
}

/// What a node returns to say where the graph goes next, in addition to the node's edges.
///
/// Where it may go is declared with [`StateGraph::goto`](crate::StateGraph::goto).
#[derive(Clone)]
#[must_use]
pub struct Command<S: GraphState>(NodeOutput<S>);

impl<S: GraphState> Command<S> {
    /// Goes to a node, to several, or to nodes with arguments.
    pub fn goto(routes: impl Into<Routes>) -> Self {
        Self(NodeOutput {
            update: S::Update::default(),
            goto: routes.into().0,
        })
    }

    /// The same with writes, which the next nodes see.
    pub fn update(mut self, update: impl Into<S::Update>) -> Self {
        self.0.update = update.into();
        self
    }
}

impl<S: GraphState> IntoNodeOutput<S> for Command<S> {
    fn into_node_output(self) -> NodeOutput<S> {
        self.0
    }
}

/// What a task of a node is given.
#[derive(Clone)]
pub(crate) enum Input<S> {
    State(Arc<S>),
    Arg(Stored),
}

pub(crate) type NodeFuture<S> = BoxFuture<'static, Result<NodeOutput<S>, NodeError>>;

pub(crate) type NodeFn<S> = Arc<dyn Fn(Input<S>, NodeContext) -> NodeFuture<S> + Send + Sync>;

/// What can be said about a node besides what it does.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct NodeOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) retry: Option<Retry>,
}

impl NodeOptions {
    /// How long one try may take; then it is dropped, and has failed.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Tries again when the node fails.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = Some(retry);
        self
    }
}

/// When and how often a failed node is tried again.
#[derive(Clone)]
#[must_use]
pub struct Retry {
    max_attempts: u32,
    first_wait: Duration,
    factor: f64,
    max_wait: Duration,
    jitter: bool,
    when: Arc<dyn Fn(&NodeError) -> bool + Send + Sync>,
}

impl Retry {
    /// Three attempts, waits of 0.5 s, 1 s, ... up to 128 s, each shortened by chance down to its
    /// half; after every error but a panic.
    pub fn exponential() -> Self {
        Self {
            max_attempts: 3,
            first_wait: Duration::from_millis(500),
            factor: 2.0,
            max_wait: Duration::from_secs(128),
            jitter: true,
            when: Arc::new(|error| !error.is_panic()),
        }
    }

    /// How often the node is tried in all, at least once.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts;
        self
    }

    /// The wait after the first failure.
    pub fn first_wait(mut self, wait: Duration) -> Self {
        self.first_wait = wait;
        self
    }

    /// How much longer each wait is than the one before.
    pub fn factor(mut self, factor: f64) -> Self {
        self.factor = factor;
        self
    }

    /// No wait is longer.
    pub fn max_wait(mut self, wait: Duration) -> Self {
        self.max_wait = wait;
        self
    }

    /// The waits are exactly as long as said.
    pub fn without_jitter(mut self) -> Self {
        self.jitter = false;
        self
    }

    /// Only after errors for which this is true.
    pub fn when(mut self, when: impl Fn(&NodeError) -> bool + Send + Sync + 'static) -> Self {
        self.when = Arc::new(when);
        self
    }

    /// How long to wait before the next try after this failed one (the first is 1), if there is one.
    pub(crate) fn wait_after(&self, attempt: u32, error: &NodeError) -> Option<Duration> {
        if attempt >= self.max_attempts || !(self.when)(error) {
            return None;
        }
        let exponent = i32::try_from(attempt - 1).unwrap_or(i32::MAX);
        let seconds = self.first_wait.as_secs_f64() * self.factor.powi(exponent);
        let longest = self.max_wait.as_secs_f64();
        // `min` also turns a NaN of odd factors into the longest wait.
        let wait = Duration::from_secs_f64(seconds.min(longest).max(0.0));
        Some(if self.jitter {
            wait.mul_f64(chance())
        } else {
            wait
        })
    }
}

/// From a half to one.
fn chance() -> f64 {
    let random = Uuid::new_v4().as_u128() & u128::from(u16::MAX);
    0.5 + random as f64 / f64::from(u16::MAX) / 2.0
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("max_attempts", &self.max_attempts)
            .field("first_wait", &self.first_wait)
            .field("factor", &self.factor)
            .field("max_wait", &self.max_wait)
            .field("jitter", &self.jitter)
            .finish_non_exhaustive()
    }
}
