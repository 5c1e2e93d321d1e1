//! [`WorkflowAgent`]: a plan as an agent, so that plans nest.

use std::fmt;
use std::sync::Arc;

use llamon_core::{Part, Payload};
use llamon_server::{Agent, AgentError, Answer, Turn};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::plan::Plan;
use crate::run::{Progress, Runner, Stand};
use crate::store::{CallId, RunState, StoredRun};

/// A plan that is served as an agent: what it is sent is the input of a run, and what the plan's
/// outputs answer is its answer.
///
/// * The run's id is the task's, so that it goes on where it was after a crash, if both the
///   server's backend and the runner's store are files.
/// * What the steps do is streamed as status texts.
/// * A question of a step is a question of this agent. It says which step asks; with one open
///   question any answer goes there, with several the answer is a data part
///   `{"answer": {"step": ...}}`.
/// * A cancel reaches the tasks of the steps.
/// * The agents of the steps learn how far the message was handed on, so that plans that call each
///   other in a circle stop at `max_delegation_depth`. How many calls a plan makes is the plan's to
///   say; `max_calls_per_turn` is for agents that decide it themselves.
///
/// ```no_run
/// use llamon_core::a2a::{AgentCard, Skill};
/// use llamon_flow::run::Runner;
/// use llamon_flow::store::RunStore;
/// use llamon_flow::{Plan, WorkflowAgent};
/// use llamon_server::create_server;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let plan = Plan::from_yaml(&std::fs::read_to_string("report.yaml")?)?;
/// let runner = Runner::new(RunStore::open("data/flows.db")?);
/// let card = AgentCard::new("report", "Writes the report", "1.0.0")
///     .skill(Skill::new("report", "Report", "Runs all steps of the report"));
/// create_server(card, WorkflowAgent::new(plan, runner))
///     .await?
///     .serve("127.0.0.1:8080")
///     .await?;
/// # Ok(())
/// # }
/// ```
pub struct WorkflowAgent {
    plan: Arc<Plan>,
    runner: Runner,
}

/// Texts that wait for a caller who does not keep up.
const MAX_SAID: usize = 256;

/// A question, for programs: beside its parts in the status message.
#[derive(Serialize)]
struct Asked<'a> {
    run: &'a str,
    questions: Vec<AskedCall>,
}

#[derive(Serialize)]
struct AskedCall {
    step: String,
    auth: bool,
}

impl WorkflowAgent {
    /// An agent that runs this plan.
    pub fn new(plan: Plan, runner: Runner) -> Self {
        Self {
            plan: Arc::new(plan),
            runner,
        }
    }

