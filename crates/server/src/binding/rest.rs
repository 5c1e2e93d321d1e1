//! REST, `HTTP+JSON` (section 11).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, Method, Response, Uri, header};
use bytestring::ByteString;
use llamon_core::a2a::{
    A2aError, ErrorCode, ListPushConfigsRequest, ListTasksRequest, MEDIA_TYPE, PushConfig,
    PushConfigRequest, SendMessageRequest, StreamEvent, TaskPushConfig, TaskRequest, TaskView,
};
use llamon_core::json::{Reader, check_syntax};
use percent_encoding::percent_decode_str;

use super::push::PushCall;
use super::{Service, body, sse, version};
use crate::handler::{EventFeed, no_extended_card};
use crate::push::push_not_supported;
use crate::scope::Scope;
use crate::view;

type Reply = Result<Response<Body>, Failure>;

/// An error on its way out.
pub(super) struct Failure {
    error: A2aError,
    /// The methods that the path takes, where the request's is none of them.
    allow: Option<&'static str>,
}

impl From<A2aError> for Failure {
    fn from(error: A2aError) -> Self {
        Self { error, allow: None }
    }
}

/// A path whose percent-encoding is no text.
impl From<PathRejection> for Failure {
    fn from(rejection: PathRejection) -> Self {
        let message = format!("the path cannot be read: {}", rejection.body_text());
        A2aError::new(ErrorCode::InvalidParams, message).into()
    }
}

impl axum::response::IntoResponse for Failure {
    fn into_response(self) -> Response<Body> {
        let mut response = failure(&self.error);
        if let Some(allow) = self.allow {
            let allow = HeaderValue::from_static(allow);
            response.headers_mut().insert(header::ALLOW, allow);
        }
        response
    }
}

/// `POST /message:send`
pub(super) async fn send(
    State(service): State<Arc<Service>>,
    headers: HeaderMap,
    uri: Uri,
    body: Body,
) -> Reply {
    let request = read_send(&service, &headers, &uri, body).await?;
    let view = view::of_send(&request);
    let acceptance = service.acceptance(&headers);
    let scope = Scope::anonymous();
    let result = service.handler.send(&scope, request, acceptance).await?;
    Ok(success(|out| view::write_send_result(&result, view, out)))
}

/// `POST /message:stream`
pub(super) async fn stream(
    State(service): State<Arc<Service>>,
    headers: HeaderMap,
    uri: Uri,
    body: Body,
) -> Reply {
    let request = read_send(&service, &headers, &uri, body).await?;
    let view = view::of_send(&request);
    let acceptance = service.acceptance(&headers);
    let scope = Scope::anonymous();
    let feed = service.handler.stream(&scope, request, acceptance).await?;
    Ok(sse::response(feed, Frame(view)))
}

/// `GET /tasks`
pub(super) async fn list(
    State(service): State<Arc<Service>>,
    headers: HeaderMap,
    uri: Uri,
) -> Reply {
    version::check(&headers, &uri)?;
    let mut request = ListTasksRequest::default();
    for (name, value) in query(&uri)? {
        request
            .set(&name, &value)
            .map_err(|error| A2aError::of_params(&error))?;
    }
    let page = service.handler.list(&Scope::anonymous(), &request).await?;
    Ok(success(|out| page.write(out, view::of_list(&request))))
}

/// `GET /tasks/{id}` and `GET /tasks/{id}:subscribe`
pub(super) async fn get_task(
    State(service): State<Arc<Service>>,
    segment: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    uri: Uri,
) -> Reply {
    let Path(segment) = segment?;
    version::check(&headers, &uri)?;
    match segment.rsplit_once(':') {
        Some((id, "subscribe")) => subscribe(&service, task_request(id, &uri)?).await,
        Some((_, "cancel")) => Err(Failure {
            error: wrong_method(&Method::GET, uri.path()),
            allow: Some("POST"),
        }),
        _ => {
            let request = task_request(&segment, &uri)?;
            let task = service.handler.get(&Scope::anonymous(), &request).await?;
            Ok(success(|out| task.write(out, view::of_task(&request))))
        }
    }
}

/// `POST /tasks/{id}:cancel` and `POST /tasks/{id}:subscribe`; the body may be empty.
pub(super) async fn post_task(
    State(service): State<Arc<Service>>,
    segment: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    uri: Uri,
    body: Body,
) -> Reply {
    let Path(segment) = segment?;
    let limits = service.handler.limits();
    let text = body::read(body, limits.max_body_bytes).await?;
    check_empty_or_object(&text, limits.max_json_depth)?;
    version::check(&headers, &uri)?;
    match segment.rsplit_once(':') {
        Some((id, "subscribe")) => subscribe(&service, task_request(id, &uri)?).await,
        Some((id, "cancel")) => {
            let request = task_request(id, &uri)?;
            let task = service
                .handler
                .cancel(&Scope::anonymous(), &request)
                .await?;
            Ok(success(|out| task.write(out, view::of_task(&request))))
        }
        _ => Err(Failure {
            error: wrong_method(&Method::POST, uri.path()),
            allow: Some("GET,HEAD"),
        }),
    }
}

