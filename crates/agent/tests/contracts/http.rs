//! HTTP/1.1 by hand, for headers that no client shows.

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A response: its headers in their order, names in lower case, and what follows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Response {
    /// The values of a header.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let headers = self.headers.iter().filter(|(known, _)| known == name);
        headers.map(|(_, value)| value.as_str()).collect()
    }
}

/// Sends a request to the agent at `url` on a connection of its own.
pub(crate) async fn send(
    url: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Response {
    let authority = url.strip_prefix("http://").expect("an http URL");
    let authority = authority.trim_end_matches('/');
    let length = body.len();
    let mut request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\
         A2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n"
    );
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("\r\n");
    request.push_str(body);

    let mut stream = TcpStream::connect(authority).await.expect("a connection");
    stream
        .write_all(request.as_bytes())
        .await
        .expect("a reader");
    let mut response = String::new();
    stream
        .read_to_string(&mut response)
        .await
        .expect("an answer");
    let (head, body) = response.split_once("\r\n\r\n").expect("a head");
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let headers = lines.filter_map(|line| line.split_once(':'));
    Response {
        status: status.and_then(|it| it.parse().ok()).expect("a status"),
        headers: headers
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect(),
        body: body.to_owned(),
    }
}

/// The agent's card, as it is served.
pub(crate) async fn card(url: &str) -> Response {
    send(url, "GET", "/.well-known/agent-card.json", &[], "").await
}

/// The extensions on the agent's card.
pub(crate) async fn extensions(url: &str) -> Value {
    let card: Value = serde_json::from_str(&card(url).await.body).expect("a card");
    card["capabilities"]["extensions"].clone()
}
