//! Plans and runs as pictures: which step receives what from which, and for a run how many parts
//! and bytes went along each edge, with what arrived more than once marked.
//!
//! ```
//! use llamon_flow::{Plan, picture::{Format, Picture}};
//!
//! let plan = Plan::from_yaml("
//! steps:
//!   packages: {agent: 'https://a.example.com', from: [input]}
//! outputs: [packages]
//! ")?;
//! let text = Picture::of_plan(&plan).render(Format::Mermaid)?;
//! assert!(text.starts_with("flowchart TD\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod dot;
mod mermaid;
mod of_run;
mod svg;

use std::fmt;
use std::str::FromStr;

use crate::data::{Message, Origin};
use crate::plan::{Plan, Source};

/// The rows that the edges of a picture in SVG may cross in all; its layout takes long for more.
/// A chain of 200 steps has 201.
pub const MAX_SVG_ROWS: usize = 400;

/// How a picture is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Mermaid, for Markdown.
    Mermaid,
    /// The language of Graphviz.
    Dot,
    /// An image.
    Svg,
}

/// `mermaid`, `dot` or `svg`.
impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "mermaid" => Ok(Self::Mermaid),
            "dot" => Ok(Self::Dot),
            "svg" => Ok(Self::Svg),
            other => Err(format!(
                "the format is {other:?}; there are mermaid, dot and svg"
            )),
        }
    }
}

/// A picture that is too large for its format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureError(String);

impl fmt::Display for PictureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PictureError {}

/// What went from one source to one step, in all of its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Parts that were sent.
    pub parts: usize,
    /// Bytes of their JSON texts.
    pub bytes: usize,
    /// Data and file parts that had arrived before, with equal token text.
    pub repeated: usize,
    /// Bytes of these.
    pub repeated_bytes: usize,
}

/// A plan's steps and what goes between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    /// Lines of text.
    label: Vec<String>,
    /// Whether it is a step, and not the run's input or answer.
    is_step: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Edge {
    from: usize,
    to: usize,
    label: &'static str,
    /// No parts go along it: a condition, a text, or a step that stands in.
    is_control: bool,
    /// What went along it, in a picture of a run.
    traffic: Option<Traffic>,
}

const INPUT_NODE: usize = 0;
const ANSWER_NODE: usize = 1;
/// Nodes before the first step.
const BEFORE_STEPS: usize = 2;

impl Picture {
    /// The plan alone.
    pub fn of_plan(plan: &Plan) -> Self {
        let mut nodes = vec![Node::of("input"), Node::of("answer")];
        let mut edges = Vec::new();
        for (at, step) in plan.steps().iter().enumerate() {
            let mut label = vec![step.name().to_owned(), shorten(step.agent_name())];
            if let Some(each) = step.each() {
                label.push(format!("each {}", shorten(each.path())));
            }
            if let Some(when) = &step.step.when {
                label.push(format!("when {}", shorten(when)));
            }
            nodes.push(Node {
                label,
                is_step: true,
            });
            let mut drawn = Vec::new();
            for source in step.from() {
                let label = match step.each() {
                    Some(each) if each.of() == *source => "items",
                    _ => "",
                };
                drawn.push(node(*source));
                edges.push(Edge::data(node(*source), at + BEFORE_STEPS, label));
            }
            let stand_ins = step.stands_in_for().iter();
            for failed in stand_ins.clone() {
                let failed = failed + BEFORE_STEPS;
                drawn.push(failed);
                edges.push(Edge::control(failed, at + BEFORE_STEPS, "on error"));
            }
            for need in step.needs() {
                // A stand-in is waited for, and its edge is that of the step it stands in for.
                let need = need + BEFORE_STEPS;
                if !drawn.contains(&need) {
                    edges.push(Edge::control(need, at + BEFORE_STEPS, ""));
                }
            }
        }
        for output in plan.outputs() {
            edges.push(Edge::data(output + BEFORE_STEPS, ANSWER_NODE, ""));
        }
        Self { nodes, edges }
    }

    /// The picture with what `step` was sent in one call; for a step with items, each call adds
    /// to it.
    #[must_use]
    pub fn with_message(self, step: usize, message: &Message) -> Self {
        let mut picture = self;
        for (source, traffic) in message.traffic() {
            picture = picture.with_traffic(source, Some(step), traffic);
        }
        picture
    }

    /// The picture with what went from a source to a step, or to the run's answer.
    #[must_use]
    pub fn with_traffic(mut self, from: Source, to: Option<usize>, traffic: Traffic) -> Self {
        let to = to.map_or(ANSWER_NODE, |step| step + BEFORE_STEPS);
        let mut edges = self.edges.iter_mut();
        let edge = edges.find(|edge| edge.from == node(from) && edge.to == to && !edge.is_control);
        if let Some(edge) = edge {
            let sum = edge.traffic.get_or_insert_default();
            sum.parts += traffic.parts;
            sum.bytes += traffic.bytes;
            sum.repeated += traffic.repeated;
            sum.repeated_bytes += traffic.repeated_bytes;
        }
        self
    }

