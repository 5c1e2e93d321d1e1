use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::error::ContractError;
use crate::payload::PayloadError;
use crate::to_json::to_json;

/// What an agent reads of what arrives: named inputs, each found by its own rules.
///
/// ```
/// use llamon_core::contracts::{InputContract, InputContracts, Pick};
/// use serde_json::json;
///
/// let contracts = InputContracts::new()
///     .with(InputContract::data("order").schema(json!({"required": ["total"]})))
///     .with(InputContract::data("skus").select("$.items[*].sku").pick(Pick::All))
///     .with(InputContract::file("scan").media_type("image/*").optional());
/// assert!(contracts.compile().is_ok());
/// ```
#[derive(Clone, Debug, Default)]
pub struct InputContracts {
    pub(super) contracts: Vec<InputContract>,
}

impl InputContracts {
    /// No contracts: the agent reads upstream raw.
    pub fn new() -> Self {
        Self::default()
    }

    /// These contracts and one more.
    #[must_use]
    pub fn with(mut self, contract: InputContract) -> Self {
        self.contracts.push(contract);
        self
    }

    /// All contracts, in the order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = &InputContract> {
        self.contracts.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.contracts.is_empty()
    }

    /// Checks all contracts and makes them ready for use, once, at start-up.
    ///
    /// # Errors
    /// With the contract's name and the position, for a name that is empty or given twice, a
    /// schema, path, pointer or pattern that is none, a `$ref` to another document (never
    /// fetched), or fields that do not go together.
    pub fn compile(&self) -> Result<super::CompiledContracts, ContractError> {
        super::CompiledContracts::new(self)
    }
}

impl FromIterator<InputContract> for InputContracts {
    fn from_iter<I: IntoIterator<Item = InputContract>>(contracts: I) -> Self {
        Self {
            contracts: contracts.into_iter().collect(),
        }
    }
}

/// What kind of part an input is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum InputKind {
    /// A data part, or a place in one.
    #[default]
    Data,
    /// A file part.
    File,
    /// A text part of the message.
    Text,
}

impl InputKind {
    /// The name in a document.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::File => "file",
            Self::Text => "text",
        }
    }
}

/// Which of several matches an input is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pick {
    /// The first in arrival order.
    #[default]
    First,
    /// The last in arrival order.
    Last,
    /// The only one; two are a miss, which always rejects.
    One,
    /// All of them, in arrival order; members of one object in the order of their names.
    All,
}

impl Pick {
    /// The name in a document.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Last => "last",
            Self::One => "one",
            Self::All => "all",
        }
    }
}

/// What happens when a required input is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnMissing {
    /// The task ends REJECTED.
    #[default]
    Reject,
    /// The task waits (INPUT_REQUIRED) and says what is missing.
    Ask,
}

impl OnMissing {
    /// The name in a document.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Ask => "ask",
        }
    }
}

type TypedCheck = Arc<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

/// One named input.
#[derive(Clone)]
pub struct InputContract {
    pub(super) name: String,
    pub(super) kind: InputKind,
    pub(super) description: Option<String>,
    pub(super) schema: Option<Value>,
    pub(super) select: Option<String>,
    pub(super) media_type: Option<String>,
    pub(super) filename: Option<String>,
    pub(super) source: Option<String>,
    pub(super) pick: Pick,
    pub(super) required: bool,
    /// JSON text, for data.
    pub(super) default: Option<String>,
    pub(super) on_missing: OnMissing,
    pub(super) typed: Option<TypedCheck>,
}

impl InputContract {
    /// A required input of `kind`.
    pub fn new(name: impl Into<String>, kind: InputKind) -> Self {
        Self {
            name: name.into(),
            kind,
            description: None,
            schema: None,
            select: None,
            media_type: None,
            filename: None,
            source: None,
            pick: Pick::default(),
            required: true,
            default: None,
            on_missing: OnMissing::default(),
            typed: None,
        }
    }

    /// A required input that is a data part, or a place in one.
    pub fn data(name: impl Into<String>) -> Self {
        Self::new(name, InputKind::Data)
    }

    /// A required input that is a file part.
    pub fn file(name: impl Into<String>) -> Self {
        Self::new(name, InputKind::File)
    }

