//! What happens in a run, as it happens: a tree in a terminal, plain lines elsewhere.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use llamon_agent::core::Payload;
use llamon_agent::flow::run::{Progress, Watch};
use llamon_agent::flow::store::{CallId, StepState};

use crate::out::Out;
use crate::text::{clean_line, count, size};

/// Characters of a status or reason that a line has.
const SHOWN: usize = 100;

/// One line for each thing that happens, on standard error.
pub(super) struct Lines;

impl Watch for Lines {
    fn see(&self, progress: Progress<'_>) {
        if let Some(line) = line(&progress) {
            Out::default().note(&line);
        }
    }
}

fn line(progress: &Progress<'_>) -> Option<String> {
    Some(match progress {
        Progress::StepStarted { step, items: None } => format!("{step}: started"),
        Progress::StepStarted {
            step,
            items: Some(items),
        } => format!(
            "{step}: started, {}",
            count(*items as usize, "item", "items")
        ),
        Progress::StepEnded {
            step,
            state,
            reason,
        } => match reason {
            Some(reason) => format!("{step}: {state}: {}", short(reason)),
            None => format!("{step}: {state}"),
        },
        Progress::Status { call, text } => format!("{call}: {}", short(text)),
        Progress::Retrying { call, reason } => format!("{call}: trying again: {}", short(reason)),
        Progress::Asking { call, question, .. } => {
            let question: Payload = question.to_vec().into();
            format!("{call}: asks: {}", short(&question.text()))
        }
        Progress::Answered { call } => format!("{call}: answered"),
        _ => return None,
    })
}

/// A line for each step that runs, which changes in place; those that have ended stay above it.
pub(super) struct Tree {
    all: MultiProgress,
    steps: Mutex<HashMap<String, ProgressBar>>,
}

impl Tree {
    pub(super) fn new() -> Self {
        Self {
            all: MultiProgress::new(),
            steps: Mutex::default(),
        }
    }

    fn bar(&self, step: &str, items: Option<u32>) -> ProgressBar {
        let bar = match items {
            Some(items) => ProgressBar::new(u64::from(items)),
            None => ProgressBar::new_spinner(),
        };
        let template = if items.is_some() {
            "{spinner} {prefix}  {pos}/{len}  {elapsed}  {msg}"
        } else {
            "{spinner} {prefix}  {elapsed}  {msg}"
        };
        let bar = self.all.add(bar);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(clean_line(step));
        bar.enable_steady_tick(Duration::from_millis(120));
        bar
    }

    fn say(&self, call: &CallId, text: &str) {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = steps.get(&call.step) {
            let text = short(text);
            bar.set_message(match call.item {
                Some(item) => format!("[{item}] {text}"),
                None => text,
            });
        }
    }

    fn end(&self, step: &str, state: StepState, reason: Option<&str>) {
        let bar = {
            let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
            steps.remove(step)
        };
        let bar = bar.unwrap_or_else(|| self.bar(step, None));
        let mark = match state {
            StepState::Completed => "+",
            StepState::Skipped => "-",
            _ => "!",
        };
        if let Ok(style) = ProgressStyle::with_template("{prefix}  {elapsed}  {msg}") {
            bar.set_style(style);
        }
        bar.set_prefix(format!("{mark} {}", clean_line(step)));
        bar.finish_with_message(match reason {
            Some(reason) => format!("{state}: {}", short(reason)),
            None => state.to_string(),
        });
    }
}

impl Watch for Tree {
    fn see(&self, progress: Progress<'_>) {
        match progress {
            Progress::StepStarted { step, items } => {
                let bar = self.bar(step, items);
                let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
                steps.insert(step.to_owned(), bar);
            }
            Progress::StepEnded {
                step,
                state,
                reason,
            } => self.end(step, state, reason),
            Progress::Sending {
                call, parts, bytes, ..
            } => {
                let bytes = size(usize::try_from(bytes).unwrap_or(usize::MAX));
                self.say(call, &format!("sent {parts} parts, {bytes}"));
            }
            Progress::Status { call, text } => self.say(call, text),
            Progress::Retrying { call, reason } => {
                self.say(call, &format!("trying again: {reason}"));
            }
            Progress::Asking { call, question, .. } => {
                let question: Payload = question.to_vec().into();
                self.say(call, &format!("asks: {}", question.text()));
            }
            Progress::CallEnded { call, .. } if call.item.is_some() => {
                let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(bar) = steps.get(&call.step) {
                    bar.inc(1);
                }
            }
            _ => {}
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        for bar in steps.values() {
            bar.abandon();
        }
    }
}

fn short(text: &str) -> String {
    let line = clean_line(text);
    if line.chars().count() <= SHOWN {
        return line;
    }
    let mut short: String = line.chars().take(SHOWN).collect();
    short.push_str("...");
    short
}
