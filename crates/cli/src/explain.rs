//! `llamon explain`: what input contracts make of a message, and what the answer would be. No
//! network, no agent.

mod files;
mod flow;
mod json;
mod lines;
mod table;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use llamon_agent::contracts::OnMissing;
use llamon_agent::core::{Payload, UpstreamPartsPolicy};

use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;
use crate::text::{clean_line, count};
use flow::Flow;

const HELP: &str = "\
Examples:
  llamon explain --contracts contracts.yaml --message message.json
  llamon explain --contracts contracts.yaml --message message.json \\
    --current current.json --policy append
  llamon explain --contracts contracts.json --message message.json --json

Nothing is sent. A message is {\"parts\":[...]}, with or without the rest of an A2A
message or of a SendMessage request around it, or the array of parts alone.
Exit codes: 0 the agent would run, 2 usage or a file that is wrong, 4 a required
input is missing and the task would be rejected, 5 it would be asked for.";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ExplainArgs {
    /// The input contracts: a YAML or JSON document
    #[arg(long, value_name = "FILE")]
    contracts: PathBuf,

    /// The message that the agent is sent
    #[arg(long, value_name = "FILE")]
    message: PathBuf,

    /// The parts that the agent produces [default: none]
    #[arg(long, value_name = "FILE")]
    current: Option<PathBuf>,

    /// What the agent's answer keeps of what it was sent
    #[arg(long, default_value = "replace", value_parser = policy())]
    policy: UpstreamPartsPolicy,

    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

fn policy() -> impl TypedValueParser<Value = UpstreamPartsPolicy> {
    PossibleValuesParser::new(["replace", "append"])
        .try_map(|name| name.parse::<UpstreamPartsPolicy>())
}

/// Reads the files and prints what happens, step by step.
pub(crate) fn run(args: &ExplainArgs) -> Result<Exit, CliError> {
    let contracts = files::contracts(&args.contracts)?;
    let compiled = contracts
        .compile()
        .map_err(|error| files::bad_contracts(&args.contracts, &error))?;
    let parts = files::message(&args.message)?;
    let current = match &args.current {
        Some(path) => files::current(path)?,
        None => Payload::new(),
    };
    let flow = Flow::new(&contracts, &compiled, parts, current, args.policy)
        .map_err(|error| files::bad_contracts(&args.contracts, &error))?;
    let mut out = Out::default();
    if args.json {
        out.raw(&(json::document(&flow)? + "\n"))?;
    } else {
        out.text(&table::text(args, &flow, crate::out::width()))?;
    }
    conclude(&flow)
}

fn conclude(flow: &Flow) -> Result<Exit, CliError> {
    let Some(on_missing) = flow.missing else {
        return Ok(Exit::Completed);
    };
    let names: Vec<String> = flow
        .missing_names()
        .map(|name| format!("{name:?}"))
        .collect();
    let inputs = count(names.len(), "input is", "inputs are");
    let missing = clean_line(&format!("{inputs} missing: {}", names.join(", ")));
    let error = match on_missing {
        OnMissing::Reject => CliError::new(
            Exit::AgentFailed,
            format!("the agent would reject the task, {missing}"),
        )
        .with_next("change the message, or the contracts, as the reasons say"),
        OnMissing::Ask => CliError::new(
            Exit::InputRequired,
            format!("the agent would ask for more, {missing}"),
        )
        .with_next("add what is missing; a sender would answer the question with it"),
    };
    Err(error)
}
