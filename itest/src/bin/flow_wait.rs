//! A host of many runs that wait for people, for a test that looks at the process from outside.
//!
//! `flow-wait STORE AGENT RUNS return|wait`: each line on standard input has it do the next thing,
//! and it prints a line when that is done: one run as a rehearsal, RUNS runs until all of them
//! wait, an answer to each of them until all have ended. `return` forgets a run that waits, `wait`
//! keeps driving it.

use std::io::{BufRead as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{TryStreamExt as _, stream};
use llamon_agent::core::{Part, Payload};
use llamon_agent::flow::run::{Open, Progress, Runner, RunnerSettings, Stand};
use llamon_agent::flow::store::{CallId, RunState, RunStore};
use llamon_agent::flow::{Plan, Step};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Runs that come to their question at once.
const AT_ONCE: usize = 32;

#[tokio::main]
async fn main() -> Outcome<()> {
    let usage = "usage: flow-wait STORE AGENT RUNS return|wait";
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [store, agent, runs, open] = &args[..] else {
        return Err(usage.into());
    };
    let runs: usize = runs.parse()?;
    let open = match open.as_str() {
        "return" => Open::Return,
        "wait" => Open::Wait,
        _ => return Err(usage.into()),
    };
    let settings = RunnerSettings::default()
        .open_questions(open)
        // What this process wants is noticed at once.
        .poll_interval(Duration::from_secs(60));
    let plan = Plan::builder("questions")
        .step(Step::new("ask", agent).from(["input"]))
        .output("ask")
        .build()?;
    let mut host = Host {
        runner: Runner::with_settings(RunStore::open(store)?, settings),
        plan: Arc::new(plan),
        open,
        driven: JoinSet::new(),
    };
    say("READY")?;
    hear()?;
    host.wait(std::iter::once("rehearsal".to_owned())).await?;
    host.answer(&["rehearsal".to_owned()]).await?;
    say("REHEARSED")?;
    hear()?;
    let ids: Vec<String> = (0..runs).map(|run| format!("run{run}")).collect();
    host.wait(ids.iter().cloned()).await?;
    say("WAITING")?;
    hear()?;
    host.answer(&ids).await?;
    say("COMPLETED")
}

struct Host {
    runner: Runner,
    plan: Arc<Plan>,
    open: Open,
    /// Runs that are driven while they wait.
    driven: JoinSet<Outcome<()>>,
}

impl Host {
    /// Begins runs, and returns when all of them wait for an answer.
    async fn wait(&mut self, ids: impl Iterator<Item = String>) -> Outcome<()> {
        let asking = Arc::new(Semaphore::new(0));
        let mut count = 0;
        let mut open = Vec::new();
        for id in ids {
            count += 1;
            let input = Payload::new().with_text("begin");
            self.runner.begin_as(&id, &self.plan, input).await?;
            open.push(id);
            if open.len() == AT_ONCE {
                self.open(std::mem::take(&mut open), &asking, count).await?;
            }
        }
        self.open(open, &asking, count).await
    }

    /// Drives these runs to their questions; `count` have come there then.
    async fn open(&mut self, ids: Vec<String>, asking: &Arc<Semaphore>, count: u32) -> Outcome<()> {
        if self.open == Open::Return {
            return self
                .drive_all(&ids, |_, stand| matches!(stand, Stand::Waiting(_)))
                .await;
        }
        for id in ids {
            let (runner, asking) = (self.runner.clone(), Arc::clone(asking));
            self.driven.spawn(async move {
                let see = move |progress: Progress<'_>| {
                    if matches!(progress, Progress::Asking { .. }) {
                        asking.add_permits(1);
                    }
                };
                let stand = runner.drive(&id, &see, &CancellationToken::new()).await?;
                if has_answered(&id, &stand) {
                    Ok(())
                } else {
                    Err(format!("{id}: {stand:?}").into())
                }
            });
        }
        let all = asking.acquire_many(count).await?;
        drop(all);
        Ok(())
    }

    /// Answers the questions of the runs, and returns when they have completed.
    async fn answer(&mut self, ids: &[String]) -> Outcome<()> {
        let step = CallId::of_step("ask");
        for id in ids {
            let answer = vec![Part::text(format!("answer of {id}"))];
            self.runner.store().answer(id, &step, answer).await?;
        }
        if self.open == Open::Return {
            return self.drive_all(ids, has_answered).await;
        }
        while let Some(driven) = self.driven.join_next().await {
            driven??;
        }
        Ok(())
    }

    async fn drive_all(&self, ids: &[String], is_right: fn(&str, &Stand) -> bool) -> Outcome<()> {
        stream::iter(ids.iter().map(Outcome::Ok))
            .try_for_each_concurrent(AT_ONCE, |id| async move {
                let stop = CancellationToken::new();
                let stand = self.runner.drive(id, &(), &stop).await?;
                if is_right(id, &stand) {
                    Ok(())
                } else {
                    Err(format!("{id}: {stand:?}").into())
                }
            })
            .await
    }
}

/// Whether the agent has had the answer to its question.
fn has_answered(id: &str, stand: &Stand) -> bool {
    match stand {
        Stand::Ended {
            state: RunState::Completed,
            answer,
            ..
        } => answer.text() == format!("told: answer of {id}"),
        _ => false,
    }
}

fn say(what: &str) -> Outcome<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{what}")?;
    Ok(out.flush()?)
}

/// Waits for the next line.
fn hear() -> Outcome<()> {
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line)? {
        0 => Err("nobody says to go on".into()),
        _ => Ok(()),
    }
}
