use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::compile::{Compiled, CompiledContracts};
use super::contract::{OnMissing, Pick};
use super::explain::{self, ContractMiss, InputMiss};
use super::locate::{Steps, locate, pointer_at};
use super::matching::{Candidate, Match, Plain, Reason};
use crate::part::Part;
use crate::payload::PayloadError;

/// What the contracts selected of a message.
#[derive(Clone, Debug, Default)]
pub struct SelectedInputs {
    inputs: BTreeMap<String, SelectedInput>,
}

/// What one contract selected.
#[derive(Clone, Debug, Default)]
pub struct SelectedInput {
    items: Vec<SelectedItem>,
    default: Option<String>,
}

/// A part, or a place in one, that was selected.
#[derive(Clone, Debug)]
pub struct SelectedItem {
    part: Arc<Part>,
    index: usize,
    range: Range<usize>,
}

impl CompiledContracts {
    /// Selects the inputs from the parts of a message, in arrival order. Changes nothing in them.
    ///
    /// # Errors
    /// When a required input is missing, with each candidate and the first reason that it did not
    /// match.
    pub fn select(&self, parts: &[Part]) -> Result<SelectedInputs, InputMiss> {
        self.select_after(parts, &[])
    }

    /// As [`CompiledContracts::select`]; an input that `parts` do not have, also an optional one,
    /// is looked for in `earlier`, the parts of messages before.
    ///
    /// # Errors
    /// When a required input is in neither. The candidates that are named are those of `parts`.
    pub fn select_after(
        &self,
        parts: &[Part],
        earlier: &[Part],
    ) -> Result<SelectedInputs, InputMiss> {
        let mut searches: Vec<Search<'_>> = self.contracts.iter().map(Search::new).collect();
        self.search(parts, &mut searches);
        if !earlier.is_empty() {
            let open = |search: &Search<'_>| search.items.is_empty();
            let mut again: Vec<Search<'_>> = searches
                .iter()
                .filter(|search| open(search))
                .map(|search| Search::new(search.contract))
                .collect();
            self.search(earlier, &mut again);
            let unfilled = searches.iter_mut().filter(|search| open(search));
            for (search, found) in unfilled.zip(again) {
                search.items = found.items;
            }
        }
        let mut selected = SelectedInputs::default();
        let mut misses = Vec::new();
        for search in searches {
            let name = search.contract.contract.name.clone();
            match search.finish(parts) {
                Ok(input) => drop(selected.inputs.insert(name, input)),
                Err(miss) => misses.push(miss),
            }
        }
        if misses.is_empty() {
            return Ok(selected);
        }
        Err(InputMiss::new(misses))
    }

    fn search(&self, parts: &[Part], searches: &mut [Search<'_>]) {
        for (index, part) in parts.iter().enumerate() {
            if searches.iter().all(|search| search.is_done) {
                break;
            }
            // Part by part, so that a value is parsed once and gone before the next one.
            let candidate = Candidate::new(index, part, &self.plain);
            look_at(&candidate, searches);
        }
    }

    /// What each contract makes of each part, also where nothing is missing.
    pub fn explain(&self, parts: &[Part]) -> Vec<(String, Vec<explain::Candidate>)> {
        let candidates: Vec<Candidate<'_>> = parts
            .iter()
            .enumerate()
            .map(|(index, part)| Candidate::new(index, part, &self.plain))
            .collect();
        let of_contract = |contract: &Compiled| {
            let explained = candidates.iter().map(|candidate| {
                let matches = contract.matches(candidate, &mut Plain::default());
                explain::Candidate::new(candidate.index, candidate.part, matches)
            });
            (contract.contract.name.clone(), explained.collect())
        };
        self.contracts.iter().map(of_contract).collect()
    }
}

/// What was found so far of one input.
pub(super) struct Search<'c> {
    contract: &'c Compiled,
    items: Vec<SelectedItem>,
    /// Why the parts that were looked at are not the input, by their index.
    reasons: Vec<(usize, Reason)>,
    /// Whether the rest cannot change which one it is.
    is_done: bool,
}

/// Looks at one part for all inputs that are still open; locates what it finds in one pass.
pub(super) fn look_at(candidate: &Candidate<'_>, searches: &mut [Search<'_>]) {
    let mut plain = Plain::default();
    // Places whose ranges are still to be found, with the input that they are for.
    let mut unlocated = Vec::new();
    for (index, search) in searches.iter_mut().enumerate() {
        if search.is_done {
            continue;
        }
        match search.contract.matches(candidate, &mut plain) {
            Ok(matches) => {
                for found in matches {
                    match found {
                        Match::Located(range) => search.take(candidate, range),
                        Match::Steps(steps) => unlocated.push((index, steps)),
                    }
                }
            }
            Err(reason) => search.reasons.push((candidate.index, reason)),
        }
    }
    let steps: Vec<&Steps<'_>> = unlocated.iter().map(|(_, steps)| steps).collect();
    // The value was parsed from this text, so what is in the one is in the other.
    let ranges = locate(candidate.part.content_json(), &steps);
    for ((index, _), range) in unlocated.iter().zip(ranges) {
        if let (Some(range), Some(search)) = (range, searches.get_mut(*index)) {
            search.take(candidate, range);
        }
    }
}

