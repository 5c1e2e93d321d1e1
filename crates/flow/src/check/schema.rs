//! Whether a value of one JSON Schema can be one of another. Only what cannot be is told: in
//! doubt the answer is that it can.

use serde_json::{Map, Value};

/// Pairs of schemas that are looked at before the answer is that they may fit.
const EFFORT: usize = 20_000;
/// How deep schemas are followed.
const MAX_DEPTH: usize = 32;

/// A schema in its document, which local references are looked up in.
#[derive(Clone, Copy)]
pub(super) struct Schema<'s> {
    root: &'s Value,
    node: &'s Value,
}

impl<'s> Schema<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        Self { root, node: root }
    }

    pub(super) fn at(self, node: &'s Value) -> Self {
        Self { node, ..self }
    }

    /// The schema as an object, local references followed; `None` for one that takes everything,
    /// or that cannot be followed.
    pub(super) fn object(self) -> Option<(Self, &'s Map<String, Value>)> {
        let mut at = self;
        for _ in 0..MAX_DEPTH {
            let object = at.node.as_object()?;
            match object.get("$ref").and_then(Value::as_str) {
                None => return Some((at, object)),
                // Beside a reference there may be more, which is in nobody's way.
                Some(reference) => {
                    let pointer = reference.strip_prefix('#')?;
                    at = at.at(at.root.pointer(pointer)?);
                }
            }
        }
        None
    }
}

/// Why no value of `given` can be one of `wanted`; `None` where one may be.
pub(super) fn conflict(wanted: Schema<'_>, given: Schema<'_>) -> Option<String> {
    let mut search = Search { effort: EFFORT };
    search.conflict(wanted, given, "", 0)
}

struct Search {
    effort: usize,
}

impl Search {
    fn conflict(
        &mut self,
        wanted: Schema<'_>,
        given: Schema<'_>,
        path: &str,
        depth: usize,
    ) -> Option<String> {
        self.effort = self.effort.checked_sub(1)?;
        if depth > MAX_DEPTH {
            return None;
        }
        let place = || {
            if path.is_empty() {
                String::new()
            } else {
                format!(" at {path}")
            }
        };
        if *wanted.node == Value::Bool(false) {
            return Some(format!("nothing is taken{}", place()));
        }
        if *given.node == Value::Bool(false) {
            return Some(format!("nothing is given{}", place()));
        }
        let (wanted, w) = wanted.object()?;
        let (given, g) = given.object()?;
        for name in ["anyOf", "oneOf"] {
            if let Some(reason) =
                self.all_branches(w, name, path, depth, |branch| (wanted.at(branch), given))
            {
                return Some(reason);
            }
            if let Some(reason) =
                self.all_branches(g, name, path, depth, |branch| (wanted, given.at(branch)))
            {
                return Some(reason);
            }
        }
        let all =
            |object: &'_ Map<String, Value>| object.get("allOf").and_then(Value::as_array).cloned();
        for branch in all(w).iter().flatten() {
            // Branches are looked at by themselves; together they can only want more.
            if let Some(reason) = self.conflict(
                Schema {
                    root: wanted.root,
                    node: branch,
                },
                given,
                path,
                depth + 1,
            ) {
                return Some(reason);
            }
        }
        for branch in all(g).iter().flatten() {
            if let Some(reason) = self.conflict(
                wanted,
                Schema {
                    root: given.root,
                    node: branch,
                },
                path,
                depth + 1,
            ) {
                return Some(reason);
            }
        }
        let (wanted_types, given_types) = (types(w), types(g));
        let common = wanted_types & given_types;
        if common == 0 {
            return Some(format!(
                "it is {}, and {} is wanted{}",
                names(given_types),
                names(wanted_types),
                place()
            ));
        }
        if let (Some(wanted), Some(given)) = (values(w), values(g))
            && !wanted.iter().any(|value| given.contains(value))
        {
            return Some(format!(
                "none of the values that are wanted is given{}",
                place()
            ));
        }
        // Properties bind a value only if it is an object.
        if common != OBJECT {
            return None;
        }
        self.properties((wanted, w), (given, g), path, depth)
    }

    fn properties<'s>(
        &mut self,
        (wanted, w): (Schema<'s>, &'s Map<String, Value>),
        (given, g): (Schema<'s>, &'s Map<String, Value>),
        path: &str,
        depth: usize,
    ) -> Option<String> {
        let required = w.get("required").and_then(Value::as_array)?;
        for name in required.iter().filter_map(Value::as_str) {
            let Some(property) = property(g, name) else {
                let place = if path.is_empty() {
                    String::new()
                } else {
                    format!(" at {path}")
                };
                return Some(format!("it has no {name:?}{place}"));
            };
            let (Some(property), Some(schema)) =
                (property, w.get("properties").and_then(|all| all.get(name)))
            else {
                continue;
            };
            let below = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
            if let Some(reason) =
                self.conflict(wanted.at(schema), given.at(property), &below, depth + 1)
            {
                return Some(reason);
            }
        }
        None
    }

    /// The reason of the first branch, if all branches conflict.
    fn all_branches<'s>(
        &mut self,
        object: &'s Map<String, Value>,
        name: &str,
        path: &str,
        depth: usize,
        pair: impl Fn(&'s Value) -> (Schema<'s>, Schema<'s>),
    ) -> Option<String> {
        let branches = object.get(name)?.as_array()?;
        let mut first = None;
        for branch in branches {
            let (wanted, given) = pair(branch);
            let reason = self.conflict(wanted, given, path, depth + 1)?;
            first.get_or_insert(reason);
        }
        first
    }
}

