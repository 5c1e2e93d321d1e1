//! What is missing: the task is rejected or asks, and the explanation tells nothing that was sent.

use llamon_agent::a2a::{Message, TaskState};
use llamon_agent::contracts::InputKind;
use llamon_agent::prelude::*;
use llamon_agent::testing::TestServer;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{POLICIES, Reporter, Seen, callers, card, outgoing, parts, say, start, talk};

/// Stands in every part that must not be told.
const CANARY: &str = "XYZZY4711";
/// The same as base64 and as a number.
const CANARIES: [&str; 3] = [CANARY, "WFlaWlk0NzEx", "47114711"];

/// What is sent, with the canaries in all places that are somebody's content.
const SECRETS: [&str; 6] = [
    r#"{"text":"XYZZY4711","filename":"XYZZY4711.txt"}"#,
    r#"{"data":{"s":"XYZZY4711","n":47114711,"a":["XYZZY4711",47114711,"XYZZY4711"],"o":{"k":"XYZZY4711","l":47114711}},"filename":"XYZZY4711.json","metadata":{"k":"XYZZY4711"}}"#,
    r#"{"raw":"WFlaWlk0NzEx","filename":"XYZZY4711.png","mediaType":"image/png"}"#,
    r#"{"url":"https://example.com/XYZZY4711","metadata":{"k":"XYZZY4711"}}"#,
    r#"{"data":"XYZZY4711"}"#,
    r#"{"data":{"s":"XYZZY4711\ud800"}}"#,
];

async fn serve(contracts: InputContracts, policy: &str, agent: &Reporter) -> TestServer {
    let server = create_server(card("reader"), agent.clone());
    start(
        server
            .input_contracts(contracts)
            .upstream_parts_policy(policy),
    )
    .await
}

fn assert_tells_nothing(seen: &Seen) {
    let said = seen.status.iter().map(Part::json).collect::<String>();
    let said = format!("{said}{}", seen.status_text());
    for canary in CANARIES {
        assert!(!said.contains(canary), "{canary} is in {said}");
    }
}

// === reject ===

