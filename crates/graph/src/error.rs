//! What goes wrong when a graph runs.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use crate::UpdateError;
use crate::saver::SaverError;

/// Why a node failed: any error, by `?`.
///
/// It is no `std::error::Error` itself, so that `?` can take all of them.
pub struct NodeError(Box<dyn StdError + Send + Sync>);

impl NodeError {
    /// An error that only has a text.
    pub fn new(message: impl fmt::Display) -> Self {
        Self(Box::new(Message(message.to_string())))
    }

    /// The error that `?` took, if it was an `E`.
    #[must_use]
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }

    /// Whether the node took longer than its timeout.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        self.0.is::<TimedOut>()
    }

    /// Whether the node panicked.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        self.0.is::<Panicked>()
    }

    /// As the error of the run. What is not the node's own mistake stays what it is.
    pub(crate) fn into_graph_error(self, node: &str) -> GraphError {
        match self.0.downcast::<GraphError>() {
            Ok(error) if matches!(*error, GraphError::Route { .. }) => *error,
            Ok(error) => GraphError::Node {
                node: node.to_owned(),
                error: Self(error),
            },
            Err(error) => GraphError::Node {
                node: node.to_owned(),
                error: Self(error),
            },
        }
    }

    /// What a node that asks returns: not a failure, and no retry.
    pub(crate) fn interrupted() -> Self {
        Self::new("the node waits for an answer; return this error, with `?`, and it runs again")
    }

    pub(crate) fn timed_out(after: Duration) -> Self {
        Self(Box::new(TimedOut(after)))
    }

    pub(crate) fn panicked(payload: &(dyn std::any::Any + Send)) -> Self {
        Self(Box::new(Panicked(panic_text(payload))))
    }
}

pub(crate) fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no text").to_owned()
}

impl<E: StdError + Send + Sync + 'static> From<E> for NodeError {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl fmt::Debug for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[derive(Debug)]
struct Message(String);

#[derive(Debug)]
struct TimedOut(Duration);

#[derive(Debug)]
struct Panicked(String);

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it took longer than its timeout of {:?}", self.0)
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it panicked: {}", self.0)
    }
}

impl StdError for Message {}
impl StdError for TimedOut {}
impl StdError for Panicked {}

/// Why a graph did not run to its end.
#[derive(Debug)]
#[non_exhaustive]
pub enum GraphError {
    /// A node failed. Nodes of the same super-step that had finished keep their writes, the others
    /// were stopped; with a saver, `resume(Resume::proceed(), ..)` runs the failed and the stopped.
    Node {
        /// The node.
        node: String,
        /// Why.
        error: NodeError,
    },
    /// Writes of one super-step do not go together.
    Update(UpdateError),
    /// The graph ran as many super-steps as it may and had not come to its end.
    RecursionLimit {
        /// How many.
        limit: usize,
        /// The nodes that would have run next.
        next: Vec<String>,
    },
    /// A router or a command named a node that it may not go to.
    Route {
        /// The node that goes on.
        from: String,
        /// Where to.
        to: String,
        /// What is wrong with that.
        reason: String,
    },
    /// The call does not fit the thread: what is wrong, and what to do.
    Thread(String),
    /// The saver failed, or what it had kept does not fit this graph.
    Saver(SaverError),
    /// A reducer or a router of the start panicked.
    Panic(String),
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node { node, error } => write!(f, "node `{node}`: {error}"),
            Self::Update(error) => fmt::Display::fmt(error, f),
            Self::RecursionLimit { limit, next } => write!(
                f,
                "the limit of {limit} super-steps is reached, and {} would run next; is there a cycle \
                 that never ends? A higher limit: `RunConfig::recursion_limit`",
                quoted(next)
            ),
            Self::Route { from, to, reason } => write!(f, "from `{from}` to `{to}`: {reason}"),
            Self::Thread(message) => f.write_str(message),
            Self::Saver(error) => fmt::Display::fmt(error, f),
            Self::Panic(text) => write!(f, "{text}"),
        }
    }
}

impl StdError for GraphError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Node { error, .. } => error.0.source(),
            Self::Saver(error) => error.source(),
            _ => None,
        }
    }
}

impl From<SaverError> for GraphError {
    fn from(error: SaverError) -> Self {
        Self::Saver(error)
    }
}

impl From<UpdateError> for GraphError {
    fn from(error: UpdateError) -> Self {
        Self::Update(error)
    }
}

/// Names for people: `a`, `b`.
pub(crate) fn quoted<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<String> = (names.into_iter())
        .map(|name| format!("`{}`", name.as_ref()))
        .collect();
    names.join(", ")
}
