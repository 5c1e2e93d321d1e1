//! The bindings: HTTP in, an operation of the [`Handler`] out, and back. They translate and
//! nothing else; none of them sees a store.

mod body;
#[cfg(feature = "grpc")]
mod grpc;
mod jsonrpc;
mod push;
mod rest;
mod sse;
mod version;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use axum::middleware::{self, Next};
use axum::routing::{any, get, post};

use crate::builder::IDEMPOTENT_MESSAGES_URI;
use crate::card::CardDocument;
use crate::handler::{Acceptance, Handler};

#[cfg(feature = "grpc")]
pub(crate) use grpc::router as grpc_router;

const EXTENSIONS_HEADER: &str = "a2a-extensions";

/// One agent, as the bindings see it.
pub(crate) struct Service {
    pub(crate) handler: Arc<Handler>,
    pub(crate) card: CardDocument,
    /// URIs of the extensions on the card.
    pub(crate) extensions: Arc<[String]>,
}

/// The routes of one agent under `prefix`, which is empty or begins with a slash.
pub(crate) fn router(prefix: &str, service: Arc<Service>) -> Router {
    let at = |path: &str| format!("{prefix}{path}");
    let mut router = Router::new()
        .route(&at("/"), post(jsonrpc::call))
        .route(&at("/.well-known/agent-card.json"), get(card))
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
        .route(&at("/extendedAgentCard"), get(rest::extended_card));
    if !prefix.is_empty() {
        router = router.route(prefix, post(jsonrpc::call));
    }
    let extensions = Arc::clone(&service.extensions);
    let router = router
        .method_not_allowed_fallback(rest::method_not_allowed)
        .with_state(service);
    with_extensions(router, extensions)
}

/// The routes, each answer naming the agent's extensions that its request asked for.
fn with_extensions(router: Router, extensions: Arc<[String]>) -> Router {
    if extensions.is_empty() {
        return router;
    }
    router.layer(middleware::from_fn_with_state(extensions, echo_extensions))
}

/// Names the extensions that the client asked for and this agent has (section 4.6.2).
async fn echo_extensions(
    State(extensions): State<Arc<[String]>>,
    request: Request<Body>,
    next: Next,
) -> Response<Body> {
    let asked: Vec<&str> = asked_extensions(request.headers()).collect();
    let active: Vec<&str> = extensions
        .iter()
        .map(String::as_str)
        .filter(|known| asked.contains(known))
        .collect();
    let echo = HeaderValue::try_from(active.join(", ")).ok();
    let echo = echo.filter(|echo| !echo.is_empty());
    let mut response = next.run(request).await;
    if let Some(echo) = echo {
        response.headers_mut().insert(EXTENSIONS_HEADER, echo);
    }
    response
}

/// URIs of the extensions that a client asks for.
fn asked_extensions(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(EXTENSIONS_HEADER).iter();
    let values = values.filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

impl Service {
    /// Whether a message of this request is accepted again if it came before.
    fn acceptance(&self, headers: &HeaderMap) -> Acceptance {
        let is_it = |uri: &str| uri == IDEMPOTENT_MESSAGES_URI;
        let offered = self.extensions.iter().any(|uri| is_it(uri));
        if offered && asked_extensions(headers).any(is_it) {
            Acceptance::Once
        } else {
            Acceptance::Always
        }
    }
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
