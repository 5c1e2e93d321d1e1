//! Agents that work one after the other: what a chain, a host and a diamond make of a policy
//! (data-flow.md, section 6).

use llamon_agent::client::{Binding, Client, Outgoing, Reply};
use llamon_agent::core::{Part, Payload};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{Script, serve_scripts};

const NAMES: [&str; 5] = ["A", "B", "C", "D", "E"];
const BINDINGS: [Binding; 2] = [Binding::JsonRpc, Binding::Rest];

/// The servers of agents that each answer with their name, as data and as a file.
async fn servers(policy: &str, count: usize) -> Vec<TestServer> {
    let mut servers = Vec::new();
    for name in &NAMES[..count] {
        let data = format!(r#"{{"data":"{name}"}}"#);
        let file = format!(r#"{{"url":"https://example.com/{name}"}}"#);
        let text = format!(r#"{{"text":"text of {name}"}}"#);
        let script = Script::returns(&[&text, &data, &file]);
        servers.push(serve_scripts(policy, vec![script]).await);
    }
    servers
}

/// Sends by one of the ways there are.
async fn ask(client: &Client, stream: bool, message: Outgoing) -> Reply {
    if stream {
        let events = client.stream(message).await.expect("a stream");
        return events.finish().await.expect("an answer");
    }
    client.send(message).await.expect("an answer")
}

fn names(payload: &Payload) -> Vec<String> {
    payload.data().map(|name| name.replace('"', "")).collect()
}

fn file_names(payload: &Payload) -> Vec<String> {
    let name = |file: &Part| {
        file.url()
            .expect("a url")
            .rsplit('/')
            .next()
            .map(str::to_owned)
    };
    payload.files().filter_map(name).collect()
}

async fn chain(policy: &str) -> Vec<Vec<String>> {
    let servers = servers(policy, 3).await;
    let mut results = Vec::new();
    for binding in BINDINGS {
        for stream in [false, true] {
            let mut message = Outgoing::text("begin");
            let mut last = Payload::new();
            for server in &servers {
                let client = server.client_with(binding).await.expect("a client");
                last = ask(&client, stream, message).await.payload();
                message = Outgoing::from(last.clone());
            }
            assert_eq!(last.text(), "text of C");
            assert_eq!(file_names(&last), names(&last));
            results.push(names(&last));
        }
    }
    results
}

#[tokio::test]
async fn a_chain_of_append_grows_linearly() {
    for result in chain("append").await {
        assert_eq!(result, ["C", "B", "A"]);
    }
}

#[tokio::test]
async fn a_chain_of_replace_keeps_the_last() {
    for result in chain("replace").await {
        assert_eq!(result, ["C"]);
    }
}

#[tokio::test]
async fn each_server_of_a_chain_decides_for_itself() {
    for policies in [["append", "replace"], ["replace", "append"]] {
        let a = servers("append", 1).await.remove(0);
        let b = servers(policies[0], 2).await.remove(1);
        let c = servers(policies[1], 3).await.remove(2);
        let first = a.send("begin").await.unwrap().payload();
        let second = b.send(first).await.unwrap().payload();
        let third = names(&c.send(second).await.unwrap().payload());
        let expected: &[&str] = match policies {
            ["append", _] => &["C"],
            _ => &["C", "B"],
        };
        assert_eq!(third, expected, "{policies:?}");
    }
}

#[tokio::test]
async fn a_host_that_concatenates_has_2_to_the_n_minus_1_parts() {
    let servers = servers("append", NAMES.len()).await;
    let mut held = Payload::new();
    for (step, server) in servers.iter().enumerate() {
        let message = Outgoing::text("go on").with_payload(held.clone());
        let answer = server.send(message).await.unwrap().payload();
        let all = [held.into_parts(), answer.into_parts()].concat();
        held = Payload::from(all);
        let found = names(&held);
        assert_eq!(found.len(), (1 << (step + 1)) - 1);
        let of_a = found.iter().filter(|name| *name == "A").count();
        assert_eq!(of_a, 1 << step);
        if step == 2 {
            assert_eq!(found, ["A", "B", "A", "C", "A", "B", "A"]);
        }
    }
}

#[tokio::test]
async fn a_diamond_gives_its_end_the_first_agents_parts_twice() {
    let servers = servers("append", 4).await;
    let first = servers[0].send("begin").await.unwrap().payload();
    let left = servers[1].send(first.clone()).await.unwrap().payload();
    let right = servers[2].send(first).await.unwrap().payload();
    let both = Outgoing::new().with_payload(left).with_payload(right);
    let last = servers[3].send(both).await.unwrap().payload();
    assert_eq!(names(&last), ["D", "B", "A", "C", "A"]);
    assert_eq!(file_names(&last), names(&last));
}
