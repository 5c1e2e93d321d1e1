use axum::body::Body;
use axum::http::Response;
use llamon_core::a2a::{A2aError, ErrorCode};
use llamon_core::json::ReadError;
use llamon_grpc::status;
use tonic::{Code, Status};

use super::super::gate::Refused;
use crate::compat::Said;

/// An error on its way out.
pub(super) enum Failure {
    /// Of the protocol.
    A2a(A2aError),
    /// Of the transport.
    Transport(Status),
}

impl Failure {
    /// The client's time is over.
    pub(super) fn deadline() -> Self {
        let message = "the deadline of the call is over; a task that it began runs on";
        Self::Transport(Status::deadline_exceeded(message))
    }

    /// What could not be read of a body that may have `max` bytes.
    pub(super) fn of_body(status: Status, max: usize) -> Self {
        if status.code() != Code::OutOfRange {
            return Self::Transport(status);
        }
        Self::A2a(A2aError::new(
            ErrorCode::PayloadTooLarge,
            format!(
                "the message is larger than max_body_bytes allows, which is {max}; send files by \
                 url or raise the limit"
            ),
        ))
    }

    pub(super) fn into_response(self) -> Response<Body> {
        let said = match &self {
            Self::A2a(error) => Some(Said(error.clone())),
            Self::Transport(_) => None,
        };
        let mut response = self.into_status().into_http();
        if let Some(said) = said {
            response.extensions_mut().insert(said);
        }
        response
    }

    pub(super) fn into_status(self) -> Status {
        match self {
            Self::A2a(error) => status::of_error(&error),
            Self::Transport(status) => status,
        }
    }
}

impl From<A2aError> for Failure {
    fn from(error: A2aError) -> Self {
        Self::A2a(error)
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        let mut status = status::of_error(&refused.error);
        if let Some(challenge) = refused.challenge.and_then(|text| text.parse().ok()) {
            status.metadata_mut().insert("www-authenticate", challenge);
        }
        if let Some(seconds) = refused.retry_after {
            status.metadata_mut().insert("retry-after", seconds.into());
        }
        Self::Transport(status)
    }
}

/// The error of an answer with a value that gRPC cannot carry.
pub(super) fn no_form(error: &ReadError, task: Option<&str>) -> A2aError {
    let which = task.map_or_else(String::new, |id| format!(" of task {id}"));
    A2aError::new(
        ErrorCode::UnsupportedOperation,
        format!(
            "the answer{which} cannot be sent over gRPC; the task can be read over JSON-RPC or \
             REST: {error}"
        ),
    )
}
