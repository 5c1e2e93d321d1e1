//! Input made to be expensive: a clear answer, and the server goes on.
//!
//! Bounded by construction, not by a clock: what blows up does not come back at all.

use llamon_agent::a2a::{ErrorCode, TaskState};
use llamon_agent::prelude::*;
use llamon_agent::testing::TestServer;
use serde_json::json;

use crate::support::{Reporter, callers, card, outgoing, part, parts, say, start, talk};

async fn serve(contracts: InputContracts) -> TestServer {
    let server = create_server(card("reader"), Reporter::returning(&[r#"{"data":"own"}"#]))
        .input_contracts(contracts)
        .upstream_parts_policy("append");
    start(server).await
}

/// Whether the server answers a message that has what the contracts want.
async fn assert_answers(server: &TestServer, good: &str) {
    let reply = server.send(outgoing([part(good)])).await;
    let reply = reply.expect("an answer");
    assert_eq!(reply.state(), Some(TaskState::Completed));
}

fn nested(levels: usize, core: &str) -> String {
    format!("{}{core}{}", "{\"n\":".repeat(levels), "}".repeat(levels))
}

#[tokio::test]
async fn ten_thousand_candidates_are_looked_at_and_counted() {
    let many: Vec<Part> = (0..10_000)
        .map(|n| part(&format!(r#"{{"data":{{"n":{n}.0}}}}"#)))
        .collect();
    let contracts = InputContracts::new()
        .with(InputContract::data("all").select("$.n").pick(Pick::All))
        .with(
            InputContract::data("last")
                .select("$[?@ >= 0]")
                .pick(Pick::Last),
        )
        .with(InputContract::data("none").select("$.m"));
    let server = serve(contracts).await;
    let seen = talk(&server, std::slice::from_ref(&many)).await.remove(0);
    assert_eq!(seen.state, TaskState::Rejected);
    assert_eq!(seen.artifacts, []);
    let (text, missing) = seen.missing();
    assert!(text.ends_with("\n  and 9995 more"), "{text}");
    assert_eq!(missing.as_array().unwrap().len(), 1);
    assert_eq!(missing[0]["candidates"].as_array().unwrap().len(), 50);
    assert_eq!(missing[0]["moreCandidates"], 9_950);

    // With the one that it lacked, all are read and all are kept.
    let mut enough = many[1..].to_vec();
    enough.push(part(r#"{"data":{"m":0}}"#));
    let seen = talk(&server, std::slice::from_ref(&enough)).await.remove(0);
    let report = seen.report();
    assert_eq!(report.inputs["all"].len(), 9_999);
    assert_eq!(report.inputs["all"][9_998], "9999.0");
    assert_eq!(report.inputs["last"], ["0"]);
    assert_eq!(seen.response().others.len(), 10_001);

    // One more is too many, and the error says so.
    enough.push(part(r#"{"data":1}"#));
    for caller in callers(&server).await {
        let error = caller.try_say(outgoing(enough.clone())).await.unwrap_err();
        let refused = error.protocol().unwrap();
        assert_eq!(refused.code(), ErrorCode::InvalidParams);
        let text = refused.to_string();
        assert!(
            text.contains("message.parts") && text.contains("10000"),
            "{text}"
        );
    }
    let good = r#"{"data":{"n":1,"m":1}}"#;
    assert_answers(&server, good).await;
}

#[tokio::test]
async fn a_value_64_levels_deep() {
    let schema = json!({
        "$defs": {"n": {"properties": {"n": {"$ref": "#/$defs/n"}}, "type": ["object", "integer"]}},
        "$ref": "#/$defs/n",
    });
    let pointer = "/n".repeat(64);
    let contracts = InputContracts::new()
        .with(InputContract::data("whole").schema(schema))
        .with(InputContract::data("every").select("$..n").pick(Pick::All))
        .with(
            InputContract::data("deepest")
                .select("$..n")
                .pick(Pick::Last),
        )
        .with(InputContract::data("pointed").select(&pointer))
        .with(
            InputContract::data("children")
                .select("$..*")
                .pick(Pick::All),
        );
    let server = serve(contracts).await;
    let deep = format!(r#"{{"data":{}}}"#, nested(64, "1"));
    let seen = say(&server, &[&deep]).await;
    let report = seen.report();
    assert_eq!(report.inputs["whole"], [nested(64, "1")]);
    assert_eq!(report.inputs["every"].len(), 64);
    assert_eq!(report.inputs["every"][0], nested(63, "1"));
    assert_eq!(report.inputs["deepest"], ["1"]);
    assert_eq!(report.places["deepest"], [(0, pointer.clone())]);
    assert_eq!(report.inputs["pointed"], ["1"]);
    assert_eq!(report.inputs["children"].len(), 64);
    assert_eq!(seen.response().others[1..], [&*deep]);

    // The reason is at the bottom.
    let wrong = format!(r#"{{"data":{}}}"#, nested(64, "\"x\""));
    let seen = say(&server, &[&wrong]).await;
    assert_eq!(seen.missing_names(), ["whole"]);
    let (_, missing) = seen.missing();
    let shown = missing[0]["candidates"][0]["pointer"].as_str().unwrap();
    assert_eq!(shown, &pointer[..100], "100 characters of it");
    assert_answers(&server, &deep).await;
}

#[tokio::test]
async fn a_value_deeper_than_the_server_takes() {
    let contracts = InputContracts::new().with(InputContract::data("n").select("$..n"));
    let limits = Limits::default().with_max_json_depth(70);
    let server = create_server(card("reader"), Reporter::default())
        .input_contracts(contracts)
        .limits(limits);
    let server = start(server).await;
    let deep = |levels| format!(r#"{{"data":{}}}"#, nested(levels, "1"));
    for caller in callers(&server).await {
        let error = caller
            .try_say(outgoing([part(&deep(70))]))
            .await
            .unwrap_err();
        let text = error.protocol().expect("a refusal").to_string();
        assert!(text.contains("70"), "{text}");
        let (_, seen) = caller.say(outgoing([part(&deep(64))])).await;
        assert_eq!(seen.state, TaskState::Completed);
    }
}

#[tokio::test]
async fn many_places_in_one_part() {
    let contracts = InputContracts::new()
        .with(InputContract::data("all").select("$..*").pick(Pick::All))
        .with(
            InputContract::data("some")
                .select("$[?@[1] > 0]")
                .pick(Pick::All),
        )
        .with(InputContract::data("one").select("$[*]").pick(Pick::One));
    let server = serve(contracts).await;
    let pairs = vec!["[0,1]"; 20_000].join(",");
    let many = format!(r#"{{"data":[{pairs}]}}"#);
    let seen = say(&server, &[&many]).await;
    assert_eq!(seen.state, TaskState::Rejected);
    assert_eq!(seen.missing_names(), ["one"]);
    let text = seen.status_text();
    assert!(
        text.contains("20000 matches, exactly one is allowed"),
        "{text}"
    );
    assert!(text.len() < 1_000);
    assert_answers(&server, r#"{"data":[[0,1]]}"#).await;
}

#[tokio::test]
async fn a_pattern_made_to_backtrack_takes_linear_time() {
    let evil = [
        "^(a+)+$",
        "^(a|aa)+$",
        "^(a|a?)+$",
        "^(.*a){20}$",
        "^([a-z]+)*!$",
    ];
    let contracts = evil.iter().map(|pattern| {
        InputContract::data(*pattern).schema(json!({"type": "string", "pattern": pattern}))
    });
    let server = serve(contracts.collect()).await;
    let text = "a".repeat(100_000);
    let sent = [
        format!(r#"{{"data":"{text}!?"}}"#),
        format!(r#"{{"data":"{text}"}}"#),
    ];
    let seen = say(&server, &[&sent[0]]).await;
    assert_eq!(seen.state, TaskState::Rejected);
    let expected = [
        "^(a+)+$",
        "^(a|aa)+$",
        "^(a|a?)+$",
        "^(.*a){20}$",
        "^([a-z]+)*!$",
    ];
    for (name, missing) in expected.iter().zip(seen.missing_names()) {
        assert_eq!(*name, missing);
    }
    let said = seen.status_text();
    assert!(!said.contains("aaaaaa"), "{said}");
    let seen = say(&server, &[&sent[1]]).await;
    assert_eq!(seen.missing_names(), ["^([a-z]+)*!$"]);
}

#[tokio::test]
async fn a_pattern_that_is_too_large_fails_the_server() {
    for pattern in [
        "^(a?){5000}(a{5000}){5000}$",
        "((a{100}){100}){100}",
        "\\p{L}{5000}",
    ] {
        let contract = InputContract::data("name").schema(json!({"pattern": pattern}));
        let server = create_server(card("reader"), Reporter::default())
            .input_contracts(InputContracts::new().with(contract));
        let error = server.await.unwrap_err();
        assert!(error.is_contracts());
        let text = error.to_string();
        let expected = "the input contract \"name\": schema: is no usable schema at /pattern";
        assert!(text.starts_with(expected), "{text}");
    }
}

#[tokio::test]
async fn large_values_and_schemas_that_compare_them() {
    let contracts = InputContracts::new()
        .with(InputContract::data("unique").schema(json!({"uniqueItems": true})))
        .with(InputContract::data("contains").schema(json!({"contains": {"const": -1}})));
    let server = serve(contracts).await;
    let items: Vec<String> = (0..20_000).map(|n| format!(r#"{{"a":[{n}]}}"#)).collect();
    let many = format!(r#"{{"data":[{}]}}"#, items.join(","));
    let seen = say(&server, &[&many]).await;
    assert_eq!(seen.missing_names(), ["contains"]);
    assert_answers(&server, r#"{"data":[-1]}"#).await;
}

#[tokio::test]
async fn others_are_answered_beside_a_message_that_is_expensive_to_refuse() {
    let contracts = InputContracts::new().with(
        InputContract::data("n")
            .select("$..n")
            .schema(json!({"type": "integer"})),
    );
    let server = serve(contracts).await;
    let bad: Vec<Part> = (0..200)
        .map(|_| part(&format!(r#"{{"data":{}}}"#, nested(60, "\"x\""))))
        .collect();
    let good = parts(&[r#"{"data":{"n":1}}"#]);
    for caller in callers(&server).await {
        let (rejected, completed) = tokio::join!(
            caller.try_say(outgoing(bad.clone())),
            caller.try_say(outgoing(good.clone())),
        );
        assert_eq!(rejected.unwrap().state(), Some(TaskState::Rejected));
        assert_eq!(completed.unwrap().state(), Some(TaskState::Completed));
    }
}

#[tokio::test]
async fn a_schema_whose_branches_overlap_is_bounded_too() {
    // What a derive makes of an untagged enum of two structs that hold each other has this form.
    let branch = json!({"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}});
    let schema = json!({
        "$defs": {"n": {"anyOf": [{"type": "integer"}, branch, branch]}},
        "$ref": "#/$defs/n",
    });
    let contracts = InputContracts::new().with(InputContract::data("tree").schema(schema));
    let server = serve(contracts).await;
    let wrong = format!(r#"{{"data":{}}}"#, nested(64, "\"x\""));
    let seen = say(&server, &[&wrong]).await;
    assert_eq!(seen.state, TaskState::Rejected);
    assert_answers(&server, r#"{"data":{"n":1}}"#).await;
}

#[tokio::test]
async fn a_path_that_takes_its_pattern_from_the_value_fails_the_server() {
    for path in ["$[?search(@.t, @.p)]", "$[?match(@.t, @['p'])]"] {
        let contract = InputContract::data("name").select(path);
        let server = create_server(card("reader"), Reporter::default())
            .input_contracts(InputContracts::new().with(contract));
        let error = server.await.expect_err(path);
        assert!(error.is_contracts());
        let text = error.to_string();
        let expected = "the input contract \"name\": select: ";
        assert!(text.starts_with(expected), "{text}");
    }
}
