//! `llamon flow run`, `resume`, `list`, `show`, `cancel` and `answer`: runs, which are stored.

mod json;
mod live;
mod report;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, Subcommand};
use llamon_agent::core::{Part, Payload};
use llamon_agent::flow::Plan;
use llamon_agent::flow::run::{self, RunError, Runner, Stand, Watch};
use llamon_agent::flow::store::{CallId, RunState, RunStore, RunStoreError};
use tokio_util::sync::CancellationToken;

use super::AgentsAt;
use crate::attach;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::{self, Out};
use crate::show;
use crate::text::{clean_line, shell_word};

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// Run a plan; Ctrl-C parks the run, `resume` goes on
    Run(RunArgs),
    /// Go on with a run that was stopped, or whose process died
    Resume(OneRun),
    /// List runs, newest first
    List(ListArgs),
    /// Show a run: per step what it received, produced and sent, what was repeated, and how long it took
    Show(OneRun),
    /// Cancel a run and the tasks of its agents
    Cancel(OneRun),
    /// Answer what a step asks, and go on with the run
    Answer(AnswerArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The plan, a YAML or JSON file
    plan: PathBuf,

    /// The text of the input; - reads it from standard input
    #[arg(long, value_name = "TEXT")]
    input: Option<String>,

    /// A data part of the input: a JSON text, or @FILE to read it from
    #[arg(long, value_name = "JSON|@FILE", allow_negative_numbers = true, action = ArgAction::Append)]
    data: Vec<String>,

    /// A file part of the input
    #[arg(long, value_name = "PATH", action = ArgAction::Append)]
    file: Vec<PathBuf>,

    /// The run's id [default: a new one]
    #[arg(long)]
    id: Option<String>,

    #[command(flatten)]
    at: AgentsAt,

    #[command(flatten)]
    store: StoreArg,

    #[command(flatten)]
    shown: Shown,
}

#[derive(Debug, Args)]
pub(crate) struct OneRun {
    /// The run's id
    run: String,

    #[command(flatten)]
    store: StoreArg,

    #[command(flatten)]
    shown: Shown,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// How many runs at most
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,

    #[command(flatten)]
    store: StoreArg,

    #[command(flatten)]
    shown: Shown,
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// The run's id
    run: String,

    /// The step that asks, or STEP/ITEM
    step: String,

    /// The text of the answer; - reads it from standard input
    text: Option<String>,

    /// A data part of the answer: a JSON text, or @FILE to read it from
    #[arg(long, value_name = "JSON|@FILE", allow_negative_numbers = true, action = ArgAction::Append)]
    data: Vec<String>,

    #[command(flatten)]
    store: StoreArg,

    #[command(flatten)]
    shown: Shown,
}

#[derive(Debug, Args)]
pub(super) struct StoreArg {
    /// Where runs are kept
    #[arg(
        id = "store",
        long = "store",
        value_name = "FILE",
        default_value = "data/flows.db"
    )]
    pub(super) file: PathBuf,
}

#[derive(Debug, Args)]
struct Shown {
    /// Print JSON: of a run that is driven one event a line, and its answer at the end
    #[arg(long)]
    json: bool,
}

/// What a command has read before its runtime starts.
pub(crate) enum Ready {
    Run {
        plan: Box<Plan>,
        input: Payload,
        id: String,
        store: PathBuf,
        json: bool,
    },
    Answer {
        run: String,
        call: CallId,
        parts: Vec<Part>,
        store: PathBuf,
        json: bool,
    },
    Other(RunsCommand),
}

impl RunsCommand {
    /// Reads files and standard input.
    pub(crate) fn read(self) -> Result<Ready, CliError> {
        match self {
            Self::Run(args) => {
                let plan = super::read_plan(&args.plan, &args.at)?;
                let mut input = Payload::new();
                match args.input.as_deref() {
                    Some("-") => input = input.with_text(attach::standard_input()?),
                    Some(text) => input = input.with_text(text),
                    None => {}
                }
                for argument in &args.data {
                    input = input.with_part(attach::data(argument)?);
                }
                for path in &args.file {
                    input = input.with_part(attach::file(path)?);
                }
                Ok(Ready::Run {
                    plan: Box::new(plan),
                    input,
                    id: args.id.unwrap_or_else(Runner::new_id),
                    store: args.store.file,
                    json: args.shown.json,
                })
            }
            Self::Answer(args) => {
                let mut parts = Vec::new();
                match args.text.as_deref() {
                    Some("-") => parts.push(Part::text(attach::standard_input()?)),
                    Some(text) => parts.push(Part::text(text)),
                    None => {}
                }
                for argument in &args.data {
                    parts.push(attach::data(argument)?);
                }
                if parts.is_empty() {
                    return Err(CliError::usage("there is nothing to answer with")
                        .with_next("add a text, or --data JSON"));
                }
                Ok(Ready::Answer {
                    run: args.run,
                    call: call_id(&args.step)?,
                    parts,
                    store: args.store.file,
                    json: args.shown.json,
                })
            }
            other => Ok(Ready::Other(other)),
        }
    }
}

