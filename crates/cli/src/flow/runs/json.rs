//! Runs for programs. Data parts are written as they are, token for token.

use std::fmt::Write as _;

use llamon_agent::core::json::string_token;
use llamon_agent::core::{Part, Payload};
use llamon_agent::flow::run::{Progress, Watch};
use llamon_agent::flow::store::{RunState, RunSummary, StoredCall, StoredRun, StoredStep};

use crate::out::Out;

/// One JSON object a line for each thing that happens, on standard output.
pub(super) struct Events;

impl Watch for Events {
    fn see(&self, progress: Progress<'_>) {
        if let Some(line) = event(&progress) {
            // Nobody is left to hear of a failure here; the run itself must go on.
            let _ = Out::default().raw(&(line + "\n"));
        }
    }
}

/// An object that is being written.
struct Object(String);

impl Object {
    fn new() -> Self {
        Self("{".to_owned())
    }

    fn raw(mut self, name: &str, json: &str) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        // Writing to a string cannot fail.
        let _ = write!(self.0, "\"{name}\":{json}");
        self
    }

    fn text(self, name: &str, text: &str) -> Self {
        self.raw(name, &string_token(text))
    }

    fn optional(self, name: &str, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(name, text),
            None => self,
        }
    }

    fn number(self, name: &str, number: impl ToString) -> Self {
        self.raw(name, &number.to_string())
    }

    fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

fn event(progress: &Progress<'_>) -> Option<String> {
    let of = |name: &str| Object::new().text("event", name);
    Some(match progress {
        Progress::StepStarted { step, items } => {
            let object = of("step-started").text("step", step);
            match items {
                Some(items) => object.number("items", items),
                None => object,
            }
            .end()
        }
        Progress::StepEnded {
            step,
            state,
            reason,
        } => of("step-ended")
            .text("step", step)
            .text("state", state.as_str())
            .optional("reason", *reason)
            .end(),
        Progress::Sending {
            call,
            attempt,
            parts,
            bytes,
        } => of("sending")
            .text("call", &call.to_string())
            .number("attempt", attempt)
            .number("parts", parts)
            .number("bytes", bytes)
            .end(),
        Progress::Status { call, text } => of("status")
            .text("call", &call.to_string())
            .text("text", text)
            .end(),
        Progress::Retrying { call, reason } => of("retrying")
            .text("call", &call.to_string())
            .text("reason", reason)
            .end(),
        Progress::Asking {
            call,
            question,
            is_auth,
        } => of("asking")
            .text("call", &call.to_string())
            .raw("question", &list(question, Part::json))
            .number("auth", is_auth)
            .end(),
        Progress::Answered { call } => of("answered").text("call", &call.to_string()).end(),
        Progress::CallEnded {
            call,
            state,
            parts,
            bytes,
            reason,
        } => of("call-ended")
            .text("call", &call.to_string())
            .text("state", state.as_str())
            .number("parts", parts)
            .number("bytes", bytes)
            .optional("reason", *reason)
            .end(),
        Progress::RunEnded { .. } => return None,
        _ => return None,
    })
}

/// The last line of a run that is driven.
pub(super) fn answer(state: RunState, reason: Option<&str>, answer: &Payload) -> String {
    let data: Vec<&str> = answer.data().collect();
    let files: Vec<Part> = answer.files().cloned().collect();
    Object::new()
        .text("event", "run-ended")
        .text("state", state.as_str())
        .optional("reason", reason)
        .text("text", &answer.text())
        .raw("data", &format!("[{}]", data.join(",")))
        .raw("files", &list(&files, Part::json))
        .end()
        + "\n"
}

pub(super) fn list_of_runs(runs: &[RunSummary]) -> String {
    let runs: Vec<String> = runs.iter().map(|run| summary(run).end()).collect();
    format!("[{}]\n", runs.join(","))
}

pub(super) fn run(run: &StoredRun) -> String {
    let steps: Vec<String> = run.steps.iter().map(step).collect();
    let calls: Vec<String> = run.calls.iter().map(call).collect();
    summary(&run.summary)
        .raw("input", &list(&run.input, Part::json))
        .raw("steps", &format!("[{}]", steps.join(",")))
        .raw("calls", &format!("[{}]", calls.join(",")))
        .end()
        + "\n"
}

fn summary(run: &RunSummary) -> Object {
    let object = Object::new()
        .text("run", &run.id)
        .text("plan", &run.name)
        .text("state", run.state.as_str())
        .optional("reason", run.reason.as_deref())
        .number("cancelRequested", run.cancel_requested)
        .number("questions", run.questions)
        .text("created", &run.created.to_string());
    match run.ended {
        Some(ended) => object.text("ended", &ended.to_string()),
        None => object,
    }
}

fn step(step: &StoredStep) -> String {
    let object = Object::new()
        .text("step", &step.step)
        .text("state", step.state.as_str())
        .optional("reason", step.reason.as_deref());
    match step.items {
        Some(items) => object.number("items", items),
        None => object,
    }
    .end()
}

fn call(call: &StoredCall) -> String {
    let traffic = &call.traffic;
    let object = Object::new()
        .text("call", &call.id.to_string())
        .text("state", call.state.as_str())
        .number("attempts", call.attempt)
        .number("possiblyRepeated", call.possibly_repeated)
        .optional("task", call.task_id.as_deref())
        .optional("context", call.context_id.as_deref())
        .optional("reason", call.reason.as_deref())
        .number("received", traffic.received)
        .number("sent", traffic.sent)
        .number("sentBytes", traffic.sent_bytes)
        .number("duplicates", traffic.duplicates)
        .number("duplicateBytes", traffic.duplicate_bytes)
        .raw("parts", &list(&call.parts, Part::json))
        .text("began", &call.began.to_string())
        .text("changed", &call.changed.to_string());
    match &call.question {
        Some(question) => object.raw("question", &list(&question.parts, Part::json)),
        None => object,
    }
    .end()
}

fn list<T>(items: &[T], json: impl Fn(&T) -> &str) -> String {
    let items: Vec<&str> = items.iter().map(json).collect();
    format!("[{}]", items.join(","))
}
