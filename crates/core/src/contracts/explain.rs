use std::fmt;
use std::fmt::Write as _;

use serde::Serialize;

use super::contract::{InputContract, InputKind, OnMissing};
use super::matching::{Match, Reason};
use super::select::on_missing;
use crate::part::Part;
use crate::payload::{Payload, PayloadError};

/// Candidates that an explanation lists of one contract; the rest is counted.
const MAX_CANDIDATES: usize = 50;

/// Required inputs that a message does not have, explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputMiss {
    misses: Vec<ContractMiss>,
}

/// One required input that a message does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContractMiss {
    name: String,
    #[serde(serialize_with = "kind_name")]
    kind: InputKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    problem: String,
    candidates: Vec<Candidate>,
    /// Candidates that are not listed.
    more_candidates: usize,
    #[serde(skip)]
    on_missing: OnMissing,
}

/// A part, and why it is not the input. Never its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// The part's place in the message, from 0.
    pub index: usize,
    /// `text`, `data`, `raw` or `url`.
    pub kind: &'static str,
    /// Bytes of the part's JSON text.
    pub bytes: usize,
    /// The part's media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The first reason that it does not match; nothing where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// JSON Pointer to where the reason is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pointer: String,
    /// JSON Pointers of the places that match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
}

fn kind_name<S: serde::Serializer>(kind: &InputKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}

impl Candidate {
    pub(super) fn new(index: usize, part: &Part, outcome: Result<Vec<Match<'_>>, Reason>) -> Self {
        match outcome {
            Ok(matches) => Self {
                matches: matches
                    .iter()
                    .map(|found| found.pointer(part.content_json()))
                    .collect(),
                ..Self::of_reason(index, part, None)
            },
            Err(reason) => Self::of_reason(index, part, Some(reason)),
        }
    }

    pub(super) fn of_reason(index: usize, part: &Part, reason: Option<Reason>) -> Self {
        let shorten = |text: &str| text.chars().take(100).collect::<String>();
        let (reason, pointer) = match reason {
            Some(reason) => (
                Some(reason.text.chars().take(300).collect()),
                shorten(&reason.pointer),
            ),
            None => (None, String::new()),
        };
        Self {
            index,
            kind: part.kind().field(),
            bytes: part.json().len(),
            media_type: part.media_type().as_deref().map(shorten),
            reason,
            pointer,
            matches: Vec::new(),
        }
    }
}

impl ContractMiss {
    pub(super) fn new(
        contract: &InputContract,
        candidates: Vec<Candidate>,
        ambiguous: Option<usize>,
    ) -> Self {
        let total = candidates.len();
        let problem = match ambiguous {
            Some(count) => format!("{count} matches, exactly one is allowed"),
            None if total == 0 => "nothing was sent that could be it".to_owned(),
            None => "nothing that was sent matches".to_owned(),
        };
        // Parts of the wanted kind say more than those of another.
        let mut listed = candidates;
        let is_kind = |candidate: &Candidate| match contract.kind {
            InputKind::Data => candidate.kind == "data",
            InputKind::Text => candidate.kind == "text",
            InputKind::File => matches!(candidate.kind, "raw" | "url"),
        };
        if listed.len() > MAX_CANDIDATES {
            listed.sort_by_key(|candidate| !is_kind(candidate));
            listed.truncate(MAX_CANDIDATES);
        }
        Self {
            name: contract.name.clone(),
            kind: contract.kind,
            description: contract.description.clone(),
            problem,
            more_candidates: total - listed.len(),
            candidates: listed,
            // An answer only adds parts, so it cannot make one match out of two.
            on_missing: match ambiguous {
                Some(_) => OnMissing::Reject,
                None => contract.on_missing,
            },
        }
    }

    /// The contract's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the input is, for people, if the contract says it.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// What is wrong: that nothing matches, or that too much does.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// The parts, and why none of them is the input.
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    pub(super) fn on_missing(&self) -> OnMissing {
        self.on_missing
    }
}

impl InputMiss {
    pub(super) fn new(misses: Vec<ContractMiss>) -> Self {
        Self { misses }
    }

    /// The inputs that are missing.
    pub fn misses(&self) -> &[ContractMiss] {
        &self.misses
    }

    /// Whether to ask for them: only if each of them may be asked for.
    pub fn on_missing(&self) -> OnMissing {
        on_missing(&self.misses)
    }

    /// What the status message says: a text for people and a data part for programs.
    ///
    /// # Errors
    /// Never in practice: the explanation is JSON.
    pub fn payload(&self) -> Result<Payload, PayloadError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Explanation<'a> {
            missing_inputs: &'a [ContractMiss],
        }
        Payload::new()
            .with_text(self.to_string())
            .with_data(&Explanation {
                missing_inputs: &self.misses,
            })
    }
}

impl fmt::Display for InputMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, miss) in self.misses.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            miss.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for ContractMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        write!(f, "the {} input {name:?} is missing", self.kind.as_str())?;
        if let Some(description) = &self.description {
            write!(f, " ({description})")?;
        }
        write!(f, ": {}", self.problem)?;
        for candidate in self.candidates.iter().take(5) {
            let mut place = format!("\n  part {} ({}", candidate.index, candidate.kind);
            if let Some(media_type) = &candidate.media_type {
                // Writing to a String cannot fail.
                let _ = write!(place, ", {media_type}");
            }
            let reason = candidate.reason.as_deref().unwrap_or("matches");
            write!(f, "{place}, {} bytes): {reason}", candidate.bytes)?;
            if !candidate.pointer.is_empty() {
                write!(f, " at {}", candidate.pointer)?;
            }
        }
        let more = self.more_candidates + self.candidates.len().saturating_sub(5);
        if more > 0 {
            write!(f, "\n  and {more} more")?;
        }
        Ok(())
    }
}

impl std::error::Error for InputMiss {}
