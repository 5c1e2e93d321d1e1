use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use futures_util::StreamExt as _;
use llamon_client::Client;
use llamon_core::a2a::AgentCard;

use super::published::Published;
use crate::finding::Finding;
use crate::plan::{Agent, At, Plan, PlannedStep};

/// Cards that are fetched at the same time.
const AT_ONCE: usize = 16;
/// Bytes that a saved card may have.
const MAX_CARD_BYTES: u64 = 4 << 20;

/// What is known of a plan's agents, by their URLs.
#[derive(Debug, Default)]
pub struct Cards {
    known: HashMap<String, Known>,
}

#[derive(Debug)]
enum Known {
    Card(Box<Read>),
    Wrong(&'static str, String),
    NotSaved,
}

#[derive(Debug)]
struct Read {
    card: AgentCard,
    published: Result<Published, String>,
}

impl Cards {
    /// Nothing is known of any agent, and nothing is said about that.
    pub fn unknown() -> Self {
        Self::default()
    }

    /// The card of the agent at `url`.
    pub fn insert(&mut self, url: impl Into<String>, card: AgentCard) {
        let published = Published::of(&card);
        self.known
            .insert(url.into(), Known::Card(Box::new(Read { card, published })));
    }

    /// The agent at `url` does not answer, for this reason.
    pub fn insert_failure(&mut self, url: impl Into<String>, reason: impl Into<String>) {
        self.known
            .insert(url.into(), Known::Wrong("no-answer", reason.into()));
    }

    /// Fetches the cards of all agents, each within `timeout`. An agent that does not answer is a
    /// finding of the check. Cancel-safe.
    pub async fn fetch(plan: &Plan, timeout: Duration) -> Self {
        let fetched = futures_util::stream::iter(agents(plan).into_iter().cloned())
            .map(|agent: Agent| async move {
                let card = fetch(&agent, timeout).await;
                (agent.url, card)
            })
            .buffer_unordered(AT_ONCE)
            .collect::<Vec<_>>()
            .await;
        let mut cards = Self::default();
        for (url, card) in fetched {
            match card {
                Ok(card) => cards.insert(url, card),
                Err(reason) => cards.insert_failure(url, reason),
            }
        }
        cards
    }

    /// Reads the cards that the plan's agents have saved (`card: FILE`), relative to `folder`. A
    /// file that cannot be read is a finding, and so is an agent without one.
    pub fn saved(plan: &Plan, folder: &Path) -> Self {
        let mut cards = Self::default();
        for agent in agents(plan) {
            let Some(file) = agent.card_file() else {
                cards
                    .known
                    .entry(agent.url.clone())
                    .or_insert(Known::NotSaved);
                continue;
            };
            match read(&folder.join(file)) {
                Ok(card) => cards.insert(&*agent.url, card),
                Err(reason) => {
                    let reason = format!("its saved card {} {reason}", file.display());
                    cards
                        .known
                        .insert(agent.url.clone(), Known::Wrong("bad-card", reason));
                }
            }
        }
        cards
    }

    pub(super) fn card(&self, step: &PlannedStep) -> Option<&AgentCard> {
        match self.known.get(&step.agent.url)? {
            Known::Card(read) => Some(&read.card),
            Known::Wrong(..) | Known::NotSaved => None,
        }
    }

    pub(super) fn published(&self, step: &PlannedStep) -> Option<&Published> {
        match self.known.get(&step.agent.url)? {
            Known::Card(read) => read.published.as_ref().ok(),
            Known::Wrong(..) | Known::NotSaved => None,
        }
    }

    /// What is wrong with the agents themselves: once each, at the first step that calls it.
    pub(super) fn findings(&self, plan: &Plan) -> Vec<Finding> {
        let mut first: HashMap<&str, (usize, usize)> = HashMap::new();
        for (at, step) in plan.steps.iter().enumerate() {
            let entry = first.entry(&step.agent.url).or_insert((at, 0));
            entry.1 += 1;
        }
        let mut findings = Vec::new();
        for (url, (at, steps)) in first {
            let (Some(step), Some(known)) = (plan.steps.get(at), self.known.get(url)) else {
                continue;
            };
            let others = match steps - 1 {
                0 => String::new(),
                1 => " (1 more step calls it)".to_owned(),
                more => format!(" ({more} more steps call it)"),
            };
            let called = match &step.agent_name {
                Some(name) => format!("{name} at {url}"),
                None => url.to_owned(),
            };
            let place = plan.places.get(At::Field(at, "agent"));
            let finding = match known {
                Known::Card(read) => match &read.published {
                    Ok(_) => continue,
                    Err(reason) => Finding::warning(
                        "bad-published-contracts",
                        format!(
                            "the agent {called} publishes contracts that cannot be read: {reason}{others}"
                        ),
                    ),
                },
                Known::Wrong(kind, reason) if *kind == "no-answer" => Finding::error(
                    kind,
                    format!("the agent {called} does not answer: {reason}{others}"),
                ),
                Known::Wrong(kind, reason) => {
                    Finding::error(kind, format!("the agent {called}: {reason}{others}"))
                }
                Known::NotSaved => Finding::warning(
                    "no-saved-card",
                    format!(
                        "the agent {called} has no saved card, so nothing of it is checked{others}; add `card: FILE`"
                    ),
                ),
            };
            findings.push(finding.of_step(step.name()).at(place));
        }
        findings
    }
}

/// The agents that steps call, each URL once.
fn agents(plan: &Plan) -> Vec<&Agent> {
    let mut seen = std::collections::HashSet::new();
    let agents = plan.steps.iter().map(|step| &step.agent);
    agents
        .filter(|agent| seen.insert(agent.url.as_str()))
        .collect()
}

async fn fetch(agent: &Agent, timeout: Duration) -> Result<AgentCard, String> {
    let client = Client::builder().timeout(timeout).connect_timeout(timeout);
    let client = agent.configure(client.max_attempts(1))?;
    let client = client.discover(&agent.url).await;
    client
        .map(|client| client.card().clone())
        .map_err(|error| error.to_string())
}

fn read(file: &Path) -> Result<AgentCard, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let size = std::fs::metadata(file).map_err(unreadable)?.len();
    if size > MAX_CARD_BYTES {
        return Err(format!("has {size} bytes, {MAX_CARD_BYTES} are allowed"));
    }
    let text = std::fs::read_to_string(file).map_err(unreadable)?;
    serde_json::from_str(&text).map_err(|error| format!("is no agent card: {error}"))
}
