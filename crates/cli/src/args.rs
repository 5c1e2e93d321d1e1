//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use llamon_agent::a2a::TaskState;
use llamon_agent::client::Binding;
use llamon_agent::core::UpstreamPartsPolicy;

use crate::card::CardArgs;
use crate::explain::ExplainArgs;
use crate::flow::FlowArgs;
use crate::key::KeyArgs;
use crate::new::NewArgs;
use crate::store::StoreArgs;
use crate::text::shell_word;

const EXIT_CODES: &str = "\
Exit codes:
  0    completed: the task, or what the command is for
  1    protocol error: the agent answered with an error, with something that is
       not A2A 1.0, or not in time
  2    usage: the command line or a file that it names is wrong; nothing was sent
  3    could not connect; nothing was sent
  4    the agent failed, or rejected the task (explain: would reject it)
  5    input or credentials are required (explain: would be asked for)
  6    the task was canceled
  130  Ctrl-C

What was asked for goes to standard output, everything else to standard error.";

const DEMO_HELP: &str = "\
Examples:
  llamon demo
  llamon demo --input ~/project/Cargo.lock --policy append
  llamon demo --json | jq '.runs[].hops[].answer.parts'
  llamon demo --keep";

const SEND_HELP: &str = "\
Examples:
  llamon send http://127.0.0.1:8080 \"hello\" --data '{\"n\":3}'
  llamon send http://127.0.0.1:8080 \"check this\" --file Cargo.lock --stream
  git diff | llamon send http://127.0.0.1:8080 - --json
  llamon send http://127.0.0.1:8080 --task 4f1c \"yes\"

The message has its text first, then the data parts, then the files, each in the
order given. --json prints {\"text\",\"data\",\"files\",\"task\"} on one line.
Exit codes: 0 completed, 1 protocol error, 2 usage, 3 could not connect, 4 failed
or rejected, 5 input or credentials required, 6 canceled, 130 Ctrl-C.";

const TASK_HELP: &str = "\
Examples:
  llamon task list http://127.0.0.1:8080 --status working
  llamon task get http://127.0.0.1:8080 4f1c --json
  llamon task watch http://127.0.0.1:8080 4f1c

get, list and cancel exit with 0 when the call worked, whatever the task's state;
watch exits as send does: 0 completed, 4 failed or rejected, 6 canceled.
1 protocol error, 2 usage, 3 could not connect, 130 Ctrl-C.";

/// Calls agents that speak A2A 1.0, shows how data flows between them, and scaffolds new ones
#[derive(Debug, Parser)]
#[command(name = "llamon", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Say more on standard error (-vv, -vvv: still more); RUST_LOG is used without it
    #[arg(short, long, global = true, action = ArgAction::Count, display_order = 900)]
    pub(crate) verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run three agents on loopback and show what each hop received, produced and sent
    #[command(after_help = DEMO_HELP)]
    Demo(DemoArgs),
    /// Send a message to an agent and show its answer
    #[command(after_help = SEND_HELP)]
    Send(SendArgs),
    /// Show, sign, verify and check agent cards
    Card(CardArgs),
    /// Read and steer an agent's tasks
    #[command(after_help = TASK_HELP)]
    Task(TaskArgs),
    /// Show what input contracts make of a message, and what the answer would be
    Explain(ExplainArgs),
    /// Check a workflow's plan, and draw it
    Flow(FlowArgs),
    /// Look after the file that a server keeps its tasks in
    Store(StoreArgs),
    /// Make API keys for callers of a server
    Key(KeyArgs),
    /// Write a project with an agent that builds, runs and passes its own test
    New(NewArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// The Cargo.lock to look into [default: the one of this repository]
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,

    /// What the agents' answers keep of what they were sent
    #[arg(long, value_enum, default_value_t = PolicyChoice::Both)]
    pub(crate) policy: PolicyChoice,

    /// Leave the agents up until Ctrl-C, and print their URLs; they keep their tasks in a file
    #[arg(long)]
    pub(crate) keep: bool,

    /// Where the agents keep their tasks with --keep
    #[arg(
        long,
        value_name = "FILE",
        default_value = "data/demo.db",
        requires = "keep"
    )]
    pub(crate) store: PathBuf,

    /// Print one JSON document instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PolicyChoice {
    Replace,
    Append,
    Both,
}

impl PolicyChoice {
    pub(crate) fn policies(self) -> &'static [UpstreamPartsPolicy] {
        use UpstreamPartsPolicy::{Append, Replace};
        match self {
            Self::Replace => &[Replace],
            Self::Append => &[Append],
            Self::Both => &[Replace, Append],
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArgs,

    /// The text to send; - reads it from standard input
    pub(crate) text: Option<String>,

    /// A data part: a JSON text, or @FILE to read it from; sent token for token
    #[arg(
        long,
        value_name = "JSON|@FILE",
        allow_negative_numbers = true,
        action = ArgAction::Append
    )]
    pub(crate) data: Vec<String>,

    /// A file part
    #[arg(long, value_name = "PATH", action = ArgAction::Append)]
    pub(crate) file: Vec<PathBuf>,

    /// Show the text as it is produced
    #[arg(long)]
    pub(crate) stream: bool,

    /// The task that the message answers
    #[arg(long, value_name = "ID")]
    pub(crate) task: Option<String>,

    /// The conversation that the message belongs to
    #[arg(long, value_name = "ID")]
    pub(crate) context: Option<String>,

    /// Print the answer as one JSON document on one line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TaskArgs {
    #[command(subcommand)]
    pub(crate) command: TaskCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Show a task: where it stands and what it produced
    Get(OneTask),
    /// List an agent's tasks, newest first
    List(ListArgs),
    /// Cancel a task
    Cancel(OneTask),
    /// Follow a task to its end, one line an event
    Watch(OneTask),
}

