//! gRPC over a connection of its own. Between JSON and protobuf translates the product's crate,
//! which has golden files against another implementation.

use std::fmt;

use axum::http::{HeaderMap, Request, Response, Version};
use bytes::{Buf as _, Bytes, BytesMut};
use bytestring::ByteString;
use h2::RecvStream;
use h2::client::SendRequest;
use llamon_agent::a2a::{
    ListPushConfigsRequest, ListTasksRequest, PushConfigRequest, Secrets, SendMessageRequest,
    SendResult, StreamEvent, TaskPushConfig, TaskRequest, TaskView,
};
use llamon_agent::core::Limits;
use llamon_agent::core::json::{ReadError, Reader};
use llamon_grpc::{from_wire, to_wire, wire};
use prost::Message;
use tokio::net::TcpStream;
use tonic::Status;

use super::{Refused, Transcript};
use crate::agents::patient;
use crate::raw::Raw;

/// Calls a unary method.
pub(super) async fn call(
    url: &str,
    headers: &[(String, String)],
    method: &str,
    params: &str,
) -> Result<Raw, Refused> {
    let mut stream = open(url, headers, method, params).await?;
    let answer = stream.message().await?.expect("a message");
    assert_eq!(stream.message().await?, None, "one message only");
    Ok(Raw::parse(&to_json(method, answer).expect("A2A")))
}

/// Calls a method; a refusal that comes before anything else is the error.
pub(super) async fn open(
    url: &str,
    headers: &[(String, String)],
    method: &str,
    params: &str,
) -> Result<Stream, Refused> {
    let (sender, response) = request(url, headers, method, params).await;
    if let Some(refused) = refusal(response.headers()) {
        return Err(refused);
    }
    let mut stream = Stream {
        method: method.to_owned(),
        body: response.into_body(),
        buffer: BytesMut::new(),
        first: None,
        ended: false,
        _sender: sender,
    };
    // An error may come as trailers, too.
    stream.first = stream.message().await?;
    stream.ended = stream.first.is_none();
    Ok(stream)
}

/// Calls a method and keeps what comes, but for a stream that has begun.
pub(super) async fn transcript(
    url: &str,
    headers: &[(String, String)],
    method: &str,
    params: &str,
) -> Transcript {
    let (_sender, response) = request(url, headers, method, params).await;
    let mut transcript = Transcript {
        text: shown(response.headers()),
        refused: refusal(response.headers()),
    };
    let mut body = response.into_body();
    while let Some(data) = patient(body.data()).await {
        if matches!(method, "SendStreamingMessage" | "SubscribeToTask") {
            return transcript;
        }
        let data = data.expect("a frame");
        let flow = body.flow_control();
        flow.release_capacity(data.len()).expect("room");
        transcript.text.push_str(&format!("{data:?}\n"));
    }
    let trailers = patient(body.trailers()).await.expect("a connection");
    if let Some(trailers) = trailers {
        transcript.text.push_str(&shown(&trailers));
        transcript.refused = transcript.refused.or_else(|| refusal(&trailers));
    }
    transcript
}

const SERVICE: &str = "lf.a2a.v1.A2AService";

/// Sends a request on a connection that ends with the first value, and waits for the head of its
/// answer.
async fn request(
    url: &str,
    headers: &[(String, String)],
    method: &str,
    params: &str,
) -> (SendRequest<Bytes>, Response<RecvStream>) {
    let authority = url.strip_prefix("http://").expect("an http URL");
    let authority = authority.split('/').next().expect("an authority");
    let mut sender = connect(authority).await;
    let mut request = Request::post(format!("http://{authority}/{SERVICE}/{method}"))
        .version(Version::HTTP_2)
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let request = request.body(()).expect("a request");
    let (response, mut body) = sender.send_request(request, false).expect("a connection");
    let message = framed(&of_json(method, params).expect("parameters"));
    // The answer may be there before the message was sent.
    let _ = body.send_data(message, true);
    let response = patient(response).await.expect("a response");
    assert_eq!(response.status(), 200);
    (sender, response)
}

