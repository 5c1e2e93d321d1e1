use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, StatusCode, Version, header};
use llamon_core::a2a::{A2aError, ErrorCode, MEDIA_TYPE};

/// Why a request gets no further than the door.
#[derive(Debug)]
pub(super) struct Refusal {
    /// The HTTP status, which the protocol's errors do not have all of.
    status: u16,
    error: A2aError,
}

impl Refusal {
    pub(super) fn new(status: u16, code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            status,
            error: A2aError::new(code, message),
        }
    }

    /// What cannot be understood, or in more than one way (400).
    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::new(400, ErrorCode::InvalidRequest, message)
    }

    pub(super) fn into_response(self, request: &Request<Body>) -> Response<Body> {
        #[cfg(feature = "grpc")]
        if is_grpc(request) {
            return llamon_grpc::status::of_error(&self.error).into_http();
        }
        let mut body = String::new();
        self.error.write_rest_as(self.status, &mut body);
        let mut response = Response::new(Body::from(body));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_REQUEST);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        // Where the next request begins is not certain after one that has two meanings.
        if self.status == 400 && request.version() < Version::HTTP_2 {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

#[cfg(feature = "grpc")]
fn is_grpc(request: &Request<Body>) -> bool {
    let media_type = request.headers().get(header::CONTENT_TYPE);
    media_type.is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"))
}
