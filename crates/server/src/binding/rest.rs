//! REST, `HTTP+JSON` (section 11).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, Method, Response, Uri, header};
use bytestring::ByteString;
use llamon_core::a2a::{
    A2aError, ErrorCode, ExtendedCardRequest, ListPushConfigsRequest, ListTasksRequest, MEDIA_TYPE,
    PushConfig, PushConfigRequest, SendMessageRequest, StreamEvent, TaskPushConfig, TaskRequest,
    TaskView,
};
use llamon_core::json::{Reader, check_syntax};
use percent_encoding::percent_decode_str;

use super::gate::{Parameters, Refused};
use super::http::Head;
use super::push::PushCall;
use super::{Service, body, http, sse};
use crate::auth::Operation;
use crate::auth::scopes::Wanted;
use crate::call::Call;
use crate::compat::Said;
use crate::push::push_not_supported;
use crate::view;

type Reply = Result<Response<Body>, Failure>;

/// An error on its way out.
pub(super) struct Failure {
    error: A2aError,
    /// The methods that the path takes, where the request's is none of them.
    allow: Option<&'static str>,
    /// How the caller can say who it is.
    challenge: Option<String>,
    /// When the same request can succeed, in seconds.
    retry_after: Option<u64>,
}

impl From<A2aError> for Failure {
    fn from(error: A2aError) -> Self {
        Refused::from(error).into()
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        Self {
            error: refused.error,
            allow: None,
            challenge: refused.challenge,
            retry_after: refused.retry_after,
        }
    }
}

impl axum::response::IntoResponse for Failure {
    fn into_response(self) -> Response<Body> {
        let mut response = failure(&self.error);
        if let Some(allow) = self.allow {
            let allow = HeaderValue::from_static(allow);
            response.headers_mut().insert(header::ALLOW, allow);
        }
        http::put_challenge(&mut response, self.challenge.as_deref());
        http::put_retry_after(&mut response, self.retry_after);
        response
    }
}

/// `POST /message:send`
pub(super) async fn send(State(service): State<Arc<Service>>, head: Head, body: Body) -> Reply {
    let (call, request) = enter_send(&service, head, body, Operation::SendMessage).await?;
    let view = view::of_send(&request);
    let result = service.handler.send(&call, request).await?;
    Ok(success(|out| view::write_send_result(&result, view, out)))
}

/// `POST /message:stream`
pub(super) async fn stream(State(service): State<Arc<Service>>, head: Head, body: Body) -> Reply {
    let (call, request) = enter_send(&service, head, body, Operation::SendStreamingMessage).await?;
    let view = view::of_send(&request);
    let feed = service.handler.stream(&call, request).await?;
    Ok(sse::response(feed, Frame(view)))
}

/// `GET /tasks`
pub(super) async fn list(State(service): State<Arc<Service>>, head: Head) -> Reply {
    let parameters = parameters(&service, &head)?;
    let mut request = ListTasksRequest::default();
    for (name, value) in query(&head.uri)? {
        request
            .set(&name, &value)
            .map_err(|error| A2aError::of_params(&error))?;
    }
    let call = head.enter(
        &service.gate,
        parameters,
        request.tenant.as_deref(),
        Operation::ListTasks.into(),
    )?;
    let page = service.handler.list(&call.scope, &request).await?;
    Ok(success(|out| page.write(out, view::of_list(&request))))
}

/// `GET /tasks/{id}` and `GET /tasks/{id}:subscribe`
pub(super) async fn get_task(State(service): State<Arc<Service>>, head: Head) -> Reply {
    let parameters = parameters(&service, &head)?;
    match head.names.task().rsplit_once(':') {
        Some((id, "subscribe")) => {
            let request = task_request(id, &head.uri)?;
            subscribe(&service, head, parameters, request).await
        }
        Some((_, "cancel")) => Err(Failure {
            allow: Some("POST"),
            ..wrong_method(&Method::GET, head.uri.path()).into()
        }),
        _ => {
            let request = task_request(head.names.task(), &head.uri)?;
            let call = head.enter(
                &service.gate,
                parameters,
                request.tenant.as_deref(),
                Operation::GetTask.into(),
            )?;
            let task = service.handler.get(&call.scope, &request).await?;
            Ok(success(|out| task.write(out, view::of_task(&request))))
        }
    }
}

