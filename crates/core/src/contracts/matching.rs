//! Whether a part can be an input, and if not, the first reason.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use globset::GlobMatcher;
use serde_json::Value;
use serde_json_path::PathElement;

use super::compile::{Compiled, How};
use super::contract::InputKind;
use super::effort;
use super::locate::{Steps, locate, pointer_at};
use super::plain::{PlainPaths, PlainPlace, index};
use crate::part::{Part, PartKind};
use crate::provenance::Stamp;

/// A part of the message, with its value parsed once, when the first contract asks.
pub(super) struct Candidate<'a> {
    pub(super) index: usize,
    pub(super) part: &'a Part,
    value: OnceCell<Result<Value, String>>,
    paths: &'a PlainPaths,
    stamp: OnceCell<Option<Stamp>>,
    shared: OnceCell<Arc<Part>>,
}

/// A place in a part that can be an input.
pub(super) enum Match<'v> {
    /// Its range in the content's text.
    Located(Range<usize>),
    /// The way to it; nobody had to know the range yet.
    Steps(Steps<'v>),
}

/// Why a part, or a place in it, is not an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reason {
    /// JSON Pointer into the part's value, or nothing.
    pub(super) pointer: String,
    pub(super) text: String,
}

impl Reason {
    fn new(text: impl Into<String>) -> Self {
        Self {
            pointer: String::new(),
            text: text.into(),
        }
    }
}

impl<'a> Candidate<'a> {
    pub(super) fn new(index: usize, part: &'a Part, paths: &'a PlainPaths) -> Self {
        Self {
            index,
            part,
            paths,
            value: OnceCell::new(),
            stamp: OnceCell::new(),
            shared: OnceCell::new(),
        }
    }

    /// The part, for all items that are selected from it.
    pub(super) fn shared_part(&self) -> Arc<Part> {
        Arc::clone(self.shared.get_or_init(|| Arc::new(self.part.clone())))
    }

    pub(super) fn value(&self) -> Result<&Value, Reason> {
        let value = self.value.get_or_init(|| {
            serde_json::from_str(self.part.content_json()).map_err(|error| error.to_string())
        });
        value
            .as_ref()
            .map_err(|error| Reason::new(format!("cannot be parsed: {error}")))
    }

    fn is_from(&self, source: &str) -> bool {
        let stamp = self.stamp.get_or_init(|| Stamp::of(self.part));
        stamp.as_ref().is_some_and(|stamp| {
            [
                Some(&stamp.producer),
                stamp.skill.as_ref(),
                Some(&stamp.artifact),
            ]
            .into_iter()
            .flatten()
            .any(|name| name == source)
        })
    }
}

impl Compiled {
    /// All places of the part that match, in order, or the first reason why none does. `plain`
    /// holds what the plain paths of all contracts lead to in this part.
    pub(super) fn matches<'v>(
        &'v self,
        candidate: &'v Candidate<'_>,
        plain: &mut Plain<'v>,
    ) -> Result<Vec<Match<'v>>, Reason> {
        self.check_part(candidate)?;
        let json = candidate.part.content_json();
        if self.contract.kind == InputKind::File {
            return Ok(vec![Match::Located(0..json.len())]);
        }
        let value = candidate.value()?;
        let mut found = Found::default();
        let slot = self.select.as_ref().and_then(|select| select.slot);
        if let Some(places) = slot.and_then(|slot| plain.places(candidate, value, slot)) {
            for place in places {
                // Only the first reason is told; to find the place of each costs a pass.
                let pointer = || match &found.reason {
                    None => pointer_at(json, place.range.start),
                    Some(_) => String::new(),
                };
                let checked = self.check_schema(place.value, &pointer);
                let text = json.get(place.range.clone()).unwrap_or_default();
                let checked = checked.and_then(|()| self.check_typed(text, &pointer));
                found.add(Match::Located(place.range), checked);
            }
        } else {
            self.check_effort(value)?;
            for (value, steps) in self.places(value) {
                let checked = self.check_schema(value, &|| steps.pointer());
                found.add(Match::Steps(steps), checked);
            }
            if self.contract.typed.is_some() {
                self.keep_typed(json, &mut found);
            }
        }
        let select = self.contract.select.as_deref();
        found.finish(|| Reason::new(format!("has nothing at {}", select.unwrap_or_default())))
    }

    /// Keeps what can be read as the agent's type.
    fn keep_typed(&self, json: &str, found: &mut Found<'_>) {
        let matches = std::mem::take(&mut found.matches);
        let steps: Vec<&Steps<'_>> = matches.iter().filter_map(Match::steps).collect();
        for range in locate(json, &steps).into_iter().flatten() {
            let pointer = || match &found.reason {
                None => pointer_at(json, range.start),
                Some(_) => String::new(),
            };
            let text = json.get(range.clone()).unwrap_or_default();
            let checked = self.check_typed(text, &pointer);
            found.add(Match::Located(range), checked);
        }
    }

    /// What a part must be before anybody looks at its value.
    fn check_part(&self, candidate: &Candidate<'_>) -> Result<(), Reason> {
        let part = candidate.part;
        let is_kind = match self.contract.kind {
            InputKind::Data => part.kind() == PartKind::Data,
            InputKind::File => part.kind().is_file(),
            InputKind::Text => part.kind() == PartKind::Text,
        };
        if !is_kind {
            let wanted = self.contract.kind.as_str();
            return Err(Reason::new(format!("is no {wanted} part")));
        }
        let pattern = (self.media_type.as_ref()).zip(self.contract.media_type.as_deref());
        check_glob(
            pattern,
            "media type",
            part.media_type().as_deref().map(essence),
        )?;
        let pattern = (self.filename.as_ref()).zip(self.contract.filename.as_deref());
        check_glob(pattern, "file name", part.filename().as_deref())?;
        if let Some(source) = &self.contract.source
            && !candidate.is_from(source)
        {
            return Err(Reason::new(format!("does not come from {source:?}")));
        }
        Ok(())
    }

    /// The places of the value that can be the input.
    fn places<'v>(&'v self, value: &'v Value) -> Vec<(&'v Value, Steps<'v>)> {
        match self.select.as_ref().map(|select| &select.how) {
            None => vec![(value, Steps::Whole)],
            Some(How::Path(path)) => {
                let nodes = path.query_located(value).into_iter();
                nodes
                    .map(|node| (node.node(), Steps::Path(node.to_location())))
                    .collect()
            }
            Some(How::Pointer(tokens)) => point(value, tokens).into_iter().collect(),
        }
    }

    /// Refuses a value that a path with `..` would take too much memory for.
    pub(super) fn check_effort(&self, value: &Value) -> Result<(), Reason> {
        if !self.select.as_ref().is_some_and(|select| select.descends) {
            return Ok(());
        }
        let (values, depth) = effort::size(value);
        if values.saturating_mul(depth) <= effort::MAX_DESCENDANTS_WORK {
            return Ok(());
        }
        Err(Reason::new(format!(
            "is too large for a path with `..`: {values} values, {depth} deep; their product may be \
             {}",
            effort::MAX_DESCENDANTS_WORK
        )))
    }

    fn check_schema(&self, value: &Value, pointer: &dyn Fn() -> String) -> Result<(), Reason> {
        let Some(schema) = &self.schema else {
            return Ok(());
        };
        if self.schema_depth < usize::MAX && effort::size(value).1 > self.schema_depth {
            let allowed = self.schema_depth;
            return Err(Reason {
                pointer: pointer(),
                text: format!("nests deeper than {allowed}, which this recursive schema can check"),
            });
        }
        let Err(error) = schema.validate(value) else {
            return Ok(());
        };
        // The message with the value in it would tell others what is in somebody's part.
        let text = format!("does not satisfy the schema: {}", error.masked());
        Err(Reason {
            pointer: format!("{}{}", pointer(), error.instance_path()),
            text,
        })
    }

    fn check_typed(&self, json: &str, pointer: &dyn Fn() -> String) -> Result<(), Reason> {
        let Some(typed) = &self.contract.typed else {
            return Ok(());
        };
        typed(json).map_err(|error| Reason {
            pointer: pointer(),
            text: format!("cannot be read as the agent's type: {error}"),
        })
    }
}

