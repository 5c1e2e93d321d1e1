use llamon_core::Part;
use llamon_core::contracts::Selector;

use super::{Reference, check_size, outside_strings, without_advice};

/// A `when`: a logical expression as it stands in a filter of JSONPath (RFC 9535, section 2.3.5).
/// `@` is the run.
#[derive(Debug)]
pub(crate) struct Condition {
    selector: Selector,
    references: Vec<Reference>,
}

impl Condition {
    pub(crate) fn new(expression: &str) -> Result<Self, String> {
        check_size(expression)?;
        let references = references(expression)?;
        if references.is_empty() {
            return Err(format!(
                "{expression:?} names no step; write @.step.text, @.step.data[0].name, @.step.state or @.input.text"
            ));
        }
        // `@` of a filter is each element of what it is applied to: of an array of one, the run.
        let selector = Selector::new(&format!("$[?{expression}]"))
            .map_err(|error| explain(expression, &error.to_string()))?;
        Ok(Self {
            selector,
            references,
        })
    }

    /// What it reads, each once.
    pub(crate) fn references(&self) -> &[Reference] {
        &self.references
    }

    /// Whether it holds of the run, `context` being the JSON of an object.
    ///
    /// # Errors
    /// When the context cannot be parsed.
    pub(crate) fn holds(&self, context: &str) -> Result<bool, String> {
        let part = Part::data_from_json(format!("[{context}]"));
        let part = part.map_err(|error| format!("it cannot be read: {error}"))?;
        let found = self
            .selector
            .find(&part)
            .map_err(|error| error.to_string())?;
        Ok(!found.is_empty())
    }
}

/// Outside of brackets each `@` is the run and must say which step.
fn references(expression: &str) -> Result<Vec<Reference>, String> {
    let mut references = Vec::new();
    let mut depth = 0usize;
    for (at, c) in outside_strings(expression) {
        match c {
            '[' => depth += 1,
            ']' => match depth.checked_sub(1) {
                Some(outer) => depth = outer,
                None => return Err(format!("{expression:?} has a `]` too many")),
            },
            '$' => return Err(format!("{expression:?} has a `$`; the run is `@`")),
            '@' if depth == 0 => {
                let rest = expression.get(at + 1..).unwrap_or_default();
                let reference = Reference::read(rest).ok_or_else(|| {
                    format!("{expression:?} has an `@` without a step; write @.step.text or @.step.data[0]")
                })?;
                if !references.contains(&reference) {
                    references.push(reference);
                }
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(format!("{expression:?} has a `[` that is not closed"));
    }
    Ok(references)
}

/// The library's message is about the path around the expression, with a position in it.
fn explain(expression: &str, message: &str) -> String {
    let around = "$[?";
    let whole = format!("{:?}", format!("{around}{expression}]"));
    let message = message.strip_prefix(&whole).unwrap_or(message).trim_start();
    let Some(syntax) = message.strip_prefix("is no JSONPath: ") else {
        return format!("{expression:?} {}", without_advice(message));
    };
    let position = (syntax.strip_prefix("at position "))
        .and_then(|rest| rest.split_once(", in long-hand segment, "))
        .and_then(|(position, problem)| Some((position.parse::<usize>().ok()?, problem)));
    match position {
        Some((position, problem)) => {
            let character = (position + 1).saturating_sub(around.len());
            let problem = match problem {
                "expected closing ']'" => "an operator (== != < <= > >= && ||) is expected",
                other => other,
            };
            format!("{expression:?} is no condition: at character {character}, {problem}")
        }
        None => format!("{expression:?} is no condition: {syntax}"),
    }
}

#[cfg(test)]
mod tests {
    use super::Condition;

    #[test]
    fn conditions_hold_of_what_steps_answered() {
        let run = r#"{"audit":{"state":"completed","text":"2 found","data":[{"total":2,"items":[{"s":"high"},{"s":"low"}]}],"files":[]},
            "input":{"text":"","data":[],"files":[]}}"#;
        for (condition, expected) in [
            ("@.audit.data[0].total > 1", true),
            ("@.audit.data[0].total > 2", false),
            ("@.audit.data[0].items[?@.s == 'high']", true),
            ("@.audit.data[0].items[?@.s == 'none']", false),
            ("!@.audit.data[3]", true),
            (
                "@.audit.state == 'completed' && length(@.audit.text) > 3",
                true,
            ),
            (
                "count(@.audit.data[0].items[*]) == 2 || @.input.text == 'x'",
                true,
            ),
            ("@.audit.data[0].missing != 1", true),
            ("@['audit'].text == ']'", false),
        ] {
            match Condition::new(condition) {
                Ok(compiled) => assert_eq!(compiled.holds(run), Ok(expected), "{condition}"),
                Err(error) => assert!(condition.starts_with("@['"), "{condition}: {error}"),
            }
        }
    }

    #[test]
    fn what_is_no_condition_is_explained() {
        for (condition, expected) in [
            ("", "names no step"),
            ("1 == 1", "names no step"),
            ("@ == 1", "an `@` without a step"),
            ("@..text == 'a'", "an `@` without a step"),
            ("$.a.text == 'a'", "the run is `@`"),
            ("@.a.text = 'a'", "is no condition"),
            ("@.a.text == 'a'] || @.b[?@.c", "a `]` too many"),
            ("@.a.data[0", "not closed"),
            ("match(@.a.text, 'x')", "match()"),
        ] {
            let error = Condition::new(condition).unwrap_err();
            assert!(error.contains(expected), "{condition}: {error}");
        }
    }
}
