use llamon_core::json::ReadError;

use crate::wire;

/// The JSON text of an agent card.
///
/// # Errors
/// When an extension's parameters have no form in JSON.
pub fn agent_card_json(card: &wire::AgentCard) -> Result<String, ReadError> {
    serde_json::to_string(card).map_err(|error| ReadError::invalid(error.to_string()))
}
