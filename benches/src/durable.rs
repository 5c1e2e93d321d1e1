//! Durable tasks per second through HTTP, as a ratio to a bare loop that makes the same three writes
//! for each task in grouped transactions, without HTTP, agents or logs.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use llamon_agent::prelude::*;
use llamon_agent::server::backend::sqlite::SqliteStore;
use rusqlite::{Connection, params};

use crate::Outcome;
use crate::load::Server;
use crate::report::{median, small_message};

const ROUNDS: usize = 5;
const CLIENTS: usize = 64;
const TASKS: usize = 12_800;
/// Writes that one transaction takes at most.
const GROUP: usize = 256;
/// What the HTTP server may not fall below.
const GOAL: f64 = 0.35;

/// `durable`: measures and prints the table.
pub(crate) fn run() -> Outcome<()> {
    let mut out = String::new();
    writeln!(
        out,
        "| | bare loop, tasks/s | through HTTP, tasks/s | ratio | goal |"
    )?;
    writeln!(out, "|---|---|---|---|---|")?;
    let (mut bare, mut ours, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let folder = tempfile::tempdir()?;
        let bare_rate = bare_loop(&folder.path().join("bare.db"))?;
        let our_rate = through_http(&folder.path().join("ours.db"))?;
        ratios.push(our_rate / bare_rate);
        bare.push(bare_rate);
        ours.push(our_rate);
    }
    writeln!(
        out,
        "| {CLIENTS} clients, 400 B | {:.0} | {:.0} | {:.2} | {GOAL} |",
        median(&mut bare),
        median(&mut ours),
        median(&mut ratios)
    )?;
    std::io::stdout().write_all(out.as_bytes())?;
    Ok(())
}

/// `serve-durable FILE`: our server on a store.
#[tokio::main]
pub(crate) async fn serve() -> Outcome<()> {
    let path = std::env::args()
        .nth(2)
        .ok_or("the store's path is missing")?;
    let store = SqliteStore::open(PathBuf::from(path))?;
    let card = AgentCard::new("bench", "Answers done", "1.0.0").skill(Skill::new(
        "bench",
        "Bench",
        "Answers done",
    ));
    async fn done(_: Turn) -> Result<&'static str, AgentError> {
        Ok("done")
    }
    let server = create_server(card, done)
        .store(&store)
        .await?
        .bind("127.0.0.1:0")
        .await?;
    writeln!(std::io::stdout(), "{}", server.local_addr())?;
    server.serve().await?;
    Ok(())
}

fn through_http(path: &Path) -> Outcome<f64> {
    let path = path.to_str().ok_or("the path is not UTF-8")?;
    let server = Server::start_with("serve-durable", &[path])?;
    let request = small_message();
    // Its first requests pay for what is made once.
    server.measure(&request, CLIENTS * 10, CLIENTS)?;
    let began = Instant::now();
    server.measure(&request, TASKS, CLIENTS)?;
    Ok(rate(began))
}

fn rate(began: Instant) -> f64 {
    TASKS as f64 / began.elapsed().as_secs_f64()
}

/// One write of the bare loop.
enum Op {
    Create(i64, String),
    Working(i64, String),
    Complete(i64, String),
}

type Job = (Op, SyncSender<()>);

fn bare_loop(path: &Path) -> Outcome<f64> {
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
         CREATE TABLE tasks (id INTEGER PRIMARY KEY, state INTEGER, body TEXT); \
         CREATE TABLE events (task INTEGER, position INTEGER, body TEXT, \
         PRIMARY KEY (task, position)) WITHOUT ROWID;",
    )?;
    let (jobs, waiting) = sync_channel::<Job>(CLIENTS);
    let writer =
        std::thread::spawn(move || write_all(&connection, &waiting).map_err(|e| e.to_string()));
    let began = Instant::now();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let jobs = jobs.clone();
            std::thread::spawn(move || send_all(client, &jobs))
        })
        .collect();
    drop(jobs);
    for client in clients {
        client.join().map_err(|_| "a client panicked")?;
    }
    let rate = rate(began);
    writer.join().map_err(|_| "the writer panicked")??;
    Ok(rate)
}

fn send_all(client: usize, jobs: &SyncSender<Job>) {
    let body = "x".repeat(400);
    for index in 0..TASKS / CLIENTS {
        let id = (client * TASKS + index) as i64;
        let ops = [
            Op::Create(id, body.clone()),
            Op::Working(id, "working".to_owned()),
            Op::Complete(id, body.clone()),
        ];
        for op in ops {
            let (done, wait) = sync_channel(1);
            if jobs.send((op, done)).is_err() || wait.recv().is_err() {
                return;
            }
        }
    }
}

fn write_all(connection: &Connection, waiting: &Receiver<Job>) -> rusqlite::Result<()> {
    while let Ok(first) = waiting.recv() {
        let mut group = vec![first];
        group.extend(waiting.try_iter().take(GROUP - 1));
        connection.execute_batch("BEGIN IMMEDIATE")?;
        for (op, _) in &group {
            write(connection, op)?;
        }
        connection.execute_batch("COMMIT")?;
        for (_, done) in group {
            let _ = done.send(());
        }
    }
    Ok(())
}

fn write(connection: &Connection, op: &Op) -> rusqlite::Result<()> {
    let insert = |sql: &str, id: &i64, body: &String| {
        connection
            .prepare_cached(sql)?
            .execute(params![id, body])
            .map(drop)
    };
    match op {
        Op::Create(id, body) => insert("INSERT INTO tasks VALUES (?1, 0, ?2)", id, body),
        Op::Working(id, body) => {
            insert("INSERT INTO events VALUES (?1, 0, ?2)", id, body)?;
            connection
                .prepare_cached("UPDATE tasks SET state = 1 WHERE id = ?1")?
                .execute([id])
                .map(drop)
        }
        Op::Complete(id, body) => {
            insert("INSERT INTO events VALUES (?1, 1, ?2)", id, body)?;
            insert(
                "UPDATE tasks SET state = 2, body = ?2 WHERE id = ?1",
                id,
                body,
            )
        }
    }
}