/// Headers as they came, without the one that tells the time.
fn shown(headers: &HeaderMap) -> String {
    let headers = headers.iter().filter(|(name, _)| *name != "date");
    headers
        .map(|(name, value)| format!("{name}: {value:?}\n"))
        .collect()
}

/// An answer that is still being sent.
pub(super) struct Stream {
    method: String,
    body: RecvStream,
    buffer: BytesMut,
    first: Option<Bytes>,
    ended: bool,
    // The connection ends with it.
    _sender: SendRequest<Bytes>,
}

impl Stream {
    pub(super) async fn next(&mut self) -> Option<Raw> {
        let message = self.message().await.expect("an event")?;
        Some(Raw::parse(&to_json(&self.method, message).expect("A2A")))
    }

    async fn message(&mut self) -> Result<Option<Bytes>, Refused> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        loop {
            if let Some(message) = unframed(&mut self.buffer) {
                return Ok(Some(message));
            }
            if self.ended {
                return Ok(None);
            }
            if let Some(data) = patient(self.body.data()).await {
                let data = data.expect("a frame");
                let flow = self.body.flow_control();
                flow.release_capacity(data.len()).expect("room");
                self.buffer.extend_from_slice(&data);
                continue;
            }
            assert!(self.buffer.is_empty(), "the stream ended amid a message");
            self.ended = true;
            let trailers = patient(self.body.trailers()).await.expect("a connection");
            let trailers = trailers.expect("trailers");
            assert!(trailers.contains_key("grpc-status"));
            if let Some(refused) = refusal(&trailers) {
                return Err(refused);
            }
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream of {}", self.method)
    }
}

async fn connect(authority: &str) -> SendRequest<Bytes> {
    let stream = TcpStream::connect(authority).await.expect("a connection");
    let (sender, connection) = h2::client::handshake(stream).await.expect("a preface");
    tokio::spawn(connection);
    sender.ready().await.expect("HTTP/2")
}

fn refusal(headers: &HeaderMap) -> Option<Refused> {
    let status = Status::from_header_map(headers)?;
    if status.code() == tonic::Code::Ok {
        return None;
    }
    let info = wire::RpcStatus::decode(status.details()).unwrap_or_default();
    assert!(info.details.is_empty() || info.code == status.code() as i32);
    let info = info.details.first();
    let info = info.and_then(|any| wire::ErrorInfo::decode(any.value.clone()).ok());
    let (reason, domain) = info.map_or_else(Default::default, |info| (info.reason, info.domain));
    Some(Refused {
        code: name(status.code()).to_owned(),
        reason,
        domain,
        message: status.message().to_owned(),
    })
}

fn name(code: tonic::Code) -> &'static str {
    match code {
        tonic::Code::InvalidArgument => "INVALID_ARGUMENT",
        tonic::Code::NotFound => "NOT_FOUND",
        tonic::Code::FailedPrecondition => "FAILED_PRECONDITION",
        tonic::Code::Unimplemented => "UNIMPLEMENTED",
        tonic::Code::Unauthenticated => "UNAUTHENTICATED",
        tonic::Code::PermissionDenied => "PERMISSION_DENIED",
        tonic::Code::Internal => "INTERNAL",
        _ => "another one",
    }
}

fn framed(message: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(message.len() + 5);
    out.extend_from_slice(&[0]);
    let length = u32::try_from(message.len()).expect("a small message");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(message);
    out.freeze()
}

fn unframed(buffer: &mut BytesMut) -> Option<Bytes> {
    let length = buffer.get(1..5)?;
    let length = u32::from_be_bytes(length.try_into().expect("four bytes")) as usize;
    if buffer.len() < length + 5 {
        return None;
    }
    buffer.advance(5);
    Some(buffer.split_to(length).freeze())
}

