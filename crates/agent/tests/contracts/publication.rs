//! Publication: the card says what the agent reads, if it is to, and never what it keeps.

use llamon_agent::prelude::*;
use llamon_agent::server::{Provenance, Publication};
use serde_json::{Value, json};

use crate::http::{self, Response};
use crate::support::{POLICIES, Reporter, card, start};

fn contracts() -> InputContracts {
    InputContracts::new()
        .with(
            InputContract::data("order")
                .description("the order to convert")
                .schema(json!({"type": "object", "required": ["total"]}))
                .source("cashier")
                .pick(Pick::One)
                .on_missing(OnMissing::Ask),
        )
        .with(
            InputContract::file("scan")
                .media_type("image/*")
                .filename("*.png")
                .optional(),
        )
        .with(InputContract::text("ask").default_json("\"EUR\""))
}

fn output_schema() -> Value {
    json!({"type": "object", "required": ["eur"]})
}

async fn extensions(server: llamon_agent::server::ServerBuilder<impl Sized>) -> Value {
    http::extensions(start(server).await.url()).await
}

#[tokio::test]
async fn the_card_has_the_contracts_and_the_output_schema() {
    let server = create_server(card("reader"), Reporter::default())
        .input_contracts(contracts())
        .contract_publication(Publication::Published)
        .output_schema(output_schema());
    let expected = json!([{
        "uri": "urn:llamon:ext:input-contracts:v1",
        "description": "What the agent reads of what it is sent.",
        "required": false,
        "params": {
            "contracts": [
                {
                    "name": "order",
                    "kind": "data",
                    "required": true,
                    "description": "the order to convert",
                    "schema": {"type": "object", "required": ["total"]},
                },
                {"name": "scan", "kind": "file", "required": false, "mediaType": "image/*"},
                {"name": "ask", "kind": "text", "required": false},
            ],
            "outputSchema": {"type": "object", "required": ["eur"]},
        },
    }]);
    assert_eq!(extensions(server).await, expected);
}

#[tokio::test]
async fn both_extensions_are_listed_beside_the_card_s_own_and_echoed() {
    let mut card = card("reader");
    let own = llamon_agent::a2a::AgentExtension::new("urn:own", "Mine");
    card.capabilities.extensions.push(own);
    let server = create_server(card, Reporter::default())
        .input_contracts(contracts())
        .contract_publication(Publication::Published)
        .provenance(Provenance::Stamped);
    let server = start(server).await;
    let listed = http::extensions(server.url()).await;
    let listed = listed.as_array().unwrap();
    let uris: Vec<_> = listed
        .iter()
        .map(|it| it["uri"].as_str().unwrap())
        .collect();
    let expected = [
        "urn:own",
        "urn:llamon:ext:input-contracts:v1",
        "urn:llamon:ext:provenance:v1",
    ];
    assert_eq!(uris, expected);
    let all = expected.join(",");
    let response = http::send(
        server.url(),
        "GET",
        "/tasks",
        &[("A2A-Extensions", &all)],
        "",
    )
    .await;
    assert_eq!(response.all("a2a-extensions"), [expected.join(", ")]);
}

#[tokio::test]
async fn it_is_off_by_default_and_the_output_schema_alone_is_not_published() {
    let read = || create_server(card("reader"), Reporter::default()).input_contracts(contracts());
    assert_eq!(extensions(read()).await, json!(null));
    assert_eq!(
        extensions(read().output_schema(output_schema())).await,
        json!(null)
    );
    let private = read().contract_publication(Publication::Private);
    assert_eq!(extensions(private).await, json!(null));
    // Without contracts there is nothing to read, and that can be said.
    let none = create_server(card("reader"), Reporter::default())
        .contract_publication(Publication::Published);
    assert_eq!(
        extensions(none).await[0]["params"],
        json!({"contracts": []})
    );
}

/// The card of a server that differs from another one in nothing but its policy.
async fn served(publication: Publication, policy: Option<&str>) -> Response {
    let server = create_server(card("reader"), Reporter::default())
        .input_contracts(contracts())
        .contract_publication(publication)
        .output_schema(output_schema())
        .provenance(Provenance::Stamped);
    let server = match policy {
        Some(policy) => server.upstream_parts_policy(policy),
        None => server,
    };
    let server = start(server.public_url("https://agents.example.com/reader")).await;
    let mut card = http::card(server.url()).await;
    assert_eq!(card.status, 200);
    for validator in ["etag", "last-modified"] {
        assert_eq!(card.all(validator).len(), 1, "{validator}");
    }
    card.headers.retain(|(name, _)| name != "date");
    card
}

#[tokio::test]
async fn servers_that_differ_in_policy_serve_the_same_card_byte_for_byte() {
    for publication in [Publication::Private, Publication::Published] {
        let default = served(publication, None).await;
        for policy in POLICIES {
            let card = served(publication, Some(policy)).await;
            assert_eq!(card, default, "{policy}");
            let shown = format!("{card:?}").to_ascii_lowercase();
            for word in ["policy", "append", "replace"] {
                assert!(!shown.contains(word), "{word} is in {shown}");
            }
        }
    }
}

#[tokio::test]
async fn a_derived_struct_publishes_what_it_declares() {
    #[derive(InputContracts)]
    struct Derived {
        /// The total, at /order/total.
        #[input(select = "/order/total")]
        total: f64,
        #[input(media_type = "image/*")]
        scans: Vec<FilePart>,
    }
    let agent = |inputs: Derived, _: Turn| async move {
        let Derived { total, scans } = inputs;
        Ok::<_, AgentError>(format!("{total} {}", scans.len()))
    };
    let server = create_server(card("reader"), agent).contract_publication(Publication::Published);
    let published = extensions(server).await[0]["params"]["contracts"].clone();
    assert_eq!(published[0]["name"], "total");
    assert_eq!(published[0]["description"], "The total, at /order/total");
    assert_eq!(published[0]["schema"]["type"], "number");
    assert_eq!(published[1]["kind"], "file");
    assert_eq!(published[1]["mediaType"], "image/*");
}
