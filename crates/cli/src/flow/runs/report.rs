//! Runs for people.

use std::path::Path;

use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};
use llamon_agent::flow::store::{CallState, RunSummary, StoredCall, StoredRun};

use super::command;
use crate::text::{clean_line, shell_word, size};

pub(super) fn list(runs: &[RunSummary]) -> String {
    if runs.is_empty() {
        return "no runs".to_owned();
    }
    let mut table = table(&["run", "plan", "state", "began", "questions"]);
    for run in runs {
        table.add_row([
            clean_line(&run.id),
            clean_line(&run.name),
            run.state.to_string(),
            run.created.to_string(),
            if run.questions == 0 {
                String::new()
            } else {
                run.questions.to_string()
            },
        ]);
    }
    table.to_string()
}

/// A step's calls, added up.
#[derive(Default)]
struct Hop {
    calls: usize,
    completed: usize,
    received: u64,
    sent: u64,
    sent_bytes: u64,
    duplicates: u64,
    duplicate_bytes: u64,
    produced: usize,
    produced_bytes: usize,
    repeated: u32,
    milliseconds: i64,
    began: Option<i64>,
    changed: i64,
}

impl Hop {
    fn add(&mut self, call: &StoredCall) {
        self.calls += 1;
        self.completed += usize::from(call.state == CallState::Completed);
        self.received += call.traffic.received;
        self.sent += call.traffic.sent;
        self.sent_bytes += call.traffic.sent_bytes;
        self.duplicates += call.traffic.duplicates;
        self.duplicate_bytes += call.traffic.duplicate_bytes;
        self.produced += call.parts.len();
        self.produced_bytes += call
            .parts
            .iter()
            .map(|part| part.json().len())
            .sum::<usize>();
        self.repeated += call.possibly_repeated;
        let began = call.began.as_millisecond();
        self.began = Some(self.began.map_or(began, |first| first.min(began)));
        self.changed = self.changed.max(call.changed.as_millisecond());
        self.milliseconds = self.changed - self.began.unwrap_or(self.changed);
    }
}

pub(super) fn run(run: &StoredRun, store: &Path) -> String {
    let summary = &run.summary;
    let mut text = format!(
        "run {} of {}: {}\n",
        clean_line(&summary.id),
        clean_line(&summary.name),
        summary.state
    );
    if let Some(reason) = &summary.reason {
        text.push_str(&format!("{}\n", clean_line(reason)));
    }
    let mut table = table(&[
        "step", "state", "received", "sent", "produced", "repeated", "time",
    ]);
    let mut repeated = 0;
    for step in &run.steps {
        let mut hop = Hop::default();
        let calls = run.calls.iter().filter(|call| call.id.step == step.step);
        calls.for_each(|call| hop.add(call));
        repeated += hop.repeated;
        let state = match step.items {
            Some(items) => format!("{} {}/{items}", step.state, hop.completed),
            None => step.state.to_string(),
        };
        table.add_row([
            clean_line(&step.step),
            state,
            parts(hop.received, None),
            parts(hop.sent, Some(hop.sent_bytes)),
            parts(hop.produced as u64, Some(hop.produced_bytes as u64)),
            if hop.duplicates == 0 {
                String::new()
            } else {
                parts(hop.duplicates, Some(hop.duplicate_bytes))
            },
            format!(
                "{}.{:03} s",
                hop.milliseconds / 1000,
                hop.milliseconds % 1000
            ),
        ]);
    }
    text.push_str(&table.to_string());
    for call in run.calls.iter().filter(|call| call.question.is_some()) {
        let step = shell_word(&call.id.to_string());
        let answer = command("answer", &summary.id, store);
        text.push_str(&format!(
            "\n{} asks; answer with: {answer} {step} \"...\"",
            call.id
        ));
    }
    if repeated > 0 {
        text.push_str(&format!(
            "\n{repeated} messages may have been sent twice: their agents do not list tasks, and a process died while it sent them"
        ));
    }
    text
}

fn parts(number: u64, bytes: Option<u64>) -> String {
    match bytes {
        Some(bytes) => format!(
            "{number} ({})",
            size(usize::try_from(bytes).unwrap_or(usize::MAX))
        ),
        None => number.to_string(),
    }
}

fn table(header: &[&str]) -> Table {
    let rule = LineStyle::none().fill('-').junction('-');
    let mut table = Table::new();
    table
        .set_content_arrangement(ContentArrangement::Disabled)
        .load_style(TableStyle::new().header_separator(rule))
        .set_header(header.to_vec());
    table
}
