//! gRPC (section 10): protobuf in, an operation of the handler out, and back.

mod answer;
mod failure;
mod request;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Request, Response, StatusCode, Version};
use axum::routing::any;
use llamon_core::a2a::{A2aError, Secrets, SendResult};
use llamon_core::json::ReadError;
use llamon_grpc::method::Method;
use llamon_grpc::{from_wire, to_wire, wire};
use tokio::time::Instant;
use tonic::Status;

use super::{Service, http};
use crate::auth::Operation;
use crate::auth::scopes::Wanted;
use crate::push::push_not_supported;
use crate::view;
use answer::{stream, unary};
use failure::Failure;
use request::{content_type, read, timeout};

const ROUTE: &str = "/lf.a2a.v1.A2AService/{method}";

/// The routes of one agent's service.
pub(crate) fn router(service: Arc<Service>) -> Router {
    let router = Router::new().route(ROUTE, any(call));
    super::with_extensions(router.with_state(Arc::clone(&service)), service)
}

async fn call(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    request: Request<Body>,
) -> Response<Body> {
    if request.version() != Version::HTTP_2 {
        return plain(StatusCode::UPGRADE_REQUIRED, "gRPC needs HTTP/2");
    }
    if let Err(found) = content_type(request.headers()) {
        let text = format!("the Content-Type is {found:?}; gRPC has application/grpc");
        return plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, &text);
    }
    let Some(method) = Method::of_name(&name) else {
        let shown: String = name.chars().take(80).collect();
        return Status::unimplemented(format!("A2A 1.0 has no method {shown:?}")).into_http();
    };
    let Ok(limit) = timeout(request.headers()) else {
        return Status::invalid_argument("the header grpc-timeout is none").into_http();
    };
    let deadline = limit.map(|limit| Instant::now() + limit);
    let answer = run(&service, method, request, deadline);
    let answer = match deadline {
        // A task that the call began runs on.
        Some(at) => tokio::time::timeout_at(at, answer)
            .await
            .unwrap_or_else(|_| Err(Failure::deadline())),
        None => answer.await,
    };
    answer.unwrap_or_else(Failure::into_response)
}

/// Reads the request, calls the handler and writes its answer.
async fn run(
    service: &Service,
    method: Method,
    request: Request<Body>,
    deadline: Option<Instant>,
) -> Result<Response<Body>, Failure> {
    let (head, body) = request.into_parts();
    let gate = &service.gate;
    let caller = http::authenticate(gate, &head.headers, &head.extensions).await?;
    let parameters = http::parameters(gate, &head.headers, &head.uri)?;
    let enter = |tenant: &Option<String>, wanted: Wanted<'_>| {
        gate.enter(caller, parameters, None, tenant.as_deref(), wanted)
    };
    let handler = &service.handler;
    let limits = handler.limits();
    let max = limits.max_body_bytes;
    match method {
        Method::SendMessage => {
            let request = from_wire::send_message_request(read(body, max).await?, limits);
            let request = params(request)?;
            let view = view::of_send(&request);
            let call = enter(
                &request.tenant,
                Wanted::send(Operation::SendMessage, &request.message),
            )?;
            let result = handler.send(&call, request).await?;
            let task = match &result {
                SendResult::Task(task) => Some(&*task.id),
                SendResult::Message(_) => None,
            };
            unary(formed(to_wire::send_message_response(&result, view), task)?)
        }
        Method::SendStreamingMessage => {
            let request = from_wire::send_message_request(read(body, max).await?, limits);
            let request = params(request)?;
            let view = view::of_send(&request);
            let call = enter(
                &request.tenant,
                Wanted::send(Operation::SendStreamingMessage, &request.message),
            )?;
            let feed = handler.stream(&call, request).await?;
            Ok(stream(feed, view, deadline))
        }
        Method::GetTask => {
            let request = params(from_wire::get_task_request(read(body, max).await?))?;
            let call = enter(&request.tenant, Operation::GetTask.into())?;
            let task = handler.get(&call.scope, &request).await?;
            let answer = to_wire::task(&task, view::of_task(&request));
            unary(formed(answer, Some(&task.id))?)
        }
        Method::ListTasks => {
            let request = params(from_wire::list_tasks_request(read(body, max).await?))?;
            let call = enter(&request.tenant, Operation::ListTasks.into())?;
            let page = handler.list(&call.scope, &request).await?;
            let answer = to_wire::list_tasks_response(&page, view::of_list(&request));
            unary(formed(answer, None)?)
        }
        Method::CancelTask => {
            let request = params(from_wire::cancel_task_request(read(body, max).await?))?;
            let call = enter(&request.tenant, Operation::CancelTask.into())?;
            let task = handler.cancel(&call.scope, &request).await?;
            let answer = to_wire::task(&task, view::of_task(&request));
            unary(formed(answer, Some(&task.id))?)
        }
        Method::SubscribeToTask => {
            let request = params(from_wire::subscribe_to_task_request(read(body, max).await?))?;
            let call = enter(&request.tenant, Operation::SubscribeToTask.into())?;
            let feed = handler.subscribe(&call.scope, &request).await?;
            Ok(stream(feed, view::of_task(&request), deadline))
        }
        Method::GetExtendedAgentCard => {
            let request = read::<wire::GetExtendedAgentCardRequest>(body, max).await?;
            let tenant = Some(request.tenant).filter(|tenant| !tenant.is_empty());
            let call = enter(&tenant, Operation::GetExtendedAgentCard.into())?;
            let card = to_wire::agent_card(service.extended_card(&call)?);
            unary(formed(card, None)?)
        }
        _ if !handler.sends_push() => Err(push_not_supported().into()),
        Method::CreateTaskPushNotificationConfig => {
            let request = params(from_wire::push_config(read(body, max).await?))?;
            let call = enter(
                &request.tenant,
                Operation::CreateTaskPushNotificationConfig.into(),
            )?;
            let created = handler.create_push(&call.scope, request).await?;
            unary(to_wire::push_config(&created, Secrets::Hidden))
        }
        Method::GetTaskPushNotificationConfig => {
            let request = params(from_wire::get_push_config_request(read(body, max).await?))?;
            let call = enter(
                &request.tenant,
                Operation::GetTaskPushNotificationConfig.into(),
            )?;
            let found = handler.get_push(&call.scope, request).await?;
            unary(to_wire::push_config(&found, Secrets::Hidden))
        }
        Method::ListTaskPushNotificationConfigs => {
            let request = params(from_wire::list_push_configs_request(read(body, max).await?))?;
            let call = enter(
                &request.tenant,
                Operation::ListTaskPushNotificationConfigs.into(),
            )?;
            let page = handler.list_push(&call.scope, &request).await?;
            unary(to_wire::list_push_configs_response(&page, Secrets::Hidden))
        }
        Method::DeleteTaskPushNotificationConfig => {
            let request = params(from_wire::delete_push_config_request(
                read(body, max).await?,
            ))?;
            let call = enter(
                &request.tenant,
                Operation::DeleteTaskPushNotificationConfig.into(),
            )?;
            handler.delete_push(&call.scope, &request).await?;
            unary(())
        }
    }
}

fn params<T>(read: Result<T, ReadError>) -> Result<T, A2aError> {
    read.map_err(|error| A2aError::of_params(&error))
}

/// An answer, unless it holds what gRPC cannot carry.
fn formed<T>(answer: Result<T, ReadError>, task: Option<&str>) -> Result<T, A2aError> {
    answer.map_err(|error| failure::no_form(&error, task))
}

/// What a client that does not speak gRPC is answered with.
fn plain(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(text.to_owned()));
    *response.status_mut() = status;
    response
}