/// The protobuf of parameters. A message without what it must have is made of those fields of it
/// that there are.
fn of_json(method: &str, params: &str) -> Result<Vec<u8>, ReadError> {
    let source = ByteString::from(params);
    let limits = Limits::default();
    let reader = &mut Reader::of_str(&source, limits.max_json_depth);
    Ok(match method {
        "SendMessage" | "SendStreamingMessage" => {
            match SendMessageRequest::read(reader, &source, &limits) {
                Ok(request) => to_wire::send_message_request(&request, "")?.encode_to_vec(),
                Err(_) => torn_message(params).encode_to_vec(),
            }
        }
        "GetTask" => to_wire::get_task_request(&TaskRequest::read(reader)?, "").encode_to_vec(),
        "ListTasks" => {
            to_wire::list_tasks_request(&ListTasksRequest::read(reader)?, "").encode_to_vec()
        }
        "CancelTask" => {
            to_wire::cancel_task_request(&TaskRequest::read(reader)?.id, "").encode_to_vec()
        }
        "SubscribeToTask" => {
            to_wire::subscribe_to_task_request(&TaskRequest::read(reader)?.id, "").encode_to_vec()
        }
        "CreateTaskPushNotificationConfig" => {
            to_wire::push_config(&TaskPushConfig::read(reader)?, Secrets::Shown).encode_to_vec()
        }
        "GetTaskPushNotificationConfig" => {
            to_wire::get_push_config_request(&PushConfigRequest::read(reader)?, "").encode_to_vec()
        }
        "DeleteTaskPushNotificationConfig" => {
            to_wire::delete_push_config_request(&PushConfigRequest::read(reader)?, "")
                .encode_to_vec()
        }
        "ListTaskPushNotificationConfigs" => {
            to_wire::list_push_configs_request(&ListPushConfigsRequest::read(reader)?, "")
                .encode_to_vec()
        }
        _ => Vec::new(),
    })
}

fn torn_message(params: &str) -> wire::SendMessageRequest {
    let message = Raw::parse(params).find("message").map(|given| {
        let text = |name: &str| {
            given
                .find(name)
                .map_or_else(String::new, |_| given.string(name))
        };
        wire::Message {
            message_id: text("messageId"),
            role: i32::from(given.find("role").is_some()),
            parts: given
                .list("parts")
                .iter()
                .map(|_| wire::Part::default())
                .collect(),
            ..wire::Message::default()
        }
    });
    wire::SendMessageRequest {
        message,
        ..wire::SendMessageRequest::default()
    }
}

/// The JSON of an answer.
fn to_json(method: &str, answer: Bytes) -> Result<String, ReadError> {
    let limits = Limits::default();
    let mut out = String::new();
    match method {
        "SendMessage" => {
            let answer = decode::<wire::SendMessageResponse>(answer);
            let event = match from_wire::send_message_response(answer, &limits)? {
                SendResult::Task(task) => StreamEvent::Task(task),
                SendResult::Message(message) => StreamEvent::Message(message),
            };
            event.write(&mut out, TaskView::FULL);
        }
        "SendStreamingMessage" | "SubscribeToTask" => {
            let event = from_wire::stream_response(decode(answer), &limits)?;
            event.write(&mut out, TaskView::FULL);
        }
        "GetTask" | "CancelTask" => {
            from_wire::task(decode(answer), &limits)?.write(&mut out, TaskView::FULL);
        }
        "ListTasks" => {
            let page = from_wire::list_tasks_response(decode(answer), &limits)?;
            page.write(&mut out, TaskView::FULL);
        }
        "CreateTaskPushNotificationConfig" | "GetTaskPushNotificationConfig" => {
            from_wire::push_config(decode(answer))?.write(&mut out, Secrets::Shown);
        }
        "ListTaskPushNotificationConfigs" => {
            let page = from_wire::list_push_configs_response(decode(answer))?;
            page.write(&mut out, Secrets::Shown);
        }
        "GetExtendedAgentCard" => {
            let card = decode::<wire::AgentCard>(answer);
            out = from_wire::agent_card_json(&card)?;
        }
        _ => out.push_str("{}"),
    }
    Ok(out)
}

fn decode<M: Message + Default>(bytes: Bytes) -> M {
    M::decode(bytes).expect("a message of lf.a2a.v1")
}