#[tokio::test]
async fn a_miss_rejects_the_task_and_explains_it_in_the_status_alone() {
    let contracts = InputContracts::new()
        .with(
            InputContract::data("order")
                .select("$.order")
                .description("the order"),
        )
        .with(InputContract::data("note").optional())
        .with(InputContract::file("scan").media_type("image/jpeg"))
        .with(InputContract::file("lock").filename("*.lock"))
        .with(InputContract::data("audit").source("auditor"));
    for policy in POLICIES {
        let agent = Reporter::returning(&[r#"{"data":1}"#]);
        let server = serve(contracts.clone(), policy, &agent).await;
        let seen = say(&server, &SECRETS).await;
        assert_eq!(seen.state, TaskState::Rejected);
        assert_eq!(seen.artifacts, [], "append adds nothing: {policy}");
        assert_eq!((seen.data.len(), seen.files.len()), (0, 0));
        assert_eq!(seen.missing_names(), ["order", "scan", "lock", "audit"]);
        assert_tells_nothing(&seen);
        assert_eq!(agent.runs(), 0, "the agent has not run");

        let (text, missing) = seen.missing();
        let start = "the data input \"order\" is missing (the order): nothing that was sent matches\n  part 0 (text, 47 bytes): is no data part\n";
        assert!(text.starts_with(start), "{text}");
        let bytes: Vec<u64> = SECRETS.iter().map(|part| part.len() as u64).collect();
        for miss in missing.as_array().unwrap() {
            assert_eq!(miss["problem"], "nothing that was sent matches");
            assert_eq!(miss["moreCandidates"], 0);
            let candidates = miss["candidates"].as_array().unwrap();
            let listed = |field: &'static str| candidates.iter().map(move |it| it[field].clone());
            let kinds: Vec<Value> = listed("kind").collect();
            assert_eq!(kinds, ["text", "data", "raw", "url", "data", "data"]);
            let found: Vec<u64> = listed("bytes").map(|n| n.as_u64().unwrap()).collect();
            assert_eq!(found, bytes);
            let indexes: Vec<u64> = listed("index").map(|n| n.as_u64().unwrap()).collect();
            assert_eq!(indexes, [0, 1, 2, 3, 4, 5]);
            assert_eq!(candidates[2]["mediaType"], "image/png");
            assert!(candidates[1].get("mediaType").is_none());
        }
        let reason = |miss: usize, part: usize| missing[miss]["candidates"][part]["reason"].clone();
        assert_eq!(reason(0, 1), "has nothing at $.order");
        assert_eq!(reason(0, 4), "has nothing at $.order");
        assert_eq!(reason(1, 2), "its media type does not match \"image/jpeg\"");
        assert_eq!(reason(1, 3), "has no media type, \"image/jpeg\" is wanted");
        assert_eq!(reason(2, 2), "its file name does not match \"*.lock\"");
        assert_eq!(reason(2, 3), "has no file name, \"*.lock\" is wanted");
        assert_eq!(reason(3, 1), "does not come from \"auditor\"");

        // The server is as it was.
        let history = &seen.history;
        assert_eq!(history.len(), 1);
        assert_eq!(history[0].1, SECRETS);
    }
}

#[tokio::test]
async fn a_message_of_nothing_but_a_text_is_explained_too() {
    let contracts = InputContracts::new()
        .with(InputContract::data("order"))
        .with(InputContract::new("scan", InputKind::File));
    let agent = Reporter::default();
    let server = serve(contracts, "append", &agent).await;
    let seen = say(&server, &[SECRETS[0]]).await;
    let (text, _) = seen.missing();
    let expected = "the data input \"order\" is missing: nothing that was sent matches\n  part 0 (text, 47 bytes): is no data part\nthe file input \"scan\" is missing: nothing that was sent matches\n  part 0 (text, 47 bytes): is no file part";
    assert_eq!(text, expected);
}

#[tokio::test]
async fn no_keyword_of_a_schema_tells_what_it_found() {
    // Each fails on what is at its place.
    let schemas = [
        ("$.s", json!({"const": "a"})),
        ("$.s", json!({"enum": ["a", "b"]})),
        ("$.s", json!({"pattern": "^a$"})),
        ("$.s", json!({"minLength": 100})),
        ("$.s", json!({"maxLength": 1})),
        ("$.s", json!({"type": "number"})),
        ("$.s", json!({"not": {"type": "string"}})),
        ("$.s", json!(false)),
        (
            "$.s",
            json!({"anyOf": [{"type": "number"}, {"const": "a"}]}),
        ),
        (
            "$.s",
            json!({"oneOf": [{"type": "string"}, {"minLength": 1}]}),
        ),
        ("$.s", json!({"oneOf": [{"const": 1}, {"const": 2}]})),
        (
            "$.s",
            json!({"allOf": [{"type": "string"}, {"pattern": "^b"}]}),
        ),
        (
            "$.s",
            json!({"if": {"type": "string"}, "then": {"const": "c"}}),
        ),
        (
            "$.s",
            json!({"$defs": {"x": {"const": 1}}, "$ref": "#/$defs/x"}),
        ),
        ("$.n", json!({"minimum": 1e12})),
        ("$.n", json!({"maximum": 1})),
        ("$.n", json!({"exclusiveMinimum": 1e12})),
        ("$.n", json!({"exclusiveMaximum": 1})),
        ("$.n", json!({"multipleOf": 10})),
        ("$.n", json!({"const": 1})),
        ("$.a", json!({"uniqueItems": true})),
        ("$.a", json!({"minItems": 9})),
        ("$.a", json!({"maxItems": 1})),
        ("$.a", json!({"items": {"type": "number"}})),
        ("$.a", json!({"prefixItems": [{"const": 1}]})),
        ("$.a", json!({"prefixItems": [true], "items": false})),
        (
            "$.a",
            json!({"prefixItems": [true], "unevaluatedItems": false}),
        ),
        ("$.a", json!({"contains": {"type": "null"}})),
        (
            "$.a",
            json!({"contains": {"type": "string"}, "maxContains": 1}),
        ),
        ("$.o", json!({"required": ["z"]})),
        ("$.o", json!({"maxProperties": 1})),
        ("$.o", json!({"minProperties": 9})),
        ("$.o", json!({"additionalProperties": false})),
        ("$.o", json!({"unevaluatedProperties": false})),
        ("$.o", json!({"additionalProperties": {"type": "null"}})),
        ("$.o", json!({"properties": {"k": {"const": "a"}}})),
        (
            "$.o",
            json!({"patternProperties": {"^k$": {"maxLength": 1}}}),
        ),
        ("$.o", json!({"propertyNames": {"maxLength": 0}})),
        ("$.o", json!({"dependentRequired": {"k": ["z"]}})),
        (
            "$.o",
            json!({"dependentSchemas": {"k": {"required": ["z"]}}}),
        ),
        ("$.o", json!({"const": {}})),
        ("$", json!({"type": "object", "required": ["z"]})),
        ("$", json!({"not": {}})),
    ];
    let count = schemas.len();
    let contracts = schemas.into_iter().enumerate();
    let contracts = contracts.map(|(index, (select, schema))| {
        InputContract::data(format!("{index}"))
            .select(select)
            .schema(schema)
    });
    let agent = Reporter::default();
    let server = serve(contracts.collect(), "append", &agent).await;
    let seen = say(&server, &SECRETS).await;
    assert_eq!(seen.state, TaskState::Rejected);
    let (_, missing) = seen.missing();
    let missing = missing.as_array().unwrap();
    assert_eq!(missing.len(), count, "each of them fails");
    for miss in missing {
        let reason = miss["candidates"][1]["reason"].as_str().unwrap();
        let start = "does not satisfy the schema: ";
        assert!(reason.starts_with(start), "{miss}");
        assert!(reason.len() > start.len(), "{miss}");
    }
    assert_tells_nothing(&seen);
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Choice {
    _One,
    _Two,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Either {
    _Number(#[expect(dead_code, reason = "only its type matters")] u8),
    _List(#[expect(dead_code, reason = "only its type matters")] Vec<u8>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Strict {
    #[expect(dead_code, reason = "only its type matters")]
    z: u8,
}

struct Custom;

impl<'de> Deserialize<'de> for Custom {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Err(serde::de::Error::custom(format!("I do not like {value}")))
    }
}

#[tokio::test]
async fn no_type_tells_what_it_found() {
    let data = |name: &str, select: &str| InputContract::data(name).select(select);
    let contracts = InputContracts::new()
        .with(data("number", "$.s").typed::<f64>())
        .with(data("byte", "$.n").typed::<u8>())
        .with(data("char", "$.s").typed::<char>())
        .with(data("list", "$.a").typed::<Vec<u8>>())
        .with(data("array", "$.a").typed::<[String; 7]>())
        .with(data("choice", "$.s").typed::<Choice>())
        .with(data("either", "$.s").typed::<Either>())
        .with(data("strict", "$.o").typed::<Strict>())
        .with(data("custom", "$.s").typed::<Custom>())
        .with(data("unit", "$.o").typed::<()>())
        .with(data("map", "$").typed::<std::collections::BTreeMap<String, u8>>())
        .with(InputContract::text("text").typed::<u8>());
    let agent = Reporter::default();
    let server = serve(contracts, "replace", &agent).await;
    let seen = say(&server, &SECRETS).await;
    assert_eq!(seen.state, TaskState::Rejected);
    assert_eq!(seen.missing_names().len(), 12, "each of them fails");
    let (text, _) = seen.missing();
    assert_eq!(
        text.matches("cannot be read as the agent's type: ").count(),
        13,
        "{text}"
    );
    assert_tells_nothing(&seen);
}

#[tokio::test]
async fn an_ambiguous_pick_of_one_rejects_even_where_it_would_ask() {
    let contract = InputContract::data("order")
        .select("$.order")
        .pick(Pick::One)
        .on_missing(OnMissing::Ask);
    let twice = [
        r#"{"data":{"order":"XYZZY4711"}}"#,
        r#"{"data":{"order":47114711}}"#,
    ];
    for (contract, asks) in [(contract.clone(), true), (contract.optional(), false)] {
        let agent = Reporter::default();
        let contracts = InputContracts::new().with(contract);
        let server = serve(contracts, "append", &agent).await;
        let seen = say(&server, &twice).await;
        assert_eq!(seen.state, TaskState::Rejected);
        assert_eq!(seen.artifacts, []);
        let (text, missing) = seen.missing();
        assert!(text.contains("2 matches, exactly one is allowed"), "{text}");
        assert!(missing[0]["candidates"][0].get("reason").is_none());
        assert_tells_nothing(&seen);
        assert_eq!(agent.runs(), 0);

        // Nothing at all is another matter.
        let seen = say(&server, &[r#"{"text":"hi"}"#]).await;
        let expected = if asks {
            TaskState::InputRequired
        } else {
            TaskState::Completed
        };
        assert_eq!(seen.state, expected);
    }
}

#[tokio::test]
async fn one_that_must_not_be_missing_rejects_for_those_that_could_be_asked_for() {
    let contracts = InputContracts::new()
        .with(
            InputContract::data("a")
                .select("/a")
                .on_missing(OnMissing::Ask),
        )
        .with(InputContract::data("b").select("/b"));
    let agent = Reporter::default();
    let server = serve(contracts, "append", &agent).await;
    let seen = say(&server, &[r#"{"text":"hi"}"#]).await;
    assert_eq!(seen.state, TaskState::Rejected);
    assert_eq!(seen.missing_names(), ["a", "b"]);
    let seen = say(&server, &[r#"{"data":{"b":1}}"#]).await;
    assert_eq!(seen.state, TaskState::InputRequired);
    assert_eq!(seen.missing_names(), ["a"]);
    let seen = say(&server, &[r#"{"data":{"a":1}}"#]).await;
    assert_eq!(seen.state, TaskState::Rejected);
    assert_eq!(seen.missing_names(), ["b"]);
    assert_eq!(agent.runs(), 0);
}

#[tokio::test]
async fn a_miss_shows_a_task_that_would_appear_with_the_first_output() {
    for (on_missing, state) in [
        (OnMissing::Reject, TaskState::Rejected),
        (OnMissing::Ask, TaskState::InputRequired),
    ] {
        let contract = InputContract::data("order").on_missing(on_missing);
        let agent = Reporter::default();
        let server = create_server(card("reader"), agent.clone())
            .input_contracts(InputContracts::new().with(contract))
            .task_visibility(TaskVisibility::WithFirstOutput);
        let server = start(server).await;
        let messages = [parts(&[r#"{"text":"hi"}"#]), parts(&[r#"{"data":1}"#])];
        let seen = talk(&server, &messages[..1]).await;
        assert_eq!(seen[0].state, state);
        assert_eq!(seen[0].missing_names(), ["order"]);
        if on_missing == OnMissing::Ask {
            let seen = talk(&server, &messages).await;
            assert_eq!(seen[1].report().inputs["order"], ["1"]);
        }
    }
}

#[tokio::test]
async fn the_example_of_the_guide() {
    let schema = json!({
        "type": "object",
        "properties": {"id": {"type": "integer"}, "total": {"type": "number"}},
        "required": ["id", "total"],
    });
    let order = InputContract::data("order")
        .select("/order")
        .schema(schema)
        .on_missing(OnMissing::Ask)
        .description("the order to convert");
    let contracts = InputContracts::new().with(order);
    let server = serve(contracts, "append", &Reporter::default()).await;
    let sent = [
        r#"{"text":"convert this"}"#,
        r#"{"data":{"order":{"id":7,"total":"12"}}}"#,
        r#"{"url":"https://example.com/scan.png","filename":"scan.png","mediaType":"image/png"}"#,
    ];
    let (text, missing) = say(&server, &sent).await.missing();
    let expected = "the data input \"order\" is missing (the order to convert): nothing that was sent matches
  part 0 (text, 23 bytes): is no data part
  part 1 (data, 40 bytes): does not satisfy the schema: value is not of type \"number\" at /order/total
  part 2 (url, image/png, 84 bytes): is no data part";
    assert_eq!(text, expected);
    let expected = json!([{
        "name": "order",
        "kind": "data",
        "description": "the order to convert",
        "problem": "nothing that was sent matches",
        "candidates": [
            {"index": 0, "kind": "text", "bytes": 23, "reason": "is no data part"},
            {
                "index": 1, "kind": "data", "bytes": 40,
                "reason": "does not satisfy the schema: value is not of type \"number\"",
                "pointer": "/order/total",
            },
            {"index": 2, "kind": "url", "bytes": 84, "mediaType": "image/png", "reason": "is no data part"},
        ],
        "moreCandidates": 0,
    }]);
    assert_eq!(missing, expected);
}

// === a miss on the wire ===

#[tokio::test]
async fn who_does_not_wait_sees_the_miss_when_it_is_there() {
    for (on_missing, state) in [
        (OnMissing::Reject, TaskState::Rejected),
        (OnMissing::Ask, TaskState::InputRequired),
    ] {
        let contract = InputContract::data("order").on_missing(on_missing);
        let contracts = InputContracts::new().with(contract);
        let server = serve(contracts, "append", &Reporter::default()).await;
        for binding in crate::support::BINDINGS {
            let client = server.client_with(binding).await.unwrap();
            let message = outgoing(parts(&SECRETS[..1])).return_immediately();
            let reply = client.send(message).await.unwrap();
            let id = &reply.task().unwrap().id;
            // A task that has ended has no more events, and is as it is.
            if let Ok(mut events) = client.subscribe(id).await {
                while let Some(event) = events.next().await {
                    if event.unwrap().state().is_some_and(TaskState::is_settled) {
                        break;
                    }
                }
            }
            let seen = Seen::of(&client.get(id).await.unwrap());
            assert_eq!(seen.state, state);
            assert_eq!(seen.missing_names(), ["order"]);
        }
    }
}

#[tokio::test]
async fn a_rejected_task_takes_no_answer() {
    let contracts = InputContracts::new().with(InputContract::data("order").select("$.order"));
    let server = serve(contracts, "append", &Reporter::default()).await;
    for caller in callers(&server).await {
        let (id, seen) = caller.say(outgoing(parts(&SECRETS))).await;
        let answer = outgoing(parts(&[r#"{"data":{"order":1}}"#])).in_task(id);
        let error = caller.try_say(answer).await.unwrap_err();
        let refused = error.protocol().unwrap();
        let code = llamon_agent::a2a::ErrorCode::UnsupportedOperation;
        assert_eq!(refused.code(), code);
        assert_eq!(seen.state, TaskState::Rejected);
    }
}

#[tokio::test]
async fn a_stream_of_a_miss_has_no_artifact_and_ends_with_the_status() {
    for on_missing in [OnMissing::Reject, OnMissing::Ask] {
        let contract = InputContract::data("order")
            .select("$.order")
            .on_missing(on_missing);
        let agent = Reporter::returning(&[r#"{"data":1}"#]);
        let contracts = InputContracts::new().with(contract);
        let server = serve(contracts, "append", &agent).await;
        for caller in callers(&server).await {
            let mut stream = caller
                .client
                .stream(outgoing(parts(&SECRETS)))
                .await
                .unwrap();
            let mut last = None;
            while let Some(event) = stream.next().await {
                let event = event.unwrap();
                let is_artifact = matches!(event, llamon_agent::a2a::StreamEvent::Artifact(_));
                assert!(!is_artifact, "{event:?}");
                last = event.state();
            }
            let expected = match on_missing {
                OnMissing::Ask => TaskState::InputRequired,
                OnMissing::Reject => TaskState::Rejected,
            };
            assert_eq!(last, Some(expected));
        }
    }
}

#[tokio::test]
async fn two_servers_that_differ_in_policy_say_the_same_of_a_miss() {
    let mut said = Vec::new();
    for policy in POLICIES {
        let agent = Reporter::default();
        let contracts = InputContracts::new().with(InputContract::data("order").select("/order"));
        let server = serve(contracts, policy, &agent).await;
        said.push(say(&server, &SECRETS).await);
    }
    assert_eq!(said[0], said[1]);
    let message: &Message =
        &Message::new("m", llamon_agent::a2a::Role::Agent, said[0].status.clone());
    let mut json = String::new();
    message.write(&mut json);
    for word in ["append", "replace", "policy"] {
        assert!(!json.contains(word), "{json}");
    }
}
