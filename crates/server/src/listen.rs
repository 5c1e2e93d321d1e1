//! The accept loop: connections in, and an orderly end.

#[cfg(feature = "grpc")]
mod h2c;

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use axum::Router;
use futures_util::stream::{self, Stream, StreamExt as _};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;

use tokio_util::sync::CancellationToken;

use crate::host::{BoundHost, Door, Speaks};
use crate::serve_error::ServeError;

/// How long a client may take to send a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long connections may take to send what is written, after the turns have ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// How long to wait when the system has no more file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

pub(crate) async fn serve(
    host: BoundHost,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), ServeError> {
    let mut connections = tokio::task::JoinSet::new();
    let graceful = GracefulShutdown::new();
    let closing = CancellationToken::new();
    for handler in &host.handlers {
        handler.keep();
    }
    let stop = async {
        stop.await;
        // Whoever sends requests here has this time to notice that it is not ready any more.
        if !host.drain_delay.is_zero() {
            host.handlers.iter().for_each(|handler| handler.retire());
            tokio::time::sleep(host.drain_delay).await;
        }
    };
    let mut stop = std::pin::pin!(stop);
    let mut arrivals = stream::select_all(host.doors.into_iter().map(arrivals));
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut stop => break,
            Some(accepted) = arrivals.next() => accepted,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
        };
        match accepted {
            Ok(arrival) => {
                connections.spawn(arrival.serve(graceful.watcher(), closing.clone()));
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) if is_exhausted(&error) => {
                tracing::warn!(%error, "no connection can be accepted at the moment");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
            Err(error) => return Err(ServeError::listen(error)),
        }
    }
    drop(arrivals);
    closing.cancel();
    let turns = host
        .handlers
        .iter()
        .map(|handler| handler.shut_down(host.shutdown_grace));
    futures_util::future::join_all(turns).await;
    // Dropping the connections' set ends what has not ended by then.
    if tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown())
        .await
        .is_err()
    {
        tracing::warn!("connections were closed before their last byte was sent");
    }
    Ok(())
}

/// A connection, and what it came to.
struct Arrival {
    stream: TcpStream,
    router: Router,
    speaks: Speaks,
}

/// The connections that come through a door. It has no end.
fn arrivals(door: Door) -> Pin<Box<dyn Stream<Item = io::Result<Arrival>> + Send>> {
    Box::pin(stream::unfold(door, |door| async move {
        let accepted = door.listener.accept().await;
        let arrival = accepted.map(|(stream, _)| Arrival {
            stream,
            router: door.router.clone(),
            speaks: door.speaks,
        });
        Some((arrival, door))
    }))
}

impl Arrival {
    /// Serves it; `closing` says that it is too late to begin.
    #[cfg_attr(
        not(feature = "grpc"),
        expect(unused_variables, reason = "gRPC waits before it begins")
    )]
    async fn serve(self, watcher: Watcher, closing: CancellationToken) {
        // Without it, each event of a stream waits for the acknowledgement of the one before.
        if let Err(error) = self.stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY cannot be set");
        }
        match self.speaks {
            Speaks::Http1 => {
                let service = TowerToHyperService::new(self.router);
                let served = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD_TIMEOUT)
                    .serve_connection(TokioIo::new(self.stream), service);
                // A broken connection is the client's affair.
                let _ = watcher.watch(served).await;
            }
            #[cfg(feature = "grpc")]
            Speaks::Http1AndHttp2 => {
                h2c::connection(self.stream, self.router, watcher, closing).await;
            }
        }
    }
}

fn is_of_one_connection(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted
    )
}

/// EMFILE and ENFILE on every Unix.
fn is_exhausted(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(23 | 24))
}
