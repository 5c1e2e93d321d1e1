//! From names to a plan: everything that can be checked without asking the agents.

use std::collections::{HashMap, HashSet};

use super::builder::Draft;
use super::{
    Agent, Ask, At, Each, INPUT, ITEM, MAX_NAME_CHARS, MAX_STEPS, OnError, Places, Plan,
    PlannedEach, PlannedStep, Retry, Source, Step, order,
};
use crate::expression::{Condition, ItemPath, Reference, Template};
use crate::finding::{Finding, PlanError};

/// Names that a message lists.
const MAX_LISTED: usize = 12;

pub(super) fn compile(draft: Draft, places: Places) -> Result<Plan, PlanError> {
    let mut compiler = Compiler::new(&draft, &places);
    compiler.size();
    compiler.agents();
    let mut steps: Vec<PlannedStep> = (draft.steps.iter().enumerate())
        .map(|(at, step)| compiler.step(at, step))
        .collect();
    compiler.goto(&mut steps);
    let outputs = compiler.outputs();
    compiler.needs(&mut steps);
    let order = order::order(&steps).unwrap_or_else(|cycle| {
        compiler.cycle(&steps, &cycle);
        Vec::new()
    });
    let Compiler {
        findings, index, ..
    } = compiler;
    if !findings.is_empty() {
        return Err(PlanError::new(findings));
    }
    Ok(Plan {
        name: draft.name,
        description: draft.description,
        agents: draft.agents,
        steps,
        outputs,
        index,
        order,
        places,
    })
}

struct Compiler<'d> {
    draft: &'d Draft,
    places: &'d Places,
    index: HashMap<String, usize>,
    agents: HashMap<&'d str, &'d Agent>,
    findings: Vec<Finding>,
}

impl<'d> Compiler<'d> {
    fn new(draft: &'d Draft, places: &'d Places) -> Self {
        let mut index = HashMap::new();
        for (at, step) in draft.steps.iter().enumerate() {
            index.entry(step.name.clone()).or_insert(at);
        }
        let mut agents = HashMap::new();
        for (name, agent) in &draft.agents {
            agents.entry(&**name).or_insert(agent);
        }
        Self {
            draft,
            places,
            index,
            agents,
            findings: Vec::new(),
        }
    }

    fn error(&mut self, kind: &'static str, at: At, message: impl Into<String>) {
        let mut finding = Finding::error(kind, message).at(self.places.get(at));
        if let At::Step(step) | At::Field(step, _) | At::From(step, _) = at
            && let Some(step) = self.draft.steps.get(step)
        {
            finding = finding.of_step(&*step.name);
        }
        self.findings.push(finding);
    }

    fn size(&mut self) {
        let steps = self.draft.steps.len();
        if steps == 0 {
            self.error(
                "no-steps",
                At::Step(0),
                "the plan has no steps; it needs one at least",
            );
        }
        if steps > MAX_STEPS {
            let message = format!("the plan has {steps} steps, {MAX_STEPS} are allowed");
            self.error("too-many-steps", At::Step(MAX_STEPS), message);
        }
    }

    fn agents(&mut self) {
        let mut seen = HashMap::new();
        for (at, (name, agent)) in self.draft.agents.iter().enumerate() {
            if let Some(problem) = bad_name(name, true) {
                let message = format!("the agent's name {name:?} {problem}");
                self.error("bad-name", At::Agent(at), message);
            }
            if seen.insert(name, at).is_some() {
                let message = format!("the agent {name:?} is given twice");
                self.error("duplicate-agent", At::Agent(at), message);
            }
            if let Some(problem) = bad_url(&agent.url) {
                let message = format!("the agent {name:?}: {problem}");
                self.error("bad-url", At::AgentUrl(at), message);
            }
        }
    }

    fn step(&mut self, at: usize, step: &Step) -> PlannedStep {
        if let Some(problem) = bad_name(&step.name, false) {
            let message = format!("the step's name {:?} {problem}", step.name);
            self.error("bad-name", At::Step(at), message);
        }
        if self.index.get(&step.name).is_some_and(|first| *first != at) {
            self.error(
                "duplicate-step",
                At::Step(at),
                "there is another step of this name",
            );
        }
        let (agent, agent_name) = self.agent_of(at, step);
        let from = self.from(at, step);
        self.numbers(at, step);
        let template = (step.text.as_deref())
            .and_then(|text| self.expression(at, "text", Template::new(text)));
        let condition = (step.when.as_deref())
            .and_then(|when| self.expression(at, "when", Condition::new(when)));
        if let Some(template) = &template {
            self.references(at, "text", template.references(), step.each.is_some());
        }
        if let Some(condition) = &condition {
            self.references(at, "when", condition.references(), false);
        }
        let each = step
            .each
            .as_ref()
            .and_then(|each| self.each(at, each, &from));
        if from.is_empty() && step.from.is_empty() && step.text.is_none() {
            let message = "receives nothing; give it `from: [input]`, steps, or a `text`";
            self.error("receives-nothing", At::Step(at), message);
        }
        PlannedStep {
            step: step.clone(),
            agent,
            agent_name,
            from,
            needs: Vec::new(),
            template,
            condition,
            each,
            goes_to: None,
            stands_in_for: Vec::new(),
        }
    }

