//! From places in a value to the raw texts that stand there, and back.

use std::cmp::Ordering;
use std::ops::Range;
use std::slice::Iter;

use serde_json_path::{NormalizedPath, PathElement};

use crate::json::Cursor;

/// The way from a value to a place in it.
#[derive(Clone, Debug)]
pub(super) enum Steps<'v> {
    /// No step: the whole value.
    Whole,
    /// As a JSONPath found it.
    Path(NormalizedPath<'v>),
    /// As a JSON Pointer went.
    Pointer(Vec<PathElement<'v>>),
}

impl<'v> Steps<'v> {
    fn iter(&self) -> Iter<'_, PathElement<'v>> {
        match self {
            Self::Whole => [].iter(),
            Self::Path(path) => path.iter(),
            Self::Pointer(steps) => steps.iter(),
        }
    }

    fn get(&self, depth: usize) -> Option<&PathElement<'v>> {
        match self {
            Self::Whole => None,
            Self::Path(path) => path.get(depth),
            Self::Pointer(steps) => steps.get(depth),
        }
    }

    /// The place as a JSON Pointer.
    pub(super) fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in self.iter() {
            match step {
                PathElement::Name(name) => push_token(&mut pointer, name),
                PathElement::Index(index) => push_token(&mut pointer, &index.to_string()),
            }
        }
        pointer
    }

    fn compare(&self, other: &Self) -> Ordering {
        let (mut ours, mut theirs) = (self.iter(), other.iter());
        loop {
            let order = match (ours.next(), theirs.next()) {
                (None, None) => return Ordering::Equal,
                (None, Some(_)) => Ordering::Less,
                (Some(_), None) => Ordering::Greater,
                (Some(a), Some(b)) => compare(a, b),
            };
            if order != Ordering::Equal {
                return order;
            }
        }
    }
}

fn compare(a: &PathElement<'_>, b: &PathElement<'_>) -> Ordering {
    match (a, b) {
        (PathElement::Name(a), PathElement::Name(b)) => a.cmp(b),
        (PathElement::Index(a), PathElement::Index(b)) => a.cmp(b),
        (PathElement::Name(_), PathElement::Index(_)) => Ordering::Less,
        (PathElement::Index(_), PathElement::Name(_)) => Ordering::Greater,
    }
}

fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    if token.contains(['~', '/']) {
        pointer.push_str(&token.replace('~', "~0").replace('/', "~1"));
    } else {
        pointer.push_str(token);
    }
}

/// The ranges of the raw texts at these places of `json`, in one pass over it; `None` where there
/// is nothing. The text must have been parsed before: it is not validated again.
///
/// Of a key that is there more than once, the last one counts, as it does for whoever parses.
pub(super) fn locate(json: &str, places: &[&Steps<'_>]) -> Vec<Option<Range<usize>>> {
    if places.iter().all(|steps| matches!(steps, Steps::Whole)) {
        return vec![Some(0..json.len()); places.len()];
    }
    // In the order of their steps, all places below one value stand together.
    let mut order: Vec<usize> = (0..places.len()).collect();
    let steps = |index: &usize| places.get(*index).copied().unwrap_or(&Steps::Whole);
    order.sort_unstable_by(|a, b| steps(a).compare(steps(b)));
    let mut walk = Walk {
        places,
        ranges: vec![None; places.len()],
        cursor: Cursor::new(json),
    };
    walk.value(&order, 0);
    walk.ranges
}

struct Walk<'a, 'v> {
    places: &'a [&'a Steps<'v>],
    ranges: Vec<Option<Range<usize>>>,
    cursor: Cursor<'a>,
}

impl<'v> Walk<'_, 'v> {
    fn step(&self, place: usize, depth: usize) -> Option<&PathElement<'v>> {
        self.places.get(place)?.get(depth)
    }

    /// Passes the value at the cursor, which all of `wanted` have on their way, `depth` steps
    /// down.
    fn value(&mut self, wanted: &[usize], depth: usize) {
        // Those that end here come first in the order.
        let ended = wanted
            .iter()
            .take_while(|place| self.step(**place, depth).is_none())
            .count();
        let (here, below) = wanted.split_at(ended);
        let start = self.cursor.offset();
        match self.cursor.peek() {
            Some(b'{') if !below.is_empty() => self.object(below, depth),
            Some(b'[') if !below.is_empty() => self.array(below, depth),
            _ => self.cursor.skip(),
        }
        let range = start..self.cursor.offset();
        for place in here {
            if let Some(slot) = self.ranges.get_mut(*place) {
                *slot = Some(range.clone());
            }
        }
    }

    fn object(&mut self, wanted: &[usize], depth: usize) {
        self.cursor.open();
        while let Some(key) = self.cursor.key() {
            let against = |place: &usize| match self.step(*place, depth) {
                Some(PathElement::Name(name)) => (**name).cmp(&key),
                _ => Ordering::Greater,
            };
            let start = wanted.partition_point(|place| against(place) == Ordering::Less);
            let rest = wanted.get(start..).unwrap_or_default();
            let length = rest.partition_point(|place| against(place) == Ordering::Equal);
            self.below(rest.get(..length).unwrap_or_default(), depth);
        }
    }

    fn array(&mut self, wanted: &[usize], depth: usize) {
        self.cursor.open();
        let mut index = 0;
        let mut rest = wanted;
        while self.cursor.element() {
            let is_here = |place: &&usize| matches!(self.step(**place, depth), Some(PathElement::Index(at)) if *at == index);
            let length = rest.iter().take_while(is_here).count();
            let (these, after) = rest.split_at(length);
            self.below(these, depth);
            rest = after;
            index += 1;
        }
    }

    fn below(&mut self, wanted: &[usize], depth: usize) {
        if wanted.is_empty() {
            return self.cursor.skip();
        }
        self.value(wanted, depth + 1);
    }
}

