//! HTTP/2 in plaintext beside HTTP/1.1 on one port: clients tell which by their first bytes.

use std::io;
use std::time::Duration;

use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::io::AsyncReadExt as _;
use tokio::net::tcp::OwnedReadHalf;

use super::limits::ConnectionLimits;

/// What an HTTP/2 connection begins with (RFC 9113, section 3.4). No method of HTTP/1.1 does.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How often a silent connection is asked whether it is alive, and how long it has to answer.
const PING: Duration = Duration::from_secs(20);
/// What a client may send ahead of what is read, for one call and for all of a connection.
const STREAM_WINDOW: u32 = 1024 * 1024;
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;

/// How an HTTP/2 connection is served.
pub(super) fn builder(limits: &ConnectionLimits) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING)
        .max_concurrent_streams(limits.max_http2_streams)
        .max_pending_accept_reset_streams(limits.max_http2_pending_resets)
        .max_header_list_size(limits.max_head_bytes)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    builder
}

/// The bytes that tell HTTP/2 from HTTP/1.1: the whole preface, or all up to the first difference.
pub(super) async fn first_bytes(read: &mut OwnedReadHalf) -> io::Result<Vec<u8>> {
    let mut first = Vec::with_capacity(PREFACE.len());
    while first.len() < PREFACE.len() && PREFACE.starts_with(&first) {
        let room = (PREFACE.len() - first.len()) as u64;
        if read.take(room).read_buf(&mut first).await? == 0 {
            break;
        }
    }
    Ok(first)
}
