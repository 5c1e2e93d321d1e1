//! Requests of those who want nothing but an answer.

use std::time::{Duration, Instant};

use llamon_agent::client::{Binding, Client};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How long a request may take before it has failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Makes requests one after the other, half of them on connections of their own, and says how long
/// each took.
///
/// # Errors
/// When one fails.
pub(crate) async fn requests(url: &str, count: usize) -> Result<Vec<Duration>, String> {
    let client = Client::builder().binding(Binding::Rest).discover(url);
    let client = timely("discovery", client).await?;
    let mut took = Vec::with_capacity(count);
    for at in 0..count {
        let begun = Instant::now();
        if at % 2 == 0 {
            let reply = timely("a kept connection", client.send("go")).await?;
            if reply.text() != "done" {
                return Err(format!("request {at}: an answer of {:?}", reply.text()));
            }
        } else {
            timely("a new connection", alone(url))
                .await
                .map_err(|error| format!("request {at}: {error}"))?;
        }
        took.push(begun.elapsed());
    }
    Ok(took)
}

async fn timely<T, E: std::fmt::Display>(
    what: &str,
    done: impl Future<Output = Result<T, E>>,
) -> Result<T, String> {
    match tokio::time::timeout(PATIENCE, done).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(format!("{what}: {error}")),
        Err(_) => Err(format!("{what}: no answer in {PATIENCE:?}")),
    }
}

/// A request on a connection of its own.
async fn alone(url: &str) -> Result<(), String> {
    let address = url.strip_prefix("http://").unwrap_or(url);
    let body = r#"{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"go"}]}}"#;
    let request = format!(
        "POST /message:send HTTP/1.1\r\nHost: {address}\r\nA2A-Version: 1.0\r\nContent-Type: \
         application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let asked = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    let answer = asked.await.map_err(|error| error.to_string())?;
    if answer.starts_with("HTTP/1.1 200") && answer.contains("\"done\"") {
        return Ok(());
    }
    Err(format!("an answer of {answer:?}"))
}
