//! Where a path leads in a schema.

use serde_json::Value;

use super::schema::{ARRAY, OBJECT, Schema, property, types};

/// What a schema says of a place.
pub(super) enum Place<'s> {
    /// Its schema.
    Schema(Schema<'s>),
    /// There never is one.
    Nowhere,
    /// It may be there, and nothing is known of it.
    Unknown,
}

enum Step {
    Name(String),
    Element,
    /// A token of a pointer, which may be either.
    Number,
}

/// The place that a JSONPath or JSON Pointer leads to, if it is a plain one.
pub(super) fn follow<'s>(schema: Schema<'s>, path: &str) -> Place<'s> {
    let Some(steps) = steps(path) else {
        return Place::Unknown;
    };
    let mut at = schema;
    for step in steps {
        let Some((schema, object)) = at.object() else {
            return Place::Unknown;
        };
        let branches = ["allOf", "anyOf", "oneOf", "if", "$dynamicRef"];
        if branches.iter().any(|keyword| object.contains_key(*keyword)) {
            return Place::Unknown;
        }
        let types = types(object);
        let below = match step {
            Step::Name(_) if types & OBJECT == 0 => return Place::Nowhere,
            Step::Element if types & ARRAY == 0 => return Place::Nowhere,
            Step::Number if types & (ARRAY | OBJECT) == 0 => return Place::Nowhere,
            Step::Number if types & OBJECT != 0 => return Place::Unknown,
            Step::Name(name) => match property(object, &name) {
                None => return Place::Nowhere,
                Some(property) => property,
            },
            Step::Element | Step::Number if object.contains_key("prefixItems") => {
                return Place::Unknown;
            }
            Step::Element | Step::Number => object.get("items"),
        };
        match below {
            Some(Value::Bool(false)) => return Place::Nowhere,
            Some(node) => at = schema.at(node),
            None => return Place::Unknown,
        }
    }
    Place::Schema(at)
}

fn steps(path: &str) -> Option<Vec<Step>> {
    if path.is_empty() {
        return Some(Vec::new());
    }
    if let Some(pointer) = path.strip_prefix('/') {
        let token = |token: &str| {
            let is_number = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
            let token = token.replace("~1", "/").replace("~0", "~");
            if is_number {
                Step::Number
            } else {
                Step::Name(token)
            }
        };
        return Some(pointer.split('/').map(token).collect());
    }
    let mut steps = Vec::new();
    let mut rest = path.strip_prefix('$')?;
    while !rest.is_empty() {
        if let Some(tail) = rest.strip_prefix("[*]") {
            steps.push(Step::Element);
            rest = tail;
        } else if let Some(tail) = rest.strip_prefix("['") {
            let (name, tail) = tail.split_once("']")?;
            if name.contains(['\\', '\'']) {
                return None;
            }
            steps.push(Step::Name(name.to_owned()));
            rest = tail;
        } else if let Some(tail) = rest.strip_prefix('[') {
            let (digits, tail) = tail.split_once(']')?;
            digits.parse::<usize>().ok()?;
            steps.push(Step::Element);
            rest = tail;
        } else {
            let tail = rest.strip_prefix('.')?;
            let end = tail.find(['.', '[']).unwrap_or(tail.len());
            let (name, tail) = tail.split_at(end);
            let is_name = |c: char| c.is_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(is_name) {
                return None;
            }
            steps.push(Step::Name(name.to_owned()));
            rest = tail;
        }
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Place, follow};
    use crate::check::schema::Schema;

    #[test]
    fn plain_paths_are_followed_and_others_are_not_known() {
        let schema = json!({"type": "object", "additionalProperties": false, "properties": {
            "items": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
            "open": {},
        }});
        for (path, expected) in [
            ("", "schema"),
            ("$.items[*].sku", "schema"),
            ("$['items'][0]['sku']", "schema"),
            ("/items/0/sku", "schema"),
            ("$.open.anything", "unknown"),
            ("$.items[*].other", "unknown"),
            ("$..sku", "unknown"),
            ("$.items[?@.sku]", "unknown"),
            ("$.missing", "nowhere"),
            ("$.items.sku", "nowhere"),
            ("/items/0/sku/deeper", "nowhere"),
        ] {
            let found = match follow(Schema::new(&schema), path) {
                Place::Schema(_) => "schema",
                Place::Unknown => "unknown",
                Place::Nowhere => "nowhere",
            };
            assert_eq!(found, expected, "{path}");
        }
    }
}
