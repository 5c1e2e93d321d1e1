//! The composed answer does not depend on contracts, whatever is sent, read and made.

use llamon_agent::prelude::*;
use llamon_agent::testing::TestServer;
use proptest::prelude::*;
use serde_json::json;

use crate::support::{callers, card, outgoing, start, texts};

/// JSON texts, also such that no program can hold.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "1.0",
        "1e400",
        "123456789012345678901234567890",
        "\"s\"",
        r#""\ud800""#,
        r#""\u00e9\/""#,
        "null",
    ]);
    leaf.prop_map(str::to_owned)
        .prop_recursive(3, 12, 3, |inner| {
            let key = prop::sample::select(vec!["a", "b", "n"]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4)
                    .prop_map(|items| format!("[{}]", items.join(", "))),
                prop::collection::vec((key, inner), 0..4).prop_map(|entries| {
                    let entries = entries.iter();
                    let entries: Vec<_> = entries.map(|(k, v)| format!("\"{k}\" :{v}")).collect();
                    format!("{{{}}}", entries.join(","))
                }),
            ]
        })
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        4 => value().prop_map(|json| Part::data_from_json(json).expect("JSON")),
        1 => "[a-c]{0,3}".prop_map(|bytes| Part::file_bytes(bytes).with_media_type("image/png")),
        1 => (0..3_u8).prop_map(|n| Part::file_url(format!("x:{n}")).with_filename("x.lock")),
    ]
}

fn message() -> impl Strategy<Value = Vec<Part>> {
    let more = prop_oneof![4 => part(), 1 => "[a-c]{1,3}".prop_map(Part::text)];
    prop::collection::vec(more, 1..7)
}

/// Contracts that never miss.
fn contracts() -> impl Strategy<Value = InputContracts> {
    let kind = prop::sample::select(vec!["data", "file", "text"]);
    let select = prop::sample::select(vec!["", "$", "/a", "$.a[*]", "$..n", "$[?@.a]", "/n/0"]);
    let pick = prop::sample::select(vec![Pick::First, Pick::Last, Pick::All]);
    let one = (kind, select, pick, any::<bool>(), any::<bool>());
    prop::collection::vec(one, 1..5).prop_map(|all| {
        let contracts = all.into_iter().enumerate();
        let contract = |(index, (kind, select, pick, typed, default))| {
            let name = format!("input-{index}");
            let contract = match kind {
                "data" => InputContract::data(name).select(select),
                "file" => InputContract::file(name).media_type("image/*"),
                _ => InputContract::text(name),
            };
            let contract = contract.pick(pick).optional();
            match (kind, typed, default) {
                ("data", true, _) => contract.schema(json!({"type": ["number", "array"]})),
                ("data", _, true) => contract.default_json("[1.0]"),
                _ => contract,
            }
        };
        contracts.map(contract).collect()
    })
}

async fn serve(own: Vec<Part>, emits: bool, policy: &str, read: InputContracts) -> TestServer {
    let agent = move |turn: Turn| {
        let own = own.clone();
        async move {
            if emits {
                turn.emit(own.clone()).await?;
            }
            Ok::<_, AgentError>(("done", own))
        }
    };
    let server = create_server(card("maker"), agent);
    start(server.upstream_parts_policy(policy).input_contracts(read)).await
}

async fn answer(server: &TestServer, message: &[Part], way: usize) -> Payload {
    let caller = callers(server).await.swap_remove(way);
    let reply = caller.try_say(outgoing(message.to_vec())).await;
    reply.expect("an answer").payload()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_answer_is_the_same_with_and_without_contracts(
        message in message(),
        own in prop::collection::vec(part(), 0..4),
        emits in any::<bool>(),
        policy in prop::sample::select(vec!["replace", "append"]),
        contracts in contracts(),
        way in 0..4_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let (with, without) = runtime.expect("a runtime").block_on(async {
            let with = serve(own.clone(), emits, policy, contracts).await;
            let without = serve(own.clone(), emits, policy, InputContracts::new()).await;
            (answer(&with, &message, way).await, answer(&without, &message, way).await)
        });
        prop_assert_eq!(with.text(), without.text());
        prop_assert_eq!(texts(with.parts()), texts(without.parts()));

        // And it is what `compose` makes of the agent's parts and of all that was sent.
        let made = Payload::from(own).into_answer_order();
        let made = if emits { [made.parts(), made.parts()].concat() } else { made.into_parts() };
        let upstream = Upstream::of(&message);
        let composed = compose(made.into(), &upstream, policy.parse().expect("a policy"));
        prop_assert_eq!(with.data().collect::<Vec<_>>(), composed.data().collect::<Vec<_>>());
        prop_assert_eq!(texts(with.files()), texts(composed.files()));
    }
}
