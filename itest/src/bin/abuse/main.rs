//! A server under attack: during each attack, from a process of its own, ordinary requests must
//! all succeed, the server's memory must stay bounded, and afterwards its file descriptors must be
//! as before.
//!
//! `abuse [CONNECTIONS] [SECONDS]`: how many connections the attacks of many hold, and how long
//! each attack goes on at least. It starts itself again as `abuse serve` and `abuse attack`.

#![expect(clippy::print_stdout, reason = "figures are what it is for")]

mod agent;
mod attacks;
mod figures;
mod ordinary;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use attacks::Attack;
use figures::{Figures, Memory, Row};
use llamon_itest::process::Process;

/// Ordinary requests during each attack.
const REQUESTS: usize = 200;
/// How much more memory than before its attacks a server may have, in MiB: a request's body may
/// have 16, and there are some at the same time.
const MOST_MEMORY: u64 = 768;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["serve", roomy] => agent::serve(roomy == "roomy").await,
        ["attack", name, address, connections] => {
            let attack = Attack::named(name).ok_or_else(|| format!("no attack {name:?}"))?;
            attacks::run(attack, address.parse()?, connections.parse()?).await;
            Ok(())
        }
        _ => {
            let connections = args.first().map_or(Ok(1_000), |text| text.parse())?;
            let seconds = args.get(1).map_or(Ok(2), |text| text.parse())?;
            besiege(connections, Duration::from_secs(seconds)).await
        }
    }
}

async fn besiege(connections: usize, least: Duration) -> Result<(), Box<dyn std::error::Error>> {
    let this = std::env::current_exe()?;
    let mut figures = Figures::default();
    for attack in Attack::ALL {
        let mut serve = Command::new(&this);
        let room = if attack.needs_room() {
            "roomy"
        } else {
            "usual"
        };
        let server = Process::of(serve.args(["serve", room]));
        // What is read and compiled at the first request is not the attack's doing.
        ordinary::requests(server.url(), 20).await?;
        let quiet = ordinary::requests(server.url(), REQUESTS).await?;
        let before = Memory::of(server.id())?;
        let files = figures::open_files(server.id())?;

        let begun = Instant::now();
        let mut attacker = Attacker::start(attack, server.url(), connections)?;
        let mut under = ordinary::requests(server.url(), REQUESTS)
            .await
            .map_err(|error| format!("{}: {error}", attack.name()))?;
        while begun.elapsed() < least {
            under.extend(ordinary::requests(server.url(), 20).await?);
        }
        let held = figures::open_files(server.id())?;
        let during = Memory::of(server.id())?;
        attacker.stop();

        let back = figures::files_come_back(server.id(), files).await?;
        let row = Row {
            attack: attack.name(),
            quiet,
            under,
            before,
            during,
            held,
            files,
            back,
        };
        println!("{row}");
        row.check(MOST_MEMORY)?;
        figures.add(row);
    }
    println!("{figures}");
    Ok(())
}

/// A process that attacks until it is stopped.
struct Attacker(Child);

impl Attacker {
    /// Starts it, and waits until the attack is under way.
    fn start(
        attack: Attack,
        url: &str,
        connections: usize,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let address = url.strip_prefix("http://").ok_or("an http URL")?;
        let mut child = Command::new(std::env::current_exe()?)
            .args(["attack", attack.name(), address, &connections.to_string()])
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().ok_or("no output of the attacker")?;
        let this = Self(child);
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        if line.trim() != "ATTACKING" {
            return Err(format!("the attacker of {} does not begin", attack.name()).into());
        }
        Ok(this)
    }

    fn stop(&mut self) {
        // It has ended already where it crashed, which its line of figures shows.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        self.stop();
    }
}
