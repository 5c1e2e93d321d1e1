//! Fills the templates of a description, as `itest/graph/values.py` does.

use serde_json::{Map, Value, json};

pub(crate) type Scope = Map<String, Value>;

pub(crate) fn render(template: &Value, scope: &Scope) -> Value {
    match template {
        Value::String(text) => {
            whole(text).map_or_else(|| filled(text, scope), |path| look_up(path, scope))
        }
        Value::Array(items) => items.iter().map(|item| render(item, scope)).collect(),
        Value::Object(parts) => match parts.get("$add") {
            Some(terms) => sum(&render(terms, scope)),
            None => parts
                .iter()
                .map(|(key, part)| (key.clone(), render(part, scope)))
                .collect(),
        },
        other => other.clone(),
    }
}

/// The name in a text that is nothing but `{name}`.
fn whole(text: &str) -> Option<&str> {
    let name = text.strip_prefix('{')?.strip_suffix('}')?;
    is_name(name).then_some(name)
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte == b'.')
}

fn filled(text: &str, scope: &Scope) -> Value {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        match after.split_once('}').filter(|(name, _)| is_name(name)) {
            Some((name, tail)) => {
                match look_up(name, scope) {
                    Value::String(value) => out.push_str(&value),
                    value => out.push_str(&spaced(&value)),
                }
                rest = tail;
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out.into()
}

/// JSON as Python writes it: a space after each comma of a list.
fn spaced(value: &Value) -> String {
    match value {
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(spaced).collect::<Vec<_>>().join(", ")
        ),
        other => other.to_string(),
    }
}

fn look_up(path: &str, scope: &Scope) -> Value {
    let mut names = path.split('.');
    let mut found = names.next().and_then(|name| scope.get(name));
    for name in names {
        found = found.and_then(|value| value.get(name));
    }
    found.cloned().unwrap_or(Value::Null)
}

fn sum(terms: &Value) -> Value {
    let terms = terms.as_array().expect("$add has a list");
    json!(terms.iter().filter_map(Value::as_i64).sum::<i64>())
}
