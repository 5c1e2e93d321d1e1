//! An agent that says what it reads, and every way to call one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use llamon_agent::a2a::{Artifact, Role, Task, TaskState};
use llamon_agent::client::{Binding, ClientError};
use llamon_agent::contracts::SelectedInput;
use llamon_agent::prelude::*;
use llamon_agent::server::ServerBuilder;
use llamon_agent::testing::TestServer;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) const POLICIES: [&str; 2] = ["replace", "append"];
pub(crate) const BINDINGS: [Binding; 2] = [Binding::JsonRpc, Binding::Rest];

/// A card that is complete.
pub(crate) fn card(name: &str) -> AgentCard {
    AgentCard::new(name, "Says what it reads", "1.0.0").skill(Skill::new(
        "read",
        "Read",
        "Says what it reads",
    ))
}

/// Starts the server of a builder.
pub(crate) async fn start<M>(server: ServerBuilder<M>) -> TestServer {
    TestServer::start(server).await.expect("a server")
}

/// A part from its JSON text.
pub(crate) fn part(json: &str) -> Part {
    Part::from_json(json.to_owned()).expect("a part")
}

/// Parts from their JSON texts.
pub(crate) fn parts(texts: &[&str]) -> Vec<Part> {
    texts.iter().map(|json| part(json)).collect()
}

/// A message of these parts.
pub(crate) fn outgoing(parts: impl IntoIterator<Item = Part>) -> Outgoing {
    parts.into_iter().fold(Outgoing::new(), Outgoing::with_part)
}

/// The JSON texts of parts.
pub(crate) fn texts<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Vec<String> {
    let parts = parts.into_iter();
    parts.map(|part| part.json().to_owned()).collect()
}

// === the agent ===

/// An agent that answers with a text that says what it reads, a [`Report`], and with these parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reporter {
    emitted: Vec<Part>,
    returned: Vec<Part>,
    questions: usize,
    runs: Arc<AtomicUsize>,
}

impl Reporter {
    /// One that returns these parts.
    pub(crate) fn returning(returned: &[&str]) -> Self {
        Self {
            returned: parts(returned),
            ..Self::default()
        }
    }

    /// The agent, emitting these parts before it returns.
    pub(crate) fn emitting(mut self, emitted: &[&str]) -> Self {
        self.emitted = parts(emitted);
        self
    }

    /// The agent, asking a question in each of its first turns.
    pub(crate) fn asking(mut self, questions: usize) -> Self {
        self.questions = questions;
        self
    }

    /// How often it has run.
    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }

    /// Answers a turn of which it has read `inputs`.
    pub(crate) async fn answer(
        &self,
        turn: &Turn,
        inputs: BTreeMap<String, Vec<String>>,
    ) -> Result<Answer, AgentError> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        if turn.number() <= self.questions {
            return Ok(Answer::input_required("which one?")?);
        }
        turn.emit(Payload::from(self.emitted.clone())).await?;
        let report = serde_json::to_string(&Report::new(turn, inputs))?;
        Ok(Answer::completed((report, self.returned.clone()))?)
    }
}

impl Agent for Reporter {
    async fn run(&self, turn: Turn) -> Result<Answer, AgentError> {
        let inputs = turn.inputs().iter();
        let inputs = inputs.map(|(name, input)| (name.to_owned(), read(input)));
        self.answer(&turn, inputs.collect()).await
    }
}

/// The raw texts of an input, or of its default.
fn read(input: &SelectedInput) -> Vec<String> {
    let items = input.items().iter();
    let items: Vec<String> = items.map(|item| item.json().to_owned()).collect();
    if items.is_empty() {
        return input.json().map(str::to_owned).into_iter().collect();
    }
    items
}

/// What an agent says it was given. Parts and values are their JSON texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) number: usize,
    pub(crate) history: usize,
    pub(crate) query: String,
    pub(crate) message: Vec<String>,
    pub(crate) upstream: Vec<String>,
    pub(crate) inputs: BTreeMap<String, Vec<String>>,
    /// Part and JSON Pointer of each selected place.
    pub(crate) places: BTreeMap<String, Vec<(usize, String)>>,
}

impl Report {
    fn new(turn: &Turn, inputs: BTreeMap<String, Vec<String>>) -> Self {
        let places = turn.inputs().iter().map(|(name, input)| {
            let items = input.items().iter();
            let places = items.map(|item| (item.index(), item.pointer()));
            (name.to_owned(), places.collect())
        });
        Self {
            number: turn.number(),
            history: turn.history().len(),
            query: turn.query().to_owned(),
            message: texts(turn.message().parts.iter()),
            upstream: texts(turn.upstream().parts()),
            inputs,
            places: places.collect(),
        }
    }
}

/// Inputs as a [`Report`] has them.
pub(crate) fn inputs(of: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
    let own = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
    let inputs = of.iter();
    inputs
        .map(|(name, texts)| (name.to_string(), own(texts)))
        .collect()
}

// === the ways to call it ===

/// A client that calls in one way: in a binding, waiting or streaming.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) client: Client,
    streams: bool,
}

/// Callers of the first agent in every way.
pub(crate) async fn callers(server: &TestServer) -> Vec<Caller> {
    let mut callers = Vec::new();
    for binding in BINDINGS {
        let client = server.client_with(binding).await.expect("a client");
        for streams in [false, true] {
            let client = client.clone();
            callers.push(Caller { client, streams });
        }
    }
    callers
}

