//! The four combinations: what an agent reads and what its answer keeps are two questions.

use std::collections::BTreeMap;

use llamon_agent::prelude::*;
use llamon_agent::testing::TestServer;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::support::{POLICIES, Reporter, Seen, card, inputs, say, start};

// What is sent. The contracts select of ORDER and SCAN.
const ASK: &str = r#"{"text":"convert to EUR"}"#;
const HUGE: &str = r#"{"data":{"order":{"total":1e400}}}"#;
const ORDER: &str =
    r#"{"data":{"order": {"total":12.50, "id":7,"id":8}},"mediaType":"application/json"}"#;
const TRACE: &str = r#"{"x-unknown":[1.0,1e2],"metadata":{"z":1,"a":"\u00e9"},"data":{"trace":9007199254740993,"trace":"\/"}}"#;
const SCAN: &str = r#"{"raw":"iVBORw==","filename":"scan.png","mediaType":"image/png"}"#;
const MORE: &str = r#"{"text":"and round it"}"#;
const PAPER: &str = r#"{"url":"https:\/\/example.com/paper.pdf","mediaType":"application/pdf"}"#;
const LONE: &str = r#"{"data":"\ud800"}"#;
const SENT: [&str; 9] = [ASK, HUGE, ORDER, TRACE, SCAN, MORE, ORDER, PAPER, LONE];
const UPSTREAM: [&str; 7] = [HUGE, ORDER, TRACE, SCAN, ORDER, PAPER, LONE];

// What the agent makes.
const OWN: &str = r#"{"data":{"eur":1.0}}"#;
const OWN_2: &str = r#"{"data":[2]}"#;
const OWN_FILE: &str = r#"{"raw":"AAEC","filename":"receipt"}"#;

fn has_order() -> Value {
    json!({"type": "object", "required": ["order"]})
}

fn built() -> InputContracts {
    InputContracts::new()
        .with(InputContract::data("total").select("/order/total"))
        .with(
            InputContract::data("orders")
                .schema(has_order())
                .pick(Pick::All),
        )
        .with(InputContract::file("scan").media_type("image/*"))
        .with(InputContract::text("ask"))
        .with(InputContract::data("note").select("$.note").optional())
}

