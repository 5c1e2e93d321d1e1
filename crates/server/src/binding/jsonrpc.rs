//! JSON-RPC 2.0 (section 9). Errors are HTTP 200, but for callers that are not let in; the request's id is echoed as it was written.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Request as HttpRequest, Response};
use bytestring::ByteString;
use llamon_core::a2a::{
    A2aError, ErrorCode, ExtendedCardRequest, ListTasksRequest, SendMessageRequest, StreamEvent,
    TaskRequest, TaskView,
};
use llamon_core::json::{ReadError, ReadErrorKind, Reader, Seen, check_syntax};

use super::gate::Refused;
use super::push::{PushCall, PushMethod};
use super::{Service, body, http, sse};
use crate::auth;
use crate::auth::scopes::Wanted;
use crate::call::Call;
use crate::handler::Handler;
use crate::push::push_not_supported;
use crate::view;

/// `POST` to the agent's base URL.
pub(super) async fn call(
    State(service): State<Arc<Service>>,
    request: HttpRequest<Body>,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    let caller = match http::authenticate(&service.gate, &head.headers, &head.extensions).await {
        Ok(caller) => caller,
        Err(refused) => return refusal("null", &refused),
    };
    let limits = service.handler.limits();
    let source = match body::read(body, limits.max_body_bytes).await {
        Ok(source) => source,
        Err(error) => return failure("null", &error),
    };
    // What does not say that it is JSON need not be JSON.
    let typed = body::check_media_type(&head.headers);
    let request = match read(&source, &service.handler) {
        Ok(request) => request,
        Err((id, error)) => return failure(&id, &typed.err().unwrap_or(error)),
    };
    let entered = typed
        .and_then(|()| http::parameters(&service.gate, &head.headers, &head.uri))
        .map_err(Refused::from)
        .and_then(|parameters| {
            let operation = request.operation?;
            let (tenant, wanted) = (operation.tenant(), operation.wanted());
            let call = service
                .gate
                .enter(caller, parameters, None, tenant, wanted)?;
            Ok((call, operation))
        });
    match entered {
        Ok((call, operation)) => run(&service, &call, &request.id, operation).await,
        Err(refused) => refusal(&request.id, &refused),
    }
}

/// What somebody is answered with who is not let in.
pub(super) fn refusal(id: &str, refused: &Refused) -> Response<Body> {
    let mut response = failure(id, &refused.error);
    http::put_challenge(&mut response, refused.challenge.as_deref());
    http::put_retry_after(&mut response, refused.retry_after);
    response
}

async fn run(service: &Service, call: &Call, id: &str, operation: Operation) -> Response<Body> {
    let handler = &service.handler;
    let scope = &call.scope;
    match operation {
        Operation::Send(request) => {
            let view = view::of_send(&request);
            match handler.send(call, *request).await {
                Ok(result) => success(id, |out| view::write_send_result(&result, view, out)),
                Err(error) => failure(id, &error),
            }
        }
        Operation::Stream(request) => {
            let view = view::of_send(&request);
            let feed = handler.stream(call, *request).await;
            stream(id, feed, view)
        }
        Operation::Get(request) => match handler.get(scope, &request).await {
            Ok(task) => success(id, |out| task.write(out, view::of_task(&request))),
            Err(error) => failure(id, &error),
        },
        Operation::List(request) => match handler.list(scope, &request).await {
            Ok(page) => success(id, |out| page.write(out, view::of_list(&request))),
            Err(error) => failure(id, &error),
        },
        Operation::Cancel(request) => match handler.cancel(scope, &request).await {
            Ok(task) => success(id, |out| task.write(out, view::of_task(&request))),
            Err(error) => failure(id, &error),
        },
        Operation::Subscribe(request) => {
            let feed = handler.subscribe(scope, &request).await;
            stream(id, feed, view::of_task(&request))
        }
        Operation::Push(push) => match push.run(handler, scope).await {
            Ok(result) => success(id, |out| out.push_str(&result)),
            Err(error) => failure(id, &error),
        },
        Operation::ExtendedCard(_) => match service.extended_card_json(call) {
            Ok(card) => success(id, |out| out.push_str(&card)),
            Err(error) => failure(id, &error),
        },
    }
}

