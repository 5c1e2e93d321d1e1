//! Who follows a task: several at once, late, slowly, or not to the end.

use llamon_agent::core::{Json, Limits};
use llamon_agent::server::{AgentError, Answer, Turn};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{End, Gate, Running, Script, serve, serve_scripts};
use llamon_itest::http::Connection;
use llamon_itest::matrix::everywhere;
use llamon_itest::outcome::Outcome;
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;
use llamon_itest::wire::{Events, Op, Peer, WIRES, peers};

const UP: &str = r#"{"data":["up"]}"#;

fn fold(events: &[Raw]) -> Outcome {
    let mut outcome = Outcome::default();
    for event in events {
        outcome.apply(event);
    }
    outcome
}

async fn subscribe(peer: &Peer, id: &str) -> Events {
    peer.open(Op::Subscribe(id)).await.expect("a stream")
}

/// An agent that emits `one`, waits at the gate, and goes on with `more`.
async fn gated<F, Fut>(gate: &Gate, limits: Limits, more: F) -> TestServer
where
    F: Fn(Turn) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Answer, AgentError>> + Send + 'static,
{
    let gate = gate.clone();
    serve("append", limits, move |turn: Turn| -> Running {
        let (gate, more) = (gate.clone(), more.clone());
        Box::pin(async move {
            turn.emit("one").await?;
            gate.pass().await;
            more(turn).await
        })
    })
    .await
}

#[tokio::test]
async fn all_who_follow_a_task_see_the_same_events_in_the_same_order() {
    let gate = Gate::new();
    let server = gated(&gate, Limits::default(), async |turn| {
        for number in 0..200 {
            turn.emit((format!("{number} "), Json(number))).await?;
            turn.status(format!("at {number}")).await?;
        }
        Ok(Answer::completed("the end")?)
    })
    .await;
    let [first, second] = peers(server.url());
    let (id, mut sender) = first.begin(&Say::text("go").with(&[UP])).await;
    sender.until("artifactUpdate").await;
    let mut followers = vec![
        subscribe(&first, &id).await,
        subscribe(&second, &id).await,
        subscribe(&second, &id).await,
    ];
    for follower in &mut followers {
        let snapshot = follower.next().await.expect("the task");
        assert_eq!(snapshot.string("task.artifacts.0.parts.0.text"), "one");
    }
    gate.open();
    let expected = sender.rest().await;
    assert!(expected.len() > 200);
    for follower in followers {
        assert_eq!(follower.rest().await, expected);
    }
}

#[tokio::test]
async fn a_subscription_begins_with_the_task_as_it_stands_and_misses_nothing() {
    for wire in WIRES {
        let gate = Gate::new();
        let server = gated(&gate, Limits::default(), async |turn| {
            for number in 0..100 {
                turn.emit(Json(number)).await?;
            }
            Ok(Answer::completed(())?)
        })
        .await;
        let peer = Peer::new(server.url(), wire);
        let task = peer.send(&Say::text("go").with(&[UP]).at_once()).await;
        let id = task.string("id");
        let events = subscribe(&peer, &id).await;
        gate.open();
        let events = events.rest().await;
        assert!(events[0].find("task").is_some());
        let outcome = fold(&events);
        let stored = Outcome::of_task(&peer.get(&id).await);
        assert_eq!(outcome.by_artifact(), stored.by_artifact());
        assert_eq!(stored.content().data.len(), 101);
        assert_eq!(stored.state, "TASK_STATE_COMPLETED");
    }
}

