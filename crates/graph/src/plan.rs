//! A compiled graph as a run needs it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::builder::{Router, StateGraph};
use crate::error::quoted;
use crate::node::{NodeFn, NodeOptions};
use crate::route::{END, Route, START};
use crate::{GraphError, GraphState};

/// What a run needs to know of a graph.
pub(crate) struct Plan<S: GraphState> {
    pub(crate) name: String,
    pub(crate) nodes: HashMap<Arc<str>, Arc<Node<S>>>,
    /// The start, as a node that does nothing.
    pub(crate) start: Ways<S>,
    pub(crate) joins: Vec<Join>,
    pub(crate) interrupt_before: Vec<String>,
    pub(crate) interrupt_after: Vec<String>,
}

pub(crate) struct Node<S: GraphState> {
    pub(crate) name: Arc<str>,
    pub(crate) run: NodeFn<S>,
    pub(crate) options: NodeOptions,
    pub(crate) ways: Ways<S>,
}

/// What comes after a node.
pub(crate) struct Ways<S> {
    pub(crate) edges: Vec<String>,
    pub(crate) branches: Vec<Branch<S>>,
    /// Indexes of the joins that wait for it.
    pub(crate) joins: Vec<usize>,
    pub(crate) gotos: Vec<String>,
}

pub(crate) struct Branch<S> {
    pub(crate) router: Router<S>,
    pub(crate) targets: Vec<String>,
}

pub(crate) struct Join {
    /// What a checkpoint calls it.
    pub(crate) key: String,
    pub(crate) from: BTreeSet<String>,
    pub(crate) to: String,
}

impl<S: GraphState> Plan<S> {
    pub(crate) fn new<O>(graph: StateGraph<S, O>) -> Self {
        let joins: Vec<Join> = graph.joins.into_iter().map(Join::new).collect();
        let mut ways: BTreeMap<String, Ways<S>> = BTreeMap::new();
        for (from, to) in graph.edges {
            ways.entry(from).or_default().edges.push(to);
        }
        for branch in graph.branches {
            ways.entry(branch.from).or_default().branches.push(Branch {
                router: branch.router,
                targets: branch.targets,
            });
        }
        for (from, targets) in graph.gotos {
            ways.entry(from).or_default().gotos.extend(targets);
        }
        for (index, join) in joins.iter().enumerate() {
            for from in &join.from {
                ways.entry(from.clone()).or_default().joins.push(index);
            }
        }
        let start = ways.remove(START).unwrap_or_default();
        let nodes = graph.nodes.into_iter().map(|node| {
            let name: Arc<str> = node.name.as_str().into();
            let node = Node {
                name: name.clone(),
                run: node.run,
                options: node.options,
                ways: ways.remove(&node.name).unwrap_or_default(),
            };
            (name, Arc::new(node))
        });
        Self {
            name: graph.name,
            nodes: nodes.collect(),
            start,
            joins,
            interrupt_before: graph.interrupt_before,
            interrupt_after: graph.interrupt_after,
        }
    }

    /// What comes after a node, or after the start.
    pub(crate) fn ways(&self, node: &str) -> Option<&Ways<S>> {
        match node {
            START => Some(&self.start),
            node => self.nodes.get(node).map(|node| &node.ways),
        }
    }
}

impl Join {
    fn new((from, to): (Vec<String>, String)) -> Self {
        let from: BTreeSet<String> = from.into_iter().collect();
        let names: Vec<&str> = from.iter().map(String::as_str).collect();
        let key = format!("{}:{to}", names.join("+"));
        Self { key, from, to }
    }
}

impl<S> Default for Ways<S> {
    fn default() -> Self {
        Self {
            edges: Vec::new(),
            branches: Vec::new(),
            joins: Vec::new(),
            gotos: Vec::new(),
        }
    }
}

impl<S: GraphState> Ways<S> {
    /// Where the node itself and its conditional edges lead. `fresh` is the state with what the node
    /// wrote, made if anybody looks at it.
    pub(crate) fn routes(
        &self,
        from: &str,
        goto: Vec<Route>,
        fresh: impl FnOnce() -> Result<S, GraphError>,
    ) -> Result<Vec<Route>, GraphError> {
        for route in &goto {
            allowed(from, route, &self.gotos, "`.goto(...)` declares")?;
        }
        let mut routes = goto;
        if !self.branches.is_empty() {
            let fresh = fresh()?;
            for branch in &self.branches {
                for route in (branch.router)(&fresh).0 {
                    allowed(from, &route, &branch.targets, "the conditional edge lists")?;
                    routes.push(route);
                }
            }
        }
        routes.retain(|route| route.target() != END);
        Ok(routes)
    }
}

fn allowed(from: &str, route: &Route, targets: &[String], says: &str) -> Result<(), GraphError> {
    let to = route.target();
    let reason = match route {
        Route::Send(_) if to == END => "nothing can be sent to the end".to_owned(),
        _ if targets.iter().any(|target| target == to) => return Ok(()),
        _ if targets.is_empty() => format!("{says} no target for it; add this one"),
        _ => format!("{says} only {}; add this one", quoted(targets)),
    };
    Err(GraphError::Route {
        from: from.to_owned(),
        to: to.to_owned(),
        reason,
    })
}

/// What a super-step leads to.
pub(crate) struct Next {
    nodes: BTreeSet<String>,
    sends: Vec<Route>,
    joins: BTreeMap<String, Vec<String>>,
}

impl Next {
    /// `joins` are those that have waited so far.
    pub(crate) fn new(joins: BTreeMap<String, Vec<String>>) -> Self {
        Self {
            nodes: BTreeSet::new(),
            sends: Vec::new(),
            joins,
        }
    }

    /// After a node, which itself wants to go to `routes`.
    pub(crate) fn after<S: GraphState>(
        &mut self,
        plan: &Plan<S>,
        node: &str,
        ways: &Ways<S>,
        routes: Vec<Route>,
    ) {
        let edges = ways.edges.iter().filter(|to| *to != END);
        self.nodes.extend(edges.cloned());
        for route in routes {
            match route {
                Route::Node(node) => {
                    self.nodes.insert(node);
                }
                Route::Send(_) => self.sends.push(route),
            }
        }
        for index in &ways.joins {
            let join = &plan.joins[*index];
            let come = self.joins.entry(join.key.clone()).or_default();
            if !come.iter().any(|other| other == node) {
                come.push(node.to_owned());
            }
        }
    }

    /// A node has run: joins that had led to it begin anew.
    pub(crate) fn ran<S: GraphState>(&mut self, plan: &Plan<S>, node: &str) {
        for join in plan.joins.iter().filter(|join| join.to == node) {
            if self.is_full(join) {
                self.joins.remove(&join.key);
            }
        }
    }

    /// The tasks of the next super-step, in order, and what joins wait for.
    pub(crate) fn done<S: GraphState>(
        mut self,
        plan: &Plan<S>,
    ) -> (Vec<Route>, BTreeMap<String, Vec<String>>) {
        for join in plan.joins.iter().filter(|join| join.to != END) {
            if self.is_full(join) {
                self.nodes.insert(join.to.clone());
            }
        }
        let mut next = self.sends;
        next.extend(self.nodes.into_iter().map(Route::Node));
        (next, self.joins)
    }

    fn is_full(&self, join: &Join) -> bool {
        let come = self.joins.get(&join.key);
        come.is_some_and(|come| come.len() == join.from.len())
    }
}
