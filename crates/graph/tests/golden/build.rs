//! Makes one of our graphs of a description, as `itest/graph/build.py` makes one of LangGraph's.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use llamon_graph::{
    Command, CompileError, END, Graph, GraphState, MemorySaver, NodeContext, NodeError,
    NodeOptions, Retry, Route, Routes, START, Saver, SendTo, StateGraph,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::states::{described, ours};
use super::template::{Scope, render};
use super::trace::{Branch, GraphText, Node, Step};

/// What the nodes of a graph share: who ran when, and the saver to look into.
#[derive(Clone, Default)]
pub(crate) struct Observed {
    runs: Arc<Mutex<Runs>>,
    pub(crate) saver: MemorySaver,
}

#[derive(Default)]
struct Runs {
    counts: BTreeMap<String, u32>,
    started: Vec<Value>,
}

impl Observed {
    pub(crate) fn counts(&self) -> BTreeMap<String, u32> {
        self.runs.lock().expect("no node panics").counts.clone()
    }

    /// Who started since the last call: [step, node] each.
    pub(crate) fn take_started(&self) -> Value {
        std::mem::take(&mut self.runs.lock().expect("no node panics").started).into()
    }

    fn enter(&self, node: &str, step: i64) -> u32 {
        let mut runs = self.runs.lock().expect("no node panics");
        runs.started.push(json!([step, node]));
        let count = runs.counts.entry(node.to_owned()).or_default();
        *count += 1;
        *count
    }
}

/// The graph; the saver, if it has one, is that of `observed`.
pub(crate) fn build<S: GraphState>(
    text: &GraphText,
    observed: &Observed,
) -> Result<Graph<S>, CompileError> {
    declare(text, observed)?.compile()
}

/// The graph before it is compiled, so that another output can be given to it.
pub(crate) fn declare<S: GraphState>(
    text: &GraphText,
    observed: &Observed,
) -> Result<StateGraph<S>, CompileError> {
    let mut graph = StateGraph::<S>::new("golden");
    for node in &text.nodes {
        graph = add_node(graph, text, node, observed)?;
    }
    for (from, to) in &text.edges {
        graph = match from {
            Value::Array(from) => graph.join(from.iter().map(name_of).map(place), place(to)),
            from => graph.edge(place(name_of(from)), place(to)),
        };
    }
    for branch in &text.branches {
        graph = add_branch(graph, text, branch.clone());
    }
    Ok(graph
        .interrupt_before(text.interrupt_before.clone())
        .interrupt_after(text.interrupt_after.clone()))
}

fn add_node<S: GraphState>(
    graph: StateGraph<S>,
    outer: &GraphText,
    node: &Node,
    observed: &Observed,
) -> Result<StateGraph<S>, CompileError> {
    if let Some(inner) = &node.graph {
        let enter = shared_fields(outer, inner);
        let leave = enter.clone();
        let inner = build::<S>(inner, observed)?;
        return Ok(graph.subgraph_with(
            &node.name,
            inner,
            move |state: &S| only::<S>(state, &enter),
            move |state: S| only::<S>(&state, &leave),
        ));
    }
    let mut inner = None;
    for step in &node.steps {
        if let Step::CallGraph { graph, .. } = step {
            inner = Some(build::<S>(graph, observed)?);
        }
    }
    let body = Arc::new(Body {
        node: node.clone(),
        observed: observed.clone(),
        inner,
    });
    let graph = graph.goto_if_any(node, targets_of_commands(outer, node));
    let options = options(node);
    Ok(if takes_argument(node) {
        let run = move |arg: Value, context: NodeContext| {
            let body = body.clone();
            async move { body.run(json!({ "arg": arg }), context).await }
        };
        graph.task_node_with(&node.name, run, options)
    } else {
        let run = move |state: S, context: NodeContext| {
            let body = body.clone();
            async move { body.run(serde_json::to_value(&state)?, context).await }
        };
        graph.node_with(&node.name, run, options)
    })
}

