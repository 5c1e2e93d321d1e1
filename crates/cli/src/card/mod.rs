//! `llamon card`: shows, signs, verifies and checks agent cards.

mod lint;
mod show;
mod sign;
mod source;
mod verify;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use llamon_agent::client::signing::Algorithm;

use crate::args::{AgentArgs, seconds};
use crate::error::CliError;
use crate::exit::Exit;

const CARD_HELP: &str = "\
Examples:
  llamon card http://127.0.0.1:8080
  llamon card http://127.0.0.1:8080/.well-known/agent-card.json --json
  llamon card lint http://127.0.0.1:8080
  llamon card sign card.json --key key.pem --kid 2026-12 > signed.json
  llamon card verify signed.json --keys public.jwks

Exit codes: 0 done (verify: a trusted key signed it; lint: no errors), 1 protocol error
(verify: nobody trusted did; lint: errors), 2 usage, 3 could not connect, 130 Ctrl-C.";

#[derive(Debug, Args)]
#[command(
    after_help = CARD_HELP,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct CardArgs {
    #[command(subcommand)]
    command: Option<CardCommand>,

    #[command(flatten)]
    agent: Option<AgentArgs>,

    /// Print the card as the agent serves it
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum CardCommand {
    /// Add a signature to a card and print it
    Sign(SignArgs),
    /// Check that a card is signed by a key that you trust
    Verify(VerifyArgs),
    /// Say what is wrong with a card, and where
    Lint(LintArgs),
}

#[derive(Debug, Args)]
struct SignArgs {
    /// The card, a JSON file
    card: PathBuf,

    /// The private key: PEM (not encrypted) or a JSON Web Key
    #[arg(long, value_name = "FILE")]
    key: PathBuf,

    /// The key's id, by which verifiers find it [default: the JSON Web Key's own]
    #[arg(long, value_name = "ID")]
    kid: Option<String>,

    /// The algorithm that the key has to be for [default: whichever it is]
    #[arg(long, value_enum)]
    alg: Option<AlgorithmChoice>,

    /// Sign a second time without empty values, where that differs, for the official SDKs
    #[arg(long)]
    also_without_empty: bool,
}

#[derive(Debug, Args)]
struct VerifyArgs {
    #[command(flatten)]
    source: SourceArgs,

    /// The keys that you trust: a JSON Web Key Set, a JSON Web Key, or a public key in PEM
    #[arg(long, value_name = "FILE", required = true)]
    keys: Vec<PathBuf>,

    /// The id of a key in PEM
    #[arg(long, value_name = "ID")]
    kid: Option<String>,

    /// Take signatures that do not cover empty values, too, as the official SDKs make them
    #[arg(long)]
    accept_without_empty: bool,

    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct LintArgs {
    #[command(flatten)]
    source: SourceArgs,

    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Where a card is.
#[derive(Debug, Args)]
struct SourceArgs {
    /// The card's file, the agent's base URL or the card's URL
    #[arg(value_name = "CARD|URL")]
    card: String,

    /// How long to wait for the card, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    timeout: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AlgorithmChoice {
    #[value(name = "ES256")]
    Es256,
    #[value(name = "RS256")]
    Rs256,
    #[value(name = "EdDSA")]
    EdDsa,
}

impl From<AlgorithmChoice> for Algorithm {
    fn from(choice: AlgorithmChoice) -> Self {
        match choice {
            AlgorithmChoice::Es256 => Self::Es256,
            AlgorithmChoice::Rs256 => Self::Rs256,
            AlgorithmChoice::EdDsa => Self::EdDsa,
        }
    }
}

/// Runs `llamon card` and its subcommands.
pub(crate) async fn run(args: CardArgs) -> Result<Exit, CliError> {
    match (args.command, args.agent) {
        (Some(CardCommand::Sign(args)), _) => sign::run(&args),
        (Some(CardCommand::Verify(args)), _) => verify::run(&args).await,
        (Some(CardCommand::Lint(args)), _) => lint::run(&args).await,
        (None, Some(agent)) => show::run(&agent, args.json).await,
        (None, None) => Err(CliError::usage("which agent's card?")
            .with_next("give its URL: llamon card http://127.0.0.1:8080")),
    }
}
