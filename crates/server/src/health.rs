//! `/healthz` and `/readyz`, for whoever starts, watches and replaces the process.

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;

use crate::handler::Handler;

/// The first segments of the paths that are answered here.
pub(crate) const PATHS: [&str; 2] = ["healthz", "readyz"];

/// `GET /healthz` says that the process answers at all, `GET /readyz` whether all its agents take
/// messages: not while the server stops, nor when a store cannot be written.
pub(crate) fn routes(handlers: Vec<Arc<Handler>>) -> Router {
    let ready = move || {
        let handlers = handlers.clone();
        async move {
            for handler in handlers {
                if let Err(reason) = handler.ready().await {
                    tracing::warn!(reason, "not ready");
                    return (StatusCode::SERVICE_UNAVAILABLE, "not ready\n");
                }
            }
            (StatusCode::OK, "ready\n")
        }
    };
    Router::new()
        .route("/healthz", get(|| async { "alive\n" }))
        .route("/readyz", get(ready))
}
