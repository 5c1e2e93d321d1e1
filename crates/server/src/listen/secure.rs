use std::io;

use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::patience::Reading;
use crate::host::Speaks;
use crate::tls::{ClientCertificate, Tls};

/// A connection whose handshake is over.
pub(super) struct Secured {
    pub(super) stream: TlsStream<Reading<TcpStream>>,
    /// What the client and the server have agreed on; a client that says nothing speaks HTTP/1.1.
    pub(super) is_http2: bool,
    pub(super) certificate: Option<ClientCertificate>,
}

/// Makes the handshake.
pub(super) async fn accept(
    tls: &Tls,
    stream: Reading<TcpStream>,
    speaks: Speaks,
) -> io::Result<Secured> {
    let acceptor = tls.acceptor(speaks != Speaks::Http1);
    let stream = acceptor.accept(stream).await?;
    let (_, session) = stream.get_ref();
    let shown = session.peer_certificates().and_then(<[_]>::first);
    let certificate = match shown.map(ClientCertificate::of_checked) {
        None => None,
        Some(Some(certificate)) => Some(certificate),
        Some(None) => {
            return Err(io::Error::other("the client's certificate cannot be read"));
        }
    };
    Ok(Secured {
        is_http2: session.alpn_protocol() == Some(b"h2"),
        certificate,
        stream,
    })
}
