//! gRPC calls with bytes of the test's own, over an HTTP/2 library and nothing else.

use axum::http::{HeaderMap, Request, Version};
use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::percent_decode_str;
use tokio::net::TcpStream;

/// The methods of the service.
pub const METHODS: [&str; 11] = [
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "GetExtendedAgentCard",
    "DeleteTaskPushNotificationConfig",
];

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    method: String,
    message: Vec<u8>,
    headers: Vec<(&'static str, String)>,
    /// Another authority than the address that is called.
    authority: Option<String>,
}

/// What it was answered with.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// `None` where the port does not speak HTTP/2.
    pub http_status: Option<u16>,
    /// `grpc-status`.
    pub status: Option<u16>,
    /// `grpc-message`.
    pub message: String,
    /// `grpc-status-details-bin`, with what is no text replaced.
    pub details: String,
    /// The messages.
    pub messages: Vec<Vec<u8>>,
    headers: HeaderMap,
}

impl Call {
    /// A call of version 1.0.
    pub fn new(method: &str, message: &[u8]) -> Self {
        Self {
            method: method.to_owned(),
            message: message.to_vec(),
            headers: vec![
                ("a2a-version", "1.0".to_owned()),
                ("content-type", "application/grpc".to_owned()),
                ("te", "trailers".to_owned()),
            ],
            authority: None,
        }
    }

    /// The call of another version, or of none.
    #[must_use]
    pub fn version(self, version: Option<&str>) -> Self {
        self.header("a2a-version", version)
    }

    /// The call with another content type.
    #[must_use]
    pub fn content_type(self, content_type: &str) -> Self {
        self.header("content-type", Some(content_type))
    }

    /// The call with a timeout.
    #[must_use]
    pub fn timeout(self, timeout: &str) -> Self {
        self.header("grpc-timeout", Some(timeout))
    }

    /// The call with one more entry of metadata.
    #[must_use]
    pub fn metadata(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// The call for another host than the address that is called.
    #[must_use]
    pub fn authority(mut self, authority: &str) -> Self {
        self.authority = Some(authority.to_owned());
        self
    }

    fn header(mut self, name: &'static str, value: Option<&str>) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        let header = value.map(|value| (name, value.to_owned()));
        self.headers.extend(header);
        self
    }
}

/// A field of a protobuf message, of a kind that has a length: texts, bytes and messages.
///
/// # Panics
/// For fields from 16 on, and for more than 127 bytes.
pub fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let length = u8::try_from(value.len()).expect("a short field");
    assert!(number < 16 && length < 128, "tag and length of a byte each");
    [&[number << 3 | 2, length], value].concat()
}

/// Makes a call on a connection of its own.
///
/// # Panics
/// When the connection breaks in the middle.
pub async fn call(url: &str, call: &Call) -> Answer {
    let address = url.strip_prefix("http://").expect("a plain URL");
    let address = address.trim_end_matches('/');
    let stream = TcpStream::connect(address).await.expect("a connection");
    let (sender, connection) = h2::client::handshake(stream).await.expect("a preface");
    let running = tokio::spawn(connection);
    let Ok(mut sender) = sender.ready().await else {
        return Answer::default();
    };
    let authority = call.authority.as_deref().unwrap_or(address);
    let uri = format!("http://{authority}/lf.a2a.v1.A2AService/{}", call.method);
    let mut request = Request::post(uri).version(Version::HTTP_2);
    for (name, value) in &call.headers {
        request = request.header(*name, value);
    }
    let request = request.body(()).expect("a request");
    let Ok((response, mut body)) = sender.send_request(request, false) else {
        return Answer::default();
    };
    let length = u32::try_from(call.message.len()).expect("a length");
    let mut framed = vec![0];
    framed.extend_from_slice(&length.to_be_bytes());
    framed.extend_from_slice(&call.message);
    // The answer may be there before the message was sent.
    let _ = body.send_data(framed.into(), true);
    let Ok(response) = response.await else {
        return Answer::default();
    };
    let mut answer = Answer {
        http_status: Some(response.status().as_u16()),
        headers: response.headers().clone(),
        ..Answer::default()
    };
    answer.take_status(response.headers());
    let mut body = response.into_body();
    let mut bytes = Vec::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk.expect("a body");
        let _ = body.flow_control().release_capacity(chunk.len());
        bytes.extend_from_slice(&chunk);
    }
    if let Some(trailers) = body.trailers().await.expect("an end") {
        answer.take_status(&trailers);
    }
    answer.messages = if answer.status.is_some() {
        split(&bytes)
    } else {
        Vec::new()
    };
    running.abort();
    answer
}

impl Answer {
    /// An entry of the metadata that came first.
    pub fn metadata(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    fn take_status(&mut self, headers: &HeaderMap) {
        let text = |name: &str| {
            let value = headers.get(name)?;
            Some(value.to_str().expect("a text").to_owned())
        };
        let Some(status) = text("grpc-status") else {
            return;
        };
        self.status = status.parse().ok();
        let message = text("grpc-message").unwrap_or_default();
        self.message = percent_decode_str(&message)
            .decode_utf8_lossy()
            .into_owned();
        let lenient =
            GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
        let base64 = GeneralPurpose::new(&base64::alphabet::STANDARD, lenient);
        let details = text("grpc-status-details-bin").unwrap_or_default();
        let details = base64.decode(details).expect("details");
        self.details = String::from_utf8_lossy(&details).into_owned();
    }
}

fn split(mut body: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while let Some(([0, length @ ..], rest)) = body.split_first_chunk::<5>() {
        let length = u32::from_be_bytes(*length) as usize;
        let (message, rest) = rest.split_at(length);
        messages.push(message.to_vec());
        body = rest;
    }
    messages
}