impl Caller {
    /// Sends a message and waits for what becomes of it.
    pub(crate) async fn try_say(&self, message: Outgoing) -> Result<Reply, ClientError> {
        if self.streams {
            return self.client.stream(message).await?.finish().await;
        }
        self.client.send(message).await
    }

    /// Sends a message, waits for what becomes of it, and checks that GetTask says the same.
    pub(crate) async fn say(&self, message: Outgoing) -> (Arc<str>, Seen) {
        let reply = self.try_say(message).await;
        let reply = reply.unwrap_or_else(|error| panic!("{self:?}: {error}"));
        let task = reply.task().expect("a task");
        let seen = Seen::of(task);
        let stored = self.client.get(&task.id).await.expect("the task");
        assert_eq!(Seen::of(&stored), seen, "GetTask, {self:?}");
        assert_eq!(reply.data(), seen.data);
        assert_eq!(texts(&reply.files()), seen.files);
        (Arc::clone(&task.id), seen)
    }
}

/// Has a conversation in one task, in every way, and returns what was seen after each message,
/// which is the same in all of them and in GetTask.
pub(crate) async fn talk(server: &TestServer, messages: &[Vec<Part>]) -> Vec<Seen> {
    let mut first: Option<Vec<Seen>> = None;
    for caller in callers(server).await {
        let mut all = Vec::new();
        let mut task: Option<Arc<str>> = None;
        for message in messages {
            let mut message = outgoing(message.clone());
            if let Some(id) = &task {
                message = message.in_task(Arc::clone(id));
            }
            let (id, seen) = caller.say(message).await;
            assert_eq!(*task.get_or_insert_with(|| Arc::clone(&id)), id);
            all.push(seen);
        }
        let first = first.get_or_insert_with(|| all.clone());
        assert_eq!(all, *first, "{caller:?}");
    }
    first.expect("an answer")
}

/// Sends one message in every way; what was seen is the same in all of them.
pub(crate) async fn say(server: &TestServer, message: &[&str]) -> Seen {
    let mut seen = talk(server, &[parts(message)]).await;
    seen.remove(0)
}

// === what comes back ===

/// A task as a client sees it, without ids and times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) state: TaskState,
    /// Parts of the status message.
    pub(crate) status: Vec<Part>,
    /// Metadata of the status message.
    pub(crate) status_metadata: Option<String>,
    pub(crate) artifacts: Vec<Shown>,
    pub(crate) data: Vec<String>,
    pub(crate) files: Vec<String>,
    /// Who said what, JSON texts of parts.
    pub(crate) history: Vec<(Role, Vec<String>)>,
}

/// An artifact as a client sees it: its text in one, the other parts as JSON texts in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) others: Vec<String>,
}

impl Seen {
    pub(crate) fn of(task: &Task) -> Self {
        let payload = task.payload();
        let status = task.status.message.as_ref();
        let said = task.history.iter();
        Self {
            state: task.status.state,
            status: status.map_or(Vec::new(), |message| message.parts.to_vec()),
            status_metadata: status.and_then(|message| message.metadata.clone()),
            artifacts: task.artifacts.iter().map(Shown::of).collect(),
            data: payload.data().map(str::to_owned).collect(),
            files: texts(payload.files()),
            history: said
                .map(|message| (message.role, texts(message.parts.iter())))
                .collect(),
        }
    }

    /// The text of the status message.
    pub(crate) fn status_text(&self) -> String {
        let texts = self.status.iter().filter_map(Part::as_text);
        texts.collect::<Vec<_>>().join("\n")
    }

    /// What the status message explains of missing inputs: its text, and its only data part.
    pub(crate) fn missing(&self) -> (String, Value) {
        let [text, explained] = &self.status[..] else {
            panic!("a text and a data part: {self:?}");
        };
        let text = text.as_text().expect("a text part").into_owned();
        let explained: Value = explained.data_as().expect("a data part");
        let missing = explained.get("missingInputs").expect("what is missing");
        (text, missing.clone())
    }

    /// Names of the inputs that are missing.
    pub(crate) fn missing_names(&self) -> Vec<String> {
        let (_, missing) = self.missing();
        let missing = missing.as_array().expect("a list").iter();
        missing
            .map(|miss| miss["name"].as_str().expect("a name").to_owned())
            .collect()
    }

    /// What the agent said in its last artifact that it was given.
    pub(crate) fn report(&self) -> Report {
        assert_eq!(self.state, TaskState::Completed, "{}", self.status_text());
        let last = self.artifacts.last().expect("an artifact");
        serde_json::from_str(&last.text).expect("a report")
    }

    /// The task's only artifact, which is that of the first turn.
    pub(crate) fn response(&self) -> &Shown {
        let [artifact] = &self.artifacts[..] else {
            panic!("one artifact: {self:?}");
        };
        assert_eq!(artifact.id, "response");
        artifact
    }
}

impl Shown {
    fn of(artifact: &Artifact) -> Self {
        let text = artifact.parts.iter().filter_map(Part::as_text);
        let others = artifact.parts.iter();
        Self {
            id: artifact.artifact_id.to_string(),
            text: text.collect(),
            others: texts(others.filter(|part| part.kind() != PartKind::Text)),
        }
    }
}
