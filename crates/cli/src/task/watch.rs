use std::sync::Arc;

use llamon_agent::a2a::{ErrorCode, SendResult, StreamEvent, Task, TaskView};
use llamon_agent::client::{Client, ClientError, Reply};
use llamon_agent::core::{Part, Payload};

use crate::args::OneTask;
use crate::call::{Said, conclude, connect, failed};
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;
use crate::text::{clean_line, count};

/// Follows a task and prints its events, one a line. Of a task that has ended already, its end
/// is the only event.
pub(super) async fn run(one: &OneTask) -> Result<Exit, CliError> {
    let mut out = Out::default();
    let client = connect(&one.agent).await?;
    let reply = match client.subscribe(&one.id).await {
        Ok(mut events) => {
            while let Some(event) = events.next().await {
                let event = event.map_err(|error| failed(&error, &one.agent))?;
                print(&event, one.json, &mut out)?;
            }
            events.finish().await
        }
        Err(error) => match ended(&client, &one.id, &error).await {
            Some(event) => {
                print(&StreamEvent::Task(Arc::clone(&event)), one.json, &mut out)?;
                Ok(Reply::from(SendResult::Task(event)))
            }
            None => Err(error),
        },
    };
    let reply = reply.map_err(|error| failed(&error, &one.agent))?;
    let said = if one.json {
        Said::AsJson
    } else {
        Said::ForPeople
    };
    conclude(&reply, &one.agent, said, &mut out)
}

/// The task, if it cannot be followed because it has ended.
async fn ended(client: &Client, id: &str, error: &ClientError) -> Option<Arc<Task>> {
    let refusal = error.protocol()?;
    if refusal.code() != ErrorCode::UnsupportedOperation {
        return None;
    }
    let task = client.get(id).await.ok()?;
    task.status.state.is_terminal().then(|| Arc::new(task))
}

fn print(event: &StreamEvent, json: bool, out: &mut Out) -> Result<(), CliError> {
    if json {
        let mut json = String::new();
        event.write(&mut json, TaskView::FULL);
        json.push('\n');
        return out.raw(&json);
    }
    out.line(&clean_line(&line(event)))
}

fn line(event: &StreamEvent) -> String {
    match event {
        StreamEvent::Task(task) => {
            format!(
                "task {} {} {}",
                task.id,
                task.status.state,
                contents(&task.payload())
            )
        }
        StreamEvent::Message(message) => format!("message {}", contents(&message.payload())),
        StreamEvent::Status(update) => match &update.status.message {
            Some(message) => format!(
                "status {} {}",
                update.status.state,
                contents(&message.payload())
            ),
            None => format!("status {}", update.status.state),
        },
        StreamEvent::Artifact(update) => {
            let artifact = &update.artifact;
            let what = if update.append { "grows" } else { "is" };
            format!(
                "artifact {} {what} {}",
                artifact.artifact_id,
                contents(&Payload::from(artifact.parts.clone()))
            )
        }
    }
    .trim_end()
    .to_owned()
}

/// The text in quotes, and how much data and how many files.
fn contents(payload: &Payload) -> String {
    let mut contents = Vec::new();
    let text = payload.text();
    if !text.is_empty() {
        contents.push(Part::text(text).content_json().to_owned());
    }
    let data = payload.data().count();
    if data > 0 {
        contents.push(format!("{data} data"));
    }
    let files = payload.files().count();
    if files > 0 {
        contents.push(count(files, "file", "files"));
    }
    contents.join(", ")
}
