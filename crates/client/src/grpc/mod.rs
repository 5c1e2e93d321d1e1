//! Calls over gRPC (A2A section 10).
//!
//! An answer is made to look as REST has it: inside, a part is its JSON text, and everything that
//! reads answers reads that.

mod answer;
mod failure;

use bytes::Bytes;
use llamon_core::Limits;
use llamon_core::a2a::{A2aError, Secrets, SendResult, StreamEvent, TaskView};
use llamon_core::json::ReadError;
use llamon_grpc::framing::frame;
use llamon_grpc::method::Method;
use llamon_grpc::{from_wire, status, to_wire, wire};
use tonic::Status;

use crate::binding::{Endpoint, Operation};
use crate::egress::{self, Body, Egress, Head, Request, Response};
use crate::error::ClientError;
use answer::Answer;

const MEDIA_TYPE: &str = "application/grpc";

/// The request for a call.
///
/// # Errors
/// When its message has a value that gRPC cannot carry.
pub(crate) fn request(endpoint: &Endpoint, operation: &Operation) -> Result<Request, ClientError> {
    let mut url = endpoint.url.clone();
    let path = method(operation).path();
    url.set_path(&format!("{}{path}", url.path().trim_end_matches('/')));
    Ok(Request {
        method: egress::Method::Post,
        url,
        version: llamon_core::a2a::ProtocolVersion::V1_0,
        accept: MEDIA_TYPE,
        headers: reqwest::header::HeaderMap::new(),
        body: Some(Body {
            media_type: MEDIA_TYPE,
            bytes: body(operation, &endpoint.tenant).map_err(|error| {
                ClientError::usage(format!("the message cannot be sent over gRPC: {error}"))
            })?,
        }),
    })
}

/// Sends a request and makes of its answer what REST would have answered with.
pub(crate) async fn send(
    egress: &Egress,
    operation: &Operation,
    request: &Request,
    limits: &Limits,
) -> Result<Response, ClientError> {
    let response = egress.send_http2(request).await?;
    let Some((head, response)) = response.into_received() else {
        return Err(ClientError::invalid_response("there was no answer"));
    };
    let answer = Answer::new(head, response, limits)?;
    match operation {
        Operation::Send(_) => {
            answer
                .unary(|found: wire::SendMessageResponse, limits| {
                    let event = match from_wire::send_message_response(found, limits)? {
                        SendResult::Task(task) => StreamEvent::Task(task),
                        SendResult::Message(message) => StreamEvent::Message(message),
                    };
                    Ok(json(|out| event.write(out, TaskView::FULL)))
                })
                .await
        }
        Operation::Get(_) | Operation::Cancel(_) => {
            answer
                .unary(|found: wire::Task, limits| {
                    let task = from_wire::task(found, limits)?;
                    Ok(json(|out| task.write(out, TaskView::FULL)))
                })
                .await
        }
        Operation::List(_) => {
            answer
                .unary(|found: wire::ListTasksResponse, limits| {
                    let page = from_wire::list_tasks_response(found, limits)?;
                    Ok(json(|out| page.write(out, TaskView::FULL)))
                })
                .await
        }
        Operation::CreatePush(_) | Operation::GetPush(_) => {
            answer
                .unary(|found: wire::TaskPushNotificationConfig, _| {
                    let config = from_wire::push_config(found)?;
                    Ok(json(|out| config.write(out, Secrets::Shown)))
                })
                .await
        }
        Operation::ListPush(_) => {
            answer
                .unary(|found: wire::ListTaskPushNotificationConfigsResponse, _| {
                    let page = from_wire::list_push_configs_response(found)?;
                    Ok(json(|out| page.write(out, Secrets::Shown)))
                })
                .await
        }
        Operation::DeletePush(_) => answer.unary(|(), _| Ok("{}".to_owned())).await,
        Operation::ExtendedCard => {
            answer
                .unary(|found: wire::AgentCard, _| from_wire::agent_card_json(&found))
                .await
        }
        Operation::Stream(_) | Operation::Subscribe(_) => answer.stream().await,
    }
}

fn method(operation: &Operation) -> Method {
    match operation {
        Operation::Send(_) => Method::SendMessage,
        Operation::Stream(_) => Method::SendStreamingMessage,
        Operation::Get(_) => Method::GetTask,
        Operation::List(_) => Method::ListTasks,
        Operation::Cancel(_) => Method::CancelTask,
        Operation::Subscribe(_) => Method::SubscribeToTask,
        Operation::CreatePush(_) => Method::CreateTaskPushNotificationConfig,
        Operation::GetPush(_) => Method::GetTaskPushNotificationConfig,
        Operation::ListPush(_) => Method::ListTaskPushNotificationConfigs,
        Operation::DeletePush(_) => Method::DeleteTaskPushNotificationConfig,
        Operation::ExtendedCard => Method::GetExtendedAgentCard,
    }
}

fn body(operation: &Operation, tenant: &str) -> Result<Bytes, ReadError> {
    Ok(match operation {
        Operation::Send(request) | Operation::Stream(request) => {
            frame(&to_wire::send_message_request(request, tenant)?)
        }
        Operation::Get(request) => frame(&to_wire::get_task_request(request, tenant)),
        Operation::List(request) => frame(&to_wire::list_tasks_request(request, tenant)),
        Operation::Cancel(id) => frame(&to_wire::cancel_task_request(id, tenant)),
        Operation::Subscribe(id) => frame(&to_wire::subscribe_to_task_request(id, tenant)),
        Operation::CreatePush(request) => {
            let mut wire = to_wire::push_config(request, Secrets::Shown);
            wire.tenant = tenant.to_owned();
            frame(&wire)
        }
        Operation::GetPush(request) => frame(&to_wire::get_push_config_request(request, tenant)),
        Operation::DeletePush(request) => {
            frame(&to_wire::delete_push_config_request(request, tenant))
        }
        Operation::ListPush(request) => frame(&to_wire::list_push_configs_request(request, tenant)),
        Operation::ExtendedCard => frame(&wire::GetExtendedAgentCardRequest {
            tenant: tenant.to_owned(),
        }),
    })
}

fn json(write: impl FnOnce(&mut String)) -> String {
    let mut out = String::new();
    write(&mut out);
    out
}

/// The protocol's error in a status, as REST has it; `None` where it is the transport's.
fn protocol_error(status: &Status) -> Option<(A2aError, String)> {
    let error = status::to_error(status)?;
    let text = json(|out| error.write_rest(out));
    Some((error, text))
}

fn event_stream(head: Head) -> Head {
    Head {
        media_type: "text/event-stream".to_owned(),
        ..head
    }
}
