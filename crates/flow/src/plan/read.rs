//! Reading a plan's document, with a place for everything that can be wrong.

use std::time::Duration;

use llamon_client::Binding;
use serde_saphyr::DuplicateKeyPolicy;

use super::builder::Draft;
use super::document::{
    At, Document, EachEntry, Entries, GotoEntry, RetryEntry, StepEntry, TextOr, WaitEntry, place,
};
use super::{
    Agent, Ask, At as Where, Dedupe, Each, MAX_DOCUMENT_BYTES, OnError, Places, Plan, Retry, Step,
    compile,
};
use crate::finding::{Finding, Place, PlanError};

impl Plan {
    /// Reads a plan's document, YAML or JSON. Aliases are bounded and nothing is included, so a
    /// small document cannot become a large plan.
    ///
    /// # Errors
    /// With everything that is wrong and its line and column. Where the document does not have
    /// the shape of a plan, that is the only finding.
    pub fn from_yaml(text: &str) -> Result<Self, PlanError> {
        let document = parse(text).map_err(|finding| PlanError::new(vec![finding]))?;
        let mut reader = Reader::default();
        let draft = reader.draft(document);
        match compile::compile(draft, reader.places) {
            Ok(plan) if reader.findings.is_empty() => Ok(plan),
            Ok(_) => Err(PlanError::new(reader.findings)),
            Err(error) => {
                reader.findings.extend_from_slice(error.findings());
                Err(PlanError::new(reader.findings))
            }
        }
    }
}

fn parse(text: &str) -> Result<Document, Finding> {
    if text.len() > MAX_DOCUMENT_BYTES {
        let bytes = text.len();
        let message = format!("the plan has {bytes} bytes, {MAX_DOCUMENT_BYTES} are allowed");
        return Err(Finding::error("too-large", message));
    }
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::Error,
        with_snippet: false,
        // A text of a megabyte with ten thousand aliases would be gigabytes.
        budget: serde_saphyr::budget! {
            max_aliases: 1_000,
            max_recorded_anchor_bytes: 64 << 10,
            max_nodes: 500_000,
            max_events: 2_000_000,
        },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let at = error.location();
        let message = error.without_snippet().to_string();
        let known = at.map(|at| format!(" at line {}, column {}", at.line(), at.column()));
        let message = known
            .and_then(|known| message.strip_suffix(&known).map(str::to_owned))
            .unwrap_or(message);
        Finding::error("bad-document", in_our_words(&message)).at(at.as_ref().and_then(place))
    })
}

/// The reader's messages name its own types and settings.
fn in_our_words(message: &str) -> String {
    if let Some(breach) = message.strip_prefix("budget breached: ") {
        return format!(
            "the document has more entries, aliases, depth or anchored text than a plan may have ({breach})"
        );
    }
    let swaps = [
        (", set DuplicateKeyPolicy in Options if acceptable", ""),
        ("duplicate mapping key:", "this name is given twice:"),
        (
            "multiple YAML documents detected; use from_str_multiple or from_str_multiple_with_options",
            "a second document begins here; a file has one plan",
        ),
        ("expected string scalar", "a text is expected here"),
        (
            "expected mapping start",
            "a map (`name: value`) is expected here",
        ),
        (
            "expected sequence start",
            "a list (`[a, b]`) is expected here",
        ),
        (
            "unexpected end of input",
            "the plan is empty; it needs `steps` and `outputs`",
        ),
        (
            "invalid u32",
            "a number without sign and fraction is expected here",
        ),
        (", expected one of ", "; there are "),
    ];
    swaps
        .iter()
        .fold(message.to_owned(), |message, (theirs, ours)| {
            message.replace(theirs, ours)
        })
}

#[derive(Default)]
struct Reader {
    places: Places,
    findings: Vec<Finding>,
}

impl Reader {
    fn draft(&mut self, document: Document) -> Draft {
        Draft {
            name: document.name.unwrap_or_else(|| "plan".to_owned()),
            description: document.description,
            agents: self.agents(document.agents),
            steps: (document.steps.0.into_iter().enumerate())
                .map(|(at, (name, entry))| self.step(at, &name, entry))
                .collect(),
            outputs: self.outputs(document.outputs),
        }
    }

    fn agents(
        &mut self,
        entries: Entries<TextOr<super::document::AgentEntry>>,
    ) -> Vec<(String, Agent)> {
        let mut agents = Vec::new();
        for (at, (name, entry)) in entries.0.into_iter().enumerate() {
            self.places.put(Where::Agent(at), name.place());
            let agent = match entry {
                TextOr::Text(url) => Agent::new(url),
                TextOr::Map(entry) => {
                    self.places.put(Where::AgentUrl(at), entry.url.place());
                    let binding = entry
                        .binding
                        .and_then(|binding| self.binding(name.value(), &binding));
                    Agent {
                        url: entry.url.into_value(),
                        card: entry.card.map(Into::into),
                        binding,
                        trust_origins: entry.trust_origins,
                        bearer_env: entry.bearer_env,
                    }
                }
            };
            agents.push((name.into_value(), agent));
        }
        agents
    }

    fn binding(&mut self, agent: &str, binding: &At<String>) -> Option<Binding> {
        match &**binding.value() {
            "jsonrpc" => Some(Binding::JsonRpc),
            "rest" => Some(Binding::Rest),
            #[cfg(feature = "grpc")]
            "grpc" => Some(Binding::Grpc),
            other => {
                let message = format!(
                    "the agent {agent:?}: binding is {other:?}; it takes jsonrpc, rest or, with the feature `grpc`, grpc"
                );
                self.findings
                    .push(Finding::error("bad-value", message).at(binding.place()));
                None
            }
        }
    }