fn stream(
    id: &str,
    feed: Result<crate::handler::EventFeed, A2aError>,
    view: TaskView,
) -> Response<Body> {
    match feed {
        Ok(feed) => {
            let id = id.to_owned();
            sse::response(feed, Frame { id, view })
        }
        Err(error) => failure(id, &error),
    }
}

struct Frame {
    id: String,
    view: TaskView,
}

impl sse::Frame for Frame {
    fn event(&self, event: &StreamEvent, out: &mut String) {
        push_result(out, &self.id, |out| event.write(out, self.view));
    }

    fn error(&self, error: &A2aError, out: &mut String) {
        push_error(out, &self.id, error);
    }
}

fn success(id: &str, write: impl FnOnce(&mut String)) -> Response<Body> {
    let mut out = String::with_capacity(512);
    push_result(&mut out, id, write);
    super::response(200, "application/json", out)
}

fn failure(id: &str, error: &A2aError) -> Response<Body> {
    let mut out = String::new();
    push_error(&mut out, id, error);
    // Whoever is not let in is told so in HTTP, too, where challenges belong (section 3.3.2).
    let status = match error.code() {
        code @ (ErrorCode::Unauthenticated
        | ErrorCode::PermissionDenied
        | ErrorCode::TooManyRequests) => code.http(),
        _ => 200,
    };
    let mut response = super::response(status, "application/json", out);
    if error.code() == ErrorCode::TooManyRequests {
        http::put_retry_after(&mut response, Some(http::SOON));
    }
    response
}

fn push_result(out: &mut String, id: &str, write: impl FnOnce(&mut String)) {
    push_head(out, id);
    out.push_str(",\"result\":");
    write(out);
    out.push('}');
}

fn push_error(out: &mut String, id: &str, error: &A2aError) {
    push_head(out, id);
    out.push_str(",\"error\":");
    error.write_jsonrpc(out);
    out.push('}');
}

fn push_head(out: &mut String, id: &str) {
    out.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
    out.push_str(id);
}

// === reading ===

struct Request {
    /// The id's JSON text.
    id: String,
    /// What is called, or what is wrong with it.
    operation: Result<Operation, A2aError>,
}

enum Operation {
    Send(Box<SendMessageRequest>),
    Stream(Box<SendMessageRequest>),
    Get(TaskRequest),
    List(ListTasksRequest),
    Cancel(TaskRequest),
    Subscribe(TaskRequest),
    Push(PushCall),
    ExtendedCard(ExtendedCardRequest),
}

impl Operation {
    /// The tenant that the parameters name.
    fn tenant(&self) -> Option<&str> {
        let tenant = match self {
            Self::Send(request) | Self::Stream(request) => &request.tenant,
            Self::Get(request) | Self::Cancel(request) | Self::Subscribe(request) => {
                &request.tenant
            }
            Self::List(request) => &request.tenant,
            Self::Push(call) => return call.tenant(),
            Self::ExtendedCard(request) => &request.tenant,
        };
        tenant.as_deref()
    }

    /// What the caller needs to be allowed.
    fn wanted(&self) -> Wanted<'_> {
        match self {
            Self::Send(request) => Wanted::send(auth::Operation::SendMessage, &request.message),
            Self::Stream(request) => {
                Wanted::send(auth::Operation::SendStreamingMessage, &request.message)
            }
            Self::Get(_) => auth::Operation::GetTask.into(),
            Self::List(_) => auth::Operation::ListTasks.into(),
            Self::Cancel(_) => auth::Operation::CancelTask.into(),
            Self::Subscribe(_) => auth::Operation::SubscribeToTask.into(),
            Self::Push(call) => call.operation().into(),
            Self::ExtendedCard(_) => auth::Operation::GetExtendedAgentCard.into(),
        }
    }
}

