//! An agent that takes a struct: filled, missing, asked for, over real HTTP.

use llamon_agent::a2a::TaskState;
use llamon_agent::client::Binding;
use llamon_agent::prelude::*;
use llamon_agent::schemars::{self, JsonSchema};
use llamon_agent::testing::TestServer;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

const BINDINGS: [Binding; 2] = [Binding::JsonRpc, Binding::Rest];

fn card() -> AgentCard {
    AgentCard::new("billing", "Bills orders", "1.0.0").skill(Skill::new(
        "bill",
        "Bill",
        "Bills an order",
    ))
}

fn data(json: &str) -> Part {
    Part::data_from_json(json).expect("JSON")
}

fn outgoing(parts: impl IntoIterator<Item = Part>) -> Outgoing {
    parts.into_iter().fold(Outgoing::new(), Outgoing::with_part)
}

#[derive(Deserialize, JsonSchema)]
struct Order {
    id: String,
    total: f64,
}

#[derive(InputContracts)]
struct Billing {
    /// The order to bill.
    order: Order,
    #[input(select = "$..amount", optional)]
    amounts: Vec<Box<RawValue>>,
    #[input(media_type = "image/*")]
    scan: Option<FilePart>,
    #[input(default = r#""EUR""#)]
    currency: String,
}

#[derive(Serialize)]
struct Bill {
    id: String,
    total: f64,
    amounts: Vec<Box<RawValue>>,
    scan: Option<String>,
    currency: String,
    upstream: usize,
}

async fn bill(inputs: Billing, turn: Turn) -> Result<Json<Bill>, AgentError> {
    let scan = inputs.scan.as_ref().and_then(|scan| scan.filename());
    Ok(Json(Bill {
        id: inputs.order.id,
        total: inputs.order.total,
        amounts: inputs.amounts,
        scan: scan.map(|name| name.into_owned()),
        currency: inputs.currency,
        upstream: turn.upstream().len(),
    }))
}

