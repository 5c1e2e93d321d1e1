use std::fmt;

use serde::de::DeserializeOwned;

use super::contract::InputContracts;
use super::select::{SelectedInput, SelectedInputs};
use crate::part::Part;
use crate::payload::PayloadError;

/// A struct that an agent takes as its inputs; derived with `#[derive(InputContracts)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not declare inputs",
    note = "add `#[derive(InputContracts)]` to the struct"
)]
pub trait Inputs: Sized + Send + 'static {
    /// What the struct declares.
    fn contracts() -> InputContracts;

    /// Fills the struct with what was selected.
    ///
    /// # Errors
    /// When an input is not what its field needs.
    fn from_selected(selected: &SelectedInputs) -> Result<Self, InputError>;
}

/// A file part that was selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePart(pub Part);

impl std::ops::Deref for FilePart {
    type Target = Part;

    fn deref(&self) -> &Part {
        &self.0
    }
}

impl SelectedInput {
    /// The file that was selected.
    pub fn file(&self) -> Option<FilePart> {
        self.items()
            .first()
            .map(|item| FilePart(item.part().clone()))
    }

    /// All files that were selected.
    pub fn files(&self) -> Vec<FilePart> {
        let files = self.items().iter();
        files.map(|item| FilePart(item.part().clone())).collect()
    }

    /// For the derive: a required value.
    #[doc(hidden)]
    pub fn required<T: DeserializeOwned>(&self, name: &str) -> Result<T, InputError> {
        self.read().map_err(|error| InputError::new(name, &error))
    }

    /// For the derive: an optional value.
    #[doc(hidden)]
    pub fn optional<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, InputError> {
        match self.json() {
            Some(_) => self.required(name).map(Some),
            None => Ok(None),
        }
    }

    /// For the derive: all values.
    #[doc(hidden)]
    pub fn all<T: DeserializeOwned>(&self, name: &str) -> Result<Vec<T>, InputError> {
        self.read_all()
            .map_err(|error| InputError::new(name, &error))
    }

    /// For the derive: a required file.
    #[doc(hidden)]
    pub fn required_file(&self, name: &str) -> Result<FilePart, InputError> {
        self.file()
            .ok_or_else(|| InputError::new(name, &PayloadError::new("no file was selected")))
    }
}

/// An input that is not what its field needs. A derived contract has found that out before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    name: String,
    message: String,
}

impl InputError {
    fn new(name: &str, error: &PayloadError) -> Self {
        Self {
            name: name.to_owned(),
            message: error.to_string(),
        }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the input {:?}: {}", self.name, self.message)
    }
}

impl std::error::Error for InputError {}
