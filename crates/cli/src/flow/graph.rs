use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use llamon_agent::flow::picture::{Format, Picture};

use super::read;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;

const HELP: &str = "\
Examples:
  llamon flow graph plan.yaml
  llamon flow graph plan.yaml --format svg > plan.svg
  llamon flow graph plan.yaml --format dot | dot -Tpng > plan.png";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct GraphArgs {
    /// The plan: a YAML or JSON document
    plan: PathBuf,

    /// How the picture is written
    #[arg(long, default_value = "mermaid", value_parser = format())]
    format: Format,
}

fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(["mermaid", "dot", "svg"]).try_map(|name| name.parse::<Format>())
}

/// Prints the picture.
pub(super) fn run(args: &GraphArgs) -> Result<Exit, CliError> {
    let plan = read(&args.plan)?.map_err(|error| {
        CliError::usage(format!("{} is no plan:\n{error}", args.plan.display()))
            .with_next("correct it; llamon flow check says what is wrong")
    })?;
    let picture = Picture::of_plan(&plan).render(args.format);
    let picture = picture.map_err(|error| CliError::usage(error.to_string()))?;
    let mut out = Out::default();
    out.raw(&picture)?;
    out.end_line()?;
    Ok(Exit::Completed)
}
