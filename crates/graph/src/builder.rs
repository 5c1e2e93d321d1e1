//! Declaring a graph.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::compile::{self, CompileError};
use crate::graph::Graph;
use crate::node::{Input, IntoNodeOutput, NodeFn, NodeOptions, NodeOutput};
use crate::route::Routes;
use crate::{GraphState, NodeContext, NodeError};

/// A graph as it is declared: nodes, and the ways between them. [`compile`](Self::compile) checks it.
///
/// `S` is the state, `O` what a run gives back.
#[must_use = "a graph runs after `.compile()`"]
pub struct StateGraph<S: GraphState, O = S> {
    pub(crate) name: String,
    pub(crate) nodes: Vec<NodeDef<S>>,
    pub(crate) edges: Vec<(String, String)>,
    pub(crate) branches: Vec<BranchDef<S>>,
    pub(crate) joins: Vec<(Vec<String>, String)>,
    pub(crate) gotos: Vec<(String, Vec<String>)>,
    pub(crate) interrupt_before: Vec<String>,
    pub(crate) interrupt_after: Vec<String>,
    output: PhantomData<fn() -> O>,
}

pub(crate) struct NodeDef<S: GraphState> {
    pub(crate) name: String,
    pub(crate) run: NodeFn<S>,
    pub(crate) options: NodeOptions,
    pub(crate) takes: Takes,
}

/// What a node takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    State,
    /// Its own argument, that only a `SendTo` brings.
    Arg,
}

pub(crate) struct BranchDef<S> {
    pub(crate) from: String,
    pub(crate) router: Router<S>,
    pub(crate) targets: Vec<String>,
}

pub(crate) type Router<S> = Arc<dyn Fn(&S) -> Routes + Send + Sync>;

impl<S: GraphState> StateGraph<S> {
    /// A graph without nodes. The name is for people.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            nodes: Vec::new(),
            edges: Vec::new(),
            branches: Vec::new(),
            joins: Vec::new(),
            gotos: Vec::new(),
            interrupt_before: Vec::new(),
            interrupt_after: Vec::new(),
            output: PhantomData,
        }
    }
}

