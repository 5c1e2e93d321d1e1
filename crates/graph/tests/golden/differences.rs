//! Where we differ from LangGraph on purpose. The last column of the table in `itest/graph/README.md` says why.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::trace::{Call, Scenario};

pub(crate) struct Difference {
    pub(crate) scenario: &'static str,
    /// Makes of what LangGraph shows what we show.
    expect: fn(&mut Scenario),
}

pub(crate) const DIFFERENCES: &[Difference] = &[
    differs("compile_unreachable", |scenario| {
        scenario.compile_error = Some(json!({}))
    }),
    differs("dead_end", |scenario| {
        scenario.compile_error = Some(json!({}))
    }),
    differs("conditional_unknown", |scenario| {
        scenario.calls[0].fails_after_the_input("route")
    }),
    differs("conditional_unmapped", |scenario| {
        scenario.calls[0].fails_after_the_input("route")
    }),
    differs("goto_unknown", |scenario| {
        scenario.calls[0].fails_after_the_input("route")
    }),
    differs("unknown_key_only", |scenario| {
        scenario.calls[0].fails_after_the_input("node")
    }),
    differs("unknown_key", |scenario| {
        scenario.calls[0].fails_after_the_input("node");
        scenario.calls[0].show("started", json!([[1, "wrong"]]));
    }),
    differs("unknown_input", |scenario| {
        scenario.calls[0].is_refused("type")
    }),
    differs("empty_input", |scenario| {
        scenario.calls[0].show("values", json!({"log": []}))
    }),
    differs("loop_at_limit", |scenario| {
        let call = &mut scenario.calls[0];
        call.show("error", Value::Null);
        call.show("values", json!({"log": [0, 1, 2, 3], "n": 4}));
        call.show("interrupts", json!([]));
    }),
    differs("interrupt_null_answer", |scenario| {
        // The first of the two answers is one here, and nothing is left to answer for the second.
        for part in ["error", "started", "events", "values", "interrupts"] {
            let later = scenario.calls[2].part(part);
            scenario.calls[1].show(part, later);
        }
        scenario.calls[2].is_refused("call");
    }),
    differs("interrupt_parallel_last_by_value", |scenario| {
        scenario.calls[1].show("started", json!([[1, "alpha"]]));
    }),
    differs("interrupt_parallel_one_by_one", |scenario| {
        scenario.calls[1].show("started", json!([[1, "zeta"]]));
    }),
    differs("interrupt_by_sends_one_answered", |scenario| {
        scenario.calls[1].show("started", json!([[2, "work"]]));
    }),
    differs("subgraph_two_questions", |scenario| {
        scenario.calls[2].show("started", json!([[1, "zeta"]]));
    }),
    differs("interrupt_unknown_id", |scenario| {
        scenario.calls[1].is_refused("call")
    }),
    differs("interrupt_with_update", |scenario| {
        scenario.calls.truncate(1)
    }),
    differs("interrupt_without_saver", |scenario| {
        let events = scenario.calls[0].events_without_questions();
        scenario.calls[0].fails("node", events);
    }),
    differs("node_fails_with_saver", |scenario| {
        scenario.calls[3].shows_no_old_failure()
    }),
    differs("sibling_kept", |scenario| {
        scenario.calls[3].shows_no_old_failure()
    }),
    differs("stop_without_saver", |scenario| {
        let events = scenario.calls[0].events_without_questions();
        scenario.calls[0].fails("call", events);
    }),
    differs("join_over_turns", |scenario| {
        let call = &mut scenario.calls[1];
        call.show("started", json!([[5, "decide"], [6, "right"]]));
        call.show(
            "events",
            call.part("events").as_array().expect("events")[..5].into(),
        );
        call.show(
            "values",
            json!({"log": ["decide", "left", "decide", "right"], "route": "right"}),
        );
    }),
    differs("continue_while_open", |scenario| {
        scenario.calls[1].is_refused("call")
    }),
    differs("new_input_while_open", |scenario| {
        scenario.calls[1].is_refused("call");
        scenario.calls[2].show("snapshot", as_it_asked());
    }),
    differs("resume_finished", |scenario| {
        scenario.calls[2].is_refused("call");
        scenario.calls[3].is_refused("call");
    }),
    differs("resume_fresh", |scenario| {
        scenario.calls[0].is_refused("call");
        scenario.calls[1].show("snapshot", never_ran());
    }),
    differs("stop_resumed_with_value", |scenario| {
        scenario.calls[1].is_refused("call")
    }),
];

const fn differs(scenario: &'static str, expect: fn(&mut Scenario)) -> Difference {
    Difference { scenario, expect }
}

pub(crate) fn is_listed(name: &str) -> bool {
    DIFFERENCES
        .iter()
        .any(|difference| difference.scenario == name)
}

/// Changes what is expected of a scenario, if it is in the list.
pub(crate) fn expect(scenario: &mut Scenario) {
    let Some(difference) = DIFFERENCES
        .iter()
        .find(|difference| difference.scenario == scenario.name)
    else {
        return;
    };
    (difference.expect)(scenario);
    let mut runs = BTreeMap::new();
    for call in &scenario.calls {
        for entry in call.part("started").as_array().into_iter().flatten() {
            let node = entry[1].as_str().expect("a node").to_owned();
            *runs.entry(node).or_default() += 1;
        }
    }
    scenario.runs = runs;
}

/// What a call is expected to show instead.
impl Call {
    fn show(&mut self, part: &str, value: Value) {
        self.shown.insert(part.to_owned(), value);
    }

    /// Nothing happens but an error of this kind.
    fn is_refused(&mut self, kind: &str) {
        self.show("started", json!([]));
        self.fails(kind, Vec::new());
    }

    /// The first step fails.
    fn fails_after_the_input(&mut self, kind: &str) {
        let first = self.part("events")[0].clone();
        self.fails(kind, vec![first]);
    }

    /// Of a history: what failed and then finished has finished.
    fn shows_no_old_failure(&mut self) {
        let mut snapshots = self.part("snapshots");
        for snapshot in snapshots.as_array_mut().into_iter().flatten() {
            for task in snapshot["tasks"].as_array_mut().into_iter().flatten() {
                task["failed"] = (task["failed"] == true && task["result"].is_null()).into();
            }
        }
        self.show("snapshots", snapshots);
    }

    fn events_without_questions(&self) -> Vec<Value> {
        let events = self.part("events");
        let events = events.as_array().into_iter().flatten();
        events
            .filter(|event| event.get("interrupts").is_none())
            .cloned()
            .collect()
    }

    fn fails(&mut self, kind: &str, events: Vec<Value>) {
        self.show("error", json!({"class": kind}));
        self.show("events", events.into());
        self.show("values", Value::Null);
        self.show("interrupts", Value::Null);
    }
}

/// The snapshot of a thread that never ran.
pub(crate) fn never_ran() -> Value {
    json!({
        "checkpoint": null, "parent": null, "step": null, "source": null,
        "next": [], "values": {}, "interrupts": [], "tasks": [],
    })
}

/// What the thread of `new_input_while_open` has after its first call.
fn as_it_asked() -> Value {
    let question = json!({"id": "interrupt-1", "value": "name?"});
    json!({
        "checkpoint": "checkpoint-1", "parent": "checkpoint-2", "step": 1, "source": "loop",
        "next": ["asks"], "values": {"log": ["start", "before"]}, "interrupts": [question],
        "tasks": [{"node": "asks", "failed": false, "result": null, "interrupts": [question]}],
    })
}
