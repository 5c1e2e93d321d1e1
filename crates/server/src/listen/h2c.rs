//! A port that speaks HTTP/1.1 and, in plaintext, HTTP/2: its clients tell which by their first
//! bytes.

use std::io::{self, Cursor};
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::HEAD_TIMEOUT;

/// What an HTTP/2 connection begins with (RFC 9113, section 3.4). No method of HTTP/1.1 does.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How often a silent connection is asked whether it is alive, and how long it has to answer.
const PING: Duration = Duration::from_secs(20);
/// Calls at the same time on one connection; a client that wants more opens another one.
const MAX_STREAMS: u32 = 250;
const MAX_HEAD_BYTES: u32 = 32 * 1024;
/// What a client may send ahead of what is read, for one call and for all of a connection.
const STREAM_WINDOW: u32 = 1024 * 1024;
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;

/// Serves a connection. There is one deadline from its beginning to its first whole request head.
pub(super) async fn connection(
    stream: TcpStream,
    router: Router,
    watcher: Watcher,
    closing: CancellationToken,
) {
    let deadline = Instant::now() + HEAD_TIMEOUT;
    let begun = CancellationToken::new();
    let late = async {
        tokio::select! {
            () = tokio::time::sleep_until(deadline) => {}
            () = begun.cancelled() => std::future::pending().await,
        }
    };
    tokio::select! {
        () = serve(stream, router, watcher, &closing, &begun) => {}
        () = late => {}
    }
}

async fn serve(
    stream: TcpStream,
    router: Router,
    watcher: Watcher,
    closing: &CancellationToken,
    begun: &CancellationToken,
) {
    let (mut read, write) = stream.into_split();
    let first = tokio::select! {
        first = first_bytes(&mut read) => first,
        () = closing.cancelled() => return,
    };
    let Ok(first) = first else {
        return;
    };
    let is_http2 = first == PREFACE;
    let io = TokioIo::new(tokio::io::join(Cursor::new(first).chain(read), write));
    let inner = TowerToHyperService::new(router);
    let begun = begun.clone();
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        begun.cancel();
        inner.call(request)
    });
    // A broken connection is the client's affair.
    let _ = if is_http2 {
        let served = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(PING)
            .keep_alive_timeout(PING)
            .max_concurrent_streams(MAX_STREAMS)
            .max_header_list_size(MAX_HEAD_BYTES)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .serve_connection(io, service);
        watcher.watch(served).await
    } else {
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(io, service);
        watcher.watch(served).await
    };
}

/// The bytes that tell HTTP/2 from HTTP/1.1: the whole preface, or all up to the first difference.
async fn first_bytes(read: &mut OwnedReadHalf) -> io::Result<Vec<u8>> {
    let mut first = Vec::with_capacity(PREFACE.len());
    while first.len() < PREFACE.len() && PREFACE.starts_with(&first) {
        let room = (PREFACE.len() - first.len()) as u64;
        if read.take(room).read_buf(&mut first).await? == 0 {
            break;
        }
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::any;
    use hyper_util::server::graceful::GracefulShutdown;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;

    use super::{HEAD_TIMEOUT, PREFACE, connection};

    /// Serves a client that sends `bytes` and nothing more. Time is the runtime's: it runs on as
    /// soon as there is nothing to do.
    async fn serve(bytes: &[u8]) -> (TcpStream, impl Future<Output = ()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(bytes).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let router = Router::new().fallback(any(async || "here"));
        let served = async move {
            let graceful = GracefulShutdown::new();
            connection(stream, router, graceful.watcher(), CancellationToken::new()).await;
        };
        (client, served)
    }

    #[tokio::test(start_paused = true)]
    async fn who_sends_no_whole_head_in_time_is_dropped() {
        let settings = b"\0\0\0\x04\0\0\0\0\0";
        let half = b"POST / HTTP/1.1\r\nHost: ".as_slice();
        let cases: [&[u8]; 5] = [
            b"",
            PREFACE.split_at(7).0,
            half,
            PREFACE,
            &[PREFACE, settings].concat(),
        ];
        for bytes in cases {
            let begun = Instant::now();
            let (client, served) = serve(bytes).await;
            served.await;
            assert_eq!(
                begun.elapsed().as_secs(),
                HEAD_TIMEOUT.as_secs(),
                "{bytes:?}"
            );
            drop(client);
        }
    }

    #[tokio::test]
    async fn other_first_bytes_are_http_1() {
        for bytes in [
            b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".as_slice(),
            b"PRIVATE / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
            b"P / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        ] {
            let (mut client, served) = serve(bytes).await;
            served.await;
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            assert!(answer.ends_with("here"), "{answer}");
        }
    }
}
