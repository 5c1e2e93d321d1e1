//! What the stream of an answer is made of (data-flow.md, section 3, "Streaming").

use llamon_agent::core::{Json, Limits, Payload};
use llamon_agent::server::{Answer, TaskVisibility, create_server};
use llamon_itest::agents::{End, Gate, Script, card, parts, scripted, serve, serve_scripts, start};
use llamon_itest::matrix::{blocking, everywhere, fold, streaming};
use llamon_itest::outcome::{Content, Outcome};
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, WIRES, peers};

const TOKENS: [&str; 3] = [
    r#"{"text":"one "}"#,
    r#"{"text":"two "}"#,
    r#"{"text":"three"}"#,
];
const WHOLE: &str = r#"{"text":"one two three"}"#;
const OTHER: &str = r#"{"text":"four"}"#;
const OWN: &str = r#"{"data":{"own":1}}"#;
const OWN_FILE: &str = r#"{"url":"https://example.com/own"}"#;
const UP: &str = r#"{"data":["up"]}"#;
const UP_FILE: &str = r#"{"raw":"dXA=","filename":"up"}"#;

/// A message with upstream parts.
fn say() -> [Say; 1] {
    [Say::text("go").with(&[UP, UP_FILE])]
}

/// An update of an artifact, as far as these tests look at it.
#[derive(Debug, PartialEq)]
struct Update {
    append: bool,
    last: bool,
    parts: Vec<String>,
}

fn updates(events: &[Raw]) -> Vec<Update> {
    let is_true = |update: &Raw, name| update.find(name).is_some_and(|it| it.text() == "true");
    let found = events
        .iter()
        .filter_map(|event| event.find("artifactUpdate"));
    found
        .map(|update| Update {
            append: is_true(&update, "append"),
            last: is_true(&update, "lastChunk"),
            parts: (update.list("artifact.parts").iter())
                .map(|part| part.text().to_owned())
                .collect(),
        })
        .collect()
}

fn tokens() -> Script {
    TOKENS.iter().fold(Script::returns(&[]), |script, token| {
        script.emitting(&[token])
    })
}

fn returning(script: &Script, returned: &[&str]) -> Script {
    let own: Vec<String> = returned.iter().map(ToString::to_string).collect();
    script.clone().ending(End::Completed(own))
}

