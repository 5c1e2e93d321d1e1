//! Errors of the protocol as gRPC statuses, and back (section 10.6).

use llamon_core::a2a::{A2aError, ErrorCode};
use prost::Message as _;
use tonic::{Code, Status};

use crate::wire::{Any, ErrorInfo, RpcStatus};

/// `domain` of the `google.rpc.ErrorInfo`.
const ERROR_DOMAIN: &str = "a2a-protocol.org";
const ERROR_INFO_TYPE: &str = "type.googleapis.com/google.rpc.ErrorInfo";
/// Bytes of a message at most. It is written twice into trailers, of which common clients take
/// 8 KiB, and there a byte can need three.
const MAX_MESSAGE_BYTES: usize = 1024;

/// The status of an error: its code, its text, and in the details a `google.rpc.ErrorInfo`.
pub fn of_error(error: &A2aError) -> Status {
    with_code(code(error.code()), error)
}

/// The same under another code than the specification's.
pub fn with_code(code: Code, error: &A2aError) -> Status {
    let message = shortened(error.message());
    let info = ErrorInfo {
        reason: error.code().reason().to_owned(),
        domain: ERROR_DOMAIN.to_owned(),
    };
    let details = RpcStatus {
        code: code as i32,
        message: message.to_owned(),
        details: vec![Any {
            type_url: ERROR_INFO_TYPE.to_owned(),
            value: info.encode_to_vec().into(),
        }],
    };
    Status::with_details(code, message, details.encode_to_vec().into())
}

/// The error that a status says: by the reason in its details, or else by its code.
///
/// `None` where the status is of the transport and not of the protocol: `CANCELLED`,
/// `DEADLINE_EXCEEDED`, and `UNAVAILABLE`, `UNKNOWN` or `INTERNAL` without a reason.
pub fn to_error(status: &Status) -> Option<A2aError> {
    let code = reason(status).or(match status.code() {
        Code::NotFound => Some(ErrorCode::TaskNotFound),
        Code::FailedPrecondition | Code::Unimplemented => Some(ErrorCode::UnsupportedOperation),
        Code::InvalidArgument => Some(ErrorCode::InvalidParams),
        Code::ResourceExhausted => Some(ErrorCode::Unavailable),
        _ => None,
    });
    code.map(|code| A2aError::new(code, status.message()))
}

/// The code of gRPC, which core knows by its name.
fn code(code: ErrorCode) -> Code {
    match code.status() {
        "NOT_FOUND" => Code::NotFound,
        "FAILED_PRECONDITION" => Code::FailedPrecondition,
        "INVALID_ARGUMENT" => Code::InvalidArgument,
        "UNIMPLEMENTED" => Code::Unimplemented,
        "UNAVAILABLE" => Code::Unavailable,
        "RESOURCE_EXHAUSTED" => Code::ResourceExhausted,
        "UNAUTHENTICATED" => Code::Unauthenticated,
        "PERMISSION_DENIED" => Code::PermissionDenied,
        _ => Code::Internal,
    }
}

fn reason(status: &Status) -> Option<ErrorCode> {
    let details = RpcStatus::decode(status.details()).ok()?.details;
    details
        .iter()
        .filter(|any| any.type_url.ends_with("/google.rpc.ErrorInfo"))
        .filter_map(|any| ErrorInfo::decode(any.value.clone()).ok())
        .find_map(|info| ErrorCode::of_reason(&info.reason))
}

fn shortened(message: &str) -> &str {
    let end = message.floor_char_boundary(MAX_MESSAGE_BYTES);
    message.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use llamon_core::a2a::{A2aError, ErrorCode};
    use tonic::{Code, Status};

    use super::{MAX_MESSAGE_BYTES, of_error, to_error};

    #[test]
    fn every_error_of_the_specification_has_its_code_and_comes_back() {
        let table = [
            (ErrorCode::TaskNotFound, Code::NotFound),
            (ErrorCode::TaskNotCancelable, Code::FailedPrecondition),
            (
                ErrorCode::PushNotificationNotSupported,
                Code::FailedPrecondition,
            ),
            (ErrorCode::UnsupportedOperation, Code::FailedPrecondition),
            (ErrorCode::ContentTypeNotSupported, Code::InvalidArgument),
            (ErrorCode::InvalidAgentResponse, Code::Internal),
            (
                ErrorCode::ExtendedAgentCardNotConfigured,
                Code::FailedPrecondition,
            ),
            (
                ErrorCode::ExtensionSupportRequired,
                Code::FailedPrecondition,
            ),
            (ErrorCode::VersionNotSupported, Code::FailedPrecondition),
            (ErrorCode::InvalidParams, Code::InvalidArgument),
            (ErrorCode::Internal, Code::Internal),
            (ErrorCode::Unavailable, Code::Unavailable),
            (ErrorCode::PayloadTooLarge, Code::ResourceExhausted),
        ];
        for (error, code) in table {
            let error = A2aError::new(error, "why: 과제");
            let status = of_error(&error);
            assert_eq!(status.code(), code, "{error}");
            assert_eq!(to_error(&status), Some(error));
        }
    }

    #[test]
    fn a_long_message_is_cut_at_a_character() {
        let error = A2aError::new(ErrorCode::Internal, "과".repeat(5_000));
        let status = of_error(&error);
        assert!(status.message().len() <= MAX_MESSAGE_BYTES);
        assert!(status.message().chars().all(|c| c == '과'));
    }

    #[test]
    fn a_status_without_details_is_told_by_its_code() {
        let known = to_error(&Status::not_found("x")).map(|error| error.code());
        assert_eq!(known, Some(ErrorCode::TaskNotFound));
        assert_eq!(to_error(&Status::unavailable("x")), None);
        assert_eq!(to_error(&Status::cancelled("x")), None);
        let torn = Status::with_details(Code::Internal, "x", b"\xff\xff"[..].into());
        assert_eq!(to_error(&torn), None);
    }
}
