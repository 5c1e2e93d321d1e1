mod canonical;
mod lint;
mod security;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use canonical::{CardForm, canonical_card};
pub use lint::{CardFinding, Severity, lint_card};
pub use security::{
    ApiKeyScheme, HttpScheme, MutualTlsScheme, OAuth2Scheme, OAuthEndpoints, OAuthFlow,
    OpenIdConnectScheme, Scopes, SecurityRequirement, SecurityScheme,
};

/// An agent's description of itself (section 4.4.1).
///
/// ```
/// use llamon_core::a2a::{AgentCard, Skill};
/// let card = AgentCard::new("audit", "Finds duplicate versions", "1.0.0")
///     .skill(Skill::new("audit", "Audit", "Finds duplicate versions in a lock file"));
/// assert!(card.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentCard {
    /// The agent's name, for people.
    pub name: String,
    /// What the agent does, for people and for other agents.
    #[serde(default)]
    pub description: String,
    /// Where and how the agent is reached, the preferred way first. A server without any adds
    /// its own when it knows its address.
    #[serde(default)]
    pub supported_interfaces: Vec<AgentInterface>,
    /// Who offers the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<AgentProvider>,
    /// The agent's own version.
    #[serde(default)]
    pub version: String,
    /// Where its documentation is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<String>,
    /// What of the protocol it supports. A server sets what it serves.
    #[serde(default)]
    pub capabilities: AgentCapabilities,
    /// Ways to authenticate, by the names that requirements use (section 4.5.1).
    #[serde(
        default,
        alias = "security_schemes",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub security_schemes: BTreeMap<String, SecurityScheme>,
    /// What a caller must show: one of these. Empty where nothing is needed.
    #[serde(
        default,
        alias = "security_requirements",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub security_requirements: Vec<SecurityRequirement>,
    /// Media types that it takes.
    #[serde(default)]
    pub default_input_modes: Vec<String>,
    /// Media types that it answers with.
    #[serde(default)]
    pub default_output_modes: Vec<String>,
    /// What it can do.
    #[serde(default)]
    pub skills: Vec<Skill>,
    /// Signatures of the card without this field (section 8.4). Those of a card that was read
    /// are for its text: check that, not this struct.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<AgentCardSignature>,
    /// Where its icon is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon_url: Option<String>,
}

/// A way to reach an agent (section 4.4.6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentInterface {
    /// The absolute URL.
    pub url: String,
    /// `JSONRPC`, `HTTP+JSON`, `GRPC` or an own one.
    pub protocol_binding: String,
    /// The tenant that requests name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// The protocol version, `1.0`.
    #[serde(default)]
    pub protocol_version: String,
}

impl AgentInterface {
    /// An interface of protocol version 1.0.
    pub fn new(url: impl Into<String>, protocol_binding: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            protocol_binding: protocol_binding.into(),
            tenant: String::new(),
            protocol_version: super::PROTOCOL_VERSION.to_owned(),
        }
    }
}

/// Who offers an agent (section 4.4.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentProvider {
    /// Where the provider is.
    pub url: String,
    /// Its name.
    pub organization: String,
}

/// What of the protocol an agent supports (section 4.4.3).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentCapabilities {
    /// Streams.
    #[serde(default)]
    pub streaming: bool,
    /// Push notifications.
    #[serde(default)]
    pub push_notifications: bool,
    /// Extensions of the protocol.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<AgentExtension>,
    /// Another card for callers that are known.
    #[serde(default)]
    pub extended_agent_card: bool,
}

/// An extension of the protocol (section 4.4.4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentExtension {
    /// Which one.
    pub uri: String,
    /// How the agent uses it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether a client must support it.
    #[serde(default)]
    pub required: bool,
    /// Its configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<serde_json::Value>,
}

impl AgentExtension {
    /// An extension that a client need not support.
    pub fn new(uri: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            description: description.into(),
            required: false,
            params: None,
        }
    }

    /// The extension with its configuration.
    #[must_use]
    pub fn with_params(mut self, params: serde_json::Value) -> Self {
        self.params = Some(params);
        self
    }
}

/// Something that an agent can do (section 4.4.5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Skill {
    /// Unique within the card.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// What it does.
    #[serde(default)]
    pub description: String,
    /// Words to find it by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Examples of what to ask.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// Media types that it takes, if not the card's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_modes: Vec<String>,
    /// Media types that it answers with, if not the card's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_modes: Vec<String>,
    /// What a caller of this skill must show besides what the card needs: one of these.
    #[serde(
        default,
        alias = "security_requirements",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub security_requirements: Vec<SecurityRequirement>,
}

