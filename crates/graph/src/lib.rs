//! Graphs of steps over a typed state, with LangGraph's semantics.
//!
//! ```
//! use llamon_graph::{END, GraphState, NodeContext, NodeError, RunConfig, START, StateGraph};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Clone, Debug, Default, Serialize, Deserialize, GraphState)]
//! struct State {
//!     question: String,
//!     #[state(append)]
//!     notes: Vec<String>,
//!     answer: Option<String>,
//! }
//!
//! async fn search(state: State, _: NodeContext) -> Result<StateUpdate, NodeError> {
//!     Ok(State::update().push_notes(format!("about {}", state.question)))
//! }
//!
//! async fn answer(state: State, _: NodeContext) -> Result<StateUpdate, NodeError> {
//!     Ok(State::update().answer(Some(state.notes.join("; "))))
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let graph = StateGraph::<State>::new("hello")
//!     .node("search", search)
//!     .node("answer", answer)
//!     .edge(START, "search")
//!     .edge("search", "answer")
//!     .edge("answer", END)
//!     .compile()?;
//! let input = State::update().question("llamas".to_owned());
//! let state = graph.invoke(input, RunConfig::default()).await?.into_state();
//! assert_eq!(state.answer.as_deref(), Some("about llamas"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How a graph runs
//!
//! In super-steps. All nodes that are next run at the same time, and each is given the state from
//! before the step. When all have finished, their updates are merged, field by field and in the order
//! of the nodes' names (then the tasks of [`SendTo`], in the order in which they were sent), and the
//! ways after them say what is next. A run ends when nothing is.
//!
//! If a node fails, the others of its step are stopped and the run is an error. If a node asks, with
//! [`NodeContext::interrupt`], the others finish and the run is [`Outcome::Interrupted`].
//!
//! # With a saver
//!
//! A [`Saver`] keeps a checkpoint after each super-step, and what each node wrote as soon as it has
//! finished, before anything goes on. So a run can be resumed after a question, a failure or a crash,
//! and no node that had finished runs again: [`Graph::resume`]. [`MemorySaver`] keeps in memory,
//! `SqliteSaver` (feature `sqlite`) in a file.
//!
//! | Feature | |
//! |---|---|
//! | `sqlite` | `SqliteSaver`; builds SQLite, needs a C compiler |

mod builder;
mod compile;
mod config;
mod context;
mod diagram;
mod error;
mod event;
mod graph;
mod ids;
mod interrupt;
mod message;
mod node;
mod plan;
mod route;
mod run;
mod said;
mod saver;
mod snapshot;
mod state;
mod stored;

pub use builder::StateGraph;
pub use compile::CompileError;
pub use config::{DEFAULT_RECURSION_LIMIT, RunConfig};
pub use context::NodeContext;
pub use error::{GraphError, NodeError};
pub use event::{Event, EventData, Mode};
pub use graph::{Graph, GraphStream};
pub use interrupt::{Interrupt, Outcome, Question, Resume};
pub use llamon_macros::GraphState;
pub use message::{Content, GraphMessage, Message, Removal, Role};
pub use node::{Command, IntoNodeOutput, NodeOptions, NodeOutput, Retry};
pub use route::{END, Route, Routes, START, SendTo};
pub use said::Said;
#[cfg(feature = "sqlite")]
pub use saver::SqliteSaver;
pub use saver::{
    Checkpoint, CheckpointBody, CheckpointKey, MemorySaver, PendingWrite, Saved, Saver, SaverError,
    SaverFuture, Source,
};
pub use snapshot::{Snapshot, Status, TaskSnapshot};
pub use state::{GraphState, Update, UpdateError, Write};
pub use stored::Stored;

/// What the derive's code uses.
#[doc(hidden)]
pub mod __private {
    pub use serde;

    pub use crate::message::merge_messages;
    pub use crate::state::{Reduced, Reducer, Replaced, present};
}
