//! Steps per second of a runner with its runs in a file, as a ratio to a plain client that drives
//! the same agents at the same concurrency and keeps nothing.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use llamon_agent::flow::run::{Runner, Stand};
use llamon_agent::flow::store::{RunState, RunStore};
use llamon_agent::flow::{Each, Plan, Step};
use llamon_agent::prelude::*;
use llamon_agent::server::backend::sqlite::SqliteStore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::Outcome;
use crate::load::Server;
use crate::report::median;

const ROUNDS: usize = 5;
const RUNS: usize = 1_000;
const STEPS: usize = 5;
const AT_ONCE: usize = 64;
/// What the runner may not fall below.
const GOAL: f64 = 0.5;
/// Items of the fan-out, how many of them are called at once, and what each takes.
const ITEMS: usize = 200;
const CAP: usize = 50;
const WORK: Duration = Duration::from_millis(50);

/// `flow [ROUNDS]`: measures and prints the tables.
#[tokio::main]
pub(crate) async fn run() -> Outcome<()> {
    let rounds = match std::env::args().nth(2) {
        Some(rounds) => rounds.parse()?,
        None => ROUNDS,
    };
    let mut out = String::new();
    writeln!(
        out,
        "| | plain client, steps/s | runner, steps/s | ratio | goal |\n|---|---|---|---|---|"
    )?;
    let (mut plain, mut ours, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let folder = tempfile::tempdir()?;
        let agents = Agents::start(folder.path())?;
        // Its first runs pay for what is made once.
        plain_client(&agents, AT_ONCE).await?;
        let plain_rate = plain_client(&agents, RUNS).await?;
        let our_rate = runner(&agents, &folder.path().join("runs.db")).await?;
        ratios.push(our_rate / plain_rate);
        plain.push(plain_rate);
        ours.push(our_rate);
    }
    writeln!(
        out,
        "| {RUNS} runs of {STEPS} steps, {AT_ONCE} at once | {:.0} | {:.0} | {:.2} | {GOAL} |\n",
        median(&mut plain),
        median(&mut ours),
        median(&mut ratios)
    )?;
    let mut busy = Vec::new();
    for _ in 0..rounds {
        busy.push(fan_out().await?);
    }
    writeln!(
        out,
        "| items | at once | work of each | busy on average |\n|---|---|---|---|\n\
         | {ITEMS} | {CAP} | {} ms | {:.1} |",
        WORK.as_millis(),
        median(&mut busy)
    )?;
    std::io::stdout().write_all(out.as_bytes())?;
    Ok(())
}

/// The agents of the chain's steps, each a process with its tasks in a file.
struct Agents {
    urls: Vec<String>,
    _processes: Vec<Server>,
}

impl Agents {
    fn start(folder: &Path) -> Outcome<Self> {
        let mut processes = Vec::new();
        for step in 0..STEPS {
            let path = folder.join(format!("tasks{step}.db"));
            let path = path.to_str().ok_or("the path is not UTF-8")?;
            processes.push(Server::start_with("serve-durable", &[path])?);
        }
        Ok(Self {
            urls: processes.iter().map(Server::url).collect(),
            _processes: processes,
        })
    }

    /// A chain of them.
    fn plan(&self) -> Outcome<Plan> {
        let mut plan = Plan::builder("chain");
        let mut before = "input".to_owned();
        for (step, url) in self.urls.iter().enumerate() {
            let name = format!("s{step}");
            plan = plan.step(Step::new(&name, url).from([before]));
            before = name;
        }
        Ok(plan.output(before).build()?)
    }
}

fn rate(runs: usize, began: Instant) -> f64 {
    (runs * STEPS) as f64 / began.elapsed().as_secs_f64()
}

