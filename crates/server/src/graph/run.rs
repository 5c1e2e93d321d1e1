//! One turn of a graph: new input, or on from where its thread stands.

use std::sync::Arc;

use futures_util::StreamExt as _;
use llamon_graph::{
    EventData, GraphState, GraphStream, Mode, Outcome, Resume, RunConfig, Snapshot, Status,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::error::failed;
use super::thread::{Held, look_again};
use super::{BusyThread, GraphAgent};
use crate::agent_error::AgentError;
use crate::answer::Answer;
use crate::hitl::{self, AskedQuestion, NO_HITL, Question};
use crate::turn::Turn;

/// What a turn finds on its thread.
enum Found {
    /// Nothing of this turn: it begins with its input.
    Input,
    /// What this turn has begun: it goes on.
    GoOn(Resume),
    /// This turn had come to its end; only the answer was not stored.
    Finished,
    /// This turn waits for answers.
    Questions(Vec<AskedQuestion>),
    /// Another task is at work on it.
    Busy(Arc<str>),
    /// Another task waits on it.
    Waiting(Arc<str>),
}

impl<S, O> GraphAgent<S, O>
where
    S: GraphState,
    O: From<S> + Serialize + Send + Unpin + 'static,
{
    pub(super) async fn run(&self, turn: Turn) -> Result<Answer, AgentError> {
        // What a graph says again after a question is marked as such, so the rest is new.
        turn.unmute().await;
        if !self.graph.has_saver() {
            let config = self.config(RunConfig::default().modes(MODES));
            let stream = self.graph.stream(self.update(&turn)?, config);
            return self.follow(&turn, stream, None).await;
        }
        let thread = format!("{}{}", turn.scope().prefix(), (self.thread_of)(&turn));
        // The message that the run works on, and the turn, which is another one after an answer.
        let number = turn.number();
        let mine = json!({"task": turn.task_id(), "turn": turn.run(), "number": number});
        let config = RunConfig::thread(&*thread)
            .metadata(mine.clone())
            .modes(MODES);
        let config = self.config(config);
        loop {
            let (busy, held) = match Held::take(&turn, &thread).await? {
                Err(other) => (Found::Busy(other), None),
                Ok(held) => (self.look(&turn, &config, &mine).await?, Some(held)),
            };
            if turn.attempt() > 1
                && let Found::GoOn(_) | Found::Finished | Found::Questions(_) = &busy
            {
                self.say_again(&turn, &config).await?;
            }
            match busy {
                Found::Busy(other) if self.busy == BusyThread::Refuse => {
                    return Ok(Answer::rejected(format!(
                        "the conversation is in use by the task {other}; wait until it has settled"
                    ))?);
                }
                Found::Busy(_) => {
                    drop(held);
                    look_again(&turn).await?;
                }
                Found::Waiting(other) => {
                    return Ok(Answer::rejected(format!(
                        "the conversation has an open question: answer it in the task {other}, or \
                         cancel that task"
                    ))?);
                }
                Found::Questions(open) => return asking(&open),
                Found::Finished => return self.finished(&turn, &config).await,
                Found::Input => {
                    let stream = self.graph.stream(self.update(&turn)?, config.clone());
                    return self.follow(&turn, stream, Some(&config)).await;
                }
                Found::GoOn(resume) => {
                    let stream = self.graph.stream_resume(resume, config.clone());
                    return self.follow(&turn, stream, Some(&config)).await;
                }
            }
        }
    }

    fn update(&self, turn: &Turn) -> Result<S::Update, AgentError> {
        self.inputs.update(turn, &message_id(turn))
    }

    /// Looks where the thread stands.
    async fn look(
        &self,
        turn: &Turn,
        config: &RunConfig,
        mine: &Value,
    ) -> Result<Found, AgentError> {
        let Some(snapshot) = self.graph.state(config).await? else {
            return Ok(Found::Input);
        };
        let is_mine = |key: &str| snapshot.metadata[key] == mine[key];
        if is_mine("task") && is_mine("turn") {
            return own(turn, &snapshot);
        }
        if snapshot.status == Status::Finished {
            return Ok(Found::Input);
        }
        let other: Option<Arc<str>> = snapshot.metadata["task"].as_str().map(Into::into);
        if let Some(other) = other {
            match turn.state_of(&other).await? {
                Some(state) if state.is_interrupted() => return Ok(Found::Waiting(other)),
                Some(state) if !state.is_terminal() => return Ok(Found::Busy(other)),
                // It has failed, or was canceled: nobody will go on with what it left.
                _ => {}
            }
        }
        self.graph.abandon(config).await?;
        Ok(Found::Input)
    }

    /// Shows what an attempt before this one had said and the graph will not say again.
    async fn say_again(&self, turn: &Turn, config: &RunConfig) -> Result<(), AgentError> {
        for said in self.graph.said(config).await? {
            if self.outputs.streams(Some(&said.node)) {
                turn.emit(said.text).await?;
            }
        }
        Ok(())
    }

    /// Shows what the run says, and answers with what it ends with.
    async fn follow(
        &self,
        turn: &Turn,
        mut stream: GraphStream<O>,
        config: Option<&RunConfig>,
    ) -> Result<Answer, AgentError> {
        loop {
            let event = tokio::select! {
                biased;
                // Dropping the stream stops the run where it is.
                () = turn.cancelled() => return Err(AgentError::ended()),
                event = stream.next() => event,
            };
            let Some(event) = event else {
                break;
            };
            if event.replayed {
                continue;
            }
            match event.data {
                EventData::Token(text) if self.outputs.streams(event.node.as_deref()) => {
                    turn.emit(text).await?;
                }
                EventData::Custom(Value::String(text)) => turn.status(text).await?,
                EventData::Custom(value) => turn.status(value.to_string()).await?,
                _ => {}
            }
        }
        let outcome = stream.outcome().await;
        match outcome.map_err(|error| failed(turn.task_id(), error))? {
            Outcome::Finished(state) => self.answer(turn, &state),
            Outcome::Interrupted { .. } => {
                if !turn.is_hitl() {
                    return Err(AgentError::public(NO_HITL));
                }
                let config = config.ok_or("a graph without a saver was interrupted")?;
                let snapshot = self.graph.state(config).await?;
                asking(&questions(&snapshot.ok_or("the thread is gone")?))
            }
        }
    }

    async fn finished(&self, turn: &Turn, config: &RunConfig) -> Result<Answer, AgentError> {
        let snapshot = self
            .graph
            .state(config)
            .await?
            .ok_or("the thread is gone")?;
        self.answer(turn, &O::from(snapshot.state))
    }

    fn answer(&self, turn: &Turn, state: &O) -> Result<Answer, AgentError> {
        let state = serde_json::to_value(state)?;
        Ok(Answer::Completed(
            self.outputs.payload(&state, &message_id(turn))?,
        ))
    }
}

const MODES: [Mode; 2] = [Mode::Messages, Mode::Custom];

/// What the turn's own run has come to.
fn own<S>(turn: &Turn, snapshot: &Snapshot<S>) -> Result<Found, AgentError> {
    let open = questions(snapshot);
    let given = turn.answers();
    let given = open.iter().filter_map(|question| {
        let answer = given?.get(&question.id)?;
        Some((question.id.clone(), answer))
    });
    let given: Vec<(String, Value)> = given
        .map(|(id, answer)| Ok((id, serde_json::from_str(answer)?)))
        .collect::<Result<_, serde_json::Error>>()?;
    Ok(match snapshot.status {
        Status::Finished => Found::Finished,
        Status::Waiting if given.is_empty() => Found::Questions(open),
        Status::Waiting => Found::GoOn(Resume::by_id(given)),
        Status::Stopped if given.is_empty() => Found::Questions(open),
        _ => Found::GoOn(Resume::proceed()),
    })
}

/// What the thread asks. Where the graph has stopped before or after a node, whether to go on.
fn questions<S>(snapshot: &Snapshot<S>) -> Vec<AskedQuestion> {
    if snapshot.status == Status::Stopped {
        let question = Question::new(json!({"next": snapshot.next}))
            .text(format!("Go on with {}?", snapshot.next.join(", ")));
        return vec![AskedQuestion::new(&*snapshot.checkpoint, question)];
    }
    let open = snapshot.interrupts.iter();
    let open = open.map(|interrupt| {
        let mut question = Question::new(interrupt.value.clone());
        question.schema = interrupt.schema.clone();
        AskedQuestion::new(&*interrupt.id, question)
    });
    open.collect()
}

fn asking(open: &[AskedQuestion]) -> Result<Answer, AgentError> {
    Ok(Answer::InputRequired(hitl::payload(open, None)?))
}

/// The id of the user message that the turn began with, in the graph's state.
fn message_id(turn: &Turn) -> String {
    format!("{}-{}", turn.task_id(), turn.run())
}
