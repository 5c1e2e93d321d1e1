//! A2A calls, as the specification writes them on the wire.

use std::fmt;

use crate::http::{Connection, Request, Response, Streaming, send};
use crate::raw::{Raw, token};
use crate::say::Say;

/// A binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// JSON-RPC.
    JsonRpc,
    /// REST, `HTTP+JSON`.
    Rest,
}

/// Both bindings.
pub const WIRES: [Wire; 2] = [Wire::JsonRpc, Wire::Rest];

/// An operation with its parameters.
#[derive(Clone, Copy, Debug)]
pub enum Op<'a> {
    /// SendMessage.
    Send(&'a Say),
    /// SendStreamingMessage.
    Stream(&'a Say),
    /// GetTask.
    Get(&'a str),
    /// ListTasks, with fields and their values.
    List(&'a [(&'a str, &'a str)]),
    /// CancelTask.
    Cancel(&'a str),
    /// SubscribeToTask.
    Subscribe(&'a str),
}

/// An agent and the binding that it is spoken to in.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The agent's URL.
    pub url: String,
    /// The binding.
    pub wire: Wire,
}

/// Peers of the agent at `url` in both bindings.
pub fn peers(url: &str) -> [Peer; 2] {
    WIRES.map(|wire| Peer::new(url, wire))
}

impl Peer {
    /// A peer.
    pub fn new(url: &str, wire: Wire) -> Self {
        Self {
            url: url.to_owned(),
            wire,
        }
    }

    /// Calls an operation that does not stream.
    ///
    /// # Errors
    /// With what the agent refuses.
    pub async fn call(&self, op: Op<'_>) -> Result<Raw, Refusal> {
        self.read(send(&self.url, &self.wire.request(op)).await)
    }

    /// Opens a stream.
    ///
    /// # Errors
    /// With what the agent refuses.
    pub async fn open(&self, op: Op<'_>) -> Result<Events, Refusal> {
        let request = self.wire.request(op);
        let streaming = Connection::open(&self.url).await.stream(&request).await;
        if streaming.header("content-type") != Some("text/event-stream") {
            let refused = self.read(streaming.whole().await);
            return Err(refused.expect_err("a stream or an error"));
        }
        assert_eq!(streaming.status, 200);
        Ok(Events {
            streaming,
            wire: self.wire,
        })
    }

    /// Sends a message and returns `task` or `message` of the result.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn send(&self, say: &Say) -> Raw {
        let sent = self.call(Op::Send(say)).await;
        let mut fields = sent.expect("an answer").fields();
        assert_eq!(fields.len(), 1, "one of task and message: {fields:?}");
        let (name, value) = fields.pop_first().expect("an answer");
        assert!(matches!(&*name, "task" | "message"), "{name}");
        value
    }

    /// Opens the stream of a message's answer.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn stream(&self, say: &Say) -> Events {
        self.open(Op::Stream(say)).await.expect("a stream")
    }

    /// Opens the stream of a message's answer and takes the task off it.
    ///
    /// # Panics
    /// When it is refused, or begins with something else.
    pub async fn begin(&self, say: &Say) -> (String, Events) {
        let mut events = self.stream(say).await;
        let first = events.next().await.expect("a first event");
        (first.string("task.id"), events)
    }

    /// The task as it stands.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn get(&self, id: &str) -> Raw {
        self.call(Op::Get(id)).await.expect("the task")
    }

    /// What a response says.
    ///
    /// # Errors
    /// With the protocol's error.
    ///
    /// # Panics
    /// When the response is not what the binding prescribes.
    pub fn read(&self, response: Response) -> Result<Raw, Refusal> {
        let media_type = match self.wire {
            Wire::JsonRpc => "application/json",
            Wire::Rest => "application/a2a+json",
        };
        assert_eq!(response.header("content-type"), Some(media_type));
        let body = Raw::parse(&response.body);
        match self.wire {
            Wire::JsonRpc => {
                let is_let_in = !matches!(response.status, 401 | 403);
                assert!(response.status == 200 || !is_let_in, "{body:?}");
                assert!(is_let_in || body.find("error").is_some(), "{body:?}");
                result_of(&body).map_err(|error| Refusal::new(&response, &error, "data"))
            }
            Wire::Rest if response.status == 200 => Ok(body),
            Wire::Rest => Err(Refusal::new(&response, &body.at("error"), "details")),
        }
    }
}

impl Wire {
    /// The request of an operation.
    pub fn request(self, op: Op<'_>) -> Request {
        match self {
            Self::JsonRpc => {
                let (method, params) = jsonrpc(op);
                Request::post("/", envelope(method, &params))
            }
            Self::Rest => rest(op),
        }
    }
}

/// A JSON-RPC request.
pub fn envelope(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#)
}

fn jsonrpc(op: Op<'_>) -> (&'static str, String) {
    let of_task = |id: &str| format!(r#"{{"id":{}}}"#, token(id));
    match op {
        Op::Send(say) => ("SendMessage", say.json()),
        Op::Stream(say) => ("SendStreamingMessage", say.json()),
        Op::Get(id) => ("GetTask", of_task(id)),
        Op::Cancel(id) => ("CancelTask", of_task(id)),
        Op::Subscribe(id) => ("SubscribeToTask", of_task(id)),
        Op::List(fields) => {
            let field = |(name, value): &(&str, &str)| match *name {
                "pageSize" | "historyLength" | "includeArtifacts" => format!(r#""{name}":{value}"#),
                _ => format!(r#""{name}":{}"#, token(value)),
            };
            let fields: Vec<String> = fields.iter().map(field).collect();
            ("ListTasks", format!("{{{}}}", fields.join(",")))
        }
    }
}

fn rest(op: Op<'_>) -> Request {
    match op {
        Op::Send(say) => Request::post("/message:send", say.json()),
        Op::Stream(say) => Request::post("/message:stream", say.json()),
        Op::Get(id) => Request::get(&format!("/tasks/{id}")),
        Op::Cancel(id) => Request::post(&format!("/tasks/{id}:cancel"), ""),
        Op::Subscribe(id) => Request::get(&format!("/tasks/{id}:subscribe")),
        Op::List(fields) => {
            let field = |(name, value): &(&str, &str)| format!("{name}={value}");
            let fields: Vec<String> = fields.iter().map(field).collect();
            Request::get(&format!("/tasks?{}", fields.join("&")))
        }
    }
}

/// The result of a JSON-RPC response, or its error object.
fn result_of(body: &Raw) -> Result<Raw, Raw> {
    assert_eq!(body.string("jsonrpc"), "2.0");
    let mut fields = body.fields();
    assert_eq!(fields.len(), 3, "jsonrpc, id and one more: {body:?}");
    match fields.remove("error") {
        Some(error) => Err(error),
        None => Ok(body.at("result")),
    }
}

/// The events of a stream.
#[derive(Debug)]
pub struct Events {
    streaming: Streaming,
    wire: Wire,
}

impl Events {
    /// The next event; `None` when the agent has closed the stream.
    ///
    /// # Panics
    /// When it is an error.
    pub async fn next(&mut self) -> Option<Raw> {
        let event = Raw::parse(&self.streaming.event().await?);
        Some(match self.wire {
            Wire::JsonRpc => {
                assert_eq!(event.at("id").text(), "7");
                result_of(&event).expect("an event")
            }
            Wire::Rest => {
                assert_eq!(event.find("error"), None);
                event
            }
        })
    }

    /// The next event of which `path` exists, with those before it dropped.
    ///
    /// # Panics
    /// When there is none.
    pub async fn until(&mut self, path: &str) -> Raw {
        loop {
            let event = self.next().await.expect("one more event");
            if event.find(path).is_some() {
                return event;
            }
        }
    }

    /// Closes the connection and waits until the agent's server has noticed.
    pub async fn hang_up(self) {
        self.streaming.hang_up().await;
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

/// An error that an agent answered with.
#[derive(Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// `code` of the error: JSON-RPC's, or the HTTP status again.
    pub code: i64,
    /// `reason` of the `ErrorInfo`.
    pub reason: String,
    /// The text for people.
    pub message: String,
    /// The whole body.
    pub body: String,
}

impl Refusal {
    fn new(response: &Response, error: &Raw, details: &str) -> Self {
        let info = error.at(details).items().remove(0);
        assert_eq!(
            info.string("@type"),
            "type.googleapis.com/google.rpc.ErrorInfo"
        );
        assert_eq!(info.string("domain"), "a2a-protocol.org");
        let code = error.at("code").text().parse().expect("a code");
        let refusal = Self {
            status: response.status,
            code,
            reason: info.string("reason"),
            message: error.string("message"),
            body: response.body.clone(),
        };
        assert!(!refusal.message.is_empty(), "{refusal:?}");
        if details == "details" {
            assert_eq!(refusal.code, i64::from(refusal.status));
            assert!(!error.string("status").is_empty());
        }
        refusal
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HTTP {}: {:.2000}", self.status, self.body)
    }
}
