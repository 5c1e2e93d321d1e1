//! Calls in all three bindings, by the method's name and the JSON of its parameters, so that one
//! test holds for each of them.

mod grpc;

use std::fmt;

use crate::http::{Connection, Request, Response, Streaming, send};
use crate::raw::Raw;
use crate::wire::envelope;

/// A binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// JSON-RPC.
    JsonRpc,
    /// REST, `HTTP+JSON`.
    Rest,
    /// gRPC, on the port of the others.
    Grpc,
}

/// All bindings.
pub const BINDINGS: [Binding; 3] = [Binding::JsonRpc, Binding::Rest, Binding::Grpc];

/// Somebody who calls an agent in one binding.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The agent's URL.
    pub url: String,
    /// The binding.
    pub binding: Binding,
    /// Headers, or metadata, of every call.
    headers: Vec<(String, String)>,
}

/// What an agent refuses with.
#[derive(Clone, PartialEq, Eq)]
pub struct Refused {
    /// JSON-RPC's code, the HTTP status, or the name of the gRPC status.
    pub code: String,
    /// `reason` of the `google.rpc.ErrorInfo`.
    pub reason: String,
    /// `domain` of it.
    pub domain: String,
    /// The text for people.
    pub message: String,
}

/// What an agent answered with, byte for byte, but for the header that tells the time and for the
/// events of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    /// Status, headers and body, of gRPC the trailers, too.
    pub text: String,
    /// What it says where it is a refusal.
    pub refused: Option<Refused>,
}

impl Caller {
    /// A caller who speaks A2A 1.0.
    pub fn new(url: &str, binding: Binding) -> Self {
        Self {
            url: url.trim_end_matches('/').to_owned(),
            binding,
            headers: vec![("a2a-version".to_owned(), "1.0".to_owned())],
        }
    }

    /// Callers in all bindings.
    pub fn all(url: &str) -> [Self; 3] {
        BINDINGS.map(|binding| Self::new(url, binding))
    }

    /// The caller with a header in the place of one that is there.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self = self.without(name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The caller without a header.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// Calls a method that does not stream.
    ///
    /// # Errors
    /// With what the agent refuses.
    pub async fn call(&self, method: &str, params: &str) -> Result<Raw, Refused> {
        match self.binding {
            Binding::Grpc => grpc::call(&self.url, &self.headers, method, params).await,
            _ => self.read(&send(&self.url, &self.request(method, params)).await),
        }
    }

    /// Opens the stream of a method's answer.
    ///
    /// # Errors
    /// With what the agent refuses.
    pub async fn open(&self, method: &str, params: &str) -> Result<Events, Refused> {
        if self.binding == Binding::Grpc {
            let stream = grpc::open(&self.url, &self.headers, method, params).await?;
            return Ok(Events(Source::Grpc(Box::new(stream))));
        }
        let connection = Connection::open(&self.url).await;
        let streaming = connection.stream(&self.request(method, params)).await;
        if streaming.header("content-type") != Some("text/event-stream") {
            let refused = self.read(&streaming.whole().await);
            return Err(refused.expect_err("a stream or an error"));
        }
        Ok(Events(Source::Sse(Box::new(streaming), self.binding)))
    }

    /// Calls a method and keeps what comes. A stream that has begun is dropped.
    pub async fn transcript(&self, method: &str, params: &str) -> Transcript {
        if self.binding == Binding::Grpc {
            return grpc::transcript(&self.url, &self.headers, method, params).await;
        }
        let connection = Connection::open(&self.url).await;
        let streaming = connection.stream(&self.request(method, params)).await;
        let mut text = format!("{}\n", streaming.status);
        for (name, value) in streaming.headers.iter().filter(|(name, _)| name != "date") {
            text.push_str(&format!("{name}: {value}\n"));
        }
        if streaming.header("content-type") == Some("text/event-stream") {
            return Transcript {
                text,
                refused: None,
            };
        }
        let response = streaming.whole().await;
        text.push_str(&response.body);
        Transcript {
            text,
            refused: self.read(&response).err(),
        }
    }

    /// The HTTP request of a method.
    ///
    /// # Panics
    /// For gRPC, and for methods that A2A does not have.
    pub fn request(&self, method: &str, params: &str) -> Request {
        let request = match self.binding {
            Binding::JsonRpc => Request::post("/", envelope(method, params)),
            Binding::Rest => rest(method, params),
            Binding::Grpc => panic!("gRPC has no requests of this kind"),
        };
        let headers = self.headers.iter();
        headers.fold(request.without("a2a-version"), |request, (name, value)| {
            request.header(name, value)
        })
    }

