//! Answers in the forms of A2A 1.0.0, for whoever still expects them: the one place for all that
//! differs.

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::middleware::map_response;
use llamon_core::a2a::{A2aError, ErrorCode, MEDIA_TYPE};

/// In whose forms a server answers where A2A 1.0.0 and 1.0.1 differ.
///
/// | | 1.0.1 | 1.0.0 |
/// |---|---|---|
/// | REST's media type | `application/a2a+json` | `application/json` |
/// | HTTP status of TaskNotCancelable | 400 | 409 |
/// | HTTP status of ContentTypeNotSupported | 400 | 415 |
/// | HTTP status of InvalidAgentResponse | 500 | 502 |
/// | gRPC status of UnsupportedOperation, PushNotificationNotSupported and VersionNotSupported | FAILED_PRECONDITION | UNIMPLEMENTED |
///
/// Reasons, JSON-RPC and everything else are the same in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compat {
    /// The present one, 1.0.1.
    #[default]
    Current,
    /// As the public compatibility kit expects it, whose specification is 1.0.0.
    V1_0_0,
}

/// The error that a response says, in its extensions.
#[derive(Clone)]
pub(crate) struct Said(pub(crate) A2aError);

impl Compat {
    /// The routes, answering in these forms.
    pub(crate) fn apply(self, router: Router) -> Router {
        match self {
            Self::Current => router,
            Self::V1_0_0 => router.layer(map_response(as_1_0_0)),
        }
    }
}

async fn as_1_0_0(mut response: Response<Body>) -> Response<Body> {
    let said = response.extensions_mut().remove::<Said>();
    let media_type = response.headers().get(header::CONTENT_TYPE);
    let media_type = media_type.map(HeaderValue::as_bytes).unwrap_or_default();
    #[cfg(feature = "grpc")]
    if media_type == b"application/grpc" {
        return match said {
            Some(Said(error)) => with_grpc_code(response, &error),
            None => response,
        };
    }
    if media_type != MEDIA_TYPE.as_bytes() {
        return response;
    }
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    if let Some(Said(error)) = said
        && let Some(status) = http_status(error.code())
    {
        let mut body = String::new();
        error.write_rest_as(status.as_u16(), &mut body);
        response.headers_mut().remove(header::CONTENT_LENGTH);
        *response.status_mut() = status;
        *response.body_mut() = Body::from(body);
    }
    response
}

/// The HTTP status, where it was another one.
fn http_status(code: ErrorCode) -> Option<StatusCode> {
    match code {
        ErrorCode::TaskNotCancelable => Some(StatusCode::CONFLICT),
        ErrorCode::ContentTypeNotSupported => Some(StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ErrorCode::InvalidAgentResponse => Some(StatusCode::BAD_GATEWAY),
        _ => None,
    }
}

#[cfg(feature = "grpc")]
fn with_grpc_code(response: Response<Body>, error: &A2aError) -> Response<Body> {
    let changed = matches!(
        error.code(),
        ErrorCode::UnsupportedOperation
            | ErrorCode::PushNotificationNotSupported
            | ErrorCode::VersionNotSupported
    );
    if !changed {
        return response;
    }
    let status = llamon_grpc::status::with_code(tonic::Code::Unimplemented, error);
    let (head, _) = response.into_parts();
    let mut answer = status.into_http::<Body>();
    // What else the response says, such as the extensions that are active.
    for (name, value) in &head.headers {
        if !answer.headers().contains_key(name) {
            answer.headers_mut().insert(name, value.clone());
        }
    }
    answer
}
