//! A remote A2A agent behind a server, both real and on loopback.

use llamon_agent::a2a::AgentInterface;
use llamon_agent::client::{Binding, Client};
use llamon_agent::core::{Json, Limits};
use llamon_agent::prelude::Question;
use llamon_agent::server::adapters::A2aAdapter;
use llamon_agent::server::{AgentError, Answer, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{End, Gate, Script, card, scripted, serve, serve_scripts, start};
use llamon_itest::matrix::{everywhere, fold, streaming};
use llamon_itest::outcome::{Content, Outcome};
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, Wire, peers};
use serde_json::json;

use crate::ODD;
use crate::proxy::Proxy;

const BINDINGS: [Binding; 2] = [Binding::JsonRpc, Binding::Rest];

/// A server that passes on to what the client calls.
async fn front(client: Client) -> TestServer {
    start(create_server(card("front"), A2aAdapter::new(client)).upstream_parts_policy("append"))
        .await
}

/// Servers in front of a remote one: over both bindings, and without streams.
async fn fronts(remote: &TestServer) -> Vec<TestServer> {
    let mut fronts = Vec::new();
    for binding in BINDINGS {
        fronts.push(front(remote.client_with(binding).await.unwrap()).await);
    }
    let (card, url) = changed_card(remote, |card| {
        card["capabilities"]["streaming"] = json!(false)
    });
    let without = Client::builder().with_card(&card, &url).unwrap();
    fronts.push(front(without).await);
    fronts
}

fn changed_card(
    remote: &TestServer,
    change: impl FnOnce(&mut serde_json::Value),
) -> (String, String) {
    let mut card = serde_json::to_value(remote.client().card()).unwrap();
    change(&mut card);
    let url = format!(
        "{}/.well-known/agent-card.json",
        remote.url().trim_end_matches('/')
    );
    (card.to_string(), url)
}

/// The remote agent's tasks.
async fn tasks(remote: &TestServer) -> Vec<Raw> {
    let peer = Peer::new(remote.url(), Wire::JsonRpc);
    let page = peer
        .call(Op::List(&[("includeArtifacts", "true")]))
        .await
        .unwrap();
    page.list("tasks")
}

