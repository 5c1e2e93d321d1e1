//! `llamon send`.

pub(crate) mod questions;

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
use questions::Terminal;

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

/// Sends the message and prints the answer. What the agent asks is asked at the terminal, if there
/// is one, and the answers are sent until it has no more questions.
pub(crate) async fn run(args: SendArgs, message: Outgoing) -> Result<Exit, CliError> {
    let terminal = if args.json { None } else { Terminal::find() };
    converse(&args, message, terminal, &mut Out::default()).await
}

async fn converse(
    args: &SendArgs,
    mut message: Outgoing,
    mut terminal: Option<Terminal>,
    out: &mut Out,
) -> Result<Exit, CliError> {
    let agent = &args.agent;
    let client = connect(agent).await?;
    // Artifacts that are on the screen.
    let mut shown = HashSet::new();
    loop {
        let before = shown.clone();
        let reply = if args.stream {
            let live = (!args.json).then(|| Live::new(out, &mut shown));
            stream(&client, agent, message, live).await?
        } else {
            client
                .send(message)
                .await
                .map_err(|error| failed(&error, agent))?
        };
        if args.json {
            out.raw(&(document::of_reply(&reply) + "\n"))?;
            return conclude(&reply, agent, Said::AsJson, out);
        }
        let payload = payload_without(&reply, &before);
        if args.stream {
            out.end_line()?;
            show::data_and_files(&payload, out)?;
        } else {
            show::payload(&payload, out)?;
        }
        let asked = reply.task().map(questions::of).unwrap_or_default();
        let asks = !asked.is_empty();
        if let Some(question) = question(&reply, asks && terminal.is_some()) {
            show::payload(&question, out)?;
        }
        if let (Some(at), Some(task), true) = (terminal.take(), reply.task(), asks) {
            let (at, answer) = at.answer(asked).await?;
            if let Some(answer) = answer {
                shown.extend(
                    task.artifacts
                        .iter()
                        .map(|one| Arc::clone(&one.artifact_id)),
                );
                message = Outgoing::new()
                    .with_part(answer)
                    .in_task(Arc::clone(&task.id));
                terminal = Some(at);
                continue;
            }
        }
        return conclude(&reply, agent, Said::ForPeople, out);
    }
}

/// What the agent answered, without the artifacts that are on the screen already.
fn payload_without(reply: &Reply, shown: &HashSet<Arc<str>>) -> Payload {
    match reply.task() {
        Some(task) if !shown.is_empty() => {
            let mut task = task.clone();
            task.artifacts
                .retain(|one| !shown.contains(&one.artifact_id));
            task.payload()
        }
        _ => reply.payload(),
    }
}

/// Sends the message as a stream and, if asked to, prints the text as it comes.
async fn stream(
    client: &Client,
    agent: &AgentArgs,
    message: Outgoing,
    mut live: Option<Live<'_>>,
) -> Result<Reply, CliError> {
    let mut events = client
        .stream(message)
        .await
        .map_err(|error| failed(&error, agent))?;
    while let Some(event) = events.next().await {
        let event = event.map_err(|error| failed(&error, agent))?;
        if let Some(live) = &mut live {
            live.event(&event)?;
        }
    }
    events.finish().await.map_err(|error| failed(&error, agent))
}

/// What a task that waits asks its client; without the questions that are asked one by one.
fn question(reply: &Reply, one_by_one: bool) -> Option<Payload> {
    let status = &reply.task()?.status;
    let message = status.message.as_ref()?;
    let parts = message.parts.iter();
    let parts = parts.filter(|part| !one_by_one || questions::interrupts(part).is_none());
    let payload = Payload::from(parts.cloned().collect::<Vec<_>>());
    (status.state == TaskState::InputRequired).then_some(payload)
}

/// Prints text as it comes.
struct Live<'a> {
    out: &'a mut Out,
    /// Artifacts whose text is on the screen.
    shown: &'a mut HashSet<Arc<str>>,
    last: Option<Arc<str>>,
}

impl<'a> Live<'a> {
    fn new(out: &'a mut Out, shown: &'a mut HashSet<Arc<str>>) -> Self {
        Self {
            out,
            shown,
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

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use clap::Parser;
    use llamon_agent::prelude::*;
    use llamon_agent::testing::TestServer;
    use serde_json::json;

    use super::questions::Terminal;
    use super::{converse, message};
    use crate::args::{Cli, Command};
    use crate::exit::Exit;
    use crate::out::Out;

    #[derive(Clone, Default)]
    struct Screen(Arc<Mutex<Vec<u8>>>);

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// Asks two at the same time, then one whose schema the terminal does not check.
    async fn agent(turn: Turn) -> Result<String, AgentError> {
        turn.emit("begun ").await?;
        let sure = Question::new("Sure?").schema(json!({"type": "boolean"}));
        let color = Question::new("Which?").schema(json!({"enum": ["red", "blue"]}));
        let (sure, color) = tokio::join!(turn.ask(sure), turn.ask(color));
        let often = json!({"type": "integer", "minimum": 2});
        let often = turn.ask(Question::new("How often?").schema(often)).await?;
        Ok(format!(
            "{} {} {}",
            sure?.json(),
            color?.text(),
            often.json()
        ))
    }

    async fn talk(typed: &'static str, more: &[&str]) -> (Exit, String, Vec<String>) {
        let card = AgentCard::new("asks", "Asks", "1").skill(Skill::new("a", "a", "Asks"));
        let server = TestServer::start(create_server(card, agent).hitl())
            .await
            .unwrap();
        let line = ["llamon", "send", server.url(), "go"];
        let cli = Cli::try_parse_from(line.iter().chain(more)).unwrap();
        let Command::Send(args) = cli.command else {
            panic!("another command");
        };
        let screen = Screen::default();
        let terminal = Terminal::new(typed.as_bytes(), screen.clone());
        let first = message(&args).unwrap();
        let exit = converse(&args, first, Some(terminal), &mut Out::default())
            .await
            .unwrap();
        let seen = String::from_utf8(screen.0.lock().unwrap().clone()).unwrap();
        let page = server.client().list(Default::default()).await.unwrap();
        let mut texts = Vec::new();
        for task in &page.tasks {
            let task = server.client().get(&task.id).await.unwrap();
            texts.push(format!("{} {}", task.status.state, task.payload().text()));
        }
        (exit, seen, texts)
    }

    #[tokio::test]
    async fn questions_are_asked_until_the_agent_has_none() {
        for more in [&[][..], &["--stream"]] {
            let (exit, seen, tasks) = talk("y\nblue\n1\n3\n", more).await;
            assert_eq!(exit, Exit::Completed);
            assert_eq!(tasks.len(), 1, "{tasks:?}");
            assert!(tasks[0].ends_with("true blue 3"), "{tasks:?}");
            // The server did not take the first number, and it was asked again.
            assert_eq!(seen.matches("integer (JSON) > ").count(), 2, "{seen}");
        }
    }

    #[tokio::test]
    async fn who_leaves_gets_the_task_that_waits() {
        let (exit, _, tasks) = talk("y\n", &[]).await;
        assert_eq!(exit, Exit::InputRequired);
        assert!(tasks[0].starts_with("input-required"), "{tasks:?}");
    }
}
