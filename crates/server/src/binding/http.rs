//! What the HTTP bindings tell the [`Gate`] of a request, and how they pass on its refusals.

use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, OptionalFromRequestParts, Path};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderValue, Response, Uri, header};
use llamon_client::trace::{TRACEPARENT_HEADER, TRACESTATE_HEADER, TraceContext};
use llamon_core::a2a::{A2aError, EXTENSIONS_HEADER, ErrorCode, ProtocolVersion, VERSION_HEADER};
use serde::Deserialize;

use super::Service;
use super::gate::{Caller, Gate, Parameters, Refused};
use super::rest::Failure;
use crate::auth::RequestHead;
use crate::auth::scopes::Wanted;
use crate::call::Call;

/// A request's head, from somebody who was asked who they are.
pub(super) struct Head {
    pub(super) names: Names,
    pub(super) headers: HeaderMap,
    pub(super) uri: Uri,
    caller: Caller,
}

/// What the path names.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Names {
    pub(super) tenant: Option<String>,
    task: Option<String>,
    config: Option<String>,
}

impl Names {
    pub(super) fn task(&self) -> &str {
        self.task.as_deref().unwrap_or_default()
    }

    pub(super) fn config(&self) -> &str {
        self.config.as_deref().unwrap_or_default()
    }
}

impl FromRequestParts<std::sync::Arc<Service>> for Head {
    type Rejection = Failure;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &std::sync::Arc<Service>,
    ) -> Result<Self, Failure> {
        let caller = authenticate(&service.gate, &parts.headers, &parts.extensions).await?;
        let names: Result<Option<Path<Names>>, _> =
            <Path<Names> as OptionalFromRequestParts<_>>::from_request_parts(parts, service).await;
        let names = names.map_err(|rejection: PathRejection| {
            // A path whose percent-encoding is no text.
            let message = format!("the path cannot be read: {}", rejection.body_text());
            A2aError::new(ErrorCode::InvalidParams, message)
        })?;
        Ok(Self {
            names: names.map(|Path(names)| names).unwrap_or_default(),
            headers: parts.headers.clone(),
            uri: parts.uri.clone(),
            caller,
        })
    }
}

impl Head {
    /// Lets the request in; `tenant` is what stands in its body or query.
    pub(super) fn enter(
        self,
        gate: &Gate,
        parameters: Parameters,
        tenant: Option<&str>,
        wanted: Wanted<'_>,
    ) -> Result<Call, Refused> {
        let in_path = self.names.tenant.as_deref();
        gate.enter(self.caller, parameters, in_path, tenant, wanted)
    }
}

/// Who sent a request. Where a translator in front has asked already, it is not asked again.
pub(super) async fn authenticate(
    gate: &Gate,
    headers: &HeaderMap,
    extensions: &Extensions,
) -> Result<Caller, Refused> {
    if let Some(caller) = extensions.get::<Caller>() {
        return Ok(caller.clone());
    }
    let head = RequestHead::new(headers, extensions);
    gate.authenticate(&head).await
}

/// What a request asks of the protocol: header `A2A-Version` or the query parameter of that name,
/// and header `A2A-Extensions`.
pub(super) fn parameters(
    gate: &Gate,
    headers: &HeaderMap,
    uri: &Uri,
) -> Result<Parameters, A2aError> {
    let version = headers.get(VERSION_HEADER).map(HeaderValue::as_bytes);
    let version = version.map(String::from_utf8_lossy);
    let version = gate.version(version.as_deref().or_else(|| version_in_query(uri)))?;
    let extensions = gate.extensions(&extension_values(headers))?;
    Ok(Parameters {
        version,
        extensions,
        trace: trace(headers),
    })
}

/// The trace that the caller works in (W3C Trace Context); none where its headers are not right or
/// there are several parents.
fn trace(headers: &HeaderMap) -> Option<TraceContext> {
    let mut parents = headers.get_all(TRACEPARENT_HEADER).iter();
    let parent = parents.next()?.to_str().ok()?;
    if parents.next().is_some() {
        return None;
    }
    // A list may be spread over several headers.
    let states = headers.get_all(TRACESTATE_HEADER).iter();
    let states: Result<Vec<&str>, _> = states.map(HeaderValue::to_str).collect();
    TraceContext::parse(
        parent,
        states.ok().map(|states| states.join(",")).as_deref(),
    )
}

/// The values of `A2A-Extensions`, each of which may hold several.
pub(super) fn extension_values(headers: &HeaderMap) -> Vec<&str> {
    let values = headers.get_all(EXTENSIONS_HEADER).iter();
    values.filter_map(|value| value.to_str().ok()).collect()
}

/// Adds the challenge that a refusal comes with.
pub(super) fn put_challenge<B>(response: &mut Response<B>, challenge: Option<&str>) {
    let Some(challenge) = challenge else { return };
    match HeaderValue::try_from(challenge) {
        Ok(value) => {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, value);
        }
        Err(_) => tracing::error!(
            "the authenticator's challenge cannot stand in a header, so the refusal has none"
        ),
    }
}

/// When to come again where nobody knows, in seconds.
pub(super) const SOON: u64 = 1;

/// Adds when to come again, where a refusal knows it.
pub(super) fn put_retry_after<B>(response: &mut Response<B>, seconds: Option<u64>) {
    if let Some(seconds) = seconds {
        let value = HeaderValue::from(seconds);
        response.headers_mut().insert(header::RETRY_AFTER, value);
    }
}

/// Whether a request asks for A2A 0.3, which one that names no version does.
pub(super) fn is_v03(headers: &HeaderMap, uri: &Uri) -> bool {
    let version = headers.get(VERSION_HEADER).map(HeaderValue::as_bytes);
    let version = version.map(String::from_utf8_lossy);
    let version = version.as_deref().or_else(|| version_in_query(uri));
    ProtocolVersion::parse(version.unwrap_or_default()) == Some(ProtocolVersion::V0_3)
}

fn version_in_query(uri: &Uri) -> Option<&str> {
    let pairs = uri.query()?.split('&');
    let mut values = pairs.filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.eq_ignore_ascii_case(VERSION_HEADER).then_some(value)
    });
    values.next()
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue, Uri};

    use super::super::gate::Gate;
    use super::parameters;
    use crate::auth::scopes::ScopeRules;

    #[test]
    fn the_version_is_the_headers_or_the_querys() {
        let gate = Gate {
            authenticator: None,
            scopes: ScopeRules::default(),
            rates: None,
            tenants: Vec::new(),
            extensions: Vec::new(),
        };
        for (header, uri, expected) in [
            (Some("1.0"), "/", true),
            (Some(" 1.0 "), "/", true),
            (None, "/?A2A-Version=1.0", true),
            (None, "/?x=1&a2a-version=1.0", true),
            (None, "/", false),
            (Some(""), "/?A2A-Version=1.0", false),
            (Some("0.3"), "/?A2A-Version=1.0", false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert("a2a-version", HeaderValue::from_static(header));
            }
            let read = parameters(&gate, &headers, &Uri::from_static(uri));
            assert_eq!(read.is_ok(), expected, "{header:?} {uri}");
        }
    }
}
