use std::path::Path;

use llamon_agent::contracts::{Candidate, InputKind, OnMissing, SelectedItem};
use llamon_agent::core::{Part, PartKind, UpstreamPartsPolicy};

use super::ExplainArgs;
use super::flow::{Flow, Found, Input, Kept};
use super::lines::Lines;
use crate::text::{clean_line, count, size};

/// Parts that a list has.
const MAX_PARTS: usize = 50;
/// Lines that one input has.
const MAX_LINES: usize = 20;
/// Characters of a content; the width of the terminal cuts more.
const CONTENT: usize = 200;
/// Characters of a name, a media type or a place.
const NAME: usize = 32;

const PARTS: &[&str] = &["PART", "FROM", "KIND", "SIZE", "TYPE", "NAME", "CONTENT"];
const INPUTS: &[&str] = &["INPUT", "KIND", "FOUND", "VALUE OR REASON"];

/// The four steps, one below the other, in `width` columns.
pub(super) fn text(args: &ExplainArgs, flow: &Flow, width: usize) -> String {
    [
        arrived(&args.message, flow, width),
        read(&args.contracts, flow, width),
        produced(args.current.as_deref(), flow, width),
        answered(flow, width),
    ]
    .join("\n")
}

fn arrived(path: &Path, flow: &Flow, width: usize) -> String {
    let parts = flow.parts.iter().map(|part| (part, String::new()));
    let head = format!("1. arrived: {}, {}", shown(path), count_parts(&flow.parts));
    with_parts(&head, parts, width)
}

fn read(path: &Path, flow: &Flow, width: usize) -> String {
    let number = count(flow.inputs.len(), "input", "inputs");
    let head = format!("2. read: {}, {number}", shown(path));
    if flow.inputs.is_empty() {
        return format!("{head}: the agent reads all that arrived, raw\n");
    }
    let mut lines = Lines::new(INPUTS);
    for input in &flow.inputs {
        push_input(&mut lines, input, &flow.parts);
    }
    let outcome = match flow.missing {
        None => "the agent runs",
        Some(OnMissing::Reject) => "REJECTED: the task ends and the agent does not run",
        Some(OnMissing::Ask) => {
            "INPUT_REQUIRED: the task waits for what is missing and the agent does not run"
        }
    };
    format!("{head}\n\n{}\n  => {outcome}\n", lines.layout(width))
}

fn produced(path: Option<&Path>, flow: &Flow, width: usize) -> String {
    let Some(path) = path else {
        return "3. produced: nothing, --current FILE says what\n".to_owned();
    };
    let parts = flow.current.parts();
    let head = format!("3. produced: {}, {}", shown(path), count_parts(parts));
    with_parts(&head, parts.iter().map(|part| (part, String::new())), width)
}

fn answered(flow: &Flow, width: usize) -> String {
    let head = format!("4. answered under {}", flow.policy);
    let parts = match &flow.answer {
        None => return format!("{head}: nothing, the agent does not run\n"),
        Some(parts) if parts.is_empty() => return format!("{head}: nothing\n"),
        Some(parts) => parts,
    };
    let what = match flow.policy {
        UpstreamPartsPolicy::Replace => "what was produced",
        UpstreamPartsPolicy::Append => "what was produced, then all data and files that arrived",
    };
    let number = count(parts.len(), "part", "parts");
    let parts = parts.iter().map(|Kept { part, arrived }| {
        let from = match arrived {
            None => "own".to_owned(),
            Some(index) => format!("upstream {index}"),
        };
        (part, from)
    });
    with_parts(&format!("{head}: {number}, {what}"), parts, width)
}

// === lists of parts ===

fn with_parts<'a>(
    head: &str,
    parts: impl ExactSizeIterator<Item = (&'a Part, String)>,
    width: usize,
) -> String {
    if parts.len() == 0 {
        return format!("{head}\n");
    }
    let more = parts.len().saturating_sub(MAX_PARTS);
    let mut lines = Lines::new(PARTS);
    for (index, (part, from)) in parts.take(MAX_PARTS).enumerate() {
        lines.one([
            index.to_string(),
            from,
            part.kind().field().to_owned(),
            size(part.json().len()),
            cut(part.media_type().as_deref().unwrap_or_default(), NAME),
            cut(part.filename().as_deref().unwrap_or_default(), NAME),
            content(part),
        ]);
    }
    let mut text = format!("{head}\n\n{}", lines.layout(width));
    if more > 0 {
        text.push_str(&format!("  and {more} more, --json has them\n"));
    }
    text
}

fn content(part: &Part) -> String {
    match part.kind() {
        PartKind::Text => cut(&part.as_text().unwrap_or_default(), CONTENT),
        PartKind::Data => cut(part.content_json(), CONTENT),
        PartKind::Url => cut(&part.url().unwrap_or_default(), CONTENT),
        PartKind::Raw => match part.file_content() {
            Ok(bytes) => format!("{} of bytes", size(bytes.len())),
            Err(error) => cut(&error.to_string(), CONTENT),
        },
    }
}

