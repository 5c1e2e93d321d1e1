//! Plain paths: children by name, by index, and all of an array. Most contracts need no more, and
//! these are found in a walk of the text and its value side by side, for all contracts at once,
//! with the raw ranges at hand. Everything else goes through the JSONPath library.

use std::ops::Range;

use serde_json::Value;

use crate::json::Cursor;

/// One step of a plain path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlainStep {
    /// A member, by name.
    Name(String),
    /// An element, by index.
    Index(usize),
    /// All elements.
    Each,
    /// A token of a JSON Pointer: a member, or an element if it is a number.
    Token(String, Option<usize>),
}

/// The plain paths of all contracts, as one tree.
#[derive(Debug)]
pub(super) struct PlainPaths {
    nodes: Vec<Node>,
    /// How many contracts have one.
    slots: usize,
}

#[derive(Debug, Default)]
struct Node {
    below: Vec<(PlainStep, usize)>,
    /// The contracts whose path ends here.
    slots: Vec<usize>,
}

/// A place that a plain path leads to.
#[derive(Debug)]
pub(super) struct PlainPlace<'v> {
    pub(super) value: &'v Value,
    pub(super) range: Range<usize>,
}

/// The steps of a JSONPath, if it is plain: `$.a['b'][0][*]`, with names of letters, digits and
/// underscores.
pub(super) fn parse_path(path: &str) -> Option<Vec<PlainStep>> {
    let mut steps = Vec::new();
    let mut rest = path.strip_prefix('$')?;
    while !rest.is_empty() {
        let (step, tail) = if let Some(tail) = rest.strip_prefix("[*]").or(rest.strip_prefix(".*"))
        {
            (PlainStep::Each, tail)
        } else if let Some(tail) = rest.strip_prefix("['") {
            let (name, tail) = tail.split_once("']")?;
            (PlainStep::Name(plain_name(name)?), tail)
        } else if let Some(tail) = rest.strip_prefix('[') {
            let (digits, tail) = tail.split_once(']')?;
            (PlainStep::Index(index(digits)?), tail)
        } else {
            let tail = rest.strip_prefix('.')?;
            let end = tail.find(['.', '[']).unwrap_or(tail.len());
            let (name, tail) = tail.split_at(end);
            (PlainStep::Name(plain_name(name)?), tail)
        };
        steps.push(step);
        rest = tail;
    }
    Some(steps)
}

fn plain_name(name: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (!name.is_empty() && name.bytes().all(is_plain)).then(|| name.to_owned())
}

/// An index without sign and leading zero (RFC 6901, section 4; RFC 9535, section 2.3.3).
pub(super) fn index(digits: &str) -> Option<usize> {
    let is_canonical = digits == "0" || !digits.starts_with('0');
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_canonical && is_number)
}

impl PlainPaths {
    pub(super) fn new() -> Self {
        Self {
            nodes: vec![Node::default()],
            slots: 0,
        }
    }

    /// Adds a path; the slot that its places will be in.
    pub(super) fn add(&mut self, steps: Vec<PlainStep>) -> usize {
        let mut at = 0;
        for step in steps {
            let next = self.nodes.len();
            let Some(node) = self.nodes.get_mut(at) else {
                break;
            };
            let known = node.below.iter().find(|(other, _)| *other == step);
            at = match known {
                Some((_, below)) => *below,
                None => {
                    node.below.push((step, next));
                    self.nodes.push(Node::default());
                    next
                }
            };
        }
        let slot = self.slots;
        self.slots += 1;
        if let Some(node) = self.nodes.get_mut(at) {
            node.slots.push(slot);
        }
        slot
    }

    /// The places of all paths, by slot, each in the order of the text. `None` where the value has
    /// something on a path that is not plain: a key more than once, or an object under `[*]`,
    /// whose members have no order of their own.
    pub(super) fn find<'v>(
        &self,
        json: &str,
        value: &'v Value,
    ) -> Option<Vec<Vec<PlainPlace<'v>>>> {
        let mut walk = Walk {
            paths: self,
            cursor: Cursor::new(json),
            active: vec![0],
            places: (0..self.slots).map(|_| Vec::new()).collect(),
        };
        walk.value(value, 0)?;
        Some(walk.places)
    }
}

struct Walk<'a, 'v> {
    paths: &'a PlainPaths,
    cursor: Cursor<'a>,
    /// The nodes that the values on the way stand for, as a stack.
    active: Vec<usize>,
    places: Vec<Vec<PlainPlace<'v>>>,
}

impl<'a, 'v> Walk<'a, 'v> {
    /// Passes `value`, which stands for the nodes in `active[from..]`.
    fn value(&mut self, value: &'v Value, from: usize) -> Option<()> {
        let start = self.cursor.offset();
        let ends = self.active.len();
        let goes_on = self.nodes(from..ends).any(|node| !node.below.is_empty());
        match value {
            Value::Object(object) if goes_on => self.object(object, from..ends)?,
            Value::Array(array) if goes_on => self.array(array, from..ends)?,
            _ => self.cursor.skip(),
        }
        let range = start..self.cursor.offset();
        for at in from..ends {
            let node = self
                .active
                .get(at)
                .and_then(|node| self.paths.nodes.get(*node));
            for slot in node.map(|node| &*node.slots).unwrap_or_default() {
                let range = range.clone();
                self.places
                    .get_mut(*slot)?
                    .push(PlainPlace { value, range });
            }
        }
        Some(())
    }

