//! What an agent of 0.3 answered, in 1.0.

use bytestring::ByteString;
use llamon_core::a2a::A2aError;
use llamon_core::a2a::v03::{Form, Shape, upgrade};
use llamon_core::json::{ReadError, Reader};

use crate::answer::in_envelope;
use crate::binding::{Binding, Operation};
use crate::wire_error::{find_bare_error, find_error};

/// How an answer of 0.3 is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    form: Form,
    shape: Shape,
}

impl Answer {
    pub(crate) fn new(binding: Binding, operation: &Operation) -> Self {
        Self {
            form: form(binding),
            shape: super::answers(operation),
        }
    }

    /// The value that `text` answers with, as REST of 1.0 has it.
    pub(crate) fn upgraded(self, text: &str, depth: u32) -> Result<ByteString, ReadError> {
        let mut reader = Reader::of_str(text, depth);
        let mut out = String::with_capacity(text.len());
        let mut value = |reader: &mut Reader<'_>| upgrade(reader, self.shape, self.form, &mut out);
        match self.form {
            Form::JsonRpc => in_envelope(&mut reader, value)?,
            Form::Rest => value(&mut reader)?,
        }
        reader.end()?;
        Ok(out.into())
    }

    /// The error in `text`, if there is one. REST has no form of its own for them in 0.3: besides
    /// that of 1.0 there are those of the official SDKs, an object with `message` and perhaps
    /// `code`, told apart by the HTTP status.
    pub(crate) fn find_error(self, text: &str, status: u16, depth: u32) -> Option<A2aError> {
        let found = find_error(text, status, depth);
        if found.is_some() || self.form == Form::JsonRpc || (200..300).contains(&status) {
            return found;
        }
        find_bare_error(text, status, depth)
    }
}

/// Only JSON-RPC and REST are spoken in 0.3.
pub(super) fn form(binding: Binding) -> Form {
    match binding {
        Binding::JsonRpc => Form::JsonRpc,
        _ => Form::Rest,
    }
}

#[cfg(test)]
mod tests {
    use llamon_core::a2a::ErrorCode;

    use super::Answer;
    use crate::binding::{Binding, Operation};

    #[test]
    fn errors_of_the_official_sdks_are_known_by_their_status() {
        let rest = Answer::new(Binding::Rest, &Operation::Cancel("t".into()));
        for (text, status, code) in [
            (r#"{"message":"m"}"#, 404, ErrorCode::TaskNotFound),
            (r#"{"message":"m"}"#, 409, ErrorCode::TaskNotCancelable),
            (r#"{"message":"m"}"#, 422, ErrorCode::InvalidParams),
            (r#"{"message":"m"}"#, 501, ErrorCode::UnsupportedOperation),
            (r#"{"message":"m"}"#, 500, ErrorCode::Internal),
            (
                r#"{"code":-32002,"message":"m"}"#,
                400,
                ErrorCode::TaskNotCancelable,
            ),
            (
                r#"{"error":"TaskNotFoundError","message":"m"}"#,
                404,
                ErrorCode::TaskNotFound,
            ),
            (
                r#"{"error":{"code":404,"message":"m"}}"#,
                404,
                ErrorCode::TaskNotFound,
            ),
        ] {
            let error = rest.find_error(text, status, 100).unwrap();
            assert_eq!(
                (error.code(), error.message()),
                (code, "m"),
                "{text} {status}"
            );
        }
        for (text, status) in [
            (r#"{"message":"m"}"#, 200),
            (r#"{"message":{}}"#, 404),
            (r#"{"detail":"Not Found"}"#, 404),
            ("Not Found", 404),
        ] {
            assert!(rest.find_error(text, status, 100).is_none(), "{text}");
        }
    }
}