/// `POST /tasks/{id}:cancel` and `POST /tasks/{id}:subscribe`; the body may be empty.
pub(super) async fn post_task(
    State(service): State<Arc<Service>>,
    head: Head,
    body: Body,
) -> Reply {
    let limits = service.handler.limits();
    let text = body::read(body, limits.max_body_bytes).await?;
    let named = read_tenant(&text, limits.max_json_depth)?;
    let parameters = parameters(&service, &head)?;
    match head.names.task().rsplit_once(':') {
        Some((id, "subscribe")) => {
            let mut request = task_request(id, &head.uri)?;
            request.tenant = named.or(request.tenant);
            subscribe(&service, head, parameters, request).await
        }
        Some((id, "cancel")) => {
            let mut request = task_request(id, &head.uri)?;
            request.tenant = named.or(request.tenant);
            let call = head.enter(
                &service.gate,
                parameters,
                request.tenant.as_deref(),
                Operation::CancelTask.into(),
            )?;
            let task = service.handler.cancel(&call.scope, &request).await?;
            Ok(success(|out| task.write(out, view::of_task(&request))))
        }
        _ => Err(Failure {
            allow: Some("GET,HEAD"),
            ..wrong_method(&Method::POST, head.uri.path()).into()
        }),
    }
}

async fn subscribe(
    service: &Service,
    head: Head,
    parameters: Parameters,
    request: TaskRequest,
) -> Reply {
    let call = head.enter(
        &service.gate,
        parameters,
        request.tenant.as_deref(),
        Operation::SubscribeToTask.into(),
    )?;
    let feed = service.handler.subscribe(&call.scope, &request).await?;
    Ok(sse::response(feed, Frame(view::of_task(&request))))
}

/// `POST` and `GET /tasks/{id}/pushNotificationConfigs`
pub(super) async fn push_configs(
    State(service): State<Arc<Service>>,
    method: Method,
    head: Head,
    body: Body,
) -> Reply {
    let parameters = parameters_of_push(&service, &head)?;
    let call = match method {
        Method::POST => PushCall::Create(read_push_config(&service, &head, body).await?),
        Method::GET | Method::HEAD => {
            let mut request = ListPushConfigsRequest::new(head.names.task());
            for (name, value) in query(&head.uri)? {
                let set = request.set(&name, &value);
                set.map_err(|error| A2aError::of_params(&error))?;
            }
            PushCall::List(request)
        }
        other => {
            return Err(Failure {
                allow: Some("GET,HEAD,POST"),
                ..wrong_method(&other, head.uri.path()).into()
            });
        }
    };
    run_push(&service, head, parameters, call).await
}

/// `GET` and `DELETE /tasks/{id}/pushNotificationConfigs/{configId}`
pub(super) async fn push_config(
    State(service): State<Arc<Service>>,
    method: Method,
    head: Head,
) -> Reply {
    let parameters = parameters_of_push(&service, &head)?;
    let mut request = PushConfigRequest::new(head.names.task(), head.names.config());
    request.tenant = tenant_in_query(&head.uri)?;
    let call = match method {
        Method::GET | Method::HEAD => PushCall::Get(request),
        Method::DELETE => PushCall::Delete(request),
        other => {
            return Err(Failure {
                allow: Some("GET,HEAD,DELETE"),
                ..wrong_method(&other, head.uri.path()).into()
            });
        }
    };
    run_push(&service, head, parameters, call).await
}

fn parameters_of_push(service: &Service, head: &Head) -> Result<Parameters, A2aError> {
    let parameters = parameters(service, head)?;
    if service.handler.sends_push() {
        Ok(parameters)
    } else {
        Err(push_not_supported())
    }
}

async fn run_push(service: &Service, head: Head, parameters: Parameters, push: PushCall) -> Reply {
    let wanted = push.operation().into();
    let call = head.enter(&service.gate, parameters, push.tenant(), wanted)?;
    let answer = push.run(&service.handler, &call.scope).await?;
    Ok(success(|out| out.push_str(&answer)))
}

/// `GET /extendedAgentCard`
pub(super) async fn extended_card(State(service): State<Arc<Service>>, head: Head) -> Reply {
    let parameters = parameters(&service, &head)?;
    let tenant = tenant_in_query(&head.uri)?;
    let call = head.enter(
        &service.gate,
        parameters,
        tenant.as_deref(),
        Operation::GetExtendedAgentCard.into(),
    )?;
    let card = service.extended_card_json(&call)?;
    let mut response = success(|out| out.push_str(&card));
    // It is for this caller, who may keep it for a while (section 13.3).
    let headers = response.headers_mut();
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("private, max-age=300"),
    );
    Ok(response)
}

/// A path that exists, with a method that it does not take.
pub(super) async fn method_not_allowed(method: Method, uri: Uri) -> Response<Body> {
    failure(&wrong_method(&method, uri.path()))
}

pub(super) fn no_route(method: &Method, path: &str) -> Response<Body> {
    let shown: String = path.chars().take(120).collect();
    failure(&A2aError::new(
        ErrorCode::MethodNotFound,
        format!("there is nothing at {method} {shown}; the agent card names the agent's URLs"),
    ))
}

fn wrong_method(method: &Method, path: &str) -> A2aError {
    let shown: String = path.chars().take(120).collect();
    A2aError::new(
        ErrorCode::MethodNotAllowed,
        format!("{shown} does not take {method}"),
    )
}

struct Frame(TaskView);

