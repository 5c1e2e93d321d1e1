use llamon_core::{Part, PartKind};

use super::{Answers, DataError};
use crate::plan::{Plan, Source};

/// An item of a step with `each`: the raw JSON text at a place of its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    index: usize,
    part: Part,
}

impl Item {
    /// An item that was stored by its index and raw text; the inverse of [`Item::json`].
    ///
    /// # Errors
    /// When the text is no JSON value.
    pub fn from_json(index: usize, json: &str) -> Result<Self, DataError> {
        let part = Part::data_from_json(json)
            .map_err(|error| DataError::new(format!("item {index}: {error}")))?;
        Ok(Self { index, part })
    }

    /// Its number, from 0; part of its identity.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The raw text.
    pub fn json(&self) -> &str {
        self.part.content_json()
    }

    /// A data part that holds it.
    pub fn part(&self) -> &Part {
        &self.part
    }
}

impl Plan {
    /// The items of a step with `each`, in the order in which its source has them; none for
    /// another step.
    ///
    /// # Errors
    /// When a data part of the source cannot be parsed, and when there are more items than the
    /// step allows.
    pub fn items(&self, step: usize, answers: &Answers) -> Result<Vec<Item>, DataError> {
        let Some(each) = self.steps.get(step).and_then(|step| step.each.as_ref()) else {
            return Ok(Vec::new());
        };
        let of = self.source_name(each.of);
        let source = match each.of {
            Source::Input => Source::Input,
            Source::Step(from) => Source::Step(self.stands_for(from, step, answers)),
        };
        let parts = answers.payload(source).parts().iter();
        let mut items = Vec::new();
        for (at, part) in parts
            .filter(|part| part.kind() == PartKind::Data)
            .enumerate()
        {
            let found = each.path.find(part).map_err(|error| {
                DataError::new(format!("`each`: data part {at} of {of} {error}"))
            })?;
            if items.len() + found.len() > each.max_items {
                return Err(DataError::new(format!(
                    "`each`: {of} has more than {} items; raise max_items, or narrow {}",
                    each.max_items,
                    each.path()
                )));
            }
            for item in found {
                items.push(Item::from_json(items.len(), item.json())?);
            }
        }
        Ok(items)
    }
}