impl Ready {
    /// What is said when Ctrl-C comes.
    pub(crate) fn interrupted(&self) -> CliError {
        let (run, store) = match self {
            Self::Run { id, store, .. } => (id, store),
            Self::Answer { run, store, .. } => (run, store),
            Self::Other(RunsCommand::Resume(args)) => (&args.run, &args.store.file),
            Self::Other(_) => return CliError::interrupted(),
        };
        CliError::interrupted().with_next(format!(
            "the run is parked and its tasks run on; go on with: {}",
            command("resume", run, store)
        ))
    }

    pub(crate) async fn run(self) -> Result<Exit, CliError> {
        match self {
            Self::Run {
                plan,
                input,
                id,
                store,
                json,
            } => {
                let runner = runner(&store, true)?;
                runner
                    .begin_as(&id, &plan, input)
                    .await
                    .map_err(|error| failed(&error, &store))?;
                if !json {
                    let trace = run::trace_of(&id);
                    let line = format!("run {}, trace {}", clean_line(&id), trace.trace_id());
                    Out::default().note(&line);
                }
                drive(&runner, &id, &store, json).await
            }
            Self::Answer {
                run,
                call,
                parts,
                store,
                json,
            } => {
                let runner = runner(&store, false)?;
                let answered = runner.store().answer(&run, &call, parts).await;
                answered.map_err(|error| unusable(&error, &store))?;
                match drive(&runner, &run, &store, json).await {
                    // Whoever runs it has seen the answer.
                    Err(error) if error.exit() == Exit::Usage => {
                        Out::default().note("answered; the run goes on where it is being run");
                        Ok(Exit::Completed)
                    }
                    driven => driven,
                }
            }
            Self::Other(command) => other(command).await,
        }
    }
}

async fn other(command: RunsCommand) -> Result<Exit, CliError> {
    match command {
        RunsCommand::Resume(args) => {
            let store = &args.store.file;
            drive(&runner(store, false)?, &args.run, store, args.shown.json).await
        }
        RunsCommand::List(args) => {
            let store = &args.store.file;
            let listed = open(store, false)?.list(args.limit).await;
            let runs = listed.map_err(|error| unusable(&error, store))?;
            let mut out = Out::default();
            if args.shown.json {
                out.raw(&json::list_of_runs(&runs))?;
            } else {
                out.line(&report::list(&runs))?;
            }
            Ok(Exit::Completed)
        }
        RunsCommand::Show(args) => {
            let store = &args.store.file;
            let loaded = open(store, false)?.load(&args.run).await;
            let mut run = loaded.map_err(|error| unusable(&error, store))?;
            if let Ok((plan, _)) = run::answers(&run) {
                // As the plan has them, each after those that it needs.
                let order = plan.order().iter().enumerate();
                let places: HashMap<usize, usize> = order.map(|(at, step)| (*step, at)).collect();
                let place = |step: &str| places.get(&plan.step_index(step)?).copied();
                run.steps.sort_by_key(|step| place(&step.step));
                run.calls.sort_by_key(|call| place(&call.id.step));
            }
            let mut out = Out::default();
            if args.shown.json {
                out.raw(&json::run(&run))?;
            } else {
                out.line(&report::run(&run, store))?;
            }
            Ok(Exit::Completed)
        }
        RunsCommand::Cancel(args) => {
            let store = &args.store.file;
            let runner = runner(store, false)?;
            let asked = runner.store().request_cancel(&args.run).await;
            if !asked.map_err(|error| unusable(&error, store))? {
                Out::default().note("the run had ended before");
                return Ok(Exit::Completed);
            }
            match runner
                .drive(&args.run, &(), &CancellationToken::new())
                .await
            {
                // Whoever runs it cancels it.
                Err(error) if error.is_held() => {}
                driven => drop(driven.map_err(|error| failed(&error, store))?),
            }
            Out::default().note("canceled");
            Ok(Exit::Completed)
        }
        RunsCommand::Run(_) | RunsCommand::Answer(_) => Ok(Exit::Completed),
    }
}