#[tokio::test]
async fn parts_go_both_ways_token_for_token_and_the_remote_policy_decides() {
    let own = r#"{"data":[1.00,"\u00e9"],"x":1}"#;
    for (policy, kept) in [("append", &ODD[..]), ("replace", &[])] {
        let remote = serve_scripts(policy, vec![Script::returns(&[r#"{"text":"t"}"#, own])]).await;
        for front in fronts(&remote).await {
            let outcome = everywhere(&front, &[Say::text("go").with(&ODD)]).await;
            assert_eq!(outcome.state, "TASK_STATE_COMPLETED", "{outcome:?}");
            assert_eq!(outcome.content().text, "t");
            let expected: Vec<&str> = std::iter::once(own).chain(kept.iter().copied()).collect();
            assert_eq!(outcome.content().order, expected);
        }
    }
}

#[tokio::test]
async fn the_remote_agent_gets_the_message_as_it_came_and_its_context() {
    let remote = start(create_server(card("remote"), async |turn: Turn| {
        let parts: Vec<&str> = turn
            .message()
            .parts
            .iter()
            .map(|part| part.json())
            .collect();
        let metadata = turn.request_metadata().unwrap_or("none");
        Ok::<_, AgentError>(format!(
            "{} {} {metadata}",
            turn.context_id(),
            parts.join(" ")
        ))
    }))
    .await;
    for front in fronts(&remote).await {
        for peer in peers(front.url()) {
            let say = Say::text("a")
                .with(&[ODD[0], r#"{"text":"b"}"#])
                .in_context("c-7");
            let text = Outcome::of_task(&peer.send(&say).await).content().text;
            // How far it was handed on is all that is added, beside the message.
            let handed_on =
                r#"{"urn:llamon:ext:delegation:v1":{"depth":1,"maxDepth":8,"maxCalls":100}}"#;
            let parts = format!(r#"{{"text":"a"}} {} {{"text":"b"}}"#, ODD[0]);
            let expected = format!("c-7 {parts} {handed_on}");
            assert_eq!(text, expected);
        }
    }
}

#[tokio::test]
async fn what_is_streamed_is_streamed_on_and_kept() {
    let gate = Gate::new();
    let of_agent = gate.clone();
    let remote = serve("replace", Limits::default(), move |turn: Turn| {
        let gate = of_agent.clone();
        async move {
            turn.status("looking").await?;
            turn.emit("one ").await?;
            gate.pass().await;
            turn.emit("two").await?;
            Ok(Answer::completed(Json(3))?)
        }
    })
    .await;
    let front = front(remote.client().clone()).await;
    let peer = Peer::new(front.url(), Wire::JsonRpc);
    let (id, mut events) = peer.begin(&Say::text("go")).await;
    let status = events.until("statusUpdate.status.message").await;
    assert_eq!(
        status.string("statusUpdate.status.message.parts.0.text"),
        "looking"
    );
    let chunk = events.until("artifactUpdate").await;
    assert_eq!(chunk.string("artifactUpdate.artifact.parts.0.text"), "one ");
    gate.open();
    let rest = events.rest().await;
    let updates = rest.iter().filter_map(|event| event.find("artifactUpdate"));
    let updates: Vec<Raw> = updates.collect();
    assert!(
        updates
            .iter()
            .all(|update| update.at("append").text() == "true"),
        "{updates:?}"
    );
    let outcome = Outcome::of_task(&peer.get(&id).await);
    assert!(
        outcome
            .content()
            .is_same(&Content::expect("one two", &["3"], &[]))
    );
}

#[tokio::test]
async fn what_the_remote_agent_replaces_is_replaced() {
    let replacing = Script::returns(&[r#"{"text":"final"}"#])
        .emitting(&[r#"{"text":"draft"}"#])
        .emitting(&[r#"{"data":1}"#]);
    let remote = serve_scripts("append", vec![replacing]).await;
    for front in fronts(&remote).await {
        let outcome = everywhere(&front, &[Say::text("go").with(&[ODD[1]])]).await;
        let expected = Content::expect("final", &["1", "null"], &[]);
        assert!(outcome.content().is_same(&expected), "{outcome:?}");
    }
}

#[tokio::test]
async fn several_artifacts_are_one_response_as_a_client_sees_them() {
    let remote = start(create_server(card("remote"), async |turn: Turn| {
        turn.emit("main").await?;
        turn.artifact("report").emit(("report", Json(1))).await?;
        Ok::<_, AgentError>(())
    }))
    .await;
    let seen = remote.send("go").await.unwrap().payload();
    for front in fronts(&remote).await {
        let outcome = everywhere(&front, &[Say::text("go")]).await;
        assert_eq!(outcome.content().text, seen.text());
        assert_eq!(outcome.content().text, "main\nreport");
        assert_eq!(outcome.content().data, ["1"]);
    }
}

#[tokio::test]
async fn a_question_is_passed_on_and_its_answer_goes_to_the_same_remote_task() {
    for asking in [End::InputRequired("which?"), End::AuthRequired("which?")] {
        let first = Script::new(asking).emitting(&[r#"{"text":"before"}"#]);
        let second = Script::returns(&[r#"{"text":"after"}"#, r#"{"data":2}"#]);
        let remote = serve_scripts("append", vec![first, second]).await;
        for (number, front) in fronts(&remote).await.iter().enumerate() {
            let says = [Say::text("go"), Say::text("this").with(&[ODD[2]])];
            let outcome = everywhere(front, &says).await;
            let content = outcome.by_artifact();
            let texts: Vec<&str> = content.iter().map(|(_, c)| c.text.as_str()).collect();
            assert_eq!(texts, ["before", "after"], "front {number}: {outcome:?}");
            assert_eq!(content[1].1.order, [r#"{"data":2}"#, ODD[2]]);
        }
        // `everywhere` has the conversation eight times with each front, each in one task.
        let tasks = tasks(&remote).await;
        assert_eq!(tasks.len(), 3 * 8);
        for task in tasks {
            assert_eq!(task.string("status.state"), "TASK_STATE_COMPLETED");
        }
    }
}

#[tokio::test]
async fn questions_of_people_in_the_loop_are_passed_on_with_their_data() {
    let agent = async |turn: Turn| -> Result<String, AgentError> {
        let sure = Question::new("Sure?").schema(json!({"type": "boolean"}));
        let sure: bool = turn.ask(sure).await?.read()?;
        let often = turn.ask("How often?").await?.text();
        Ok(format!("{sure} {often}"))
    };
    let remote = start(create_server(card("remote"), agent).hitl()).await;
    for front in fronts(&remote).await {
        for peer in peers(front.url()) {
            let task = peer.send(&Say::text("go")).await;
            let id = task.string("id");
            let question = task.list("status.message.parts")[1].at("data.interrupts.0");
            assert_eq!(question.string("schema.type"), "boolean");
            // What does not fit is asked again by who asked.
            let again = peer.send(&Say::text("maybe").in_task(&id)).await;
            assert!(Outcome::of_task(&again).said.contains("does not fit"));
            let resume = format!(
                r#"{{"data":{{"resume":{{{}:true}}}}}}"#,
                question.at("id").text()
            );
            peer.send(&Say::parts([resume]).in_task(&id)).await;
            let done = peer.send(&Say::text("3").in_task(&id)).await;
            assert_eq!(Outcome::of_task(&done).content().text, "true 3");
        }
    }
}

#[tokio::test]
async fn other_ends_are_passed_on() {
    let ends = [
        (End::Rejected("no"), "TASK_STATE_REJECTED", "no"),
        (
            End::Failed("broken"),
            "TASK_STATE_FAILED",
            "the remote agent failed: broken",
        ),
    ];
    for (end, state, said) in ends {
        let script = Script::new(end).emitting(&[r#"{"text":"so far"}"#]);
        let remote = serve_scripts("append", vec![script]).await;
        for front in fronts(&remote).await {
            let outcome = everywhere(&front, &[Say::text("go").with(&[ODD[1]])]).await;
            assert_eq!((&*outcome.state, &*outcome.said), (state, said));
            assert!(
                outcome
                    .content()
                    .is_same(&Content::expect("so far", &[], &[]))
            );
        }
    }
}

#[tokio::test]
async fn a_direct_message_is_one_here_too() {
    let own = r#"{"data":1.0}"#.to_owned();
    let script = Script::new(End::Message(vec![r#"{"text":"hi"}"#.to_owned(), own]));
    let remote = serve_scripts("replace", vec![script]).await;
    // A stream has begun with a task; without one the remote agent answers directly.
    let fronts = fronts(&remote).await;
    let (without_streams, _) = fronts.split_last().unwrap();
    for peer in peers(without_streams.url()) {
        let message = peer.send(&Say::text("go")).await;
        let outcome = Outcome::of_result(&message);
        assert!(
            outcome
                .content()
                .is_same(&Content::expect("hi", &["1.0"], &[]))
        );
    }
    for front in &fronts {
        let (outcome, _) = streaming(&Peer::new(front.url(), Wire::Rest), &[Say::text("go")]).await;
        assert!(
            outcome
                .content()
                .is_same(&Content::expect("hi", &["1.0"], &[]))
        );
    }
}

#[tokio::test]
async fn a_cancel_reaches_the_remote_task() {
    let script = Script::new(End::AwaitCancel(Vec::new())).emitting(&[r#"{"text":"begun"}"#]);
    let remote = serve_scripts("append", vec![script]).await;
    for (number, front) in fronts(&remote).await.iter().enumerate() {
        let peer = Peer::new(front.url(), Wire::JsonRpc);
        let (id, mut events) = peer.begin(&Say::text("go")).await;
        events.until("artifactUpdate").await;
        let canceled = peer.call(Op::Cancel(&id)).await.unwrap();
        assert_eq!(canceled.string("status.state"), "TASK_STATE_CANCELED");
        let tasks = tasks(&remote).await;
        assert_eq!(tasks.len(), number + 1);
        for task in tasks {
            assert_eq!(task.string("status.state"), "TASK_STATE_CANCELED");
        }
    }
}

#[tokio::test]
async fn a_remote_task_that_somebody_else_cancels_fails_this_one() {
    let script = Script::new(End::AwaitCancel(Vec::new())).emitting(&[r#"{"text":"begun"}"#]);
    let remote = serve_scripts("append", vec![script]).await;
    let front = front(remote.client().clone()).await;
    let (_, mut events) = Peer::new(front.url(), Wire::Rest)
        .begin(&Say::text("go"))
        .await;
    events.until("artifactUpdate").await;
    let id = tasks(&remote).await[0].string("id");
    remote.client().cancel(&id).await.unwrap();
    let last = events.rest().await.pop().unwrap();
    assert_eq!(
        last.string("statusUpdate.status.state"),
        "TASK_STATE_FAILED"
    );
    assert!(last.text().contains("was canceled"), "{last:?}");
}

#[tokio::test]
async fn errors_say_what_went_wrong_without_addresses() {
    let limits = Limits::default().with_max_message_parts(2);
    let remote = serve("append", limits, scripted(vec![Script::returns(&[])])).await;
    let address = remote
        .url()
        .trim_start_matches("http://")
        .trim_end_matches('/')
        .to_owned();
    let fronts = fronts(&remote).await;
    for front in &fronts {
        let outcome = everywhere(front, &[Say::text("go").with(&ODD)]).await;
        assert_eq!(outcome.state, "TASK_STATE_FAILED");
        assert!(outcome.said.contains("refused") && outcome.said.contains("max_message_parts"));
    }
    remote.stop().await.unwrap();
    for front in &fronts {
        let outcome = everywhere(front, &[Say::text("go")]).await;
        assert_eq!(outcome.state, "TASK_STATE_FAILED");
        assert!(
            outcome.said.contains("cannot be reached"),
            "{}",
            outcome.said
        );
        assert!(!outcome.said.contains(&address), "{}", outcome.said);
    }
}

#[tokio::test]
async fn a_stream_that_is_lost_is_taken_up_again() {
    for binding in ["JSONRPC", "HTTP+JSON"] {
        let gate = Gate::new();
        let of_agent = gate.clone();
        let remote = serve("append", Limits::default(), move |turn: Turn| {
            let gate = of_agent.clone();
            async move {
                turn.emit("one ").await?;
                gate.pass().await;
                turn.emit("two").await?;
                Ok(Answer::completed(Json(3))?)
            }
        })
        .await;
        let proxy = Proxy::to(remote.url()).await;
        let url = format!("http://{}", proxy.address);
        let interface = serde_json::to_value(AgentInterface::new(&url, binding)).unwrap();
        let (card, card_url) = changed_card(&remote, |card| {
            card["supportedInterfaces"] = json!([interface])
        });
        let client = Client::builder()
            .trust_origin(&url)
            .with_card(&card, &card_url)
            .unwrap();
        let front = front(client).await;
        let peer = Peer::new(front.url(), Wire::Rest);
        let mut events = peer.stream(&Say::text("go").with(&[ODD[0]])).await;
        let mut outcome = Outcome::default();
        while outcome.artifacts.is_empty() {
            outcome.apply(&events.next().await.unwrap());
        }
        let before = proxy.connections();
        proxy.cut();
        llamon_itest::agents::until(|| async { (proxy.connections() > before).then_some(()) })
            .await;
        gate.open();
        for event in events.rest().await {
            outcome.apply(&event);
        }
        assert_eq!(outcome.state, "TASK_STATE_COMPLETED", "{outcome:?}");
        let data: Vec<Raw> = vec![Raw::parse("3"), Raw::parse(ODD[0]).at("data")];
        let data: Vec<&str> = data.iter().map(Raw::text).collect();
        assert!(
            outcome
                .content()
                .is_same(&Content::expect("one two", &data, &[])),
            "{outcome:?}"
        );
        assert_eq!(tasks(&remote).await.len(), 1);
    }
}

#[tokio::test]
async fn with_people_in_the_loop_it_says_that_it_needs_none() {
    let remote = serve_scripts("append", vec![Script::returns(&[])]).await;
    let adapter = A2aAdapter::new(remote.client().clone());
    let front = start(create_server(card("front"), adapter).hitl()).await;
    let outcome = everywhere(&front, &[Say::text("go")]).await;
    assert!(outcome.said.contains("without .hitl()"), "{}", outcome.said);
    let events = Peer::new(front.url(), Wire::Rest)
        .stream(&Say::text("go"))
        .await;
    assert_eq!(fold(events).await.0.state, "TASK_STATE_FAILED");
}