impl<S: GraphState, O> StateGraph<S, O> {
    /// A run gives back this instead of the whole state.
    ///
    /// Input that is narrower than the state needs nothing here: it is any type with
    /// `impl From<Input> for StateUpdate`.
    pub fn output<N: From<S> + Send + 'static>(self) -> StateGraph<S, N> {
        StateGraph {
            name: self.name,
            nodes: self.nodes,
            edges: self.edges,
            branches: self.branches,
            joins: self.joins,
            gotos: self.gotos,
            interrupt_before: self.interrupt_before,
            interrupt_after: self.interrupt_after,
            output: PhantomData,
        }
    }

    /// Adds a node: an `async fn(State, NodeContext) -> Result<impl IntoNodeOutput, NodeError>`.
    ///
    /// Nodes of one super-step run at the same time, and each sees the state from before the step.
    pub fn node<F, R, Fut>(self, name: impl Into<String>, node: F) -> Self
    where
        F: Fn(S, NodeContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, NodeError>> + Send + 'static,
        R: IntoNodeOutput<S> + 'static,
    {
        self.node_with(name, node, NodeOptions::default())
    }

    /// Adds a node with a timeout or a retry.
    pub fn node_with<F, R, Fut>(
        self,
        name: impl Into<String>,
        node: F,
        options: NodeOptions,
    ) -> Self
    where
        F: Fn(S, NodeContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, NodeError>> + Send + 'static,
        R: IntoNodeOutput<S> + 'static,
    {
        let node = Arc::new(node);
        let run: NodeFn<S> = Arc::new(move |input, context| {
            let node = node.clone();
            Box::pin(async move {
                let state = match input {
                    Input::State(state) => state,
                    Input::Arg(arg) => arg.get::<S>().map_err(|error| not_of::<S>(&error))?,
                };
                let output = node(Arc::unwrap_or_clone(state), context).await?;
                Ok(output.into_node_output())
            })
        });
        self.add(name.into(), run, options, Takes::State)
    }

    /// Adds a node that takes its own argument instead of the state:
    /// `.task_node("work", |arg: Arg, context| async move { ... })`. Only a
    /// [`SendTo`](crate::SendTo) leads to it.
    pub fn task_node<A, F, R, Fut>(self, name: impl Into<String>, node: F) -> Self
    where
        A: Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
        F: Fn(A, NodeContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, NodeError>> + Send + 'static,
        R: IntoNodeOutput<S> + 'static,
    {
        self.task_node_with(name, node, NodeOptions::default())
    }

    /// Adds a node that takes its own argument, with a timeout or a retry.
    pub fn task_node_with<A, F, R, Fut>(
        self,
        name: impl Into<String>,
        node: F,
        options: NodeOptions,
    ) -> Self
    where
        A: Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
        F: Fn(A, NodeContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, NodeError>> + Send + 'static,
        R: IntoNodeOutput<S> + 'static,
    {
        let node = Arc::new(node);
        let run: NodeFn<S> = Arc::new(move |input, context| {
            let node = node.clone();
            Box::pin(async move {
                let Input::Arg(arg) = input else {
                    return Err(NodeError::new(
                        "it takes an argument of its own, and only a `SendTo` brings one",
                    ));
                };
                let arg = arg.get::<A>().map_err(|error| not_of::<A>(&error))?;
                let output = node(Arc::unwrap_or_clone(arg), context).await?;
                Ok(output.into_node_output())
            })
        });
        self.add(name.into(), run, options, Takes::Arg)
    }

    /// Adds a graph over the same state as a node: it begins with the outer state, and what it has at
    /// its end is written to the outer state like a node's update, every field of it.
    ///
    /// So, as in LangGraph, a field that is appended to or added up is merged with itself: what the
    /// outer state had is there twice. And plain fields are written even if nothing has changed in
    /// them, a conflict with another node of the step that writes them.
    /// [`subgraph_with`](Self::subgraph_with) says what goes in and what comes back.
    pub fn subgraph<P>(self, name: impl Into<String>, graph: Graph<S, P>) -> Self
    where
        P: From<S> + Into<S::Update> + Send + 'static,
    {
        self.subgraph_with(name, graph, S::clone, P::into)
    }

    /// Adds a graph over any state as a node. `enter` makes its input of the outer state, `leave` an
    /// update of the outer state of its output.
    ///
    /// It uses the outer graph's saver, under a namespace of its own; its questions are the outer
    /// graph's, and when they are answered it goes on inside. A [`SendTo`](crate::SendTo) brings it an
    /// input of its own: an update of its state.
    pub fn subgraph_with<C, P, I, U>(
        self,
        name: impl Into<String>,
        graph: Graph<C, P>,
        enter: impl Fn(&S) -> I + Send + Sync + 'static,
        leave: impl Fn(P) -> U + Send + Sync + 'static,
    ) -> Self
    where
        C: GraphState,
        P: From<C> + Send + 'static,
        I: Into<C::Update>,
        U: Into<S::Update>,
    {
        let (enter, leave) = (Arc::new(enter), Arc::new(leave));
        let run: NodeFn<S> = Arc::new(move |input, context| {
            let (graph, enter, leave) = (graph.clone(), enter.clone(), leave.clone());
            Box::pin(async move {
                let input = match input {
                    Input::State(state) => enter(&state).into(),
                    Input::Arg(arg) => {
                        let update = arg.get::<C::Update>();
                        Arc::unwrap_or_clone(update.map_err(|error| not_of::<C>(&error))?)
                    }
                };
                let output = context.run(&graph, input).await?;
                Ok(NodeOutput {
                    update: leave(output).into(),
                    goto: Vec::new(),
                })
            })
        });
        self.add(name.into(), run, NodeOptions::default(), Takes::State)
    }

    /// After `from` comes `to`. From [`START`](crate::START), to [`END`](crate::END).
    pub fn edge(mut self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.edges.push((from.into(), to.into()));
        self
    }

    /// After `from` comes what `route` says: one of `targets`, several, or none. It sees the state
    /// with what `from` wrote, without what other nodes of the step wrote.
    pub fn conditional_edge<R: Into<Routes>>(
        mut self,
        from: impl Into<String>,
        route: impl Fn(&S) -> R + Send + Sync + 'static,
        targets: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.branches.push(BranchDef {
            from: from.into(),
            router: Arc::new(move |state| route(state).into()),
            targets: strings(targets),
        });
        self
    }

    /// `to` comes once all of `from` have run, in the same super-step or in different ones.
    pub fn join(
        mut self,
        from: impl IntoIterator<Item = impl Into<String>>,
        to: impl Into<String>,
    ) -> Self {
        self.joins.push((strings(from), to.into()));
        self
    }

    /// Declares where the commands of a node may go.
    pub fn goto(
        mut self,
        from: impl Into<String>,
        targets: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.gotos.push((from.into(), strings(targets)));
        self
    }

    /// The run stops before a super-step with one of these nodes; `Resume::proceed()` goes on.
    pub fn interrupt_before(mut self, nodes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.interrupt_before.extend(strings(nodes));
        self
    }

    /// The run stops after a super-step with one of these nodes, if anything comes after it.
    pub fn interrupt_after(mut self, nodes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.interrupt_after.extend(strings(nodes));
        self
    }

    /// Checks the graph.
    ///
    /// # Errors
    /// With every mistake in it: names that are unknown or given twice, nodes that nothing leads to
    /// or that lead nowhere, a missing start, and more.
    pub fn compile(self) -> Result<Graph<S, O>, CompileError>
    where
        O: From<S> + Send + 'static,
    {
        compile::check(&self)?;
        Ok(Graph::new(self))
    }

    fn add(mut self, name: String, run: NodeFn<S>, options: NodeOptions, takes: Takes) -> Self {
        self.nodes.push(NodeDef {
            name,
            run,
            options,
            takes,
        });
        self
    }
}

fn strings(names: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
    names.into_iter().map(Into::into).collect()
}

fn not_of<T>(error: &serde_json::Error) -> NodeError {
    NodeError::new(format!(
        "the argument that was sent to it is no `{}`: {error}",
        std::any::type_name::<T>()
    ))
}
