use std::time::Duration;

use llamon_core::Limits;

use crate::clock::Clock;

/// How a store keeps its tasks.
///
/// ```no_run
/// # use std::time::Duration;
/// # use llamon_server::backend::sqlite::SqliteStore;
/// let store = SqliteStore::options()
///     .max_finished_tasks(50_000)
///     .keep_finished_for(Duration::from_secs(7 * 24 * 3600))
///     .open("data/tasks.db")?;
/// # Ok::<(), llamon_server::backend::sqlite::OpenError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    pub(super) settings: Settings,
    pub(super) max_pages: Option<u32>,
}

/// What operations look at.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) max_open_tasks: usize,
    pub(super) max_finished_tasks: usize,
    pub(super) keep_finished_for: Option<Duration>,
    pub(super) max_push_configs_per_task: usize,
    pub(super) max_subscribers_per_task: usize,
    pub(super) clock: Clock,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            settings: Settings {
                max_open_tasks: 100_000,
                max_finished_tasks: 50_000,
                keep_finished_for: None,
                max_push_configs_per_task: limits.max_push_configs_per_task,
                max_subscribers_per_task: limits.max_subscribers_per_task,
                clock: Clock::system(),
            },
            max_pages: None,
        }
    }
}

impl SqliteOptions {
    /// Unfinished tasks of all agents together. Default 100,000; a new task over it is refused.
    #[must_use]
    pub fn max_open_tasks(mut self, tasks: usize) -> Self {
        self.settings.max_open_tasks = tasks;
        self
    }

    /// Finished tasks of all agents together. Default 50,000; the oldest go first. As many direct
    /// answers are kept for messages that come again.
    ///
    /// A finished task whose push receivers have not had everything stays a day longer, as long as
    /// there are not twice as many tasks as this.
    #[must_use]
    pub fn max_finished_tasks(mut self, tasks: usize) -> Self {
        self.settings.max_finished_tasks = tasks;
        self
    }

    /// How long a finished task is kept. Default: until there are too many. A task whose push
    /// receivers have not had everything stays a day longer.
    #[must_use]
    pub fn keep_finished_for(mut self, time: Duration) -> Self {
        self.settings.keep_finished_for = Some(time);
        self
    }

    /// Receivers of push notifications of one task. Default as in [`Limits`].
    #[must_use]
    pub fn max_push_configs_per_task(mut self, configs: usize) -> Self {
        self.settings.max_push_configs_per_task = configs;
        self
    }

    /// Streams of this process that follow one task. Default as in [`Limits`].
    #[must_use]
    pub fn max_subscribers_per_task(mut self, subscribers: usize) -> Self {
        self.settings.max_subscribers_per_task = subscribers;
        self
    }

    /// Where the time comes from that `keep_finished_for` is measured with. Nothing else looks at
    /// a clock.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.settings.clock = clock;
        self
    }

    /// Pages of 4 KiB that the file may have. Default: as many as the disk. New work is refused
    /// when they are used up; see [`super::SqliteStore::set_max_pages`].
    #[must_use]
    pub fn max_pages(mut self, pages: u32) -> Self {
        self.max_pages = Some(pages);
        self
    }
}
