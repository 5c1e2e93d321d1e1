//! Contracts that cannot be: each fails `create_server`, with the contract's name.

use std::io::ErrorKind;
use std::net::TcpListener;

use llamon_agent::prelude::*;
use llamon_agent::server::ConfigError;
use serde_json::json;

use crate::support::{Reporter, card};

async fn refused(contracts: InputContracts) -> ConfigError {
    let server = create_server(card("reader"), Reporter::default()).input_contracts(contracts);
    server.await.expect_err("a contract that cannot be")
}

fn data() -> InputContract {
    InputContract::data("the-input")
}

/// A contract and what its error says, after the contract's name.
fn mistakes() -> Vec<(InputContract, &'static str)> {
    let schema = |schema| data().schema(schema);
    vec![
        // Schemas.
        (
            schema(json!({"type": "strin"})),
            "schema: is no usable schema at /type",
        ),
        (schema(json!(1)), "schema: is no usable schema at /"),
        (
            schema(json!({"properties": {"a": {"minimum": "1"}}})),
            "schema: is no usable schema at /properties/a/minimum",
        ),
        (
            schema(json!({"pattern": "("})),
            "schema: is no usable schema at /pattern",
        ),
        (
            schema(json!({"pattern": "(a)\\1"})),
            "schema: is no usable schema",
        ),
        (
            schema(json!({"pattern": "(?=a)"})),
            "schema: is no usable schema",
        ),
        // References: none of them is fetched.
        (
            schema(json!({"$ref": "https://example.com/s.json"})),
            "never fetched",
        ),
        (
            schema(json!({"$ref": "file:///etc/passwd"})),
            "never fetched",
        ),
        (
            schema(json!({"$ref": "other.json"})),
            "schema: is no usable schema",
        ),
        (
            schema(json!({"$ref": "#/$defs/none"})),
            "schema: is no usable schema",
        ),
        (
            schema(json!({"$id": "https://example.com/a", "items": {"$ref": "b"}})),
            "never fetched",
        ),
        (
            schema(json!({"$dynamicRef": "https://example.com/s.json#x"})),
            "schema: is no usable schema",
        ),
        // Paths and pointers.
        (data().select("$.a["), "select: \"$.a[\" is no JSONPath"),
        (data().select("$."), "select: \"$.\" is no JSONPath"),
        (data().select("$.a b"), "is no JSONPath"),
        (
            data().select("a.b"),
            "select: \"a.b\" begins neither with `$`",
        ),
        (data().select(" $"), "begins neither with `$`"),
        (data().select("#/a"), "begins neither with `$`"),
        (data().select("/a~"), "is no JSON Pointer"),
        (data().select("/a~2"), "is no JSON Pointer"),
        (data().select("$..a..b"), "has 2 descendant segments"),
        (
            data().select("$[?@.a == $.b]"),
            "reads the whole value again",
        ),
        (
            InputContract::file("the-input").select("$"),
            "select: only data has places to select, the kind is file",
        ),
        (
            InputContract::text("the-input").select("$"),
            "select: only data has places to select, the kind is text",
        ),
        (
            InputContract::file("the-input").schema(json!(true)),
            "schema: a file has no schema",
        ),
        // Globs.
        (
            data().media_type("a/[b"),
            "media_type: \"a/[b\" is no pattern",
        ),
        (data().filename("[a"), "filename: \"[a\" is no pattern"),
        (
            InputContract::file("the-input").filename("{a"),
            "filename: \"{a\" is no pattern",
        ),
        // Defaults.
        (
            data().default_json("{"),
            "default: \"{\" is not one JSON value",
        ),
        (data().default_json("1 2"), "is not one JSON value"),
        (
            data().default_json("1").pick(Pick::All),
            "default: is no array",
        ),
        (
            data().typed::<u8>().default_json("300"),
            "default: cannot be read as the agent's type",
        ),
        (
            InputContract::file("the-input").default_json("1"),
            "default: a file has no default",
        ),
    ]
}

#[tokio::test]
async fn each_mistake_fails_create_server_with_the_contract_s_name() {
    for (mistake, expected) in mistakes() {
        // Beside contracts that are sound.
        let contracts = InputContracts::new()
            .with(InputContract::data("before"))
            .with(mistake)
            .with(InputContract::data("after"));
        let error = refused(contracts).await;
        assert!(error.is_contracts(), "{error}");
        assert!(!error.is_policy() && !error.is_card() && !error.is_limit());
        let text = error.to_string();
        assert!(
            text.starts_with("the input contract \"the-input\": "),
            "{text}"
        );
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[tokio::test]
async fn names_that_are_empty_or_given_twice() {
    for name in ["", " ", "\t\n"] {
        let contracts = InputContracts::new()
            .with(InputContract::data("a"))
            .with(InputContract::data(name));
        let error = refused(contracts).await;
        assert!(error.is_contracts());
        let expected = "the input contract \"#1\": name: is empty; each input needs one";
        assert_eq!(error.to_string(), expected);
    }
    let twice = InputContracts::new()
        .with(InputContract::data("order"))
        .with(InputContract::file("scan"))
        .with(InputContract::text("order"));
    let error = refused(twice).await;
    assert!(error.is_contracts());
    let expected = "the input contract \"order\": name: is given twice; each input needs its own";
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn nobody_is_asked_for_a_schema() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/s.json", listener.local_addr().unwrap());
    let schemas = [
        json!({"$ref": url}),
        json!({"$defs": {"a": {"$ref": url}}, "$ref": "#/$defs/a"}),
        json!({"$id": url, "$ref": "other.json"}),
    ];
    for schema in schemas {
        let error = refused(InputContracts::new().with(data().schema(schema))).await;
        assert!(error.is_contracts(), "{error}");
        assert!(error.to_string().contains("\"the-input\""), "{error}");
    }
    // A schema may say another dialect than the one that it is read as; it is not looked up.
    let other = json!({"$schema": url, "type": "string"});
    let contracts = InputContracts::new().with(data().schema(other));
    let server = create_server(card("reader"), Reporter::default()).input_contracts(contracts);
    drop(server.await);
    let nobody = listener.accept().unwrap_err();
    assert_eq!(nobody.kind(), ErrorKind::WouldBlock);
}

#[tokio::test]
async fn a_document_and_an_output_schema_are_checked_as_well() {
    let document = "contracts: [{name: order, select: '$.a['}]";
    let contracts = InputContracts::from_yaml(document).unwrap();
    let error = refused(contracts).await;
    assert!(error.is_contracts());
    assert!(
        error
            .to_string()
            .starts_with("the input contract \"order\": select: "),
        "{error}"
    );

    let server = create_server(card("reader"), Reporter::default());
    let error = server
        .output_schema(json!({"type": "strin"}))
        .await
        .unwrap_err();
    assert!(error.is_contracts());
    assert!(
        error.to_string().contains("\"output_schema\": schema: "),
        "{error}"
    );
}

#[tokio::test]
async fn a_wrong_policy_is_the_first_of_all_errors() {
    let server = create_server(card("reader"), Reporter::default())
        .input_contracts(InputContracts::new().with(data().select("$.")))
        .upstream_parts_policy("Append");
    assert!(server.await.unwrap_err().is_policy());
}
