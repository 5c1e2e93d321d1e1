//! `llamon task`.

mod list;
mod watch;

use llamon_agent::a2a::{Task, TaskView};

use crate::args::{OneTask, TaskArgs, TaskCommand};
use crate::call::{connect, failed};
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;
use crate::show;
use crate::text::clean_line;

/// Runs the subcommand.
pub(crate) async fn run(args: TaskArgs) -> Result<Exit, CliError> {
    match args.command {
        TaskCommand::Get(one) => get(&one).await,
        TaskCommand::List(args) => list::run(&args).await,
        TaskCommand::Cancel(one) => cancel(&one).await,
        TaskCommand::Watch(one) => watch::run(&one).await,
    }
}

async fn get(one: &OneTask) -> Result<Exit, CliError> {
    let client = connect(&one.agent).await?;
    let task = client
        .get(&one.id)
        .await
        .map_err(|error| failed(&error, &one.agent))?;
    print(&task, one.json)
}

async fn cancel(one: &OneTask) -> Result<Exit, CliError> {
    let client = connect(&one.agent).await?;
    let task = client
        .cancel(&one.id)
        .await
        .map_err(|error| failed(&error, &one.agent))?;
    print(&task, one.json)
}

/// Prints a task, as the protocol's JSON or for people.
fn print(task: &Task, json: bool) -> Result<Exit, CliError> {
    let mut out = Out::default();
    if json {
        let mut json = String::new();
        task.write(&mut json, TaskView::FULL);
        json.push('\n');
        out.raw(&json)?;
        return Ok(Exit::Completed);
    }
    let since = task
        .status
        .timestamp
        .map_or_else(String::new, |at| format!(" since {at}"));
    out.line(&format!(
        "task {} is {}{since}",
        clean_line(&task.id),
        task.status.state
    ))?;
    if !task.context_id.is_empty() {
        out.line(&format!("context {}", clean_line(&task.context_id)))?;
    }
    if let Some(message) = &task.status.message {
        out.line(&format!("says {}", clean_line(&message.query())))?;
    }
    show::payload(&task.payload(), &mut out)?;
    Ok(Exit::Completed)
}
