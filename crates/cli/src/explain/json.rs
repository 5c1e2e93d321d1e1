use llamon_agent::contracts::{Candidate, InputKind, OnMissing};
use llamon_agent::core::Part;
use serde::Serialize;
use serde_json::value::RawValue;

use super::flow::{Flow, Found, Input};
use crate::error::CliError;
use crate::exit::Exit;

#[derive(Serialize)]
struct Document<'a> {
    arrived: Vec<Arrived<'a>>,
    inputs: Vec<Declared<'a>>,
    /// `run`, `reject` or `ask`.
    outcome: &'static str,
    current: Vec<&'a RawValue>,
    policy: &'static str,
    answer: Option<Vec<Answered<'a>>>,
}

#[derive(Serialize)]
struct Arrived<'a> {
    index: usize,
    kind: &'static str,
    bytes: usize,
    part: &'a RawValue,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declared<'a> {
    name: &'a str,
    kind: &'static str,
    required: bool,
    #[serde(flatten)]
    outcome: Outcome<'a>,
    candidates: &'a [Candidate],
}

#[derive(Serialize)]
#[serde(
    tag = "found",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum Outcome<'a> {
    Selected {
        items: Vec<Item<'a>>,
    },
    Default {
        json: &'a RawValue,
    },
    Absent,
    Missing {
        problem: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        on_missing: &'static str,
    },
}

#[derive(Serialize)]
struct Item<'a> {
    part: usize,
    pointer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    json: Option<&'a RawValue>,
}

#[derive(Serialize)]
#[serde(tag = "from", rename_all = "lowercase")]
enum Answered<'a> {
    Own { part: &'a RawValue },
    Upstream { index: usize, part: &'a RawValue },
}

/// The flow as one JSON document, without a line end. What is JSON already is copied.
pub(super) fn document(flow: &Flow) -> Result<String, CliError> {
    let broken = |error: serde_json::Error| {
        CliError::new(
            Exit::Protocol,
            format!("cannot write the document: {error}"),
        )
    };
    let document = Document::of(flow).map_err(broken)?;
    serde_json::to_string(&document).map_err(broken)
}

impl<'a> Document<'a> {
    fn of(flow: &'a Flow) -> serde_json::Result<Self> {
        let arrived = flow.parts.iter().enumerate().map(|(index, part)| {
            Ok(Arrived {
                index,
                kind: part.kind().field(),
                bytes: part.json().len(),
                part: raw(part)?,
            })
        });
        let answer = flow.answer.as_ref().map(|parts| {
            let answered = parts.iter().map(|kept| {
                let part = raw(&kept.part)?;
                Ok(match kept.arrived {
                    None => Answered::Own { part },
                    Some(index) => Answered::Upstream { index, part },
                })
            });
            answered.collect()
        });
        Ok(Self {
            arrived: arrived.collect::<serde_json::Result<_>>()?,
            inputs: flow
                .inputs
                .iter()
                .map(Declared::of)
                .collect::<Result<_, _>>()?,
            outcome: flow.missing.map_or("run", OnMissing::as_str),
            current: flow
                .current
                .parts()
                .iter()
                .map(raw)
                .collect::<Result<_, _>>()?,
            policy: flow.policy.as_str(),
            answer: answer.transpose()?,
        })
    }
}

impl<'a> Declared<'a> {
    fn of(input: &'a Input) -> serde_json::Result<Self> {
        Ok(Self {
            name: &input.name,
            kind: input.kind.as_str(),
            required: input.is_required,
            outcome: Outcome::of(input)?,
            candidates: &input.candidates,
        })
    }
}

impl<'a> Outcome<'a> {
    fn of(input: &'a Input) -> serde_json::Result<Self> {
        Ok(match &input.found {
            Found::Selected(items) => {
                let items = items.iter().map(|item| {
                    // A file is the whole part, which is in `arrived`.
                    let is_file = input.kind == InputKind::File;
                    let json = (!is_file).then(|| serde_json::from_str(item.json()));
                    Ok(Item {
                        part: item.index(),
                        pointer: item.pointer(),
                        json: json.transpose()?,
                    })
                });
                Self::Selected {
                    items: items.collect::<serde_json::Result<_>>()?,
                }
            }
            Found::Default(json) => Self::Default {
                json: serde_json::from_str(json)?,
            },
            Found::Absent => Self::Absent,
            Found::Missing {
                problem,
                description,
                on_missing,
            } => Self::Missing {
                problem,
                description: description.as_deref(),
                on_missing: on_missing.as_str(),
            },
        })
    }
}

fn raw(part: &Part) -> serde_json::Result<&RawValue> {
    serde_json::from_str(part.json())
}