#[derive(Debug, Args)]
pub(crate) struct OneTask {
    #[command(flatten)]
    pub(crate) agent: AgentArgs,

    /// The task's id
    pub(crate) id: String,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArgs,

    /// Only tasks of this conversation
    #[arg(long, value_name = "ID")]
    pub(crate) context: Option<String>,

    /// Only tasks in this state, such as working or completed
    #[arg(long, value_name = "STATE", value_parser = task_state)]
    pub(crate) status: Option<TaskState>,

    /// How many tasks at most
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which agent, and how it is called.
#[derive(Clone, Debug, Args)]
pub(crate) struct AgentArgs {
    /// The agent's base URL, or its card's
    pub(crate) url: String,

    /// How long to wait for the agent, in seconds; with a stream, for its next event
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "300",
        value_parser = seconds,
        help_heading = "Connection"
    )]
    pub(crate) timeout: Duration,

    /// How to call the agent [default: what its card prefers]
    #[arg(long, value_enum, help_heading = "Connection")]
    pub(crate) binding: Option<BindingChoice>,

    /// Let the agent's card name an interface on this origin too
    #[arg(long, value_name = "URL", action = ArgAction::Append, help_heading = "Connection")]
    pub(crate) trust_origin: Vec<String>,

    /// The environment variable that has the bearer token to send; tokens do not belong on command lines
    #[arg(long, value_name = "VARIABLE", help_heading = "Connection")]
    pub(crate) bearer_env: Option<String>,

    /// A header to send, such as X-API-Key, and the environment variable that has its value
    #[arg(long, value_name = "HEADER=VARIABLE", value_parser = header_env, action = ArgAction::Append, help_heading = "Connection")]
    pub(crate) header_env: Vec<(String, String)>,
}

fn header_env(argument: &str) -> Result<(String, String), String> {
    let (header, variable) = argument
        .split_once('=')
        .ok_or("it has no =, give HEADER=VARIABLE, such as X-API-Key=AGENT_KEY")?;
    Ok((header.to_owned(), variable.to_owned()))
}

impl AgentArgs {
    /// A command for the same agent, as it is typed into a shell; `rest` follows the URL as it is.
    pub(crate) fn command(&self, name: &str, rest: &str) -> String {
        let mut command = format!("llamon {name} {}", shell_word(&self.url));
        if let Some(binding) = self.binding {
            command.push_str(match binding {
                BindingChoice::Jsonrpc => " --binding jsonrpc",
                BindingChoice::Rest => " --binding rest",
            });
        }
        for origin in &self.trust_origin {
            command.push_str(" --trust-origin ");
            command.push_str(&shell_word(origin));
        }
        if let Some(variable) = &self.bearer_env {
            command.push_str(" --bearer-env ");
            command.push_str(&shell_word(variable));
        }
        for (header, variable) in &self.header_env {
            command.push_str(" --header-env ");
            command.push_str(&shell_word(&format!("{header}={variable}")));
        }
        if !rest.is_empty() {
            command.push(' ');
            command.push_str(rest);
        }
        command
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BindingChoice {
    Jsonrpc,
    Rest,
}

impl From<BindingChoice> for Binding {
    fn from(choice: BindingChoice) -> Self {
        match choice {
            BindingChoice::Jsonrpc => Self::JsonRpc,
            BindingChoice::Rest => Self::Rest,
        }
    }
}

/// The short name of a state, or its name on the wire.
fn task_state(name: &str) -> Result<TaskState, String> {
    TaskState::ALL
        .into_iter()
        .find(|state| state.to_string() == name || state.as_str() == name)
        .ok_or_else(|| {
            let names = TaskState::ALL.map(|state| state.to_string()).join(", ");
            format!("there are {names}")
        })
}

pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let expected = "expected a number of seconds above 0, such as 30 or 0.5";
    let seconds: f64 = text.parse().map_err(|_| expected)?;
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| expected.to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::CommandFactory;
    use llamon_agent::a2a::TaskState;

    use super::{Cli, seconds, task_state};

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn states_have_two_spellings() {
        let expected = Ok(TaskState::InputRequired);
        assert_eq!(task_state("input-required"), expected);
        assert_eq!(task_state("TASK_STATE_INPUT_REQUIRED"), expected);
        assert!(task_state("done").unwrap_err().contains("completed"));
    }

    #[test]
    fn a_timeout_is_above_zero() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["0", "-1", "NaN", "inf", "1e300", "soon", ""] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
