use std::error::Error as _;

use llamon_core::a2a::{A2aError, ErrorCode};
use tonic::{Code, Status};

use crate::error::ClientError;

/// The error of a call whose status is the transport's and not the protocol's.
pub(super) fn of_transport(status: &Status, url: &str, max: usize) -> ClientError {
    let said = status.message();
    if let Some(cause) = lost(status) {
        return ClientError::from(crate::egress::EgressError::disconnected(format!(
            "the connection to {url} ended before the whole answer had arrived: {cause}"
        )));
    }
    match status.code() {
        Code::DeadlineExceeded => {
            ClientError::timeout(format!("{url} gave up at the call's deadline: {said}"))
        }
        Code::Unavailable => ClientError::of_protocol(A2aError::new(ErrorCode::Unavailable, said)),
        Code::Unauthenticated | Code::PermissionDenied => ClientError::invalid_response(format!(
            "{url} asks for credentials (gRPC {:?}): {said}",
            status.code()
        )),
        Code::OutOfRange => ClientError::invalid_response(format!(
            "the answer of {url} is larger than {max} bytes, four times the limit max_body_bytes; \
             raise that limit if the answer is wanted"
        )),
        code => ClientError::invalid_response(format!(
            "{url} answered with the gRPC status {code:?}: {said}"
        )),
    }
}

/// What the connection was lost by, where that is the reason of a status.
pub(super) fn lost(status: &Status) -> Option<String> {
    let mut cause = status.source()?;
    while let Some(source) = cause.source() {
        cause = source;
    }
    Some(cause.to_string())
}
