//! An agent on a store in a file, for tests that kill its process: at any moment from outside, or
//! by itself at a named point of the store.
//!
//! `durable-agent DB ADDRESS [POINT COUNT]`: at the COUNT-th call that the point stands for, the
//! process sends itself SIGKILL. `RETENTION` is how many finished tasks it keeps, `EXECUTION` is `at-most-once` or how often a turn may take its
//! process with it.

use std::io::Write as _;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use llamon_agent::prelude::*;
use llamon_agent::server::RepeatedMessages;
use llamon_agent::server::backend::StoreError;
use llamon_agent::server::backend::sqlite::SqliteStore;
use llamon_agent::server::push::PushNotifications;
use llamon_itest::durable::{Point, answer_of, words_of};
use llamon_itest::hooked::{Call, Hooked, When};

/// Says the words of its query one by one, or does what the first of them is.
async fn speak(turn: Turn) -> Result<Answer, AgentError> {
    let query = turn.query().to_owned();
    match query.split_once(' ') {
        Some(("die", _)) => {
            turn.emit("dying").await?;
            die();
        }
        // Until the file is there.
        Some(("wait", file)) => {
            turn.emit(format!("attempt {} ", turn.attempt())).await?;
            while !std::path::Path::new(file).exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            return Ok(Answer::completed(format!(
                "attempt {} done",
                turn.attempt()
            ))?);
        }
        Some(("now", _)) => return Ok(Answer::completed("done")?),
        Some(("ask", what)) => {
            turn.emit("before ").await?;
            let reply = turn.ask(what).await?;
            turn.emit("after ").await?;
            return Ok(Answer::completed(Json(reply.text()))?);
        }
        _ => {}
    }
    for word in words_of(&query) {
        turn.emit(word).await?;
        // The pauses are work: a crash may fall into each.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let upstream = turn.upstream().len();
    Ok(Answer::completed(Json(answer_of(&query, upstream)))?)
}

fn is_at(point: Point, when: When, call: Call<'_>) -> bool {
    matches!(
        (point, when, call),
        (
            Point::AfterClaim,
            When::After,
            Call::Create(_) | Call::Claim
        ) | (Point::BeforeCommit, When::Before, Call::Commit(_))
            | (Point::AfterCommit, When::After, Call::Commit(_))
            | (Point::AfterPush, When::Before, Call::NotePush)
    )
}

/// Dies as by `kill -9`, and does nothing until then.
fn die() -> ! {
    let kill = format!("kill -KILL {}", std::process::id());
    let _ = Command::new("sh").args(["-c", &kill]).status();
    loop {
        std::thread::park();
    }
}

fn execution() -> Result<Execution, Box<dyn std::error::Error>> {
    Ok(match std::env::var("EXECUTION").as_deref() {
        Ok("at-most-once") => Execution::AtMostOnce,
        Ok(times) => Execution::AtLeastOnce {
            max_attempts: times.parse()?,
        },
        Err(_) => Execution::AtLeastOnce {
            max_attempts: 1_000,
        },
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: durable-agent DB ADDRESS [POINT COUNT]";
    let db = args.next().ok_or(usage)?;
    let address = args.next().ok_or(usage)?;
    let point = args
        .next()
        .map(|name| Point::parse(&name).ok_or(usage))
        .transpose()?;
    let count: usize = args
        .next()
        .map(|count| count.parse())
        .transpose()?
        .unwrap_or(0);
    let mut options = SqliteStore::options();
    if let Ok(tasks) = std::env::var("RETENTION") {
        options = options.max_finished_tasks(tasks.parse()?);
    }
    let store = options.open(db)?;
    let left = AtomicUsize::new(count);
    let hook = move |when: When, call: Call<'_>| -> Result<(), StoreError> {
        if point.is_some_and(|point| is_at(point, when, call))
            && left.fetch_sub(1, Ordering::Relaxed) == 1
        {
            die();
        }
        Ok(())
    };
    let card = AgentCard::new("durable", "Says the words of its query", "1.0.0")
        .skill(Skill::new("durable", "Durable", "Survives"));
    let push = PushNotifications::new()
        .allow_plain_http()
        .allow_loopback()
        .backoff(Duration::from_millis(20), Duration::from_millis(200));
    let server = create_server(card, speak)
        .upstream_parts_policy("append")
        .backend(Hooked::new(store.backend("durable"), hook) as Arc<_>)
        .repeated_messages(RepeatedMessages::Recognised)
        .execution(execution()?)
        .shutdown_grace(Duration::from_millis(50))
        .cancel_grace(Duration::from_millis(50))
        .push_notifications(push);
    let server = if std::env::var_os("HITL").is_some() {
        server.hitl()
    } else {
        server
    };
    let server = server.await?.bind(address).await?;
    let mut out = std::io::stdout();
    writeln!(out, "READY {}/", server.url())?;
    out.flush()?;
    server.serve().await?;
    Ok(())
}
