//! Requests of 0.3.

use llamon_core::a2a::v03::{Form, MAX_DEPTH, downgrade};
use llamon_core::a2a::{AgentCard, ProtocolVersion};
use llamon_core::json::{Reader, string_token};
use reqwest::header::HeaderMap;

use super::answer::form;
use crate::binding::{Endpoint, Operation};
use crate::egress::{Body, Method, Request};
use crate::error::ClientError;
use crate::rest;

const JSON: &str = "application/json";
// An error comes as JSON also where a stream was asked for.
const STREAM_OR_JSON: &str = "text/event-stream, application/json";

/// The request for a call.
///
/// # Errors
/// When 0.3 has no such call, and when its message has what 0.3 cannot say.
pub(crate) fn request(endpoint: &Endpoint, operation: &Operation) -> Result<Request, ClientError> {
    let (method, url, body) = match form(endpoint.binding) {
        Form::JsonRpc => {
            let params = downgraded(operation, Form::JsonRpc)?;
            let name = name(operation)?;
            let body =
                format!(r#"{{"jsonrpc":"2.0","id":"1","method":"{name}","params":{params}}}"#);
            (Method::Post, endpoint.url.clone(), Some(body))
        }
        Form::Rest => {
            let (method, path) = match operation {
                Operation::ExtendedCard => (Method::Get, "/card".to_owned()),
                // The protobuf file says GET, as the official SDKs do.
                Operation::Subscribe(_) => (Method::Get, rest::route(operation)?.1),
                _ => rest::route(operation)?,
            };
            let url = rest::url(endpoint, &format!("/v1{path}"), &rest::query(operation))?;
            (method, url, rest_body(operation)?)
        }
    };
    Ok(Request {
        method,
        url,
        version: ProtocolVersion::V0_3,
        accept: if operation.is_stream() {
            STREAM_OR_JSON
        } else {
            JSON
        },
        headers: HeaderMap::new(),
        body: body.map(|body| Body {
            media_type: JSON,
            bytes: body.into(),
        }),
    })
}

/// Refuses to ask an agent for an extended card that it does not say it has.
pub(crate) fn check_extended_card(
    card: &AgentCard,
    endpoint: &Endpoint,
) -> Result<(), ClientError> {
    if endpoint.version == ProtocolVersion::V0_3 && !card.capabilities.extended_agent_card {
        return Err(ClientError::usage(
            "the agent speaks A2A 0.3 and its card does not say that there is an extended one (supportsAuthenticatedExtendedCard)",
        ));
    }
    Ok(())
}

/// The method of JSON-RPC.
fn name(operation: &Operation) -> Result<&'static str, ClientError> {
    Ok(match operation {
        Operation::Send(_) => "message/send",
        Operation::Stream(_) => "message/stream",
        Operation::Get(_) => "tasks/get",
        Operation::Cancel(_) => "tasks/cancel",
        Operation::Subscribe(_) => "tasks/resubscribe",
        Operation::CreatePush(_) => "tasks/pushNotificationConfig/set",
        Operation::GetPush(_) => "tasks/pushNotificationConfig/get",
        Operation::ListPush(_) => "tasks/pushNotificationConfig/list",
        Operation::DeletePush(_) => "tasks/pushNotificationConfig/delete",
        Operation::ExtendedCard => "agent/getAuthenticatedExtendedCard",
        Operation::List(_) => {
            return Err(ClientError::usage(
                "the agent speaks A2A 0.3 over JSONRPC, which has no list of tasks; get those whose ids you know, or use its HTTP+JSON interface if its card has one",
            ));
        }
    })
}

fn rest_body(operation: &Operation) -> Result<Option<String>, ClientError> {
    Ok(match operation {
        Operation::Send(_) | Operation::Stream(_) => Some(downgraded(operation, Form::Rest)?),
        Operation::CreatePush(request) => {
            let config = downgraded(operation, Form::Rest)?;
            let parent = string_token(&format!("tasks/{}", request.task_id));
            let id = request.config.id.as_deref().map_or_else(String::new, |id| {
                format!("\"configId\":{},", string_token(id))
            });
            Some(format!(r#"{{"parent":{parent},{id}"config":{config}}}"#))
        }
        Operation::Cancel(_) => Some("{}".to_owned()),
        _ => None,
    })
}

/// The operation's JSON in 0.3.
fn downgraded(operation: &Operation, form: Form) -> Result<String, ClientError> {
    let mut new = String::new();
    operation.write(&mut new);
    let mut old = String::with_capacity(new.len());
    let mut reader = Reader::of_str(&new, MAX_DEPTH);
    downgrade(&mut reader, super::takes(operation), form, &mut old).map_err(|error| {
        ClientError::usage(format!("the message cannot be sent in A2A 0.3: {error}"))
    })?;
    Ok(old)
}
