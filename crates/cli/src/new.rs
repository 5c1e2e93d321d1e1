//! `llamon new`: writes a project that builds, runs and passes its own test.

mod folder;
mod name;
mod sdk;
mod template;

use std::fmt::Write as _;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use crate::checkout;
use crate::error::CliError;
use crate::out::Out;
use crate::text::{clean_line, shell_word};
use name::PackageName;
use sdk::Sdk;
use template::{Project, Template};

const HELP: &str = "\
Examples:
  llamon new hello-agent
  llamon new hello-agent --dir ~/agents/hello --sdk ~/src/llamon-agent --yes
  llamon new order-agent --template structured
  llamon new graph-agent --template graph

--sdk takes a folder, a checkout of llamon-agent or its crates/agent, or a version
requirement for a registry that has the crate; a folder that is called like a
version is given as ./0.1. Without it the project uses the checkout that this
llamon was built from. Nothing is ever overwritten.
Exit codes: 0 written, 2 usage, or the folder cannot be used.";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct NewArgs {
    /// Name of the agent and its package, such as hello-agent
    #[arg(value_parser = PackageName::parse)]
    name: PackageName,

    /// Kind of agent
    #[arg(long, value_enum, value_name = "KIND", default_value_t)]
    template: Template,

    /// Folder of the project, new or empty [default: ./NAME]
    #[arg(long, value_name = "D")]
    dir: Option<PathBuf>,

    /// Where the project takes llamon-agent from [default: the checkout that this llamon was built from, for a released one its version]
    #[arg(long, value_name = "PATH|VERSION")]
    sdk: Option<String>,

    /// Ask nothing and take the defaults, as without a terminal
    #[arg(long)]
    yes: bool,
}

/// Writes the project and says what to do with it.
pub(crate) fn run(args: &NewArgs) -> Result<(), CliError> {
    let default_folder = || PathBuf::from(args.name.as_str());
    let folder = args.dir.clone().unwrap_or_else(default_folder);
    // What can be refused is refused before anything is asked.
    folder::check_vacant(&folder)?;
    let sdk = match &args.sdk {
        Some(asked) => Sdk::asked(asked)?,
        None => match checkout::cli_folder() {
            Some(cli) => Sdk::of_checkout(cli)?,
            None => Sdk::of_release(),
        },
    };
    let default = args.template.description();
    let description = if !args.yes && io::stdin().is_terminal() {
        ask_description(default, &mut io::stdin().lock(), &mut io::stderr())
    } else {
        default.to_owned()
    };
    let project = Project {
        name: &args.name,
        description: &description,
        sdk: &sdk,
    };
    let files = template::files(args.template, &project);
    folder::write(&folder, &files)?;

    let mut report = format!("wrote to {}:\n", folder.display());
    for file in &files {
        let _ = writeln!(report, "  {}", file.path);
    }
    let _ = writeln!(report, "llamon-agent is {}\n\nnext:", sdk.whereabouts());
    let _ = writeln!(report, "  cd {}", shell_word(&folder.to_string_lossy()));
    report.push_str("  cargo test\n  cargo run\n");
    Out::default().text(&report)
}

/// The answer, or the default where there is none.
fn ask_description(default: &str, input: &mut impl BufRead, output: &mut impl Write) -> String {
    let _ = write!(output, "What does the agent do? [{default}] ");
    let _ = output.flush();
    let mut line = String::new();
    // What cannot be read, at the end of the input or because it is no UTF-8, is no answer.
    if input.read_line(&mut line).is_err() {
        line.clear();
    }
    match clean_line(&line).trim() {
        "" => default.to_owned(),
        description => description.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::ask_description;

    const DESCRIPTION: &str = "Does what it does";

    #[test]
    fn the_description_is_one_line_or_the_default() {
        let cases: [(&[u8], &str); 6] = [
            (b"", DESCRIPTION),
            (b"\n", DESCRIPTION),
            (b"  \t \r\n", DESCRIPTION),
            (b"\xff\n", DESCRIPTION),
            (b" Says \"hi\"\x1b\x07 \r\nmore\n", "Says \"hi\""),
            ("한국어 설명\n".as_bytes(), "한국어 설명"),
        ];
        for (typed, expected) in cases {
            let mut shown = Vec::new();
            assert_eq!(
                ask_description(DESCRIPTION, &mut &*typed, &mut shown),
                expected
            );
            assert!(String::from_utf8(shown).unwrap().contains(DESCRIPTION));
        }
    }
}
