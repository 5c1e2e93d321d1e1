use std::fmt::Write as _;

use super::Picture;

/// A digraph for Graphviz.
pub(super) fn write(picture: &Picture) -> String {
    let mut text = String::from("digraph plan {\n  node [shape=box];\n");
    // Writing to a string cannot fail.
    for (at, node) in picture.nodes.iter().enumerate() {
        let label: Vec<String> = node.label.iter().map(|line| escape(line)).collect();
        let shape = if node.is_step { "" } else { ", shape=oval" };
        let _ = writeln!(text, "  n{at} [label=\"{}\"{shape}];", label.join("\\n"));
    }
    for edge in &picture.edges {
        let mut attributes = Vec::new();
        let label = edge.text();
        if !label.is_empty() {
            attributes.push(format!("label=\"{}\"", escape(&label)));
        }
        if edge.is_control {
            attributes.push("style=dashed".to_owned());
        }
        if edge.is_repeated() {
            attributes.push("color=red, fontcolor=red, penwidth=2".to_owned());
        }
        let attributes = if attributes.is_empty() {
            String::new()
        } else {
            format!(" [{}]", attributes.join(", "))
        };
        let _ = writeln!(text, "  n{} -> n{}{attributes};", edge.from, edge.to);
    }
    text.push_str("}\n");
    text
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
