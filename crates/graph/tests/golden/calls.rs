//! Makes the calls of a scenario on one of our graphs and writes down what each one shows, as `itest/graph/calls.py` does.

use std::time::Duration;

use futures_util::StreamExt as _;
use llamon_graph::{
    Event, EventData, Graph, GraphError, GraphState, GraphStream, Interrupt, Mode, Resume,
    RunConfig, Snapshot, UpdateError,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::build::{Observed, place, read};
use super::compare::{self, Names};
use super::differences::never_ran;
use super::states::{described, theirs};
use super::trace::{Call, Scenario};

/// For a call that never ends.
const ONE_CALL: Duration = Duration::from_secs(20);

/// A graph of a scenario and how its input is read.
pub(crate) struct Player<'a, S: GraphState, O> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) graph: Graph<S, O>,
    pub(crate) observed: Observed,
    pub(crate) input: fn(&Value) -> Result<S::Update, serde_json::Error>,
}

impl<S, O> Player<'_, S, O>
where
    S: GraphState,
    O: From<S> + Serialize + Send + Unpin + 'static,
{
    /// Makes all calls; gives back what differs, in words.
    pub(crate) async fn play(&self) -> Vec<String> {
        let mut names = Names::default();
        let mut differences = Vec::new();
        for (number, call) in self.scenario.calls.iter().enumerate() {
            let shown = tokio::time::timeout(ONE_CALL, self.make(call, &mut names)).await;
            let Ok(shown) = shown else {
                differences.push(format!(
                    "call {number} ({}): has not ended after {ONE_CALL:?}",
                    call.call
                ));
                break;
            };
            let in_order = self.in_order(call);
            for part in [
                "error",
                "started",
                "events",
                "values",
                "interrupts",
                "snapshot",
                "snapshots",
            ] {
                // The values of a change by hand are what was asked, not what was shown.
                if part == "values" && call.call == "update_state" {
                    continue;
                }
                let ours = shown.get(part).cloned().unwrap_or(Value::Null);
                if let Some(difference) = compare::part(part, &call.part(part), &ours, in_order) {
                    differences.push(format!("call {number} ({}), {difference}", call.call));
                }
            }
        }
        if differences.is_empty() && self.scenario.runs != self.observed.counts() {
            let (theirs, ours) = (&self.scenario.runs, self.observed.counts());
            differences.push(format!(
                "runs of each node: LangGraph {theirs:?}, ours {ours:?}"
            ));
        }
        differences
    }

    /// Whether no two nodes of the graph ran at the same time.
    fn in_order(&self, call: &Call) -> bool {
        let started = call.part("started");
        let graph = &self.scenario.graph;
        let is_outer = |node: &Value| graph.nodes.iter().any(|outer| *node == *outer.name);
        let started = started.as_array().into_iter().flatten();
        let mut steps: Vec<&Value> = (started.filter(|entry| is_outer(&entry[1])))
            .map(|entry| &entry[0])
            .collect();
        let all = steps.len();
        steps.dedup();
        let has_inner = graph
            .nodes
            .iter()
            .any(|node| graph.inner(&node.name).is_some());
        steps.len() == all && !(has_inner && graph.fans_out())
    }

    async fn make(&self, call: &Call, names: &mut Names) -> Map<String, Value> {
        let config = self.config(call, names);
        let mut shown = Map::new();
        let made = match call.call.as_str() {
            "state" => self.state(call, &config, names, &mut shown).await,
            "history" => self.history(call, &config, names, &mut shown).await,
            "update_state" => self.update_state(call, &config, names, &mut shown).await,
            "invoke" => self.invoke(call, config, &mut shown).await,
            _ => self.stream(call, config, names, &mut shown).await,
        };
        if let Err(error) = made {
            shown.insert("error".into(), error.0.into());
        }
        shown
    }

    fn config(&self, call: &Call, names: &Names) -> RunConfig {
        let mut config = if self.scenario.saver {
            RunConfig::thread(call.thread.clone())
        } else {
            RunConfig::default()
        };
        if let Some(at) = &call.at {
            config = config.checkpoint(names.id_of(at));
        }
        if let Some(limit) = call.limit {
            config = config.recursion_limit(limit as usize);
        }
        if call.subgraphs {
            config = config.with_subgraphs();
        }
        config.modes(call.modes.iter().map(|name| mode(name)))
    }

    async fn invoke(
        &self,
        call: &Call,
        config: RunConfig,
        shown: &mut Map<String, Value>,
    ) -> Result<(), Kind> {
        let input = (self.input)(&call.part("input"))?;
        let outcome = self.graph.invoke(input, config).await;
        shown.insert("started".into(), self.observed.take_started());
        shown.insert("values".into(), self.values(&outcome?.into_state()));
        Ok(())
    }

    async fn stream(
        &self,
        call: &Call,
        config: RunConfig,
        names: &mut Names,
        shown: &mut Map<String, Value>,
    ) -> Result<(), Kind> {
        shown.insert("started".into(), json!([]));
        let mut stream = self.start(call, config, names)?;
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            events.push(event);
        }
        let outcome = stream.outcome().await;
        let asked = events.iter().flat_map(|event| match &event.data {
            EventData::Interrupt(asked) => &asked[..],
            EventData::TaskFinished { interrupts, .. } => interrupts,
            _ => &[],
        });
        learn_questions(call, asked, names);
        if let Ok(outcome) = &outcome {
            learn_questions(call, outcome.interrupts(), names);
        }
        let events = events.iter().map(|event| self.event(event, call, names));
        shown.insert("events".into(), events.collect());
        shown.insert("started".into(), self.observed.take_started());
        let outcome = outcome?;
        shown.insert("interrupts".into(), questions(outcome.interrupts(), names));
        shown.insert("values".into(), self.values(&outcome.into_state()));
        Ok(())
    }

    fn start(&self, call: &Call, config: RunConfig, names: &Names) -> Result<GraphStream<O>, Kind> {
        Ok(match call.call.as_str() {
            "run" => self
                .graph
                .stream((self.input)(&call.part("input"))?, config),
            "continue" => self.graph.stream_resume(Resume::proceed(), config),
            "resume" => {
                let resume = match call.part("by_id") {
                    Value::Object(answers) => {
                        let id_of = |(name, answer): (String, Value)| {
                            (names.id_of(&name).to_owned(), answer)
                        };
                        Resume::by_id(answers.into_iter().map(id_of))
                    }
                    _ => Resume::value(call.part("value")),
                };
                self.graph.stream_resume(resume, config)
            }
            other => panic!("no such call: {other}"),
        })
    }

    async fn state(
        &self,
        call: &Call,
        config: &RunConfig,
        names: &mut Names,
        shown: &mut Map<String, Value>,
    ) -> Result<(), Kind> {
        let snapshot = self.graph.state(config).await?;
        shown.insert(
            "snapshot".into(),
            self.snapshot(&call.part("snapshot"), snapshot.as_ref(), names),
        );
        Ok(())
    }

    async fn history(
        &self,
        call: &Call,
        config: &RunConfig,
        names: &mut Names,
        shown: &mut Map<String, Value>,
    ) -> Result<(), Kind> {
        let snapshots = self.graph.history(config).await?;
        let theirs = compare::without_starts(&call.part("snapshots"));
        let oldest_first = snapshots.iter().rev().enumerate();
        let snapshots = oldest_first.map(|(index, snapshot)| {
            let theirs = theirs.get(index).cloned().unwrap_or_default();
            self.snapshot(&theirs, Some(snapshot), names)
        });
        shown.insert("snapshots".into(), snapshots.collect());
        Ok(())
    }

    async fn update_state(
        &self,
        call: &Call,
        config: &RunConfig,
        names: &mut Names,
        shown: &mut Map<String, Value>,
    ) -> Result<(), Kind> {
        let update = read::<S>(&call.part("values"))?;
        let node = call.part("as_node").as_str().map(place);
        let id = self
            .graph
            .update_state(config, update, node.as_deref())
            .await?;
        self.state(call, &config.clone().checkpoint(id), names, shown)
            .await
    }

    fn snapshot(&self, theirs: &Value, ours: Option<&Snapshot<S>>, names: &mut Names) -> Value {
        let Some(ours) = ours else {
            return never_ran();
        };
        names.learn(&theirs["checkpoint"], &json!(ours.checkpoint));
        names.learn(&theirs["parent"], &json!(ours.parent));
        json!({
            "checkpoint": names.name_of(&json!(ours.checkpoint)),
            "parent": names.name_of(&json!(ours.parent)),
            "step": ours.step,
            "source": ours.source,
            "next": ours.next,
            "values": self.described(&json!(ours.state), ""),
            "interrupts": questions(&ours.interrupts, names),
            "tasks": ours.tasks.iter().map(|task| json!({
                "node": task.node,
                "failed": task.error.is_some(),
                "result": task.result.as_ref().map(theirs_of_update),
                "interrupts": questions(&task.interrupts, names),
            })).collect::<Vec<_>>(),
        })
    }

    fn event(&self, event: &Event, call: &Call, names: &Names) -> Value {
        let mut shown = Map::new();
        let has = |mode: &str| call.modes.iter().any(|wanted| wanted == mode);
        let is_debug = has("debug");
        let of = |mode: &'static str| if is_debug { "debug" } else { mode };
        let mut put = |name: &str, value: Value| shown.insert(name.to_owned(), value);
        let mode = match &event.data {
            EventData::Values(values) => {
                put("values", self.described(values, &event.namespace));
                "values"
            }
            EventData::Update { update, cached } => {
                put("node", json!(event.node));
                put("update", theirs_of_update(update));
                if *cached {
                    put("again", true.into());
                }
                "updates"
            }
            EventData::Interrupt(asked) => {
                put("interrupts", questions(asked, names));
                if has("updates") { "updates" } else { "values" }
            }
            EventData::Custom(data) => {
                put("data", data.clone());
                "custom"
            }
            EventData::Token(text) => {
                put("node", json!(event.node));
                put("step", event.step.into());
                put("text", text.as_str().into());
                "messages"
            }
            EventData::TaskStarted { input, .. } => {
                put("event", "start".into());
                put("node", json!(event.node));
                put("input", self.described(input, &event.namespace));
                of("tasks")
            }
            EventData::TaskFinished {
                result,
                error,
                interrupts,
                ..
            } => {
                put("event", "finish".into());
                put("node", json!(event.node));
                put("result", result.as_ref().map_or_else(|| json!({}), theirs));
                put("failed", error.is_some().into());
                put("interrupts", questions(interrupts, names));
                of("tasks")
            }
            EventData::Checkpoint {
                values,
                next,
                source,
                ..
            } => {
                put("event", "checkpoint".into());
                put("values", self.described(values, &event.namespace));
                put("next", json!(next));
                put("source", json!(source));
                put("step", event.step.into());
                of("checkpoints")
            }
            other => panic!("an event that the test does not know: {other:?}"),
        };
        shown.insert("mode".into(), mode.into());
        shown.insert("ns".into(), nodes_of(&event.namespace).collect());
        if mode == "debug" {
            shown.insert("step".into(), event.step.into());
        }
        shown.into()
    }

    fn values(&self, output: &O) -> Value {
        self.described(&json!(output), "")
    }

    /// Of the state of the graph at a namespace, the fields of its description.
    fn described(&self, state: &Value, namespace: &str) -> Value {
        let mut graph = &self.scenario.graph;
        for node in nodes_of(namespace) {
            graph = graph.inner(node).expect("a node with an inner graph");
        }
        let fields: Vec<&str> = graph.state.keys().map(String::as_str).collect();
        described(state, &fields)
    }
}

