//! One connection, from its first byte to its last.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, StatusCode, Version, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use hyper_util::service::TowerToHyperService;
use llamon_core::a2a::{A2aError, ErrorCode, MEDIA_TYPE};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

#[cfg(feature = "grpc")]
use super::h2c;
use super::limits::ConnectionLimits;
use super::patience::{Answers, Arriving, Late, Leaving, Reading};
use super::places::Place;
use crate::host::Speaks;
use crate::peer::Peer;

/// What hyper has room for without asking for memory.
const HEADERS_WITHOUT_COST: usize = 100;

/// A connection and what it may do.
pub(super) struct Connection {
    pub(super) router: Router,
    pub(super) speaks: Speaks,
    pub(super) limits: Arc<ConnectionLimits>,
    pub(super) place: Arc<Place>,
    pub(super) peer: Peer,
    #[cfg(feature = "tls")]
    pub(super) tls: Option<crate::tls::Tls>,
    pub(super) watcher: Watcher,
    /// Says that it is too late to begin.
    #[cfg_attr(
        not(any(feature = "grpc", feature = "tls")),
        expect(dead_code, reason = "HTTP/1.1 begins at once")
    )]
    pub(super) closing: CancellationToken,
}

impl Connection {
    /// Serves it. There is one deadline from its beginning to its first whole request head.
    pub(super) async fn serve(self, stream: TcpStream) {
        let deadline = Instant::now() + self.limits.head_timeout;
        let begun = CancellationToken::new();
        let late = async {
            tokio::select! {
                () = tokio::time::sleep_until(deadline) => {}
                () = begun.cancelled() => std::future::pending().await,
            }
        };
        let place = Arc::clone(&self.place);
        tokio::select! {
            () = self.speak(stream, &begun) => {}
            () = late => {}
            () = place.given_away() => tracing::debug!(
                address = %place.address(),
                "an idle connection gave way to a new one"
            ),
        }
    }

    async fn speak(self, stream: TcpStream, begun: &CancellationToken) {
        // Without it, each event of a stream waits for the acknowledgement of the one before.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY cannot be set");
        }
        let patience = self.limits.write_idle_timeout;
        #[cfg(feature = "tls")]
        if let Some(tls) = self.tls.clone() {
            return self.speak_secretly(stream, &tls, begun).await;
        }
        match self.speaks {
            Speaks::Http1 => self.http1(Reading::new(stream, patience), begun).await,
            #[cfg(feature = "grpc")]
            Speaks::Http1AndHttp2 => {
                let (mut read, write) = stream.into_split();
                let first = tokio::select! {
                    first = h2c::first_bytes(&mut read) => first,
                    () = self.closing.cancelled() => return,
                };
                let Ok(first) = first else {
                    return;
                };
                let is_http2 = first == h2c::PREFACE;
                let read = tokio::io::AsyncReadExt::chain(std::io::Cursor::new(first), read);
                let io = tokio::io::join(read, Reading::new(write, patience));
                if is_http2 {
                    self.http2(io, begun).await;
                } else {
                    self.http1(io, begun).await;
                }
            }
        }
    }

    #[cfg(feature = "tls")]
    async fn speak_secretly(
        mut self,
        stream: TcpStream,
        tls: &crate::tls::Tls,
        begun: &CancellationToken,
    ) {
        let stream = Reading::new(stream, self.limits.write_idle_timeout);
        let secured = tokio::select! {
            secured = super::secure::accept(tls, stream, self.speaks) => secured,
            () = self.closing.cancelled() => return,
        };
        let secured = match secured {
            Ok(secured) => secured,
            Err(error) => {
                tracing::debug!(address = %self.place.address(), %error, "no TLS connection");
                return;
            }
        };
        self.peer.certificate = secured.certificate;
        #[cfg(feature = "grpc")]
        if secured.is_http2 {
            return self.http2(secured.stream, begun).await;
        }
        self.http1(secured.stream, begun).await;
    }

    async fn http1<I>(self, io: I, begun: &CancellationToken)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let exchanges = Arc::new(Exchanges::new(
            self.router,
            self.peer,
            self.place,
            self.limits,
        ));
        let limits = Arc::clone(&exchanges.limits);
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head_timeout)
            .max_header_size(limits.max_head_bytes as usize);
        if limits.max_headers != HEADERS_WITHOUT_COST {
            builder.max_headers(limits.max_headers);
        }
        let begun = begun.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            begun.cancel();
            let exchanges = Arc::clone(&exchanges);
            async move { exchanges.answer(request, None).await }
        });
        let served = builder.serve_connection(TokioIo::new(io), service);
        // A broken connection is the client's affair.
        let _ = self.watcher.watch(served).await;
    }

    #[cfg(feature = "grpc")]
    async fn http2<I>(self, io: I, begun: &CancellationToken)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let exchanges = Arc::new(Exchanges::new(
            self.router,
            self.peer,
            self.place,
            self.limits,
        ));
        let limits = Arc::clone(&exchanges.limits);
        let answers = Arc::new(Answers::new());
        let begun = begun.clone();
        let service = {
            let answers = Arc::clone(&answers);
            service_fn(move |request: Request<Incoming>| {
                begun.cancel();
                let (exchanges, answers) = (Arc::clone(&exchanges), Arc::clone(&answers));
                async move { exchanges.answer(request, Some(&answers)).await }
            })
        };
        let served = h2c::builder(&limits).serve_connection(TokioIo::new(io), service);
        tokio::select! {
            // A broken connection is the client's affair.
            _ = self.watcher.watch(served) => {}
            () = answers.neglected(limits.write_idle_timeout) => {}
        }
    }
}

