//! What is selected reaches the agent as the text that stood there, and what cannot be parsed is
//! carried but never selected.

use llamon_agent::a2a::TaskState;
use llamon_agent::prelude::*;
use llamon_agent::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use crate::support::{POLICIES, Reporter, card, inputs, parts, say, start, talk, texts};

/// What stands at a place, and a path and a pointer to it.
const PLACES: [(&str, &str, &str); 12] = [
    ("$.n", "/n", "123456789012345678901234567890"),
    ("$.f", "/f", "1.0"),
    ("$.e", "/e", "1E+2"),
    ("$.m", "/m", "-0.0"),
    ("$.long", "/long", "0.1000000000000000055511151231257827"),
    ("$.s", "/s", r#""\u00e9\/""#),
    ("$.o", "/o", r#"{"z": 1, "a": 2.0,"z":3}"#),
    // Of two equal keys the last one counts.
    ("$.o.z", "/o/z", "3"),
    ("$.d[0].y", "/d/0/y", r#"{ "b":[1.50 , 1.5], "a":{} }"#),
    ("$['o/p']", "/o~1p", "\"slash\""),
    ("$.empty", "/empty", "[ ]"),
    ("$.nothing", "/nothing", "null"),
];

const VALUE: &str = r#"{"n":123456789012345678901234567890,"f":1.0,"e":1E+2,"m":-0.0,"long":0.1000000000000000055511151231257827,"s":"\u00e9\/","o":{"z": 1, "a": 2.0,"z":3},"d":[{"y":{ "b":[1.50 , 1.5], "a":{} }}],"o\/p":"slash","empty":[ ],"nothing":null}"#;

#[tokio::test]
async fn the_text_at_a_place_reaches_the_agent_token_for_token() {
    let mut contracts = InputContracts::new();
    for (path, pointer, _) in PLACES {
        for select in [path, pointer] {
            contracts = contracts.with(InputContract::data(select).select(select));
        }
    }
    contracts = contracts.with(InputContract::data("whole").select("$"));
    let sent = format!(r#"{{"data":{VALUE}}}"#);
    for policy in POLICIES {
        let server = create_server(card("reader"), Reporter::default())
            .input_contracts(contracts.clone())
            .upstream_parts_policy(policy);
        let seen = say(&start(server).await, &[&sent]).await;
        let report = seen.report();
        for (path, pointer, expected) in PLACES {
            for select in [path, pointer] {
                assert_eq!(report.inputs[select], [expected], "{select}");
                assert_eq!(report.places[select], [(0, pointer.to_owned())], "{select}");
            }
        }
        assert_eq!(report.inputs["whole"], [VALUE]);
        let kept = if policy == "append" {
            &[VALUE][..]
        } else {
            &[]
        };
        assert_eq!(seen.data, kept);
    }
}

#[derive(InputContracts)]
struct Amounts {
    #[input(select = "$.items[*].amount")]
    amounts: Vec<Box<RawValue>>,
    #[input(select = "$..amount", pick = "last")]
    last: Box<RawValue>,
    #[input(select = "$[?@.amount]")]
    listed: Option<Box<RawValue>>,
    #[input(select = "/items/0/amount")]
    big: u128,
    whole: Box<RawValue>,
}

#[derive(Serialize)]
struct Handed {
    amounts: Vec<Box<RawValue>>,
    last: Box<RawValue>,
    listed: Option<Box<RawValue>>,
    whole: Box<RawValue>,
}

async fn hand_on(inputs: Amounts, _: Turn) -> Result<(String, Json<Handed>), AgentError> {
    let Amounts {
        amounts,
        last,
        listed,
        big,
        whole,
    } = inputs;
    let handed = Handed {
        amounts,
        last,
        listed,
        whole,
    };
    Ok((big.to_string(), Json(handed)))
}

#[tokio::test]
async fn a_struct_of_raw_values_has_the_texts_themselves() {
    let items = r#"{"items":[{"amount":123456789012345678901234567890},{"amount":1.0},{"amount":{"b":2,"a":1.50,"b":1e2}},{"none":0}]}"#;
    let list = r#"[{"amount":0},{"no":1}]"#;
    let server = start(create_server(card("reader"), hand_on)).await;
    let sent = [items, list].map(|json| format!(r#"{{"data":{json}}}"#));
    let seen = say(&server, &[&sent[0], &sent[1]]).await;
    assert_eq!(seen.state, TaskState::Completed, "{}", seen.status_text());
    assert_eq!(seen.response().text, "123456789012345678901234567890");
    let expected = format!(
        r#"{{"amounts":[123456789012345678901234567890,1.0,{{"b":2,"a":1.50,"b":1e2}}],"last":0,"listed":{{"amount":0}},"whole":{items}}}"#
    );
    assert_eq!(seen.data, [expected]);
}

#[derive(Deserialize, JsonSchema)]
struct Exact {
    /// More digits than a float holds, in the order in which they are sent.
    n: u64,
    f: f64,
}

#[derive(InputContracts)]
struct Typed {
    exact: Exact,
}

async fn exact(inputs: Typed, _: Turn) -> Result<String, AgentError> {
    Ok(format!("{} {:?}", inputs.exact.n, inputs.exact.f))
}

#[tokio::test]
async fn typed_inputs_are_read_from_the_text() {
    let server = start(create_server(card("reader"), exact)).await;
    let sent = r#"{"data":{"f":1.0,"n":9007199254740993}}"#;
    let seen = say(&server, &[sent]).await;
    assert_eq!(seen.response().text, "9007199254740993 1.0");
    // An integer for the schema is not always one for the type.
    let seen = say(&server, &[r#"{"data":{"f":1.0,"n":1.0}}"#]).await;
    assert_eq!(seen.state, TaskState::Rejected);
    let text = seen.status_text();
    assert!(
        text.contains("cannot be read as the agent's type"),
        "{text}"
    );
}

#[tokio::test]
async fn a_part_with_line_breaks_is_compacted_once_on_arrival() {
    let contracts = InputContracts::new().with(InputContract::data("o").select("$.o"));
    let server = create_server(card("reader"), Reporter::default())
        .input_contracts(contracts)
        .upstream_parts_policy("append");
    let server = start(server).await;
    let sent = "{\"data\":{\n  \"o\": {\"z\": 1.0,\r\n \"a\": [ 1E2 ]}}}";
    let seen = say(&server, &[sent]).await;
    assert_eq!(seen.report().inputs["o"], [r#"{"z":1.0,"a":[1E2]}"#]);
    assert_eq!(seen.data, [r#"{"o":{"z":1.0,"a":[1E2]}}"#]);
}

// === what cannot be parsed ===

/// Values that can be carried and not be parsed, and what says so.
const UNPARSABLE: [(&str, &str); 5] = [
    ("1e400", "number out of range"),
    (
        r#"{"a":{"deep":[-1e999]},"order":1}"#,
        "number out of range",
    ),
    (r#""\ud800""#, "hex escape"),
    (r#"{"order":1,"s":"\udc00x"}"#, "surrogate"),
    (r#"{"\ud83d":1,"order":1}"#, "hex escape"),
];

#[tokio::test]
async fn a_part_that_cannot_be_parsed_never_matches_and_the_status_says_so() {
    let contracts = || {
        InputContracts::new()
            .with(InputContract::data("any"))
            .with(InputContract::data("order").select("$.order"))
            .with(InputContract::data("pointed").select("/order"))
    };
    for policy in POLICIES {
        let agent = Reporter::default();
        let server = create_server(card("reader"), agent.clone())
            .input_contracts(contracts())
            .upstream_parts_policy(policy);
        let server = start(server).await;
        for (value, reason) in UNPARSABLE {
            let seen = say(&server, &[&format!(r#"{{"data":{value}}}"#)]).await;
            assert_eq!(seen.state, TaskState::Rejected);
            assert_eq!(seen.artifacts, []);
            assert_eq!(seen.missing_names(), ["any", "order", "pointed"]);
            let (text, missing) = seen.missing();
            assert!(text.contains("): cannot be parsed: "), "{text}");
            for miss in missing.as_array().unwrap() {
                let found = miss["candidates"][0]["reason"].as_str().unwrap();
                assert!(found.starts_with("cannot be parsed: "), "{found}");
                assert!(
                    reason == "surrogate" || found.contains(reason),
                    "{value}: {found}"
                );
            }
        }
        assert_eq!(agent.runs(), 0);
    }
}

#[tokio::test]
async fn what_cannot_be_parsed_is_passed_over_and_still_kept_by_append() {
    let contracts = InputContracts::new()
        .with(InputContract::data("order").select("$.order"))
        .with(InputContract::data("all").pick(Pick::All))
        .with(InputContract::data("last").pick(Pick::Last))
        .with(InputContract::data("one").select("/order").pick(Pick::One));
    let unparsable = UNPARSABLE.map(|(value, _)| format!(r#"{{"data":{value}}}"#));
    let good = r#"{"data":{"order":2.0}}"#;
    let mut sent: Vec<&str> = unparsable.iter().map(String::as_str).collect();
    sent.insert(3, good);
    let server = create_server(card("reader"), Reporter::default())
        .input_contracts(contracts)
        .upstream_parts_policy("append");
    let seen = say(&start(server).await, &sent).await;
    let whole = r#"{"order":2.0}"#;
    let expected = inputs(&[
        ("order", &["2.0"]),
        ("all", &[whole]),
        ("last", &[whole]),
        ("one", &["2.0"]),
    ]);
    assert_eq!(seen.report().inputs, expected);
    assert_eq!(seen.report().places["order"], [(3, "/order".to_owned())]);
    assert_eq!(seen.response().others, sent);
}

#[tokio::test]
async fn a_file_is_matched_beside_a_part_that_cannot_be_parsed() {
    // Files are not parsed, and neither is data that a cheaper test has ruled out.
    let contracts = InputContracts::new()
        .with(InputContract::file("scan").media_type("image/png"))
        .with(InputContract::data("csv").media_type("text/csv").optional());
    let server = create_server(card("reader"), Reporter::default()).input_contracts(contracts);
    let sent = [
        r#"{"data":1e400}"#,
        r#"{"url":"x:y","mediaType":"image/png","metadata":{"n":1e400}}"#,
    ];
    let report = say(&start(server).await, &sent).await.report();
    assert_eq!(
        report.inputs,
        inputs(&[("csv", &[]), ("scan", &["\"x:y\""])])
    );
}

#[tokio::test]
async fn without_contracts_no_data_part_is_parsed() {
    let unparsable = UNPARSABLE.map(|(value, _)| format!(r#"{{"data":{value},"x":[1e999]}}"#));
    let sent: Vec<&str> = unparsable.iter().map(String::as_str).collect();
    for policy in POLICIES {
        // No contracts at all, and a list of none.
        for contracts in [None, Some(InputContracts::new())] {
            let mut server = create_server(card("reader"), Reporter::returning(&[sent[0]]))
                .upstream_parts_policy(policy);
            if let Some(contracts) = contracts {
                server = server.input_contracts(contracts);
            }
            let seen = say(&start(server).await, &sent).await;
            let report = seen.report();
            assert_eq!(report.upstream, sent);
            assert_eq!(report.inputs, inputs(&[]));
            let mut expected = vec![sent[0]];
            if policy == "append" {
                expected.extend(&sent);
            }
            assert_eq!(seen.response().others, expected, "{policy}");
        }
    }
}

#[tokio::test]
async fn a_schema_sees_a_float_and_the_agent_the_digits() {
    let schema = json!({"type": "integer", "minimum": 1e29, "maximum": 2e29});
    let contracts = InputContracts::new().with(InputContract::data("n").schema(schema));
    let server = create_server(card("reader"), Reporter::default()).input_contracts(contracts);
    let server = start(server).await;
    let fits = parts(&[r#"{"data":123456789012345678901234567891}"#]);
    let seen = talk(&server, std::slice::from_ref(&fits)).await.remove(0);
    assert_eq!(
        seen.report().inputs["n"],
        ["123456789012345678901234567891"]
    );
    assert_eq!(seen.report().upstream, texts(&fits));
    let seen = say(&server, &[r#"{"data":323456789012345678901234567890}"#]).await;
    assert_eq!(seen.state, TaskState::Rejected);
    let text = seen.status_text();
    assert!(!text.contains("3234567"), "{text}");
}
