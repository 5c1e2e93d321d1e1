//! A graph as a picture.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::plan::Ways;
use crate::route::{END, START};
use crate::{Graph, GraphState};

impl<S: GraphState, O> Graph<S, O> {
    /// The graph as a Mermaid flowchart. Dashed arrows are ways that a router or a command may take.
    #[must_use]
    pub fn to_mermaid(&self) -> String {
        let names = self.names();
        let mut text = "flowchart TD\n".to_owned();
        for (index, name) in names.iter().enumerate() {
            let label = quote(shown(name)).replace("\\\"", "#quot;");
            let shape = match *name {
                START | END => format!("([{label}])"),
                _ => format!("[{label}]"),
            };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  n{index}{shape}");
        }
        for arrow in self.arrows() {
            let line = if arrow.is_choice { "-.->" } else { "-->" };
            let [from, to] = [arrow.from, arrow.to].map(|name| place(&names, name));
            let _ = writeln!(text, "  n{from} {line} n{to}");
        }
        text
    }

    /// The graph in Graphviz's DOT. Dashed arrows are ways that a router or a command may take.
    #[must_use]
    pub fn to_dot(&self) -> String {
        let mut text = format!("digraph {} {{\n", quote(&self.plan.name));
        for name in self.names() {
            let shape = match name {
                START | END => "oval",
                _ => "box",
            };
            let (name, label) = (quote(name), quote(shown(name)));
            let _ = writeln!(text, "  {name} [label={label}, shape={shape}];");
        }
        for arrow in self.arrows() {
            let style = if arrow.is_choice {
                " [style=dashed]"
            } else {
                ""
            };
            let (from, to) = (quote(arrow.from), quote(arrow.to));
            let _ = writeln!(text, "  {from} -> {to}{style};");
        }
        text.push_str("}\n");
        text
    }

    /// The start, the nodes by name, the end.
    fn names(&self) -> Vec<&str> {
        let nodes: BTreeSet<&str> = self.plan.nodes.keys().map(|name| &**name).collect();
        let mut names = vec![START];
        names.extend(nodes);
        names.push(END);
        names
    }

    fn arrows(&self) -> BTreeSet<Arrow<'_>> {
        let mut arrows = BTreeSet::new();
        for from in self.names() {
            let Some(ways) = self.plan.ways(from) else {
                continue;
            };
            let Ways {
                edges,
                branches,
                joins,
                gotos,
            } = ways;
            let joins = joins.iter().map(|index| &self.plan.joins[*index].to);
            let choices = branches.iter().flat_map(|branch| &branch.targets);
            let sure = edges.iter().chain(joins).map(|to| (to, false));
            let maybe = choices.chain(gotos).map(|to| (to, true));
            arrows.extend(sure.chain(maybe).map(|(to, is_choice)| Arrow {
                from,
                to,
                is_choice,
            }));
        }
        arrows
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Arrow<'g> {
    from: &'g str,
    to: &'g str,
    is_choice: bool,
}

fn place(names: &[&str], name: &str) -> usize {
    let found = names.iter().position(|other| *other == name);
    found.unwrap_or_default()
}

fn shown(name: &str) -> &str {
    match name {
        START => "start",
        END => "end",
        name => name,
    }
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