/// Runs the script in every way under both policies and compares it with what is expected
/// without upstream. Returns what the streams under `append` had, one of each binding.
async fn assert_current(script: &Script, expected: &Content) -> Vec<Vec<Raw>> {
    for policy in ["replace", "append"] {
        let server = serve_scripts(policy, vec![script.clone()]).await;
        let mut expected = expected.clone();
        if policy == "append" {
            expected.data.push(r#"["up"]"#.to_owned());
            expected.files.push(UP_FILE.to_owned());
        }
        let outcome = everywhere(&server, &say()).await;
        let found = outcome.content();
        assert!(found.is_same(&expected), "{policy}: {found:?} {expected:?}");
    }
    let server = serve_scripts("append", vec![script.clone()]).await;
    let mut streams = Vec::new();
    for peer in peers(server.url()) {
        streams.push(streaming(&peer, &say()).await.1);
    }
    streams
}

#[tokio::test]
async fn emitted_tokens_and_the_same_returned_text_are_not_doubled() {
    let text_only = Content::expect("one two three", &[], &[]);
    for returned in [&[WHOLE][..], &TOKENS[..]] {
        for events in assert_current(&returning(&tokens(), returned), &text_only).await {
            let updates = updates(&events);
            let replacing = updates.iter().filter(|update| !update.append).count();
            assert_eq!(replacing, 1, "only the first one: {updates:?}");
            assert_eq!(updates.last().unwrap().parts, [UP, UP_FILE]);
        }
    }
    let script = returning(&tokens(), &[OWN, WHOLE]);
    let with_data = Content::expect("one two three", &[r#"{"own":1}"#], &[]);
    assert_current(&script, &with_data).await;
}

#[tokio::test]
async fn a_different_returned_text_replaces_in_one_update_with_all_of_current() {
    let script = tokens().emitting(&[OWN]).emitting(&[OWN_FILE]);
    let script = returning(&script, &[OTHER, OWN]);
    let data = r#"{"own":1}"#;
    let expected = Content::expect("four", &[data, data], &[OWN_FILE]);
    for events in assert_current(&script, &expected).await {
        let updates = updates(&events);
        let replacing: Vec<usize> = (1..updates.len())
            .filter(|at| !updates[*at].append)
            .collect();
        let [at] = replacing[..] else {
            panic!("one update replaces: {updates:?}");
        };
        let current = [OWN, OWN_FILE, OTHER, OWN];
        assert_eq!(updates[at].parts[..current.len()], current);
    }
}

#[tokio::test]
async fn a_text_that_differs_in_a_line_end_only_is_different() {
    let script = returning(&tokens(), &[r#"{"text":"one two three\n"}"#]);
    let expected = Content::expect("one two three\n", &[], &[]);
    assert_current(&script, &expected).await;
}

#[tokio::test]
async fn emitted_data_and_a_returned_text() {
    let script = Script::returns(&[WHOLE])
        .emitting(&[OWN])
        .emitting(&[OWN_FILE]);
    let expected = Content::expect("one two three", &[r#"{"own":1}"#], &[OWN_FILE]);
    for events in assert_current(&script, &expected).await {
        // Nothing was said before, so nothing is taken back.
        let replacing = updates(&events).iter().filter(|it| !it.append).count();
        assert_eq!(replacing, 1);
    }
}

#[tokio::test]
async fn nothing_returned_adds_nothing() {
    let expected = Content::expect("one two three", &[r#"{"own":1}"#], &[]);
    let script = tokens().emitting(&[OWN]);
    assert_current(&script, &expected).await;
    // An empty text is none, whatever carries it.
    let script = returning(&script, &[r#"{"text":""}"#]);
    assert_current(&script, &expected).await;
}

#[tokio::test]
async fn no_update_is_without_parts() {
    let server = serve("replace", Limits::default(), async |turn| {
        turn.emit("").await?;
        turn.emit(Payload::new()).await?;
        turn.emit(()).await?;
        turn.artifact("never").emit("").await?;
        turn.emit("a").await?;
        turn.emit(String::new()).await?;
        Ok(Answer::completed(())?)
    })
    .await;
    let outcome = everywhere(&server, &say()).await;
    assert_eq!(outcome.by_artifact().len(), 1, "{outcome:?}");
    for peer in peers(server.url()) {
        let (_, events) = streaming(&peer, &say()).await;
        assert_eq!(updates(&events).len(), 1, "{events:?}");
    }
}

#[tokio::test]
async fn upstream_parts_come_after_the_last_own_chunk_in_one_commit_with_the_status() {
    let own = Content::expect("one ", &[r#"{"own":1}"#], &[]);
    for wire in WIRES {
        let gate = Gate::new();
        let open = gate.clone();
        let server = serve("append", Limits::default(), move |turn| {
            let gate = gate.clone();
            async move {
                turn.emit(parts(&[TOKENS[0], OWN])).await?;
                gate.pass().await;
                turn.emit(parts(&[OWN_FILE])).await?;
                Ok(Answer::completed(())?)
            }
        })
        .await;
        let peer = Peer::new(server.url(), wire);
        let (id, mut events) = peer.begin(&say()[0]).await;
        let begun = events.until("artifactUpdate").await;
        let begun = Content::of(&begun.list("artifactUpdate.artifact.parts"));
        assert!(begun.is_same(&own));
        let running = Outcome::of_task(&peer.get(&id).await);
        assert_eq!(running.state, "TASK_STATE_WORKING");
        assert!(running.content().is_same(&own), "{running:?}");

        open.open();
        // Who sees the upstream parts sees a completed task: there is nothing between the two.
        let mut seen = Vec::new();
        while !seen.contains(&UP.to_owned()) {
            let update = events.until("artifactUpdate").await;
            seen.extend(updates(&[update])[0].parts.clone());
        }
        assert_eq!(seen, [OWN_FILE, UP, UP_FILE]);
        let task = Outcome::of_task(&peer.get(&id).await);
        assert_eq!(task.state, "TASK_STATE_COMPLETED");
        let rest = events.rest().await;
        assert_eq!(rest.len(), 1, "{rest:?}");
        assert_eq!(rest[0].string("statusUpdate.status.state"), task.state);
    }
}

#[tokio::test]
async fn last_chunk_is_only_on_a_chunk_that_is_known_to_be_the_last() {
    // The last update when something is left to send at the end, and when nothing is.
    let cases = [
        (tokens(), "replace", false),
        (tokens(), "append", true),
        (returning(&tokens(), &[WHOLE]), "replace", false),
        (returning(&tokens(), &[OWN]), "replace", true),
        (returning(&tokens(), &[OTHER]), "append", true),
        (Script::returns(&[WHOLE]), "replace", true),
        (
            tokens().ending(End::InputRequired("which?")),
            "append",
            false,
        ),
        (tokens().ending(End::Failed("broken")), "append", false),
    ];
    for (script, policy, last) in cases {
        let server = serve_scripts(policy, vec![script.clone()]).await;
        for peer in peers(server.url()) {
            let (_, events) = streaming(&peer, &say()).await;
            let updates = updates(&events);
            let (end, before) = updates.split_last().unwrap();
            assert_eq!(end.last, last, "{policy} {script:?}");
            assert!(before.iter().all(|update| !update.last), "{updates:?}");
        }
    }
}

#[tokio::test]
async fn the_first_event_is_the_task_with_the_message_in_it() {
    let server = serve_scripts("append", vec![tokens()]).await;
    for peer in peers(server.url()) {
        let (_, events) = streaming(&peer, &[say()[0].clone().in_context("c1")]).await;
        let task = events[0].at("task");
        assert_eq!(task.string("contextId"), "c1");
        assert_eq!(task.string("status.state"), "TASK_STATE_SUBMITTED");
        assert_eq!(task.string("history.0.taskId"), task.string("id"));
        assert_eq!(task.at("history.0.parts.1").text(), UP);
        assert_eq!(task.find("artifacts"), None);
        for event in &events[1..] {
            let update = event.find("statusUpdate").or(event.find("artifactUpdate"));
            assert_eq!(update.unwrap().string("contextId"), "c1");
        }
    }
}

#[tokio::test]
async fn a_stream_closes_when_its_task_is_terminal_or_waits() {
    // `fold` reads to the end of the connection's response and checks that the last event is
    // the one that brings the task to rest.
    let ends = [
        (End::Completed(Vec::new()), "TASK_STATE_COMPLETED"),
        (End::Failed("broken"), "TASK_STATE_FAILED"),
        (End::Rejected("no"), "TASK_STATE_REJECTED"),
        (End::InputRequired("which?"), "TASK_STATE_INPUT_REQUIRED"),
        (End::AuthRequired("who?"), "TASK_STATE_AUTH_REQUIRED"),
    ];
    for (end, state) in ends {
        let server = serve_scripts("append", vec![Script::new(end)]).await;
        for peer in peers(server.url()) {
            let (outcome, _) = fold(peer.stream(&say()[0]).await).await;
            assert_eq!(outcome.state, state);
        }
    }
}

#[tokio::test]
async fn a_status_text_is_no_part_of_the_answer() {
    let server = serve("append", Limits::default(), async |turn| {
        turn.status("reading").await?;
        turn.emit("a").await?;
        turn.status("writing").await?;
        turn.emit("b").await?;
        Ok(Answer::completed(())?)
    })
    .await;
    let outcome = everywhere(&server, &say()).await;
    assert_eq!((&*outcome.content().text, &*outcome.said), ("ab", ""));
    for peer in peers(server.url()) {
        let (_, events) = streaming(&peer, &say()).await;
        let said: Vec<String> = events
            .iter()
            .filter_map(|event| event.find("statusUpdate.status.message.parts"))
            .map(|parts| Content::of(&parts.items()).text)
            .collect();
        assert_eq!(said, ["reading", "writing"]);
    }
}

#[tokio::test]
async fn a_further_artifact_stands_beside_the_answer_and_has_no_upstream() {
    let server = serve("append", Limits::default(), async |turn| {
        let log = turn.artifact("log");
        log.emit("line 1\n").await?;
        turn.emit("answer").await?;
        log.emit(("line 2\n", Json(2))).await?;
        turn.artifact("notes").emit(Json("note")).await?;
        Ok(Answer::completed(Json("own"))?)
    })
    .await;
    let outcome = everywhere(&server, &say()).await;
    let expected = [
        (
            "artifact-1-1",
            Content::expect("line 1\nline 2\n", &["2"], &[]),
        ),
        (
            "response",
            Content::expect("answer", &[r#""own""#, r#"["up"]"#], &[UP_FILE]),
        ),
        ("artifact-1-2", Content::expect("", &[r#""note""#], &[])),
    ];
    for ((id, content), (expected_id, expected)) in outcome.by_artifact().iter().zip(&expected) {
        assert_eq!(id, expected_id);
        assert!(content.is_same(expected), "{id}: {content:?}");
    }
    assert_eq!(outcome.by_artifact().len(), expected.len());
    let task = peers(server.url())[0].get(&outcome.task_id.unwrap()).await;
    assert_eq!(task.string("artifacts.0.name"), "log");
    assert_eq!(task.string("artifacts.2.name"), "notes");
}

// === TaskVisibility::WithFirstOutput ===

#[tokio::test]
async fn with_first_output_the_stream_of_a_direct_message_is_exactly_one_message() {
    let script = Script::new(End::Message(vec![OTHER.to_owned(), OWN.to_owned()]));
    let builder = create_server(card("agent"), scripted(vec![script]))
        .upstream_parts_policy("append")
        .task_visibility(TaskVisibility::WithFirstOutput);
    let server = start(builder).await;
    let outcome = everywhere(&server, &say()).await;
    assert_eq!(outcome.task_id, None);
    let expected = Content::expect("four", &[r#"{"own":1}"#, r#"["up"]"#], &[UP_FILE]);
    assert!(outcome.content().is_same(&expected), "{outcome:?}");
    for peer in peers(server.url()) {
        let (_, events) = streaming(&peer, &say()).await;
        assert_eq!(events.len(), 1);
        let listed = peer.call(Op::List(&[])).await.unwrap();
        assert_eq!(listed.at("totalSize").text(), "0", "the task is gone");
    }
}

#[tokio::test]
async fn with_first_output_the_task_is_seen_from_its_first_output_on() {
    let (begun, gate) = (Gate::new(), Gate::new());
    let (has_begun, open) = (begun.clone(), gate.clone());
    let agent = move |turn: llamon_agent::server::Turn| {
        let (begun, gate) = (begun.clone(), gate.clone());
        async move {
            begun.open();
            gate.pass().await;
            turn.emit("a").await?;
            Ok(Answer::completed(())?)
        }
    };
    let builder = create_server(card("agent"), agent)
        .upstream_parts_policy("append")
        .task_visibility(TaskVisibility::WithFirstOutput);
    let server = start(builder).await;
    let [peer, other] = peers(server.url());
    let sending = tokio::spawn({
        let peer = peer.clone();
        async move { streaming(&peer, &say()).await }
    });
    has_begun.pass().await;
    let listed = other.call(Op::List(&[])).await.unwrap();
    assert_eq!(listed.at("tasks").text(), "[]");
    open.open();
    let (outcome, events) = sending.await.unwrap();
    assert_eq!(events[0].string("task.id"), outcome.task_id.unwrap());
    let listed = other.call(Op::List(&[])).await.unwrap();
    assert_eq!(listed.at("totalSize").text(), "1");
    let expected = Content::expect("a", &[r#"["up"]"#], &[UP_FILE]);
    let blocking = blocking(&peer, &say()).await;
    assert!(blocking.content().is_same(&expected), "{blocking:?}");
}
