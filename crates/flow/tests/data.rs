//! What steps receive: token for token, in the order of `from`, as often as it arrives.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use llamon_core::{Part, Payload};
use llamon_flow::data::{Answer, Answers, Item, Next, Origin, Skip};
use llamon_flow::{Plan, Source};

fn plan(steps: &str) -> Plan {
    let steps = steps.replace("AGENT", "agent: 'https://a.example.com'");
    Plan::from_yaml(&format!("steps:\n{steps}")).unwrap_or_else(|error| panic!("{error}"))
}

fn data(json: &str) -> Part {
    Part::data_from_json(json).unwrap()
}

fn sent(plan: &Plan, step: usize, answers: &Answers) -> Vec<String> {
    let message = plan.message(step, answers, None).unwrap();
    message
        .parts()
        .iter()
        .map(|part| part.json().to_owned())
        .collect()
}

const DIAMOND: &str = "
  a: {AGENT, from: [input]}
  b: {AGENT, from: [a]}
  c: {AGENT, from: [a]}
  d: {AGENT, from: [c, b, input]}
outputs: [d]
";

#[test]
fn parts_go_on_token_for_token_in_the_order_of_from() {
    let plan = plan(DIAMOND);
    let strange = Part::from_json(
        r#"{"data":{"n":1e400,"n":1.0,"s":"\ud800"},"x-unknown":[ 1 ],"metadata":{"a":1}}"#,
    )
    .unwrap();
    let file = Part::file_bytes("abc").with_filename("a.txt");
    let input = Payload::new()
        .with_text("in ")
        .with_part(file.clone())
        .with_text("put");
    let mut answers = Answers::new(&plan, input);
    answers.set(
        1,
        Answer::completed(Payload::new().with_part(strange.clone()).with_text("b")),
    );
    answers.set(
        2,
        Answer::completed(Payload::new().with_part(data("[1.0]"))),
    );
    let expected = [
        "{\"data\":[1.0]}",
        r#"{"text":"b"}"#,
        strange.json(),
        r#"{"text":"in put"}"#,
        file.json(),
    ];
    assert_eq!(sent(&plan, 3, &answers), expected);
    let message = plan.message(3, &answers, None).unwrap();
    let [first, second, ..] = message.origins() else {
        panic!()
    };
    assert_eq!(
        (*first, *second),
        (
            Origin::Source(Source::Step(2)),
            Origin::Source(Source::Step(1))
        )
    );
    assert!(message.repeats().is_empty());
}

#[test]
fn repeats_are_sent_and_counted_unless_the_step_removes_them() {
    for (dedupe, removed, expected) in [("off", false, 4), ("by-content", true, 3)] {
        let plan = plan(&DIAMOND.replace(
            "from: [c, b, input]",
            &format!("from: [c, b], dedupe: {dedupe}"),
        ));
        let mut answers = Answers::new(&plan, Payload::new());
        // Equal values of other tokens, or with other fields, are no repeats.
        let a = data("{\"a\":1.0}");
        answers.set(
            1,
            Answer::completed(vec![a.clone(), data("{\"a\":1.00}")].into()),
        );
        answers.set(
            2,
            Answer::completed(vec![a.clone(), a.clone().with_filename("x")].into()),
        );
        let message = plan.message(3, &answers, None).unwrap();
        assert_eq!(message.parts().len(), expected);
        let [repeat] = message.repeats() else {
            panic!("{:?}", message.repeats())
        };
        assert_eq!(
            (repeat.first, repeat.source),
            (Source::Step(2), Source::Step(1))
        );
        assert_eq!((repeat.bytes, repeat.removed), (a.json().len(), removed));
    }
}

#[test]
fn a_text_of_its_own_replaces_the_texts_and_leaves_the_rest() {
    let plan = plan(
        "
  a: {AGENT, from: [input]}
  b: {AGENT, from: [a, input], text: 'on {{a.text}}: {{a.data[0].n}}'}
outputs: [b]
",
    );
    let mut answers = Answers::new(&plan, Payload::new().with_text("no").with_part(data("7")));
    answers.set(
        0,
        Answer::completed(
            Payload::new()
                .with_text("A")
                .with_part(data("{\"n\":1.50}")),
        ),
    );
    assert_eq!(
        sent(&plan, 1, &answers),
        [
            r#"{"text":"on A: 1.50"}"#,
            r#"{"data":{"n":1.50}}"#,
            r#"{"data":7}"#
        ]
    );
}