    /// The run of this task: a new one, or the one that it began before.
    async fn prepare(&self, turn: &Turn) -> Result<Option<Answer>, AgentError> {
        let run = turn.task_id();
        let stored = match self.runner.store().load(run).await {
            Ok(stored) => stored,
            Err(error) if error.is_unknown_run() => {
                let input = turn.message().payload();
                self.runner.begin_as(run, &self.plan, input).await?;
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        if turn.number() == 1 {
            return Ok(None);
        }
        let open = open_calls(&stored);
        if open.is_empty() {
            // An attempt before this one has stored the answer.
            return Ok(None);
        }
        match answers(&open, turn.message().parts.to_vec()) {
            Ok(answers) => {
                for (call, parts) in answers {
                    match self.runner.store().answer(run, &call, parts).await {
                        Ok(()) => {}
                        Err(error) if error.is_nothing_asked() => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                Ok(None)
            }
            Err(reason) => Ok(Some(ask(&stored, Some(&reason))?)),
        }
    }

    async fn drive(&self, turn: &Turn) -> Result<Stand, AgentError> {
        let stop = CancellationToken::new();
        let (said, mut saying) = mpsc::channel(MAX_SAID);
        let see = move |progress: Progress<'_>| {
            if let Some(text) = text_of(&progress) {
                // Where a caller does not keep up, the run goes on.
                let _ = said.try_send(text);
            }
        };
        let run = turn.task_id();
        let arrived = turn.delegation();
        let handed_on = arrived.next().ok_or_else(|| {
            AgentError::public(format!(
                "the plan's agents are not called: the message was handed on by {} agents already, \
                 and max_delegation_depth is {}",
                arrived.depth, arrived.max_depth
            ))
        })?;
        let runner = self.runner.handing_on(handed_on);
        let drive = runner.drive(run, &see, &stop);
        tokio::pin!(drive);
        let mut is_canceling = false;
        let stand = loop {
            tokio::select! {
                biased;
                stand = &mut drive => break stand?,
                () = turn.cancelled(), if !is_canceling => {
                    is_canceling = true;
                    if turn.is_stopping() {
                        stop.cancel();
                    } else {
                        self.runner.store().request_cancel(run).await?;
                    }
                }
                Some(text) = saying.recv(), if !is_canceling => turn.status(text).await?,
            }
        };
        while let Ok(text) = saying.try_recv() {
            if !is_canceling {
                turn.status(text).await?;
            }
        }
        Ok(stand)
    }
}

impl Agent for WorkflowAgent {
    async fn run(&self, turn: Turn) -> Result<Answer, AgentError> {
        if let Some(answer) = self.prepare(&turn).await? {
            return Ok(answer);
        }
        match self.drive(&turn).await? {
            Stand::Ended {
                state: RunState::Completed,
                answer,
                ..
            } => Ok(Answer::Completed(answer)),
            Stand::Ended { reason, state, .. } => Err(AgentError::public(
                reason.unwrap_or_else(|| format!("the run is {state}")),
            )),
            Stand::Waiting(_) => {
                let stored = self.runner.store().load(turn.task_id()).await?;
                ask(&stored, None)
            }
            Stand::Parked => Err(AgentError::public(
                "the server stops; the run goes on when it is back",
            )),
        }
    }
}

/// The calls that wait for an answer which nobody has given.
fn open_calls(stored: &StoredRun) -> Vec<CallId> {
    let open = stored.calls.iter().filter(|call| {
        let question = call.question.as_ref();
        question.is_some_and(|question| question.answer.is_none())
    });
    open.map(|call| call.id.clone()).collect()
}

/// Which parts answer which call.
fn answers(open: &[CallId], parts: Vec<Part>) -> Result<Vec<(CallId, Vec<Part>)>, String> {
    let named: Option<std::collections::BTreeMap<String, Box<serde_json::value::RawValue>>> =
        parts.iter().filter_map(Part::data_json).find_map(|json| {
            #[derive(serde::Deserialize)]
            #[serde(deny_unknown_fields)]
            struct Named {
                answer: std::collections::BTreeMap<String, Box<serde_json::value::RawValue>>,
            }
            serde_json::from_str::<Named>(json)
                .ok()
                .map(|named| named.answer)
        });
    let list = || {
        open.iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let Some(named) = named else {
        return match open {
            [one] => Ok(vec![(one.clone(), parts)]),
            _ => Err(format!(
                "several steps ask ({}); answer with a data part {{\"answer\": {{\"step\": ...}}}}",
                list()
            )),
        };
    };
    let mut answers = Vec::new();
    for (name, value) in named {
        let Some(call) = open.iter().find(|call| call.to_string() == name) else {
            return Err(format!("{name:?} asks nothing; open are {}", list()));
        };
        let part = match serde_json::from_str::<String>(value.get()) {
            Ok(text) => Part::text(text),
            Err(_) => Part::data_from_json(value.get()).map_err(|error| error.to_string())?,
        };
        answers.push((call.clone(), vec![part]));
    }
    Ok(answers)
}

/// The question of this agent: those of the steps, and which steps ask.
fn ask(stored: &StoredRun, reason: Option<&str>) -> Result<Answer, AgentError> {
    let mut payload = Payload::new();
    if let Some(reason) = reason {
        payload = payload.with_part(Part::text(reason));
    }
    let mut asked = Asked {
        run: &stored.summary.id,
        questions: Vec::new(),
    };
    let mut wants_credentials = true;
    let open = open_calls(stored);
    for call in stored.calls.iter().filter(|call| open.contains(&call.id)) {
        let Some(question) = &call.question else {
            continue;
        };
        wants_credentials &= question.is_auth;
        asked.questions.push(AskedCall {
            step: call.id.to_string(),
            auth: question.is_auth,
        });
        if open.len() == 1 {
            for part in &question.parts {
                payload = payload.with_part(part.clone());
            }
            continue;
        }
        let said: Payload = question.parts.clone().into();
        payload = payload.with_part(Part::text(format!("{}: {}", call.id, said.text())));
        for part in question
            .parts
            .iter()
            .filter(|part| part.as_text().is_none())
        {
            payload = payload.with_part(part.clone());
        }
    }
    let payload = payload.with_data(&asked)?;
    Ok(if wants_credentials {
        Answer::AuthRequired(payload)
    } else {
        Answer::InputRequired(payload)
    })
}

/// What a caller is told of a run; nothing of what is too small.
fn text_of(progress: &Progress<'_>) -> Option<String> {
    match progress {
        Progress::StepStarted { step, items: None } => Some(format!("{step}: started")),
        Progress::StepStarted {
            step,
            items: Some(items),
        } => Some(format!("{step}: {items} items")),
        Progress::StepEnded {
            step,
            state,
            reason: Some(reason),
        } => Some(format!("{step}: {state}: {reason}")),
        Progress::StepEnded { step, state, .. } => Some(format!("{step}: {state}")),
        Progress::Status { call, text } => Some(format!("{call}: {text}")),
        Progress::Retrying { call, reason } => Some(format!("{call}: trying again: {reason}")),
        _ => None,
    }
}

impl fmt::Debug for WorkflowAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkflowAgent")
            .field("plan", &self.plan.name())
            .finish_non_exhaustive()
    }
}
