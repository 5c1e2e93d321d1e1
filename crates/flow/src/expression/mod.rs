//! What stands in `when`, `text` and `each`: JSONPath (RFC 9535), compiled and evaluated as input
//! contracts are.

mod condition;
mod item_path;
mod reference;
mod template;

pub(crate) use condition::Condition;
pub(crate) use item_path::ItemPath;
pub(crate) use reference::Reference;
pub(crate) use template::Template;

/// The characters that an expression may have.
pub(crate) const MAX_EXPRESSION_CHARS: usize = 4_096;
/// The bytes that a template may have.
pub(crate) const MAX_TEMPLATE_BYTES: usize = 1 << 20;
/// The places that a template may have.
pub(crate) const MAX_TEMPLATE_PLACES: usize = 1_000;
/// How deep brackets may nest.
const MAX_NESTING: usize = 16;

/// Refuses what a recursive parser should not be given.
fn check_size(expression: &str) -> Result<(), String> {
    let characters = expression.chars().count();
    if characters > MAX_EXPRESSION_CHARS {
        return Err(format!(
            "has {characters} characters, {MAX_EXPRESSION_CHARS} are allowed"
        ));
    }
    let mut depth = 0usize;
    for c in outside_strings(expression).map(|(_, c)| c) {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_NESTING {
            return Err(format!("nests brackets deeper than {MAX_NESTING}"));
        }
    }
    Ok(())
}

/// A contract's message without what only a contract can do about it.
fn without_advice(message: &str) -> &str {
    message
        .strip_suffix("; use `pattern` in the schema")
        .unwrap_or(message)
}

/// The characters that stand in no quotes, with their byte offsets.
fn outside_strings(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut quote = None;
    let mut escaped = false;
    text.char_indices().filter(move |(_, c)| match quote {
        Some(open) => {
            if escaped {
                escaped = false;
            } else if *c == '\\' {
                escaped = true;
            } else if *c == open {
                quote = None;
            }
            false
        }
        None if *c == '\'' || *c == '"' => {
            quote = Some(*c);
            false
        }
        None => true,
    })
}
