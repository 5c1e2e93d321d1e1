use llamon_agent::a2a::AgentExtension;
use llamon_agent::prelude::{AgentCard, Skill};

/// The extension that [`crate::Profile::RequiredExtension`] demands.
pub const REQUIRED_EXTENSION: &str = "urn:a2a:tck:required-extension";

/// The card without what the server knows better: where it is and what it can.
pub(crate) fn card() -> AgentCard {
    let skill = Skill::new("compat", "Compatibility", "Does what the message's id says")
        .with_tags(["compatibility"]);
    AgentCard::new(
        "compat-agent",
        "Driven by the A2A compatibility kit",
        "1.0.0",
    )
    .provider("llamon", "https://example.com/llamon")
    .input_modes(["text/plain", "application/json"])
    .output_modes(["text/plain", "application/json"])
    .skill(skill)
}

/// The extension, which does nothing but be required.
pub(crate) fn required_extension() -> AgentExtension {
    let mut extension = AgentExtension::new(
        REQUIRED_EXTENSION,
        "Clients must activate it; it changes nothing.",
    );
    extension.required = true;
    extension
}