/// Requests and their answers on one connection.
struct Exchanges {
    router: TowerToHyperService<Router>,
    peer: Arc<Peer>,
    place: Arc<Place>,
    limits: Arc<ConnectionLimits>,
}

impl Exchanges {
    fn new(router: Router, peer: Peer, place: Arc<Place>, limits: Arc<ConnectionLimits>) -> Self {
        Self {
            router: TowerToHyperService::new(router),
            peer: Arc::new(peer),
            place,
            limits,
        }
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        answers: Option<&Answers>,
    ) -> Result<Response<Leaving>, std::convert::Infallible> {
        let busy = self.place.busy();
        let version = request.version();
        let late = Late::default();
        // HTTP/1.1 has been asked already.
        let found = request.headers().len();
        let response = if found > self.limits.max_headers {
            too_many_headers(found, self.limits.max_headers)
        } else {
            let (mut head, body) = request.into_parts();
            head.extensions.insert(Arc::clone(&self.peer));
            let body = Body::new(Arriving::new(body, &self.limits, late.clone()));
            self.router.call(Request::from_parts(head, body)).await?
        };
        let response = match late.is_late() {
            true => body_is_late(version),
            false => response,
        };
        Ok(response.map(|body| Leaving::new(body, busy, answers)))
    }
}

fn too_many_headers(found: usize, most: usize) -> Response<Body> {
    let message = format!("the request has {found} headers, max_headers allows {most}");
    refusal(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, message)
}

