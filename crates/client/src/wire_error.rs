//! The error that an agent answered with.

use llamon_core::a2a::{A2aError, ErrorCode};
use llamon_core::json::{ReadError, Reader};

/// The protocol's error in `text`, if there is one. Both bindings have the same shape:
/// `{"error":{"code","message"}}` with the reason in `data[]` or `details[]`.
pub(crate) fn find_error(text: &str, status: u16, depth: u32) -> Option<A2aError> {
    let mut reader = Reader::of_str(text, depth);
    let fields = Fields::find(&mut reader).ok()??;
    Some(fields.into_error(status))
}

/// The error that `text` is, without anything around it: `{"message"}`, perhaps with `code`.
pub(crate) fn find_bare_error(text: &str, status: u16, depth: u32) -> Option<A2aError> {
    let fields = Fields::read(&mut Reader::of_str(text, depth)).ok()?;
    fields.message.is_some().then(|| fields.into_error(status))
}

#[derive(Default)]
struct Fields {
    code: Option<i64>,
    message: Option<String>,
    reason: Option<ErrorCode>,
}

impl Fields {
    fn find(reader: &mut Reader<'_>) -> Result<Option<Self>, ReadError> {
        let mut found = None;
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            if key == "error" && reader.peek() == Some(b'{') {
                found = Some(Self::read(reader)?);
            } else {
                reader.skip()?;
            }
        }
        Ok(found)
    }

    /// Whatever has an unexpected type is passed over: an odd error is still an error.
    fn read(reader: &mut Reader<'_>) -> Result<Self, ReadError> {
        let mut fields = Self::default();
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            match (&*key, reader.peek()) {
                ("code", _) => {
                    let span = reader.skip()?;
                    fields.code = span.of(reader.source()).parse().ok();
                }
                ("message", Some(b'"')) => fields.message = Some(reader.string()?.into_owned()),
                ("data" | "details", Some(b'[')) => fields.read_details(reader)?,
                ("data" | "details", Some(b'{')) => fields.read_detail(reader)?,
                _ => {
                    reader.skip()?;
                }
            }
        }
        Ok(fields)
    }

    fn read_details(&mut self, reader: &mut Reader<'_>) -> Result<(), ReadError> {
        let mut array = reader.array()?;
        while reader.element(&mut array)? {
            if reader.peek() == Some(b'{') {
                self.read_detail(reader)?;
            } else {
                reader.skip()?;
            }
        }
        Ok(())
    }

    fn read_detail(&mut self, reader: &mut Reader<'_>) -> Result<(), ReadError> {
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            if key == "reason" && reader.peek() == Some(b'"') {
                let code = ErrorCode::of_reason(&reader.string()?);
                self.reason = self.reason.or(code);
            } else {
                reader.skip()?;
            }
        }
        Ok(())
    }

    fn into_error(self, status: u16) -> A2aError {
        let message = self.message.unwrap_or_else(|| "no message".to_owned());
        let known = self.reason.or_else(|| match self.code {
            Some(code) if code < 0 => ErrorCode::of_jsonrpc(code),
            Some(code) => of_http(u16::try_from(code).unwrap_or(status)),
            None => of_http(status),
        });
        match (known, self.code) {
            (Some(code), _) => A2aError::new(code, message),
            (None, Some(code)) => {
                A2aError::new(ErrorCode::Internal, format!("{message} (code {code})"))
            }
            (None, None) => A2aError::new(ErrorCode::Internal, message),
        }
    }
}

/// The likeliest code of an A2A error without a reason. A route that does not exist has no such
/// body, so what is not found is the task.
fn of_http(status: u16) -> Option<ErrorCode> {
    Some(match status {
        400 => ErrorCode::InvalidParams,
        404 => ErrorCode::TaskNotFound,
        405 => ErrorCode::MethodNotFound,
        409 => ErrorCode::TaskNotCancelable,
        413 => ErrorCode::PayloadTooLarge,
        415 => ErrorCode::ContentTypeNotSupported,
        422 => ErrorCode::InvalidParams,
        429 | 503 => ErrorCode::Unavailable,
        500 => ErrorCode::Internal,
        501 => ErrorCode::UnsupportedOperation,
        502 => ErrorCode::InvalidAgentResponse,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use llamon_core::a2a::ErrorCode;

    use super::find_error;

    #[test]
    fn the_reason_wins_over_the_code() {
        let cases = [
            (
                r#"{"error":{"code":-32001,"message":"m"}}"#,
                200,
                ErrorCode::TaskNotFound,
            ),
            (
                r#"{"error":{"code":-32603,"message":"m","data":[{"reason":"UNAVAILABLE"}]}}"#,
                200,
                ErrorCode::Unavailable,
            ),
            (
                r#"{"error":{"code":-32603,"data":{"reason":"TASK_NOT_FOUND"}}}"#,
                200,
                ErrorCode::TaskNotFound,
            ),
            (
                r#"{"error":{"code":-32002,"data":[1e400,{"reason":"NEW_ONE"},{"reason":7}]}}"#,
                200,
                ErrorCode::TaskNotCancelable,
            ),
            (
                r#"{"error":{"code":-31999,"message":"m"}}"#,
                200,
                ErrorCode::Internal,
            ),
            (
                r#"{"error":{"code":400,"details":[{"reason":"VERSION_NOT_SUPPORTED"}]}}"#,
                400,
                ErrorCode::VersionNotSupported,
            ),
            (
                r#"{"error":{"code":404,"status":"NOT_FOUND"}}"#,
                404,
                ErrorCode::TaskNotFound,
            ),
            (r#"{"error":{}}"#, 413, ErrorCode::PayloadTooLarge),
        ];
        for (text, status, code) in cases {
            let error = find_error(text, status, 100).unwrap();
            assert_eq!(error.code(), code, "{text}");
        }
    }

    #[test]
    fn an_unknown_code_stays_visible() {
        let error = find_error(r#"{"error":{"code":-31999,"message":"m"}}"#, 200, 100).unwrap();
        assert_eq!(error.message(), "m (code -31999)");
    }

    #[test]
    fn what_is_no_error_is_none() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"error":"x"}"#,
            r#"{"error":null}"#,
            r#"{"error":{"#,
        ] {
            assert!(find_error(text, 200, 100).is_none(), "{text}");
        }
    }
}
