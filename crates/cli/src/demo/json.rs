use llamon_agent::core::Payload;
use llamon_agent::core::json::{push_number, push_string};

use super::chain::{Hop, Run, Team};
use super::input::Input;
use super::measure::{Amount, List};
use crate::document::push_payload;

/// The whole demo as one JSON document, without a line end. Data and file parts are copied as
/// they are. `agents` is there only where they stay up.
pub(super) fn document(input: &Input, runs: &[Run], teams: &[Team]) -> String {
    let mut json = String::from("{\"input\":{\"name\":");
    push_string(&mut json, &input.shown);
    json.push_str(",\"bytes\":");
    push_number(&mut json, input.bytes.len() as u64);
    json.push_str("},\"runs\":[");
    push_each(&mut json, runs, push_run);
    json.push(']');
    if !teams.is_empty() {
        json.push_str(",\"agents\":[");
        let agents: Vec<_> = teams
            .iter()
            .flat_map(|team| team.members.iter().map(|member| (team.policy, member)))
            .collect();
        push_each(&mut json, &agents, |json, (policy, member)| {
            json.push_str("{\"policy\":");
            push_string(json, policy.as_str());
            json.push_str(",\"agent\":");
            push_string(json, member.name);
            json.push_str(",\"url\":");
            push_string(json, &member.url);
            json.push('}');
        });
        json.push(']');
    }
    json.push('}');
    json
}

fn push_run(json: &mut String, run: &Run) {
    json.push_str("{\"policy\":");
    push_string(json, run.policy.as_str());
    json.push_str(",\"hops\":[");
    push_each(json, &run.hops, push_hop);
    json.push_str("],\"report\":");
    push_string(json, &run.report());
    json.push('}');
}

fn push_hop(json: &mut String, hop: &Hop) {
    json.push_str("{\"agent\":");
    push_string(json, hop.agent);
    let steps = [
        ("arrived", &hop.arrived),
        ("produced", &hop.produced),
        ("answer", &hop.answer),
    ];
    for (name, payload) in steps {
        json.push_str(",\"");
        json.push_str(name);
        json.push_str("\":{");
        push_payload(json, payload);
        push_sizes(json, payload);
        json.push('}');
    }
    json.push('}');
}

/// Appends `,"parts":{...},"bytes":{...}` by list.
fn push_sizes(json: &mut String, payload: &Payload) {
    let amounts = List::ALL.map(|list| (list, list.amount(payload)));
    let measures: [(&str, Measure); 2] = [
        ("parts", |amount| amount.parts),
        ("bytes", |amount| amount.bytes),
    ];
    for (name, measure) in measures {
        json.push_str(",\"");
        json.push_str(name);
        json.push_str("\":{");
        push_each(json, &amounts, |json, (list, amount)| {
            push_string(json, list.name());
            json.push(':');
            push_number(json, measure(amount) as u64);
        });
        json.push('}');
    }
}

type Measure = fn(&Amount) -> usize;

fn push_each<T>(json: &mut String, items: &[T], mut push: impl FnMut(&mut String, &T)) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        push(json, item);
    }
}
