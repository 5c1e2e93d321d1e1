//! Pictures of a plan and of a run.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use llamon_core::{Part, Payload};
use llamon_flow::Plan;
use llamon_flow::data::{Answer, Answers};
use llamon_flow::picture::{Format, Picture};

const PLAN: &str = "
steps:
  a: {agent: 'https://a.example.com', from: [input]}
  b: {agent: 'https://b.example.com', from: [a], each: '$.items[*]'}
  c: {agent: 'https://c.example.com/<\"&>', from: [a], when: '@.a.data[0].n > 1', on_error: {goto: e}}
  d: {agent: 'https://d.example.com', from: [b, a, a], text: '{{c.text}}'}
  e: {agent: 'https://e.example.com', text: sorry}
outputs: [d]
";

fn run(plan: &Plan) -> Picture {
    let mut answers = Answers::new(plan, Payload::new().with_text("x"));
    let part = Part::data_from_json("{\"n\":1}").unwrap();
    answers.set(0, Answer::completed(Payload::new().with_part(part)));
    answers.set(1, Answer::completed(Payload::new().with_text("b")));
    answers.set(2, Answer::completed(Payload::new().with_text("c")));
    let message = plan.message(3, &answers, None).unwrap();
    Picture::of_plan(plan).with_message(3, &message)
}

#[test]
fn mermaid_and_dot_show_who_receives_what() {
    let plan = Plan::from_yaml(PLAN).unwrap();
    let mermaid = Picture::of_plan(&plan).render(Format::Mermaid).unwrap();
    for line in [
        "  n0([\"input\"])",
        "  n3[\"b<br/>https://b.example.com<br/>each $.items[*]\"]",
        "  n4[\"c<br/>https://c.example.com/#60;#34;#38;#62;<br/>when @.a.data[0].n #62; 1\"]",
        "  n0 --> n2",
        "  n2 -->|\"items\"| n3",
        "  n4 -.->|\"on error\"| n6",
        "  n4 -.-> n5",
        "  n5 --> n1",
    ] {
        assert!(
            mermaid.lines().any(|found| found == line),
            "{line}\n{mermaid}"
        );
    }
    let dot = run(&plan).render(Format::Dot).unwrap();
    for line in [
        "  n1 [label=\"answer\", shape=oval];",
        "  n2 -> n5 [label=\"2 parts, 32 B, 1 repeated (16 B)\", color=red, fontcolor=red, penwidth=2];",
        "  n4 -> n6 [label=\"on error\", style=dashed];",
    ] {
        assert!(dot.lines().any(|found| found == line), "{line}\n{dot}");
    }
    let marked = run(&plan).render(Format::Mermaid).unwrap();
    assert!(marked.contains("linkStyle"), "{marked}");
}

#[test]
fn an_svg_is_drawn_without_a_program_and_its_texts_are_escaped() {
    let plan = Plan::from_yaml(PLAN).unwrap();
    let svg = run(&plan).render(Format::Svg).unwrap();
    assert!(svg.contains("<svg") && svg.trim_end().ends_with("</svg>"));
    assert!(
        svg.contains("&lt;&quot;&amp;&gt;") && svg.contains("repeated"),
        "{svg}"
    );
    if let Some(path) = std::env::var_os("SHOW_SVG") {
        std::fs::write(path, svg).unwrap();
    }
}

#[test]
fn a_picture_that_would_take_long_to_draw_is_refused() {
    let plan = |steps: usize| {
        let mut yaml =
            String::from("steps:\n  s0: {agent: 'https://a.example.com', from: [input]}\n");
        for step in 1..steps {
            yaml.push_str(&format!(
                "  s{step}: {{agent: 'https://a.example.com', from: [s{}, s{}]}}\n",
                step - 1,
                step / 2
            ));
        }
        yaml.push_str(&format!("outputs: [s{}]\n", steps - 1));
        Picture::of_plan(&Plan::from_yaml(&yaml).unwrap())
    };
    assert!(plan(20).render(Format::Svg).is_ok());
    for steps in [60, 5_000] {
        let error = plan(steps).render(Format::Svg).unwrap_err();
        assert!(error.to_string().contains("use dot or mermaid"), "{error}");
        assert!(plan(steps).render(Format::Dot).is_ok());
    }
}