    fn read(&self, response: &Response) -> Result<Raw, Refused> {
        if self.binding == Binding::Rest {
            if response.body.is_empty() && response.status < 300 {
                return Ok(Raw::parse("{}"));
            }
            let body = Raw::parse(&response.body);
            if response.status < 300 {
                return Ok(body);
            }
            let error = body.at("error");
            assert_eq!(error.at("code").text(), response.status.to_string());
            return Err(Refused::of_json(&error, "details.0"));
        }
        if response.status != 200 {
            let body = Raw::parse(&response.body);
            return Err(Refused::of_json(&body.at("error"), "data.0"));
        }
        result_of(&Raw::parse(&response.body))
    }
}

impl Refused {
    fn of_json(error: &Raw, info: &str) -> Self {
        let info = error.find(info);
        let of_info = |name: &str| {
            let found = info.as_ref().and_then(|info| info.find(name));
            found.map_or_else(String::new, |value| {
                value.text().trim_matches('"').to_owned()
            })
        };
        Self {
            code: error.at("code").text().to_owned(),
            reason: of_info("reason"),
            domain: of_info("domain"),
            message: error.string("message"),
        }
    }
}

impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.code, self.reason, self.message)
    }
}

fn result_of(body: &Raw) -> Result<Raw, Refused> {
    assert_eq!(body.string("jsonrpc"), "2.0");
    let (result, error) = (body.find("result"), body.find("error"));
    match (result, error) {
        (Some(result), None) => Ok(result),
        (None, Some(error)) => Err(Refused::of_json(&error, "data.0")),
        _ => panic!("neither result nor error, or both: {body:?}"),
    }
}

fn rest(method: &str, params: &str) -> Request {
    let given = Raw::parse(params);
    let name = |field: &str| given.string(field);
    let query = |without: &[&str]| {
        let fields = given.fields();
        let fields = fields
            .iter()
            .filter(|(name, _)| !without.contains(&name.as_str()));
        let pairs: Vec<String> = fields
            .map(|(name, value)| format!("{name}={}", value.text().trim_matches('"')))
            .collect();
        if pairs.is_empty() {
            String::new()
        } else {
            format!("?{}", pairs.join("&"))
        }
    };
    let configs = || format!("/tasks/{}/pushNotificationConfigs", name("taskId"));
    match method {
        "SendMessage" => Request::post("/message:send", params),
        "SendStreamingMessage" => Request::post("/message:stream", params),
        "GetTask" => Request::get(&format!("/tasks/{}{}", name("id"), query(&["id"]))),
        "ListTasks" => Request::get(&format!("/tasks{}", query(&[]))),
        "CancelTask" => Request::post(&format!("/tasks/{}:cancel", name("id")), ""),
        "SubscribeToTask" => Request::post(&format!("/tasks/{}:subscribe", name("id")), ""),
        "CreateTaskPushNotificationConfig" => Request::post(&configs(), params),
        "GetTaskPushNotificationConfig" => Request::get(&format!("{}/{}", configs(), name("id"))),
        "ListTaskPushNotificationConfigs" => {
            Request::get(&format!("{}{}", configs(), query(&["taskId"])))
        }
        "DeleteTaskPushNotificationConfig" => {
            Request::new("DELETE", &format!("{}/{}", configs(), name("id")))
        }
        "GetExtendedAgentCard" => Request::get("/extendedAgentCard"),
        other => panic!("A2A has no {other}"),
    }
}

/// The events of a stream.
#[derive(Debug)]
pub struct Events(Source);

#[derive(Debug)]
enum Source {
    Sse(Box<Streaming>, Binding),
    Grpc(Box<grpc::Stream>),
}

impl Events {
    /// The next event; `None` when the agent has closed the stream in order.
    ///
    /// # Panics
    /// When it is an error.
    pub async fn next(&mut self) -> Option<Raw> {
        let event = match &mut self.0 {
            Source::Grpc(stream) => stream.next().await?,
            Source::Sse(streaming, binding) => {
                let event = Raw::parse(&streaming.event().await?);
                match binding {
                    Binding::JsonRpc => result_of(&event).expect("an event"),
                    _ => event,
                }
            }
        };
        let kinds = event.fields();
        assert_eq!(kinds.len(), 1, "one kind of event: {event:?}");
        Some(event)
    }

    /// All events that are still to come.
    pub async fn rest(mut self) -> Vec<Raw> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}
