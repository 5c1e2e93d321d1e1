//! The agent card as it is served: bytes and validators, made once.

use std::sync::Arc;
use std::time::SystemTime;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use llamon_client::signing::SigningKey;
use llamon_core::a2a::{
    AgentCard, AgentInterface, BINDING_GRPC, BINDING_JSONRPC, BINDING_REST, ProtocolVersion, v03,
};

use crate::auth::Security;
use crate::auth::scopes::ScopeRules;
use crate::config_error::ConfigError;
use crate::handler::Streaming;

/// How long a client may use the card without asking again.
const CACHE_CONTROL: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// Whose fields the served card has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CardFields {
    /// Those of A2A 1.0.
    #[default]
    V1_0,
    /// Those of 0.3 as well (`url`, `protocolVersion`, `preferredTransport`,
    /// `additionalInterfaces`, `supportsAuthenticatedExtendedCard`), so that a client of 0.3 can
    /// read the card.
    AlsoV0_3,
}

/// A card's bytes with the headers that go with them. Everything in it comes from the card's
/// content and from the build, nothing from the start of the process and nothing from the policy.
#[derive(Clone, Debug)]
pub(crate) struct CardDocument {
    body: Bytes,
    etag: HeaderValue,
    last_modified: Option<HeaderValue>,
}

impl CardDocument {
    pub(crate) fn new(card: &AgentCard, fields: CardFields) -> Result<Self, ConfigError> {
        let json = match fields {
            CardFields::V1_0 => serde_json::to_vec(card),
            CardFields::AlsoV0_3 => {
                v03::with_old_fields(card).and_then(|card| serde_json::to_vec(&card))
            }
        };
        let json = json.map_err(|error| {
            ConfigError::card(format!("the agent card cannot be written as JSON: {error}"))
        })?;
        let etag = format!("\"{:016x}\"", fnv1a(&json));
        Ok(Self {
            body: json.into(),
            etag: HeaderValue::try_from(etag).map_err(|error| {
                ConfigError::card(format!("the agent card has no ETag: {error}"))
            })?,
            last_modified: build_time()
                .map(httpdate::fmt_http_date)
                .and_then(|date| HeaderValue::try_from(date).ok()),
        })
    }

    /// The card, or 304 where the client has this one already (RFC 9110, section 13.1.2).
    pub(crate) fn response(&self, headers: &HeaderMap) -> Response<Body> {
        let known = headers
            .get_all(header::IF_NONE_MATCH)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .map(|tag| tag.trim().trim_start_matches("W/"))
            .any(|tag| tag == "*" || tag.as_bytes() == self.etag.as_bytes());
        let mut response = if known {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        } else {
            let mut response = Response::new(Body::from(self.body.clone()));
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(header::CONTENT_TYPE, json);
            response
        };
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, CACHE_CONTROL);
        headers.insert(header::ETAG, self.etag.clone());
        if let Some(date) = &self.last_modified {
            headers.insert(header::LAST_MODIFIED, date.clone());
        }
        response
    }
}

/// The card with what the server knows better than its author: what it serves, and, where the
/// card names no interface, where.
pub(crate) fn complete(card: &AgentCard, facts: &Facts<'_>) -> Result<AgentCard, ConfigError> {
    let mut card = card.clone();
    card.capabilities.streaming = facts.streaming == Streaming::On;
    card.capabilities.push_notifications = facts.sends_push;
    card.capabilities.extended_agent_card = facts.extended;
    if let Some(security) = &facts.security {
        let of_card = facts.scopes.of_card(security.clone());
        card.security_schemes = of_card.schemes;
        card.security_requirements = of_card.requirements;
        for skill in &mut card.skills {
            skill.security_requirements = facts.scopes.of_skill(&skill.id, security);
        }
    }
    if card.supported_interfaces.is_empty() {
        let base_url = facts.base_url.ok_or_else(ConfigError::no_url)?;
        let places = [
            (Some(base_url), BINDING_JSONRPC),
            (Some(base_url), BINDING_REST),
            (facts.grpc_target, BINDING_GRPC),
        ];
        let none = [Arc::from("")];
        let tenants = if facts.tenants.is_empty() {
            &none
        } else {
            facts.tenants
        };
        for tenant in tenants {
            for (url, binding) in places {
                let Some(url) = url else { continue };
                let mut interface = AgentInterface::new(url, binding);
                tenant.as_ref().clone_into(&mut interface.tenant);
                card.supported_interfaces.push(interface);
            }
        }
        if facts.speaks_v03 {
            // After those of 1.0: a client that speaks both takes the first that it knows.
            for binding in [BINDING_JSONRPC, BINDING_REST] {
                let mut interface = AgentInterface::new(base_url, binding);
                let version = ProtocolVersion::V0_3.as_str();
                version.clone_into(&mut interface.protocol_version);
                card.supported_interfaces.push(interface);
            }
        }
    }
    Ok(card)
}

/// Signs a completed card (section 8.4). Without keys it stays as it is, with the signatures that
/// its author gave it.
pub(crate) fn sign(card: &mut AgentCard, keys: &[SigningKey]) -> Result<(), ConfigError> {
    if keys.is_empty() {
        return Ok(());
    }
    card.signatures = Vec::new();
    let json = serde_json::to_string(card).map_err(|error| {
        ConfigError::card(format!("the agent card cannot be written as JSON: {error}"))
    })?;
    for key in keys {
        let signatures = key
            .signatures(&json)
            .map_err(|error| ConfigError::card(format!("{error}; it cannot be signed")))?;
        card.signatures.extend(signatures);
    }
    Ok(())
}

/// What a server knows of itself that its card says.
pub(crate) struct Facts<'a> {
    pub(crate) base_url: Option<&'a str>,
    /// The tenants that requests must name.
    pub(crate) tenants: &'a [Arc<str>],
    pub(crate) streaming: Streaming,
    pub(crate) sends_push: bool,
    pub(crate) grpc_target: Option<&'a str>,
    /// Whether A2A 0.3 is spoken beside 1.0.
    pub(crate) speaks_v03: bool,
    /// Whether there is an extended card.
    pub(crate) extended: bool,
    /// What the authenticator says; `None` leaves to the card what something in front checks.
    pub(crate) security: Option<Security>,
    /// What callers need beside being known.
    pub(crate) scopes: &'a ScopeRules,
}

/// The card for callers that are known.
pub(crate) enum ExtendedCard {
    /// There is none, and the card says so.
    Absent,
    /// There is said to be one.
    Unset,
    Set(Box<AgentCard>),
}

/// When the running program was built, as its file says.
fn build_time() -> Option<SystemTime> {
    let program = std::env::current_exe().ok()?;
    std::fs::metadata(program).ok()?.modified().ok()
}

/// FNV-1a, 64 bits: tells versions of one card apart, which is no matter of security.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