#[tokio::test]
async fn a_subscription_stays_open_while_the_task_waits() {
    for wire in WIRES {
        let scripts = vec![
            Script::new(End::InputRequired("which?")),
            Script::new(End::AuthRequired("who?")),
            Script::returns(&[r#"{"text":"done"}"#]),
        ];
        let server = serve_scripts("append", scripts).await;
        let peer = Peer::new(server.url(), wire);
        let id = peer.send(&Say::text("go")).await.string("id");
        let mut events = subscribe(&peer, &id).await;
        let state = "statusUpdate.status.state";
        let task = events.next().await.unwrap();
        assert_eq!(
            task.string("task.status.state"),
            "TASK_STATE_INPUT_REQUIRED"
        );
        peer.send(&Say::text("this one").in_task(&id)).await;
        assert_eq!(
            events.until(state).await.string(state),
            "TASK_STATE_WORKING"
        );
        assert_eq!(
            events.until(state).await.string(state),
            "TASK_STATE_AUTH_REQUIRED"
        );
        peer.send(&Say::text("me").in_task(&id).with(&[UP])).await;
        let rest = events.rest().await;
        let last = rest.last().unwrap();
        assert_eq!(last.string(state), "TASK_STATE_COMPLETED");
        assert!(rest.iter().any(|event| event.text().contains(r#"["up"]"#)));
    }
}

#[tokio::test]
async fn a_client_that_hangs_up_on_its_stream_cancels_nothing() {
    for wire in WIRES {
        let gate = Gate::new();
        let server = gated(&gate, Limits::default(), async |turn: Turn| {
            assert!(!turn.is_cancelled());
            turn.emit(" two").await?;
            Ok(Answer::completed(())?)
        })
        .await;
        let peer = Peer::new(server.url(), wire);
        let (id, mut dropped) = peer.begin(&Say::text("go").with(&[UP])).await;
        dropped.until("artifactUpdate").await;
        let follower = subscribe(&peer, &id).await;
        dropped.hang_up().await;
        gate.open();
        let outcome = fold(&follower.rest().await);
        assert_eq!(outcome.state, "TASK_STATE_COMPLETED");
        assert_eq!(outcome.content().text, "one two");
        assert_eq!(outcome.content().data, [r#"["up"]"#]);
    }
}

#[tokio::test]
async fn a_client_that_hangs_up_while_it_waits_for_its_answer_cancels_nothing() {
    for wire in WIRES {
        let (begun, gate) = (Gate::new(), Gate::new());
        let (has_begun, open) = (begun.clone(), gate.clone());
        let server = serve("append", Limits::default(), move |turn| {
            let (begun, gate) = (begun.clone(), gate.clone());
            async move {
                begun.open();
                gate.pass().await;
                Ok(Answer::completed(turn.query())?)
            }
        })
        .await;
        let peer = Peer::new(server.url(), wire);
        let say = Say::text("go").in_context("hung-up").with(&[UP]);
        let mut connection = Connection::open(&peer.url).await;
        connection.write(&wire.request(Op::Send(&say))).await;
        has_begun.pass().await;
        connection.hang_up().await;
        let listed = peer
            .call(Op::List(&[("contextId", "hung-up")]))
            .await
            .unwrap();
        let id = listed.string("tasks.0.id");
        let follower = subscribe(&peer, &id).await;
        open.open();
        let outcome = fold(&follower.rest().await);
        assert_eq!(outcome.state, "TASK_STATE_COMPLETED");
        assert_eq!(outcome.content().text, "go");
        assert_eq!(outcome.content().data, [r#"["up"]"#]);
    }
}

// === bursts ===

const BURST: usize = 5_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_5000_texts_arrives_whole() {
    let server = serve("append", Limits::default(), async |turn| {
        for number in 0..BURST {
            turn.emit(format!("{number} ")).await?;
        }
        Ok(Answer::completed(())?)
    })
    .await;
    let outcome = everywhere(&server, &[Say::text("go").with(&[UP])]).await;
    let expected: String = (0..BURST).map(|number| format!("{number} ")).collect();
    assert!(
        outcome.content().text == expected,
        "{} bytes",
        outcome.content().text.len()
    );
    assert_eq!(outcome.content().data, [r#"["up"]"#]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_5000_data_parts_arrives_whole() {
    let server = serve("append", Limits::default(), async |turn| {
        for number in 0..BURST {
            turn.emit(Json(number)).await?;
        }
        Ok(Answer::completed(())?)
    })
    .await;
    let outcome = everywhere(&server, &[Say::text("go").with(&[UP])]).await;
    let numbers = (0..BURST).map(|number| number.to_string());
    let expected: Vec<String> = numbers.chain([r#"["up"]"#.to_owned()]).collect();
    assert!(
        outcome.content().data == expected,
        "{} parts",
        outcome.content().data.len()
    );
}

#[tokio::test]
async fn a_burst_on_one_thread_arrives_whole() {
    let server = serve("replace", Limits::default(), async |turn| {
        for number in 0..BURST {
            turn.emit(format!("{number} ")).await?;
        }
        Ok(Answer::completed(())?)
    })
    .await;
    let outcome = everywhere(&server, &[Say::text("go")]).await;
    assert_eq!(outcome.content().text.split_whitespace().count(), BURST);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_falls_behind_what_the_log_keeps_loses_nothing() {
    // More bytes than a connection takes without a reader, then more than twice the events that
    // a log keeps: whatever of them was taken before the connection was full, it is behind then.
    const LARGE: usize = 24;
    const SMALL: usize = 33_000;
    let (gate, done) = (Gate::new(), Gate::new());
    let is_done = done.clone();
    let server = gated(&gate, Limits::default(), move |turn: Turn| {
        let done = done.clone();
        async move {
            for _ in 0..LARGE {
                turn.emit("x".repeat(1 << 20)).await?;
            }
            for number in 0..SMALL {
                turn.emit(format!(" {number}")).await?;
            }
            done.open();
            Ok(Answer::completed(())?)
        }
    })
    .await;
    let peer = Peer::new(server.url(), WIRES[1]);
    let (id, mut events) = peer.begin(&Say::text("go").with(&[UP])).await;
    events.until("artifactUpdate").await;
    gate.open();
    is_done.pass().await;
    // What the connection held, then the task as it stands instead of the events that are gone.
    let mut outcome = Outcome::of_task(&peer.get(&id).await);
    outcome.artifacts = vec![("response".to_owned(), parts_of("one"))];
    let mut snapshots = 0;
    while let Some(event) = events.next().await {
        snapshots += usize::from(event.find("task").is_some());
        outcome.apply(&event);
    }
    assert!(snapshots > 0, "the reader was not behind");
    assert_eq!(outcome.state, "TASK_STATE_COMPLETED");
    let content = outcome.content();
    assert_eq!(content.data, [r#"["up"]"#]);
    let mut expected = "one".to_owned();
    expected.push_str(&"x".repeat(LARGE << 20));
    expected.extend((0..SMALL).map(|number| format!(" {number}")));
    assert!(content.text == expected, "{} bytes", content.text.len());
}

fn parts_of(text: &str) -> Vec<Raw> {
    vec![Raw::parse(&format!(r#"{{"text":"{text}"}}"#))]
}
