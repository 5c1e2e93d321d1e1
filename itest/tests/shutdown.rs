//! A server that is told to stop: turns get their time, streams their last event.

use std::time::Duration;

use llamon_agent::server::{AgentError, Answer, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{Gate, card, patient, start, until};
use llamon_itest::http::Connection;
use llamon_itest::outcome::Outcome;
#[cfg(unix)]
use llamon_itest::process::Process;
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;
use llamon_itest::wire::{Events, Op, Peer, WIRES, Wire};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

const UP: &str = r#"{"data":"up"}"#;

/// Emits, and then does what the query says.
async fn agent(turn: Turn, gate: Gate) -> Result<Answer, AgentError> {
    if turn.query() == "wait" {
        return Ok(Answer::input_required("for what?")?);
    }
    turn.emit("begun").await?;
    match turn.query() {
        "cooperate" => turn.cancelled().await,
        "never end" => std::future::pending().await,
        "go on emitting" => loop {
            let _ = turn.status("and on").await;
        },
        _ => {
            gate.pass().await;
            assert!(!turn.is_cancelled(), "the grace is not over");
        }
    }
    Ok(Answer::completed(())?)
}

async fn server(grace: Duration) -> (TestServer, Gate) {
    let gate = Gate::new();
    let of_agent = gate.clone();
    let builder = create_server(card("agent"), move |turn| agent(turn, of_agent.clone()));
    let builder = builder
        .upstream_parts_policy("append")
        .shutdown_grace(grace)
        .cancel_grace(Duration::from_millis(20));
    (start(builder).await, gate)
}

/// Tells the server to stop and waits until it takes no connections any more.
async fn stop(server: TestServer) -> JoinHandle<()> {
    let address = server.url().trim_start_matches("http://").to_owned();
    let stopping = tokio::spawn(async move { server.stop().await.expect("an orderly end") });
    let address = address.trim_end_matches('/');
    until(|| async { TcpStream::connect(address).await.is_err().then_some(()) }).await;
    stopping
}

async fn begin(peer: &Peer, query: &str) -> (Outcome, Events) {
    let mut events = peer.stream(&Say::text(query).with(&[UP])).await;
    let mut outcome = Outcome::default();
    while outcome.artifacts.is_empty() {
        outcome.apply(&events.next().await.expect("an event"));
    }
    (outcome, events)
}

fn finish(mut outcome: Outcome, rest: &[Raw]) -> Outcome {
    for event in rest {
        outcome.apply(event);
    }
    outcome
}

#[tokio::test]
async fn a_turn_that_ends_in_the_grace_completes_and_its_stream_gets_its_last_event() {
    for wire in WIRES {
        let (server, gate) = server(Duration::from_secs(60)).await;
        let peer = Peer::new(server.url(), wire);
        let (begun, events) = begin(&peer, "go").await;
        let mut connection = Connection::open(&peer.url).await;
        let id = begun.task_id.clone().unwrap();
        let get = wire.request(Op::Get(&id));
        assert_eq!(connection.send(&get).await.status, 200);
        let stopping = stop(server).await;
        // Time goes by, and the turn is left alone: its agent would notice.
        for _ in 0..200 {
            assert_eq!(connection.send(&get).await.status, 200);
        }
        gate.open();
        let outcome = finish(begun, &events.rest().await);
        assert_eq!(outcome.state, "TASK_STATE_COMPLETED");
        assert_eq!(outcome.content().text, "begun");
        assert_eq!(outcome.content().data, [r#""up""#]);
        stopping.await.unwrap();
    }
}

/// Stops the server amid a turn and returns what its stream folds to.
async fn outlast(wire: Wire, query: &str) -> Outcome {
    let (server, _gate) = server(Duration::from_millis(20)).await;
    let peer = Peer::new(server.url(), wire);
    let (begun, events) = begin(&peer, query).await;
    let stopping = stop(server).await;
    let outcome = finish(begun, &patient(events.rest()).await);
    assert!(outcome.content().text.starts_with("begun"));
    stopping.await.expect("an orderly end");
    outcome
}

fn assert_stopped(outcome: &Outcome) {
    assert_eq!(outcome.state, "TASK_STATE_FAILED");
    assert!(outcome.said.contains("server stopped"), "{}", outcome.said);
    assert_eq!(outcome.content().data, [""; 0]);
}

#[tokio::test]
async fn a_turn_that_goes_on_after_the_grace_fails_and_its_stream_says_so() {
    for wire in WIRES {
        assert_stopped(&outlast(wire, "never end").await);
    }
}

#[tokio::test]
async fn a_turn_that_goes_on_emitting_does_not_keep_the_server() {
    for wire in WIRES {
        assert_stopped(&outlast(wire, "go on emitting").await);
    }
}

#[tokio::test]
async fn a_turn_that_hears_of_the_stop_may_still_complete() {
    for wire in WIRES {
        let outcome = outlast(wire, "cooperate").await;
        assert_eq!(outcome.state, "TASK_STATE_COMPLETED");
        assert_eq!(outcome.content().data, [r#""up""#]);
    }
}

#[tokio::test]
async fn a_stream_of_a_task_that_waits_ends_in_order() {
    for wire in WIRES {
        let (server, _gate) = server(Duration::from_secs(60)).await;
        let peer = Peer::new(server.url(), wire);
        let id = peer.send(&Say::text("wait")).await.string("id");
        let mut follower = peer.open(Op::Subscribe(&id)).await.unwrap();
        let task = follower.next().await.unwrap();
        assert_eq!(
            task.string("task.status.state"),
            "TASK_STATE_INPUT_REQUIRED"
        );
        let stopping = stop(server).await;
        assert_eq!(follower.rest().await, []);
        stopping.await.unwrap();
    }
}

#[tokio::test]
async fn a_message_on_an_open_connection_is_refused_while_the_server_stops() {
    for wire in WIRES {
        let (server, gate) = server(Duration::from_secs(60)).await;
        let peer = Peer::new(server.url(), wire);
        let (begun, events) = begin(&peer, "go").await;
        let mut connection = Connection::open(&peer.url).await;
        let id = begun.task_id.clone().unwrap();
        let running = connection.send(&wire.request(Op::Get(&id))).await;
        assert!(peer.read(running).is_ok());
        let stopping = stop(server).await;

        let refused = connection
            .send(&wire.request(Op::Send(&Say::text("go"))))
            .await;
        let refusal = peer.read(refused).unwrap_err();
        assert_eq!(refusal.reason, "UNAVAILABLE");
        // The turn that runs can still be read, and completes.
        let running = connection.send(&wire.request(Op::Get(&id))).await;
        assert!(peer.read(running).is_ok());
        gate.open();
        let outcome = finish(begun, &events.rest().await);
        assert_eq!(outcome.state, "TASK_STATE_COMPLETED");
        stopping.await.unwrap();
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_signal_ends_the_process_in_order() {
    for signal in ["INT", "TERM"] {
        let mut process = Process::start(env!("CARGO_BIN_EXE_interop-agent"));
        let peer = Peer::new(process.url(), WIRES[1]);
        let id = peer.send(&Say::text("ask")).await.string("id");
        let mut follower = peer.open(Op::Subscribe(&id)).await.unwrap();
        follower.next().await.unwrap();
        process.signal(signal);
        // The stream of what waits ends in order, and the process with success.
        assert_eq!(follower.rest().await, []);
        let status = process.wait();
        assert!(status.success(), "{signal}: {status}");
    }
}
