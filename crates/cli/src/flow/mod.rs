//! `llamon flow`: plans of agents.

mod check;
mod graph;
mod runs;

use std::path::Path;

use clap::{ArgAction, Subcommand};
use llamon_agent::flow::{PLAN_SCHEMA, Plan, PlanError};

use crate::attach::read_text;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;
use crate::runner;

#[derive(Debug, clap::Args)]
pub(crate) struct FlowArgs {
    #[command(subcommand)]
    command: FlowCommand,
}

#[derive(Debug, Subcommand)]
enum FlowCommand {
    /// Say what is wrong with a plan before it runs
    Check(check::CheckArgs),
    /// Draw a plan, or a run with what was sent in it
    Graph(graph::GraphArgs),
    /// Print the JSON Schema of plans, for editors
    Schema,
    #[command(flatten)]
    Runs(runs::RunsCommand),
}

/// Runs the subcommand. Files are read before the runtime starts.
pub(crate) fn run(args: FlowArgs) -> Result<Exit, CliError> {
    match args.command {
        FlowCommand::Check(args) => {
            let plan = read(&args.plan)?.and_then(|plan| args.at.apply(plan));
            runner::run(check::run(args, plan), CliError::interrupted())
        }
        FlowCommand::Graph(args) => graph::run(args),
        FlowCommand::Schema => {
            Out::default().raw(PLAN_SCHEMA)?;
            Ok(Exit::Completed)
        }
        FlowCommand::Runs(command) => {
            let ready = command.read()?;
            let interrupted = ready.interrupted();
            runner::run(ready.run(), interrupted)
        }
    }
}

/// Where agents are, if not where the plan says.
#[derive(Debug, clap::Args)]
struct AgentsAt {
    /// Where an agent of the plan is, if not where the plan says
    #[arg(long = "agent", value_name = "NAME=URL", value_parser = agent_at, action = ArgAction::Append)]
    agents: Vec<(String, String)>,
}

fn agent_at(argument: &str) -> Result<(String, String), String> {
    let (name, url) = argument
        .split_once('=')
        .ok_or("it has no =, give NAME=URL, such as audit=http://127.0.0.1:8082")?;
    Ok((name.to_owned(), url.to_owned()))
}

impl AgentsAt {
    fn apply(&self, plan: Plan) -> Result<Plan, PlanError> {
        let mut agents = self.agents.iter();
        agents.try_fold(plan, |plan, (name, url)| plan.with_agent_at(name, url))
    }
}

/// Reads a plan that must be right.
fn read_plan(path: &Path, at: &AgentsAt) -> Result<Plan, CliError> {
    let plan = read(path)?.and_then(|plan| at.apply(plan));
    plan.map_err(|error| {
        CliError::usage(format!("the plan cannot run:\n{error}"))
            .with_next("`llamon flow check` says more")
    })
}

/// Reads a plan; the inner error is what is wrong with it.
fn read(path: &Path) -> Result<Result<Plan, PlanError>, CliError> {
    let text = read_text(path, "a plan is YAML or JSON, in UTF-8")?;
    Ok(Plan::from_yaml(&text))
}