    /// A required input that is a text part.
    pub fn text(name: impl Into<String>) -> Self {
        Self::new(name, InputKind::Text)
    }

    /// What the input is, for people; it is shown when the input is missing.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// JSON Schema 2020-12 that the value must satisfy.
    #[must_use]
    pub fn schema(mut self, schema: Value) -> Self {
        self.schema = Some(schema);
        self
    }

    /// Where in the part's value the input is: a JSONPath (RFC 9535, begins with `$`) or a JSON
    /// Pointer (RFC 6901, empty or begins with `/`). Each place that it finds can match.
    #[must_use]
    pub fn select(mut self, select: impl Into<String>) -> Self {
        self.select = Some(select.into());
        self
    }

    /// The media type that the part must have; a glob (`image/*`).
    #[must_use]
    pub fn media_type(mut self, pattern: impl Into<String>) -> Self {
        self.media_type = Some(pattern.into());
        self
    }

    /// The file name that the part must have; a glob (`*.lock`).
    #[must_use]
    pub fn filename(mut self, pattern: impl Into<String>) -> Self {
        self.filename = Some(pattern.into());
        self
    }

    /// Who made the part, as its provenance says: an agent's name, a skill or an artifact's name.
    #[must_use]
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Which of several matches the input is.
    #[must_use]
    pub fn pick(mut self, pick: Pick) -> Self {
        self.pick = pick;
        self
    }

    /// The input may be missing.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.required = false;
        self
    }

    /// The input may be missing and is `value` then.
    ///
    /// # Errors
    /// When `value` cannot be JSON.
    pub fn default_value(
        mut self,
        value: &(impl Serialize + ?Sized),
    ) -> Result<Self, PayloadError> {
        self.default = Some(to_json(value)?);
        self.required = false;
        Ok(self)
    }

    /// The input may be missing and is this JSON text then; checked when the contracts are
    /// compiled.
    #[must_use]
    pub fn default_json(mut self, json: impl Into<String>) -> Self {
        self.default = Some(json.into());
        self.required = false;
        self
    }

    /// What happens when the input is missing.
    #[must_use]
    pub fn on_missing(mut self, on_missing: OnMissing) -> Self {
        self.on_missing = on_missing;
        self
    }

    /// A value only matches if it can be read as a `T`. What a derive adds.
    #[must_use]
    pub fn typed<T: serde::de::DeserializeOwned>(mut self) -> Self {
        self.typed = Some(Arc::new(|json| {
            serde_json::from_str::<T>(json)
                .map(drop)
                .map_err(|error| without_content(&error))
        }));
        self
    }

    /// What the agent calls the input.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What kind of part the input is.
    pub fn kind(&self) -> InputKind {
        self.kind
    }

    /// Whether the input must be there.
    pub fn is_required(&self) -> bool {
        self.required
    }
}

impl std::fmt::Debug for InputContract {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InputContract")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("pick", &self.pick)
            .field("required", &self.required)
            .finish_non_exhaustive()
    }
}

/// Serde's message without what it found, which is the content of somebody's part.
fn without_content(error: &serde_json::Error) -> String {
    if error.line() == 0 {
        // A type that reads a value in several ways does not know where it gave up.
        return "it is refused".to_owned();
    }
    let place = format!("line {} column {}", error.line(), error.column());
    let message = error.to_string();
    let message = message
        .strip_suffix(&format!(" at {place}"))
        .unwrap_or(&message);
    // These name only what the type has.
    let names_the_type = [
        "missing field `",
        "duplicate field `",
        "data did not match any variant of untagged enum ",
    ];
    if names_the_type
        .iter()
        .any(|start| message.starts_with(start))
    {
        return format!("{message} at {place}");
    }
    let found = [
        "invalid type",
        "invalid value",
        "invalid length",
        "unknown variant",
        "unknown field",
    ];
    let what = found.into_iter().find(|start| message.starts_with(start));
    match (what, message.rsplit_once(", expected ")) {
        (Some(what), Some((_, expected))) => format!("{what}, expected {expected} at {place}"),
        (Some(what), None) => format!("{what} at {place}"),
        (None, _) => format!("it is refused at {place}"),
    }
}