    /// The picture's text.
    ///
    /// # Errors
    /// When its edges cross more than [`MAX_SVG_ROWS`] rows and it is to be SVG.
    pub fn render(&self, format: Format) -> Result<String, PictureError> {
        match format {
            Format::Mermaid => Ok(mermaid::write(self)),
            Format::Dot => Ok(dot::write(self)),
            Format::Svg => {
                let rows = self.rows();
                if rows > MAX_SVG_ROWS {
                    return Err(PictureError(format!(
                        "the picture is too large for SVG: its edges cross {rows} rows, {MAX_SVG_ROWS} are allowed; use dot or mermaid"
                    )));
                }
                Ok(svg::write(self))
            }
        }
    }

    /// How many rows all edges cross, where each node stands below those before it. The layout
    /// puts a node of its own into each of them.
    fn rows(&self) -> usize {
        let mut rows = vec![0usize; self.nodes.len()];
        // Longest paths: a pass for each row, and a picture with too many is given up on.
        for _ in 0..=MAX_SVG_ROWS {
            let mut is_done = true;
            for edge in &self.edges {
                let below = rows.get(edge.from).map_or(0, |row| row + 1);
                if let Some(row) = rows.get_mut(edge.to).filter(|row| **row < below) {
                    *row = below;
                    is_done = false;
                }
            }
            if is_done {
                break;
            }
        }
        let row = |node: usize| rows.get(node).copied().unwrap_or_default();
        let crossed = self
            .edges
            .iter()
            .map(|edge| row(edge.to).saturating_sub(row(edge.from)));
        crossed.sum()
    }
}

impl Message {
    /// What came from each source, in the order of their first part or repeat. The step's own text
    /// comes from none.
    pub fn traffic(&self) -> Vec<(Source, Traffic)> {
        let mut all: Vec<(Source, Traffic)> = Vec::new();
        for (part, origin) in self.parts().iter().zip(self.origins()) {
            let (Origin::Item(source) | Origin::Source(source)) = *origin else {
                continue;
            };
            let traffic = entry(&mut all, source);
            traffic.parts += 1;
            traffic.bytes += part.json().len();
        }
        for repeat in self.repeats() {
            let traffic = entry(&mut all, repeat.source);
            traffic.repeated += 1;
            traffic.repeated_bytes += repeat.bytes;
        }
        all
    }
}

fn entry(all: &mut Vec<(Source, Traffic)>, source: Source) -> &mut Traffic {
    let at = all.iter().position(|(known, _)| *known == source);
    let at = at.unwrap_or_else(|| {
        all.push((source, Traffic::default()));
        all.len() - 1
    });
    // There is one at this place.
    &mut all[at].1
}

/// `3 parts, 1.2 kB`, and what of it is repeated.
impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.parts == 1 { "part" } else { "parts" };
        write!(f, "{} {noun}, {}", self.parts, size(self.bytes))?;
        if self.repeated > 0 {
            write!(
                f,
                ", {} repeated ({})",
                self.repeated,
                size(self.repeated_bytes)
            )?;
        }
        Ok(())
    }
}

fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

impl Node {
    fn of(label: &str) -> Self {
        Self {
            label: vec![label.to_owned()],
            is_step: false,
        }
    }
}

impl Edge {
    /// Its text, which may be empty.
    fn text(&self) -> String {
        match self.traffic {
            None => self.label.to_owned(),
            Some(traffic) if self.label.is_empty() => traffic.to_string(),
            Some(traffic) => format!("{}; {traffic}", self.label),
        }
    }

    /// Whether something that went along it had arrived before.
    fn is_repeated(&self) -> bool {
        self.traffic.is_some_and(|traffic| traffic.repeated > 0)
    }

    fn data(from: usize, to: usize, label: &'static str) -> Self {
        Self {
            from,
            to,
            label,
            is_control: false,
            traffic: None,
        }
    }

    fn control(from: usize, to: usize, label: &'static str) -> Self {
        Self {
            is_control: true,
            ..Self::data(from, to, label)
        }
    }
}

fn node(source: Source) -> usize {
    match source {
        Source::Input => INPUT_NODE,
        Source::Step(step) => step + BEFORE_STEPS,
    }
}

/// A text that fits a node, without what could reorder or break it.
fn shorten(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    if text.chars().count() <= 40 {
        return text;
    }
    let head: String = text.chars().take(37).collect();
    format!("{head}...")
}