fn body_is_late(version: Version) -> Response<Body> {
    let message = "the body did not come in time (body_idle_timeout, body_timeout); send it again";
    let mut response = refusal(StatusCode::REQUEST_TIMEOUT, message.to_owned());
    if version < Version::HTTP_2 {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    response
}

fn refusal(status: StatusCode, message: String) -> Response<Body> {
    let error = A2aError::new(ErrorCode::InvalidRequest, message);
    let mut body = String::new();
    error.write_rest_as(status.as_u16(), &mut body);
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let media_type = HeaderValue::from_static(MEDIA_TYPE);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, media_type);
    response
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use axum::Router;
    use axum::body::{Body, Bytes};
    use axum::routing::any;
    use futures_util::{StreamExt as _, stream};
    use hyper_util::server::graceful::GracefulShutdown;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;

    use super::super::places::Places;
    use super::{Connection, ConnectionLimits, Peer, Speaks};

    /// A client, and the connection that serves it. Time is the runtime's: it runs on as soon as
    /// there is nothing to do.
    async fn connected(
        speaks: Speaks,
        limits: ConnectionLimits,
    ) -> (TcpStream, impl Future<Output = ()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let local = listener.local_addr().unwrap();
        let client = TcpStream::connect(local).await.unwrap();
        let (stream, remote) = listener.accept().await.unwrap();
        let router = Router::new()
            .route("/endless", any(async || endless()))
            .fallback(any(async |body: Bytes| format!("{} bytes", body.len())));
        let served = async move {
            let graceful = GracefulShutdown::new();
            let places = Arc::new(Places::new(&limits, 1));
            let connection = Connection {
                router,
                speaks,
                place: places.take(remote.ip()).unwrap(),
                limits: Arc::new(limits),
                peer: Peer::new(remote, local),
                #[cfg(feature = "tls")]
                tls: None,
                watcher: graceful.watcher(),
                closing: CancellationToken::new(),
            };
            connection.serve(stream).await;
        };
        (client, served)
    }

    /// More than any socket takes.
    fn endless() -> Body {
        let chunk = Bytes::from_static(&[b'x'; 64 * 1024]);
        let chunks = stream::repeat(chunk).map(Ok::<_, std::convert::Infallible>);
        Body::from_stream(chunks)
    }

    /// What a client reads that sends `bytes` and nothing more, and the seconds until the end.
    async fn answer(speaks: Speaks, limits: ConnectionLimits, bytes: &[u8]) -> (String, u64) {
        let (mut client, served) = connected(speaks, limits).await;
        client.write_all(bytes).await.unwrap();
        let begun = Instant::now();
        served.await;
        let seconds = begun.elapsed().as_secs();
        let mut answer = Vec::new();
        // Who sent more than was read gets a reset behind the answer.
        let _ = client.read_to_end(&mut answer).await;
        (String::from_utf8_lossy(&answer).into_owned(), seconds)
    }

    const KEPT: &[u8] = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    const LAST: &[u8] = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

    fn spoken() -> Vec<Speaks> {
        vec![
            Speaks::Http1,
            #[cfg(feature = "grpc")]
            Speaks::Http1AndHttp2,
        ]
    }

    #[tokio::test(start_paused = true)]
    async fn who_sends_no_whole_head_in_time_is_dropped() {
        let half = b"POST / HTTP/1.1\r\nHost: ".as_slice();
        for speaks in spoken() {
            for bytes in [b"".as_slice(), b"P", half] {
                let limits = ConnectionLimits::default();
                let allowed = limits.head_timeout.as_secs();
                let (found, seconds) = answer(speaks, limits, bytes).await;
                assert_eq!(seconds, allowed, "{speaks:?} {bytes:?}");
                assert!(!found.contains(" 200 "), "{found}");
            }
        }
    }

    #[cfg(feature = "grpc")]
    #[tokio::test(start_paused = true)]
    async fn a_preface_is_no_head() {
        use super::super::h2c::PREFACE;
        let settings = b"\0\0\0\x04\0\0\0\0\0".as_slice();
        let cases = [
            PREFACE.split_at(7).0.to_vec(),
            PREFACE.to_vec(),
            [PREFACE, settings].concat(),
        ];
        for bytes in cases {
            let limits = ConnectionLimits::default();
            let allowed = limits.head_timeout.as_secs();
            let (_, seconds) = answer(Speaks::Http1AndHttp2, limits, &bytes).await;
            assert_eq!(seconds, allowed, "{bytes:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_silent_after_an_answer_is_dropped_after_the_same_time() {
        for speaks in spoken() {
            for next in [b"".as_slice(), b"GET / HT"] {
                let limits = ConnectionLimits::default().with_head_timeout(Duration::from_secs(7));
                let bytes = [KEPT, KEPT, next].concat();
                let (found, seconds) = answer(speaks, limits, &bytes).await;
                assert_eq!(found.matches("HTTP/1.1 200").count(), 2, "{found}");
                assert_eq!(seconds, 7, "{speaks:?}");
            }
        }
    }

    #[tokio::test]
    async fn other_first_bytes_are_http_1() {
        for speaks in spoken() {
            for bytes in [
                LAST,
                b"PRIVATE / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
                b"P / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
            ] {
                let (found, _) = answer(speaks, ConnectionLimits::default(), bytes).await;
                assert!(found.starts_with("HTTP/1.1 200"), "{found}");
                assert!(found.ends_with("0 bytes"), "{found}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_is_answered_and_the_connection_ends() {
        let limits = ConnectionLimits::default().with_body_idle_timeout(Duration::from_secs(9));
        let bytes = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n12345";
        let (found, seconds) = answer(Speaks::Http1, limits, bytes).await;
        assert!(found.starts_with("HTTP/1.1 408"), "{found}");
        assert!(found.contains("body_idle_timeout"), "{found}");
        assert!(found.contains("connection: close"), "{found}");
        assert_eq!(seconds, 9);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_of_a_byte_a_second_has_an_end() {
        for (bytes, expected) in [(20, "HTTP/1.1 200"), (21, "HTTP/1.1 408")] {
            let limits = ConnectionLimits::default()
                .with_body_idle_timeout(Duration::from_secs(2))
                .with_body_timeout(Duration::from_millis(20_500));
            let (mut client, served) = connected(Speaks::Http1, limits).await;
            let head = format!(
                "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: {bytes}\r\n\r\n"
            );
            client.write_all(head.as_bytes()).await.unwrap();
            let (mut read, mut write) = client.into_split();
            let sending = async move {
                for _ in 0..bytes {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    if write.write_all(b"x").await.is_err() {
                        break;
                    }
                }
                write
            };
            let reading = async {
                let mut answer = String::new();
                read.read_to_string(&mut answer).await.unwrap();
                answer
            };
            let ((), _write, answer) = tokio::join!(served, sending, reading);
            assert!(answer.starts_with(expected), "{bytes}: {answer}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_of_an_answer_is_dropped() {
        for speaks in spoken() {
            let limits =
                ConnectionLimits::default().with_write_idle_timeout(Duration::from_secs(8));
            let (mut client, served) = connected(speaks, limits).await;
            let bytes = b"GET /endless HTTP/1.1\r\nHost: h\r\n\r\n";
            client.write_all(bytes).await.unwrap();
            let begun = Instant::now();
            served.await;
            assert_eq!(begun.elapsed().as_secs(), 8, "{speaks:?}");
        }
    }

    #[tokio::test]
    async fn a_head_has_so_many_headers_and_bytes() {
        let limits = || ConnectionLimits::default().with_max_headers(12);
        for (more, expected) in [(10, "HTTP/1.1 200"), (11, "HTTP/1.1 431")] {
            let headers: String = (0..more).map(|at| format!("X-{at}: y\r\n")).collect();
            let bytes = format!("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{headers}\r\n");
            let (found, _) = answer(Speaks::Http1, limits(), bytes.as_bytes()).await;
            assert!(found.starts_with(expected), "{more}: {found}");
        }
        let limits = || ConnectionLimits::default().with_max_head_bytes(2_048);
        let frame = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX: \r\n\r\n".len();
        for (bytes, expected) in [(2_048, "HTTP/1.1 200"), (2_049, "HTTP/1.1 431")] {
            let value = "x".repeat(bytes - frame);
            let head =
                format!("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX: {value}\r\n\r\n");
            let (found, _) = answer(Speaks::Http1, limits(), head.as_bytes()).await;
            assert!(found.starts_with(expected), "{bytes}: {found}");
        }
    }
}
