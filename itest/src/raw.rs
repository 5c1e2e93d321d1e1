//! JSON texts whose tokens stay as they are.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::value::RawValue;

/// A JSON text, and ways into it that give texts again.
#[derive(Clone, PartialEq, Eq)]
pub struct Raw(String);

impl Raw {
    /// The text, which must be JSON.
    ///
    /// # Panics
    /// When it is not.
    pub fn parse(text: &str) -> Self {
        if let Err(error) = serde_json::from_str::<&RawValue>(text) {
            panic!("no JSON, {error}: {text}");
        }
        Self(text.trim().to_owned())
    }

    /// The text itself.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// What is at `path`, names and indexes with dots between them; `None` where a name or an
    /// index on the way does not exist.
    pub fn find(&self, path: &str) -> Option<Self> {
        path.split('.')
            .try_fold(self.clone(), |at, step| match step.parse::<usize>() {
                Ok(index) => at.items().get(index).cloned(),
                Err(_) => at.fields().remove(step),
            })
    }

    /// What is at `path`; see [`Raw::find`].
    ///
    /// # Panics
    /// When there is nothing.
    pub fn at(&self, path: &str) -> Self {
        self.find(path)
            .unwrap_or_else(|| panic!("nothing at {path} in {self:?}"))
    }

    /// The string at `path`.
    ///
    /// # Panics
    /// When there is none.
    pub fn string(&self, path: &str) -> String {
        let token = self.at(path);
        serde_json::from_str(token.text())
            .unwrap_or_else(|_| panic!("{token:?} at {path} is no string in {self:?}"))
    }

    /// The elements of an array.
    ///
    /// # Panics
    /// When it is none.
    pub fn items(&self) -> Vec<Self> {
        let items: Vec<&RawValue> = serde_json::from_str(&self.0)
            .unwrap_or_else(|error| panic!("no array, {error}: {self:?}"));
        items.into_iter().map(Self::of).collect()
    }

    /// The elements of the array at `path`; none where there is nothing.
    pub fn list(&self, path: &str) -> Vec<Self> {
        self.find(path).map(|list| list.items()).unwrap_or_default()
    }

    /// The fields of an object. Of a name that is there twice, the last one.
    ///
    /// # Panics
    /// When it is none.
    pub fn fields(&self) -> BTreeMap<String, Self> {
        let fields: BTreeMap<String, &RawValue> = serde_json::from_str(&self.0)
            .unwrap_or_else(|error| panic!("no object, {error}: {self:?}"));
        fields
            .into_iter()
            .map(|(name, value)| (name, Self::of(value)))
            .collect()
    }

    fn of(value: &RawValue) -> Self {
        Self(value.get().to_owned())
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 2_000;
        match self.0.char_indices().nth(SHOWN) {
            None => f.write_str(&self.0),
            Some((at, _)) => {
                let begin = self.0.get(..at).unwrap_or_default();
                write!(f, "{begin}... ({} bytes)", self.0.len())
            }
        }
    }
}

/// The text without the white space between its tokens.
pub fn without_white(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut in_string = false;
    let mut escaped = false;
    for char in json.chars() {
        if !in_string && matches!(char, ' ' | '\t' | '\n' | '\r') {
            continue;
        }
        out.push(char);
        if in_string {
            in_string = escaped || char != '"';
            escaped = char == '\\' && !escaped;
        } else {
            in_string = char == '"';
        }
    }
    out
}

/// `text` as a JSON string.
pub fn token(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::{Raw, without_white};

    #[test]
    fn white_space_goes_only_between_tokens() {
        let pretty = "{\r\n \"a \\\" \\\\\" : [ 1e400 ,\t\" \\\" \" ]\n}";
        assert_eq!(without_white(pretty), r#"{"a \" \\":[1e400," \" "]}"#);
    }

    #[test]
    fn tokens_stay_as_they_are() {
        let raw = Raw::parse(r#"{"a":[{"b":1e400},"\ud800"],"c":"x"}"#);
        assert_eq!(raw.at("a.0.b").text(), "1e400");
        assert_eq!(raw.at("a.1").text(), r#""\ud800""#);
        assert_eq!(raw.string("c"), "x");
        assert_eq!(raw.find("a.2"), None);
        assert_eq!(raw.find("d.e"), None);
    }
}
