use llamon_core::a2a::AgentCard;
use llamon_core::json::ReadError;

use crate::wire;

/// An agent card. Fields that A2A 1.0 does not know are left out.
///
/// # Errors
/// When an extension's parameters have no form in gRPC.
pub fn agent_card(card: &AgentCard) -> Result<wire::AgentCard, ReadError> {
    // The messages' JSON is the card's.
    let json = serde_json::to_string(card);
    let wire = json.and_then(|json| serde_json::from_str(&json));
    wire.map_err(|error| ReadError::invalid(error.to_string()))
}