/// A host that sends each answer on to the next agent, and keeps nothing.
async fn plain_client(agents: &Agents, runs: usize) -> Outcome<f64> {
    let mut clients = Vec::new();
    for url in &agents.urls {
        clients.push(Client::discover(url).await?);
    }
    let (clients, next) = (Arc::new(clients), Arc::new(AtomicUsize::new(0)));
    let began = Instant::now();
    let mut workers = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (clients, next) = (Arc::clone(&clients), Arc::clone(&next));
        workers.spawn(async move {
            loop {
                let run = next.fetch_add(1, Ordering::Relaxed);
                if run >= runs {
                    return Ok(());
                }
                chain(&clients, run)
                    .await
                    .map_err(|error| error.to_string())?;
            }
        });
    }
    all(workers).await?;
    Ok(rate(runs, began))
}

async fn chain(clients: &[Client], run: usize) -> Result<(), llamon_agent::client::ClientError> {
    let mut payload = Payload::new().with_text("begin");
    for (step, client) in clients.iter().enumerate() {
        let message = Outgoing::new().in_context(format!("plain{run}/s{step}"));
        let parts = payload.into_parts().into_iter();
        let reply = client
            .send(parts.fold(message, Outgoing::with_part))
            .await?;
        payload = reply.payload();
    }
    Ok(())
}

async fn runner(agents: &Agents, file: &Path) -> Outcome<f64> {
    let runner = Runner::new(RunStore::open(file)?);
    let plan = Arc::new(agents.plan()?);
    // As the plain client's cards were read before.
    ended(
        runner
            .run(&plan, Payload::new().with_text("begin"))
            .await?
            .1,
    )?;
    let next = Arc::new(AtomicUsize::new(0));
    let began = Instant::now();
    let mut workers = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (runner, plan, next) = (runner.clone(), Arc::clone(&plan), Arc::clone(&next));
        workers.spawn(async move {
            while next.fetch_add(1, Ordering::Relaxed) < RUNS {
                let ran = runner.run(&plan, Payload::new().with_text("begin")).await;
                ended(ran.map_err(|error| error.to_string())?.1)?;
            }
            Ok(())
        });
    }
    all(workers).await?;
    Ok(rate(RUNS, began))
}

async fn all(mut workers: JoinSet<Result<(), String>>) -> Outcome<()> {
    while let Some(worker) = workers.join_next().await {
        worker??;
    }
    Ok(())
}

fn ended(stand: Stand) -> Result<(), String> {
    match stand {
        Stand::Ended {
            state: RunState::Completed,
            ..
        } => Ok(()),
        other => Err(format!("a run did not complete: {other:?}")),
    }
}

/// How many calls of a fan-out are being worked on, on average over the run.
async fn fan_out() -> Outcome<f64> {
    let folder = tempfile::tempdir()?;
    let store = SqliteStore::open(folder.path().join("tasks.db"))?;
    let worked = Arc::new(AtomicU64::new(0));
    let sum = Arc::clone(&worked);
    let agent = move |_: Turn| {
        let sum = Arc::clone(&sum);
        async move {
            let began = Instant::now();
            tokio::time::sleep(WORK).await;
            let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
            sum.fetch_add(micros, Ordering::Relaxed);
            Ok::<_, AgentError>("done")
        }
    };
    let card = AgentCard::new("slow", "Takes a while", "1.0.0").skill(Skill::new(
        "slow",
        "Slow",
        "Takes a while",
    ));
    let server = create_server(card, agent).store(&store).await?;
    let server = server.bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", server.local_addr());
    let serving = tokio::spawn(server.serve_until(std::future::pending()));
    let each = Each::new("$.list[*]").concurrency(CAP);
    let plan = Plan::builder("fan-out")
        .step(Step::new("s", url).from(["input"]).each(each))
        .output("s")
        .build()?;
    let list: Vec<usize> = (0..ITEMS).collect();
    let input = Payload::new().with_data(&serde_json::json!({ "list": list }))?;
    let runner = Runner::new(RunStore::open(folder.path().join("runs.db"))?);
    let id = runner.begin(&plan, input).await?;
    let began = Instant::now();
    let stand = runner.drive(&id, &(), &CancellationToken::new()).await?;
    let wall = began.elapsed();
    ended(stand)?;
    serving.abort();
    Ok(worked.load(Ordering::Relaxed) as f64 / wall.as_micros() as f64)
}