fn count_parts(parts: &[Part]) -> String {
    count(parts.len(), "part", "parts")
}

// === inputs ===

fn push_input(lines: &mut Lines, input: &Input, parts: &[Part]) {
    let name = cut(&input.name, NAME);
    let kind = input.kind.as_str().to_owned();
    match &input.found {
        Found::Selected(items) => {
            let mut head = [name, kind];
            for item in items.iter().take(MAX_LINES) {
                // Name and kind stand in the first line only.
                let [name, kind] = std::mem::take(&mut head);
                let place = place(item.index(), &item.pointer());
                lines.one([name, kind, place, value(item)]);
            }
            push_more(lines, items.len());
        }
        Found::Default(json) => {
            lines.one([name, kind, "default".to_owned(), cut(json, CONTENT)]);
            push_reasons(lines, input, parts, Told::OfItsKind);
        }
        Found::Absent => {
            lines.one([name, kind, "absent".to_owned(), "is optional".to_owned()]);
            push_reasons(lines, input, parts, Told::OfItsKind);
        }
        Found::Missing {
            problem,
            description,
            on_missing,
        } => {
            let mut reason = cut(problem, CONTENT);
            if let Some(description) = description {
                reason = format!("{reason} ({})", cut(description, CONTENT));
            }
            let found = format!("MISSING, {}", on_missing.as_str());
            lines.any([name, kind, found, reason]);
            push_reasons(lines, input, parts, Told::OfAll);
        }
    }
}

/// What the contract makes of each part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// Of those that are of its kind: where the input may be absent, nobody misses the others.
    OfItsKind,
    OfAll,
}

fn push_reasons(lines: &mut Lines, input: &Input, parts: &[Part], told: Told) {
    let is_of_its_kind = |candidate: &Candidate| {
        let part = parts.get(candidate.index);
        part.is_some_and(|part| is_of(input.kind, part.kind()))
    };
    let mut candidates: Vec<&Candidate> = input.candidates.iter().collect();
    if told == Told::OfItsKind {
        candidates.retain(|candidate| is_of_its_kind(candidate));
    } else if candidates.len() > MAX_LINES {
        // They say more than the others.
        candidates.sort_by_key(|candidate| !is_of_its_kind(candidate));
    }
    for candidate in candidates.iter().take(MAX_LINES) {
        let nothing = String::new();
        let place = place(candidate.index, "");
        lines.any([nothing.clone(), nothing, place, reason(candidate)]);
    }
    push_more(lines, candidates.len());
}

fn reason(candidate: &Candidate) -> String {
    let at = |pointer: &str| match pointer {
        "" => String::new(),
        pointer => format!(" at {pointer}"),
    };
    match &candidate.reason {
        Some(reason) => clean_line(&format!("{reason}{}", at(&candidate.pointer))),
        None => {
            let places = candidate.matches.iter().take(5);
            let mut places = places.map(|place| cut(place, NAME));
            let first = places.next().unwrap_or_default();
            let others: String = places.map(|place| format!(", {place}")).collect();
            let more = candidate.matches.len().saturating_sub(5);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            format!("matches{}{others}{more}", at(&first))
        }
    }
}

fn push_more(lines: &mut Lines, total: usize) {
    let more = total.saturating_sub(MAX_LINES);
    if more > 0 {
        let nothing = String::new();
        let more = format!("and {more} more, --json has them");
        lines.one([nothing.clone(), nothing.clone(), nothing, more]);
    }
}

fn is_of(wanted: InputKind, kind: PartKind) -> bool {
    match wanted {
        InputKind::Data => kind == PartKind::Data,
        InputKind::File => kind.is_file(),
        InputKind::Text => kind == PartKind::Text,
    }
}

fn place(index: usize, pointer: &str) -> String {
    if pointer.is_empty() {
        return format!("part {index}");
    }
    format!("part {index} at {}", cut(pointer, NAME))
}

fn value(item: &SelectedItem) -> String {
    let part = item.part();
    match part.kind() {
        // Of data it is a place in the part, of the others the whole part.
        PartKind::Data => cut(item.json(), CONTENT),
        PartKind::Text | PartKind::Raw | PartKind::Url => content(part),
    }
}

// === text ===

/// The text on one line and cleaned, with at most `max` characters.
fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => clean_line(text),
        Some(_) => {
            let kept: String = text.chars().take(max.saturating_sub(3)).collect();
            clean_line(&kept) + "..."
        }
    }
}

fn shown(path: &Path) -> String {
    clean_line(&path.to_string_lossy())
}
