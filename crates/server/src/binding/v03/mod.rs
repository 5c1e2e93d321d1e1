//! A2A 0.3 beside 1.0: a request of 0.3 becomes one of 1.0, which the other bindings serve, and
//! what they answer becomes an answer of 0.3. So both versions have the same operations, tasks and
//! limits. See `docs/adr/0010-how-0-3-is-spoken.md`.

mod jsonrpc;
mod reply;
mod rest;

use std::sync::Arc;

use axum::Router;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware;
use axum::routing::any;
use llamon_core::a2a::{EXTENSIONS_HEADER, VERSION_HEADER};

use super::gate::Refused;
use super::{Service, http};

/// What translating needs to know of its agent.
pub(super) struct Translator {
    /// Of the agent's paths; empty, or it begins with a slash.
    prefix: String,
    max_body_bytes: usize,
    max_json_depth: u32,
    service: Arc<Service>,
}

impl Translator {
    pub(super) fn new(prefix: &str, service: Arc<Service>) -> Self {
        let limits = service.handler.limits();
        Self {
            prefix: prefix.to_owned(),
            max_body_bytes: limits.max_body_bytes,
            max_json_depth: limits.max_json_depth,
            service,
        }
    }

    /// Asks who sent a request, before its body is read, and leaves the answer for the binding
    /// that serves it.
    async fn authenticate(&self, parts: &mut Parts) -> Result<(), Refused> {
        let gate = &self.service.gate;
        let caller = http::authenticate(gate, &parts.headers, &parts.extensions).await?;
        parts.extensions.insert(caller);
        Ok(())
    }
}

/// The routes of 1.0, and those of 0.3 on top of them.
pub(super) fn speak(router: Router, translator: Translator) -> Router {
    let path = format!("{}/v1/{{*rest}}", translator.prefix);
    let translator = Arc::new(translator);
    let rest = rest::Rest {
        inner: router.clone(),
        translator: Arc::clone(&translator),
    };
    let rest = Router::new()
        .route(&path, any(rest::call))
        .with_state(Arc::new(rest));
    router
        .layer(middleware::from_fn_with_state(translator, jsonrpc::call))
        .merge(rest)
}

/// The header of 0.3 that names extensions, in requests and answers.
const V03_EXTENSIONS_HEADER: HeaderName = HeaderName::from_static("x-a2a-extensions");

/// Makes a request's head one of 1.0, whose body has another length.
fn upgrade_head(parts: &mut Parts) {
    let version = HeaderValue::from_static(llamon_core::a2a::PROTOCOL_VERSION);
    parts.headers.insert(VERSION_HEADER, version);
    parts.headers.remove(header::CONTENT_LENGTH);
    let asked = parts.headers.get_all(V03_EXTENSIONS_HEADER).iter();
    for extensions in asked.cloned().collect::<Vec<_>>() {
        parts.headers.append(EXTENSIONS_HEADER, extensions);
    }
}
