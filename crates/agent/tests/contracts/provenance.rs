//! Provenance: own parts say who made them, nothing else does, and a contract can go by it.

use llamon_agent::a2a::{StreamEvent, TaskState};
use llamon_agent::core::provenance::{EXTENSION_URI, Stamp};
use llamon_agent::prelude::*;
use llamon_agent::server::{Provenance, ServerBuilder, StructKind};
use llamon_agent::testing::TestServer;
use serde_json::json;

use crate::http;
use crate::support::{
    BINDINGS, POLICIES, Reporter, callers, card, outgoing, part, parts, say, start, texts,
};

const TEXT: &str = r#"{"text":"hello"}"#;
const OWN: &str = r#"{"data":{"own":1.0,"own":2}}"#;
const OWN_META: &str = r#"{"data":[1e400],"metadata":{"z":1,"a":"\u00e9"},"x":1}"#;
const OWN_RAW: &str = r#"{"raw":"AA==","filename":"a"}"#;
const OWN_URL: &str = r#"{"url":"x:y"}"#;
const UP: &str = r#"{"data":{"up":1.0},"metadata":{"k":1}}"#;
const UP_FILE: &str = r#"{"url":"x:up"}"#;

/// The part without its stamp, which must be the last entry of its metadata.
fn unstamped(stamped: &str) -> (String, Stamp) {
    let stamp = Stamp::of(&part(stamped)).unwrap_or_else(|| panic!("no stamp on {stamped}"));
    let entry = format!(
        "\"{EXTENSION_URI}\":{}",
        serde_json::to_string(&stamp).expect("JSON")
    );
    let without = stamped
        .replace(&format!(",\"metadata\":{{{entry}}}"), "")
        .replace(&format!(",{entry}"), "");
    (without, stamp)
}

fn stamped_server(name: &str, policy: &str, agent: Reporter) -> ServerBuilder<StructKind> {
    create_server(card(name), agent)
        .upstream_parts_policy(policy)
        .provenance(Provenance::Stamped)
}

// === what is stamped ===

#[tokio::test]
async fn own_data_and_files_are_stamped_and_texts_and_upstream_are_not() {
    for policy in POLICIES {
        let agent = Reporter::returning(&[OWN_URL, OWN, TEXT]).emitting(&[OWN_META, OWN_RAW]);
        let server = start(stamped_server("alpha", policy, agent)).await;
        for caller in callers(&server).await {
            let message = outgoing(parts(&[TEXT, UP, UP_FILE, OWN]));
            let (id, seen) = caller.say(message).await;
            let others = &seen.response().others;
            let own = &others[..4];
            let expected = [OWN_META, OWN_RAW, OWN, OWN_URL];
            for (stamped, made) in own.iter().zip(expected) {
                let (without, stamp) = unstamped(stamped);
                assert_eq!(without, made);
                let expected = Stamp::new("alpha", Some("read".into()), &*id, "response", 1);
                assert_eq!(stamp, expected);
            }
            let kept = if policy == "append" {
                &[UP, UP_FILE, OWN][..]
            } else {
                &[]
            };
            assert_eq!(others[4..], *kept, "{policy}");
            let task = caller.client.get(&id).await.unwrap();
            let mut said = task.artifacts[0].parts.iter();
            assert!(
                said.all(|part| part.kind() != PartKind::Text || !part.json().contains("urn:"))
            );
        }
    }
}

