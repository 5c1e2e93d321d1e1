//! Compares what a call showed with what LangGraph showed. Both are JSON of the same form.
//!
//! Rules that hold for every scenario, because the two libraries tell the same thing in another form:
//! * What nodes of one step show at the same time has no order: between two states it is compared as a set.
//! * LangGraph shows each open question on its own, in two modes and once more for each inner graph; we show all of them
//!   at the end of the run. Compared: the questions.
//! * LangGraph makes a checkpoint before it takes an input (its next node is the start) and one after it, as if the start
//!   were a step; we make the second one only, and its source is the input.
//! * The ids of pieces of a message are left out: we have none.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

/// Which of our ids stand for `interrupt-1`, `checkpoint-1`, ...
#[derive(Default)]
pub(crate) struct Names {
    ids: HashMap<String, String>,
}

impl Names {
    /// Takes the name of the golden file for one of our ids, unless one of the two is known already.
    pub(crate) fn learn(&mut self, name: &Value, id: &Value) {
        if let (Value::String(name), Value::String(id)) = (name, id)
            && !self.ids.values().any(|known| known == id)
        {
            self.ids.entry(name.clone()).or_insert_with(|| id.clone());
        }
    }

    /// Our id behind a name; a name that nobody gave stands for itself.
    pub(crate) fn id_of<'a>(&'a self, name: &'a str) -> &'a str {
        self.ids.get(name).map_or(name, String::as_str)
    }

    /// The name of one of our ids.
    pub(crate) fn name_of(&self, id: &Value) -> Value {
        let Value::String(id) = id else {
            return Value::Null;
        };
        let name = self
            .ids
            .iter()
            .find(|(_, known)| *known == id)
            .map(|(name, _)| name.as_str());
        json!(name.unwrap_or("one that LangGraph does not show"))
    }
}

/// What differs in one part of a call, in words; nothing if it is equal. `in_order`: no two nodes of the graph ran at the
/// same time.
pub(crate) fn part(name: &str, theirs: &Value, ours: &Value, in_order: bool) -> Option<String> {
    if theirs.is_null() && ours.is_null() {
        return None;
    }
    let (mut theirs, mut ours) = match name {
        "started" if !in_order => (sorted(theirs), sorted(ours)),
        "events" => (events(theirs), events(ours)),
        "interrupts" => (sorted(theirs), sorted(ours)),
        "snapshot" => (snapshot(&after_start(theirs)), snapshot(ours)),
        "snapshots" => (
            each(&without_starts(theirs), snapshot),
            each(ours, snapshot),
        ),
        "error" => (error(theirs), ours.clone()),
        _ => (theirs.clone(), ours.clone()),
    };
    if name == "events" && !in_order {
        (theirs, ours) = (sorted_between(&theirs), sorted_between(&ours));
    }
    (theirs != ours).then(|| format!("{name}:\n{}", side_by_side(&theirs, &ours)))
}

/// The kind of ours that stands for an error of LangGraph.
fn error(theirs: &Value) -> Value {
    let fact = |name: &str| theirs.get(name).and_then(Value::as_str);
    let kind = match (fact("class"), fact("field"), fact("code")) {
        (None, ..) => return Value::Null,
        (Some("GraphRecursionError"), ..) => format!("limit {}", fact("limit").unwrap_or_default()),
        (Some("InvalidUpdateError"), Some(field), _) => format!("conflict in {field}"),
        (Some("InvalidUpdateError"), None, Some(_)) => "overwrites".to_owned(),
        (Some("InvalidUpdateError" | "RuntimeError" | "EmptyInputError"), None, None) => {
            "call".to_owned()
        }
        (Some("ValueError" | "ConnectionError"), ..) => "node".to_owned(),
        (Some(ours), ..) => ours.to_owned(),
    };
    kind.into()
}

