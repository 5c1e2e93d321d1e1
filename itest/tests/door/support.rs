//! Requests byte by byte.

use llamon_agent::server::{ServerBuilder, create_server};
use llamon_itest::agents::{Script, card, scripted};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub(crate) use llamon_itest::tls::Secure;

pub(crate) const CARD: &str = "/.well-known/agent-card.json";

/// The builder of a server whose agent says "done".
pub(crate) fn done() -> ServerBuilder<impl Sized> {
    let script = Script::returns(&[r#"{"text":"done"}"#]);
    create_server(card("agent"), scripted(vec![script]))
}

/// Sends bytes and reads until the server closes the connection.
pub(crate) async fn exchange(url: &str, bytes: impl AsRef<[u8]>) -> String {
    let address = url.strip_prefix("http://").expect("an http URL");
    let address = address.split('/').next().expect("an address");
    let mut stream = TcpStream::connect(address).await.expect("a server");
    stream.write_all(bytes.as_ref()).await.expect("a reader");
    let mut answer = Vec::new();
    let read = tokio::time::timeout(
        std::time::Duration::from_secs(60),
        stream.read_to_end(&mut answer),
    );
    // Who sent more than was read gets a reset behind the answer.
    let _ = read.await.expect("an end of the connection");
    String::from_utf8_lossy(&answer).into_owned()
}

/// A GET of the card with these header lines, each with its line end.
pub(crate) async fn get(url: &str, target: &str, headers: &str) -> String {
    let head = format!("GET {target} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
    exchange(url, head).await
}

/// The status of an answer.
pub(crate) fn status(answer: &str) -> u16 {
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    status.unwrap_or_else(|| panic!("no answer: {answer:?}"))
}