#[tokio::test]
async fn parts_are_stamped_while_they_stream_and_in_an_artifact_of_their_own() {
    let agent = |turn: Turn| async move {
        turn.status("working").await?;
        turn.emit((TEXT, part(OWN))).await?;
        let report = turn.artifact("report");
        report.emit(("page 1", Json(1.5), part(OWN_RAW))).await?;
        report.emit(Json(2)).await?;
        Ok::<_, AgentError>(part(OWN_URL))
    };
    let server = create_server(card("alpha"), agent)
        .upstream_parts_policy("append")
        .provenance(Provenance::Stamped);
    let server = start(server).await;
    for caller in callers(&server).await {
        let (id, _) = caller.say(outgoing(parts(&[UP]))).await;
        let task = caller.client.get(&id).await.unwrap();
        let mut stamped = Vec::new();
        for artifact in &task.artifacts {
            for part in artifact
                .parts
                .iter()
                .filter(|part| part.kind() != PartKind::Text)
            {
                let stamp = Stamp::of(part).map(|stamp| (stamp.artifact, stamp.task_id));
                stamped.push((artifact.artifact_id.to_string(), stamp));
            }
        }
        let by = |artifact: &str| Some((artifact.to_owned(), id.to_string()));
        let expected = [
            ("response", by("response")),
            ("response", by("response")),
            ("response", None),
            ("artifact-1-1", by("report")),
            ("artifact-1-1", by("report")),
            ("artifact-1-1", by("report")),
        ];
        let expected = expected.map(|(id, stamp)| (id.to_owned(), stamp));
        assert_eq!(stamped, expected);
        assert!(!format!("{:?}", texts(status_parts(&task))).contains("urn:"));
    }
    // The first chunk has its stamp when it is shown.
    for binding in BINDINGS {
        let client = server.client_with(binding).await.unwrap();
        let mut stream = client.stream(outgoing(parts(&[UP]))).await.unwrap();
        let first = loop {
            match stream.next().await.expect("a chunk").unwrap() {
                StreamEvent::Artifact(update) => break update.artifact,
                event => assert!(!event.state().is_some_and(TaskState::is_settled)),
            }
        };
        let [_, data] = &first.parts[..] else {
            panic!("{first:?}")
        };
        assert_eq!(Stamp::of(data).unwrap().artifact, "response");
        stream.finish().await.unwrap();
    }
}

fn status_parts(task: &llamon_agent::a2a::Task) -> &[Part] {
    let message = task.status.message.as_ref();
    message.map_or(&[], |message| &message.parts)
}

#[tokio::test]
async fn a_later_turn_and_a_direct_message_say_so() {
    let agent = Reporter::returning(&[OWN]).asking(1);
    let server = start(stamped_server("alpha", "replace", agent)).await;
    for caller in callers(&server).await {
        let (id, _) = caller.say(outgoing(parts(&[TEXT]))).await;
        let (_, seen) = caller.say(outgoing(parts(&[TEXT])).in_task(id)).await;
        let (_, stamp) = unstamped(&seen.artifacts[0].others[0]);
        assert_eq!(stamp.artifact, "response-2");
    }
    let agent = |_: Turn| async { Ok::<_, AgentError>(Answer::message((TEXT, part(OWN)))?) };
    let server = create_server(card("alpha"), agent).provenance(Provenance::Stamped);
    let reply = start(server).await.send("hi").await.unwrap();
    assert!(reply.message().is_some());
    let stamp = Stamp::of(&reply.payload().parts()[1]).unwrap();
    assert_eq!((&*stamp.producer, &*stamp.artifact), ("alpha", "response"));
}

#[tokio::test]
async fn a_part_that_has_a_stamp_keeps_it_and_many_skills_are_no_skill() {
    let stamp = Stamp::new("omega", None, "t", "a", 7);
    let forwarded = stamp.put_on(part(OWN));
    let agent = Reporter::returning(&[forwarded.json(), OWN]);
    let card = card("alpha").skill(Skill::new("more", "More", "Does more"));
    let server = create_server(card, agent).provenance(Provenance::Stamped);
    let server = start(server).await;
    let seen = say_unmasked(&server, &[TEXT]).await;
    assert_eq!(seen[0], forwarded.json());
    let (_, stamp) = unstamped(&seen[1]);
    assert_eq!((stamp.skill, stamp.hop), (None, 1));
}

/// Data and files of an answer; ids differ from call to call.
async fn say_unmasked(server: &TestServer, message: &[&str]) -> Vec<String> {
    let reply = server.send(outgoing(parts(message))).await;
    let reply = reply.expect("an answer");
    assert_eq!(reply.state(), Some(TaskState::Completed));
    let payload = reply.payload();
    let others = payload.parts().iter();
    texts(others.filter(|part| part.kind() != PartKind::Text))
}

