//! JSON-RPC of 0.3, at the same URL as that of 1.0.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Method, Request, Response};
use axum::middleware::Next;
use bytestring::ByteString;
use llamon_core::a2a::v03::{Form, MAX_DEPTH, Shape, downgrade, upgrade};
use llamon_core::a2a::{A2aError, ErrorCode};
use llamon_core::json::{ReadError, ReadErrorKind, Reader, string_token};

use super::super::{body, http, response};
use super::{Translator, reply, upgrade_head};

/// A method of 0.3, the same in 1.0, what it takes and what it answers with.
type MethodPair = (&'static str, &'static str, Shape, Shape);

const METHODS: [MethodPair; 9] = [
    (
        "message/send",
        "SendMessage",
        Shape::SendRequest,
        Shape::Event,
    ),
    (
        "message/stream",
        "SendStreamingMessage",
        Shape::SendRequest,
        Shape::Event,
    ),
    ("tasks/get", "GetTask", Shape::Same, Shape::Task),
    ("tasks/cancel", "CancelTask", Shape::Same, Shape::Task),
    (
        "tasks/resubscribe",
        "SubscribeToTask",
        Shape::Same,
        Shape::TaskEvent,
    ),
    (
        "tasks/pushNotificationConfig/set",
        "CreateTaskPushNotificationConfig",
        Shape::PushConfig,
        Shape::PushConfig,
    ),
    (
        "tasks/pushNotificationConfig/list",
        "ListTaskPushNotificationConfigs",
        Shape::PushConfigsRequest,
        Shape::PushConfigs,
    ),
    (
        "tasks/pushNotificationConfig/delete",
        "DeleteTaskPushNotificationConfig",
        Shape::PushConfigRequest,
        Shape::Nothing,
    ),
    (
        "agent/getAuthenticatedExtendedCard",
        "GetExtendedAgentCard",
        Shape::Same,
        Shape::Same,
    ),
];

const GET_PUSH: &str = "tasks/pushNotificationConfig/get";

/// Translates a call of 0.3; every other request passes.
pub(super) async fn call(
    State(translator): State<Arc<Translator>>,
    request: Request<Body>,
    next: Next,
) -> Response<Body> {
    let path = request.uri().path().strip_prefix(&*translator.prefix);
    let is_call = request.method() == Method::POST && matches!(path, Some("" | "/"));
    if !is_call || !http::is_v03(request.headers(), request.uri()) {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    if let Err(refused) = translator.authenticate(&mut parts).await {
        return super::super::jsonrpc::refusal("null", &refused);
    }
    let source = match body::read(body, translator.max_body_bytes).await {
        Ok(source) => source,
        Err(error) => return response(200, reply::JSON, failure("null", &error)),
    };
    upgrade_head(&mut parts);
    let call = match read(&source, translator.max_json_depth) {
        Ok(call) => call,
        // What is no call in either version is for the binding of 1.0 to explain.
        Err(Refused::NoCall) => Call {
            id: "null".to_owned(),
            body: source.to_string(),
            answer: Shape::Same,
        },
        Err(Refused::Error(id, error)) => {
            return response(200, reply::JSON, failure(&id, &error));
        }
    };
    let Call { id, body, answer } = call;
    let answered = next.run(Request::from_parts(parts, Body::from(body))).await;
    reply::translate(answered, move |text| {
        downgraded(text, answer).unwrap_or_else(|error| failure(&id, &error))
    })
    .await
}

struct Call {
    /// The id's JSON text.
    id: String,
    /// The call in 1.0.
    body: String,
    /// Of its result.
    answer: Shape,
}

enum Refused {
    NoCall,
    Error(String, A2aError),
}

impl From<ReadError> for Refused {
    fn from(_: ReadError) -> Self {
        Self::NoCall
    }
}

fn read(source: &ByteString, max_depth: u32) -> Result<Call, Refused> {
    let mut reader = Reader::of_str(source, max_depth);
    let mut id = "null".to_owned();
    let (mut method, mut params) = (None, None);
    // Everything but the method and its parameters.
    let mut envelope = String::from("{");
    let mut object = reader.object()?;
    while let Some(key) = reader.key(&mut object)? {
        match &*key {
            "method" if method.is_none() => method = Some(reader.string()?.into_owned()),
            "params" if params.is_none() => params = Some(reader.skip()?.of(source)),
            name => {
                let value = reader.skip()?.of(source);
                if name == "id" && !value.starts_with(['{', '[', 't', 'f']) {
                    value.clone_into(&mut id);
                }
                envelope.push_str(&format!("{}:{value},", string_token(name)));
            }
        }
    }
    reader.end()?;
    let method = method.ok_or(Refused::NoCall)?;
    let params = params.unwrap_or("{}");
    let pair = if method == GET_PUSH {
        Some(get_push(params))
    } else {
        METHODS.into_iter().find(|(old, ..)| *old == method)
    };
    let Some((_, new, takes, answer)) = pair else {
        return Err(Refused::Error(id, no_method(&method)));
    };
    let mut upgraded = String::with_capacity(params.len());
    let read = upgrade(
        &mut Reader::of_str(params, MAX_DEPTH),
        takes,
        Form::JsonRpc,
        &mut upgraded,
    );
    if let Err(error) = read {
        return Err(match error.kind() {
            ReadErrorKind::Syntax => Refused::NoCall,
            _ => Refused::Error(id, A2aError::of_params(&error)),
        });
    }
    let body = format!("{envelope}\"method\":\"{new}\",\"params\":{upgraded}}}");
    Ok(Call { id, body, answer })
}

/// In 0.3 the configuration's id may be left out.
fn get_push(params: &str) -> MethodPair {
    let mut named = false;
    let mut walk = || -> Result<(), ReadError> {
        let mut reader = Reader::of_str(params, MAX_DEPTH);
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            named |= key == "pushNotificationConfigId" && reader.peek() != Some(b'n');
            reader.skip()?;
        }
        Ok(())
    };
    // What is no object is found out where it is translated.
    let _ = walk();
    if named {
        let method = "GetTaskPushNotificationConfig";
        (
            GET_PUSH,
            method,
            Shape::PushConfigRequest,
            Shape::PushConfig,
        )
    } else {
        let method = "ListTaskPushNotificationConfigs";
        (
            GET_PUSH,
            method,
            Shape::PushConfigsRequest,
            Shape::FirstPushConfig,
        )
    }
}

