//! The bindings: HTTP in, an operation of the [`Handler`] out, and back. They translate and
//! nothing else; none of them sees a store.

mod body;
pub(crate) mod gate;
#[cfg(feature = "grpc")]
mod grpc;
mod http;
mod jsonrpc;
mod push;
mod rest;
mod sse;
mod v03;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use axum::middleware::{self, Next};
use axum::routing::{any, get, post};
use llamon_core::a2a::{A2aError, AgentCard, EXTENSIONS_HEADER, ErrorCode};

use crate::call::Call;
use crate::card::{CardDocument, ExtendedCard};
use crate::handler::Handler;
use gate::Gate;

#[cfg(feature = "grpc")]
pub(crate) use grpc::router as grpc_router;

/// One agent, as the bindings see it.
pub(crate) struct Service {
    pub(crate) handler: Arc<Handler>,
    pub(crate) card: CardDocument,
    pub(crate) gate: Gate,
    pub(crate) extended: ExtendedCard,
    /// Whether A2A 0.3 is spoken beside 1.0.
    pub(crate) speaks_v03: bool,
}

impl Service {
    /// GetExtendedAgentCard (section 3.1.11), for a call that was let in.
    ///
    /// # Errors
    /// UnsupportedOperation where the card does not declare it, ExtendedAgentCardNotConfigured
    /// where it declares what is not there.
    fn extended_card(&self, _call: &Call) -> Result<&AgentCard, A2aError> {
        match &self.extended {
            ExtendedCard::Set(card) => Ok(card),
            ExtendedCard::Unset => Err(A2aError::new(
                ErrorCode::ExtendedAgentCardNotConfigured,
                "this agent's extended card is not configured; its card is at \
                 /.well-known/agent-card.json",
            )),
            ExtendedCard::Absent => Err(A2aError::new(
                ErrorCode::UnsupportedOperation,
                "this agent has no extended card; its card is at /.well-known/agent-card.json",
            )),
        }
    }

    /// The same as JSON.
    fn extended_card_json(&self, call: &Call) -> Result<String, A2aError> {
        let json = serde_json::to_string(self.extended_card(call)?);
        json.map_err(|error| {
            tracing::error!(%error, "the extended card cannot be written");
            A2aError::internal()
        })
    }
}

/// The routes of one agent under `prefix`, which is empty or begins with a slash.
pub(crate) fn router(prefix: &str, service: Arc<Service>) -> Router {
    let at = |path: &str| format!("{prefix}{path}");
    let mut router = Router::new()
        .route(&at("/"), post(jsonrpc::call))
        .route(&at("/.well-known/agent-card.json"), get(card))
        .merge(rest_routes(prefix));
    if service.gate.has_tenants() {
        router = router.merge(rest_routes(&at("/{tenant}")));
    }
    if !prefix.is_empty() {
        router = router.route(prefix, post(jsonrpc::call));
    }
    let router = router
        .method_not_allowed_fallback(rest::method_not_allowed)
        .with_state(Arc::clone(&service));
    let router = with_extensions(router, Arc::clone(&service));
    if service.speaks_v03 {
        let translator = v03::Translator::new(prefix, service);
        return v03::speak(router, translator);
    }
    router
}

/// The routes, each answer naming the agent's extensions that its request asked for.
fn with_extensions(router: Router, service: Arc<Service>) -> Router {
    if service.gate.extensions.is_empty() {
        return router;
    }
    router.layer(middleware::from_fn_with_state(service, echo_extensions))
}

/// The paths of the operations in REST.
fn rest_routes(prefix: &str) -> Router<Arc<Service>> {
    let at = |path: &str| format!("{prefix}{path}");
    Router::new()
        .route(&at("/message:send"), post(rest::send))
        .route(&at("/message:stream"), post(rest::stream))
        .route(&at("/tasks"), get(rest::list))
        // A segment such as `7:cancel` is split by hand: the router knows no suffixes.
        .route(
            &at("/tasks/{task}"),
            get(rest::get_task).post(rest::post_task),
        )
        .route(
            &at("/tasks/{task}/pushNotificationConfigs"),
            any(rest::push_configs),
        )
        .route(
            &at("/tasks/{task}/pushNotificationConfigs/{config}"),
            any(rest::push_config),
        )
        .route(&at("/extendedAgentCard"), get(rest::extended_card))
}

/// Names the extensions that the client asked for and this agent has (section 4.6.2).
async fn echo_extensions(
    State(service): State<Arc<Service>>,
    request: Request<Body>,
    next: Next,
) -> Response<Body> {
    let active = (service.gate).active(&http::extension_values(request.headers()));
    let echo = active
        .echo()
        .and_then(|echo| HeaderValue::try_from(echo).ok());
    let mut response = next.run(request).await;
    if let Some(echo) = echo {
        response.headers_mut().insert(EXTENSIONS_HEADER, echo);
    }
    response
}

/// What every other path is answered with.
pub(crate) async fn not_found(method: Method, uri: axum::http::Uri) -> Response<Body> {
    rest::no_route(&method, uri.path())
}

/// The agent card (section 8.2), with validators.
async fn card(State(service): State<Arc<Service>>, headers: HeaderMap) -> Response<Body> {
    service.card.response(&headers)
}

/// A response with a body of one piece.
fn response(status: u16, media_type: &'static str, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