/// An update of a node; LangGraph calls one without a field null.
fn theirs_of_update(update: &Value) -> Value {
    match update {
        Value::Object(fields) if fields.is_empty() => Value::Null,
        update => theirs(update),
    }
}

/// `inner:id|deeper:id` as the names of the nodes.
fn nodes_of(namespace: &str) -> impl Iterator<Item = &str> {
    let parts = namespace.split('|').filter(|part| !part.is_empty());
    parts.map(|part| part.split(':').next().unwrap_or(part))
}

fn questions(asked: &[Interrupt], names: &Names) -> Value {
    let asked = asked.iter();
    asked
        .map(|asked| json!({"id": names.name_of(&json!(asked.id)), "value": asked.value}))
        .collect()
}

/// Our question with the same value stands for the name in the golden file.
fn learn_questions<'a>(
    call: &Call,
    ours: impl IntoIterator<Item = &'a Interrupt>,
    names: &mut Names,
) {
    let events = call.part("events");
    let asked = events.as_array().into_iter().flatten();
    let asked: Vec<&Value> = asked
        .filter_map(|event| event["interrupts"].as_array())
        .flatten()
        .collect();
    let ends_with = call.part("interrupts");
    let ends_with = ends_with.as_array().into_iter().flatten();
    for question in ours {
        let same = |theirs: &&Value| theirs["value"] == question.value;
        if let Some(same) = asked.iter().copied().chain(ends_with.clone()).find(same) {
            names.learn(&same["id"], &json!(question.id));
        }
    }
}