    fn object(
        &mut self,
        object: &'v serde_json::Map<String, Value>,
        nodes: Range<usize>,
    ) -> Option<()> {
        if self
            .steps(nodes.clone())
            .any(|(step, _)| *step == PlainStep::Each)
        {
            return None;
        }
        let mut keys = 0;
        self.cursor.open();
        while let Some(key) = self.cursor.key() {
            keys += 1;
            self.enter(nodes.clone(), |step| match step {
                PlainStep::Name(name) | PlainStep::Token(name, _) => *name == key,
                PlainStep::Index(_) | PlainStep::Each => false,
            });
            if self.active.len() == nodes.end {
                self.cursor.skip();
                continue;
            }
            self.value(object.get(&*key)?, nodes.end)?;
            self.active.truncate(nodes.end);
        }
        // Otherwise a key is there more than once, and the value has only its last one.
        (keys == object.len()).then_some(())
    }

    fn array(&mut self, array: &'v [Value], nodes: Range<usize>) -> Option<()> {
        self.cursor.open();
        for (index, below) in array.iter().enumerate() {
            if !self.cursor.element() {
                return None;
            }
            self.enter(nodes.clone(), |step| match step {
                PlainStep::Index(at) | PlainStep::Token(_, Some(at)) => *at == index,
                PlainStep::Each => true,
                PlainStep::Name(_) | PlainStep::Token(_, None) => false,
            });
            if self.active.len() == nodes.end {
                self.cursor.skip();
                continue;
            }
            self.value(below, nodes.end)?;
            self.active.truncate(nodes.end);
        }
        // Behind the bracket.
        self.cursor.element();
        Some(())
    }

    /// Pushes the nodes that a step leads to.
    fn enter(&mut self, nodes: Range<usize>, leads: impl Fn(&PlainStep) -> bool) {
        let paths = self.paths;
        for at in nodes {
            let node = self.active.get(at).and_then(|node| paths.nodes.get(*node));
            for (step, below) in node.map(|node| &*node.below).unwrap_or_default() {
                if leads(step) {
                    self.active.push(*below);
                }
            }
        }
    }

    fn nodes(&self, nodes: Range<usize>) -> impl Iterator<Item = &'a Node> {
        let paths = self.paths;
        let active = self.active.get(nodes).unwrap_or_default().iter();
        active.filter_map(|node| paths.nodes.get(*node))
    }

    fn steps(&self, nodes: Range<usize>) -> impl Iterator<Item = &'a (PlainStep, usize)> {
        self.nodes(nodes).flat_map(|node| &node.below)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;
    use serde_json_path::JsonPath;

    use super::{PlainPaths, PlainStep, parse_path};

    const PLAIN: [&str; 9] = [
        "$",
        "$.a",
        "$.a.b",
        "$['a'][0]",
        "$[*]",
        "$.a[*]",
        "$[*].b",
        "$[1][*]",
        "$.a[*].b[0]",
    ];

    #[test]
    fn what_is_plain() {
        for path in PLAIN {
            assert!(parse_path(path).is_some(), "{path}");
            assert!(JsonPath::parse(path).is_ok(), "{path}");
        }
        for path in [
            "$..a",
            "$[?@.a]",
            "$[-1]",
            "$[01]",
            "$[0,1]",
            "$[1:]",
            "$['a.b']",
            "$.é",
            "$['a','b']",
        ] {
            assert_eq!(parse_path(path), None, "{path}");
        }
        let expected = vec![
            PlainStep::Name("a".to_owned()),
            PlainStep::Each,
            PlainStep::Index(3),
        ];
        assert_eq!(parse_path("$.a[*][3]"), Some(expected));
    }

    fn json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("1.0".to_owned()),
            Just("\"s\"".to_owned()),
            Just("null".to_owned())
        ];
        leaf.prop_recursive(4, 24, 3, |inner| {
            let key = prop::sample::select(vec!["\"a\"", "\"b\"", "\"\\u0061\"", "\"c\""]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4)
                    .prop_map(|items| format!("[ {} ]", items.join(" , "))),
                prop::collection::vec((key, inner), 0..3).prop_map(|entries| {
                    let entries = entries.iter().map(|(key, value)| format!("{key} :{value}"));
                    format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
                }),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn plain_paths_find_what_the_library_finds(json in json()) {
            let value: Value = serde_json::from_str(&json).unwrap();
            let mut paths = PlainPaths::new();
            for path in PLAIN {
                paths.add(parse_path(path).unwrap());
            }
            if let Some(found) = paths.find(&json, &value) {
                for (path, places) in PLAIN.iter().zip(found) {
                    let expected = JsonPath::parse(path).unwrap().query(&value).all();
                    let values: Vec<&Value> = places.iter().map(|place| place.value).collect();
                    prop_assert_eq!(&values, &expected, "{} in {}", path, json);
                    for place in places {
                        let text = &json[place.range];
                        prop_assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), place.value);
                        prop_assert_eq!(text.trim(), text);
                    }
                }
            }
        }
    }
}
