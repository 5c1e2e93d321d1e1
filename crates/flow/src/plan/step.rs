//! A step as its author declares it.

use std::time::Duration;

/// A step of a plan: which agent is called, and with what. See the guide for what each setting
/// means exactly.
///
/// ```
/// use std::time::Duration;
/// use llamon_flow::{Each, Step};
///
/// let step = Step::new("convert", "converter")
///     .from(["orders"])
///     .each(Each::new("$.orders[*]").concurrency(16))
///     .text("convert order {{item.id}} to EUR")
///     .timeout(Duration::from_secs(30));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a step does nothing until it is in a plan"]
pub struct Step {
    pub(crate) name: String,
    pub(crate) agent: String,
    pub(crate) from: Vec<String>,
    pub(crate) text: Option<String>,
    pub(crate) when: Option<String>,
    pub(crate) each: Option<Each>,
    pub(crate) timeout: Duration,
    pub(crate) retry: Retry,
    pub(crate) on_error: OnError,
    pub(crate) ask: Ask,
    pub(crate) dedupe: Dedupe,
}

impl Step {
    /// A step that calls `agent`, a URL or the name of one of the plan's agents.
    pub fn new(name: impl Into<String>, agent: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            agent: agent.into(),
            from: Vec::new(),
            text: None,
            when: None,
            each: None,
            timeout: DEFAULT_TIMEOUT,
            retry: Retry::default(),
            on_error: OnError::default(),
            ask: Ask::default(),
            dedupe: Dedupe::default(),
        }
    }

    /// What the step receives, in this order: names of steps, or `input`.
    pub fn from(mut self, sources: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.from = sources.into_iter().map(Into::into).collect();
        self
    }

    /// The text that the agent is sent, with `{{step.text}}` for what steps answered.
    pub fn text(mut self, template: impl Into<String>) -> Self {
        self.text = Some(template.into());
        self
    }

    /// The condition under which the step runs, such as `@.audit.data[0].total > 100`.
    pub fn when(mut self, condition: impl Into<String>) -> Self {
        self.when = Some(condition.into());
        self
    }

    /// Calls the agent once for each item.
    pub fn each(mut self, each: Each) -> Self {
        self.each = Some(each);
        self
    }

    /// How long one attempt may take. Default 5 minutes.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How often a call that did not come to rest is attempted.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// What happens when the step fails.
    pub fn on_error(mut self, on_error: OnError) -> Self {
        self.on_error = on_error;
        self
    }

    /// What happens when the agent asks.
    pub fn ask(mut self, ask: Ask) -> Self {
        self.ask = ask;
        self
    }

    /// Whether repeated parts are sent.
    pub fn dedupe(mut self, dedupe: Dedupe) -> Self {
        self.dedupe = dedupe;
        self
    }
}

/// How long one attempt of a step may take, unless it says otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);

/// A call for each item that a JSONPath finds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it does nothing until a step has it"]
pub struct Each {
    pub(crate) of: Option<String>,
    pub(crate) path: String,
    pub(crate) concurrency: usize,
    pub(crate) max_items: usize,
}

impl Each {
    /// Items that a step may have, unless it says otherwise.
    pub const DEFAULT_MAX_ITEMS: usize = 10_000;
    /// Calls at once, unless the step says otherwise.
    pub const DEFAULT_CONCURRENCY: usize = 8;
    /// The most calls at once that a step can ask for.
    pub const MAX_CONCURRENCY: usize = 1_000;
    /// The most items that a step can ask for.
    pub const MAX_ITEMS: usize = 1_000_000;

    /// An item for each place that the JSONPath `path` finds in the data parts of the source.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            of: None,
            path: path.into(),
            concurrency: Self::DEFAULT_CONCURRENCY,
            max_items: Self::DEFAULT_MAX_ITEMS,
        }
    }

    /// The source whose data has the items, if the step has several.
    pub fn of(mut self, source: impl Into<String>) -> Self {
        self.of = Some(source.into());
        self
    }

    /// How many calls run at once.
    pub fn concurrency(mut self, calls: usize) -> Self {
        self.concurrency = calls;
        self
    }

    /// How many items there may be; more fail the step.
    pub fn max_items(mut self, items: usize) -> Self {
        self.max_items = items;
        self
    }
}

/// How often a call that did not come to rest is attempted, and after which pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    pub(crate) attempts: u32,
    pub(crate) backoff: Duration,
    pub(crate) max_backoff: Duration,
}

impl Retry {
    /// The most attempts that a step can ask for.
    pub const MAX_ATTEMPTS: u32 = 100;

    /// This many attempts, the first one included.
    #[must_use]
    pub fn attempts(attempts: u32) -> Self {
        Self {
            attempts,
            ..Self::default()
        }
    }

    /// The pause before the second attempt; it doubles with each further one.
    #[must_use]
    pub fn backoff(mut self, pause: Duration) -> Self {
        self.backoff = pause;
        self
    }

    /// The longest pause.
    #[must_use]
    pub fn max_backoff(mut self, pause: Duration) -> Self {
        self.max_backoff = pause;
        self
    }

    /// How many attempts there are at most, the first one included.
    pub fn max_attempts(&self) -> u32 {
        self.attempts
    }

    /// The longest pause after attempt number `attempt`, from 1; a runner takes half of it by
    /// chance.
    pub fn pause_after(&self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(1).min(31);
        self.backoff
            .saturating_mul(1 << doublings)
            .min(self.max_backoff)
    }
}

/// 3 attempts, with 1 s and then 2 s between them; 60 s at most.
impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 3,
            backoff: Duration::from_secs(1),
            max_backoff: Duration::from_secs(60),
        }
    }
}

/// What happens when a step fails.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The run ends FAILED, after every step that does not need this one has ended.
    #[default]
    Fail,
    /// The step counts as ended, with what its finished items gave.
    Continue,
    /// This step runs, and stands in for the one that failed.
    GoTo(String),
}

/// What happens when the agent asks (INPUT_REQUIRED, AUTH_REQUIRED).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ask {
    /// The branch waits until somebody answers.
    #[default]
    Pause,
    /// The branch waits this long, then the step fails.
    Wait(Duration),
    /// The step fails.
    Fail,
}

/// Whether repeated parts are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dedupe {
    /// Everything is sent as often as it arrived.
    #[default]
    Off,
    /// Of data and file parts with equal token text of the whole part, only the first is sent.
    ByContent,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Retry;

    #[test]
    fn pauses_double_up_to_the_longest_and_never_overflow() {
        let retry = Retry::default();
        let pauses: Vec<u64> = [1, 2, 3, 7, 100, u32::MAX]
            .map(|attempt| retry.pause_after(attempt).as_secs())
            .into();
        assert_eq!(pauses, [1, 2, 4, 60, 60, 60]);
        let long = retry.backoff(Duration::MAX).max_backoff(Duration::MAX);
        assert_eq!(long.pause_after(9), Duration::MAX);
    }
}