/// What a schema of an object says of a property: its schema, nothing, or (`None`) that there
/// never is one.
pub(super) fn property<'s>(
    object: &'s Map<String, Value>,
    name: &str,
) -> Option<Option<&'s Value>> {
    if let Some(schema) = object.get("properties").and_then(|all| all.get(name)) {
        return (*schema != Value::Bool(false)).then_some(Some(schema));
    }
    let open = [
        "patternProperties",
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "$dynamicRef",
    ];
    let is_closed = object.get("additionalProperties") == Some(&Value::Bool(false));
    if is_closed && !open.iter().any(|keyword| object.contains_key(*keyword)) {
        return None;
    }
    Some(None)
}

pub(super) const OBJECT: u8 = 1;
pub(super) const ARRAY: u8 = 1 << 1;
const INTEGER: u8 = 1 << 4;
const NUMBER: u8 = 1 << 5;
const TYPES: [(&str, u8); 7] = [
    ("object", OBJECT),
    ("array", ARRAY),
    ("string", 1 << 2),
    ("boolean", 1 << 3),
    ("integer", INTEGER),
    // Every integer is a number.
    ("number", INTEGER | NUMBER),
    ("null", 1 << 6),
];
const ANY: u8 = u8::MAX;

/// The types that a schema allows, as bits.
pub(super) fn types(object: &Map<String, Value>) -> u8 {
    let bits = |name: &str| {
        let known = TYPES.iter().find(|(known, _)| *known == name);
        known.map_or(ANY, |(_, bits)| *bits)
    };
    match object.get("type") {
        Some(Value::String(name)) => bits(name),
        Some(Value::Array(all)) => all
            .iter()
            .filter_map(Value::as_str)
            .map(bits)
            .fold(0, |all, one| all | one),
        _ => values(object).map_or(ANY, |values| {
            values
                .iter()
                .map(|value| type_of(value))
                .fold(0, |all, one| all | one)
        }),
    }
}

fn type_of(value: &Value) -> u8 {
    match value {
        Value::Object(_) => OBJECT,
        Value::Array(_) => ARRAY,
        Value::String(_) => 1 << 2,
        Value::Bool(_) => 1 << 3,
        Value::Number(_) => INTEGER | NUMBER,
        Value::Null => 1 << 6,
    }
}

fn names(types: u8) -> String {
    let has = |(_, bits): &&(&str, u8)| types & bits == *bits;
    let mut names: Vec<&str> = TYPES.iter().filter(has).map(|(name, _)| *name).collect();
    if names.contains(&"number") {
        names.retain(|name| *name != "integer");
    }
    names.join(" or ")
}

/// The values that a schema names, if it names them.
fn values(object: &Map<String, Value>) -> Option<Vec<&Value>> {
    if let Some(value) = object.get("const") {
        return Some(vec![value]);
    }
    object
        .get("enum")?
        .as_array()
        .map(|values| values.iter().collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Schema, conflict};

    fn reason(wanted: Value, given: Value) -> Option<String> {
        conflict(Schema::new(&wanted), Schema::new(&given))
    }

    #[test]
    fn what_can_never_be_is_told() {
        let order = json!({"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}});
        for (wanted, given, expected) in [
            (
                json!({"type": "number"}),
                json!({"type": "string"}),
                "it is string, and number is wanted",
            ),
            (
                json!({"type": ["string", "null"]}),
                json!({"type": "object"}),
                "it is object, and string or null is wanted",
            ),
            (
                order.clone(),
                json!({"type": "object", "properties": {"total": {"type": "string"}}}),
                "it is string, and number is wanted at /total",
            ),
            (
                order.clone(),
                json!({"type": "object", "properties": {}, "additionalProperties": false}),
                "it has no \"total\"",
            ),
            (
                json!({"const": 1}),
                json!({"enum": [2, 3]}),
                "none of the values that are wanted is given",
            ),
            (
                json!({"anyOf": [{"type": "string"}, {"type": "array"}]}),
                json!({"type": "null"}),
                "it is null, and string is wanted",
            ),
            (
                order.clone(),
                json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "array"}}}),
                "it is array, and object is wanted",
            ),
            (
                json!({"allOf": [{"type": "string"}]}),
                json!({"type": "number"}),
                "it is number, and string is wanted",
            ),
        ] {
            assert_eq!(reason(wanted, given).as_deref(), Some(expected));
        }
    }

    #[test]
    fn in_doubt_it_can_be() {
        for (wanted, given) in [
            (json!({}), json!({"type": "string"})),
            (json!(true), json!({"type": "string"})),
            (json!({"type": "number"}), json!({"type": "integer"})),
            (json!({"type": "integer"}), json!({"type": "number"})),
            (json!({"required": ["a"]}), json!({"type": "object"})),
            (
                json!({"required": ["a"]}),
                json!({"additionalProperties": false}),
            ),
            (
                json!({"type": "object", "required": ["a"]}),
                json!({"type": "object", "additionalProperties": false, "patternProperties": {"a": {}}}),
            ),
            (
                json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
                json!({"type": "null"}),
            ),
            (
                json!({"$ref": "https://example.com/other"}),
                json!({"type": "null"}),
            ),
            (json!({"$ref": "#"}), json!({"$ref": "#"})),
        ] {
            assert_eq!(
                reason(wanted.clone(), given.clone()),
                None,
                "{wanted} {given}"
            );
        }
    }

    #[test]
    fn schemas_that_branch_without_end_are_given_up_on() {
        let branches: Vec<Value> = (0..4).map(|_| json!({"$ref": "#"})).collect();
        let schema = json!({"anyOf": branches});
        assert_eq!(reason(schema.clone(), schema), None);
    }
}
