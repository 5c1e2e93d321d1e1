//! The agent card. Its JSON is what ProtoJSON makes of these messages, so it is converted by serde.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::value;

/// An agent's description of itself (section 4.4.1).
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentCard {
    /// The agent's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "1")]
    pub name: String,
    /// What it does.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "2")]
    pub description: String,
    /// How it is reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[prost(message, repeated, tag = "3")]
    pub supported_interfaces: Vec<AgentInterface>,
    /// Who offers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[prost(message, optional, tag = "4")]
    pub provider: Option<AgentProvider>,
    /// Its own version.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "5")]
    pub version: String,
    /// Where its documentation is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[prost(string, optional, tag = "6")]
    pub documentation_url: Option<String>,
    /// What of the protocol it supports.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[prost(message, optional, tag = "7")]
    pub capabilities: Option<AgentCapabilities>,
    /// How callers can authenticate themselves.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[prost(btree_map = "string, message", tag = "8")]
    pub security_schemes: BTreeMap<String, SecurityScheme>,
    /// How they must.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[prost(message, repeated, tag = "9")]
    pub security_requirements: Vec<SecurityRequirement>,
    /// Media types that it takes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[prost(string, repeated, tag = "10")]
    pub default_input_modes: Vec<String>,
    /// Media types that it answers with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[prost(string, repeated, tag = "11")]
    pub default_output_modes: Vec<String>,
    /// What it can do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[prost(message, repeated, tag = "12")]
    pub skills: Vec<AgentSkill>,
    /// Who vouches for the card.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[prost(message, repeated, tag = "13")]
    pub signatures: Vec<AgentCardSignature>,
    /// Where its icon is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[prost(string, optional, tag = "14")]
    pub icon_url: Option<String>,
}

/// A way to reach an agent (section 4.4.6).
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentInterface {
    /// Where.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "1")]
    pub url: String,
    /// In which binding.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "2")]
    pub protocol_binding: String,
    /// The tenant that requests name.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "3")]
    pub tenant: String,
    /// The protocol's version.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "4")]
    pub protocol_version: String,
}

/// Who offers an agent (section 4.4.2).
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentProvider {
    /// Where the provider is.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "1")]
    pub url: String,
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "2")]
    pub organization: String,
}

/// What of the protocol an agent supports (section 4.4.3).
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentCapabilities {
    /// Streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[prost(bool, optional, tag = "1")]
    pub streaming: Option<bool>,
    /// Push notifications.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[prost(bool, optional, tag = "2")]
    pub push_notifications: Option<bool>,
    /// Extensions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[prost(message, repeated, tag = "3")]
    pub extensions: Vec<AgentExtension>,
    /// Another card for known callers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[prost(bool, optional, tag = "4")]
    pub extended_agent_card: Option<bool>,
}

/// An extension of the protocol (section 4.4.4).
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentExtension {
    /// Which one.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "1")]
    pub uri: String,
    /// How it is used.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "2")]
    pub description: String,
    /// Whether a client must support it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[prost(bool, tag = "3")]
    pub required: bool,
    /// A `google.protobuf.Struct`.
    #[serde(with = "struct_as_json", skip_serializing_if = "Option::is_none")]
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub params: Option<Bytes>,
}

/// Something that an agent can do (section 4.4.5).
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentSkill {
    /// Unique within the card.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "1")]
    pub id: String,
    /// A name for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "2")]
    pub name: String,
    /// What it does.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "3")]
    pub description: String,
    /// Words to find it by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[prost(string, repeated, tag = "4")]
    pub tags: Vec<String>,
    /// What to ask.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[prost(string, repeated, tag = "5")]
    pub examples: Vec<String>,
    /// Media types that it takes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[prost(string, repeated, tag = "6")]
    pub input_modes: Vec<String>,
    /// Media types that it answers with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[prost(string, repeated, tag = "7")]
    pub output_modes: Vec<String>,
    /// How callers must authenticate themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[prost(message, repeated, tag = "8")]
    pub security_requirements: Vec<SecurityRequirement>,
}

/// A signature of a card (section 4.4.7).
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentCardSignature {
    /// The protected header, base64url.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "1")]
    pub protected: String,
    /// The signature, base64url.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "2")]
    pub signature: String,
    /// A `google.protobuf.Struct`.
    #[serde(with = "struct_as_json", skip_serializing_if = "Option::is_none")]
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub header: Option<Bytes>,
}

/// A list of strings.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StringList {
    /// The strings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[prost(string, repeated, tag = "1")]
    pub list: Vec<String>,
}

/// Schemes that are needed together (section 4.5).
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SecurityRequirement {
    /// Each with the scopes that it needs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[prost(btree_map = "string, message", tag = "1")]
    pub schemes: BTreeMap<String, StringList>,
}

/// A way to authenticate (section 4.5.1).
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SecurityScheme {
    /// Which one.
    #[prost(oneof = "SecuritySchemeKind", tags = "1, 2, 3, 4, 5")]
    #[serde(flatten)]
    pub scheme: Option<SecuritySchemeKind>,
}

/// What is in a [`SecurityScheme`].
#[derive(Clone, PartialEq, Eq, prost::Oneof, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SecuritySchemeKind {
    /// A key of an API.
    #[prost(message, tag = "1")]
    ApiKeySecurityScheme(ApiKeySecurityScheme),
    /// The `Authorization` header.
    #[prost(message, tag = "2")]
    HttpAuthSecurityScheme(HttpAuthSecurityScheme),
    /// OAuth 2.0.
    #[prost(message, tag = "3")]
    Oauth2SecurityScheme(OAuth2SecurityScheme),
    /// OpenID Connect.
    #[prost(message, tag = "4")]
    OpenIdConnectSecurityScheme(OpenIdConnectSecurityScheme),
    /// A client's certificate.
    #[prost(message, tag = "5")]
    MtlsSecurityScheme(MutualTlsSecurityScheme),
}

