//! Our client against the agent of another SDK, which does what `interop-agent` does.
//!
//! ```text
//! interop-client [--expect FILE] [--binding NAME]... [--patience SECONDS] COMMAND [ARGUMENT]...
//! ```
//!
//! Starts the command, waits for its line `READY URL`, makes every check over every binding, prints
//! one line for each, and ends with 1 if one failed. What the peer is known to do otherwise is in
//! the file (see `expected.rs`).

mod answers;
mod expected;
mod peer;
mod push;
mod tasks;

use std::io::Write as _;
use std::pin::Pin;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use llamon_agent::client::{Binding, Client, ClientError};
use llamon_itest::process::Process;

use expected::Expected;
use peer::{Outcome, Peer};

/// How long a check may take unless `--patience` says otherwise.
const ONE_CHECK: Duration = Duration::from_secs(60);

type Check<'a> = Pin<Box<dyn Future<Output = Outcome> + 'a>>;
type Checks = &'static [(&'static str, fn(&Peer) -> Check<'_>)];

/// A list of checks, each under its function's name.
macro_rules! checks {
    ($($module:ident: $($name:ident)+;)+) => {
        &[$($((stringify!($name), |peer| Box::pin($module::$name(peer)))),+),+]
    };
}

const CHECKS: Checks = checks! {
    answers: echo data_of_every_kind null_data tokens big_integers files part_metadata large stream chunks
        burst direct_message fails;
    tasks: get_with_history list list_pages cancel cancel_completed cancel_canceled subscribe subscribe_ended leaving
        unknown_task ended_task asks asks_in_a_stream
        an_answers_stream_begins_with_the_task;
    push: push_configs push_created push_inline;
};

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("FAIL {error}"));
            ExitCode::FAILURE
        }
    }
}

/// The number of failures.
async fn run() -> Result<usize, String> {
    let arguments = Arguments::read(std::env::args().skip(1))?;
    let mut expected = Expected::read(arguments.expect.as_deref())?;
    let (program, rest) = arguments.command.split_first().ok_or("no command")?;
    let process = Process::of(Command::new(program).args(rest));
    let (mut passed, mut failed) = (0, 0);
    for binding in &arguments.bindings {
        let client = client(process.url(), *binding).await;
        let client = client.map_err(|error| format!("{binding}: {error}"))?;
        let peer = Peer { client };
        for (name, check) in CHECKS {
            let began = Instant::now();
            let outcome = tokio::time::timeout(arguments.patience, check(&peer))
                .await
                .unwrap_or_else(|_| Err(format!("no end within {:?}", arguments.patience)));
            let verdict = expected.judge(binding.as_str(), name, outcome);
            match &verdict {
                Ok(line) => say(&format!("{line} ({} ms)", began.elapsed().as_millis())),
                Err(line) => say(&format!("FAIL {line}")),
            }
            match verdict {
                Ok(_) => passed += 1,
                Err(_) => failed += 1,
            }
        }
    }
    for line in expected.unused(&arguments.bindings) {
        say(&format!("FAIL {line}"));
        failed += 1;
    }
    say(&format!("{passed} passed, {failed} failed"));
    Ok(failed)
}

/// A peer's gRPC has a port of its own, so it is named as one to trust.
async fn client(url: &str, binding: Binding) -> Result<Client, ClientError> {
    let builder = || Client::builder().timeout(Duration::from_secs(30));
    let found = builder().discover(url).await?;
    let interfaces = found.card().supported_interfaces.iter();
    let grpc = interfaces.filter(|interface| interface.protocol_binding == Binding::Grpc.as_str());
    let named = grpc.fold(builder().binding(binding), |builder, interface| {
        builder.trust_origin(format!("http://{}", interface.url))
    });
    named.discover(url).await
}

struct Arguments {
    expect: Option<String>,
    bindings: Vec<Binding>,
    patience: Duration,
    command: Vec<String>,
}

impl Arguments {
    fn read(mut given: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            expect: None,
            bindings: Vec::new(),
            patience: ONE_CHECK,
            command: Vec::new(),
        };
        while let Some(argument) = given.next() {
            match argument.as_str() {
                "--expect" => arguments.expect = Some(given.next().ok_or("--expect needs a file")?),
                "--patience" => {
                    let seconds = given.next().and_then(|seconds| seconds.parse().ok());
                    let seconds = seconds.ok_or("--patience needs a number of seconds")?;
                    arguments.patience = Duration::from_secs(seconds);
                }
                "--binding" => {
                    let name = given.next().ok_or("--binding needs a name")?;
                    let known = [Binding::JsonRpc, Binding::Rest, Binding::Grpc];
                    let binding = known.into_iter().find(|known| known.as_str() == name);
                    let binding = binding.ok_or(format!("no binding is called {name:?}"))?;
                    arguments.bindings.push(binding);
                }
                _ => {
                    arguments.command.push(argument);
                    arguments.command.extend(&mut given);
                }
            }
        }
        if arguments.bindings.is_empty() {
            arguments.bindings = vec![Binding::JsonRpc, Binding::Rest];
        }
        Ok(arguments)
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}
