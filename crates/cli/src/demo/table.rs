use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};
use llamon_agent::core::Payload;

use super::chain::{Hop, Run};
use super::measure::{Amount, List};
use crate::text::size;

/// What each hop received, produced and sent: the runs side by side where they fit into `width`
/// columns, and one under the other where they do not. Plain ASCII unless `pretty`.
pub(super) fn of_runs(runs: &[Run], width: usize, pretty: bool) -> String {
    let look = if pretty { Look::LINES } else { Look::ASCII };
    let together = render(runs, look);
    let widest = together.lines().map(|line| line.chars().count()).max();
    if widest.is_none_or(|widest| widest <= width) {
        return together;
    }
    let apart: Vec<String> = runs
        .iter()
        .map(|run| render(std::slice::from_ref(run), look))
        .collect();
    apart.join("\n\n")
}

#[derive(Clone, Copy)]
struct Look {
    rule: char,
    between: &'static str,
}

impl Look {
    const ASCII: Self = Self {
        rule: '-',
        between: "|",
    };
    const LINES: Self = Self {
        rule: '─',
        between: "│",
    };
}

fn render(runs: &[Run], look: Look) -> String {
    let rule = LineStyle::none().fill(look.rule).junction(look.rule);
    let mut table = Table::new();
    table
        .set_content_arrangement(ContentArrangement::Disabled)
        .load_style(TableStyle::new().header_separator(rule))
        .set_header(header(runs, look));
    // All runs go through the same agents.
    let agents = runs.first().map_or(&[][..], |run| run.hops.as_slice());
    for (index, agent) in agents.iter().enumerate() {
        let hops: Vec<&Hop> = runs.iter().filter_map(|run| run.hops.get(index)).collect();
        table.add_row(row(agent.agent, &hops, look, |_, _| String::new()));
        let steps: [(&str, Step); 3] = [
            ("  arrived", |hop| &hop.arrived),
            ("  produced", |hop| &hop.produced),
            ("  went out", |hop| &hop.answer),
        ];
        for (label, step) in steps {
            let amount = |hop: &Hop, list: List| shown(list.amount(step(hop)));
            table.add_row(row(label, &hops, look, amount));
        }
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 0));
    }
    table.trim_fmt()
}

type Step = fn(&Hop) -> &Payload;

fn header(runs: &[Run], look: Look) -> Vec<String> {
    let mut header = vec![String::new()];
    for run in runs {
        header.push(format!("{0}\n{0}", look.between));
        for list in List::ALL {
            let policy = match list {
                List::Text => run.policy.as_str(),
                List::Data | List::Files => "",
            };
            header.push(format!("{policy}\n{}", list.name()));
        }
    }
    header
}

fn row(label: &str, hops: &[&Hop], look: Look, cell: impl Fn(&Hop, List) -> String) -> Vec<String> {
    let mut row = vec![label.to_owned()];
    for hop in hops {
        row.push(look.between.to_owned());
        row.extend(List::ALL.map(|list| cell(hop, list)));
    }
    row
}

/// `9 (40 kB)`, or a dash where there is nothing.
fn shown(amount: Amount) -> String {
    if amount.parts == 0 {
        return "-".to_owned();
    }
    format!("{} ({})", amount.parts, size(amount.bytes))
}

#[cfg(test)]
mod tests {
    use llamon_agent::core::{Part, Payload, UpstreamPartsPolicy};

    use super::{Hop, Run, of_runs};

    fn run(policy: UpstreamPartsPolicy) -> Run {
        let own = Payload::new().with_text("done").with_data(&"own").unwrap();
        let arrived = Payload::new().with_part(Part::file_bytes("x".repeat(3_000)));
        let answer = match policy {
            UpstreamPartsPolicy::Replace => own.clone(),
            UpstreamPartsPolicy::Append => arrived
                .parts()
                .iter()
                .cloned()
                .fold(own.clone(), Payload::with_part),
        };
        let hops = vec![Hop {
            agent: "audit",
            arrived,
            produced: own,
            answer,
        }];
        Run { policy, hops }
    }

    #[test]
    fn runs_are_side_by_side_where_they_fit() {
        let runs = [
            run(UpstreamPartsPolicy::Replace),
            run(UpstreamPartsPolicy::Append),
        ];
        let expected = [
            "           | replace                      | append",
            "           | text     data     files      | text     data     files",
            "------------------------------------------------------------------------",
            "audit      |                              |",
            "  arrived  | -        -        1 (4.0 kB) | -        -        1 (4.0 kB)",
            "  produced | 1 (15 B) 1 (14 B) -          | 1 (15 B) 1 (14 B) -",
            "  went out | 1 (15 B) 1 (14 B) -          | 1 (15 B) 1 (14 B) 1 (4.0 kB)",
        ];
        let table = of_runs(&runs, 100, false);
        assert_eq!(table, expected.join("\n"));
        let narrow = of_runs(&runs, 50, false);
        assert!(narrow.lines().all(|line| line.len() <= 50), "{narrow}");
        assert!(of_runs(&runs, 100, true).contains('│'));
    }
}
