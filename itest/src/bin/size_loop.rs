//! Sends very many small tasks through a server that keeps some of them, and checks that neither its
//! memory nor its file grows for ever.
//!
//! `size-loop AGENT [TASKS] [RETENTION]`: AGENT is the `durable-agent` program.

#![expect(clippy::print_stdout, reason = "figures are what it is for")]

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use llamon_itest::http::{Connection, Request};
use llamon_itest::process::{Process, rss};
use llamon_itest::wire::envelope;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const CONNECTIONS: usize = 64;
const STAGES: usize = 10;
/// What the server's resident memory may be at most.
const MAX_RSS: u64 = 150 * 1024 * 1024;

#[tokio::main]
async fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let agent = args
        .next()
        .ok_or("usage: size-loop AGENT [TASKS] [RETENTION]")?;
    let tasks: usize = args.next().map_or(Ok(20_000), |tasks| tasks.parse())?;
    let retention = args.next().unwrap_or_else(|| "2000".to_owned());
    let folder = tempfile::tempdir()?;
    let db = folder.path().join("tasks.db");
    let mut command = Command::new(agent);
    command
        .arg(&db)
        .arg("127.0.0.1:0")
        .env("RETENTION", &retention);
    let server = Process::of(&mut command);
    let mut sizes = Vec::new();
    let began = Instant::now();
    for stage in 1..=STAGES {
        send(server.url(), tasks / STAGES).await?;
        let (rss, file) = (rss(server.id())?, file_size(&db));
        println!(
            "{:>9} tasks: {:>4} MB resident, file and log {:>5} MB, {:.0} tasks/s",
            tasks / STAGES * stage,
            rss / 1_000_000,
            file / 1_000_000,
            (tasks / STAGES * stage) as f64 / began.elapsed().as_secs_f64()
        );
        if rss > MAX_RSS {
            return Err(format!("{rss} bytes are resident, {MAX_RSS} are allowed").into());
        }
        sizes.push(file);
    }
    let (half, end) = (sizes[STAGES / 2 - 1], sizes[STAGES - 1]);
    if end > half + half / 4 {
        return Err(
            format!("the file grows for ever: {half} bytes at half, {end} at the end").into(),
        );
    }
    Ok(())
}

async fn send(url: &str, tasks: usize) -> Result<()> {
    let params = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"now please"},{"data":{"customer":4711,"total":99.90}}]}}"#;
    let request = Request::post("/", envelope("SendMessage", params))
        .header("content-type", "application/json")
        .header("a2a-version", "1.0");
    let senders: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let (url, request) = (url.to_owned(), request.clone());
            tokio::spawn(async move {
                let mut connection = Connection::open(&url).await;
                for _ in 0..tasks / CONNECTIONS {
                    let response = connection.send(&request).await;
                    assert_eq!(response.status, 200, "{response:?}");
                }
            })
        })
        .collect();
    for sender in senders {
        sender.await?;
    }
    Ok(())
}

fn file_size(db: &Path) -> u64 {
    let wal = db.with_extension("db-wal");
    [db, &wal]
        .iter()
        .map(|path| std::fs::metadata(path).map_or(0, |data| data.len()))
        .sum()
}