/// A signature of a card, a JWS with its payload taken out (section 4.4.7).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentCardSignature {
    /// The protected header, JSON in base64url.
    pub protected: String,
    /// The signature, in base64url.
    pub signature: String,
    /// The header that is not protected. Nothing is decided by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<serde_json::Value>,
}

impl AgentCardSignature {
    /// A signature without an unprotected header.
    pub fn new(protected: impl Into<String>, signature: impl Into<String>) -> Self {
        Self {
            protected: protected.into(),
            signature: signature.into(),
            header: None,
        }
    }
}

impl Skill {
    /// A skill whose only tag is its id.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        let id = id.into();
        Self {
            tags: vec![id.clone()],
            id,
            name: name.into(),
            description: description.into(),
            examples: Vec::new(),
            input_modes: Vec::new(),
            output_modes: Vec::new(),
            security_requirements: Vec::new(),
        }
    }

    /// The skill with these tags.
    #[must_use]
    pub fn with_tags(mut self, tags: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// The skill with an example more.
    #[must_use]
    pub fn with_example(mut self, example: impl Into<String>) -> Self {
        self.examples.push(example.into());
        self
    }
}

impl AgentCard {
    /// A card that takes and answers with text and JSON. It needs a skill.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        version: impl Into<String>,
    ) -> Self {
        let modes = || vec!["text/plain".to_owned(), "application/json".to_owned()];
        Self {
            name: name.into(),
            description: description.into(),
            supported_interfaces: Vec::new(),
            provider: None,
            version: version.into(),
            documentation_url: None,
            capabilities: AgentCapabilities::default(),
            default_input_modes: modes(),
            default_output_modes: modes(),
            security_schemes: BTreeMap::new(),
            security_requirements: Vec::new(),
            skills: Vec::new(),
            signatures: Vec::new(),
            icon_url: None,
        }
    }

    /// The card with a skill more.
    #[must_use]
    pub fn skill(mut self, skill: Skill) -> Self {
        self.skills.push(skill);
        self
    }

    /// The card with an interface more, for an agent that is reached under another address than
    /// the one it is bound to.
    #[must_use]
    pub fn interface(mut self, interface: AgentInterface) -> Self {
        self.supported_interfaces.push(interface);
        self
    }

    /// The card with a provider.
    #[must_use]
    pub fn provider(mut self, organization: impl Into<String>, url: impl Into<String>) -> Self {
        self.provider = Some(AgentProvider {
            url: url.into(),
            organization: organization.into(),
        });
        self
    }

    /// The card with a way to authenticate, under a name for [`AgentCard::requires`].
    #[must_use]
    pub fn security_scheme(mut self, name: impl Into<String>, scheme: SecurityScheme) -> Self {
        self.security_schemes.insert(name.into(), scheme);
        self
    }

    /// The card with one more thing that a caller can show; of several, one is enough.
    #[must_use]
    pub fn requires(mut self, requirement: SecurityRequirement) -> Self {
        self.security_requirements.push(requirement);
        self
    }

    /// The card with these media types that the agent takes.
    #[must_use]
    pub fn input_modes(mut self, modes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.default_input_modes = modes.into_iter().map(Into::into).collect();
        self
    }

    /// The card with these media types that the agent answers with.
    #[must_use]
    pub fn output_modes(mut self, modes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.default_output_modes = modes.into_iter().map(Into::into).collect();
        self
    }

    /// Checks that the card has what the specification requires of its author (section 4.4.1).
    /// Interfaces and capabilities are not checked: a server adds them.
    ///
    /// # Errors
    /// With the field, what it has and what it needs.
    pub fn check(&self) -> Result<(), CardError> {
        let texts = [
            ("name", &self.name),
            ("description", &self.description),
            ("version", &self.version),
        ];
        for (field, value) in texts {
            if value.trim().is_empty() {
                return Err(CardError::new(field, format!("{value:?}"), "a text"));
            }
        }
        let lists = [
            ("defaultInputModes", &self.default_input_modes),
            ("defaultOutputModes", &self.default_output_modes),
        ];
        for (field, modes) in lists {
            if modes.is_empty() {
                return Err(CardError::new(field, "[]", "at least one media type"));
            }
            if let Some(mode) = modes.iter().find(|mode| !is_media_type(mode)) {
                let found = format!("{mode:?}");
                return Err(CardError::new(
                    field,
                    found,
                    "media types such as text/plain",
                ));
            }
        }
        if self.skills.is_empty() {
            return Err(CardError::new(
                "skills",
                "[]",
                "at least one skill (AgentCard::skill adds one)",
            ));
        }
        for (index, skill) in self.skills.iter().enumerate() {
            skill.check(index)?;
            if self
                .skills
                .iter()
                .take(index)
                .any(|other| other.id == skill.id)
            {
                return Err(CardError::new(
                    format!("skills[{index}].id"),
                    format!("{:?}", skill.id),
                    "an id that no other skill has",
                ));
            }
        }
        for (index, interface) in self.supported_interfaces.iter().enumerate() {
            let at = |field: &str| format!("supportedInterfaces[{index}].{field}");
            if interface.protocol_binding.is_empty() {
                let allowed = "JSONRPC, HTTP+JSON, GRPC or an own binding's name";
                return Err(CardError::new(at("protocolBinding"), "\"\"", allowed));
            }
            if interface.protocol_version.is_empty() {
                return Err(CardError::new(at("protocolVersion"), "\"\"", "1.0"));
            }
        }
        self.check_security("", &self.security_requirements)?;
        for (index, skill) in self.skills.iter().enumerate() {
            self.check_security(&format!("skills[{index}]."), &skill.security_requirements)?;
        }
        Ok(())
    }

    fn check_security(
        &self,
        prefix: &str,
        requirements: &[SecurityRequirement],
    ) -> Result<(), CardError> {
        for (index, requirement) in requirements.iter().enumerate() {
            let mut names = requirement.schemes.keys();
            if let Some(name) = names.find(|name| !self.security_schemes.contains_key(*name)) {
                return Err(CardError::new(
                    format!("{prefix}securityRequirements[{index}]"),
                    format!("a requirement of {name:?}"),
                    "names that securitySchemes declares (AgentCard::security_scheme adds one)",
                ));
            }
        }
        Ok(())
    }
}