    fn agent_of(&mut self, at: usize, step: &Step) -> (Agent, Option<String>) {
        let field = At::Field(at, "agent");
        if step.agent.contains("://") {
            if let Some(problem) = bad_url(&step.agent) {
                self.error("bad-url", field, problem);
            }
            return (Agent::new(&*step.agent), None);
        }
        if let Some(agent) = self.agents.get(&*step.agent) {
            return (Agent::clone(agent), Some(step.agent.clone()));
        }
        let agents = &self.draft.agents;
        let names = list(agents.iter().map(|(name, _)| name.as_str()), agents.len());
        let message = format!(
            "the agent {:?} is neither in `agents` ({names}) nor a URL such as https://example.com/agent",
            step.agent
        );
        self.error("unknown-agent", field, message);
        (Agent::new(""), None)
    }

    fn from(&mut self, at: usize, step: &Step) -> Vec<Source> {
        let mut from = Vec::new();
        for (place, name) in step.from.iter().enumerate() {
            match self.source(name) {
                Some(Source::Step(other)) if other == at => {
                    let message = "receives its own answer";
                    self.error("cycle", At::From(at, place), message);
                }
                Some(source) => from.push(source),
                None => {
                    let message = format!("`from` names {name:?}; {}", self.known(at));
                    self.error("unknown-step", At::From(at, place), message);
                }
            }
        }
        from
    }

    fn source(&self, name: &str) -> Option<Source> {
        if name == INPUT {
            return Some(Source::Input);
        }
        self.index.get(name).copied().map(Source::Step)
    }

    /// What could have been named at step `at`.
    fn known(&self, at: usize) -> String {
        let others = self.draft.steps.iter().enumerate();
        let others = others.filter(|(other, _)| *other != at);
        let names = others.map(|(_, step)| step.name.as_str());
        // The input is one more, and the step itself one less.
        let count = self.draft.steps.len();
        format!(
            "there are {}",
            list([INPUT].into_iter().chain(names), count)
        )
    }

    fn expression<T>(
        &mut self,
        at: usize,
        field: &'static str,
        read: Result<T, String>,
    ) -> Option<T> {
        read.map_err(|message| {
            self.error(
                "bad-expression",
                At::Field(at, field),
                format!("`{field}`: {message}"),
            );
        })
        .ok()
    }

    /// Whether everything that an expression names is there.
    fn references(
        &mut self,
        at: usize,
        field: &'static str,
        references: &[Reference],
        has_items: bool,
    ) {
        for reference in references {
            let name = reference.name();
            let message = match self.source(name) {
                Some(Source::Step(other)) if other == at => {
                    format!("`{field}` names the step itself")
                }
                Some(_) => match reference.unknown_field() {
                    Some(unknown) => format!(
                        "`{field}` reads {name}.{unknown}; of a step there are {}",
                        Reference::FIELDS.join(", ")
                    ),
                    None => continue,
                },
                None if name == ITEM && has_items => continue,
                None if name == ITEM && field == "text" => {
                    "`text` names item, and the step has no `each`".to_owned()
                }
                None if name == ITEM => {
                    "`when` names item, but it is decided once for the step; filter items in the path of `each`".to_owned()
                }
                None => format!("`{field}` names {name:?}; {}", self.known(at)),
            };
            self.error("unknown-step", At::Field(at, field), message);
        }
    }

    fn each(&mut self, at: usize, each: &Each, from: &[Source]) -> Option<PlannedEach> {
        let field = At::Field(at, "each");
        let limits = [
            ("concurrency", each.concurrency, Each::MAX_CONCURRENCY),
            ("max_items", each.max_items, Each::MAX_ITEMS),
        ];
        for (name, value, most) in limits {
            if value == 0 || value > most {
                let message = format!("`each`: {name} is {value}; it takes 1 to {most}");
                self.error("bad-number", field, message);
            }
        }
        let of = match (&each.of, from) {
            (None, [only]) => Some(*only),
            (None, []) => {
                let message = "`each` needs a source with items in `from`";
                self.error("bad-each", field, message);
                None
            }
            (None, _) => {
                let message = "`each` does not say whose items; add `of`, one of `from`";
                self.error("bad-each", field, message);
                None
            }
            (Some(of), _) => {
                let source = self.source(of).filter(|source| from.contains(source));
                if source.is_none() {
                    let message = format!("`each` is of {of:?}, which is not in `from`");
                    self.error("bad-each", field, message);
                }
                source
            }
        };
        let path = self.expression(at, "each", ItemPath::new(&each.path))?;
        Some(PlannedEach {
            of: of?,
            path,
            concurrency: each.concurrency,
            max_items: each.max_items,
        })
    }

