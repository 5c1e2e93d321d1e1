//! HTTP/1.1 over a socket, byte by byte.

use std::collections::VecDeque;
use std::io::BufRead as _;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How long a test waits for bytes before it fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    /// A request without a body; `path` is relative to the agent's URL.
    pub fn new(method: &str, path: &str) -> Self {
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: vec![("A2A-Version".to_owned(), "1.0".to_owned())],
            body: Vec::new(),
        }
    }

    /// A GET.
    pub fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    /// A POST of a JSON body.
    pub fn post(path: &str, body: impl Into<Vec<u8>>) -> Self {
        let mut request = Self::new("POST", path).header("Content-Type", "application/json");
        request.body = body.into();
        request
    }

    /// Sets a header, in the place of one that is there.
    #[must_use]
    pub fn header(self, name: &str, value: &str) -> Self {
        let mut request = self.without(name);
        request.headers.push((name.to_owned(), value.to_owned()));
        request
    }

    /// Removes a header.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    fn bytes(&self, authority: &str, base_path: &str) -> Vec<u8> {
        let mut head = format!("{} {base_path}{} HTTP/1.1\r\n", self.method, self.path);
        head.push_str(&format!("Host: {authority}\r\n"));
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if self.method != "GET" || !self.body.is_empty() {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// A response, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers in their order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Response {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }
}

/// Sends a request to the agent at `url` on a connection of its own.
pub async fn send(url: &str, request: &Request) -> Response {
    Connection::open(url).await.send(request).await
}

/// A connection that takes one request after the other.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    authority: String,
    base_path: String,
    // What was received and is not used yet.
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects to the agent at `url`.
    ///
    /// # Panics
    /// When nobody listens there.
    pub async fn open(url: &str) -> Self {
        let rest = url.strip_prefix("http://").expect("an http URL");
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let stream = TcpStream::connect(authority).await.expect("a connection");
        stream.set_nodelay(true).expect("TCP_NODELAY");
        Self {
            stream,
            authority: authority.to_owned(),
            base_path: path.trim_end_matches('/').to_owned(),
            buffer: Vec::new(),
        }
    }

    /// Sends a request and reads the whole response.
    pub async fn send(&mut self, request: &Request) -> Response {
        self.write(request).await;
        let (status, headers) = self.head().await;
        let mut body = Body::new(status, &headers);
        let mut bytes = Vec::new();
        while let Some(chunk) = self.chunk(&mut body).await {
            bytes.extend_from_slice(&chunk);
        }
        Response {
            status,
            headers,
            body: String::from_utf8(bytes).expect("a body of UTF-8"),
        }
    }

    /// Sends a request and reads the response's head.
    pub async fn stream(mut self, request: &Request) -> Streaming {
        self.write(request).await;
        let (status, headers) = self.head().await;
        Streaming {
            body: Body::new(status, &headers),
            connection: self,
            status,
            headers,
            blocks: VecDeque::new(),
            begun: Vec::new(),
        }
    }

    /// Closes the connection and waits until the server has noticed: it closes its side then.
    pub async fn hang_up(mut self) {
        self.stream.shutdown().await.expect("a connection");
        while self.receive().await {
            self.buffer.clear();
        }
    }

    /// Sends a request without reading the response.
    ///
    /// # Panics
    /// When the connection is closed.
    pub async fn write(&mut self, request: &Request) {
        let bytes = request.bytes(&self.authority, &self.base_path);
        self.stream
            .write_all(&bytes)
            .await
            .expect("a server that reads");
    }

    async fn head(&mut self) -> (u16, Vec<(String, String)>) {
        let end = self.until(b"\r\n\r\n").await;
        let head = String::from_utf8(end).expect("a head of UTF-8");
        let mut lines = head.split("\r\n");
        let status = lines
            .next()
            .and_then(|line| line.split(' ').nth(1))
            .and_then(|status| status.parse().ok())
            .expect("a status line");
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        (status, headers)
    }

    /// What comes before `mark`, which is taken as well.
    async fn until(&mut self, mark: &[u8]) -> Vec<u8> {
        loop {
            let found = self
                .buffer
                .windows(mark.len())
                .position(|part| part == mark);
            if let Some(at) = found {
                let before = self.take(at);
                self.take(mark.len());
                return before;
            }
            assert!(self.receive().await, "the connection ended amid a head");
        }
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        let rest = self.buffer.split_off(count);
        std::mem::replace(&mut self.buffer, rest)
    }

    /// Receives some bytes; false at the end of the connection.
    async fn receive(&mut self) -> bool {
        let mut chunk = vec![0; 65_536];
        let read = tokio::time::timeout(PATIENCE, self.stream.read(&mut chunk)).await;
        // A connection that is reset has ended as well.
        let count = read.expect("a server that answers").unwrap_or_default();
        chunk.truncate(count);
        self.buffer.append(&mut chunk);
        count > 0
    }

    async fn chunk(&mut self, body: &mut Body) -> Option<Vec<u8>> {
        match body {
            Body::Sized(0) => None,
            Body::Sized(left) => {
                if self.buffer.is_empty() {
                    assert!(self.receive().await, "the connection ended amid a body");
                }
                let chunk = self.take(self.buffer.len().min(*left));
                *left -= chunk.len();
                Some(chunk)
            }
            Body::Chunked => {
                let size = String::from_utf8(self.until(b"\r\n").await).expect("a chunk's size");
                let size = usize::from_str_radix(size.trim(), 16).expect("a chunk's size");
                while self.buffer.len() < size + 2 {
                    assert!(self.receive().await, "the connection ended amid a chunk");
                }
                let chunk = self.take(size);
                self.take(2);
                if size == 0 {
                    *body = Body::Sized(0);
                    return None;
                }
                Some(chunk)
            }
        }
    }
}

