//! What the agent that is killed and the tests that kill it know of each other.

use serde_json::{Value, json};

/// Where a process kills itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// A task, or a claim of its turn, is stored and nobody knows yet.
    AfterClaim,
    /// Something is about to be stored.
    BeforeCommit,
    /// Something is stored and nobody knows yet.
    AfterCommit,
    /// A receiver has had a notification and that is not stored yet.
    AfterPush,
}

impl Point {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::AfterClaim,
        Self::BeforeCommit,
        Self::AfterCommit,
        Self::AfterPush,
    ];

    /// The name on a command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AfterClaim => "after-claim",
            Self::BeforeCommit => "before-commit",
            Self::AfterCommit => "after-commit",
            Self::AfterPush => "after-push",
        }
    }

    /// The point of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|point| point.as_str() == name)
    }
}

/// The words that the agent says one by one, each with a blank after it.
pub fn words_of(query: &str) -> impl Iterator<Item = String> {
    query.split(' ').map(|word| format!("{word} "))
}

/// All that the agent says.
pub fn text_of(query: &str) -> String {
    words_of(query).collect()
}

/// The data part of the agent's answer.
pub fn answer_of(query: &str, upstream: usize) -> Value {
    json!({"query": query, "upstream": upstream})
}
