//! What a graph must be to run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::GraphState;
use crate::builder::{StateGraph, Takes};
use crate::error::quoted;
use crate::route::{END, START};

/// What is wrong with a graph: all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    graph: String,
    mistakes: Vec<String>,
}

impl CompileError {
    /// The mistakes, one each.
    #[must_use]
    pub fn mistakes(&self) -> &[String] {
        &self.mistakes
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "graph {:?}: ", self.graph)?;
        match &self.mistakes[..] {
            [mistake] => f.write_str(mistake),
            mistakes => {
                write!(f, "{} mistakes", mistakes.len())?;
                mistakes
                    .iter()
                    .try_for_each(|mistake| write!(f, "\n  - {mistake}"))
            }
        }
    }
}

impl std::error::Error for CompileError {}

pub(crate) fn check<S: GraphState, O>(graph: &StateGraph<S, O>) -> Result<(), CompileError> {
    let mut check = Check {
        nodes: BTreeMap::new(),
        mistakes: Vec::new(),
        ways: BTreeMap::new(),
    };
    check.names(graph);
    check.ways(graph);
    check.stops("interrupt_before", &graph.interrupt_before);
    check.stops("interrupt_after", &graph.interrupt_after);
    // A wrong name makes what follows from it wrong, too: one thing at a time.
    if check.mistakes.is_empty() {
        check.paths();
    }
    if check.mistakes.is_empty() {
        return Ok(());
    }
    Err(CompileError {
        graph: graph.name.clone(),
        mistakes: check.mistakes,
    })
}

struct Check<'g> {
    nodes: BTreeMap<&'g str, Takes>,
    mistakes: Vec<String>,
    /// From each node to where it may lead.
    ways: BTreeMap<&'g str, BTreeSet<&'g str>>,
}

impl<'g> Check<'g> {
    fn names<S: GraphState, O>(&mut self, graph: &'g StateGraph<S, O>) {
        for node in &graph.nodes {
            let name = node.name.as_str();
            if name.is_empty() || name.contains([':', '|']) || name == START || name == END {
                self.mistake(format!(
                    "{name:?} cannot be a node's name: it is not empty, not {START:?} or {END:?}, and has \
                     no `:` or `|` in it"
                ));
            } else if self.nodes.insert(name, node.takes).is_some() {
                self.mistake(format!(
                    "there are two nodes `{name}`; give one of them another name"
                ));
            }
        }
        if graph.nodes.is_empty() {
            self.mistake("it has no node; add one with `.node(\"name\", function)`".to_owned());
        }
    }

    fn ways<S: GraphState, O>(&mut self, graph: &'g StateGraph<S, O>) {
        let mut edges = BTreeSet::new();
        for (from, to) in &graph.edges {
            let what = format!("`.edge({from:?}, {to:?})`");
            if !edges.insert((from, to)) {
                self.mistake(format!("{what} is there twice"));
            }
            self.way(&what, from, to, By::State);
        }
        for branch in &graph.branches {
            let what = format!("the conditional edge from `{}`", branch.from);
            self.targets(&what, &branch.from, &branch.targets);
        }
        for (from, targets) in &graph.gotos {
            let what = format!("`.goto({from:?}, ..)`");
            self.targets(&what, from, targets);
        }
        let mut joins = BTreeSet::new();
        for (from, to) in &graph.joins {
            let what = format!("`.join({from:?}, {to:?})`");
            let distinct: BTreeSet<&String> = from.iter().collect();
            if distinct.len() < 2 || distinct.len() < from.len() {
                self.mistake(format!(
                    "{what} joins nothing; it takes two or more different nodes, and after one comes an \
                     `.edge`"
                ));
            }
            if from.iter().any(|from| from == START) {
                self.mistake(format!(
                    "{what} waits for {START:?}, which is no node; leave it out"
                ));
            }
            if !joins.insert((distinct, to)) {
                self.mistake(format!("{what} is there twice"));
            }
            for from in from.iter().filter(|from| *from != START) {
                self.way(&what, from, to, By::State);
            }
        }
        if !self.mistakes.is_empty() || self.ways.contains_key(START) {
            return;
        }
        let mistake = "nothing says where it starts; add `.edge(START, \"first\")`";
        self.mistake(mistake.to_owned());
    }

    fn targets(&mut self, what: &str, from: &'g str, targets: &'g [String]) {
        if targets.is_empty() {
            self.mistake(format!(
                "{what} names no target; list all that it may lead to"
            ));
        }
        for to in targets {
            self.way(what, from, to, By::Any);
        }
    }

    fn way(&mut self, what: &str, from: &'g str, to: &'g str, by: By) {
        if from == END {
            self.mistake(format!(
                "{what} begins at the end, where nothing comes after"
            ));
        } else if from != START && !self.nodes.contains_key(from) {
            self.unknown(what, from);
        }
        if to == START {
            self.mistake(format!(
                "{what} leads to the start; name the node that comes first"
            ));
        } else if to != END && !self.nodes.contains_key(to) {
            self.unknown(what, to);
        } else if by == By::State && self.nodes.get(to) == Some(&Takes::Arg) {
            self.mistake(format!(
                "{what} leads to `{to}`, which takes an argument of its own; only a `SendTo` can bring it, \
                 from a conditional edge or a command"
            ));
        }
        self.ways.entry(from).or_default().insert(to);
    }

    fn stops(&mut self, what: &str, nodes: &'g [String]) {
        for node in nodes {
            if !self.nodes.contains_key(node.as_str()) {
                self.unknown(&format!("`{what}`"), node);
            }
        }
    }

    /// Everything can be reached from the start, and the end from everything.
    fn paths(&mut self) {
        let reached = reach(START, &self.ways);
        let mut back: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (from, targets) in &self.ways {
            for to in targets {
                back.entry(to).or_default().insert(from);
            }
        }
        let ending = reach(END, &back);
        let names: Vec<&str> = self.nodes.keys().copied().collect();
        for name in names {
            if !reached.contains(name) {
                self.mistake(format!(
                    "nothing leads to node `{name}`; add an edge to it, or name it among the targets of a \
                     conditional edge or of `.goto(..)`"
                ));
            } else if !self.ways.contains_key(name) {
                self.mistake(format!(
                    "node `{name}` leads nowhere; add `.edge({name:?}, END)` if its path ends there"
                ));
            } else if !ending.contains(name) {
                self.mistake(format!(
                    "no path leads from node `{name}` to the end, so that a run never ends; let one of the \
                     nodes after it lead to END"
                ));
            }
        }
    }

    fn unknown(&mut self, what: &str, name: &str) {
        let known = match self.nodes.is_empty() {
            true => "there is no node yet".to_owned(),
            false => format!("the nodes are {}", quoted(self.nodes.keys())),
        };
        self.mistake(format!(
            "{what} names the node `{name}`, which is not there; {known}"
        ));
    }

    fn mistake(&mut self, mistake: String) {
        self.mistakes.push(mistake);
    }
}

/// What a way brings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// The state.
    State,
    /// The state, or an argument.
    Any,
}

fn reach<'g>(from: &'g str, ways: &BTreeMap<&'g str, BTreeSet<&'g str>>) -> BTreeSet<&'g str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        if reached.insert(node) {
            open.extend(ways.get(node).into_iter().flatten());
        }
    }
    reached
}