/// What the plain paths of all contracts lead to in one part, found when the first one asks.
#[derive(Default)]
pub(super) struct Plain<'v>(OnceCell<Option<Vec<Vec<PlainPlace<'v>>>>>);

impl<'v> Plain<'v> {
    /// Takes the places of one contract; `None` where they must be found the general way.
    fn places(
        &mut self,
        candidate: &'v Candidate<'_>,
        value: &'v Value,
        slot: usize,
    ) -> Option<Vec<PlainPlace<'v>>> {
        let json = candidate.part.content_json();
        self.0.get_or_init(|| candidate.paths.find(json, value));
        let found = self.0.get_mut()?.as_mut()?;
        found.get_mut(slot).map(std::mem::take)
    }
}

/// Matches, and the first reason why a place is none.
#[derive(Default)]
struct Found<'v> {
    matches: Vec<Match<'v>>,
    reason: Option<Reason>,
}

impl<'v> Found<'v> {
    fn add(&mut self, place: Match<'v>, checked: Result<(), Reason>) {
        match checked {
            Ok(()) => self.matches.push(place),
            Err(reason) => {
                self.reason.get_or_insert(reason);
            }
        }
    }

    fn finish(self, nothing: impl FnOnce() -> Reason) -> Result<Vec<Match<'v>>, Reason> {
        if self.matches.is_empty() {
            return Err(self.reason.unwrap_or_else(nothing));
        }
        Ok(self.matches)
    }
}

impl<'v> Match<'v> {
    /// The way to the place, where its range is not known yet.
    fn steps(&self) -> Option<&Steps<'v>> {
        match self {
            Self::Located(_) => None,
            Self::Steps(steps) => Some(steps),
        }
    }

    /// The place as a JSON Pointer.
    pub(super) fn pointer(&self, json: &str) -> String {
        match self {
            Self::Located(range) => pointer_at(json, range.start),
            Self::Steps(steps) => steps.pointer(),
        }
    }
}

fn point<'v>(value: &'v Value, tokens: &'v [String]) -> Option<(&'v Value, Steps<'v>)> {
    let mut at = value;
    let mut steps = Vec::with_capacity(tokens.len());
    for token in tokens {
        let (next, step) = match at {
            Value::Object(object) => (object.get(token)?, PathElement::Name(token)),
            Value::Array(array) => {
                let index = index(token)?;
                (array.get(index)?, PathElement::Index(index))
            }
            _ => return None,
        };
        at = next;
        steps.push(step);
    }
    Some((at, Steps::Pointer(steps)))
}

fn check_glob(
    pattern: Option<(&GlobMatcher, &str)>,
    what: &str,
    found: Option<&str>,
) -> Result<(), Reason> {
    let Some((glob, pattern)) = pattern else {
        return Ok(());
    };
    match found {
        None => Err(Reason::new(format!("has no {what}, {pattern:?} is wanted"))),
        Some(found) if glob.is_match(found) => Ok(()),
        Some(_) => Err(Reason::new(format!(
            "its {what} does not match {pattern:?}"
        ))),
    }
}

/// The media type without its parameters.
fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}