fn mode(name: &str) -> Mode {
    match name {
        "values" => Mode::Values,
        "updates" => Mode::Updates,
        "custom" => Mode::Custom,
        "messages" => Mode::Messages,
        "tasks" => Mode::Tasks,
        "checkpoints" => Mode::Checkpoints,
        "debug" => Mode::Debug,
        other => panic!("no such mode: {other}"),
    }
}

/// What a golden file can say of an error.
struct Kind(String);

impl From<GraphError> for Kind {
    fn from(error: GraphError) -> Self {
        Self(match error {
            GraphError::Node { .. } | GraphError::Update(UpdateError::Refused { .. }) => {
                "node".to_owned()
            }
            GraphError::Update(UpdateError::Conflict { field, .. }) => {
                format!("conflict in {field}")
            }
            GraphError::Update(UpdateError::Overwrites { .. }) => "overwrites".to_owned(),
            GraphError::RecursionLimit { limit, .. } => format!("limit {limit}"),
            GraphError::Route { .. } => "route".to_owned(),
            GraphError::Thread(_) => "call".to_owned(),
            other => format!("{other:?}"),
        })
    }
}

/// An input or a change that does not fit the state's type.
impl From<serde_json::Error> for Kind {
    fn from(_: serde_json::Error) -> Self {
        Self("type".to_owned())
    }
}