/// Reads the envelope, and the parameters in the same pass where the method comes before them.
fn read(source: &ByteString, handler: &Handler) -> Result<Request, (String, A2aError)> {
    let request = match read_envelope(source, handler) {
        Ok(envelope) => envelope.finish(source, handler),
        Err(error) if error.kind() == ReadErrorKind::Syntax => Err(no_json(&error)),
        // The text may still be JSON that has an id to answer to.
        Err(error) => Err((find_id(source), envelope_error(&error))),
    };
    let failed = match &request {
        Ok(request) => request.operation.is_err(),
        Err(_) => true,
    };
    if failed && let Err(error) = check_syntax(source) {
        return Err(no_json(&error));
    }
    request
}

#[derive(Default)]
struct Envelope<'a> {
    version: bool,
    id: Option<String>,
    method: Option<String>,
    operation: Option<Result<Operation, A2aError>>,
    /// Parameters that came before their method.
    params: Option<&'a str>,
}

fn read_envelope<'a>(source: &'a ByteString, handler: &Handler) -> Result<Envelope<'a>, ReadError> {
    let mut reader = Reader::of_str(source, handler.limits().max_json_depth);
    if reader.peek() == Some(b'[') {
        reader.skip()?;
        reader.end()?;
        return Err(ReadError::invalid(
            "a batch is not part of A2A; send one request after the other",
        ));
    }
    let mut envelope = Envelope::default();
    let mut seen = Seen::default();
    let mut object = reader.object()?;
    while let Some(key) = reader.key(&mut object)? {
        match &*key {
            "jsonrpc" => {
                seen.mark(0, "jsonrpc")?;
                let version = reader.string().map_err(|e| e.within("jsonrpc"))?;
                envelope.version = version == "2.0";
            }
            "id" => {
                seen.mark(1, "id")?;
                let first = reader.peek();
                let span = reader.skip().map_err(|e| e.within("id"))?;
                if matches!(first, Some(b'{' | b'[' | b't' | b'f')) {
                    let allowed = "expected a string, a number or null";
                    return Err(ReadError::invalid(allowed).within("id"));
                }
                envelope.id = Some(span.of(source).to_owned());
            }
            "method" => {
                seen.mark(2, "method")?;
                let method = reader.string().map_err(|e| e.within("method"))?;
                envelope.method = Some(method.into_owned());
            }
            "params" => {
                seen.mark(3, "params")?;
                match &envelope.method {
                    Some(method) => match read_params(method, &mut reader, source, handler) {
                        Ok(operation) => envelope.operation = Some(operation),
                        Err(error) if error.kind() == ReadErrorKind::Syntax => return Err(error),
                        Err(error) => return Ok(envelope.rest_of(source, error)),
                    },
                    None => {
                        let span = reader.skip().map_err(|e| e.within("params"))?;
                        envelope.params = Some(span.of(source));
                    }
                }
            }
            _ => {
                reader.skip().map_err(|e| e.within(key.into_owned()))?;
            }
        }
    }
    reader.end()?;
    Ok(envelope)
}

impl Envelope<'_> {
    /// The parameters are wrong: the reader stands amid them, so the id is looked for anew.
    fn rest_of(mut self, source: &ByteString, error: ReadError) -> Self {
        self.operation = Some(Err(A2aError::of_params(&error)));
        if self.id.is_none() {
            self.id = Some(find_id(source));
        }
        // What was read of the envelope so far was right.
        self.version = true;
        self
    }

    fn finish(self, source: &ByteString, handler: &Handler) -> Result<Request, (String, A2aError)> {
        let invalid = |id: &str, message: &str| {
            Err((
                id.to_owned(),
                A2aError::new(ErrorCode::InvalidRequest, message),
            ))
        };
        let Some(id) = self.id else {
            return invalid(
                "null",
                "id: is required, a string or a number; A2A has no notifications",
            );
        };
        if !self.version {
            return invalid(&id, "jsonrpc: is required and must be \"2.0\"");
        }
        let Some(method) = self.method else {
            return invalid(&id, "method: is required");
        };
        let max_depth = handler.limits().max_json_depth;
        let operation = match (self.operation, self.params) {
            (Some(operation), _) => operation,
            (None, Some(params)) => {
                let params = source.slice_ref(params);
                let mut reader = Reader::of_str(&params, max_depth - 1);
                read_params(&method, &mut reader, &params, handler)
                    .unwrap_or_else(|error| Err(A2aError::of_params(&error)))
            }
            (None, None) => {
                let empty = ByteString::from_static("{}");
                let mut reader = Reader::of_str(&empty, max_depth);
                read_params(&method, &mut reader, &empty, handler)
                    .unwrap_or_else(|error| Err(A2aError::of_params(&error)))
            }
        };
        Ok(Request { id, operation })
    }
}

