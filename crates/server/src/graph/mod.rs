//! [`GraphAgent`]: a graph of `llamon-graph` behind `create_server`.

mod error;
mod input;
mod output;
mod run;
mod thread;

use std::marker::PhantomData;
use std::sync::Arc;

use llamon_graph::{Graph, GraphState, RunConfig};
use serde::Serialize;

use crate::agent::{AgentKind, ErasedAgent, IntoAgent};
use crate::turn::Turn;
use input::Inputs;
use output::Outputs;

/// A graph as an agent: what of a message goes into its state, and what of its state is the answer.
///
/// * A message becomes one user message of the state's `messages`, made of all its text and file
///   parts; or its query goes into a field of its own. Data parts reach the state only where that is
///   declared, never spread over it.
/// * The answer's text is the last agent message that this turn has added, or a declared field. Its
///   `data[0]` is a declared field.
/// * Tokens stream as they come; what nodes `write` is progress, a status of the task.
/// * The graph's thread is the conversation (`contextId`), so that it remembers what was said before.
///   One turn at a time runs on it.
/// * A question of the graph is a question of its task, and needs
///   [`crate::ServerBuilder::hitl`].
/// * After a crash the graph's saver is asked first: no node that had finished runs again.
///
/// ```
/// use llamon_core::a2a::{AgentCard, Skill};
/// use llamon_graph::{END, GraphState, NodeContext, NodeError, START, StateGraph};
/// use llamon_server::{create_server, graph::GraphAgent};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Debug, Default, Serialize, Deserialize, GraphState)]
/// struct State {
///     question: String,
///     answer: Option<String>,
///     words: usize,
/// }
///
/// async fn count(state: State, _: NodeContext) -> Result<StateUpdate, NodeError> {
///     let words = state.question.split_whitespace().count();
///     Ok(State::update().words(words).answer(Some(format!("{words} words"))))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let graph = StateGraph::<State>::new("count")
///     .node("count", count)
///     .edge(START, "count")
///     .edge("count", END)
///     .compile()?;
/// let agent = GraphAgent::new(graph)
///     .query_into("question")
///     .text_from("answer")
///     .data_from("words");
/// let card = AgentCard::new("count", "Counts words", "1.0.0")
///     .skill(Skill::new("count", "Count", "Counts words"));
/// create_server(card, agent).upstream_parts_policy("append").await?;
/// # Ok(())
/// # }
/// ```
pub struct GraphAgent<S: GraphState, O = S> {
    graph: Graph<S, O>,
    inputs: Inputs,
    outputs: Outputs,
    thread_of: Arc<dyn Fn(&Turn) -> String + Send + Sync>,
    busy: BusyThread,
    recursion_limit: Option<usize>,
    max_concurrency: Option<usize>,
}

/// What becomes of a turn whose thread another task is running on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BusyThread {
    /// It waits until the thread is free.
    #[default]
    Wait,
    /// Its task is rejected, naming the other one.
    Refuse,
}

