use layout::backends::svg::SVGWriter;
use layout::core::base::Orientation;
use layout::core::color::Color;
use layout::core::geometry::{Point, get_size_for_str, pad_shape_scalar};
use layout::core::style::{LineStyleKind, StyleAttr};
use layout::std_shapes::shapes::{Arrow, Element, LineEndKind, ShapeKind};
use layout::topo::layout::VisualGraph;

use super::{Node, Picture};

const FONT_SIZE: usize = 14;
const ORIENTATION: Orientation = Orientation::TopToBottom;

/// An image; placed by a library, no program is called.
pub(super) fn write(picture: &Picture) -> String {
    let mut graph = VisualGraph::new(ORIENTATION);
    let nodes: Vec<_> = (picture.nodes.iter())
        .map(|node| graph.add_node(element(node)))
        .collect();
    for edge in &picture.edges {
        let (Some(from), Some(to)) = (nodes.get(edge.from), nodes.get(edge.to)) else {
            continue;
        };
        let style = if edge.is_control {
            LineStyleKind::Dashed
        } else {
            LineStyleKind::Normal
        };
        let look = look(if edge.is_repeated() { "red" } else { "black" });
        let arrow = Arrow::new(
            LineEndKind::None,
            LineEndKind::Arrow,
            style,
            &edge.text(),
            &look,
            &None,
            &None,
        );
        graph.add_edge(arrow, *from, *to);
    }
    let mut svg = SVGWriter::new();
    graph.do_it(false, false, false, &mut svg);
    svg.finalize()
}

fn element(node: &Node) -> Element {
    let label = node.label.join("\n");
    let size = pad_shape_scalar(get_size_for_str(&label, FONT_SIZE), 16.);
    let size = Point::new(size.x.max(60.), size.y.max(30.));
    let shape = if node.is_step {
        ShapeKind::new_box(&label)
    } else {
        ShapeKind::new_circle(&label)
    };
    let fill = if node.is_step { "white" } else { "aliceblue" };
    let look = StyleAttr {
        fill_color: Some(Color::fast(fill)),
        ..look("black")
    };
    Element::create(shape, look, ORIENTATION, size)
}

fn look(color: &str) -> StyleAttr {
    StyleAttr::new(Color::fast(color), 2, None, 4, FONT_SIZE)
}