trait GotoIfAny {
    fn goto_if_any(self, node: &Node, targets: Vec<String>) -> Self;
}

impl<S: GraphState> GotoIfAny for StateGraph<S> {
    fn goto_if_any(self, node: &Node, targets: Vec<String>) -> Self {
        if targets.is_empty() {
            self
        } else {
            self.goto(&node.name, targets)
        }
    }
}

/// A node that takes the steps of its description.
struct Body<S: GraphState> {
    node: Node,
    observed: Observed,
    inner: Option<Graph<S>>,
}

impl<S: GraphState> Body<S> {
    async fn run(&self, scope: Value, context: NodeContext) -> Result<Command<S>, NodeError> {
        let run = self.observed.enter(&self.node.name, context.step());
        let Value::Object(mut scope) = scope else {
            panic!("a state is an object")
        };
        for step in &self.node.steps {
            match step {
                Step::Return { update } => return finish(&render(update, &scope), Vec::new()),
                Step::Command { goto, update } => {
                    return finish(&render(update, &scope), routes(goto, &scope));
                }
                Step::Ask { value, into } => {
                    let answer = context.interrupt(render(value, &scope)).await?;
                    scope.insert(into.clone(), answer);
                }
                Step::Emit { value } => context.write(render(value, &scope)).await,
                Step::Speak { id, pieces } => {
                    for piece in pieces {
                        context.token(piece).await;
                    }
                    scope.insert(
                        "said".into(),
                        json!({"role": "ai", "id": id, "content": pieces.concat()}),
                    );
                }
                Step::Fail { error, runs } if runs.is_none_or(|runs| run <= runs) => {
                    return Err(Failed(error.clone()).into());
                }
                Step::Fail { .. } => {}
                Step::WaitSaved { tasks } => self.until_saved(*tasks, &context).await,
                Step::CallGraph { input, update, .. } => {
                    let inner = self.inner.as_ref().expect("built with the node");
                    let output = context
                        .run(inner, read::<S>(&render(input, &scope))?)
                        .await?;
                    scope.insert("inner".into(), serde_json::to_value(&output)?);
                    return finish(&render(update, &scope), Vec::new());
                }
            }
        }
        panic!("node {} returns nothing", self.node.name)
    }

    /// Until the saver holds what that many other tasks of the step gave.
    async fn until_saved(&self, tasks: usize, context: &NodeContext) {
        loop {
            let saved = self
                .observed
                .saver
                .get(context.thread(), context.namespace(), None)
                .await;
            let writes = saved
                .expect("a memory saver")
                .map_or_else(Vec::new, |saved| saved.writes);
            if writes.iter().filter(|write| !write.task.is_empty()).count() >= tasks {
                return;
            }
            tokio::task::yield_now().await;
        }
    }
}

/// The error that a description asks for.
#[derive(Debug)]
struct Failed(String);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} as described", self.0)
    }
}

impl std::error::Error for Failed {}

fn options(node: &Node) -> NodeOptions {
    let Some(retry) = node.retry.clone() else {
        return NodeOptions::default();
    };
    let policy = Retry::exponential()
        .max_attempts(retry.max_attempts)
        .first_wait(Duration::from_millis(1))
        .when(move |error| {
            error
                .downcast_ref::<Failed>()
                .is_some_and(|failed| retry.on.contains(&failed.0))
        });
    NodeOptions::default().retry(policy)
}

fn finish<S: GraphState>(update: &Value, goto: Vec<Route>) -> Result<Command<S>, NodeError> {
    Ok(Command::goto(goto).update(read::<S>(update)?))
}

/// An update of the golden files as one of ours.
pub(crate) fn read<S: GraphState>(update: &Value) -> Result<S::Update, serde_json::Error> {
    match update {
        Value::Null => Ok(S::Update::default()),
        update => serde_json::from_value(ours(update)),
    }
}

/// Of the state only these fields, as an update.
fn only<S: GraphState>(state: &S, fields: &[String]) -> S::Update {
    let state = serde_json::to_value(state).expect("JSON");
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    read::<S>(&described(&state, &fields)).expect("an update of the same type")
}