#[test]
fn a_place_that_is_not_there_fails_the_step_and_says_which() {
    let plan = plan(
        "
  a: {AGENT, from: [input]}
  b: {AGENT, from: [a], text: '{{a.data[0].missing}}'}
  c: {AGENT, from: [a], text: '{{a.error}}'}
  d: {AGENT, from: [a]}
outputs: [b, c, d]
",
    );
    let mut answers = Answers::new(&plan, Payload::new());
    answers.set(
        0,
        Answer::completed(Payload::new().with_part(data("{\"n\":1}"))),
    );
    for (step, expected) in [
        (1, "`text`: {{a.data[0].missing}} leads to nothing"),
        (2, "{{a.error}} leads to nothing"),
    ] {
        let error = plan.message(step, &answers, None).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    answers.set(
        0,
        Answer::completed(Payload::new().with_part(data("{\"n\":1e400}"))),
    );
    let error = plan.message(1, &answers, None).unwrap_err().to_string();
    assert!(error.contains("cannot be"), "{error}");
    // Who does not look into it, is not disturbed.
    assert_eq!(sent(&plan, 3, &answers), ["{\"data\":{\"n\":1e400}}"]);
    answers.set(0, Answer::completed(Payload::new()));
    let error = plan.message(3, &answers, None).unwrap_err().to_string();
    assert!(error.contains("nothing to send"), "{error}");
}

#[test]
fn items_are_the_raw_texts_at_their_places() {
    let plan = plan(
        "
  a: {AGENT, from: [input]}
  b:
    AGENT
    from: [input, a]
    text: 'id {{item.id}}'
    each: {of: a, path: '$.items[?@.id > 1]', max_items: 3}
outputs: [b]
"
        .replace("AGENT\n", "agent: https://a.example.com\n")
        .as_str(),
    );
    let mut answers = Answers::new(
        &plan,
        Payload::new().with_text("x").with_part(data("\"in\"")),
    );
    let payload = Payload::new()
        .with_text("t")
        .with_part(data(
            "{\"items\":[{\"id\":1},{\"id\":2.0 , \"k\":\"\\u0041\"}]}",
        ))
        .with_part(data("{\"other\":[]}"))
        .with_part(data("{\"items\":[{\"id\":3}]}"));
    answers.set(0, Answer::completed(payload));
    let items = plan.items(1, &answers).unwrap();
    let texts: Vec<&str> = items.iter().map(Item::json).collect();
    assert_eq!(texts, ["{\"id\":2.0 , \"k\":\"\\u0041\"}", "{\"id\":3}"]);
    let message = plan.message(1, &answers, items.first()).unwrap();
    let parts: Vec<&str> = message.parts().iter().map(|part| part.json()).collect();
    assert_eq!(
        parts,
        [
            r#"{"text":"id 2.0"}"#,
            r#"{"data":"in"}"#,
            "{\"data\":{\"id\":2.0 , \"k\":\"\\u0041\"}}"
        ]
    );
    assert_eq!(Item::from_json(0, texts[0]).unwrap(), items[0]);

    answers.set(
        0,
        Answer::completed(
            vec![data(
                "{\"items\":[{\"id\":2},{\"id\":2},{\"id\":2},{\"id\":2}]}",
            )]
            .into(),
        ),
    );
    let error = plan.items(1, &answers).unwrap_err().to_string();
    assert!(error.contains("more than 3 items"), "{error}");
    answers.set(0, Answer::completed(vec![data("{}"), data("1e400")].into()));
    let error = plan.items(1, &answers).unwrap_err().to_string();
    assert!(
        error.contains("data part 1 of a cannot be parsed"),
        "{error}"
    );
}

#[test]
fn conditions_stand_ins_and_skips() {
    let plan = plan(
        "
  a: {AGENT, from: [input], on_error: {goto: b}}
  b: {AGENT, from: [input], text: 'failed: {{a.error}}'}
  c: {AGENT, from: [a], when: \"@.a.state == 'completed'\"}
  d: {AGENT, from: [a, b]}
  e: {AGENT, from: [c]}
outputs: [d, e]
",
    );
    let named = |name: &str| plan.step_index(name).unwrap();
    assert_eq!(plan.step("c").unwrap().needs(), [0, 1]);
    let answer = |text: &str| Answer::completed(Payload::new().with_text(text));
    let mut answers = Answers::new(&plan, Payload::new().with_text("x"));

    answers.set(0, answer("A"));
    assert_eq!(plan.next(1, &answers), Ok(Next::Skip(Skip::NotNeeded)));
    answers.set(1, Answer::skipped());
    assert_eq!(plan.next(named("c"), &answers), Ok(Next::Run));
    assert_eq!(sent(&plan, named("d"), &answers), [r#"{"text":"A"}"#]);

    answers.set(0, Answer::failed("no \"luck\""));
    assert_eq!(plan.next(1, &answers), Ok(Next::Run));
    assert_eq!(
        sent(&plan, 1, &answers),
        [r#"{"text":"failed: no \"luck\""}"#]
    );
    answers.set(1, answer("B"));
    assert_eq!(
        plan.next(named("c"), &answers),
        Ok(Next::Skip(Skip::Condition))
    );
    answers.set(2, Answer::skipped());
    assert_eq!(
        plan.next(named("e"), &answers),
        Ok(Next::Skip(Skip::NothingToReceive))
    );
    // Whoever names the one that failed gets what stood in; nothing is removed.
    assert_eq!(
        sent(&plan, named("d"), &answers),
        [r#"{"text":"B"}"#, r#"{"text":"B"}"#]
    );
    answers.set(3, answer("D"));
    answers.set(4, Answer::skipped());
    assert_eq!(plan.answer(&answers).text(), "D");
}

#[test]
fn chain_concatenating_host_and_diamond_under_append_have_the_documented_figures() {
    // Every agent appends: own part, then what it was sent.
    let run = |plan: &Plan| {
        let mut answers = Answers::new(plan, Payload::new());
        let mut last = Vec::new();
        for step in plan.order() {
            let mut parts = vec![data(&format!("\"{}\"", plan.steps()[*step].name()))];
            let message = plan.message(*step, &answers, None).unwrap();
            parts.extend(
                message
                    .parts()
                    .iter()
                    .filter(|part| part.as_text().is_none())
                    .cloned(),
            );
            last = parts.clone();
            answers.set(*step, Answer::completed(parts.into()));
        }
        let of_a = last
            .iter()
            .filter(|part| part.data_json() == Some("\"a\""))
            .count();
        (last.len(), of_a)
    };
    let chain = "a: {AGENT, text: go}\n  b: {AGENT, text: go, from: [a]}\n  c: {AGENT, text: go, from: [b]}\noutputs: [c]\n";
    assert_eq!(run(&plan(&format!("  {chain}"))), (3, 1));
    let concatenating = "a: {AGENT, text: go}\n  b: {AGENT, text: go, from: [a]}\n  c: {AGENT, text: go, from: [a, b]}\n  d: {AGENT, text: go, from: [a, b, c]}\noutputs: [d]\n";
    assert_eq!(run(&plan(&format!("  {concatenating}"))), (8, 4));
    let diamond = "a: {AGENT, text: go}\n  b: {AGENT, text: go, from: [a]}\n  c: {AGENT, text: go, from: [a]}\n  d: {AGENT, text: go, from: [b, c]}\noutputs: [d]\n";
    assert_eq!(run(&plan(&format!("  {diamond}"))), (5, 2));
    let deduped = diamond.replace("from: [b, c]", "from: [b, c], dedupe: by-content");
    assert_eq!(run(&plan(&format!("  {deduped}"))), (4, 1));
}
