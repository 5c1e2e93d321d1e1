//! Receivers of push notifications: web servers that answer as a test tells them to.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::agents::{Gate, patient};
use crate::raw::Raw;

/// What arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Got {
    /// The request's path with its query.
    pub path: String,
    /// The headers in their order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

/// How a request is answered.
#[derive(Clone, Debug)]
pub enum Answer {
    /// With this status.
    Status(u16),
    /// With this status and a header.
    Header(u16, &'static str, String),
    /// Never: the connection stays open.
    Never,
    /// By closing the connection.
    Close,
    /// With 200, once the gate is open.
    After(Gate),
}

/// A receiver on loopback. It stops when this value is dropped.
#[derive(Debug)]
pub struct Receiver {
    /// Its URL.
    pub url: String,
    got: Arc<Mutex<Vec<Got>>>,
    count: watch::Sender<usize>,
    /// Requests without an answer whose connection the agent has closed.
    given_up: watch::Sender<usize>,
    running: JoinHandle<()>,
}

type Script = dyn Fn(usize, &Got) -> Answer + Send + Sync;

impl Receiver {
    /// A receiver that answers every request with 200.
    pub async fn start() -> Self {
        Self::answering(|_, _| Answer::Status(200)).await
    }

    /// A receiver that answers its n-th request, from 0, with what `script` says.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn answering(script: impl Fn(usize, &Got) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
        let address = listener.local_addr().expect("an address");
        let got = Arc::<Mutex<Vec<Got>>>::default();
        let (count, given_up) = (watch::Sender::new(0), watch::Sender::new(0));
        let state = (
            Arc::clone(&got),
            count.clone(),
            given_up.clone(),
            Arc::<Script>::from(Box::new(script) as Box<Script>),
        );
        let running = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (got, count, given_up, script) = state.clone();
                connections
                    .spawn(async move { serve(stream, &got, &count, &given_up, &*script).await });
            }
        });
        Self {
            url: format!("http://{address}/hook"),
            got,
            count,
            given_up,
            running,
        }
    }

    /// What has arrived, in the order of arrival.
    pub fn got(&self) -> Vec<Got> {
        self.got.lock().expect("a lock").clone()
    }

    /// Waits until this many requests have arrived.
    pub async fn wait(&self, requests: usize) -> Vec<Got> {
        let mut count = self.count.subscribe();
        let arrived = patient(count.wait_for(|count| *count >= requests)).await;
        drop(arrived.expect("a receiver that runs"));
        self.got()
    }

    /// Waits until the agent has closed the connections of this many requests that got no answer.
    pub async fn wait_given_up(&self, requests: usize) {
        let mut given_up = self.given_up.subscribe();
        let closed = patient(given_up.wait_for(|count| *count >= requests)).await;
        drop(closed.expect("a receiver that runs"));
    }

    /// Waits until a request has arrived that `is_it` is true of.
    pub async fn wait_for(&self, is_it: impl Fn(&Got) -> bool) -> Vec<Got> {
        let mut count = self.count.subscribe();
        let mut looked_at = 0;
        let there = |_: &usize| {
            let got = self.got.lock().expect("a lock");
            let new = &got[looked_at..];
            looked_at = got.len();
            new.iter().any(&is_it)
        };
        let arrived = patient(count.wait_for(there)).await;
        drop(arrived.expect("a receiver that runs"));
        self.got()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl Got {
    /// The header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The event.
    ///
    /// # Panics
    /// When the body is no JSON.
    pub fn event(&self) -> Raw {
        Raw::parse(&self.body)
    }

    /// Whether it brings a task to this state.
    pub fn is_state(&self, state: &str) -> bool {
        let said = self.event().find("statusUpdate.status.state");
        said.is_some_and(|said| said.text() == format!("{state:?}"))
    }
}

async fn serve(
    mut stream: TcpStream,
    got: &Mutex<Vec<Got>>,
    count: &watch::Sender<usize>,
    given_up: &watch::Sender<usize>,
    script: &Script,
) {
    stream.set_nodelay(true).expect("TCP_NODELAY");
    let mut buffer = Vec::new();
    while let Some(request) = read(&mut stream, &mut buffer).await {
        let answer = {
            let mut all = got.lock().expect("a lock");
            let answer = script(all.len(), &request);
            all.push(request);
            answer
        };
        count.send_modify(|count| *count += 1);
        let (status, header) = match answer {
            Answer::Status(status) => (status, String::new()),
            Answer::Header(status, name, value) => (status, format!("{name}: {value}\r\n")),
            Answer::Never => {
                while more(&mut stream, &mut buffer).await.is_some() {}
                given_up.send_modify(|count| *count += 1);
                return;
            }
            Answer::Close => return,
            Answer::After(gate) => {
                gate.pass().await;
                (200, String::new())
            }
        };
        let head = format!("HTTP/1.1 {status} So\r\n{header}Content-Length: 0\r\n\r\n");
        if stream.write_all(head.as_bytes()).await.is_err() || header.starts_with("Connection") {
            return;
        }
    }
}

async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Got> {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|part| part == b"\r\n\r\n") {
            break at;
        }
        more(stream, buffer).await?;
    };
    let head = String::from_utf8(buffer[..end].to_vec()).expect("a head of UTF-8");
    let mut lines = head.split("\r\n");
    let line = lines.next().expect("a request line");
    let path = line.strip_prefix("POST ").expect("a POST");
    let path = path.split(' ').next().expect("a path").to_owned();
    let headers: Vec<(String, String)> = lines
        .map(|line| line.split_once(':').expect("a header"))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.expect("a length").1.parse().expect("a length");
    let begin = end + 4;
    while buffer.len() < begin + length {
        more(stream, buffer).await?;
    }
    let body = buffer[begin..begin + length].to_vec();
    buffer.drain(..begin + length);
    Some(Got {
        path,
        headers,
        body: String::from_utf8(body).expect("a body of UTF-8"),
    })
}

async fn more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    let read = stream.read_buf(buffer).await.ok()?;
    (read > 0).then_some(())
}