impl<S, O> GraphAgent<S, O>
where
    S: GraphState,
    O: From<S> + Serialize + Send + Unpin + 'static,
{
    /// The graph as an agent. Where its state has a field `messages`, messages go in and out there.
    pub fn new(graph: Graph<S, O>) -> Self {
        let has_messages = serde_json::to_value(S::default()).is_ok_and(|state| {
            state
                .get("messages")
                .is_some_and(serde_json::Value::is_array)
        });
        let messages = has_messages.then(|| "messages".to_owned());
        Self {
            graph,
            inputs: Inputs::of_messages(messages.clone()),
            outputs: Outputs::of_messages(messages),
            thread_of: Arc::new(|turn| turn.context_id().to_owned()),
            busy: BusyThread::default(),
            recursion_limit: None,
            max_concurrency: None,
        }
    }

    /// Has messages in another field than `messages`.
    #[must_use]
    pub fn messages(mut self, field: impl Into<String>) -> Self {
        let field = field.into();
        self.inputs.messages = Some(field.clone());
        self.outputs.messages = Some(field);
        self
    }

    /// Writes the query into this field.
    #[must_use]
    pub fn query_into(mut self, field: impl Into<String>) -> Self {
        self.inputs.query = Some(field.into());
        self
    }

    /// Writes the values of all upstream data parts into this field, as an array.
    #[must_use]
    pub fn data_into(mut self, field: impl Into<String>) -> Self {
        self.inputs.data = Some(field.into());
        self
    }

    /// Writes what the input contract `name` selected into the field of the same name.
    #[must_use]
    pub fn input(mut self, name: impl Into<String>) -> Self {
        self.inputs.selected.push(input::Selected::one(name.into()));
        self
    }

    /// Writes all that the input contract `name` selected into the field of the same name, as an
    /// array.
    #[must_use]
    pub fn inputs(mut self, name: impl Into<String>) -> Self {
        self.inputs.selected.push(input::Selected::all(name.into()));
        self
    }

    /// Takes the answer's text from this field instead of the messages.
    #[must_use]
    pub fn text_from(mut self, field: impl Into<String>) -> Self {
        self.outputs.text = Some(field.into());
        self
    }

    /// Takes the answer's data part from this field; `null` is none.
    #[must_use]
    pub fn data_from(mut self, field: impl Into<String>) -> Self {
        self.outputs.data = Some(field.into());
        self
    }

    /// Streams the tokens of these nodes only. Default: of all.
    #[must_use]
    pub fn stream_nodes(mut self, nodes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.outputs.nodes = Some(nodes.into_iter().map(Into::into).collect());
        self
    }

    /// The thread that a turn runs on, instead of its conversation. Whatever it is, threads of
    /// different callers are kept apart.
    #[must_use]
    pub fn thread_id(mut self, thread: impl Fn(&Turn) -> String + Send + Sync + 'static) -> Self {
        self.thread_of = Arc::new(thread);
        self
    }

    /// How many super-steps the graph may take in a turn, and again after each answer to a question;
    /// [`llamon_graph::DEFAULT_RECURSION_LIMIT`] if not said. A task whose graph has not come to its
    /// end by then fails, and its status names the limit.
    #[must_use]
    pub fn recursion_limit(mut self, limit: usize) -> Self {
        self.recursion_limit = Some(limit);
        self
    }

    /// How many nodes of a super-step may run at the same time (at least 1); all if not said.
    #[must_use]
    pub fn max_concurrency(mut self, nodes: usize) -> Self {
        self.max_concurrency = Some(nodes);
        self
    }

    /// What becomes of a turn whose thread is in use.
    #[must_use]
    pub fn busy(mut self, busy: BusyThread) -> Self {
        self.busy = busy;
        self
    }

    fn config(&self, mut config: RunConfig) -> RunConfig {
        if let Some(limit) = self.recursion_limit {
            config = config.recursion_limit(limit);
        }
        if let Some(nodes) = self.max_concurrency {
            config = config.max_concurrency(nodes);
        }
        config
    }
}

/// The kind of graph agents.
#[derive(Debug)]
pub struct GraphKind<S, O>(PhantomData<(S, O)>);

impl<S, O> IntoAgent<GraphKind<S, O>> for GraphAgent<S, O>
where
    S: GraphState,
    O: From<S> + Serialize + Send + Unpin + 'static,
{
    fn into_agent(self) -> ErasedAgent {
        let kind = if self.graph.has_static_interrupts() {
            AgentKind::Asks
        } else {
            AgentKind::Plain
        };
        let agent = Arc::new(self);
        let erased = ErasedAgent::new(move |turn| {
            let agent = Arc::clone(&agent);
            Box::pin(async move { agent.run(turn).await })
        });
        erased.of_kind(kind)
    }
}

impl<S, O> IntoAgent<GraphKind<S, O>> for Graph<S, O>
where
    S: GraphState,
    O: From<S> + Serialize + Send + Unpin + 'static,
{
    fn into_agent(self) -> ErasedAgent {
        GraphAgent::new(self).into_agent()
    }
}

impl<S: GraphState, O> std::fmt::Debug for GraphAgent<S, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GraphAgent").finish_non_exhaustive()
    }
}