#[tokio::test]
async fn the_struct_is_filled() {
    let server = TestServer::start(create_server(card(), bill))
        .await
        .unwrap();
    let amounts = r#"[{"amount":123456789012345678901234567890},{"amount":{"b":1.0,"a":0}}]"#;
    let full = [
        Part::text("KRW"),
        data(amounts),
        data(r#"{"total":2.5,"id":"a"}"#),
        Part::file_bytes([1])
            .with_filename("a.png")
            .with_media_type("image/png"),
    ];
    let full_bill = r#"{"id":"a","total":2.5,"amounts":[123456789012345678901234567890,{"b":1.0,"a":0}],"scan":"a.png","currency":"KRW","upstream":3}"#;
    let least = [data(r#"{"total":1,"id":"b"}"#)];
    let least_bill =
        r#"{"id":"b","total":1.0,"amounts":[],"scan":null,"currency":"EUR","upstream":1}"#;
    for binding in BINDINGS {
        let client = server.client_with(binding).await.unwrap();
        let reply = client.send(outgoing(full.clone())).await.unwrap();
        assert_eq!(reply.data(), [full_bill]);
        let reply = client.send(outgoing(least.clone())).await.unwrap();
        assert_eq!(reply.data(), [least_bill]);
    }
}

#[tokio::test]
async fn what_is_missing_rejects_the_task_with_a_text_and_the_candidates() {
    let server = TestServer::start(create_server(card(), bill))
        .await
        .unwrap();
    let parts = [Part::text("hi"), data(r#"{"id":"secret"}"#)];
    for binding in BINDINGS {
        let client = server.client_with(binding).await.unwrap();
        let reply = client.send(outgoing(parts.clone())).await.unwrap();
        assert_eq!(reply.state(), Some(TaskState::Rejected));
        assert!(reply.payload().is_empty(), "nothing is in an artifact");

        let text = reply.status_text().unwrap();
        let expected = "the data input \"order\" is missing (The order to bill): nothing that was sent matches";
        assert!(text.starts_with(expected), "{text}");

        let status = &reply.task().unwrap().status;
        let message = status.message.as_ref().unwrap();
        let [_, explained] = &message.parts[..] else {
            panic!("{message:?}")
        };
        let explained: Value = explained.data_as().unwrap();
        let missing = &explained["missingInputs"][0];
        assert_eq!(missing["name"], "order");
        assert_eq!(missing["candidates"][0]["reason"], "is no data part");
        assert_eq!(missing["candidates"][1]["index"], 1);
        let reason = missing["candidates"][1]["reason"].as_str().unwrap();
        assert!(
            reason.starts_with("does not satisfy the schema"),
            "{reason}"
        );
        assert!(!explained.to_string().contains("secret"), "{explained}");
    }
}

#[derive(InputContracts)]
struct Asking {
    #[input(on_missing = "ask")]
    order: Order,
    note: Option<String>,
}

async fn ask(inputs: Asking, turn: Turn) -> Result<String, AgentError> {
    let note = inputs.note.unwrap_or_default();
    Ok(format!("{} {note} {}", inputs.order.id, turn.number()))
}

#[tokio::test]
async fn what_may_be_asked_for_is_and_the_answer_completes_the_task() {
    let server = TestServer::start(create_server(card(), ask)).await.unwrap();
    for binding in BINDINGS {
        let client = server.client_with(binding).await.unwrap();
        let asked = client.send("note").await.unwrap();
        assert_eq!(asked.state(), Some(TaskState::InputRequired));
        let text = asked.status_text().unwrap();
        assert!(text.starts_with("the data input \"order\" is missing: "));

        let id = asked.task().unwrap().id.clone();
        let answer = outgoing([data(r#"{"id":"a","total":1}"#)]).in_task(id.clone());
        let done = client.send(answer).await.unwrap();
        assert_eq!(done.state(), Some(TaskState::Completed));
        // The text of the first message is there as well, and the agent sees one turn.
        assert_eq!(done.text(), "a note 1");
        let task = done.task().unwrap();
        assert_eq!(task.id, id);
        let [artifact] = &task.artifacts[..] else {
            panic!("{:?}", task.artifacts)
        };
        assert_eq!(&*artifact.artifact_id, "response");
    }
}

#[tokio::test]
async fn upstream_stays_whole_under_append() {
    let server = TestServer::start(create_server(card(), bill).upstream_parts_policy("append"))
        .await
        .unwrap();
    let sent = [r#"{"id":"b","total":1}"#, r#"{"no":"input"}"#, "1e400"];
    let reply = server.send(outgoing(sent.map(data))).await.unwrap();
    assert_eq!(reply.data()[1..], sent);
}

#[tokio::test]
async fn a_struct_and_contracts_beside_it_are_an_error() {
    let contracts = InputContracts::new().with(InputContract::data("other"));
    let error = create_server(card(), bill)
        .input_contracts(contracts)
        .await
        .unwrap_err();
    assert!(error.is_contracts());
    let text = error.to_string();
    assert!(text.contains("declare all inputs in one place"), "{text}");
}

#[derive(InputContracts)]
struct BadPath {
    #[expect(dead_code, reason = "it never gets a value")]
    #[input(select = "$.items[")]
    total: f64,
}

async fn unreachable(_: BadPath, _: Turn) -> Result<String, AgentError> {
    Err(AgentError::public("the server does not start"))
}

#[tokio::test]
async fn a_path_that_is_none_fails_the_server_with_the_input_s_name() {
    let error = create_server(card(), unreachable).await.unwrap_err();
    assert!(error.is_contracts());
    let text = error.to_string();
    assert!(text.contains("\"total\": select:"), "{text}");
}

#[tokio::test]
async fn what_the_struct_declares_can_be_published() {
    let server = create_server(card(), bill)
        .contract_publication(llamon_agent::server::Publication::Published);
    let server = TestServer::start(server).await.unwrap();
    let card: Value = serde_json::from_str(server.client().card_json()).unwrap();
    let params = &card["capabilities"]["extensions"][0]["params"];
    let order = &params["contracts"][0];
    assert_eq!(order["description"], "The order to bill");
    assert_eq!(order["schema"]["required"], json!(["id", "total"]));
    let required: Vec<_> = (params["contracts"].as_array().unwrap().iter())
        .map(|contract| contract["required"].as_bool().unwrap())
        .collect();
    assert_eq!(required, [true, false, false, false]);
}