/// Reads the parameters of `method`; they are skipped where the method is not served.
fn read_params(
    method: &str,
    reader: &mut Reader<'_>,
    source: &ByteString,
    handler: &Handler,
) -> Result<Result<Operation, A2aError>, ReadError> {
    let limits = handler.limits();
    let operation = match method {
        "SendMessage" => SendMessageRequest::read(reader, source, limits)
            .map(|request| Operation::Send(Box::new(request))),
        "SendStreamingMessage" => SendMessageRequest::read(reader, source, limits)
            .map(|request| Operation::Stream(Box::new(request))),
        "GetTask" => TaskRequest::read(reader).map(Operation::Get),
        "ListTasks" => ListTasksRequest::read(reader).map(Operation::List),
        "CancelTask" => TaskRequest::read(reader).map(Operation::Cancel),
        "SubscribeToTask" => TaskRequest::read(reader).map(Operation::Subscribe),
        "GetExtendedAgentCard" => ExtendedCardRequest::read(reader).map(Operation::ExtendedCard),
        other => match PushMethod::of_name(other) {
            // Where it is not served, what is wrong with its parameters does not matter.
            Some(_) if !handler.sends_push() => {
                reader.skip()?;
                return Ok(Err(push_not_supported()));
            }
            Some(method) => method.read(reader).map(Operation::Push),
            None => {
                reader.skip()?;
                return Ok(Err(no_method(other)));
            }
        },
    };
    operation.map(Ok)
}

fn no_method(name: &str) -> A2aError {
    let shown: String = name.chars().take(80).collect();
    A2aError::new(
        ErrorCode::MethodNotFound,
        format!(
            "there is no method {shown:?}; there are SendMessage, SendStreamingMessage, GetTask, \
             ListTasks, CancelTask, SubscribeToTask, GetExtendedAgentCard and those of push \
             notification configurations"
        ),
    )
}

/// The id in a text whose other fields could not be read, or `null`.
fn find_id(source: &ByteString) -> String {
    let find = || -> Result<Option<String>, ReadError> {
        // The text was refused for its content, not for being too deep to be walked.
        let mut reader = Reader::of_str(source, u32::from(u8::MAX) / 2);
        let mut object = reader.object()?;
        let mut id = None;
        while let Some(key) = reader.key(&mut object)? {
            let first = reader.peek();
            let span = reader.skip()?;
            if key == "id" && !matches!(first, Some(b'{' | b'[' | b't' | b'f')) {
                id = Some(span.of(source).to_owned());
            }
        }
        Ok(id)
    };
    find().ok().flatten().unwrap_or_else(|| "null".to_owned())
}

fn no_json(error: &ReadError) -> (String, A2aError) {
    let error = A2aError::new(ErrorCode::Parse, error.to_string());
    ("null".to_owned(), error)
}

fn envelope_error(error: &ReadError) -> A2aError {
    // What the parameters hold is theirs; that there are some twice is the envelope's.
    let in_params = error.path().starts_with("params") && error.kind() != ReadErrorKind::Invalid;
    let code = if in_params {
        ErrorCode::InvalidParams
    } else {
        ErrorCode::InvalidRequest
    };
    A2aError::new(code, error.to_string())
}
