//! Input contracts: what an agent reads of what arrives, declared, checked and explained.
//!
//! A contract names one input and says which parts can be it. Selection never changes upstream
//! and hands on the raw text at the place it found, never a value that was written again.

/// The URI of the A2A extension that publishes an agent's contracts on its card, and that marks
/// the questions a server asks because of them.
pub const EXTENSION_URI: &str = "urn:llamon:ext:input-contracts:v1";

mod compile;
mod contract;
#[cfg(feature = "derive")]
mod derived;
mod document;
mod effort;
mod error;
mod explain;
mod inputs;
mod locate;
mod matching;
mod plain;
mod select;
mod selector;

pub use compile::CompiledContracts;
pub use contract::{InputContract, InputContracts, InputKind, OnMissing, Pick};
pub use error::ContractError;
pub use explain::{Candidate, ContractMiss, InputMiss};
pub use inputs::{FilePart, InputError, Inputs};
pub use select::{SelectedInput, SelectedInputs, SelectedItem};
pub use selector::{Selector, SelectorError};

/// For the code that a derive writes; no part of the API.
#[cfg(feature = "derive")]
#[doc(hidden)]
pub mod __private {
    pub use schemars;

    pub use super::derived::{InputValue, typed};
}