impl<'c> Search<'c> {
    pub(super) fn new(contract: &'c Compiled) -> Self {
        Self {
            contract,
            items: Vec::new(),
            reasons: Vec::new(),
            is_done: false,
        }
    }

    pub(super) fn into_items(self) -> Vec<SelectedItem> {
        self.items
    }

    fn take(&mut self, candidate: &Candidate<'_>, range: Range<usize>) {
        match self.contract.contract.pick {
            Pick::First if self.is_done => return,
            Pick::First => self.is_done = true,
            Pick::Last => self.items.clear(),
            Pick::One | Pick::All => {}
        }
        self.items.push(SelectedItem {
            part: candidate.shared_part(),
            index: candidate.index,
            range,
        });
    }

    fn finish(self, parts: &[Part]) -> Result<SelectedInput, ContractMiss> {
        let contract = &self.contract.contract;
        let matches = self.items.len();
        let is_ambiguous = contract.pick == Pick::One && matches > 1;
        if !is_ambiguous && (matches > 0 || !contract.required) {
            let default = contract.default.clone().filter(|_| matches == 0);
            return Ok(SelectedInput {
                items: self.items,
                default,
            });
        }
        let mut reasons = self.reasons.into_iter().peekable();
        let candidates = parts.iter().enumerate().map(|(index, part)| {
            let reason = reasons.next_if(|(of, _)| *of == index);
            explain::Candidate::of_reason(index, part, reason.map(|(_, reason)| reason))
        });
        let candidates = candidates.collect();
        let count = is_ambiguous.then_some(matches);
        Err(ContractMiss::new(contract, candidates, count))
    }
}

impl SelectedInputs {
    /// The input of this name; an empty one where nothing was selected or nothing is declared.
    pub fn get(&self, name: &str) -> &SelectedInput {
        const NOTHING: &SelectedInput = &SelectedInput {
            items: Vec::new(),
            default: None,
        };
        self.inputs.get(name).unwrap_or(NOTHING)
    }

    /// All inputs, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &SelectedInput)> {
        self.inputs
            .iter()
            .map(|(name, input)| (name.as_str(), input))
    }
}

impl SelectedInput {
    /// What was selected, in arrival order.
    pub fn items(&self) -> &[SelectedItem] {
        &self.items
    }

    /// The raw JSON text of the first item, or of the default.
    pub fn json(&self) -> Option<&str> {
        let first = self.items.first().map(SelectedItem::json);
        first.or(self.default.as_deref())
    }

    /// The first item, or the default, as a `T`; read from its raw text.
    ///
    /// # Errors
    /// When there is neither, or it is no `T`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, PayloadError> {
        let json = self
            .json()
            .ok_or_else(|| PayloadError::new("nothing was selected and there is no default"))?;
        read(json)
    }

    /// All items as `T`s; the default, an array, where nothing was selected.
    ///
    /// # Errors
    /// When one of them is no `T`.
    pub fn read_all<T: DeserializeOwned>(&self) -> Result<Vec<T>, PayloadError> {
        match &self.default {
            Some(default) if self.items.is_empty() => read(default),
            _ => self.items.iter().map(|item| read(item.json())).collect(),
        }
    }
}

fn read<T: DeserializeOwned>(json: &str) -> Result<T, PayloadError> {
    serde_json::from_str(json)
        .map_err(|error| PayloadError::new(format!("the input cannot be read: {error}")))
}

impl SelectedItem {
    /// The raw JSON text at the selected place, token for token as it was sent. Of a file, the
    /// text of its content field.
    pub fn json(&self) -> &str {
        self.part
            .content_json()
            .get(self.range.clone())
            .unwrap_or_default()
    }

    /// The whole part that it comes from.
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// The part's place among those that it was selected from, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// JSON Pointer to the selected place; empty for the whole value.
    pub fn pointer(&self) -> String {
        pointer_at(self.part.content_json(), self.range.start)
    }
}

/// What happens with a miss: ask only if every missing input may be asked for.
pub(super) fn on_missing(misses: &[ContractMiss]) -> OnMissing {
    if misses
        .iter()
        .all(|miss| miss.on_missing() == OnMissing::Ask)
    {
        OnMissing::Ask
    } else {
        OnMissing::Reject
    }
}
