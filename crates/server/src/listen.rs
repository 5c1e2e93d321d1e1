//! The accept loop: connections in, and an orderly end.

mod connection;
#[cfg(feature = "grpc")]
mod h2c;
mod limits;
mod patience;
mod places;
#[cfg(feature = "tls")]
mod secure;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use futures_util::stream::{self, Stream, StreamExt as _};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::host::{BoundHost, Door, Speaks};
use crate::peer::Peer;
use crate::serve_error::ServeError;
use connection::Connection;
use places::Places;

pub use limits::ConnectionLimits;

/// How long connections may take to send what is written, after the turns have ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// How long to wait when the system has no more file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long the log says nothing more of connections that found no place.
const QUIET: Duration = Duration::from_secs(10);

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
    let limits = Arc::new(host.connection_limits);
    let places = Arc::new(Places::new(&limits, most_connections(&limits)));
    let mut refused = Refused::default();
    #[cfg(feature = "tls")]
    let tls = host.tls;
    #[cfg(feature = "tls")]
    let keeping_up = {
        let tls = tls.clone();
        async move {
            match tls {
                Some(tls) => tls.keep_up().await,
                None => std::future::pending().await,
            }
        }
    };
    #[cfg(not(feature = "tls"))]
    let keeping_up = std::future::pending::<()>();
    let mut keeping_up = std::pin::pin!(keeping_up);
    let mut arrivals = stream::select_all(host.doors.into_iter().map(arrivals));
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut stop => break,
            Some(accepted) = arrivals.next() => accepted,
            () = &mut keeping_up => continue,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
        };
        match accepted {
            Ok(arrival) => {
                let Some(place) = places.take(arrival.remote.ip()) else {
                    refused.one(arrival.remote);
                    continue;
                };
                let Ok(local) = arrival.stream.local_addr() else {
                    // It is gone already.
                    continue;
                };
                let connection = Connection {
                    router: arrival.router,
                    speaks: arrival.speaks,
                    limits: Arc::clone(&limits),
                    place,
                    peer: Peer::new(arrival.remote, local),
                    #[cfg(feature = "tls")]
                    tls: tls.clone(),
                    watcher: graceful.watcher(),
                    closing: closing.clone(),
                };
                connections.spawn(connection.serve(arrival.stream));
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) if is_exhausted(&error) => {
                let gave_way = places.make_room();
                tracing::warn!(%error, gave_way, "no connection can be accepted at the moment");
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
    remote: SocketAddr,
    router: Router,
    speaks: Speaks,
}

/// The connections that come through a door. It has no end.
fn arrivals(door: Door) -> Pin<Box<dyn Stream<Item = io::Result<Arrival>> + Send>> {
    Box::pin(stream::unfold(door, |door| async move {
        let accepted = door.listener.accept().await;
        let arrival = accepted.map(|(stream, remote)| Arrival {
            stream,
            remote,
            router: door.router.clone(),
            speaks: door.speaks,
        });
        Some((arrival, door))
    }))
}

/// Connections that found no place, told of once in a while.
#[derive(Default)]
struct Refused {
    count: u64,
    told: Option<tokio::time::Instant>,
}

impl Refused {
    fn one(&mut self, remote: SocketAddr) {
        self.count += 1;
        if self.told.is_none_or(|told| told.elapsed() >= QUIET) {
            tracing::warn!(
                %remote,
                count = self.count,
                "connections are closed: every place is taken by one with a request \
                 (max_connections, max_connections_per_address)"
            );
            self.told = Some(tokio::time::Instant::now());
            self.count = 0;
        }
    }
}

/// As many connections as are allowed and as the process can have, with file descriptors left for
/// stores and calls to others.
fn most_connections(limits: &ConnectionLimits) -> usize {
    #[cfg(unix)]
    {
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let files = files.and_then(|files| usize::try_from(files).ok());
        let possible = files.map_or(usize::MAX, |files| (files / 4 * 3).max(1));
        if possible < limits.max_connections {
            tracing::info!(
                max_connections = limits.max_connections,
                possible,
                "the limit of open files (ulimit -n) allows fewer connections"
            );
            return possible;
        }
    }
    limits.max_connections
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