/// The JSON Pointer to the value that begins at byte `offset` of `json`; empty where none does.
/// The text must have been parsed before.
pub(super) fn pointer_at(json: &str, offset: usize) -> String {
    let mut pointer = String::new();
    descend(&mut Cursor::new(json), offset, &mut pointer);
    pointer
}

/// Goes down to the value at `offset`; says whether it was found.
fn descend(cursor: &mut Cursor<'_>, offset: usize, pointer: &mut String) -> bool {
    if cursor.offset() >= offset {
        return cursor.offset() == offset;
    }
    let before = pointer.len();
    match cursor.peek() {
        Some(b'{') => {
            cursor.open();
            while let Some(key) = cursor.key() {
                push_token(pointer, &key);
                if descend(cursor, offset, pointer) {
                    return true;
                }
                pointer.truncate(before);
            }
        }
        Some(b'[') => {
            cursor.open();
            let mut index = 0;
            while cursor.element() {
                push_token(pointer, &index.to_string());
                if descend(cursor, offset, pointer) {
                    return true;
                }
                pointer.truncate(before);
                index += 1;
            }
        }
        _ => cursor.skip(),
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json_path::PathElement;

    use super::{Steps, locate, pointer_at};

    #[test]
    fn the_raw_texts_at_all_places_in_one_pass_and_their_pointers() {
        use PathElement::{Index, Name};
        let json = r#"{"a" : [1.0, {"b":1e400, "b": 3 , "c/\u0064":[ ]}], "z":{}}"#;
        let cases = [
            (vec![], Some(json), ""),
            (vec![Name("a"), Index(1), Name("b")], Some("3"), "/a/1/b"),
            (vec![Name("a"), Index(0)], Some("1.0"), "/a/0"),
            (
                vec![Name("a"), Index(1), Name("c/d")],
                Some("[ ]"),
                "/a/1/c~1d",
            ),
            (vec![Name("a"), Index(0)], Some("1.0"), "/a/0"),
            (vec![Name("z")], Some("{}"), "/z"),
            (vec![Name("a"), Index(2)], None, "/a/2"),
            (vec![Name("z"), Name("y")], None, "/z/y"),
            (vec![Index(0)], None, "/0"),
        ];
        let steps: Vec<Steps<'_>> = cases
            .iter()
            .map(|(steps, ..)| Steps::Pointer(steps.clone()))
            .collect();
        let places: Vec<&Steps<'_>> = steps.iter().collect();
        let ranges = locate(json, &places);
        for ((place, expected, pointer), range) in cases.iter().zip(ranges) {
            assert_eq!(Steps::Pointer(place.clone()).pointer(), *pointer);
            assert_eq!(
                range.clone().map(|range| &json[range]),
                *expected,
                "{place:?}"
            );
            if let Some(range) = range {
                assert_eq!(pointer_at(json, range.start), *pointer);
            }
        }
    }
}
