//! Kills the runner of a plan and the agents of its steps again and again, each with `kill -9` at a
//! moment by chance, and checks that each run ends as if nothing had happened.
//!
//! `flow-kill LLAMON [ROUNDS] [SEED]`: LLAMON is the `llamon` program. Each round runs the plan of
//! 30 steps once, in which 55 calls are made to four agents. Two agents have their tasks in a file
//! and are sent nothing twice: the one that knows its messages never, the other one but for what came
//! when the next runner had already looked for it, which takes a very slow machine. Two answer
//! without tasks; what they are sent twice must be in the run's report. `KEEP` leaves the files where they are.

#![expect(clippy::print_stdout, reason = "figures are what it is for")]

mod agents;
mod effects;
mod figures;
mod plan;
mod runner;
mod waiting;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use agents::Kind;
use figures::Figures;
use llamon_itest::chance::Chance;
use llamon_itest::process::{Process, free_port};
use runner::Run;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: flow-kill LLAMON [ROUNDS] [SEED]";
    let first = args.next().ok_or(usage)?;
    if first == "agent" {
        return agents::serve(args);
    }
    let rounds: usize = args.next().map_or(Ok(10), |rounds| rounds.parse())?;
    let seed: u64 = args.next().map_or(Ok(1), |seed| seed.parse())?;
    let folder = tempfile::Builder::new()
        .disable_cleanup(std::env::var_os("KEEP").is_some())
        .tempdir()?;
    let mut scene = Scene::start(PathBuf::from(first), folder.path().to_owned())?;
    waiting::check(&scene.run("question", "question".to_owned()))?;
    println!("a question survives the death of agent and runner: ok");
    let expected = scene.undisturbed()?;
    let mut chance = Chance::new(seed);
    let mut figures = Figures::default();
    for round in 0..rounds {
        let killed = scene
            .round(round, &expected, &mut chance, &mut figures)
            .map_err(|error| format!("round {round} of seed {seed}: {error}"))?;
        println!("round {round}: killed {killed}: ok");
    }
    figures.print(rounds);
    figures.check(rounds)
}

/// The agents, and where everybody keeps what they keep.
struct Scene {
    llamon: PathBuf,
    folder: PathBuf,
    agents: Vec<Agent>,
}

struct Agent {
    kind: Kind,
    address: String,
    /// `None` while it is dead.
    process: Option<Process>,
}

impl Agent {
    fn start(kind: Kind, folder: &Path) -> Outcome<Self> {
        let mut agent = Self {
            kind,
            address: format!("127.0.0.1:{}", free_port()?),
            process: None,
        };
        agent.revive(folder)?;
        Ok(agent)
    }

    fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill();
        }
    }

    /// Starts it where it was before.
    fn revive(&mut self, folder: &Path) -> Outcome<()> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["agent", self.kind.as_str(), &self.address])
            .arg(folder);
        self.process = Some(Process::of(&mut command));
        Ok(())
    }
}

impl Scene {
    fn start(llamon: PathBuf, folder: PathBuf) -> Outcome<Self> {
        let agents = Kind::ALL
            .into_iter()
            .map(|kind| Agent::start(kind, &folder));
        let agents = agents.collect::<Outcome<Vec<_>>>()?;
        let urls: Vec<String> = agents
            .iter()
            .map(|agent| format!("http://{}", agent.address))
            .collect();
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        std::fs::write(folder.join("kills.yaml"), plan::yaml(&urls))?;
        Ok(Self {
            llamon,
            folder,
            agents,
        })
    }

    fn run(&self, plan: &'static str, id: String) -> Run<'_> {
        Run {
            llamon: &self.llamon,
            folder: &self.folder,
            plan,
            id,
        }
    }

    /// What a run answers that nobody disturbs.
    fn undisturbed(&self) -> Outcome<String> {
        let run = self.run("kills", "undisturbed".to_owned());
        let status = run.begin()?.wait()?;
        let mut figures = Figures::default();
        let answer = finished(&run, status, &[], &mut figures)?;
        if figures.effects != figures.calls || figures.sent != figures.calls {
            return Err(format!("without a kill something was repeated: {figures:?}").into());
        }
        Ok(answer)
    }

    /// Runs the plan with some kills in it; who was killed.
    fn round(
        &mut self,
        round: usize,
        expected: &str,
        chance: &mut Chance,
        figures: &mut Figures,
    ) -> Outcome<String> {
        let id = format!("round{round}");
        let mut killed = Vec::new();
        let mut died = Vec::new();
        let mut driver = self.run("kills", id.clone()).begin()?;
        // At least one of each sort, as far as the run lasts.
        let kills = 2 + chance.below(5);
        for kill in 0..kills {
            let time = Duration::from_millis(10 + chance.below(250));
            let at_runner = if kill < 2 {
                kill == 0
            } else {
                chance.below(2) == 0
            };
            let (victim, downtime) = (chance.below(Kind::ALL.len() as u64), chance.below(80));
            if driver.run_for(time)?.is_some() {
                break;
            }
            let downtime = Duration::from_millis(downtime);
            if at_runner {
                driver.kill()?;
                figures.runner_kills += 1;
                killed.push("runner");
                std::thread::sleep(downtime);
                driver = self.run("kills", id.clone()).resume()?;
            } else if let Some(agent) = self.agents.get_mut(usize::try_from(victim)?) {
                agent.kill();
                figures.agent_kills += 1;
                killed.push(agent.kind.as_str());
                died.push(agent.kind);
                std::thread::sleep(downtime);
                agent.revive(&self.folder)?;
            }
        }
        let status = driver.wait()?;
        let run = self.run("kills", id);
        let answer = finished(&run, status, &died, figures)?;
        if answer != expected {
            return Err(format!("the run answers\n{answer}\nand not\n{expected}").into());
        }
        Ok(killed.join(", "))
    }
}

/// Checks a run that should have ended well, and returns what it answers.
fn finished(
    run: &Run<'_>,
    status: std::process::ExitStatus,
    died: &[Kind],
    figures: &mut Figures,
) -> Outcome<String> {
    if !status.success() {
        return Err(format!("the run ended with {status}:\n{}", run.complaints()).into());
    }
    let said = run.said()?;
    figures.sent += said.matches(r#""event":"sending""#).count();
    let answer = said
        .lines()
        .last()
        .filter(|line| line.contains(r#""event":"run-ended""#));
    let answer = answer.ok_or("the run does not tell its answer")?.to_owned();
    let shown = run.show()?.ok_or("the run is gone")?;
    if shown["state"] != "completed" {
        return Err(format!("the run is stored as {}", shown["state"]).into());
    }
    effects::check(run.folder, &run.id, &shown, died, figures)?;
    Ok(answer)
}