fn shared_fields(outer: &GraphText, inner: &GraphText) -> Vec<String> {
    inner
        .state
        .keys()
        .filter(|field| outer.state.contains_key(*field))
        .cloned()
        .collect()
}

fn add_branch<S: GraphState>(
    graph: StateGraph<S>,
    text: &GraphText,
    branch: Branch,
) -> StateGraph<S> {
    let targets: Vec<String> = match &branch.to {
        None => everywhere(text),
        Some(Value::Array(targets)) => targets.iter().map(|name| place(name_of(name))).collect(),
        Some(Value::Object(ways)) => ways.values().map(|name| place(name_of(name))).collect(),
        Some(other) => panic!("no list of targets: {other}"),
    };
    let from = place(&branch.from);
    graph.conditional_edge(from, move |state: &S| picked(&branch, state), targets)
}

fn picked<S: Serialize>(branch: &Branch, state: &S) -> Routes {
    let Ok(Value::Object(mut scope)) = serde_json::to_value(state) else {
        panic!("a state is an object")
    };
    if let Some(field) = branch.pick.get("each") {
        let items = scope[name_of(field)]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let sends = items.into_iter().map(|item| {
            scope.insert("it".into(), item);
            SendTo::new(
                name_of(&branch.pick["to"]),
                render(&branch.pick["arg"], &scope),
            )
        });
        return sends.collect::<Vec<_>>().into();
    }
    if let Some(below) = branch.pick.get("below") {
        let is_below = scope
            .get(name_of(&below[0]))
            .and_then(Value::as_i64)
            .unwrap_or(0)
            < below[1].as_i64().expect("a limit");
        let way = &branch.pick[if is_below { "then" } else { "else" }];
        return mapped(branch, name_of(way)).into();
    }
    let routes = routes(&branch.pick, &scope)
        .into_iter()
        .map(|route| match route {
            Route::Node(name) => Route::Node(mapped(branch, &name)),
            send => send,
        });
    routes.collect::<Vec<_>>().into()
}

/// Through the map of a conditional edge, if it has one that knows the name.
fn mapped(branch: &Branch, picked: &str) -> String {
    let mapped = branch
        .to
        .as_ref()
        .and_then(|to| to.get(picked))
        .and_then(Value::as_str);
    place(mapped.unwrap_or(picked))
}

/// Names, Sends, or lists of them.
fn routes(goto: &Value, scope: &Scope) -> Vec<Route> {
    match goto {
        Value::Array(several) => several.iter().flat_map(|one| routes(one, scope)).collect(),
        Value::Object(send) => {
            vec![SendTo::new(name_of(&send["send"]), render(&send["arg"], scope)).into()]
        }
        name => match render(name, scope) {
            Value::Array(names) => names
                .iter()
                .map(|name| Route::Node(place(name_of(name))))
                .collect(),
            name => vec![Route::Node(place(name_of(&name)))],
        },
    }
}

/// With us it is declared where commands may lead; LangGraph allows all.
fn targets_of_commands(text: &GraphText, node: &Node) -> Vec<String> {
    let commands = node
        .steps
        .iter()
        .any(|step| matches!(step, Step::Command { .. }));
    if commands {
        everywhere(text)
    } else {
        Vec::new()
    }
}

fn everywhere(text: &GraphText) -> Vec<String> {
    let nodes = text.nodes.iter().map(|node| node.name.clone());
    nodes.chain([END.to_owned()]).collect()
}

fn takes_argument(node: &Node) -> bool {
    let uses = |value: &Value| value.to_string().contains("{arg.");
    node.steps.iter().any(|step| match step {
        Step::Return { update } => uses(update),
        Step::Ask { value, .. } => uses(value),
        _ => false,
    })
}

pub(crate) fn place(name: &str) -> String {
    match name {
        "START" => START.to_owned(),
        "END" => END.to_owned(),
        name => name.to_owned(),
    }
}

fn name_of(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no name: {value}"))
}
