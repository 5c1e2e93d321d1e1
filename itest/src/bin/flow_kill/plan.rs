//! The plan that is run: 30 steps in five blocks, each of which has a diamond and a fan-out.

use std::fmt::Write as _;

use crate::agents::ITEMS;

/// Of each block, the blocks before it whose ends it receives. The second and the third run at the
/// same time, as the fourth and the fifth do.
const BLOCKS: [&[usize]; 5] = [&[], &[0], &[0], &[1, 2], &[2]];

/// The plan's text, whose steps call these agents in turn.
pub(crate) fn yaml(agents: &[&str]) -> String {
    let mut text = String::from("name: kills\nsteps:\n");
    let mut count = 0;
    let mut step = |name: String, from: &[String], more: &str| {
        let agent = agents
            .get(count % agents.len())
            .copied()
            .unwrap_or_default();
        count += 1;
        let from = from.join(", ");
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {name}: {{agent: '{agent}', from: [{from}], \
             retry: {{attempts: 50, backoff: 20ms, max_backoff: 200ms}}{more}}}"
        );
        name
    };
    let mut ends: Vec<String> = Vec::new();
    for (block, before) in BLOCKS.iter().enumerate() {
        let before: Vec<String> = before
            .iter()
            .filter_map(|at| ends.get(*at).cloned())
            .collect();
        let from = if before.is_empty() {
            vec!["input".to_owned()]
        } else {
            before
        };
        let head = step(format!("head{block}"), &from, "");
        let one = std::slice::from_ref(&head);
        let many = ", each: {path: '$.list[*]', concurrency: 4}, text: '{{item}}'";
        let sides = [
            step(format!("left{block}"), one, ""),
            step(format!("right{block}"), one, ""),
            step(format!("each{block}"), one, many),
        ];
        let join = step(format!("join{block}"), &sides, "");
        let text = format!(", text: 'after {{{{join{block}.text}}}}'");
        ends.push(step(format!("end{block}"), &[join, head], &text));
    }
    let _ = writeln!(text, "outputs: [end3, end4]");
    text
}

/// The contextIds of all calls of a run.
pub(crate) fn contexts(run: &str) -> Vec<String> {
    let mut contexts = Vec::new();
    for block in 0..BLOCKS.len() {
        for name in ["head", "left", "right", "join", "end"] {
            contexts.push(format!("{run}/{name}{block}"));
        }
        contexts.extend((0..ITEMS).map(|item| format!("{run}/each{block}/{item}")));
    }
    contexts
}
