use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use llamon_agent::flow::picture::{Format, Picture};

use super::runs::{StoreArg, open, unusable};
use super::{read, runner};
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;

const HELP: &str = "\
Examples:
  llamon flow graph plan.yaml
  llamon flow graph plan.yaml --format svg > plan.svg
  llamon flow graph 4f1c9a2b77e0 --format svg > run.svg
  llamon flow graph plan.yaml --format dot | dot -Tpng > plan.png

The picture of a run says on each edge how many parts and bytes were sent, marks what had
arrived before, and says at each step what became of it.";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct GraphArgs {
    /// The plan, a YAML or JSON document, or the id of a run
    #[arg(value_name = "PLAN|RUN")]
    what: String,

    /// How the picture is written
    #[arg(long, default_value = "mermaid", value_parser = format())]
    format: Format,

    #[command(flatten)]
    store: StoreArg,
}

fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(["mermaid", "dot", "svg"]).try_map(|name| name.parse::<Format>())
}

/// Prints the picture.
pub(super) fn run(args: GraphArgs) -> Result<Exit, CliError> {
    let picture = if Path::new(&args.what).exists() {
        of_plan(Path::new(&args.what))?
    } else {
        let format = args.format;
        let picture = of_run(args.what, args.store.file);
        return runner::run(
            async move { print(&picture.await?, format) },
            CliError::interrupted(),
        );
    };
    print(&picture, args.format)
}

fn of_plan(path: &Path) -> Result<Picture, CliError> {
    let plan = read(path)?.map_err(|error| {
        CliError::usage(format!("{} is no plan:\n{error}", path.display()))
            .with_next("correct it; llamon flow check says what is wrong")
    })?;
    Ok(Picture::of_plan(&plan))
}

async fn of_run(run: String, store: PathBuf) -> Result<Picture, CliError> {
    if !store.exists() {
        return Err(CliError::usage(format!(
            "there is no file {run:?}, and no runs are kept in {}",
            store.display()
        ))
        .with_next("give the file of a plan, or the id of a run and --store FILE"));
    }
    let loaded = open(&store, false)?.load(&run).await;
    let stored = loaded.map_err(|error| unusable(&error, &store))?;
    Picture::of_run(&stored).map_err(|error| CliError::usage(error.to_string()))
}

fn print(picture: &Picture, format: Format) -> Result<Exit, CliError> {
    let picture = picture.render(format);
    let picture = picture.map_err(|error| CliError::usage(error.to_string()))?;
    let mut out = Out::default();
    out.raw(&picture)?;
    out.end_line()?;
    Ok(Exit::Completed)
}
