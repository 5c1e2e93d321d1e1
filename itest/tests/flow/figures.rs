//! What data-flow.md, section 6, says of chains, hosts that concatenate, and diamonds.

use llamon_agent::client::{Client, Outgoing};
use llamon_agent::core::{Part, Payload};

use super::support::{Log, completed, input, marker, plan, runner};

/// Of `n` agents in a chain that all append, each gets every part once.
#[tokio::test(flavor = "multi_thread")]
async fn a_chain_that_appends_gives_each_part_once() {
    let logs: Vec<Log> = (0..4).map(|_| Log::default()).collect();
    let names = ["a", "b", "c", "d"];
    let mut servers = Vec::new();
    for (name, log) in names.iter().zip(&logs) {
        servers.push(marker(name, "append", log.clone()).await);
    }
    let steps: String = names
        .iter()
        .zip(&servers)
        .enumerate()
        .map(|(at, (name, server))| {
            let from = if at == 0 { "input" } else { names[at - 1] };
            format!("  {name}: {{agent: '{}', from: [{from}]}}\n", server.url())
        })
        .collect();
    let plan = plan(&format!("steps:\n{steps}outputs: [d]\n"));
    let (_, stand) = runner().run(&plan, input()).await.unwrap();
    let answer = completed(stand);
    // Its own first, then upstream: newest first, the input's data at the end, token for token.
    assert_eq!(
        answer,
        [
            r#"{"text":"d done"}"#,
            r#"{"data":{"by":"d"}}"#,
            r#"{"data":{"by":"c"}}"#,
            r#"{"data":{"by":"b"}}"#,
            r#"{"data":{"by":"a"}}"#,
            r#"{"data":{"n":1e400,"n":1.0}}"#,
        ]
    );
    for (at, log) in logs.iter().enumerate() {
        let got = log.all();
        assert_eq!(got.len(), 1);
        // The text of the one before, and what that one answered with.
        assert_eq!(got[0].parts.len(), at + 2);
    }
}

/// A host that sends each agent everything so far: 1, 3, 7, ... parts of agents that append.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_concatenates_doubles_the_parts_with_each_hop() {
    let mut servers = Vec::new();
    for name in ["a", "b", "c", "d"] {
        servers.push(marker(name, "append", Log::default()).await);
    }
    let mut everything = Payload::new().with_text("begin");
    let mut counts = Vec::new();
    let mut of_a = Vec::new();
    for server in &servers {
        let client = Client::discover(server.url()).await.unwrap();
        let reply = client
            .send(Outgoing::from(everything.clone()))
            .await
            .unwrap();
        for data in reply.data() {
            everything = everything.with_part(Part::data_from_json(data).unwrap());
        }
        let data: Vec<&str> = everything.data().collect();
        counts.push(data.len());
        of_a.push(data.iter().filter(|data| data.contains("\"a\"")).count());
    }
    // 2^n - 1, of which 2^(n-1) are the first agent's.
    assert_eq!(counts, [1, 3, 7, 15]);
    assert_eq!(of_a, [1, 2, 4, 8]);
}

fn diamond(servers: &[llamon_agent::testing::TestServer], dedupe: &str) -> String {
    let [a, b, c, d] = servers else { panic!() };
    format!(
        "steps:
  a: {{agent: '{}', from: [input]}}
  b: {{agent: '{}', from: [a]}}
  c: {{agent: '{}', from: [a]}}
  d: {{agent: '{}', from: [b, c]{dedupe}}}
outputs: [d]
",
        a.url(),
        b.url(),
        c.url(),
        d.url()
    )
}

/// A diamond's last step gets what the first one made twice; `dedupe` removes exactly the repeats.
#[tokio::test(flavor = "multi_thread")]
async fn a_diamond_repeats_and_dedupe_removes_exactly_the_repeats_and_only_when_asked() {
    let log = Log::default();
    let servers = [
        marker("a", "append", Log::default()).await,
        marker("b", "append", Log::default()).await,
        marker("c", "append", Log::default()).await,
        marker("d", "replace", log.clone()).await,
    ];
    let runner = runner();
    let (id, stand) = runner
        .run(&plan(&diamond(&servers, "")), input())
        .await
        .unwrap();
    completed(stand);
    let twice = [
        r#"{"text":"b done"}"#,
        r#"{"data":{"by":"b"}}"#,
        r#"{"data":{"by":"a"}}"#,
        r#"{"data":{"n":1e400,"n":1.0}}"#,
        r#"{"text":"c done"}"#,
        r#"{"data":{"by":"c"}}"#,
        r#"{"data":{"by":"a"}}"#,
        r#"{"data":{"n":1e400,"n":1.0}}"#,
    ];
    assert_eq!(log.all()[0].parts, twice);
    let stored = runner.store().load(&id).await.unwrap();
    let traffic = stored
        .calls
        .iter()
        .find(|call| call.id.step == "d")
        .unwrap()
        .traffic;
    let wasted = r#"{"data":{"by":"a"}}"#.len() + r#"{"data":{"n":1e400,"n":1.0}}"#.len();
    assert_eq!(
        (traffic.received, traffic.sent, traffic.duplicates),
        (8, 8, 2)
    );
    assert_eq!(traffic.duplicate_bytes, wasted as u64);

    let plan = plan(&diamond(&servers, ", dedupe: by-content"));
    let (id, stand) = runner.run(&plan, input()).await.unwrap();
    completed(stand);
    let once: Vec<&str> = twice[..6].to_vec();
    assert_eq!(log.all()[1].parts, once);
    let stored = runner.store().load(&id).await.unwrap();
    let traffic = stored
        .calls
        .iter()
        .find(|call| call.id.step == "d")
        .unwrap()
        .traffic;
    assert_eq!(
        (traffic.received, traffic.sent, traffic.duplicates),
        (8, 6, 0)
    );
}