    fn step(&mut self, at: usize, name: &At<String>, entry: StepEntry) -> Step {
        self.places.put(Where::Step(at), name.place());
        let mut step = Step::new(&**name.value(), "");
        let mut put = |field: &'static str, place: Option<Place>| {
            self.places.put(Where::Field(at, field), place)
        };
        put("agent", entry.agent.place());
        step.agent = entry.agent.into_value();
        if let Some(text) = entry.text {
            put("text", text.place());
            step.text = Some(text.into_value());
        }
        if let Some(when) = entry.when {
            put("when", when.place());
            step.when = Some(when.into_value());
        }
        if let Some(each) = entry.each {
            put("each", each.place());
            step.each = Some(each_of(each.into_value()));
        }
        put("timeout", entry.timeout.as_ref().and_then(At::place));
        put("retry", entry.retry.as_ref().and_then(At::place));
        put("on_error", entry.on_error.as_ref().and_then(At::place));
        put("ask", entry.ask.as_ref().and_then(At::place));
        if let Some(from) = entry.from {
            self.places.put(Where::Field(at, "from"), from.place());
            for (index, source) in from.into_value().into_iter().enumerate() {
                self.places.put(Where::From(at, index), source.place());
                step.from.push(source.into_value());
            }
        }
        let name = name.value();
        if let Some(timeout) = entry.timeout {
            step.timeout = self.duration(name, "timeout", timeout.value(), timeout.place());
        }
        if let Some(retry) = entry.retry {
            step.retry = self.retry(name, retry.into_value());
        }
        if let Some(on_error) = entry.on_error {
            step.on_error = self.on_error(name, &on_error);
        }
        if let Some(ask) = entry.ask {
            step.ask = self.ask(name, &ask);
        }
        if let Some(dedupe) = entry.dedupe {
            step.dedupe = match &**dedupe.value() {
                "off" => Dedupe::Off,
                "by-content" => Dedupe::ByContent,
                other => {
                    self.bad_value(
                        name,
                        dedupe.place(),
                        format!("`dedupe` is {other:?}; it takes off or by-content"),
                    );
                    Dedupe::Off
                }
            };
        }
        step
    }

    fn retry(&mut self, step: &str, entry: RetryEntry) -> Retry {
        let mut retry = Retry::default();
        if let Some(attempts) = entry.attempts {
            retry.attempts = attempts;
        }
        if let Some(backoff) = entry.backoff {
            retry.backoff = self.duration(step, "backoff", backoff.value(), backoff.place());
        }
        if let Some(most) = entry.max_backoff {
            retry.max_backoff = self.duration(step, "max_backoff", most.value(), most.place());
        }
        retry
    }

    fn on_error(&mut self, step: &str, on_error: &At<TextOr<GotoEntry>>) -> OnError {
        match on_error.value() {
            TextOr::Map(GotoEntry { goto }) => OnError::GoTo(goto.clone()),
            TextOr::Text(text) => match &**text {
                "fail" => OnError::Fail,
                "continue" => OnError::Continue,
                other => {
                    let message = format!(
                        "`on_error` is {other:?}; it takes fail, continue or {{goto: STEP}}"
                    );
                    self.bad_value(step, on_error.place(), message);
                    OnError::Fail
                }
            },
        }
    }

    fn ask(&mut self, step: &str, ask: &At<TextOr<WaitEntry>>) -> Ask {
        match ask.value() {
            TextOr::Map(WaitEntry { wait }) => {
                Ask::Wait(self.duration(step, "wait", wait, ask.place()))
            }
            TextOr::Text(text) => match &**text {
                "pause" => Ask::Pause,
                "fail" => Ask::Fail,
                other => {
                    let message =
                        format!("`ask` is {other:?}; it takes pause, fail or {{wait: 24h}}");
                    self.bad_value(step, ask.place(), message);
                    Ask::Pause
                }
            },
        }
    }

    fn duration(&mut self, step: &str, field: &str, text: &str, place: Option<Place>) -> Duration {
        let parsed = text.parse::<jiff::SignedDuration>().ok();
        parsed
            .and_then(|parsed| Duration::try_from(parsed).ok())
            .unwrap_or_else(|| {
                let message = format!(
                    "`{field}` is {text:?}; it takes a time such as 500ms, 30s, 5m or 1h 30m"
                );
                self.bad_value(step, place, message);
                // Not zero, which would be a finding of its own.
                Duration::from_secs(1)
            })
    }

    fn bad_value(&mut self, step: &str, place: Option<Place>, message: String) {
        self.findings
            .push(Finding::error("bad-value", message).of_step(step).at(place));
    }

    fn outputs(&mut self, outputs: At<Vec<At<String>>>) -> Vec<String> {
        self.places.put(Where::Outputs, outputs.place());
        let outputs = outputs.into_value().into_iter().enumerate();
        outputs
            .map(|(at, output)| {
                self.places.put(Where::Output(at), output.place());
                output.into_value()
            })
            .collect()
    }
}

fn each_of(entry: TextOr<EachEntry>) -> Each {
    match entry {
        TextOr::Text(path) => Each::new(path),
        TextOr::Map(entry) => {
            let number = |given: Option<u32>, or: usize| given.map_or(or, |given| given as usize);
            Each {
                of: entry.of,
                path: entry.path,
                concurrency: number(entry.concurrency, Each::DEFAULT_CONCURRENCY),
                max_items: number(entry.max_items, Each::DEFAULT_MAX_ITEMS),
            }
        }
    }
}
