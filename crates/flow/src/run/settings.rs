use std::time::Duration;

use llamon_client::{Client, ClientBuilder};

/// Settings of a [`Runner`](super::Runner).
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use = "settings do nothing until a runner has them"]
pub struct RunnerSettings {
    pub(super) client: ClientBuilder,
    pub(super) max_calls: usize,
    pub(super) open: Open,
    pub(super) poll: Duration,
}

/// What a run does while only people can help it on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Open {
    /// It returns, and costs nothing until it is driven again.
    #[default]
    Return,
    /// It waits for answers, without a connection. Its lock is an open file meanwhile: where very
    /// many runs wait, [`Open::Return`] and a new [`Runner::drive`](super::Runner::drive) after each
    /// answer is what stays within the system's limit of open files.
    Wait,
}

impl RunnerSettings {
    /// What clients of agents are made of: limits, trusted origins, credentials. Their timeout is
    /// the step's.
    pub fn client(mut self, client: ClientBuilder) -> Self {
        self.client = client;
        self
    }

    /// How many calls all runs of the runner make at once. Default 256.
    pub fn max_calls(mut self, calls: usize) -> Self {
        self.max_calls = calls.max(1);
        self
    }

    /// What a run does while only people can help it on. Default: it returns.
    pub fn open_questions(mut self, open: Open) -> Self {
        self.open = open;
        self
    }

    /// How often the file is looked at for what other processes want: a cancel, an answer.
    /// Default 500 ms. What this process wants is noticed at once.
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll = interval.max(Duration::from_millis(10));
        self
    }
}

impl Default for RunnerSettings {
    fn default() -> Self {
        Self {
            client: Client::builder(),
            max_calls: 256,
            open: Open::default(),
            poll: Duration::from_millis(500),
        }
    }
}