    fn numbers(&mut self, at: usize, step: &Step) {
        if step.timeout.is_zero() {
            let message = "`timeout` is 0; it needs some time, such as 30s";
            self.error("bad-number", At::Field(at, "timeout"), message);
        }
        let attempts = step.retry.attempts;
        if attempts == 0 || attempts > Retry::MAX_ATTEMPTS {
            let most = Retry::MAX_ATTEMPTS;
            let message =
                format!("`retry`: attempts is {attempts}; it takes 1 (no repeating) to {most}");
            self.error("bad-number", At::Field(at, "retry"), message);
        }
        if step.ask == Ask::Wait(std::time::Duration::ZERO) {
            let message = "`ask`: wait is 0; it needs some time, or `ask: fail`";
            self.error("bad-number", At::Field(at, "ask"), message);
        }
    }

    /// Resolves who goes where, and refuses what would not end.
    fn goto(&mut self, steps: &mut [PlannedStep]) {
        for (at, step) in self.draft.steps.iter().enumerate() {
            let OnError::GoTo(name) = &step.on_error else {
                continue;
            };
            let field = At::Field(at, "on_error");
            match self.index.get(name).copied() {
                Some(target) if target == at => {
                    self.error("bad-goto", field, "`goto` names the step itself");
                }
                Some(target) => {
                    if let Some(step) = steps.get_mut(at) {
                        step.goes_to = Some(target);
                    }
                    if let Some(target) = steps.get_mut(target) {
                        target.stands_in_for.push(at);
                    }
                    let reads = self.draft.steps.get(target).and_then(|target| {
                        target.from.iter().position(|source| *source == step.name)
                    });
                    if let Some(place) = reads {
                        let message = format!(
                            "receives from {:?}, which has nothing to give when it goes here; `text` can have {{{{{}.error}}}}",
                            step.name, step.name
                        );
                        self.error("bad-goto", At::From(target, place), message);
                    }
                }
                None => {
                    let message = format!("`goto` names {name:?}; {}", self.known(at));
                    self.error("unknown-step", field, message);
                }
            }
        }
        // A ring of steps that go to each other has no end; its first step is told.
        let mut state = vec![0usize; steps.len()];
        for start in 0..steps.len() {
            let mut at = Some(start);
            while let Some(step) = at.filter(|step| state.get(*step) == Some(&0)) {
                if let Some(state) = state.get_mut(step) {
                    *state = start + 1;
                }
                at = steps.get(step).and_then(|step| step.goes_to);
            }
            if let Some(ring) = at.filter(|step| state.get(*step) == Some(&(start + 1))) {
                let message = "`goto` leads back to this step when the others fail, too";
                self.error("cycle", At::Field(ring, "on_error"), message);
                // Broken here, so that nothing further on goes round for ever.
                let target = steps.get_mut(ring).and_then(|step| step.goes_to.take());
                if let Some(target) = target.and_then(|target| steps.get_mut(target)) {
                    target.stands_in_for.retain(|step| *step != ring);
                }
            }
        }
    }

    fn outputs(&mut self) -> Vec<usize> {
        if self.draft.outputs.is_empty() {
            let message = "the plan has no `outputs`; name the steps whose answers are the run's";
            self.error("no-outputs", At::Outputs, message);
        }
        let mut outputs = Vec::new();
        let mut seen = HashSet::new();
        for (place, name) in self.draft.outputs.iter().enumerate() {
            match self.index.get(name) {
                Some(step) if !seen.insert(*step) => {
                    let message = format!("`outputs` names {name:?} twice");
                    self.error("duplicate-output", At::Output(place), message);
                }
                Some(step) => outputs.push(*step),
                None => {
                    let names = self.draft.steps.iter().map(|step| step.name.as_str());
                    let message = format!(
                        "`outputs` names {name:?}; there are {}",
                        list(names, self.draft.steps.len())
                    );
                    self.error("unknown-step", At::Output(place), message);
                }
            }
        }
        outputs
    }

