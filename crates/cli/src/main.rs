//! The `llamon` command: calls A2A agents, shows the data flow between them, and scaffolds new
//! ones.

mod args;
mod attach;
mod call;
mod card;
mod checkout;
mod demo;
mod document;
mod error;
mod exit;
mod explain;
mod flow;
mod key;
mod log;
mod new;
mod out;
mod runner;
mod send;
mod show;
mod store;
mod task;
mod text;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help goes to standard output, whose reader may have gone.
            let _ = error.print();
            let exit = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Completed
            };
            return exit.into();
        }
    };
    log::start(cli.verbose);
    match run(cli.command) {
        Ok(exit) => exit.into(),
        Err(error) => {
            report(&error);
            error.exit().into()
        }
    }
}

/// What a command needs from files and standard input is read before the runtime starts: while
/// a read waits, Ctrl-C must still end the process.
fn run(command: Command) -> Result<Exit, CliError> {
    match command {
        Command::Demo(args) => {
            let input = demo::Input::load(args.input.as_deref())?;
            let interrupted = if args.keep {
                CliError::stopped()
            } else {
                CliError::interrupted()
            };
            runner::run(demo::run(args, input), interrupted)
        }
        Command::Send(args) => {
            let message = send::message(&args)?;
            let list = args.agent.command("task list", "");
            let interrupted =
                CliError::interrupted().with_next(format!("a task that had begun runs on: {list}"));
            runner::run(send::run(args, message), interrupted)
        }
        Command::Card(args) => runner::run(card::run(args), CliError::interrupted()),
        Command::Task(args) => runner::run(task::run(args), CliError::interrupted()),
        Command::Flow(args) => flow::run(args),
        Command::Explain(args) => explain::run(&args),
        Command::Store(args) => store::run(&args),
        Command::Key(args) => key::run(args),
        Command::New(args) => new::run(&args).map(|()| Exit::Completed),
    }
}

fn report(error: &CliError) {
    if error.is_silent() {
        return;
    }
    let mut out = Out::default();
    out.note(&format!("error: {error}"));
    if let Some(next) = error.next() {
        out.note(&format!(" next: {next}"));
    }
}
