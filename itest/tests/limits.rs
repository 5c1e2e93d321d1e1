//! Every limit of what a server takes and holds: under it, at it, and over it.

use llamon_agent::core::{Json, Limits, Payload};
use llamon_agent::server::{AgentError, Answer, Turn};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{End, Gate, Script, parts, scripted, serve, until};
use llamon_itest::http::{Request, send};
use llamon_itest::matrix::everywhere;
use llamon_itest::outcome::Content;
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, Refusal, WIRES, Wire, envelope, peers};

/// A text part whose JSON text has this many bytes.
fn text(bytes: usize) -> String {
    let frame = r#"{"text":""}"#.len();
    format!(r#"{{"text":"{}"}}"#, "x".repeat(bytes - frame))
}

/// A data part whose JSON text has this many bytes.
fn data(bytes: usize) -> String {
    let frame = r#"{"data":""}"#.len();
    format!(r#"{{"data":"{}"}}"#, "x".repeat(bytes - frame))
}

async fn ok(_: Turn) -> Result<Answer, AgentError> {
    Ok(Answer::completed("ok")?)
}

fn assert_names(text: &str, limit: &str, numbers: &[usize]) {
    assert!(text.contains(limit), "{limit} is not in {text:?}");
    for number in numbers {
        assert!(
            text.contains(&number.to_string()),
            "{number} is not in {text:?}"
        );
    }
}

fn assert_invalid(wire: Wire, refusal: &Refusal) {
    let code = if wire == Wire::JsonRpc { -32602 } else { 400 };
    assert_eq!(
        (refusal.code, &*refusal.reason),
        (code, "INVALID_PARAMS"),
        "{refusal:?}"
    );
}

fn assert_no_room(wire: Wire, refusal: &Refusal) {
    let code = if wire == Wire::JsonRpc { -32603 } else { 503 };
    assert_eq!(
        (refusal.code, &*refusal.reason),
        (code, "UNAVAILABLE"),
        "{refusal:?}"
    );
}

// === what an answer may have ===

const ARTIFACT: usize = 100;

/// Runs the script with an artifact limit of 100 bytes. With `kept` it fails and keeps that;
/// without, it completes.
async fn assert_artifact(
    policy: &str,
    script: Script,
    upstream: &[String],
    fails: Option<(&str, usize)>,
) {
    let limits = Limits::default().with_max_artifact_bytes(ARTIFACT);
    let server = serve(policy, limits, scripted(vec![script.clone()])).await;
    let parts = [vec![text(20)], upstream.to_vec()].concat();
    let outcome = everywhere(&server, &[Say::parts(parts)]).await;
    let what = format!("{policy} {script:?}: {outcome:?}");
    match fails {
        None => {
            assert_eq!(outcome.state, "TASK_STATE_COMPLETED", "{what}");
            let content = outcome.content();
            let expected = if policy == "append" { upstream } else { &[] };
            assert!(content.order.ends_with(expected), "{what}");
        }
        Some((kept, found)) => {
            assert_eq!(outcome.state, "TASK_STATE_FAILED", "{what}");
            assert_names(&outcome.said, "max_artifact_bytes", &[ARTIFACT, found]);
            let kept = Content::expect(kept, &[], &[]);
            assert!(outcome.content().is_same(&kept), "{what}");
        }
    }
}

fn own(parts: &[String]) -> End {
    End::Completed(parts.to_vec())
}

#[tokio::test]
async fn max_artifact_bytes_of_what_is_returned() {
    for (bytes, fails) in [(99, None), (100, None), (101, Some(("", 101)))] {
        assert_artifact("replace", Script::new(own(&[text(bytes)])), &[], fails).await;
        let both = [text(40), data(bytes - 40)];
        assert_artifact("replace", Script::new(own(&both)), &[], fails).await;
    }
}

#[tokio::test]
async fn max_artifact_bytes_of_what_is_emitted() {
    let kept = "x".repeat(60 - r#"{"text":""}"#.len());
    for (bytes, fails) in [(39, None), (40, None), (41, Some((&*kept, 101)))] {
        let emitting = Script::returns(&[]).emitting(&[&text(60)]);
        let script = emitting.clone().emitting(&[&data(bytes)]);
        assert_artifact("replace", script, &[], fails).await;
        let script = emitting.ending(own(&[data(bytes)]));
        assert_artifact("replace", script, &[], fails).await;
    }
    // What replaces does not count on top of what it replaces.
    let script = Script::new(own(&[text(100)])).emitting(&[&text(60)]);
    assert_artifact("replace", script, &[], None).await;
}

#[tokio::test]
async fn max_artifact_bytes_of_own_and_upstream_which_is_never_truncated() {
    let kept = "x".repeat(60 - r#"{"text":""}"#.len());
    for (bytes, over) in [(19, false), (20, false), (21, true)] {
        let upstream = [data(20), data(bytes)];
        let returned = Script::new(own(&[text(60)]));
        let emitted = Script::returns(&[]).emitting(&[&text(60)]);
        let fails = |kept| over.then_some((kept, 101));
        assert_artifact("append", returned.clone(), &upstream, fails("")).await;
        assert_artifact("append", emitted, &upstream, fails(&kept)).await;
        assert_artifact("replace", returned, &upstream, None).await;
    }
}

#[tokio::test]
async fn max_part_bytes_of_an_answer() {
    for (bytes, over) in [(99, false), (100, false), (101, true)] {
        let limits = Limits::default().with_max_part_bytes(100);
        let scripts = [
            Script::new(own(&[text(20), data(bytes)])),
            Script::returns(&[]).emitting(&[&data(bytes)]),
            // Chunks that are joined are no part of the agent's.
            Script::returns(&[])
                .emitting(&[&text(100)])
                .emitting(&[&text(bytes)]),
        ];
        for script in scripts {
            let server = serve("replace", limits.clone(), scripted(vec![script])).await;
            let outcome = everywhere(&server, &[Say::text("go")]).await;
            let state = if over {
                "TASK_STATE_FAILED"
            } else {
                "TASK_STATE_COMPLETED"
            };
            assert_eq!(outcome.state, state, "{bytes}: {outcome:?}");
            if over {
                assert_names(&outcome.said, "max_part_bytes", &[100, 101]);
            }
        }
    }
}

#[tokio::test]
async fn an_agent_that_ignores_an_exceeded_limit_does_not_complete() {
    let limits = || {
        Limits::default()
            .with_max_artifact_bytes(100)
            .with_max_part_bytes(90)
    };
    for (bytes, limit, numbers) in [
        (80, "max_artifact_bytes", [100, 110]),
        (91, "max_part_bytes", [90, 91]),
    ] {
        for ending in ["completed", "asks", "rejects", "message"] {
            let server = serve("append", limits(), move |turn: Turn| async move {
                turn.emit(parts(&[text(30)])).await?;
                let refused = turn.emit(parts(&[data(bytes)])).await;
                assert_names(&refused.unwrap_err().to_string(), limit, &numbers);
                // Also what would fit is an error from now on.
                assert!(turn.emit("x").await.is_err());
                assert!(turn.status("x").await.is_err());
                assert!(turn.artifact("more").emit("x").await.is_err());
                Ok(match ending {
                    "completed" => Answer::completed("fine")?,
                    "asks" => Answer::input_required("which?")?,
                    "rejects" => Answer::rejected("no")?,
                    _ => Answer::message("hello")?,
                })
            })
            .await;
            let outcome = everywhere(&server, &[Say::text("go").with(&[&data(20)])]).await;
            assert_eq!(outcome.state, "TASK_STATE_FAILED", "{ending} {outcome:?}");
            assert_names(&outcome.said, limit, &numbers);
            let kept = Content::expect(&"x".repeat(30 - 11), &[], &[]);
            assert!(outcome.content().is_same(&kept), "{outcome:?}");
        }
    }
}

#[tokio::test]
async fn a_question_and_a_refusal_have_the_limits_of_an_answer() {
    for (bytes, over) in [(100, false), (101, true)] {
        for (asks, state) in [
            (true, "TASK_STATE_INPUT_REQUIRED"),
            (false, "TASK_STATE_REJECTED"),
        ] {
            let limits = Limits::default().with_max_artifact_bytes(100);
            let server = serve("append", limits, move |_| async move {
                let payload = Payload::from(parts(&[text(40), data(bytes - 40)]));
                Ok(if asks {
                    Answer::InputRequired(payload)
                } else {
                    Answer::Rejected(payload)
                })
            })
            .await;
            let outcome = everywhere(&server, &[Say::text("go")]).await;
            let expected = if over { "TASK_STATE_FAILED" } else { state };
            assert_eq!(outcome.state, expected);
        }
    }
}

#[tokio::test]
async fn max_artifacts() {
    for (count, over) in [(1, false), (2, false), (3, true)] {
        let limits = Limits::default().with_max_artifacts(3);
        let server = serve("replace", limits, move |turn: Turn| async move {
            for number in 0..count {
                turn.artifact(format!("log {number}")).emit("x").await?;
            }
            turn.emit("answer").await?;
            Ok(Answer::completed(Json(1))?)
        })
        .await;
        let outcome = everywhere(&server, &[Say::text("go")]).await;
        if over {
            assert_eq!(outcome.state, "TASK_STATE_FAILED");
            assert_names(&outcome.said, "max_artifacts", &[3, 4]);
            assert_eq!(outcome.artifacts.len(), 3);
        } else {
            assert_eq!(outcome.state, "TASK_STATE_COMPLETED");
            assert_eq!(outcome.artifacts.len(), count + 1);
        }
    }
}

// === what a request may have ===

async fn ok_server(limits: Limits) -> TestServer {
    serve("append", limits, ok).await
}

/// Sends the message, which is refused with `limit` in the text if it is `over`.
async fn assert_message(server: &TestServer, say: &Say, over: bool, limit: &str, allowed: usize) {
    for peer in peers(server.url()) {
        let sent = peer.call(Op::Send(say)).await;
        if over {
            let refusal = sent.expect_err("a refusal");
            assert_invalid(peer.wire, &refusal);
            assert_names(&refusal.message, limit, &[allowed]);
            let streamed = peer.open(Op::Stream(say)).await.expect_err("a refusal");
            assert_eq!(streamed.message, refusal.message);
        } else {
            assert_eq!(
                sent.expect("an answer").string("task.status.state"),
                "TASK_STATE_COMPLETED"
            );
        }
    }
}

#[tokio::test]
async fn max_part_bytes_of_a_message() {
    let server = ok_server(Limits::default().with_max_part_bytes(200)).await;
    for (bytes, over) in [(199, false), (200, false), (201, true)] {
        for part in [data(bytes), text(bytes)] {
            let say = Say::parts([text(20), part]);
            assert_message(&server, &say, over, "max_part_bytes", 200).await;
        }
    }
}

#[tokio::test]
async fn max_message_parts() {
    let server = ok_server(Limits::default().with_max_message_parts(4)).await;
    for (count, over) in [(3, false), (4, false), (5, true)] {
        let say = Say::parts(vec![data(20); count]);
        assert_message(&server, &say, over, "max_message_parts", 4).await;
    }
}

#[tokio::test]
async fn max_json_depth_counts_over_the_whole_body() {
    let server = ok_server(Limits::default().with_max_json_depth(20)).await;
    for peer in peers(server.url()) {
        // Envelope, parameters, message, parts and part; REST has no envelope.
        let around = if peer.wire == Wire::JsonRpc { 5 } else { 4 };
        for (depth, over) in [(19, false), (20, false), (21, true)] {
            let levels = depth - around;
            let nested = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
            let say = Say::parts([format!(r#"{{"data":{nested}}}"#)]);
            let sent = peer.call(Op::Send(&say)).await;
            if over {
                let refusal = sent.unwrap_err();
                assert_invalid(peer.wire, &refusal);
                assert_names(&refusal.message, "max_json_depth", &[20]);
            } else {
                let task = sent.unwrap().at("task");
                assert_eq!(
                    task.at("artifacts.0.parts.1").text(),
                    format!(r#"{{"data":{nested}}}"#)
                );
            }
        }
    }
}

#[tokio::test]
async fn max_body_bytes() {
    const LIMIT: usize = 1_000;
    let server = ok_server(Limits::default().with_max_body_bytes(LIMIT)).await;
    for peer in peers(server.url()) {
        let (path, body) = match peer.wire {
            Wire::JsonRpc => ("/", envelope("SendMessage", &Say::text("a").json())),
            Wire::Rest => ("/message:send", Say::text("a").json()),
        };
        for (bytes, over) in [(LIMIT - 1, false), (LIMIT, false), (LIMIT + 1, true)] {
            let padded = format!("{body:<bytes$}");
            let response = send(&peer.url, &Request::post(path, padded)).await;
            let answer = peer.read(response);
            if over {
                let refusal = answer.unwrap_err();
                let code = if peer.wire == Wire::JsonRpc {
                    -32600
                } else {
                    413
                };
                assert_eq!(
                    (refusal.code, &*refusal.reason),
                    (code, "PAYLOAD_TOO_LARGE")
                );
                assert_names(&refusal.message, "max_body_bytes", &[LIMIT, bytes]);
            } else {
                assert_eq!(
                    answer.unwrap().string("task.artifacts.0.parts.0.text"),
                    "ok"
                );
            }
        }
    }
}

#[tokio::test]
async fn max_history_messages() {
    // Three turns: three messages of the client and the two questions between them.
    for (limit, over) in [(6, false), (5, false), (4, true)] {
        let limits = Limits::default().with_max_history_messages(limit);
        let scripts = vec![
            Script::new(End::InputRequired("which?")),
            Script::new(End::InputRequired("and which?")),
            Script::returns(&[&text(20)]),
        ];
        let server = serve("append", limits, scripted(scripts)).await;
        for peer in peers(server.url()) {
            let id = peer.send(&Say::text("go")).await.string("id");
            let more = Say::text("this").in_task(&id);
            peer.send(&more).await;
            let third = peer.call(Op::Send(&more)).await;
            let stored = peer.get(&id).await;
            if over {
                let refusal = third.unwrap_err();
                assert_invalid(peer.wire, &refusal);
                assert_names(&refusal.message, "max_history_messages", &[4]);
                assert_eq!(stored.string("status.state"), "TASK_STATE_INPUT_REQUIRED");
                peer.call(Op::Cancel(&id)).await.unwrap();
            } else {
                assert_eq!(stored.list("history").len(), 5);
                assert_eq!(stored.string("status.state"), "TASK_STATE_COMPLETED");
            }
        }
    }
}

// === what happens at the same time ===

#[tokio::test]
async fn max_concurrent_turns() {
    for wire in WIRES {
        let gate = Gate::new();
        let open = gate.clone();
        let limits = Limits::default().with_max_concurrent_turns(2);
        let server = serve("append", limits, move |turn: Turn| {
            let gate = gate.clone();
            async move {
                gate.pass().await;
                Ok(Answer::completed(turn.query())?)
            }
        })
        .await;
        let peer = Peer::new(server.url(), wire);
        let running = [
            peer.stream(&Say::text("1")).await,
            peer.stream(&Say::text("2")).await,
        ];
        let third = Say::text("3");
        let refused = [
            peer.call(Op::Send(&third)).await.unwrap_err(),
            peer.open(Op::Stream(&third)).await.unwrap_err(),
        ];
        for refusal in refused {
            assert_no_room(wire, &refusal);
            assert_names(&refusal.message, "max_concurrent_turns", &[2]);
        }
        if wire == Wire::Rest {
            let response = send(&peer.url, &wire.request(Op::Send(&third))).await;
            assert!(response.header("retry-after").is_some(), "{response:?}");
        }
        let listed = peer.call(Op::List(&[])).await.unwrap();
        assert_eq!(
            listed.at("totalSize").text(),
            "2",
            "nothing of what was refused stays"
        );
        open.open();
        for events in running {
            events.rest().await;
        }
        // The room is back, if not in the same moment.
        until(|| async { peer.call(Op::Send(&third)).await.ok() }).await;
    }
}

#[tokio::test]
async fn max_open_tasks() {
    for wire in WIRES {
        let limits = Limits::default().with_max_open_tasks(2);
        let scripts = vec![
            Script::new(End::InputRequired("which?")),
            Script::returns(&[&text(20)]),
        ];
        let server = serve("append", limits, scripted(scripts)).await;
        let peer = Peer::new(server.url(), wire);
        let first = peer.send(&Say::text("1")).await.string("id");
        let second = peer.send(&Say::text("2")).await.string("id");
        let third = Say::text("3");
        let refused = [
            peer.call(Op::Send(&third)).await.unwrap_err(),
            peer.open(Op::Stream(&third)).await.unwrap_err(),
        ];
        for refusal in refused {
            assert_no_room(wire, &refusal);
            assert_names(&refusal.message, "max_open_tasks", &[2]);
        }
        // A task that goes on needs no new room; one that ends makes some, however it ends.
        peer.send(&Say::text("this").in_task(&first)).await;
        let third = peer.send(&third).await.string("id");
        assert!(peer.call(Op::Send(&Say::text("4"))).await.is_err());
        peer.call(Op::Cancel(&second)).await.unwrap();
        peer.send(&Say::text("4")).await;
        assert!(peer.call(Op::Send(&Say::text("5"))).await.is_err());
        assert_eq!(
            peer.get(&third).await.string("status.state"),
            "TASK_STATE_INPUT_REQUIRED"
        );
    }
}

#[tokio::test]
async fn max_subscribers_per_task() {
    for wire in WIRES {
        let limits = Limits::default().with_max_subscribers_per_task(2);
        let script = Script::new(End::AwaitCancel(Vec::new()));
        let server = serve("append", limits, scripted(vec![script])).await;
        let peer = Peer::new(server.url(), wire);
        let id = peer.send(&Say::text("go").at_once()).await.string("id");
        let other = peer.send(&Say::text("go").at_once()).await.string("id");
        let first = peer.open(Op::Subscribe(&id)).await.unwrap();
        let second = peer.open(Op::Subscribe(&id)).await.unwrap();
        let refusal = peer.open(Op::Subscribe(&id)).await.unwrap_err();
        assert_no_room(wire, &refusal);
        assert_names(&refusal.message, "max_subscribers_per_task", &[2]);
        // It is counted for each task, and who goes makes room.
        let third = peer.open(Op::Subscribe(&other)).await.unwrap();
        drop(first);
        let fourth = until(|| async { peer.open(Op::Subscribe(&id)).await.ok() }).await;
        peer.call(Op::Cancel(&id)).await.unwrap();
        peer.call(Op::Cancel(&other)).await.unwrap();
        for events in [second, third, fourth] {
            let last = events.rest().await.pop().unwrap();
            assert_eq!(
                last.string("statusUpdate.status.state"),
                "TASK_STATE_CANCELED"
            );
        }
    }
}