    /// What each step waits for.
    fn needs(&self, steps: &mut [PlannedStep]) {
        let goes_to: Vec<Option<usize>> = steps.iter().map(|step| step.goes_to).collect();
        let last = last_stand_ins(&goes_to);
        for (at, step) in steps.iter_mut().enumerate() {
            let of = |references: &[Reference]| -> Vec<usize> {
                let names = references.iter().map(Reference::name);
                names
                    .filter_map(|name| self.index.get(name).copied())
                    .collect()
            };
            let mut needs = step.stands_in_for.clone();
            let read = (step.from.iter()).filter_map(|source| match source {
                Source::Input => None,
                Source::Step(step) => Some(*step),
            });
            let read = read
                .chain(of(step.template.as_ref().map_or(&[], Template::references)))
                .chain(of(step
                    .condition
                    .as_ref()
                    .map_or(&[], Condition::references)));
            for other in read {
                if other == at {
                    continue;
                }
                needs.push(other);
                // And the last one that stands in for it, which waits for those between. A step
                // that is itself one of them waits for those before it, and for none after.
                let end = last.get(other).copied().unwrap_or(other);
                let is_between = !step.stands_in_for.is_empty()
                    && last.get(at) == Some(&end)
                    && leads_to(&goes_to, other, at);
                if !is_between {
                    needs.push(end);
                }
            }
            needs.sort_unstable();
            needs.dedup();
            step.needs = needs;
        }
    }

    fn cycle(&mut self, steps: &[PlannedStep], cycle: &[usize]) {
        let Some(first) = cycle.iter().min().copied() else {
            return;
        };
        let begin = cycle.iter().position(|step| *step == first).unwrap_or(0);
        let ring = cycle.iter().cycle().skip(begin).take(cycle.len() + 1);
        let names: Vec<&str> = ring
            .filter_map(|step| steps.get(*step).map(PlannedStep::name))
            .collect();
        let shown = if names.len() > MAX_LISTED {
            let head = names.get(..MAX_LISTED - 1).unwrap_or_default().join(" → ");
            format!(
                "{head} → ... → {} ({} steps)",
                names.last().unwrap_or(&""),
                cycle.len()
            )
        } else {
            names.join(" → ")
        };
        let message = format!("waits for itself: {shown}; a plan has no cycles");
        self.error("cycle", At::Step(first), message);
    }
}

/// Of each step the last one of those that it goes to, they go to, and so on; itself where it goes
/// nowhere. There are no rings.
fn last_stand_ins(goes_to: &[Option<usize>]) -> Vec<usize> {
    let mut last: Vec<Option<usize>> = vec![None; goes_to.len()];
    let mut chain = Vec::new();
    for start in 0..goes_to.len() {
        let mut at = start;
        let end = loop {
            if let Some(known) = last.get(at).copied().flatten() {
                break known;
            }
            chain.push(at);
            match goes_to.get(at).copied().flatten() {
                Some(next) => at = next,
                None => break at,
            }
        };
        for step in chain.drain(..) {
            if let Some(slot) = last.get_mut(step) {
                *slot = Some(end);
            }
        }
    }
    let known = last.into_iter().enumerate();
    known.map(|(at, last)| last.unwrap_or(at)).collect()
}

/// Whether one comes from the first step to the other by `goto` alone.
fn leads_to(goes_to: &[Option<usize>], from: usize, to: usize) -> bool {
    let next = |at: &usize| goes_to.get(*at).copied().flatten();
    std::iter::successors(Some(from), next).any(|at| at == to)
}

/// What is wrong with a name. Hyphens are for agents: a step stands in expressions.
fn bad_name(name: &str, is_agent: bool) -> Option<String> {
    if !is_agent && (name == INPUT || name == ITEM) {
        return Some(format!("is taken: `{name}` has a meaning of its own"));
    }
    if name.chars().count() > MAX_NAME_CHARS {
        return Some(format!("is longer than {MAX_NAME_CHARS} characters"));
    }
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let goes_on = |c: char| c.is_ascii_alphanumeric() || c == '_' || (is_agent && c == '-');
    if begins && name.chars().all(goes_on) {
        return None;
    }
    let hyphen = if is_agent {
        ", `_` and `-`"
    } else {
        " and `_`"
    };
    Some(format!(
        "is not one: letters, digits{hyphen}, no digit first"
    ))
}

pub(super) fn bad_url(url: &str) -> Option<String> {
    let wanted = "an absolute http or https URL is needed";
    match url::Url::parse(url) {
        Ok(parsed) if matches!(parsed.scheme(), "http" | "https") && parsed.has_host() => None,
        Ok(_) => Some(format!("{url:?} is not at http or https; {wanted}")),
        Err(error) => Some(format!("{url:?} is no URL ({error}); {wanted}")),
    }
}

/// Names in a line; a few of many, of which `count` says how many there are.
fn list<'n>(names: impl Iterator<Item = &'n str>, count: usize) -> String {
    let listed: Vec<&str> = names.take(MAX_LISTED).collect();
    if listed.is_empty() {
        return "empty".to_owned();
    }
    let more = count.saturating_sub(listed.len());
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{}{rest}", listed.join(", "))
}
