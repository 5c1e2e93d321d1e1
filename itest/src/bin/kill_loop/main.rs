//! Kills a server again and again, from outside and at named points of its store, and checks that
//! nothing that was acknowledged is lost.
//!
//! `kill-loop AGENT [ROUNDS] [SEED]`: AGENT is the `durable-agent` program. Each round 200 tasks are
//! sent by blocking, streaming and push clients, the process is killed in the middle of them and
//! started again, and all of them must end as if nothing had happened.

#![expect(clippy::print_stdout, reason = "figures are what it is for")]

mod clients;
mod figures;
mod receiver;
mod server;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use figures::Figures;
use llamon_itest::chance::Chance;
use llamon_itest::durable::Point;
use llamon_itest::process::free_port;
use receiver::Receiver;
use server::Server;

const TASKS: usize = 200;
const SENDERS: usize = 24;

/// How a round's process dies.
#[derive(Clone, Copy, Debug)]
enum Death {
    /// After so many milliseconds.
    FromOutside(u64),
    /// At the so-manieth call of the point.
    At(Point, u64),
}

impl Death {
    fn choose(chance: &mut Chance, round: usize) -> Self {
        match Point::ALL.get(round % 5) {
            Some(point) => Self::At(*point, 1 + chance.below(150)),
            None => Self::FromOutside(10 + chance.below(200)),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let agent = PathBuf::from(
        args.next()
            .ok_or("usage: kill-loop AGENT [ROUNDS] [SEED]")?,
    );
    let rounds: usize = args.next().map_or(Ok(5), |rounds| rounds.parse())?;
    let seed: u64 = args.next().map_or(Ok(1), |seed| seed.parse())?;
    let folder = tempfile::Builder::new()
        .disable_cleanup(std::env::var_os("KEEP").is_some())
        .tempdir()?;
    let db = folder.path().join("tasks.db");
    let receiver = Receiver::start().await?;
    let address = format!("127.0.0.1:{}", free_port()?);
    let mut chance = Chance::new(seed);
    let mut figures = Figures::default();
    for round in 0..rounds {
        let death = Death::choose(&mut chance, round);
        run_round(&agent, &db, &address, &receiver, round, death, &mut figures)
            .await
            .map_err(|error| format!("round {round} ({death:?}): {error}"))?;
        println!("round {round}: {death:?}: ok");
    }
    figures.print(rounds);
    Ok(())
}

async fn run_round(
    agent: &Path,
    db: &Path,
    address: &str,
    receiver: &Arc<Receiver>,
    round: usize,
    death: Death,
    figures: &mut Figures,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut server = Server::start(agent, db, address, death)?;
    let url = server.url().to_owned();
    let sent = clients::send_all(&url, receiver, round);
    tokio::pin!(sent);
    let mut done = None;
    if let Death::FromOutside(millis) = death {
        tokio::select! {
            () = tokio::time::sleep(std::time::Duration::from_millis(millis)) => {}
            // A quick machine; the kill then finds a server that has nothing to do.
            all = &mut sent => done = Some(all),
        }
        server.kill()?;
    }
    // Clients whose connection breaks stop; those that cannot connect any more, too.
    let sent = match done {
        Some(done) => done,
        None => sent.await,
    };
    let died = server.has_died()?;
    figures.deaths += usize::from(died);
    if !died {
        // The point was not reached so often; then nothing may be missing either.
        server.kill()?;
    }
    let server = Server::start_to_stay(agent, db, address)?;
    clients::check_all(server.url(), &sent, figures).await?;
    receiver.check(&sent, figures).await?;
    clients::check_nothing_is_left(server.url()).await?;
    server.stop()?;
    figures::check_store(db)
}
