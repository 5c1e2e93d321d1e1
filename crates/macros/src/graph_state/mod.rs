//! `#[derive(GraphState)]`: a state of a graph, with the update type that its nodes return.

mod expand;
mod field;
mod input;

pub(crate) use expand::expand;
