use llamon_core::Part;
use llamon_core::contracts::Selector;
use llamon_core::json;

use super::{MAX_TEMPLATE_BYTES, MAX_TEMPLATE_PLACES, Reference, check_size};

/// A `text`: characters, and `{{step.text}}` for what steps answered.
#[derive(Debug)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
    references: Vec<Reference>,
}

/// A piece of a template.
#[derive(Debug)]
enum Piece {
    /// Characters that stand for themselves.
    Text(String),
    /// The place between the braces.
    Place {
        /// As it is written.
        written: String,
        /// The path from the run.
        selector: Selector,
        /// What it reads.
        reference: Reference,
    },
}

impl Template {
    pub(crate) fn new(template: &str) -> Result<Self, String> {
        if template.len() > MAX_TEMPLATE_BYTES {
            let bytes = template.len();
            return Err(format!(
                "has {bytes} bytes, {MAX_TEMPLATE_BYTES} are allowed"
            ));
        }
        let mut pieces = Vec::new();
        let mut references = Vec::new();
        let mut text = String::new();
        let mut rest = template;
        let mut places = 0;
        while let Some((before, after)) = rest.split_once("{{") {
            if let Some(before) = before.strip_suffix('\\') {
                text.push_str(before);
                text.push_str("{{");
                rest = after;
                continue;
            }
            let (written, after) = after.split_once("}}").ok_or_else(|| {
                let shown: String = after.chars().take(40).collect();
                format!("has {{{{ without }}}} before {shown:?}; \\{{{{ is a {{{{ that stands for itself")
            })?;
            places += 1;
            if places > MAX_TEMPLATE_PLACES {
                return Err(format!("has more than {MAX_TEMPLATE_PLACES} places"));
            }
            text.push_str(before);
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            let place = place(written.trim())?;
            if let Piece::Place { reference, .. } = &place
                && !references.contains(reference)
            {
                references.push(reference.clone());
            }
            pieces.push(place);
            rest = after;
        }
        text.push_str(rest);
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Ok(Self { pieces, references })
    }

    /// What it reads, each once.
    pub(crate) fn references(&self) -> &[Reference] {
        &self.references
    }

    /// The text, `context` being the JSON of the run.
    ///
    /// # Errors
    /// When a place is not there, is there more than once, or the context cannot be parsed.
    pub(crate) fn fill(&self, context: &str) -> Result<String, String> {
        let mut text = String::new();
        let mut part = None;
        for piece in &self.pieces {
            match piece {
                Piece::Text(characters) => text.push_str(characters),
                Piece::Place {
                    written, selector, ..
                } => {
                    let part = match &part {
                        Some(part) => part,
                        None => &*part.insert(Part::data_from_json(context).map_err(|error| {
                            format!("{{{{{written}}}}} cannot be read: {error}")
                        })?),
                    };
                    text.push_str(&value(written, selector, part)?);
                }
            }
        }
        Ok(text)
    }
}

fn place(written: &str) -> Result<Piece, String> {
    check_size(written)?;
    let wanted = "write {{step.text}}, {{step.data[0].name}}, {{input.text}} or {{item.name}}";
    let path = format!("$.{written}");
    let reference = (path.strip_prefix('$').and_then(Reference::read))
        .ok_or_else(|| format!("{{{{{written}}}}} names nothing; {wanted}"))?;
    let selector =
        Selector::new(&path).map_err(|_| format!("{{{{{written}}}}} is no place; {wanted}"))?;
    Ok(Piece::Place {
        written: written.to_owned(),
        selector,
        reference,
    })
}

fn value(written: &str, selector: &Selector, run: &Part) -> Result<String, String> {
    let found = (selector.find(run))
        .map_err(|error| format!("{{{{{written}}}}} cannot be read: {error}"))?;
    match &*found {
        [one] if one.json().starts_with('"') => json::decode(one.json())
            .map(|text| text.into_owned())
            .map_err(|error| format!("{{{{{written}}}}} cannot be read: {error}")),
        [one] => Ok(one.json().to_owned()),
        [] => Err(format!(
            "{{{{{written}}}}} leads to nothing in what was answered"
        )),
        many => Err(format!(
            "{{{{{written}}}}} leads to {} places, one is needed",
            many.len()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::Template;

    const RUN: &str =
        r#"{"a":{"text":"two \"lines\"\n","data":[{"n":1.0,"l":[1, 2]}]},"item":{"sku":"x"}}"#;

    #[test]
    fn places_are_filled_with_characters_or_raw_json() {
        for (template, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("{{a.text}}!", "two \"lines\"\n!"),
            ("n={{ a.data[0].n }} l={{a.data[0].l}}", "n=1.0 l=[1, 2]"),
            ("{{item.sku}} of {{item}}", "x of {\"sku\":\"x\"}"),
            (r"\{{a.text}} {not} }}", "{{a.text}} {not} }}"),
        ] {
            let filled = Template::new(template).unwrap().fill(RUN);
            assert_eq!(filled.as_deref(), Ok(expected), "{template}");
        }
    }

    #[test]
    fn what_is_not_there_is_an_error_that_names_it() {
        for (template, expected) in [
            ("{{a.data[1].n}}", "{{a.data[1].n}} leads to nothing"),
            ("{{a.data[0].l[*]}}", "leads to 2 places"),
        ] {
            let error = Template::new(template).unwrap().fill(RUN).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        for (template, expected) in [
            ("{{a.text", "without }}"),
            ("{{}}", "names nothing"),
            ("{{a.data[}}", "is no place"),
            ("{{.a}}", "names nothing"),
        ] {
            let error = Template::new(template).unwrap_err();
            assert!(error.contains(expected), "{template}: {error}");
        }
    }
}