const DOCUMENT: &str = "
contracts:
  - {name: total, select: /order/total}
  - {name: orders, schema: {type: object, required: [order]}, pick: all}
  - {name: scan, kind: file, media_type: image/*}
  - {name: ask, kind: text}
  - {name: note, select: $.note, required: false}
";

#[derive(InputContracts)]
struct Derived {
    #[input(select = "/order/total")]
    total: Box<RawValue>,
    #[input(schema = "has_order")]
    orders: Vec<Box<RawValue>>,
    #[input(media_type = "image/*")]
    scan: FilePart,
    ask: String,
    #[input(select = "$.note")]
    note: Option<Box<RawValue>>,
}

impl Derived {
    /// What was read, from the fields and from nothing else.
    fn read(&self) -> BTreeMap<String, Vec<String>> {
        let orders: Vec<&str> = self.orders.iter().map(|order| order.get()).collect();
        let note: Vec<&str> = self.note.iter().map(|note| note.get()).collect();
        let ask = json!(self.ask).to_string();
        inputs(&[
            ("total", &[self.total.get()]),
            ("orders", &orders),
            ("scan", &[self.scan.content_json()]),
            ("ask", &[&ask]),
            ("note", &note),
        ])
    }
}

/// How contracts are declared, if they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selection {
    None,
    Builder,
    Document,
    Derive,
}

async fn serve(selection: Selection, policy: &str, agent: Reporter) -> TestServer {
    let contracts = match selection {
        Selection::None => InputContracts::new(),
        Selection::Builder => built(),
        Selection::Document => InputContracts::from_yaml(DOCUMENT).expect("a document"),
        Selection::Derive => {
            let agent = move |inputs: Derived, turn: Turn| {
                let agent = agent.clone();
                async move { agent.answer(&turn, inputs.read()).await }
            };
            let server = create_server(card("reader"), agent);
            return start(server.upstream_parts_policy(policy)).await;
        }
    };
    let server = create_server(card("reader"), agent).input_contracts(contracts);
    start(server.upstream_parts_policy(policy)).await
}

fn assert_reads(selection: Selection, seen: &Seen) {
    let report = seen.report();
    let selected = match selection {
        Selection::None => BTreeMap::new(),
        _ => {
            // The last of two equal keys counts, and the text has them both.
            let order = r#"{"order": {"total":12.50, "id":7,"id":8}}"#;
            inputs(&[
                ("total", &["12.50"]),
                ("orders", &[order, order]),
                ("scan", &[r#""iVBORw==""#]),
                ("ask", &[r#""convert to EUR""#]),
                ("note", &[]),
            ])
        }
    };
    assert_eq!(report.inputs, selected, "{selection:?}");
    // Under every combination the raw whole is there as well, and so is the query.
    assert_eq!(report.upstream, UPSTREAM, "{selection:?}");
    assert_eq!(report.message, SENT, "{selection:?}");
    assert_eq!(report.query, "convert to EUR\nand round it");
    assert_eq!((report.number, report.history), (1, 0));
}

#[tokio::test]
async fn what_is_kept_depends_on_the_policy_and_what_is_read_on_the_contracts() {
    // What the agent makes, and its own parts as the answer has them.
    let agents = [
        (Reporter::returning(&[]), vec![]),
        (Reporter::returning(&[OWN]), vec![OWN]),
        (Reporter::returning(&[OWN_FILE]), vec![OWN_FILE]),
        (
            Reporter::returning(&[OWN_FILE, OWN, ORDER]),
            vec![OWN, ORDER, OWN_FILE],
        ),
        (
            Reporter::returning(&[OWN_2]).emitting(&[OWN, OWN_FILE]),
            vec![OWN, OWN_FILE, OWN_2],
        ),
    ];
    let selections = [
        Selection::None,
        Selection::Builder,
        Selection::Document,
        Selection::Derive,
    ];
    for (agent, own) in agents {
        let rows = [
            ("replace", own.clone()),
            ("append", [&own[..], &UPSTREAM].concat()),
        ];
        for (policy, expected) in rows {
            for selection in selections {
                let server = serve(selection, policy, agent.clone()).await;
                let seen = say(&server, &SENT).await;
                assert_reads(selection, &seen);

                let row = format!("{selection:?}, {policy}, {own:?}");
                assert_eq!(seen.response().others, expected, "{row}");
                let (files, data): (Vec<&str>, Vec<&str>) = expected
                    .iter()
                    .partition(|part| [OWN_FILE, SCAN, PAPER].contains(part));
                assert_eq!(seen.files, files, "{row}");
                assert_eq!(seen.data.len(), data.len(), "{row}");
            }
        }
    }
}

#[tokio::test]
async fn the_two_lists_of_the_guide() {
    let data = |part: &str| crate::support::part(part).content_json().to_owned();
    let upstream = [HUGE, ORDER, TRACE, ORDER, LONE].map(data);
    let appended = [&[data(OWN)][..], &upstream].concat();
    for selection in [Selection::None, Selection::Derive] {
        let agent = Reporter::returning(&[OWN]);
        let server = serve(selection, "replace", agent.clone()).await;
        let seen = say(&server, &SENT).await;
        assert_eq!((&seen.data[..], seen.files.len()), (&[data(OWN)][..], 0));

        let server = serve(selection, "append", agent).await;
        let seen = say(&server, &SENT).await;
        assert_eq!(seen.data, appended);
        assert_eq!(seen.files, [SCAN, PAPER]);
    }
}

#[tokio::test]
async fn an_upstream_that_is_empty_or_that_no_contract_selects_of() {
    let optional = InputContracts::new()
        .with(InputContract::data("note").select("/note").optional())
        .with(
            InputContract::data("rate")
                .select("/rate")
                .default_json("1.0"),
        );
    for policy in POLICIES {
        let agent = Reporter::returning(&[OWN]);
        let server = create_server(card("reader"), agent)
            .input_contracts(optional.clone())
            .upstream_parts_policy(policy);
        let server = start(server).await;
        for sent in [&[ASK][..], &[ASK, TRACE, PAPER, TRACE]] {
            let seen = say(&server, sent).await;
            // A default is read, and it is nothing that was sent.
            let read = inputs(&[("note", &[]), ("rate", &["1.0"])]);
            assert_eq!(seen.report().inputs, read);
            let mut expected = vec![OWN];
            if policy == "append" {
                expected.extend(&sent[1..]);
            }
            assert_eq!(seen.response().others, expected, "{policy}");
        }
    }
}

#[tokio::test]
async fn a_direct_message_keeps_the_same_parts() {
    for policy in POLICIES {
        let agent = |turn: Turn| async move {
            let total = turn
                .inputs()
                .get("total")
                .json()
                .unwrap_or("none")
                .to_owned();
            Ok::<_, AgentError>(Answer::message((total, crate::support::part(OWN)))?)
        };
        let server = create_server(card("reader"), agent)
            .input_contracts(built())
            .upstream_parts_policy(policy);
        let server = start(server).await;
        let mut expected = vec![OWN];
        if policy == "append" {
            expected.extend(UPSTREAM);
        }
        for caller in crate::support::callers(&server).await {
            let message = crate::support::outgoing(crate::support::parts(&SENT));
            let reply = caller.try_say(message).await.unwrap();
            assert_eq!(reply.text(), "12.50");
            let payload = reply.payload();
            let others = payload.parts().iter();
            let others = others.filter(|part| part.kind() != PartKind::Text);
            assert_eq!(
                crate::support::texts(others),
                expected,
                "{policy}, {caller:?}"
            );
        }
    }
}