/// A key of an API (section 4.5.2).
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiKeySecurityScheme {
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "1")]
    pub description: String,
    /// `query`, `header` or `cookie`.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "2")]
    pub location: String,
    /// Its name there.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "3")]
    pub name: String,
}

/// The `Authorization` header (section 4.5.3).
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpAuthSecurityScheme {
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "1")]
    pub description: String,
    /// Its scheme.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "2")]
    pub scheme: String,
    /// What a bearer token is.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "3")]
    pub bearer_format: String,
}

/// OAuth 2.0 (section 4.5.4).
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OAuth2SecurityScheme {
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "1")]
    pub description: String,
    /// Its flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[prost(message, optional, tag = "2")]
    pub flows: Option<OAuthFlows>,
    /// Where its metadata is.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "3")]
    pub oauth2_metadata_url: String,
}

/// OpenID Connect (section 4.5.5).
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OpenIdConnectSecurityScheme {
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "1")]
    pub description: String,
    /// Where its metadata is.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "2")]
    pub open_id_connect_url: String,
}

/// A client's certificate (section 4.5.6).
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MutualTlsSecurityScheme {
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "1")]
    pub description: String,
}

/// A flow of OAuth 2.0 (section 4.5.7).
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OAuthFlows {
    /// Which one.
    #[prost(oneof = "OAuthFlow", tags = "1, 2, 3, 4, 5")]
    #[serde(flatten)]
    pub flow: Option<OAuthFlow>,
}

/// What is in [`OAuthFlows`].
#[derive(Clone, PartialEq, Eq, prost::Oneof, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OAuthFlow {
    /// With a code.
    #[prost(message, tag = "1")]
    AuthorizationCode(AuthorizationCodeOAuthFlow),
    /// With the client's own credentials.
    #[prost(message, tag = "2")]
    ClientCredentials(ClientCredentialsOAuthFlow),
    /// Deprecated.
    #[prost(message, tag = "3")]
    Implicit(ImplicitOAuthFlow),
    /// Deprecated.
    #[prost(message, tag = "4")]
    Password(PasswordOAuthFlow),
    /// For devices.
    #[prost(message, tag = "5")]
    DeviceCode(DeviceCodeOAuthFlow),
}

/// OAuth 2.0 with a code (section 4.5.8).
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuthorizationCodeOAuthFlow {
    /// Where to authorize.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "1")]
    pub authorization_url: String,
    /// Where tokens are.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "2")]
    pub token_url: String,
    /// Where they are renewed.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "3")]
    pub refresh_url: String,
    /// Scopes and what they mean.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[prost(btree_map = "string, string", tag = "4")]
    pub scopes: BTreeMap<String, String>,
    /// Whether PKCE is needed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[prost(bool, tag = "5")]
    pub pkce_required: bool,
}

/// OAuth 2.0 with the client's own credentials (section 4.5.9).
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientCredentialsOAuthFlow {
    /// Where tokens are.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "1")]
    pub token_url: String,
    /// Where they are renewed.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "2")]
    pub refresh_url: String,
    /// Scopes and what they mean.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[prost(btree_map = "string, string", tag = "3")]
    pub scopes: BTreeMap<String, String>,
}

/// Deprecated.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ImplicitOAuthFlow {
    /// Where to authorize.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "1")]
    pub authorization_url: String,
    /// Where tokens are renewed.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "2")]
    pub refresh_url: String,
    /// Scopes and what they mean.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[prost(btree_map = "string, string", tag = "3")]
    pub scopes: BTreeMap<String, String>,
}

/// Deprecated.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PasswordOAuthFlow {
    /// Where tokens are.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "1")]
    pub token_url: String,
    /// Where they are renewed.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "2")]
    pub refresh_url: String,
    /// Scopes and what they mean.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[prost(btree_map = "string, string", tag = "3")]
    pub scopes: BTreeMap<String, String>,
}

/// OAuth 2.0 for devices (section 4.5.10).
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceCodeOAuthFlow {
    /// Where to authorize.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "1")]
    pub device_authorization_url: String,
    /// Where tokens are.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "2")]
    pub token_url: String,
    /// Where they are renewed.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[prost(string, tag = "3")]
    pub refresh_url: String,
    /// Scopes and what they mean.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[prost(btree_map = "string, string", tag = "4")]
    pub scopes: BTreeMap<String, String>,
}

/// A `google.protobuf.Struct` as the JSON object that it says.
mod struct_as_json {
    use bytes::Bytes;
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
    use serde_json::value::RawValue;

    use super::value;

    pub(super) fn serialize<S: Serializer>(
        bytes: &Option<Bytes>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let Some(bytes) = bytes else {
            return serializer.serialize_none();
        };
        let depth = llamon_core::Limits::default().max_json_depth;
        let json = value::struct_to_json(bytes, depth).map_err(S::Error::custom)?;
        let raw = RawValue::from_string(json).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Bytes>, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        if raw.get() == "null" {
            return Ok(None);
        }
        let bytes = value::struct_of_json(raw.get()).map_err(D::Error::custom)?;
        Ok(Some(bytes))
    }
}
