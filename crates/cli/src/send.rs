//! `llamon send`.

use std::collections::HashSet;
use std::sync::Arc;

use llamon_agent::a2a::{Artifact, StreamEvent, TaskState};
use llamon_agent::client::{Client, Outgoing, Reply};
use llamon_agent::core::{Part, Payload};

use crate::args::{AgentArgs, SendArgs};
use crate::call::{Said, conclude, connect, failed};
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;
use crate::{attach, document, show};

/// The message that the arguments describe. Reads files and standard input.
pub(crate) fn message(args: &SendArgs) -> Result<Outgoing, CliError> {
    let mut message = Outgoing::new();
    if args.text.is_none() && args.data.is_empty() && args.file.is_empty() {
        return Err(CliError::usage("there is nothing to send")
            .with_next("add a text, --data JSON or --file PATH"));
    }
    if let Some(text) = &args.text {
        message = if text == "-" {
            message.with_text(attach::standard_input()?)
        } else {
            message.with_text(text)
        };
    }
    for argument in &args.data {
        message = message.with_part(attach::data(argument)?);
    }
    for path in &args.file {
        message = message.with_part(attach::file(path)?);
    }
    if let Some(task) = &args.task {
        message = message.in_task(task.as_str());
    }
    if let Some(context) = &args.context {
        message = message.in_context(context.as_str());
    }
    Ok(message)
}

/// Sends the message and prints the answer.
pub(crate) async fn run(args: SendArgs, message: Outgoing) -> Result<Exit, CliError> {
    let mut out = Out::default();
    let agent = &args.agent;
    let client = connect(agent).await?;
    let reply = if args.stream {
        let live = (!args.json).then_some(&mut out);
        stream(&client, agent, message, live).await?
    } else {
        client
            .send(message)
            .await
            .map_err(|error| failed(&error, agent))?
    };
    if args.json {
        out.raw(&(document::of_reply(&reply) + "\n"))?;
        return conclude(&reply, agent, Said::AsJson, &mut out);
    }
    if args.stream {
        out.end_line()?;
        show::data_and_files(&reply.payload(), &mut out)?;
    } else {
        show::payload(&reply.payload(), &mut out)?;
    }
    if let Some(question) = question(&reply) {
        show::payload(&question, &mut out)?;
    }
    conclude(&reply, agent, Said::ForPeople, &mut out)
}

/// Sends the message as a stream and, if asked to, prints the text as it comes.
async fn stream(
    client: &Client,
    agent: &AgentArgs,
    message: Outgoing,
    live: Option<&mut Out>,
) -> Result<Reply, CliError> {
    let mut events = client
        .stream(message)
        .await
        .map_err(|error| failed(&error, agent))?;
    let mut live = live.map(Live::new);
    while let Some(event) = events.next().await {
        let event = event.map_err(|error| failed(&error, agent))?;
        if let Some(live) = &mut live {
            live.event(&event)?;
        }
    }
    events.finish().await.map_err(|error| failed(&error, agent))
}

/// What a task that waits asks its client.
fn question(reply: &Reply) -> Option<Payload> {
    let status = &reply.task()?.status;
    let message = status.message.as_ref()?;
    (status.state == TaskState::InputRequired).then(|| message.payload())
}

/// Prints text as it comes.
struct Live<'a> {
    out: &'a mut Out,
    /// Artifacts whose text is on the screen.
    shown: HashSet<Arc<str>>,
    last: Option<Arc<str>>,
}

impl<'a> Live<'a> {
    fn new(out: &'a mut Out) -> Self {
        Self {
            out,
            shown: HashSet::new(),
            last: None,
        }
    }

    fn event(&mut self, event: &StreamEvent) -> Result<(), CliError> {
        match event {
            StreamEvent::Task(task) => {
                // Some agents repeat the task at its end: what is shown is not shown again.
                for artifact in &task.artifacts {
                    if !self.shown.contains(&artifact.artifact_id) {
                        self.artifact(artifact)?;
                    }
                }
            }
            StreamEvent::Message(message) => self.out.text(&message.payload().text())?,
            StreamEvent::Artifact(update) => {
                let id = &update.artifact.artifact_id;
                let has_text = update.artifact.parts.iter().any(|p| p.as_text().is_some());
                if !update.append && has_text && self.shown.contains(id) {
                    self.out.end_line()?;
                    self.out.note("the agent replaced its text:");
                    self.last = None;
                }
                self.artifact(&update.artifact)?;
            }
            StreamEvent::Status(update) => {
                if let (TaskState::Working, Some(message)) =
                    (update.status.state, &update.status.message)
                {
                    self.out.note(&format!("working: {}", message.query()));
                }
            }
        }
        Ok(())
    }

    /// Prints the artifact's text; the texts of two artifacts are on lines of their own.
    fn artifact(&mut self, artifact: &Artifact) -> Result<(), CliError> {
        let texts: String = artifact.parts.iter().filter_map(Part::as_text).collect();
        if texts.is_empty() {
            return Ok(());
        }
        let id = &artifact.artifact_id;
        if self.last.as_ref().is_some_and(|last| last != id) {
            self.out.end_line()?;
        }
        self.last = Some(Arc::clone(id));
        self.shown.insert(Arc::clone(id));
        self.out.text(&texts)
    }
}
