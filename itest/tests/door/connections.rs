//! What a connection may hold, and bodies with two meanings.

use std::time::Duration;

use llamon_agent::server::{AgentHost, ConnectionLimits, GrpcAt};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{Bound, start};
use llamon_itest::http::{Connection, Request, send};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{CARD, done, exchange, status};

async fn connect(server: &TestServer) -> TcpStream {
    let address = server.url().strip_prefix("http://").expect("an http URL");
    TcpStream::connect(address).await.expect("a server")
}

/// Waits until the server has closed the connection.
async fn closed(stream: &mut TcpStream) {
    let mut rest = Vec::new();
    let end = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut rest));
    // A reset is an end, too.
    let _ = end.await.expect("an end of the connection");
    assert!(rest.is_empty(), "{rest:?}");
}

#[tokio::test]
async fn idle_connections_give_way_to_new_ones() {
    for limits in [
        ConnectionLimits::default().with_max_connections(3),
        ConnectionLimits::default().with_max_connections_per_address(3),
    ] {
        let server = start(done().connection_limits(limits)).await;
        let mut kept = Connection::open(server.url()).await;
        assert_eq!(kept.send(&Request::get(CARD)).await.status, 200);
        let mut silent = connect(&server).await;
        let mut half = connect(&server).await;
        half.write_all(b"GET / HTT").await.unwrap();
        // The second request makes it the one that was used last.
        assert_eq!(kept.send(&Request::get(CARD)).await.status, 200);
        assert_eq!(send(server.url(), &Request::get(CARD)).await.status, 200);
        closed(&mut silent).await;
        assert_eq!(kept.send(&Request::get(CARD)).await.status, 200);
    }
}

#[tokio::test]
async fn a_flood_of_idle_connections_shuts_nobody_out() {
    let limits = ConnectionLimits::default()
        .with_max_connections(20)
        .with_max_connections_per_address(10);
    let server = start(done().connection_limits(limits)).await;
    let mut flood = Vec::new();
    for _ in 0..100 {
        flood.push(connect(&server).await);
        if flood.len() % 10 == 0 {
            let reply = server.send("go").await.unwrap();
            assert_eq!(reply.text(), "done");
        }
    }
    for stream in flood.iter_mut().take(80) {
        closed(stream).await;
    }
}

#[tokio::test]
async fn limits_of_a_shared_port_are_those_of_its_host() {
    let limits = || ConnectionLimits::default().with_max_headers(10);
    let own = done().connection_limits(limits()).await.unwrap();
    let other = done().await.unwrap();
    let host = AgentHost::new().agent("/a", own).agent("/b", other);
    let error = host.bind("127.0.0.1:0").await.unwrap_err();
    assert!(
        error.config().is_some_and(|error| error.is_limit()),
        "{error}"
    );
    assert!(error.to_string().contains("AgentHost"), "{error}");
    let (one, other) = (done().await.unwrap(), done().await.unwrap());
    let host = AgentHost::new().agent("/a", one).agent("/b", other);
    let bound = Bound::host(host.connection_limits(limits())).await;
    let mut request = Request::get(&format!("/a{CARD}"));
    for at in 0..10 {
        request = request.header(&format!("X-{at}"), "y");
    }
    let head = send(&bound.url, &request).await;
    assert_eq!(head.status, 431, "{head:?}");
}

#[tokio::test]
async fn a_limit_that_cannot_be_kept_is_an_error_of_the_builder() {
    let limits = ConnectionLimits::default().with_max_connections(0);
    let error = done().connection_limits(limits).await.unwrap_err();
    assert!(error.is_limit(), "{error}");
    assert!(error.to_string().contains("max_connections"), "{error}");
}

#[tokio::test]
async fn lengths_that_disagree_are_refused_and_end_the_connection() {
    let server = start(done()).await;
    let smuggled = "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    for lengths in [
        "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        "Content-Length: 2, 3\r\n\r\n{}",
        "Content-Length: +2\r\n\r\n{}",
        "Content-Length: -1\r\n\r\n{}",
        "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        "Content-Length : 2\r\n\r\n{}",
        "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    ] {
        let answer = exchange(server.url(), format!("{head}{lengths}{smuggled}")).await;
        assert_eq!(status(&answer), 400, "{lengths:?}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
        assert!(!answer.contains("smuggled"), "{answer}");
    }
    // Here chunks count for everybody who keeps to the standard; for the others it ends.
    for lengths in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
    ] {
        let answer = exchange(server.url(), format!("{head}{lengths}{smuggled}")).await;
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
        assert!(answer.contains("connection: close"), "{answer}");
        assert!(!answer.contains("smuggled"), "{answer}");
    }
}

#[tokio::test]
async fn bodies_are_never_decompressed() {
    let server = start(done()).await;
    let body = r#"{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"go"}]}}"#;
    for coding in ["gzip", "identity, br", "x-anything"] {
        for path in ["/message:send", "/"] {
            let request = Request::post(path, body).header("Content-Encoding", coding);
            let answer = send(server.url(), &request).await;
            assert_eq!(answer.status, 415, "{coding}: {answer:?}");
            assert!(answer.body.contains("never decompressed"), "{answer:?}");
        }
    }
    let request = Request::post("/message:send", body).header("Content-Encoding", "identity");
    assert_eq!(send(server.url(), &request).await.status, 200);
}

/// Sends HTTP/2 frames and reads until the server ends the connection.
async fn frames(url: &str, frames: &[u8]) -> Vec<u8> {
    let address = url.strip_prefix("http://").expect("an http URL");
    let mut stream = TcpStream::connect(address).await.expect("a server");
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    stream.write_all(preface).await.expect("a reader");
    stream.write_all(&settings).await.expect("a reader");
    // It may be closed before all is sent.
    let _ = stream.write_all(frames).await;
    let mut answer = Vec::new();
    let end = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut answer));
    let _ = end.await.expect("an end of the connection");
    answer
}

#[tokio::test]
async fn a_rapid_reset_ends_its_connection_and_nothing_else() {
    let server = start(done().grpc(GrpcAt::SamePort)).await;
    let mut flood = Vec::new();
    for stream in (1_u32..4_000).step_by(2) {
        // HEADERS with :method POST, :scheme http, :path / and an :authority, then RST_STREAM.
        let mut block = vec![0x83, 0x86, 0x84, 0x41, 9];
        block.extend_from_slice(b"localhost");
        flood.extend_from_slice(&[0, 0, u8::try_from(block.len()).unwrap(), 1, 4]);
        flood.extend_from_slice(&stream.to_be_bytes());
        flood.extend_from_slice(&block);
        flood.extend_from_slice(&[0, 0, 4, 3, 0]);
        flood.extend_from_slice(&stream.to_be_bytes());
        flood.extend_from_slice(&[0, 0, 0, 8]);
    }
    let answer = frames(server.url(), &flood).await;
    // GOAWAY with ENHANCE_YOUR_CALM, unless the socket was reset before it could be read.
    let goaway = answer.windows(4).any(|bytes| bytes == [0, 0, 0, 11]);
    assert!(goaway || answer.len() < 4_000, "{answer:?}");
    let reply = server.send("go").await.unwrap();
    assert_eq!(reply.text(), "done");
}