/// The events without what only one side shows, sets where there is no order, and the questions at the end.
fn events(list: &Value) -> Value {
    let list = without_starts(list);
    let mut shown = Vec::new();
    let mut questions = Vec::new();
    let mut stops = false;
    for event in list.as_array().into_iter().flatten() {
        let Some(asked) = event
            .get("interrupts")
            .filter(|_| event["mode"] == "updates" || event["mode"] == "values")
        else {
            shown.push(without(event, &["id", "whole", "type"]));
            continue;
        };
        if event["ns"] == json!([]) {
            stops = true;
            questions.extend(asked.as_array().into_iter().flatten().cloned());
        }
    }
    questions.sort_by_key(ToString::to_string);
    questions.dedup();
    if stops {
        shown.push(json!({"questions": questions}));
    }
    shown.into()
}

/// Between two events of the whole state there is no order.
fn sorted_between(events: &Value) -> Value {
    let mut all: Vec<Value> = Vec::new();
    let mut between: Vec<Value> = Vec::new();
    for event in events.as_array().into_iter().flatten() {
        let is_whole = event["mode"] == "values" || event["event"] == "checkpoint";
        if is_whole && event["ns"] == json!([]) {
            between.sort_by_key(ToString::to_string);
            all.append(&mut between);
            all.push(event.clone());
        } else {
            between.push(event.clone());
        }
    }
    between.sort_by_key(ToString::to_string);
    all.append(&mut between);
    all.into()
}

/// Without the checkpoints before an input; those after it take their place.
pub(crate) fn without_starts(list: &Value) -> Value {
    let mut kept: Vec<Value> = Vec::new();
    let mut starts: Vec<Value> = Vec::new();
    for item in list.as_array().into_iter().flatten() {
        let mut item = item.clone();
        if item["next"] == json!(["START"]) {
            starts.push(item);
            continue;
        }
        // In a stream of events, the one after it is its child; in a history the parent says so.
        let of_start = |start: &Value| {
            start.get("checkpoint").is_none() || start["checkpoint"] == item["parent"]
        };
        if item.get("next").is_some()
            && let Some(index) = starts.iter().position(of_start)
        {
            let start = starts.remove(index);
            item["source"] = start["source"].clone();
            if let Some(parent) = start.get("parent") {
                item["parent"] = parent.clone();
            }
        }
        kept.push(item);
    }
    kept.into()
}

/// The same for a single one.
fn after_start(shown: &Value) -> Value {
    let mut shown = shown.clone();
    if let Some(start) = shown.get("after_start").cloned() {
        shown["parent"] = start["parent"].clone();
        shown["source"] = start["source"].clone();
    }
    without(&shown, &["after_start"])
}

fn snapshot(shown: &Value) -> Value {
    let mut shown = shown.clone();
    for task in shown["tasks"].as_array_mut().into_iter().flatten() {
        task["interrupts"] = sorted(&task["interrupts"]);
    }
    for list in ["next", "interrupts", "tasks"] {
        if let Some(list) = shown.get_mut(list) {
            *list = sorted(list);
        }
    }
    shown
}

fn each(list: &Value, one: fn(&Value) -> Value) -> Value {
    list.as_array().into_iter().flatten().map(one).collect()
}

fn sorted(list: &Value) -> Value {
    let mut items = list.as_array().cloned().unwrap_or_default();
    items.sort_by_key(ToString::to_string);
    items.into()
}

fn without(object: &Value, names: &[&str]) -> Value {
    let parts = object.as_object().into_iter().flatten();
    let kept = parts.filter(|(name, _)| !names.contains(&name.as_str()));
    kept.map(|(name, part)| (name.clone(), part.clone()))
        .collect::<Map<_, _>>()
        .into()
}

/// One line per item of a list; what only one side has is marked.
fn side_by_side(theirs: &Value, ours: &Value) -> String {
    let lines = |value: &Value| match value {
        Value::Array(items) => items.iter().map(ToString::to_string).collect(),
        other => vec![other.to_string()],
    };
    let (theirs, ours): (Vec<String>, Vec<String>) = (lines(theirs), lines(ours));
    let same = theirs
        .iter()
        .zip(&ours)
        .take_while(|(theirs, ours)| theirs == ours)
        .count();
    let mut out = format!("    {same} equal lines, then\n");
    for line in &theirs[same..] {
        out.push_str(&format!("    LangGraph  {line}\n"));
    }
    for line in &ours[same..] {
        out.push_str(&format!("    ours       {line}\n"));
    }
    out
}
