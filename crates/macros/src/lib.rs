//! `#[derive(InputContracts)]`: what an agent reads of what arrives, declared as a struct.
//! `#[derive(GraphState)]`: what the nodes of a graph read and write.
//!
//! Users of `llamon-agent` and `llamon-graph` have the derives from there and need no dependency on
//! this crate.

mod attributes;
mod expand;
mod field;
mod graph_state;
mod input;
mod shape;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input, parse_quote};

/// Implements `Inputs` for a struct with named fields: each field is an input of the agent.
///
/// ```
/// use llamon_core::contracts::{FilePart, Inputs};
/// use llamon_macros::InputContracts;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Order {
///     id: String,
///     total: f64,
/// }
///
/// #[derive(InputContracts)]
/// #[inputs(crate = "llamon_core")] // left out by users of llamon-agent
/// struct Billing {
///     /// The order to bill.
///     #[input(on_missing = "ask")]
///     order: Order,
///     #[input(select = "$.items[*].sku", optional)]
///     skus: Vec<u64>,
///     #[input(default = r#""EUR""#)]
///     currency: String,
///     #[input(media_type = "image/*")]
///     scan: Option<FilePart>,
/// }
///
/// assert!(Billing::contracts().compile().is_ok());
/// ```
///
/// # The field's type decides
///
/// | type | input |
/// |---|---|
/// | `T` | a data part, or a place in one; required |
/// | `FilePart` | a file part; required |
/// | `String` | a text part; required |
/// | `Option<T>`, `Option<FilePart>`, `Option<String>` | the same, `None` where there is none |
/// | `Vec<T>`, `Vec<FilePart>`, `Vec<String>` | all that match, at least one; with `#[input(optional)]` also none |
///
/// A `T` implements `serde::Deserialize` and `schemars::JsonSchema`. A value only matches if it
/// satisfies the type's JSON Schema (draft 2020-12) and can be read as the type. `serde_json::Value`
/// and `Box<RawValue>` take any value; the latter is the text as it was sent, token for token.
///
/// The types are read as they are written: `String` by an alias is data, not text. Doc comments
/// of a `T` are descriptions in its schema; whoever publishes the contracts publishes them, too.
///
/// # Attributes of a field, `#[input(...)]`
///
/// | key | meaning |
/// |---|---|
/// | `name = "..."` | the input's name; default: the field's |
/// | `description = "..."` | for people; default: the first paragraph of the field's doc comment |
/// | `kind = "data"` | what a `String` is when it is no text part |
/// | `select = "..."` | JSONPath (`$...`) or JSON Pointer (`/...`) into the value; only data |
/// | `schema = "none"` | no schema; then `T` needs no `JsonSchema` |
/// | `schema = path` | a `fn() -> serde_json::Value` that returns the schema |
/// | `media_type = "..."`, `filename = "..."` | globs that the part must match |
/// | `source = "..."` | who made the part: agent, skill or artifact |
/// | `pick = "first"`, `"last"` or `"one"` | which of several; default: the first |
/// | `default = "..."` | JSON text that the input is where it is missing |
/// | `on_missing = "reject"` or `"ask"` | what happens where it is missing; default: reject |
/// | `optional` | a `Vec` may be empty |
///
/// # Attribute of the struct, `#[inputs(...)]`
///
/// `#[inputs(crate = "...")]` says where the contracts are; default: `::llamon_agent`.
///
/// What is wrong is an error at its place. Paths, patterns and schemas are checked when the server
/// is created.
#[proc_macro_derive(InputContracts, attributes(input, inputs))]
pub fn derive_input_contracts(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::expand(&input).into()
}

/// Implements `GraphState` for a struct with named fields, and writes the type of its updates.
///
/// For a struct `State` that is `StateUpdate`, with at most one write for each field. It is made by
/// `State::update()`, and has for a field `notes` the method `notes(value)`; with a reducer also
/// `overwrite_notes(value)`, which goes past the reducer, and `push_notes(item)` for lists. As JSON it
/// is an object of the fields that are written. `StateUpdate::from(state)` writes all fields.
///
/// The struct derives `Clone`, `Default`, `serde::Serialize` and `serde::Deserialize`, too; so the
/// types of its fields do.
///
/// ```
/// use llamon_graph::{GraphMessage, GraphState};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Default, Serialize, Deserialize, GraphState)]
/// struct State {
///     #[state(messages)]
///     messages: Vec<GraphMessage>,
///     #[state(append)]
///     notes: Vec<String>,
///     #[state(reducer = i64::max)]
///     best: i64,
///     #[state(overwrite)]
///     last: String,
///     answer: Option<String>,
/// }
///
/// let update = State::update().push_notes("a note".to_owned()).best(7);
/// let json = serde_json::to_value(&update)?;
/// assert_eq!(json, serde_json::json!({"notes": ["a note"], "best": 7}));
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Attributes of a field, `#[state(...)]`: how the writes of one super-step are merged
///
/// | key | meaning |
/// |---|---|
/// | none | the write is the new value; two in one super-step are an error that names the nodes |
/// | `append` | the items are added: any `Extend` |
/// | `messages` | a message with a known id takes the place of the old one, others are added |
/// | `overwrite` | the last write is the new value |
/// | `reducer = function` | `fn(&mut T, T)` or `fn(T, T) -> T`, of the value and the write |
///
/// # Attribute of the struct, `#[state(...)]`
///
/// `#[state(crate = "...")]` says where llamon-graph is; default: `::llamon_graph`.
#[proc_macro_derive(GraphState, attributes(state))]
pub fn derive_graph_state(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    graph_state::expand(&input, &parse_quote!(::llamon_graph)).into()
}

/// [`GraphState`] for users of `llamon-agent`, which has it as `GraphState`: the default of `crate` is
/// `::llamon_agent::graph`.
#[proc_macro_derive(AgentGraphState, attributes(state))]
pub fn derive_agent_graph_state(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    graph_state::expand(&input, &parse_quote!(::llamon_agent::graph)).into()
}