async fn subscribe(service: &Service, request: TaskRequest) -> Reply {
    let feed: EventFeed = (service.handler)
        .subscribe(&Scope::anonymous(), &request)
        .await?;
    Ok(sse::response(feed, Frame(view::of_task(&request))))
}

/// `POST` and `GET /tasks/{id}/pushNotificationConfigs`
pub(super) async fn push_configs(
    State(service): State<Arc<Service>>,
    method: Method,
    segment: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    uri: Uri,
    body: Body,
) -> Reply {
    let Path(task_id) = segment?;
    check_push(&service, &headers, &uri)?;
    let call = match method {
        Method::POST => {
            let config = read_push_config(&service, &headers, &task_id, body).await?;
            PushCall::Create(config)
        }
        Method::GET | Method::HEAD => {
            let mut request = ListPushConfigsRequest::new(task_id);
            for (name, value) in query(&uri)? {
                let set = request.set(&name, &value);
                set.map_err(|error| A2aError::of_params(&error))?;
            }
            PushCall::List(request)
        }
        other => {
            return Err(Failure {
                error: wrong_method(&other, uri.path()),
                allow: Some("GET,HEAD,POST"),
            });
        }
    };
    run_push(&service, call).await
}

/// `GET` and `DELETE /tasks/{id}/pushNotificationConfigs/{configId}`
pub(super) async fn push_config(
    State(service): State<Arc<Service>>,
    method: Method,
    segments: Result<Path<(String, String)>, PathRejection>,
    headers: HeaderMap,
    uri: Uri,
) -> Reply {
    let Path((task_id, id)) = segments?;
    check_push(&service, &headers, &uri)?;
    let request = PushConfigRequest::new(task_id, id);
    let call = match method {
        Method::GET | Method::HEAD => PushCall::Get(request),
        Method::DELETE => PushCall::Delete(request),
        other => {
            return Err(Failure {
                error: wrong_method(&other, uri.path()),
                allow: Some("GET,HEAD,DELETE"),
            });
        }
    };
    run_push(&service, call).await
}

fn check_push(service: &Service, headers: &HeaderMap, uri: &Uri) -> Result<(), A2aError> {
    version::check(headers, uri)?;
    if service.handler.sends_push() {
        Ok(())
    } else {
        Err(push_not_supported())
    }
}

async fn run_push(service: &Service, call: PushCall) -> Reply {
    let answer = call.run(&service.handler, &Scope::anonymous()).await?;
    Ok(success(|out| out.push_str(&answer)))
}

/// `GET /extendedAgentCard`
pub(super) async fn extended_card(headers: HeaderMap, uri: Uri) -> Reply {
    version::check(&headers, &uri)?;
    Err(no_extended_card().into())
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
    if error.is_temporary() {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

// === reading ===

async fn read_send(
    service: &Service,
    headers: &HeaderMap,
    uri: &Uri,
    body: Body,
) -> Result<SendMessageRequest, A2aError> {
    let limits = service.handler.limits();
    let source = body::read(body, limits.max_body_bytes).await?;
    body::check_media_type(headers)?;
    version::check(headers, uri)?;
    let mut reader = Reader::of_str(&source, limits.max_json_depth);
    let read = SendMessageRequest::read(&mut reader, &source, limits)
        .and_then(|request| reader.end().map(|()| request));
    read.map_err(|error| {
        // A text that is no JSON is that first of all.
        let error = check_syntax(&source).err().unwrap_or(error);
        A2aError::of_params(&error)
    })
}

async fn read_push_config(
    service: &Service,
    headers: &HeaderMap,
    task_id: &str,
    body: Body,
) -> Result<TaskPushConfig, A2aError> {
    let limits = service.handler.limits();
    let source = body::read(body, limits.max_body_bytes).await?;
    body::check_media_type(headers)?;
    let mut reader = Reader::of_str(&source, limits.max_json_depth);
    let read = PushConfig::read(&mut reader).and_then(|read| reader.end().map(|()| read));
    let (config, named) = read.map_err(|error| {
        let error = check_syntax(&source).err().unwrap_or(error);
        A2aError::of_params(&error)
    })?;
    if named.is_some_and(|named| *named != *task_id) {
        return Err(A2aError::new(
            ErrorCode::InvalidParams,
            "taskId: is not the task in the path; send that one or none",
        ));
    }
    Ok(TaskPushConfig::new(task_id, config))
}

fn check_empty_or_object(text: &ByteString, max_depth: u32) -> Result<(), A2aError> {
    let mut reader = Reader::of_str(text, max_depth);
    if reader.peek().is_none() {
        return Ok(());
    }
    let mut read = || {
        if reader.peek() != Some(b'{') {
            return Err(reader.wrong_type("an object or nothing"));
        }
        reader.skip()?;
        reader.end()
    };
    read().map_err(|error| A2aError::of_params(&error))
}

fn task_request(id: &str, uri: &Uri) -> Result<TaskRequest, A2aError> {
    let mut list = ListTasksRequest::default();
    for (name, value) in query(uri)? {
        if matches!(&*name, "historyLength" | "history_length") {
            list.set(&name, &value)
                .map_err(|error| A2aError::of_params(&error))?;
        }
    }
    let mut request = TaskRequest::new(id);
    request.history_length = list.history_length;
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