#[tokio::test]
async fn without_the_opt_in_nothing_is_stamped() {
    for policy in POLICIES {
        for unstamped in [false, true] {
            let agent = Reporter::returning(&[OWN_URL]).emitting(&[OWN_META]);
            let mut server = create_server(card("alpha"), agent).upstream_parts_policy(policy);
            if unstamped {
                server = server.provenance(Provenance::Unstamped);
            }
            let seen = say(&start(server).await, &[UP]).await;
            let mut expected = vec![OWN_META, OWN_URL];
            if policy == "append" {
                expected.push(UP);
            }
            assert_eq!(seen.response().others, expected);
        }
    }
}

#[tokio::test]
async fn a_question_and_a_miss_are_nobody_s_parts() {
    let contracts = InputContracts::new().with(InputContract::data("order"));
    let server = stamped_server("alpha", "append", Reporter::default()).input_contracts(contracts);
    let seen = say(&start(server).await, &[TEXT]).await;
    assert_eq!(seen.state, TaskState::Rejected);
    let said = texts(&seen.status).concat();
    assert!(!said.contains(EXTENSION_URI), "{said}");
}

// === chains ===

#[tokio::test]
async fn the_hop_grows_over_a_chain_and_each_stamp_stays_as_it_was() {
    let mut servers = Vec::new();
    for name in ["alpha", "beta", "gamma"] {
        let own = format!(r#"{{"data":{{"by":"{name}"}}}}"#);
        let agent = Reporter::returning(&[&own, OWN_RAW]);
        servers.push(start(stamped_server(name, "append", agent)).await);
    }
    for way in 0..4 {
        let mut message = outgoing(parts(&[TEXT, UP_FILE]));
        let mut before = vec![UP_FILE.to_owned()];
        for (at, server) in servers.iter().enumerate() {
            let caller = callers(server).await.swap_remove(way);
            let (id, seen) = caller.say(message.clone()).await;
            let others = seen.response().others.clone();
            assert_eq!(others.len(), 2 * (at + 1) + 1);
            for own in &others[..2] {
                let (_, stamp) = unstamped(own);
                assert_eq!(stamp.producer, ["alpha", "beta", "gamma"][at]);
                assert_eq!(stamp.hop as usize, at + 1);
                assert_eq!(*stamp.task_id, *id);
            }
            assert_eq!(others[2..], before, "upstream is never touched");
            before = others;
            let answer = caller.client.get(&id).await.unwrap().payload();
            message = Outgoing::from(answer);
        }
    }
}

#[tokio::test]
async fn a_server_that_does_not_stamp_passes_stamps_on_and_the_next_one_counts_on() {
    let alpha = start(stamped_server(
        "alpha",
        "append",
        Reporter::returning(&[OWN]),
    ))
    .await;
    let plain = create_server(card("plain"), Reporter::returning(&[OWN_URL]));
    let plain = start(plain.upstream_parts_policy("append")).await;
    let gamma = start(stamped_server(
        "gamma",
        "append",
        Reporter::returning(&[OWN]),
    ))
    .await;
    let first = alpha.send("hi").await.unwrap().payload();
    let second = plain.send(first.clone()).await.unwrap().payload();
    let own = second
        .parts()
        .iter()
        .find(|part| part.kind() == PartKind::Url);
    assert_eq!(own.unwrap().json(), OWN_URL);
    let third = gamma.send(second.clone()).await.unwrap().payload();
    let data = |payload: &Payload| {
        let parts = payload.parts().iter();
        texts(parts.filter(|part| part.kind() == PartKind::Data))
    };
    assert_eq!(data(&third)[1..], data(&second));
    assert_eq!(data(&second), data(&first));
    assert_eq!(unstamped(&data(&third)[0]).1.hop, 2);
}

#[tokio::test]
async fn stamps_that_a_stranger_wrote_do_no_harm() {
    let agent = Reporter::returning(&[OWN]);
    let server = start(stamped_server("alpha", "append", agent)).await;
    let with = |stamp: &str| format!(r#"{{"data":1,"metadata":{{"{EXTENSION_URI}":{stamp}}}}}"#);
    let full = |hop: &str| format!(r#"{{"producer":"x","taskId":"t","artifact":"a","hop":{hop}}}"#);
    for (stamp, hop) in [
        (full("4294967295"), u32::MAX),
        (full("4294967296"), 1),
        (full("-1"), 1),
        (full("0"), 1),
        (full("41"), 42),
        (full("\"9\""), 1),
        ("[]".to_owned(), 1),
        ("1e400".to_owned(), 1),
        ("\"\\ud800\"".to_owned(), 1),
    ] {
        let sent = with(&stamp);
        let others = say_unmasked(&server, &[&sent]).await;
        assert_eq!(unstamped(&others[0]).1.hop, hop, "{stamp}");
        assert_eq!(others[1], sent);
    }
}

// === source ===

#[tokio::test]
async fn source_selects_what_an_agent_made() {
    let alpha = start(stamped_server(
        "alpha",
        "append",
        Reporter::returning(&[OWN]),
    ))
    .await;
    let beta = start(stamped_server(
        "beta",
        "append",
        Reporter::returning(&[r#"{"data":2}"#]),
    ))
    .await;
    let first = alpha.send("hi").await.unwrap().payload();
    let second = beta.send(first).await.unwrap().payload();

    let by = |source: &str| InputContract::data(source).source(source).pick(Pick::All);
    let contracts = InputContracts::new()
        .with(by("alpha"))
        .with(by("beta"))
        .with(by("read"))
        .with(by("response"))
        .with(by("gamma").optional())
        .with(InputContract::data("first"));
    let reader = create_server(card("reader"), Reporter::default())
        .input_contracts(contracts)
        .upstream_parts_policy("append");
    let reader = start(reader).await;
    let mut sent = vec![part(UP)];
    sent.extend(second.into_parts());
    let (up, alphas, betas) = (r#"{"up":1.0}"#, r#"{"own":1.0,"own":2}"#, "2");
    let message: Vec<Part> = sent
        .into_iter()
        .filter(|part| part.kind() == PartKind::Data)
        .collect();
    let seen = crate::support::talk(&reader, std::slice::from_ref(&message))
        .await
        .remove(0);
    let expected = crate::support::inputs(&[
        ("alpha", &[alphas]),
        ("beta", &[betas]),
        ("read", &[betas, alphas]),
        ("response", &[betas, alphas]),
        ("gamma", &[]),
        ("first", &[up]),
    ]);
    assert_eq!(seen.report().inputs, expected);
    assert_eq!(seen.response().others, texts(&message));
}

#[tokio::test]
async fn a_source_that_made_nothing_is_a_miss() {
    let contracts = InputContracts::new().with(InputContract::data("order").source("alpha"));
    let server = create_server(card("reader"), Reporter::default()).input_contracts(contracts);
    let server = start(server).await;
    let stamped = Stamp::new("alphabet", None, "alpha", "alpha2", 1).put_on(part(OWN));
    let seen = say(&server, &[UP, stamped.json()]).await;
    assert_eq!(seen.state, TaskState::Rejected);
    let (_, missing) = seen.missing();
    for candidate in missing[0]["candidates"].as_array().unwrap() {
        assert_eq!(candidate["reason"], "does not come from \"alpha\"");
    }
}

// === the extension ===

#[tokio::test]
async fn the_card_lists_the_extension_if_the_server_stamps() {
    for (provenance, expected) in [
        (Provenance::Unstamped, json!(null)),
        (
            Provenance::Stamped,
            json!([{
                "uri": "urn:llamon:ext:provenance:v1",
                "description": "Data and file parts say which agent made them.",
                "required": false,
            }]),
        ),
    ] {
        let server = create_server(card("alpha"), Reporter::default()).provenance(provenance);
        let server = start(server).await;
        assert_eq!(http::extensions(server.url()).await, expected);
    }
}

/// Requests of every kind: method, path, body. The task does not exist; an error is an answer.
fn requests() -> Vec<(&'static str, &'static str, String)> {
    let message = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;
    let rpc = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
    };
    vec![
        ("POST", "/", rpc("SendMessage", message)),
        ("POST", "/", rpc("SendStreamingMessage", message)),
        ("POST", "/", rpc("GetTask", r#"{"id":"none"}"#)),
        ("POST", "/message:send", message.to_owned()),
        ("POST", "/message:stream", message.to_owned()),
        ("GET", "/tasks/none", String::new()),
        ("GET", "/.well-known/agent-card.json", String::new()),
    ]
}

const HEADER: &str = "a2a-extensions";

#[tokio::test]
async fn the_header_is_echoed_for_the_extensions_that_the_server_has() {
    let agent = Reporter::returning(&[OWN]);
    let server = start(stamped_server("alpha", "replace", agent)).await;
    let cases: [(&[&str], &[&str]); 7] = [
        (&[EXTENSION_URI], &[EXTENSION_URI]),
        (
            &["urn:unknown, urn:llamon:ext:provenance:v1"],
            &[EXTENSION_URI],
        ),
        (&["urn:unknown", EXTENSION_URI], &[EXTENSION_URI]),
        (
            &[" urn:llamon:ext:provenance:v1,urn:llamon:ext:provenance:v1 "],
            &[EXTENSION_URI],
        ),
        (&["urn:unknown"], &[]),
        (
            &[
                "urn:llamon:ext:input-contracts:v1",
                "urn:llamon:ext:provenance:v",
                "",
            ],
            &[],
        ),
        (&[], &[]),
    ];
    for (method, path, body) in requests() {
        for (asked, echoed) in cases {
            let headers: Vec<_> = asked
                .iter()
                .map(|value| ("A2A-Extensions", *value))
                .collect();
            let response = http::send(server.url(), method, path, &headers, &body).await;
            assert_eq!(response.all(HEADER), echoed, "{method} {path} {asked:?}");
            // Parts are stamped either way.
            if path.contains("message") {
                assert_eq!(response.status, 200, "{response:?}");
                assert!(
                    response.body.contains("\"producer\":\"alpha\""),
                    "{response:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn each_agent_of_a_host_decides_for_itself() {
    let stamped = stamped_server("alpha", "append", Reporter::returning(&[OWN]));
    let plain = create_server(card("beta"), Reporter::returning(&[OWN]));
    let host = AgentHost::new()
        .agent("/alpha", stamped.await.unwrap())
        .agent("/beta", plain.await.unwrap());
    let server = TestServer::start_host(host).await.unwrap();
    let origin = server.url().strip_suffix("/alpha").unwrap();
    let message = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":"up"}]}}"#;
    let asked = [("A2A-Extensions", EXTENSION_URI)];
    for (agent, echoed) in [("/alpha", &[EXTENSION_URI][..]), ("/beta", &[])] {
        let path = format!("{agent}/message:send");
        let response = http::send(origin, "POST", &path, &asked, message).await;
        assert_eq!(response.status, 200);
        assert_eq!(response.all(HEADER), echoed);
        let is_stamped = response.body.contains("\"producer\":\"alpha\"");
        assert_eq!(is_stamped, !echoed.is_empty(), "{response:?}");
        assert!(!response.body.contains("\"producer\":\"beta\""));
    }
}

#[tokio::test]
async fn without_extensions_there_is_no_header() {
    let contracts = InputContracts::new().with(InputContract::text("text"));
    let server =
        create_server(card("alpha"), Reporter::returning(&[OWN])).input_contracts(contracts);
    let server = start(server).await;
    let all = "urn:llamon:ext:input-contracts:v1, urn:llamon:ext:provenance:v1";
    for (method, path, body) in requests() {
        let headers = [("A2A-Extensions", all)];
        let response = http::send(server.url(), method, path, &headers, &body).await;
        assert_eq!(response.all(HEADER), [""; 0], "{method} {path}");
        assert!(!response.body.contains("urn:"), "{response:?}");
    }
}
