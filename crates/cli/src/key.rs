//! `llamon key`: API keys for callers of a server.

use clap::{Args, Subcommand};
use llamon_agent::server::auth::{ApiKey, ApiKeys, Identity};

use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;

const KEY_HELP: &str = "\
Examples:
  llamon key new alice >> keys.txt
  llamon key new nightly-run --tenant acme --scope tasks:read --scope tasks:write

The line for the server's file goes to standard output, the key itself to standard
error: give it to the caller, as nobody can get it from the line.
Exit codes: 0 done, 2 usage.";

#[derive(Debug, Args)]
#[command(after_help = KEY_HELP)]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Debug, Subcommand)]
enum KeyCommand {
    /// Make a key for a caller
    New(NewKeyArgs),
}

#[derive(Debug, Args)]
struct NewKeyArgs {
    /// The caller's name, as the server knows it
    name: String,

    /// Whose the caller is
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,

    /// What the caller may do; once for each
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
}

pub(crate) fn run(args: KeyArgs) -> Result<Exit, CliError> {
    let KeyCommand::New(args) = args.command;
    let mut identity = Identity::new(args.name.as_str()).with_scopes(args.scope);
    if let Some(tenant) = args.tenant {
        identity = identity.of_tenant(tenant);
    }
    let key = ApiKey::generate().map_err(|error| CliError::usage(error.to_string()))?;
    let line = ApiKeys::file_line(key.hash(), &identity);
    let line = line.map_err(|error| CliError::usage(error.to_string()))?;
    let mut out = Out::default();
    out.line(&line)?;
    out.note(&format!(
        "the key of {}, shown this once: {}",
        args.name,
        key.expose()
    ));
    Ok(Exit::Completed)
}
