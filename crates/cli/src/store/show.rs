use std::fmt::Write as _;

use llamon_agent::server::backend::sqlite::{Collected, Stats};
use serde_json::{Map, Value, json};

use crate::text::size;

pub(super) fn stats_text(stats: &Stats) -> String {
    let bytes = |bytes: u64| size(usize::try_from(bytes).unwrap_or(usize::MAX));
    let mut text = String::new();
    let lines = [
        (
            "file",
            format!(
                "{} ({} of it free)",
                bytes(stats.file_bytes),
                bytes(stats.free_bytes)
            ),
        ),
        ("write-ahead log", bytes(stats.wal_bytes)),
        ("open tasks", stats.open_tasks.to_string()),
        ("finished tasks", stats.finished_tasks.to_string()),
        ("direct answers", stats.direct_answers.to_string()),
        (
            "turns",
            format!("{} running or waiting to run", stats.turns),
        ),
        (
            "push",
            format!("{} receivers have not had everything", stats.push_due),
        ),
        (
            "shared parts",
            format!(
                "{} ({})",
                stats.shared_parts,
                bytes(stats.shared_part_bytes)
            ),
        ),
        ("logs", bytes(stats.log_bytes)),
        ("workers", format!("{} alive", stats.workers)),
    ];
    for (name, value) in lines {
        let _ = writeln!(text, "{name:<16} {value}");
    }
    for agent in &stats.agents {
        let states: Vec<String> = agent
            .states
            .iter()
            .map(|(state, count)| format!("{count} {state}"))
            .collect();
        let _ = writeln!(text, "agent {}: {}", agent.name, states.join(", "));
    }
    text
}

pub(super) fn stats_json(stats: &Stats) -> String {
    let agents = stats.agents.iter().map(|agent| {
        let states = agent
            .states
            .iter()
            .map(|(state, count)| (state.as_str().to_owned(), json!(count)));
        (agent.name.clone(), Value::Object(states.collect()))
    });
    let agents: Map<String, Value> = agents.collect();
    json!({
        "fileBytes": stats.file_bytes,
        "freeBytes": stats.free_bytes,
        "walBytes": stats.wal_bytes,
        "openTasks": stats.open_tasks,
        "finishedTasks": stats.finished_tasks,
        "directAnswers": stats.direct_answers,
        "turns": stats.turns,
        "pushDue": stats.push_due,
        "sharedParts": stats.shared_parts,
        "sharedPartBytes": stats.shared_part_bytes,
        "logBytes": stats.log_bytes,
        "workers": stats.workers,
        "agents": agents,
    })
    .to_string()
}

pub(super) fn collected(collected: &Collected) -> String {
    let bytes = usize::try_from(collected.bytes).unwrap_or(usize::MAX);
    format!(
        "removed {} finished tasks and {} parts; the file is {} smaller",
        collected.tasks,
        collected.parts,
        size(bytes)
    )
}