fn no_method(method: &str) -> A2aError {
    let shown: String = method.chars().take(80).collect();
    let advice = "a request without the header A2A-Version is one of 0.3; send A2A-Version: 1.0 \
                  for the methods of 1.0";
    let names: Vec<&str> = METHODS.iter().map(|(old, ..)| *old).collect();
    A2aError::new(
        ErrorCode::MethodNotFound,
        format!(
            "there is no method {shown:?} in A2A 0.3; there are {}, {GET_PUSH}; {advice}",
            names.join(", ")
        ),
    )
}

/// An envelope of 1.0 with its result in 0.3; an error is the same in both.
fn downgraded(text: &str, answer: Shape) -> Result<String, A2aError> {
    let mut out = String::with_capacity(text.len() + 64);
    let mut walk = || -> Result<(), ReadError> {
        let mut reader = Reader::of_str(text, MAX_DEPTH);
        let mut object = reader.object()?;
        out.push('{');
        while let Some(key) = reader.key(&mut object)? {
            if !out.ends_with('{') {
                out.push(',');
            }
            out.push_str(&string_token(&key));
            out.push(':');
            if key == "result" {
                downgrade(&mut reader, answer, Form::JsonRpc, &mut out)?;
            } else {
                out.push_str(reader.skip()?.of(text));
            }
        }
        out.push('}');
        Ok(())
    };
    walk().map_err(|error| reply::no_answer(&error, answer))?;
    Ok(out)
}

fn failure(id: &str, error: &A2aError) -> String {
    let mut out = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":");
    error.write_jsonrpc(&mut out);
    out.push('}');
    out
}

#[cfg(test)]
mod tests {
    use super::{Refused, read};

    #[test]
    fn a_call_becomes_one_of_the_new_version() {
        let old = r#"{"params":{"id":"t"},"jsonrpc":"2.0","id":"\u0041","method":"tasks/get"}"#;
        let Ok(call) = read(&old.into(), 100) else {
            panic!("it is a call");
        };
        assert_eq!(
            call.body,
            r#"{"jsonrpc":"2.0","id":"\u0041","method":"GetTask","params":{"id":"t"}}"#
        );
        assert_eq!(call.id, r#""\u0041""#);
    }

    #[test]
    fn what_is_no_call_is_left_to_the_new_version() {
        for text in [
            "",
            "[]",
            "{",
            r#"{"id":1}"#,
            r#"{"method":7}"#,
            r#"{"method":"tasks/get"}x"#,
        ] {
            assert!(
                matches!(read(&text.into(), 100), Err(Refused::NoCall)),
                "{text}"
            );
        }
    }
}
