use std::fmt::Write as _;

use super::Picture;

/// A flowchart for Mermaid.
pub(super) fn write(picture: &Picture) -> String {
    let mut text = String::from("flowchart TD\n");
    // Writing to a string cannot fail.
    for (at, node) in picture.nodes.iter().enumerate() {
        let label: Vec<String> = node.label.iter().map(|line| escape(line)).collect();
        let label = label.join("<br/>");
        let _ = if node.is_step {
            writeln!(text, "  n{at}[\"{label}\"]")
        } else {
            writeln!(text, "  n{at}([\"{label}\"])")
        };
    }
    let mut repeated = Vec::new();
    for (at, edge) in picture.edges.iter().enumerate() {
        let arrow = if edge.is_control { "-.->" } else { "-->" };
        let label = if edge.text().is_empty() {
            String::new()
        } else {
            format!("|\"{}\"|", escape(&edge.text()))
        };
        let _ = writeln!(text, "  n{} {arrow}{label} n{}", edge.from, edge.to);
        if edge.is_repeated() {
            repeated.push(at.to_string());
        }
    }
    if !repeated.is_empty() {
        let _ = writeln!(
            text,
            "  linkStyle {} stroke:#c00,stroke-width:3px",
            repeated.join(",")
        );
    }
    text
}

/// Mermaid has no backslash escapes; it takes HTML's entities with `#`.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '"' | '<' | '>' | '&' | '#' | ';' | '`' | '\\' | '{' | '}' => {
                let _ = write!(escaped, "#{};", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    escaped
}