/// What is left of a body.
#[derive(Debug)]
enum Body {
    Sized(usize),
    Chunked,
}

impl Body {
    fn new(status: u16, headers: &[(String, String)]) -> Self {
        if status == 304 || status == 204 {
            return Self::Sized(0);
        }
        if find(headers, "transfer-encoding") == Some("chunked") {
            return Self::Chunked;
        }
        let length = find(headers, "content-length").expect("a body with a length");
        Self::Sized(length.parse().expect("a length"))
    }
}

/// A response that is still being sent. Dropping it closes the connection.
#[derive(Debug)]
pub struct Streaming {
    /// The status.
    pub status: u16,
    /// The headers in their order, names in lower case.
    pub headers: Vec<(String, String)>,
    connection: Connection,
    body: Body,
    blocks: VecDeque<String>,
    // The beginning of a block whose end has not come yet.
    begun: Vec<u8>,
}

impl Streaming {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// The data of the next event; `None` at the orderly end of the response.
    ///
    /// # Panics
    /// When there is anything but comments and events of one `data:` line each.
    pub async fn event(&mut self) -> Option<String> {
        // What says only that the server is alive is no event.
        let event = tokio::time::timeout(PATIENCE, self.next_event()).await;
        event.expect("an event or the end")
    }

    async fn next_event(&mut self) -> Option<String> {
        loop {
            while let Some(block) = self.blocks.pop_front() {
                if block.starts_with(':') {
                    continue;
                }
                assert!(!block.contains(['\n', '\r']), "more than a line: {block:?}");
                let data = block.strip_prefix("data: ").expect("a data line");
                return Some(data.to_owned());
            }
            match self.connection.chunk(&mut self.body).await {
                Some(chunk) => self.split(&chunk),
                None => {
                    assert!(self.begun.is_empty(), "the stream ended amid an event");
                    return None;
                }
            }
        }
    }

    /// Closes the connection and waits until the server has noticed.
    pub async fn hang_up(self) {
        self.connection.hang_up().await;
    }

    /// The whole response, of which no event was taken.
    pub async fn whole(mut self) -> Response {
        let mut body = self.begun;
        while let Some(chunk) = self.connection.chunk(&mut self.body).await {
            body.extend_from_slice(&chunk);
        }
        Response {
            status: self.status,
            headers: self.headers,
            body: String::from_utf8(body).expect("a body of UTF-8"),
        }
    }

    fn split(&mut self, mut chunk: &[u8]) {
        while !chunk.is_empty() {
            let read = chunk.read_until(b'\n', &mut self.begun);
            read.expect("a slice can be read");
            if self.begun.ends_with(b"\n\n") {
                let mut block = std::mem::take(&mut self.begun);
                block.truncate(block.len() - 2);
                let block = String::from_utf8(block).expect("an event of UTF-8");
                self.blocks.push_back(block);
            }
        }
    }
}

fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut values = headers
        .iter()
        .filter(|(known, _)| known.eq_ignore_ascii_case(name));
    values.next().map(|(_, value)| value.as_str())
}
