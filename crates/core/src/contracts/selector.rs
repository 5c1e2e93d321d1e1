//! One path, without a contract around it.

use std::fmt;

use super::compile::{CompiledContracts, check_select};
use super::contract::{InputContract, InputContracts, Pick};
use super::matching::Candidate;
use super::select::{Search, SelectedItem, look_at};
use crate::part::{Part, PartKind};

/// A JSONPath (RFC 9535) or JSON Pointer (RFC 6901) that was checked, to find places in data
/// parts. It keeps to the rules of a contract's `select`.
///
/// ```
/// use llamon_core::{Part, contracts::Selector};
/// let skus = Selector::new("$.items[*].sku")?;
/// let part = Part::data_from_json(r#"{"items":[{"sku":1.0},{"sku":"b"}]}"#)?;
/// let found = skus.find(&part)?;
/// assert_eq!(found.iter().map(|item| item.json()).collect::<Vec<_>>(), ["1.0", r#""b""#]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Selector {
    compiled: CompiledContracts,
}

impl Selector {
    /// Checks a path.
    ///
    /// # Errors
    /// When it is none, or not one that a contract takes: `match` and `search`, several `..`, `$`
    /// inside a filter.
    pub fn new(select: &str) -> Result<Self, SelectorError> {
        check_select(select).map_err(SelectorError)?;
        let contract = InputContract::data("path").select(select).pick(Pick::All);
        let compiled = InputContracts::new().with(contract).compile();
        let compiled = compiled.map_err(|error| SelectorError(error.to_string()))?;
        Ok(Self { compiled })
    }

    /// The raw texts at all places of a data part that the path leads to, in the order of the
    /// path; none in a part of another kind.
    ///
    /// # Errors
    /// When the value cannot be parsed (`1e400`, a lone surrogate), or is too large for a path
    /// with `..`: what it has there is not known then, which is not the same as nothing.
    pub fn find(&self, part: &Part) -> Result<Vec<SelectedItem>, SelectorError> {
        let Some(contract) = self.compiled.contracts.first() else {
            return Ok(Vec::new());
        };
        if part.kind() != PartKind::Data {
            return Ok(Vec::new());
        }
        let candidate = Candidate::new(0, part, &self.compiled.plain);
        let checked = (candidate.value()).and_then(|value| contract.check_effort(value));
        checked.map_err(|reason| SelectorError(reason.text))?;
        let mut searches = [Search::new(contract)];
        look_at(&candidate, &mut searches);
        let [search] = searches;
        Ok(search.into_items())
    }
}

/// A path that is none, or a value in which it cannot look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorError(String);

impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SelectorError {}

#[cfg(test)]
mod tests {
    use super::Selector;
    use crate::Part;

    #[test]
    fn what_cannot_be_parsed_is_an_error_and_what_is_not_there_is_nothing() {
        let selector = Selector::new("$.a").unwrap();
        let found = |json: &str| {
            let part = Part::data_from_json(json).unwrap();
            let items = selector.find(&part)?;
            Ok::<_, super::SelectorError>(items.iter().map(|item| item.json().to_owned()).collect())
        };
        assert_eq!(
            found(r#"{"a":{"n":1.0, "b":[]}}"#),
            Ok(vec![r#"{"n":1.0, "b":[]}"#.to_owned()])
        );
        assert_eq!(found(r#"{"b":1}"#), Ok(vec![]));
        assert!(
            found(r#"{"a":1e400}"#)
                .unwrap_err()
                .to_string()
                .contains("cannot be parsed")
        );
        assert!(selector.find(&Part::text("a")).unwrap().is_empty());
        assert!(
            Selector::new("a")
                .unwrap_err()
                .to_string()
                .contains("begins neither with")
        );
    }
}
