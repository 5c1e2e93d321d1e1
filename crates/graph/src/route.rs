//! Where a graph goes next.

use serde::{Deserialize, Serialize};

use crate::Stored;

/// Where every run begins: `.edge(START, "first")`.
pub const START: &str = "__start__";

/// Where a path ends: `.edge("last", END)`.
pub const END: &str = "__end__";

/// A task for a node with an argument of its own, instead of the state.
///
/// A router or a [`Command`](crate::Command) may return any number of them, for the same node too;
/// they run in the next super-step at the same time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SendTo {
    pub(crate) node: String,
    pub(crate) arg: Stored,
}

impl SendTo {
    /// Sends `arg` to a node: the `Arg` of a `task_node`, or a whole state to any other one.
    pub fn new<A: Serialize + Send + Sync + 'static>(node: impl Into<String>, arg: A) -> Self {
        Self {
            node: node.into(),
            arg: Stored::new(arg),
        }
    }
}

/// One way on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// To the node of this name, or to the [`END`].
    Node(String),
    /// To a node with an argument.
    Send(SendTo),
}

impl Route {
    /// The node that it leads to.
    #[must_use]
    pub fn target(&self) -> &str {
        match self {
            Self::Node(node) => node,
            Self::Send(send) => &send.node,
        }
    }
}

impl From<&str> for Route {
    fn from(node: &str) -> Self {
        Self::Node(node.to_owned())
    }
}

impl From<String> for Route {
    fn from(node: String) -> Self {
        Self::Node(node)
    }
}

impl From<SendTo> for Route {
    fn from(send: SendTo) -> Self {
        Self::Send(send)
    }
}

/// The ways on, none or many: what a router returns.
///
/// It is made of one name or [`SendTo`], or of an array, a `Vec` or an `Option` of them.
#[derive(Clone, Debug, Default)]
pub struct Routes(pub(crate) Vec<Route>);

impl<R: Into<Route>> From<R> for Routes {
    fn from(route: R) -> Self {
        Self(vec![route.into()])
    }
}

impl<R: Into<Route>> From<Vec<R>> for Routes {
    fn from(routes: Vec<R>) -> Self {
        Self(routes.into_iter().map(Into::into).collect())
    }
}

impl<R: Into<Route>, const N: usize> From<[R; N]> for Routes {
    fn from(routes: [R; N]) -> Self {
        Self(routes.into_iter().map(Into::into).collect())
    }
}

impl<R: Into<Route>> From<Option<R>> for Routes {
    fn from(route: Option<R>) -> Self {
        Self(route.into_iter().map(Into::into).collect())
    }
}
