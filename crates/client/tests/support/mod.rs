//! A small HTTP server that answers what a test tells it to, byte by byte.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use llamon_client::egress::{Resolve, Resolving};
use llamon_client::{Binding, Client, ClientBuilder};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) line: String,
    head: String,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// What the server does with a request.
pub(crate) enum Action {
    /// Sends these bytes and closes the connection.
    Send(Vec<u8>),
    /// Sends these bytes and keeps the connection open until the client closes it.
    SendAndHold(Vec<u8>),
    /// Resets the connection.
    Reset,
}

pub(crate) struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    connections: Arc<AtomicUsize>,
    running: JoinHandle<()>,
}

impl Server {
    /// Answers each request with what `act` says; it gets the number of the request, from 0, and
    /// the server's address.
    pub(crate) async fn start(
        act: impl Fn(usize, &Request, SocketAddr) -> Action + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        Self::listen(listener, act)
    }

    /// Answers each request with an empty object, at `address`; `None` where this machine does not
    /// have it.
    pub(crate) async fn start_on(address: &str) -> Option<Self> {
        let listener = TcpListener::bind(address).await.ok()?;
        Some(Self::listen(listener, |_, _, _| json("{}")))
    }

    fn listen(
        listener: TcpListener,
        act: impl Fn(usize, &Request, SocketAddr) -> Action + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let connections = Arc::new(AtomicUsize::new(0));
        let accepted = Arc::clone(&connections);
        let act = Arc::new(act);
        let running = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::SeqCst);
                let (seen, act) = (Arc::clone(&seen), Arc::clone(&act));
                tokio::spawn(async move {
                    let Some(request) = read_request(&mut stream).await else {
                        return;
                    };
                    let number = {
                        let mut seen = seen.lock().expect("a lock");
                        seen.push(request.clone());
                        seen.len() - 1
                    };
                    // The client may be gone already, which is what some tests are about.
                    let _ = perform(stream, act(number, &request, address)).await;
                });
            }
        });
        Self {
            address,
            requests,
            connections,
            running,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A client of this server, which has both bindings.
    pub(crate) fn client(&self, builder: ClientBuilder) -> Client {
        builder
            .with_card(&both(self.address), &self.url(""))
            .expect("a client")
    }

    /// How many connections were accepted.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("a lock").clone()
    }
}

/// A client whose calls are all answered with `value`, as the binding puts it.
pub(crate) async fn answering(binding: Binding, value: &str) -> (Client, Server) {
    let body = match binding {
        Binding::JsonRpc => result(value),
        _ => value.to_owned(),
    };
    let server = Server::start(move |_, _, _| json(&body)).await;
    (server.client(Client::builder().binding(binding)), server)
}

impl Drop for Server {
    fn drop(&mut self) {
        self.running.abort();
    }
}

async fn perform(mut stream: TcpStream, action: Action) -> io::Result<()> {
    match action {
        Action::Send(bytes) => {
            stream.write_all(&bytes).await?;
            stream.shutdown().await
        }
        Action::SendAndHold(bytes) => {
            stream.write_all(&bytes).await?;
            stream.read(&mut [0]).await.map(|_| ())
        }
        Action::Reset => stream.set_zero_linger(),
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes.get(..end)?.to_vec()).ok()?;
    let line = head.lines().next()?.to_owned();
    let mut request = Request {
        line,
        head,
        body: String::new(),
    };
    let length: usize = request
        .header("content-length")
        .map_or(Some(0), |length| length.parse().ok())?;
    while bytes.len() < end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    request.body = String::from_utf8(bytes.split_off(end)).ok()?;
    Some(request)
}

// === names ===

type Answer = dyn Fn(usize, &str) -> io::Result<Vec<IpAddr>> + Send + Sync;

/// A name server that says what a test wants, and remembers what it was asked.
#[derive(Clone)]
pub(crate) struct Names {
    answer: Arc<Answer>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Names {
    /// `answer` gets the number of the lookup, from 0, and the name.
    pub(crate) fn new(
        answer: impl Fn(usize, &str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            answer: Arc::new(answer),
            asked: Arc::default(),
        }
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("a lock").clone()
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        let mut asked = self.asked.lock().expect("a lock");
        asked.push(host.to_owned());
        let answer = (self.answer)(asked.len() - 1, host);
        // The port is not the resolver's to say.
        let addresses = |ips: Vec<IpAddr>| ips.into_iter().map(|ip| SocketAddr::new(ip, 1));
        Box::pin(async move { answer.map(|ips| addresses(ips).collect()) })
    }
}

// === responses ===

/// A response with a body of known length.
pub(crate) fn response(status: u16, media_type: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut bytes = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {media_type}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

pub(crate) fn json(body: impl AsRef<[u8]>) -> Action {
    Action::Send(response(200, "application/json", body))
}

/// The beginning of an event stream and these chunks of it, not its end.
pub(crate) fn open_stream(chunks: &[&[u8]]) -> Vec<u8> {
    let mut bytes = b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n".to_vec();
    for chunk in chunks {
        bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// An event stream of these chunks.
pub(crate) fn stream(chunks: &[&[u8]]) -> Vec<u8> {
    let mut bytes = open_stream(chunks);
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

/// An event stream of these events, a chunk each.
pub(crate) fn events(events: &[String]) -> Action {
    let events: Vec<String> = events
        .iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect();
    let chunks: Vec<&[u8]> = events.iter().map(String::as_bytes).collect();
    Action::Send(stream(&chunks))
}

/// `result` as the answer of a JSON-RPC call.
pub(crate) fn result(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"1","result":{result}}}"#)
}

// === cards ===

/// A card with these interfaces: binding, version, URL.
pub(crate) fn card(interfaces: &[(&str, &str, &str)]) -> String {
    let interfaces: Vec<String> = interfaces
        .iter()
        .map(|(binding, version, url)| {
            format!(
                r#"{{"url":"{url}","protocolBinding":"{binding}","protocolVersion":"{version}"}}"#
            )
        })
        .collect();
    format!(
        r#"{{"name":"test","description":"d","version":"1","x-unknown":1e400,"supportedInterfaces":[{}],"capabilities":{{"streaming":true}},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[]}}"#,
        interfaces.join(",")
    )
}

/// A card of the server at `address`, with JSON-RPC at `/rpc` and REST at `/rest`.
pub(crate) fn both(address: SocketAddr) -> String {
    card(&[
        ("JSONRPC", "1.0", &format!("http://{address}/rpc")),
        ("HTTP+JSON", "1.0", &format!("http://{address}/rest")),
    ])
}

/// A task's JSON: state, and the JSON of its artifacts.
pub(crate) fn task(state: &str, artifacts: &str) -> String {
    format!(
        r#"{{"id":"t1","contextId":"c1","status":{{"state":"TASK_STATE_{state}"}},"artifacts":[{artifacts}]}}"#
    )
}

pub(crate) fn task_event(state: &str) -> String {
    format!(r#"{{"task":{}}}"#, task(state, ""))
}

pub(crate) fn status_event(state: &str) -> String {
    format!(
        r#"{{"statusUpdate":{{"taskId":"t1","contextId":"c1","status":{{"state":"TASK_STATE_{state}"}}}}}}"#
    )
}

pub(crate) fn artifact_event(append: bool, parts: &str) -> String {
    format!(
        r#"{{"artifactUpdate":{{"taskId":"t1","contextId":"c1","append":{append},"artifact":{{"artifactId":"response","parts":[{parts}]}}}}}}"#
    )
}
