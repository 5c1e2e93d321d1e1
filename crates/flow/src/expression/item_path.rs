use llamon_core::Part;
use llamon_core::contracts::{SelectedItem, Selector};

use super::{check_size, without_advice};

/// The path of an `each`.
#[derive(Debug)]
pub(crate) struct ItemPath {
    path: String,
    selector: Selector,
}

impl ItemPath {
    pub(crate) fn new(path: &str) -> Result<Self, String> {
        check_size(path)?;
        if !path.starts_with('$') {
            return Err(format!("{path:?} is no JSONPath, which begins with `$`"));
        }
        Ok(Self {
            selector: Selector::new(path)
                .map_err(|error| without_advice(&error.to_string()).to_owned())?,
            path: path.to_owned(),
        })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.path
    }

    /// The raw texts at the places of a data part.
    ///
    /// # Errors
    /// When the part cannot be parsed.
    pub(crate) fn find(&self, part: &Part) -> Result<Vec<SelectedItem>, String> {
        self.selector.find(part).map_err(|error| error.to_string())
    }
}
