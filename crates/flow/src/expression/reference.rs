/// What an expression reads: a step (or `input`, or `item`), and which field of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reference {
    name: String,
    field: Option<String>,
}

impl Reference {
    /// What there is of a step.
    pub(crate) const FIELDS: [&'static str; 5] = ["text", "data", "files", "state", "error"];

    /// Reads `.name.field` or `.name['field']` at the beginning of `text`; `None` where no name
    /// stands there.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (name, rest) = split_name(text.strip_prefix('.')?)?;
        let field = match rest.strip_prefix('.') {
            Some(rest) => split_name(rest).map(|(field, _)| field),
            None => (rest.strip_prefix("['").or_else(|| rest.strip_prefix("[\"")))
                .and_then(split_name)
                .map(|(field, _)| field),
        };
        Some(Self {
            name: name.to_owned(),
            field: field.map(str::to_owned),
        })
    }

    /// The step's name, `input` or `item`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether this field of the step is read; each one where none is named.
    pub(crate) fn reads(&self, field: &str) -> bool {
        self.field.as_deref().is_none_or(|own| own == field)
    }

    /// The field, if a step has none of this name.
    pub(crate) fn unknown_field(&self) -> Option<&str> {
        self.field
            .as_deref()
            .filter(|field| !Self::FIELDS.contains(field))
    }
}

fn split_name(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    (!name.is_empty()).then_some((name, rest))
}
