use llamon_core::a2a::AgentCard;
use llamon_core::contracts::EXTENSION_URI;
use serde::Deserialize;
use serde_json::Value;

/// What an agent publishes of its contracts (`contract_publication`). Fields that are not known
/// are left out, so that a newer agent can be read.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Published {
    #[serde(default)]
    pub(super) contracts: Vec<Contract>,
    pub(super) output_schema: Option<Value>,
}

/// An input that the agent reads.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Contract {
    pub(super) name: String,
    #[serde(default)]
    pub(super) kind: Kind,
    #[serde(default = "yes")]
    pub(super) required: bool,
    pub(super) select: Option<String>,
    pub(super) schema: Option<Value>,
    pub(super) media_type: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    #[default]
    Data,
    File,
    Text,
    /// One that this version does not know.
    #[serde(other)]
    Other,
}

fn yes() -> bool {
    true
}

impl Published {
    /// Nothing for an agent that publishes nothing.
    pub(super) fn of(card: &AgentCard) -> Result<Self, String> {
        let mut extensions = card.capabilities.extensions.iter();
        let extension = extensions.find(|extension| extension.uri == EXTENSION_URI);
        match extension.and_then(|extension| extension.params.as_ref()) {
            Some(params) => Self::deserialize(params).map_err(|error| error.to_string()),
            None => Ok(Self::default()),
        }
    }
}