impl Skill {
    fn check(&self, index: usize) -> Result<(), CardError> {
        let texts = [
            ("id", &self.id),
            ("name", &self.name),
            ("description", &self.description),
        ];
        for (field, value) in texts {
            if value.trim().is_empty() {
                let field = format!("skills[{index}].{field}");
                return Err(CardError::new(field, format!("{value:?}"), "a text"));
            }
        }
        if self.tags.is_empty() {
            let field = format!("skills[{index}].tags");
            return Err(CardError::new(field, "[]", "at least one tag"));
        }
        Ok(())
    }
}

fn is_media_type(mode: &str) -> bool {
    let Some((kind, subtype)) = mode.split_once('/') else {
        return false;
    };
    let is_token = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_graphic() || byte == b' ')
    };
    is_token(kind) && is_token(subtype)
}

/// A card that lacks what the specification requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardError {
    field: String,
    found: String,
    expected: String,
}

impl CardError {
    /// The field at fault, what it has, and what it needs.
    pub fn new(
        field: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self {
            field: field.into(),
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// The field at fault, as the card spells it.
    pub fn field(&self) -> &str {
        &self.field
    }
}

impl fmt::Display for CardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the agent card's {} is {}; it needs {}",
            self.field, self.found, self.expected
        )
    }
}

impl std::error::Error for CardError {}

#[cfg(test)]
mod tests {
    use super::{AgentCard, SecurityRequirement, SecurityScheme, Skill};

    #[test]
    fn a_requirement_of_a_scheme_that_is_not_declared_is_an_error() {
        let card = AgentCard::new("a", "b", "1").skill(Skill::new("s", "s", "s"));
        let needed = SecurityRequirement::new("bearer", [] as [&str; 0]);
        let wrong = card.clone().requires(needed.clone());
        let error = wrong.check().unwrap_err();
        assert_eq!(error.field(), "securityRequirements[0]");
        assert!(error.to_string().contains("\"bearer\""), "{error}");

        let mut in_a_skill = card.clone();
        in_a_skill.skills[0].security_requirements.push(needed);
        let error = in_a_skill.check().unwrap_err();
        assert_eq!(error.field(), "skills[0].securityRequirements[0]");

        let right = wrong.security_scheme("bearer", SecurityScheme::http("Bearer"));
        assert!(right.check().is_ok());
    }

    #[test]
    fn a_card_without_security_says_nothing_of_it() {
        let card = AgentCard::new("a", "b", "1").skill(Skill::new("s", "s", "s"));
        let json = serde_json::to_string(&card).unwrap();
        assert!(
            !json.contains("security") && !json.contains("signatures"),
            "{json}"
        );
    }
}