impl sse::Frame for Frame {
    fn event(&self, event: &StreamEvent, out: &mut String) {
        event.write(out, self.0);
    }

    fn error(&self, error: &A2aError, out: &mut String) {
        error.write_rest(out);
    }
}

fn success(write: impl FnOnce(&mut String)) -> Response<Body> {
    let mut out = String::with_capacity(512);
    write(&mut out);
    super::response(200, MEDIA_TYPE, out)
}

fn failure(error: &A2aError) -> Response<Body> {
    let mut out = String::new();
    error.write_rest(&mut out);
    let mut response = super::response(error.code().http(), MEDIA_TYPE, out);
    response.extensions_mut().insert(Said(error.clone()));
    if error.is_temporary() {
        http::put_retry_after(&mut response, Some(http::SOON));
    }
    response
}

// === reading ===

/// Reads a message and lets it in.
async fn enter_send(
    service: &Service,
    head: Head,
    body: Body,
    operation: Operation,
) -> Result<(Call, SendMessageRequest), Failure> {
    let limits = service.handler.limits();
    let source = body::read(body, limits.max_body_bytes).await?;
    body::check_media_type(&head.headers)?;
    let parameters = parameters(service, &head)?;
    let mut reader = Reader::of_str(&source, limits.max_json_depth);
    let read = SendMessageRequest::read(&mut reader, &source, limits)
        .and_then(|request| reader.end().map(|()| request));
    let request = read.map_err(|error| {
        // A text that is no JSON is that first of all.
        let error = check_syntax(&source).err().unwrap_or(error);
        A2aError::of_params(&error)
    })?;
    let wanted = Wanted::send(operation, &request.message);
    let tenant = request.tenant.as_deref();
    let call = head.enter(&service.gate, parameters, tenant, wanted)?;
    Ok((call, request))
}

async fn read_push_config(
    service: &Service,
    head: &Head,
    body: Body,
) -> Result<TaskPushConfig, A2aError> {
    let limits = service.handler.limits();
    let source = body::read(body, limits.max_body_bytes).await?;
    body::check_media_type(&head.headers)?;
    let mut reader = Reader::of_str(&source, limits.max_json_depth);
    let read = PushConfig::read(&mut reader).and_then(|read| reader.end().map(|()| read));
    let (config, place) = read.map_err(|error| {
        let error = check_syntax(&source).err().unwrap_or(error);
        A2aError::of_params(&error)
    })?;
    let task_id = head.names.task();
    if place.task_id.is_some_and(|named| *named != *task_id) {
        return Err(A2aError::new(
            ErrorCode::InvalidParams,
            "taskId: is not the task in the path; send that one or none",
        ));
    }
    let mut request = TaskPushConfig::new(task_id, config);
    request.tenant = place.tenant;
    Ok(request)
}

/// What a request asks of the protocol.
fn parameters(service: &Service, head: &Head) -> Result<Parameters, A2aError> {
    http::parameters(&service.gate, &head.headers, &head.uri)
}

/// The tenant in a body that may be empty.
fn read_tenant(text: &ByteString, max_depth: u32) -> Result<Option<String>, A2aError> {
    let mut reader = Reader::of_str(text, max_depth);
    if reader.peek().is_none() {
        return Ok(None);
    }
    let mut read = || {
        if reader.peek() != Some(b'{') {
            return Err(reader.wrong_type("an object or nothing"));
        }
        let request = ExtendedCardRequest::read(&mut reader)?;
        reader.end().map(|()| request.tenant)
    };
    read().map_err(|error| A2aError::of_params(&error))
}

/// The tenant in the query, for a request that has no body.
fn tenant_in_query(uri: &Uri) -> Result<Option<String>, A2aError> {
    let pairs = query(uri)?.into_iter();
    let mut tenants = pairs.filter(|(name, value)| name == "tenant" && !value.is_empty());
    Ok(tenants.next().map(|(_, value)| value))
}

fn task_request(id: &str, uri: &Uri) -> Result<TaskRequest, A2aError> {
    let mut list = ListTasksRequest::default();
    for (name, value) in query(uri)? {
        if matches!(&*name, "historyLength" | "history_length" | "tenant") {
            list.set(&name, &value)
                .map_err(|error| A2aError::of_params(&error))?;
        }
    }
    let mut request = TaskRequest::new(id);
    request.history_length = list.history_length;
    request.tenant = list.tenant;
    Ok(request)
}

/// The query's names and values, decoded.
fn query(uri: &Uri) -> Result<Vec<(String, String)>, A2aError> {
    let decode = |text: &str| {
        let spaced = text.replace('+', " ");
        let decoded = percent_decode_str(&spaced).decode_utf8();
        decoded
            .map(|text| text.into_owned())
            .map_err(|_| A2aError::new(ErrorCode::InvalidParams, "the query is not UTF-8"))
    };
    let pairs = uri.query().unwrap_or_default().split('&');
    pairs
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(name)?, decode(value)?))
        })
        .collect()
}
