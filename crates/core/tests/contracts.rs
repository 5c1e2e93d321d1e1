//! Input contracts: what matches, what is handed on, and what a miss says.
#![cfg(feature = "contracts")]

use llamon_core::Part;
use llamon_core::contracts::{
    InputContract, InputContracts, InputMiss, OnMissing, Pick, SelectedInputs,
};
use llamon_core::provenance::Stamp;
use serde_json::{Value, json};

fn data(json: &str) -> Part {
    Part::data_from_json(json).expect("JSON")
}

fn select(contract: InputContract, parts: &[Part]) -> Result<SelectedInputs, InputMiss> {
    let contracts = InputContracts::new().with(contract);
    contracts.compile().expect("a contract").select(parts)
}

fn texts(contract: InputContract, parts: &[Part]) -> Vec<String> {
    let name = contract.name().to_owned();
    let selected = select(contract, parts).expect("a match");
    let items = selected.get(&name).items().iter();
    items.map(|item| item.json().to_owned()).collect()
}

#[test]
fn raw_text_is_handed_on_from_the_selected_place() {
    let parts = [data(
        r#"{"z":1,"a":{"n":123456789012345678901234567890,"f":1.0,"o":{"z":1, "a":2},"l":[1.50,{"k":"\u00e9"}]}}"#,
    )];
    for (path, expected) in [
        ("$.a.n", "123456789012345678901234567890"),
        ("/a/n", "123456789012345678901234567890"),
        ("$.a.f", "1.0"),
        ("$.a.o", r#"{"z":1, "a":2}"#),
        ("$.a.l[0]", "1.50"),
        ("/a/l/1/k", r#""\u00e9""#),
        ("$..k", r#""\u00e9""#),
        ("", parts[0].data_json().unwrap()),
    ] {
        if path.starts_with('/') {
            let selected = select(InputContract::data("x").select(path), &parts).unwrap();
            assert_eq!(selected.get("x").items()[0].pointer(), path);
        }
        assert_eq!(
            texts(InputContract::data("x").select(path), &parts),
            [expected],
            "{path}"
        );
    }
}

#[test]
fn a_part_that_cannot_be_parsed_never_matches_and_the_reason_says_so() {
    for json in ["1e400", r#"{"a":1e400}"#, r#""\ud800""#, r#"["\udc00x"]"#] {
        let miss = select(InputContract::data("x"), &[data(json)]).unwrap_err();
        let candidate = &miss.misses()[0].candidates()[0];
        let reason = candidate.reason.as_deref().unwrap();
        assert!(reason.starts_with("cannot be parsed"), "{json}: {reason}");
    }
    // Beside one that can, it is passed over.
    assert_eq!(
        texts(InputContract::data("x"), &[data("1e400"), data("2")]),
        ["2"]
    );
}

#[test]
fn pick_decides_between_matches() {
    let parts = [data("[1,2]"), data("[]"), data("[3]")];
    let contract = |pick| InputContract::data("x").select("$[*]").pick(pick);
    assert_eq!(texts(contract(Pick::First), &parts), ["1"]);
    assert_eq!(texts(contract(Pick::Last), &parts), ["3"]);
    assert_eq!(texts(contract(Pick::All), &parts), ["1", "2", "3"]);
    assert_eq!(texts(contract(Pick::One), &parts[2..]), ["3"]);
    let miss = select(contract(Pick::One), &parts).unwrap_err();
    assert!(
        miss.to_string()
            .contains("3 matches, exactly one is allowed"),
        "{miss}"
    );
    // Ambiguity is a miss also where the input may be absent, and no answer can mend it.
    let asked = contract(Pick::One).optional().on_missing(OnMissing::Ask);
    assert_eq!(
        select(asked, &parts).unwrap_err().on_missing(),
        OnMissing::Reject
    );
}

#[test]
fn files_and_texts_are_matched_by_what_they_say_of_themselves() {
    let parts = [
        Part::text("the query"),
        data("1"),
        Part::file_bytes("x")
            .with_filename("Cargo.lock")
            .with_media_type("Text/Plain; charset=utf-8"),
        Part::file_url("https://x/y.png").with_media_type("image/png"),
    ];
    let index = |contract: InputContract| {
        let selected = select(contract, &parts).ok()?;
        selected.get("x").items().first().map(|item| item.index())
    };
    assert_eq!(index(InputContract::text("x")), Some(0));
    assert_eq!(
        index(InputContract::text("x").schema(json!({"minLength": 20}))),
        None
    );
    assert_eq!(index(InputContract::file("x")), Some(2));
    assert_eq!(
        index(InputContract::file("x").media_type("image/*")),
        Some(3)
    );
    assert_eq!(
        index(InputContract::file("x").media_type("text/plain")),
        Some(2)
    );
    assert_eq!(index(InputContract::file("x").media_type("*")), None);
    assert_eq!(index(InputContract::file("x").filename("*.lock")), Some(2));
    assert_eq!(index(InputContract::file("x").filename("*.toml")), None);
    assert_eq!(index(InputContract::data("x").media_type("a/b")), None);
}

#[test]
fn source_is_matched_by_the_stamp() {
    let stamp = Stamp::new("inventory", Some("scan".into()), "t", "response", 1);
    let parts = [data("1"), stamp.put_on(data("2"))];
    for source in ["inventory", "scan", "response"] {
        assert_eq!(
            texts(InputContract::data("x").source(source), &parts),
            ["2"]
        );
    }
    let miss = select(InputContract::data("x").source("audit"), &parts).unwrap_err();
    assert!(
        miss.to_string().contains(r#"does not come from "audit""#),
        "{miss}"
    );
}

#[test]
fn a_stamp_goes_beside_other_metadata_and_never_over_another_stamp() {
    let stamp = Stamp::new("a", None, "t", "r", 1);
    let other = Stamp::new("b", None, "t", "r", 2);
    let part = Part::from_json(r#"{"data":1.0,"metadata":{"n":1e400, "n":2 } ,"x":[ ]}"#).unwrap();
    let stamped = stamp.put_on(part);
    assert_eq!(
        stamped.json(),
        r#"{"data":1.0,"metadata":{"n":1e400, "n":2,"urn:llamon:ext:provenance:v1":{"producer":"a","taskId":"t","artifact":"r","hop":1}} ,"x":[ ]}"#
    );
    assert_eq!(other.put_on(stamped.clone()), stamped);
    let beside = r#"{"data":1,"metadata":{"n":1e400,"urn:llamon:ext:provenance:v1":{"producer":"a","taskId":"t","artifact":"r","hop":1}}}"#;
    assert_eq!(
        Stamp::of(&Part::from_json(beside).unwrap()),
        Some(stamp.clone())
    );
    assert_eq!(stamp.put_on(Part::text("t")), Part::text("t"));
    for metadata in [
        "{ }",
        r#"{"a":{"b":{}}}"#,
        r#"{"a":{"urn:llamon:ext:provenance:v1":1}}"#,
        r#"{"a":"\"urn:llamon:ext:provenance:v1\""}"#,
    ] {
        let part = Part::from_json(format!(r#"{{"data":1,"metadata":{metadata}}}"#)).unwrap();
        let stamped = stamp.put_on(part);
        assert_eq!(Stamp::of(&stamped).as_ref(), Some(&stamp), "{metadata}");
        let head = metadata.strip_suffix('}').unwrap().trim_end();
        assert!(stamped.metadata_json().unwrap().starts_with(head));
    }
}

#[test]
fn required_default_and_absent() {
    let nothing: [Part; 0] = [];
    assert!(select(InputContract::data("x"), &nothing).is_err());
    let selected = select(InputContract::data("x").optional(), &nothing).unwrap();
    assert_eq!(selected.get("x").json(), None);
    let contract = InputContract::data("x").default_value(&[1, 2]).unwrap();
    let selected = select(contract, &nothing).unwrap();
    assert_eq!(selected.get("x").json(), Some("[1,2]"));
    assert_eq!(selected.get("x").read_all::<u8>().unwrap(), [1, 2]);
    assert_eq!(selected.get("undeclared").json(), None);
}

#[test]
fn what_a_message_does_not_have_is_looked_for_in_earlier_ones() {
    let contracts = InputContracts::new()
        .with(
            InputContract::data("order")
                .select("$.order")
                .pick(Pick::One),
        )
        .with(InputContract::data("rate").select("$.rate"))
        .with(
            InputContract::data("note")
                .select("$.note")
                .default_json("null"),
        );
    let contracts = contracts.compile().unwrap();
    let earlier = [
        data(r#"{"order":"old","rate":1.0}"#),
        data(r#"{"note":"n"}"#),
    ];
    let selected = contracts
        .select_after(&[data(r#"{"order":"new"}"#)], &earlier)
        .unwrap();
    assert_eq!(selected.get("order").json(), Some("\"new\""));
    assert_eq!(selected.get("rate").json(), Some("1.0"));
    assert_eq!(selected.get("note").json(), Some("\"n\""));
    let miss = contracts
        .select_after(&[data("1")], &earlier[1..])
        .unwrap_err();
    assert_eq!(miss.misses().len(), 2);
    assert_eq!(miss.misses()[0].candidates().len(), 1);
}

#[test]
fn a_miss_explains_each_candidate_without_its_content() {
    let schema = json!({"properties": {"order": {"properties": {"total": {"type": "number"}}}}});
    let contract = InputContract::data("order")
        .schema(schema)
        .description("the customer's order");
    let parts = [
        Part::text("please"),
        data(r#"{"order":{"total":"secret-content"}}"#),
        Part::file_bytes("secret-file").with_media_type("image/png"),
    ];
    let miss = select(contract, &parts).unwrap_err();
    let payload = miss.payload().unwrap();
    let all = format!("{}{}", payload.text(), payload.data().collect::<String>());
    assert!(!all.contains("secret"), "{all}");
    let explained: Value = serde_json::from_str(payload.data().next().unwrap()).unwrap();
    assert_eq!(
        explained,
        json!({"missingInputs": [{
            "name": "order",
            "kind": "data",
            "description": "the customer's order",
            "problem": "nothing that was sent matches",
            "candidates": [
                {"index": 0, "kind": "text", "bytes": 17, "reason": "is no data part"},
                {"index": 1, "kind": "data", "bytes": 45, "reason": "does not satisfy the schema: value is not of type \"number\"", "pointer": "/order/total"},
                {"index": 2, "kind": "raw", "bytes": 50, "mediaType": "image/png", "reason": "is no data part"},
            ],
            "moreCandidates": 0,
        }]})
    );
    assert!(
        payload
            .text()
            .contains("the data input \"order\" is missing (the customer's order)")
    );
    assert!(
        payload
            .text()
            .contains("part 1 (data, 45 bytes): does not satisfy the schema")
    );
}

#[test]
fn a_miss_asks_only_if_all_that_is_missing_may_be_asked_for() {
    let ask = |name: &str| InputContract::data(name).on_missing(OnMissing::Ask);
    let miss = |contracts: InputContracts| contracts.compile().unwrap().select(&[]).unwrap_err();
    let both = InputContracts::new().with(ask("a")).with(ask("b"));
    assert_eq!(miss(both).on_missing(), OnMissing::Ask);
    let mixed = InputContracts::new()
        .with(ask("a"))
        .with(InputContract::data("b"));
    assert_eq!(miss(mixed).on_missing(), OnMissing::Reject);
}

#[test]
fn what_cannot_be_a_contract_is_an_error_with_name_and_position() {
    let cases = [
        (
            InputContract::data(" "),
            "the input contract \"#0\": name: is empty",
        ),
        (
            InputContract::data("x").schema(json!({"type": "strin"})),
            "the input contract \"x\": schema: is no usable schema at /type",
        ),
        (
            InputContract::data("x").schema(json!({"pattern": "("})),
            "schema: is no usable schema at /pattern",
        ),
        (
            InputContract::data("x").schema(json!({"$ref": "https://example.com/s.json"})),
            "https://example.com/s.json",
        ),
        (
            InputContract::data("x").schema(json!({"$ref": "other.json"})),
            "schema: is no usable schema",
        ),
        (
            InputContract::data("x").schema(json!({"$ref": "#/$defs/none"})),
            "schema: is no usable schema",
        ),
        (
            InputContract::data("x").select("$.a["),
            "select: \"$.a[\" is no JSONPath: at position",
        ),
        (
            InputContract::data("x").select("a.b"),
            "begins neither with `$`",
        ),
        (
            InputContract::data("x").select("/a~2"),
            "`~` must be followed by 0 or 1",
        ),
        (
            InputContract::data("x").select("$..a..b"),
            "has 2 descendant segments",
        ),
        (
            InputContract::data("x").select("$[?@.a == $.b]"),
            "reads the whole value again",
        ),
        (
            InputContract::file("x").filename("[a"),
            "filename: \"[a\" is no pattern",
        ),
        (
            InputContract::file("x").select("$"),
            "select: only data has places to select",
        ),
        (
            InputContract::file("x").schema(json!(true)),
            "schema: a file has no schema",
        ),
        (
            InputContract::data("x").default_json("{"),
            "default: \"{\" is not one JSON value",
        ),
    ];
    for (contract, expected) in cases {
        let error = InputContracts::new()
            .with(contract)
            .compile()
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{expected}\n{error}");
    }
    let twice = InputContracts::new()
        .with(InputContract::data("x"))
        .with(InputContract::text("x"));
    let error = twice.compile().unwrap_err();
    assert_eq!(error.contract(), Some("x"));
    assert!(error.to_string().contains("is given twice"), "{error}");
    // What stands in quotes is no segment.
    assert!(
        InputContracts::new()
            .with(InputContract::data("x").select("$['..']['$']..a"))
            .compile()
            .is_ok()
    );
}

#[test]
fn a_document_means_the_same_as_the_builder() {
    let yaml = "
contracts:
  - name: order
    description: the order
    schema: {type: object, required: [total]}
    select: $.order
    pick: one
    on_missing: ask
  - {name: skus, select: '$.items[*].sku', pick: all, default: []}
  - {name: scan, kind: file, media_type: image/*, required: false}
";
    let built = InputContracts::new()
        .with(
            InputContract::data("order")
                .description("the order")
                .schema(json!({"type": "object", "required": ["total"]}))
                .select("$.order")
                .pick(Pick::One)
                .on_missing(OnMissing::Ask),
        )
        .with(
            InputContract::data("skus")
                .select("$.items[*].sku")
                .pick(Pick::All)
                .default_json("[]"),
        )
        .with(InputContract::file("scan").media_type("image/*").optional());
    let read = InputContracts::from_yaml(yaml).unwrap();
    assert_eq!(format!("{read:?}"), format!("{built:?}"));
    assert_eq!(read.published(), built.published());
    let again = InputContracts::from_json(&built.document().to_string()).unwrap();
    assert_eq!(again.document(), read.document());
    let json = r#"{"contracts":[{"name":"x","schema":true,"default":null}]}"#;
    let contracts = InputContracts::from_json(json).unwrap();
    assert_eq!(
        contracts
            .compile()
            .unwrap()
            .select(&[])
            .unwrap()
            .get("x")
            .json(),
        Some("null")
    );
    for (document, expected) in [
        ("contracts: [{nam: x}]", "nam"),
        ("contracts: [{name: x, pick: some}]", "some"),
        ("contracts: 3", "line 1"),
        (
            "contracts: [{name: x, required: true, default: 1}]",
            "a required input has no default",
        ),
        ("[", "line"),
    ] {
        let error = InputContracts::from_yaml(document).unwrap_err().to_string();
        assert!(error.contains(expected), "{document}: {error}");
    }
}

#[test]
fn what_is_published_says_what_to_send_and_not_how_it_is_found() {
    let contracts = InputContracts::new().with(
        InputContract::data("x")
            .schema(json!({"type": "number"}))
            .select("$.order")
            .source("agent"),
    );
    assert_eq!(
        contracts.published(),
        json!({"contracts": [{"name": "x", "kind": "data", "required": true, "select": "$.order", "schema": {"type": "number"}}]})
    );
}

mod properties {
    use llamon_core::contracts::Pick;
    use proptest::prelude::*;

    use super::*;

    /// Paths and what they yield, written by hand.
    fn reference(path: &str, value: &Value) -> Vec<Value> {
        match path {
            "" => vec![value.clone()],
            "$[*]" => children(value),
            "$.a" => value.get("a").cloned().into_iter().collect(),
            "$.a[*]" => value.get("a").map(children).unwrap_or_default(),
            "/a/0" => value.pointer("/a/0").cloned().into_iter().collect(),
            other => panic!("{other}"),
        }
    }

    fn children(value: &Value) -> Vec<Value> {
        match value {
            Value::Array(items) => items.clone(),
            Value::Object(entries) => entries.values().cloned().collect(),
            _ => Vec::new(),
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            (0..5_u8).prop_map(Value::from),
            Just(json!("s")),
            Just(json!(null))
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                (inner.clone(), inner).prop_map(|(a, b)| json!({"a": a, "b": b})),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn selection_agrees_with_a_naive_reference(
            values in prop::collection::vec(value(), 0..5),
            path in prop::sample::select(vec!["", "$[*]", "$.a", "$.a[*]", "/a/0"]),
            numbers_only in any::<bool>(),
            pick in prop::sample::select(vec![Pick::First, Pick::Last, Pick::One, Pick::All]),
        ) {
            let pretty = |value: &Value| data(&serde_json::to_string_pretty(value).unwrap());
            let mut parts = vec![Part::text("query")];
            parts.extend(values.iter().map(pretty));
            let before: Vec<String> = parts.iter().map(|part| part.json().to_owned()).collect();
            let mut contract = InputContract::data("x").select(path).pick(pick).optional();
            let mut all: Vec<Value> = values.iter().flat_map(|value| reference(path, value)).collect();
            if numbers_only {
                contract = contract.schema(json!({"type": "number"}));
                all.retain(Value::is_number);
            }
            let expected = match pick {
                Pick::First => Some(all.into_iter().take(1).collect::<Vec<_>>()),
                Pick::Last => Some(all.pop().into_iter().collect()),
                Pick::One if all.len() > 1 => None,
                Pick::One | Pick::All => Some(all),
            };
            let selected = select(contract, &parts).ok();
            let found = selected.map(|selected| {
                let items = selected.get("x").items().iter();
                items.map(|item| serde_json::from_str::<Value>(item.json()).unwrap()).collect::<Vec<_>>()
            });
            prop_assert_eq!(found, expected);
            let after: Vec<String> = parts.iter().map(|part| part.json().to_owned()).collect();
            prop_assert_eq!(after, before);
        }
    }
}

/// Bounded by construction, not by a clock: what would blow up would not come back at all.
mod hostile {
    use super::*;

    #[test]
    fn a_pattern_made_to_backtrack_is_linear() {
        let contract = InputContract::data("x").schema(json!({"pattern": "^(a+)+$"}));
        let text = format!("\"{}!\"", "a".repeat(1_000_000));
        assert!(select(contract, &[data(&text)]).is_err());
        let contract =
            InputContract::data("x").schema(json!({"pattern": "^(a?){5000}(a{5000}){5000}$"}));
        let error = InputContracts::new().with(contract).compile().unwrap_err();
        assert_eq!(error.field(), "schema");
        // Look-around and back-references need a backtracking engine.
        let contract = InputContract::data("x").schema(json!({"pattern": "(a)\\1"}));
        assert!(InputContracts::new().with(contract).compile().is_err());
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends_with_the_value() {
        let schema = json!({"$defs": {"n": {"properties": {"n": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"});
        let deep = format!("{}1{}", "{\"n\":".repeat(64), "}".repeat(64));
        assert!(select(InputContract::data("x").schema(schema), &[data(&deep)]).is_ok());
        let deepest = texts(
            InputContract::data("x").select("$..n").pick(Pick::Last),
            &[data(&deep)],
        );
        assert_eq!(deepest.len(), 1);
    }

    #[test]
    fn a_schema_that_leads_back_to_itself_twice_looks_only_so_deep() {
        let schema = json!({"anyOf": [{"properties": {"n": {"$ref": "#"}}, "required": ["n"]}, {"properties": {"n": {"$ref": "#"}}}]});
        let nested = |depth: usize| {
            data(&format!(
                "{}1{}",
                "{\"n\":".repeat(depth),
                "}".repeat(depth)
            ))
        };
        let contract = InputContract::data("x").schema(schema);
        assert!(select(contract.clone(), &[nested(13)]).is_ok());
        let miss = select(contract, &[nested(64)]).unwrap_err();
        assert!(
            miss.to_string()
                .contains("nests deeper than 13, which this recursive schema can check"),
            "{miss}"
        );
    }

    #[test]
    fn a_value_too_large_for_a_descendant_path_is_refused() {
        let deep = format!(
            "{}{}{}",
            "[".repeat(80),
            "1,".repeat(60_000) + "1",
            "]".repeat(80)
        );
        let contract = InputContract::data("x").select("$..a");
        let miss = select(contract.clone(), &[data(&deep)]).unwrap_err();
        assert!(
            miss.to_string()
                .contains("is too large for a path with `..`"),
            "{miss}"
        );
        assert_eq!(
            texts(contract, &[data(&deep), data(r#"{"b":{"a":1}}"#)]),
            ["1"]
        );
    }

    #[test]
    fn ten_thousand_candidates_are_looked_at_and_fifty_listed() {
        let parts: Vec<Part> = (0..10_000)
            .map(|n| data(&format!("{{\"n\":{n}}}")))
            .collect();
        let contract = InputContract::data("x")
            .select("$.m")
            .schema(json!({"type": "string"}));
        let miss = select(contract, &parts).unwrap_err();
        assert_eq!(miss.misses()[0].candidates().len(), 50);
        let payload = miss.payload().unwrap();
        assert!(payload.bytes() < 20_000);
        assert!(
            payload
                .data()
                .next()
                .unwrap()
                .contains(r#""moreCandidates":9950"#)
        );
        assert!(payload.text().ends_with("and 9995 more"));
    }

    #[test]
    fn a_million_places_of_one_part_are_located_in_one_pass() {
        let many = format!("[{}1]", "1,".repeat(999_999));
        let found = texts(
            InputContract::data("x").select("$[*]").pick(Pick::All),
            &[data(&many)],
        );
        assert_eq!(found.len(), 1_000_000);
    }
}
