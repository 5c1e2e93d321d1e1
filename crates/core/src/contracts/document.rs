//! Contracts as a YAML or JSON document, so that tools can read them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::contract::{InputContract, InputContracts, InputKind, OnMissing, Pick};
use super::error::ContractError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    contracts: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    #[serde(default)]
    kind: Kind,
    description: Option<String>,
    schema: Option<Value>,
    select: Option<String>,
    media_type: Option<String>,
    filename: Option<String>,
    source: Option<String>,
    #[serde(default)]
    pick: PickName,
    required: Option<bool>,
    #[serde(default, deserialize_with = "present")]
    default: Option<Value>,
    #[serde(default)]
    on_missing: OnMissingName,
}

/// An explicit null is a default, too.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[default]
    Data,
    File,
    Text,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PickName {
    #[default]
    First,
    Last,
    One,
    All,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OnMissingName {
    #[default]
    Reject,
    Ask,
}

impl InputContracts {
    /// Reads a YAML document `{contracts: [{name, kind, ...}]}`; JSON is YAML, too.
    ///
    /// Aliases and includes are bounded or off, so that a small document cannot become a large
    /// one.
    ///
    /// # Errors
    /// With the line where there is one. The contracts themselves are checked by
    /// [`InputContracts::compile`].
    ///
    /// ```
    /// use llamon_core::contracts::InputContracts;
    /// let contracts = InputContracts::from_yaml("
    /// contracts:
    ///   - name: total
    ///     select: /order/total
    ///     schema: {type: number}
    /// ")?;
    /// assert!(contracts.compile().is_ok());
    /// # Ok::<(), llamon_core::contracts::ContractError>(())
    /// ```
    pub fn from_yaml(text: &str) -> Result<Self, ContractError> {
        let document: Document = serde_saphyr::from_str(text).map_err(|error| {
            ContractError::document(format!("the document is not one: {error}"))
        })?;
        document.into_contracts()
    }

    /// Reads a JSON document; see [`InputContracts::from_yaml`].
    ///
    /// # Errors
    /// With line and column.
    pub fn from_json(text: &str) -> Result<Self, ContractError> {
        let document: Document = serde_json::from_str(text).map_err(|error| {
            ContractError::document(format!("the document is not one: {error}"))
        })?;
        document.into_contracts()
    }

    /// The contracts as a document that [`InputContracts::from_json`] reads, for tools. What a
    /// derive adds, that a value can be read as the agent's type, has no place in it.
    pub fn document(&self) -> Value {
        let entry = |contract: &InputContract| {
            let mut entry = serde_json::Map::new();
            let mut put = |name: &str, value: Option<Value>| {
                if let Some(value) = value {
                    entry.insert(name.to_owned(), value);
                }
            };
            let text = |text: &Option<String>| text.clone().map(Value::from);
            put("name", Some(contract.name.clone().into()));
            put("kind", Some(contract.kind.as_str().into()));
            put("description", text(&contract.description));
            put("schema", contract.schema.clone());
            put("select", text(&contract.select));
            put("media_type", text(&contract.media_type));
            put("filename", text(&contract.filename));
            put("source", text(&contract.source));
            put("pick", Some(contract.pick.as_str().into()));
            put("required", Some(contract.required.into()));
            let default = contract.default.as_deref();
            put(
                "default",
                default.and_then(|json| serde_json::from_str(json).ok()),
            );
            put("on_missing", Some(contract.on_missing.as_str().into()));
            Value::Object(entry)
        };
        serde_json::json!({ "contracts": self.iter().map(entry).collect::<Vec<_>>() })
    }

    /// What is published on a card: names, kinds, whether they are required, and schemas with
    /// the place that they describe. What a sender needs to know, and nothing more.
    pub fn published(&self) -> Value {
        #[derive(Serialize)]
        struct Published<'a> {
            name: &'a str,
            kind: &'static str,
            required: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            description: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            select: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            schema: Option<&'a Value>,
            #[serde(rename = "mediaType", skip_serializing_if = "Option::is_none")]
            media_type: Option<&'a str>,
        }
        let published: Vec<_> = self
            .iter()
            .map(|contract| Published {
                name: &contract.name,
                kind: contract.kind.as_str(),
                required: contract.required,
                description: contract.description.as_deref(),
                select: contract.select.as_deref(),
                schema: contract.schema.as_ref(),
                media_type: contract.media_type.as_deref(),
            })
            .collect();
        serde_json::json!({ "contracts": published })
    }
}

impl Document {
    fn into_contracts(self) -> Result<InputContracts, ContractError> {
        self.contracts
            .into_iter()
            .map(Entry::into_contract)
            .collect()
    }
}

impl Entry {
    fn into_contract(self) -> Result<InputContract, ContractError> {
        if self.required == Some(true) && self.default.is_some() {
            let message = "a required input has no default; leave one of the two out";
            return Err(ContractError::of(&self.name, "default", message));
        }
        let default = match &self.default {
            Some(value) => Some(
                serde_json::to_string(value)
                    .map_err(|error| ContractError::of(&self.name, "default", error.to_string()))?,
            ),
            None => None,
        };
        let required = self.required.unwrap_or(default.is_none());
        Ok(InputContract {
            name: self.name,
            kind: match self.kind {
                Kind::Data => InputKind::Data,
                Kind::File => InputKind::File,
                Kind::Text => InputKind::Text,
            },
            description: self.description,
            schema: self.schema,
            select: self.select,
            media_type: self.media_type,
            filename: self.filename,
            source: self.source,
            pick: match self.pick {
                PickName::First => Pick::First,
                PickName::Last => Pick::Last,
                PickName::One => Pick::One,
                PickName::All => Pick::All,
            },
            required,
            default,
            on_missing: match self.on_missing {
                OnMissingName::Reject => OnMissing::Reject,
                OnMissingName::Ask => OnMissing::Ask,
            },
            typed: None,
        })
    }
}

/// Whether a text is one JSON value; what a default must be.
pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}
