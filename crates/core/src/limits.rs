use std::fmt;

/// The sizes and counts that a server accepts. Each limit has a name, a default and an error
/// that states both the value and the limit.
///
/// ```
/// use llamon_core::Limits;
/// let limits = Limits::default().with_max_message_parts(50);
/// assert_eq!(limits.max_body_bytes, 16 * 1024 * 1024);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a request's body. Default 16 MiB.
    pub max_body_bytes: usize,
    /// Parts of one message. Default 10,000.
    pub max_message_parts: usize,
    /// Bytes of one part's JSON text, in a message or an answer. Default 16 MiB.
    pub max_part_bytes: usize,
    /// Nested containers, counted over a whole body, data included. Default 100; at most 120, so
    /// that what is accepted can be parsed by everybody else's reader, also one level deeper.
    pub max_json_depth: u32,
    /// Bytes of all parts of one artifact, upstream parts included. Default 32 MiB.
    pub max_artifact_bytes: usize,
    /// Artifacts of one task. Default 1,000.
    pub max_artifacts: usize,
    /// Messages in one task's history. Default 1,000.
    pub max_history_messages: usize,
    /// Turns that run at the same time in one server. Default 1,000.
    pub max_concurrent_turns: usize,
    /// Streams that follow one task at the same time. Default 100.
    pub max_subscribers_per_task: usize,
    /// Tasks that are not finished, running or waiting for an answer, in one memory backend.
    /// Default 10,000; a new task over it is refused.
    pub max_open_tasks: usize,
    /// Finished tasks that one memory backend keeps. Default 10,000; the oldest go first.
    pub max_finished_tasks: usize,
    /// Bytes of parts in the finished tasks that one memory backend keeps. Default 256 MiB; the
    /// oldest go first, the newest always stays.
    pub max_finished_bytes: usize,
    /// Receivers of push notifications of one task. Default 10.
    pub max_push_configs_per_task: usize,
    /// Agents that may have handed a message on, one after the other, before it comes here or goes
    /// on from here; see [`crate::delegation`]. Default 8; 0 is none.
    pub max_delegation_depth: u32,
    /// Calls of other agents that one turn may make. Default 100; 0 is none.
    pub max_calls_per_turn: u32,
}

/// The deepest nesting that can be configured; see [`Limits::max_json_depth`].
pub const MAX_JSON_DEPTH_CEILING: u32 = 120;
/// The shallowest nesting that can be configured: a message with one empty part needs it.
pub const MIN_JSON_DEPTH: u32 = 8;

impl Default for Limits {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Self {
            max_body_bytes: 16 * MIB,
            max_message_parts: 10_000,
            max_part_bytes: 16 * MIB,
            max_json_depth: 100,
            max_artifact_bytes: 32 * MIB,
            max_artifacts: 1_000,
            max_history_messages: 1_000,
            max_concurrent_turns: 1_000,
            max_subscribers_per_task: 100,
            max_open_tasks: 10_000,
            max_finished_tasks: 10_000,
            max_finished_bytes: 256 * MIB,
            max_push_configs_per_task: 10,
            max_delegation_depth: 8,
            max_calls_per_turn: 100,
        }
    }
}

macro_rules! setters {
    ($($setter:ident $field:ident: $type:ty),* $(,)?) => {
        impl Limits {
            $(
                #[doc = concat!("Sets [`Limits::", stringify!($field), "`].")]
                #[must_use]
                pub fn $setter(mut self, value: $type) -> Self {
                    self.$field = value;
                    self
                }
            )*
        }
    };
}

setters! {
    with_max_body_bytes max_body_bytes: usize,
    with_max_message_parts max_message_parts: usize,
    with_max_part_bytes max_part_bytes: usize,
    with_max_json_depth max_json_depth: u32,
    with_max_artifact_bytes max_artifact_bytes: usize,
    with_max_artifacts max_artifacts: usize,
    with_max_history_messages max_history_messages: usize,
    with_max_concurrent_turns max_concurrent_turns: usize,
    with_max_subscribers_per_task max_subscribers_per_task: usize,
    with_max_open_tasks max_open_tasks: usize,
    with_max_finished_tasks max_finished_tasks: usize,
    with_max_finished_bytes max_finished_bytes: usize,
    with_max_push_configs_per_task max_push_configs_per_task: usize,
    with_max_delegation_depth max_delegation_depth: u32,
    with_max_calls_per_turn max_calls_per_turn: u32,
}

impl Limits {
    /// Checks that every limit can be kept.
    ///
    /// # Errors
    /// With the limit's name, its value and the allowed values.
    pub fn check(&self) -> Result<(), InvalidLimit> {
        const GIB: usize = 1024 * 1024 * 1024;
        let sizes = [
            ("max_body_bytes", self.max_body_bytes),
            ("max_message_parts", self.max_message_parts),
            ("max_part_bytes", self.max_part_bytes),
            ("max_artifact_bytes", self.max_artifact_bytes),
            ("max_artifacts", self.max_artifacts),
            ("max_history_messages", self.max_history_messages),
            ("max_concurrent_turns", self.max_concurrent_turns),
            ("max_subscribers_per_task", self.max_subscribers_per_task),
            ("max_open_tasks", self.max_open_tasks),
            ("max_finished_tasks", self.max_finished_tasks),
            ("max_finished_bytes", self.max_finished_bytes),
            ("max_push_configs_per_task", self.max_push_configs_per_task),
        ];
        let depth = self.max_json_depth as usize;
        let allowed = MIN_JSON_DEPTH as usize..=MAX_JSON_DEPTH_CEILING as usize;
        if !allowed.contains(&depth) {
            return Err(InvalidLimit::new("max_json_depth", depth, allowed));
        }
        // Positions inside a part are 32 bits wide.
        for (name, value) in sizes {
            let allowed = 1..=GIB;
            if !allowed.contains(&value) {
                return Err(InvalidLimit::new(name, value, allowed));
            }
        }
        Ok(())
    }
}

/// A limit that was configured with a value it cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidLimit {
    name: &'static str,
    value: usize,
    allowed: std::ops::RangeInclusive<usize>,
}

impl InvalidLimit {
    fn new(name: &'static str, value: usize, allowed: std::ops::RangeInclusive<usize>) -> Self {
        Self {
            name,
            value,
            allowed,
        }
    }
}

impl fmt::Display for InvalidLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the limit {} is {}; it takes {} to {}",
            self.name,
            self.value,
            self.allowed.start(),
            self.allowed.end()
        )
    }
}

impl std::error::Error for InvalidLimit {}

/// Something that exceeds a limit: what, the limit's name, its value, and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitExceeded {
    /// What exceeds it (`the message`, `the artifact response`).
    pub what: String,
    /// The limit's name, a field of [`Limits`].
    pub limit: &'static str,
    /// The limit's value.
    pub allowed: usize,
    /// What was found.
    pub found: usize,
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = if self.limit.ends_with("_bytes") {
            " bytes"
        } else {
            ""
        };
        write!(
            f,
            "{} exceeds the limit {}: {}{unit} where {} are allowed",
            self.what, self.limit, self.found, self.allowed
        )
    }
}

impl std::error::Error for LimitExceeded {}
