//! A graph with a person in the loop, on files, for tests that kill its process: from outside, or by
//! itself at a named moment.
//!
//! `graph-agent FOLDER ADDRESS [MOMENT]`: the moments are `inside` (in a super-step, when one of two
//! parallel nodes has finished), `question` and `answer` (between the saver's commit and the
//! backend's, of the question and of the answer). Each node adds its name to `FOLDER/ran` when it
//! begins. With `TALK` in the environment they also say something before the question, and with
//! `TALK=only` nothing of what is said comes into the state.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use llamon_agent::a2a::TaskState;
use llamon_agent::graph::{
    END, Graph, GraphAgent, GraphMessage, GraphState, NodeContext, NodeError, Question, START,
    Saver as _, SqliteSaver, StateGraph,
};
use llamon_agent::prelude::{AgentCard, Execution, Skill, create_server};
use llamon_agent::server::backend::StoreError;
use llamon_agent::server::backend::sqlite::SqliteStore;
use llamon_itest::hooked::{Call, Hooked, When};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Clone, Debug, Default, Serialize, Deserialize, GraphState)]
struct State {
    #[state(messages)]
    messages: Vec<GraphMessage>,
    #[state(append)]
    found: Vec<String>,
    report: Option<Value>,
}

/// What all nodes know.
#[derive(Clone)]
struct Surroundings {
    folder: PathBuf,
    saver: SqliteSaver,
    moment: Option<String>,
    talk: Option<String>,
}

impl Surroundings {
    fn dies_at(&self, moment: &str) -> bool {
        self.moment.as_deref() == Some(moment)
    }

    /// Notes that a node begins.
    fn began(&self, context: &NodeContext) -> Result<(), NodeError> {
        let path = self.folder.join("ran");
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        // One write, so that two nodes at the same time make two lines.
        file.write_all(format!("{}\n", context.node()).as_bytes())?;
        Ok(file.sync_all()?)
    }

    async fn left(self, context: NodeContext) -> Result<StateUpdate, NodeError> {
        self.began(&context)?;
        if self.talk.is_some() {
            context.token("Left is done. ").await;
        }
        Ok(State::update().push_found("left".to_owned()))
    }

    /// Dies when what `left` wrote is kept.
    async fn right(self, context: NodeContext) -> Result<StateUpdate, NodeError> {
        self.began(&context)?;
        if self.dies_at("inside") {
            loop {
                let saved = self.saver.get(context.thread(), "", None).await?;
                if saved.is_some_and(|saved| !saved.writes.is_empty()) {
                    die();
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        Ok(State::update().push_found("right".to_owned()))
    }

    async fn ask(self, context: NodeContext) -> Result<StateUpdate, NodeError> {
        self.began(&context)?;
        if self.talk.is_some() {
            for word in ["One ", "question ", "first. "] {
                context.token(word).await;
            }
        }
        let question = Question::new("How many?").schema(json!({"type": "integer"}));
        let answer = context.ask(question).await?;
        for word in ["You ", "said "] {
            context.token(word).await;
        }
        context.token(answer.to_string()).await;
        let update = State::update().report(Some(answer.clone()));
        if self.talk.as_deref() == Some("only") {
            return Ok(update);
        }
        Ok(update.push_messages(GraphMessage::agent(format!("You said {answer}"))))
    }

    async fn report(self, state: State, context: NodeContext) -> Result<StateUpdate, NodeError> {
        self.began(&context)?;
        Ok(State::update().report(Some(json!({"found": state.found, "answer": state.report}))))
    }

    fn graph(&self) -> Result<Graph<State>, Box<dyn std::error::Error>> {
        let (left, right) = (self.clone(), self.clone());
        let (ask, report) = (self.clone(), self.clone());
        let graph = StateGraph::<State>::new("durable")
            .node("left", move |_, context| left.clone().left(context))
            .node("right", move |_, context| right.clone().right(context))
            .node("ask", move |_, context| ask.clone().ask(context))
            .node("report", move |state, context| {
                report.clone().report(state, context)
            })
            .edge(START, "left")
            .edge(START, "right")
            .join(["left", "right"], "ask")
            .edge("ask", "report")
            .edge("report", END)
            .compile()?;
        Ok(graph.with_saver(self.saver.clone()))
    }

    /// Dies before the backend has what ends a turn.
    fn hook(&self, when: When, call: Call<'_>) -> Result<(), StoreError> {
        let Call::Commit(commit) = call else {
            return Ok(());
        };
        let brings = |state| {
            commit
                .events
                .iter()
                .any(|event| event.state() == Some(state))
        };
        let is_now = (self.dies_at("question") && brings(TaskState::InputRequired))
            || (self.dies_at("answer") && brings(TaskState::Completed));
        if is_now && when == When::Before {
            die();
        }
        Ok(())
    }
}

/// Dies as by `kill -9`, and does nothing until then.
fn die() -> ! {
    let kill = format!("kill -KILL {}", std::process::id());
    let _ = Command::new("sh").args(["-c", &kill]).status();
    loop {
        std::thread::park();
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: graph-agent FOLDER ADDRESS [MOMENT]";
    let folder = Path::new(&args.next().ok_or(usage)?).to_owned();
    let address = args.next().ok_or(usage)?;
    let moment = args.next();
    let store = SqliteStore::open(folder.join("tasks.db"))?;
    let saver = SqliteSaver::open(folder.join("threads.db")).await?;
    let around = Surroundings {
        folder,
        saver,
        moment,
        talk: std::env::var("TALK").ok(),
    };
    let agent = GraphAgent::new(around.graph()?).data_from("report");
    let hook = move |when: When, call: Call<'_>| around.hook(when, call);
    let card = AgentCard::new("graph", "Asks one question", "1.0.0")
        .skill(Skill::new("graph", "Graph", "Survives"));
    let server = create_server(card, agent)
        .hitl()
        .backend(Hooked::new(store.backend("graph"), hook) as Arc<_>)
        .execution(Execution::AtLeastOnce {
            max_attempts: 1_000,
        })
        .await?
        .bind(address)
        .await?;
    let mut out = std::io::stdout();
    writeln!(out, "READY {}/", server.url())?;
    out.flush()?;
    server.serve().await?;
    Ok(())
}
