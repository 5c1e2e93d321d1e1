//! `llamon demo`: three agents on loopback and a chain through them, under both values of
//! `upstream_parts_policy`.

mod audit;
mod chain;
mod input;
mod inventory;
mod items;
mod json;
mod kept;
mod measure;
mod report;
mod table;
mod worker;

use llamon_agent::core::UpstreamPartsPolicy;
use llamon_agent::server::backend::sqlite::SqliteStore;

use crate::args::DemoArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;
use crate::text::{clean_line, size};

use self::chain::{Run, Team};
pub(crate) use self::input::Input;

/// Starts the agents, drives the chain through them and shows what happened.
pub(crate) async fn run(args: DemoArgs, input: Input) -> Result<Exit, CliError> {
    let mut out = Out::default();
    let store = args.keep.then(|| SqliteStore::open(&args.store));
    let store = store
        .transpose()
        .map_err(|error| CliError::usage(error.to_string()))?;
    let mut teams = Vec::new();
    let mut runs = Vec::new();
    for &policy in args.policy.policies() {
        let mut team = Team::start(policy, store.as_ref()).await?;
        runs.push(team.drive(&input).await?);
        teams.push(team);
    }
    // What happened is shown first, so that a difference can be looked at.
    if args.json {
        let kept = if args.keep { teams.as_slice() } else { &[] };
        out.raw(&(json::document(&input, &runs, kept) + "\n"))?;
        runs.iter().try_for_each(Run::check)?;
    } else {
        show_hops(&input, &runs, &mut out)?;
        runs.iter().try_for_each(Run::check)?;
        show_results(&runs, &mut out)?;
    }
    if !args.keep {
        return Ok(Exit::Completed);
    }
    if !args.json {
        out.text(&kept::text(&input, &teams, &args.store))?;
    }
    Err(served_until_they_break(teams).await)
}

fn show_hops(input: &Input, runs: &[Run], out: &mut Out) -> Result<(), CliError> {
    out.text(&format!(
        "{} ({}) goes through three agents over A2A.\nParts of each hop, with the bytes of \
         their JSON in brackets:\n\n{}\n\n",
        clean_line(&input.shown),
        size(input.bytes.len()),
        table::of_runs(runs, crate::out::width(), crate::out::is_terminal())
    ))
}

fn show_results(runs: &[Run], out: &mut Out) -> Result<(), CliError> {
    out.line("Checked, token for token:")?;
    for run in runs {
        out.line(match run.policy {
            UpstreamPartsPolicy::Replace => {
                "  replace: what went out is what the agent produced, and nothing that arrived."
            }
            UpstreamPartsPolicy::Append => {
                "  append:  what went out is what the agent produced, then the data and files\n           \
                 that arrived."
            }
        })?;
    }
    for run in runs {
        out.text(&format!(
            "\n--- the report under {} ---\n\n{}",
            run.policy,
            run.report()
        ))?;
        out.end_line()?;
    }
    Ok(())
}

async fn served_until_they_break(teams: Vec<Team>) -> CliError {
    for team in teams {
        if let Some(error) = team.broken().await {
            return error;
        }
    }
    CliError::new(Exit::Protocol, "the agents ended by themselves")
}
