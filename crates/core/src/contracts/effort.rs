//! What a stranger's value may cost. The libraries take a value whole and cannot be stopped, so
//! what they would choke on is refused before.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Places times depth that a path with `..` may have to hold at once, about 100 MB of locations.
pub(super) const MAX_DESCENDANTS_WORK: usize = 4_000_000;

/// Times that a recursive schema may be applied to the values of one part. Alternatives that lead
/// back to the same schema multiply the work at each level.
const MAX_RECURSIVE_WORK: f64 = 10_000.0;

/// How many values there are in a value, itself included, and how deep they nest.
pub(super) fn size(value: &Value) -> (usize, usize) {
    let mut count = 0;
    let mut deepest = 0;
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        count += 1;
        deepest = deepest.max(depth);
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(entries) => open.extend(entries.values().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    (count, deepest)
}

/// How deep a value may nest so that a schema is done with it in bounded work. Only a schema that
/// leads back to itself in more than one way has a bound.
pub(super) fn allowed_depth(schema: &Value) -> usize {
    let mut references = References::default();
    references.collect(schema, "#");
    let ways = references.recursive();
    if ways < 2 {
        return usize::MAX;
    }
    // At least one level; the cast floors.
    (MAX_RECURSIVE_WORK.ln() / (ways as f64).ln()).max(1.0) as usize
}

/// Which part of a schema refers to which: the root and each definition.
#[derive(Default)]
struct References {
    targets: BTreeMap<String, Vec<String>>,
}

impl References {
    fn collect(&mut self, schema: &Value, within: &str) {
        match schema {
            Value::Array(items) => items.iter().for_each(|item| self.collect(item, within)),
            Value::Object(keywords) => {
                for (keyword, value) in keywords {
                    match (keyword.as_str(), value) {
                        ("$ref" | "$dynamicRef", Value::String(target)) => {
                            let targets = self.targets.entry(within.to_owned()).or_default();
                            targets.push(target.clone());
                        }
                        ("$defs" | "definitions", Value::Object(definitions)) if within == "#" => {
                            for (name, definition) in definitions {
                                self.collect(definition, &format!("#/{keyword}/{name}"));
                            }
                        }
                        // Data, not schemas.
                        ("const" | "enum" | "default" | "examples", _) => {}
                        _ => self.collect(value, within),
                    }
                }
            }
            _ => {}
        }
    }

    /// How many references lead back to where they stand.
    fn recursive(&self) -> usize {
        let all = self.targets.iter();
        all.map(|(within, targets)| {
            let back = |target: &&String| self.reaches(target, within, &mut BTreeSet::new());
            targets.iter().filter(back).count()
        })
        .sum()
    }

    fn reaches<'a>(&'a self, from: &'a str, to: &str, seen: &mut BTreeSet<&'a str>) -> bool {
        // An anchor or a pointer into the middle of something could be anywhere.
        let is_known = from == "#" || self.is_definition(from);
        if from == to || !is_known {
            return true;
        }
        if !seen.insert(from) {
            return false;
        }
        let targets = self.targets.get(from).into_iter().flatten();
        let mut targets = targets.map(String::as_str);
        targets.any(|target| self.reaches(target, to, seen))
    }

    fn is_definition(&self, target: &str) -> bool {
        let name = target
            .strip_prefix("#/$defs/")
            .or_else(|| target.strip_prefix("#/definitions/"));
        name.is_some_and(|name| !name.contains('/'))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{allowed_depth, size};

    #[test]
    fn only_schemas_that_lead_back_in_several_ways_are_bounded() {
        let once = json!({"$defs": {"n": {"properties": {"n": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"});
        assert_eq!(allowed_depth(&once), usize::MAX);
        let shared = json!({"properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/x"}}, "$defs": {"x": {}}});
        assert_eq!(allowed_depth(&shared), usize::MAX);
        let twice =
            json!({"anyOf": [{"items": {"$ref": "#"}}, {"additionalProperties": {"$ref": "#"}}]});
        assert_eq!(allowed_depth(&twice), 13);
        let around = json!({"$ref": "#/$defs/a", "$defs": {
            "a": {"anyOf": [{"items": {"$ref": "#/$defs/b"}}, {"items": {"$ref": "#/$defs/b"}}]},
            "b": {"$ref": "#/$defs/a"},
        }});
        assert_eq!(allowed_depth(&around), 8);
        let data = json!({"const": {"$ref": "#", "x": {"$ref": "#"}}});
        assert_eq!(allowed_depth(&data), usize::MAX);
    }

    #[test]
    fn a_size_is_values_and_depth() {
        assert_eq!(size(&json!(1)), (1, 0));
        assert_eq!(size(&json!({"a": [1, {"b": []}]})), (5, 3));
    }
}