/// Drives a run to where it comes, and shows it.
async fn drive(runner: &Runner, run: &str, store: &Path, json: bool) -> Result<Exit, CliError> {
    let watch: Box<dyn Watch> = if json {
        Box::new(json::Events)
    } else if out::is_error_terminal() {
        Box::new(live::Tree::new())
    } else {
        Box::new(live::Lines)
    };
    let stand = runner.drive(run, &*watch, &CancellationToken::new()).await;
    drop(watch);
    let stand = stand.map_err(|error| failed(&error, store))?;
    let mut out = Out::default();
    match stand {
        Stand::Ended {
            state,
            reason,
            answer,
        } => {
            if json {
                out.raw(&json::answer(state, reason.as_deref(), &answer))?;
            } else {
                show::payload(&answer, &mut out)?;
            }
            ended(run, store, state, reason.as_deref())
        }
        Stand::Waiting(calls) => {
            for call in &calls {
                let step = shell_word(&call.to_string());
                let answer = command("answer", run, store);
                out.note(&format!(
                    "{call} asks; answer with: {answer} {step} \"...\""
                ));
            }
            Ok(Exit::InputRequired)
        }
        _ => Ok(Exit::Interrupted),
    }
}

fn ended(run: &str, store: &Path, state: RunState, reason: Option<&str>) -> Result<Exit, CliError> {
    let show = || format!("see what it did: {}", command("show", run, store));
    match state {
        RunState::Failed => {
            let reason = reason.unwrap_or("no reason is known");
            let message = format!("the run failed: {}", clean_line(reason));
            Err(CliError::new(Exit::AgentFailed, message).with_next(show()))
        }
        RunState::Canceled => {
            Err(CliError::new(Exit::Canceled, "the run was canceled").with_next(show()))
        }
        _ => Ok(Exit::Completed),
    }
}

pub(super) fn open(file: &Path, make: bool) -> Result<RunStore, CliError> {
    if make {
        if let Some(folder) = file
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            std::fs::create_dir_all(folder).map_err(|error| {
                CliError::usage(format!(
                    "cannot make the folder {}: {error}",
                    folder.display()
                ))
                .with_next("choose another file with --store")
            })?;
        }
    } else if !file.exists() {
        return Err(
            CliError::usage(format!("there is no store of runs at {}", file.display()))
                .with_next("name the one that the run was begun with, with --store"),
        );
    }
    RunStore::open(file).map_err(|error| unusable(&error, file))
}

fn runner(file: &Path, make: bool) -> Result<Runner, CliError> {
    Ok(Runner::new(open(file, make)?))
}

fn failed(error: &RunError, store: &Path) -> CliError {
    let next = if error.is_unknown_run() {
        format!(
            "see which there are: llamon flow list --store {}",
            word(store)
        )
    } else if error.is_held() {
        "an answer or a cancel reaches it where it is being run".to_owned()
    } else {
        "check the store, or choose another one with --store".to_owned()
    };
    CliError::usage(error.to_string()).with_next(next)
}

pub(super) fn unusable(error: &RunStoreError, store: &Path) -> CliError {
    CliError::usage(error.to_string()).with_next(format!(
        "see which runs there are: llamon flow list --store {}",
        word(store)
    ))
}

/// A command for the same run, as it is typed into a shell.
fn command(name: &str, run: &str, store: &Path) -> String {
    let mut command = format!("llamon flow {name} {}", shell_word(run));
    if store != Path::new("data/flows.db") {
        command.push_str(" --store ");
        command.push_str(&word(store));
    }
    command
}

fn word(path: &Path) -> String {
    shell_word(&path.to_string_lossy())
}

fn call_id(text: &str) -> Result<CallId, CliError> {
    match text.split_once('/') {
        None => Ok(CallId::of_step(text)),
        Some((step, item)) => match item.parse() {
            Ok(item) => Ok(CallId::of_item(step, item)),
            Err(_) => Err(
                CliError::usage(format!("{text:?} is no step and no item of one"))
                    .with_next("write it as STEP or STEP/ITEM, such as convert/3"),
            ),
        },
    }
}
