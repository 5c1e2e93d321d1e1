//! Finished tasks go when there are too many, the oldest first; who still follows one gets its
//! last event.

use llamon_agent::core::Limits;
use llamon_agent::server::{Answer, Turn};
use llamon_itest::agents::{Gate, Script, scripted, serve, until};
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, WIRES, peers};

async fn is_known(peer: &Peer, id: &str) -> bool {
    match peer.call(Op::Get(id)).await {
        Ok(_) => true,
        Err(refusal) => {
            assert_eq!(refusal.reason, "TASK_NOT_FOUND");
            false
        }
    }
}

#[tokio::test]
async fn max_finished_tasks() {
    let limits = Limits::default().with_max_finished_tasks(3);
    let server = serve("append", limits, scripted(vec![Script::returns(&[])])).await;
    let peer = &peers(server.url())[0];
    let mut ids = Vec::new();
    for count in 1..=5_usize {
        ids.push(peer.send(&Say::text("go")).await.string("id"));
        let gone = count.saturating_sub(3);
        for (number, id) in ids.iter().enumerate() {
            assert_eq!(
                is_known(peer, id).await,
                number >= gone,
                "{number} of {count}"
            );
        }
        let listed = peer.call(Op::List(&[])).await.unwrap();
        assert_eq!(listed.at("totalSize").text(), count.min(3).to_string());
    }
}

#[tokio::test]
async fn max_finished_bytes() {
    // Each task has 1,000 bytes of parts in its history and as many in its artifact.
    let part = format!(r#"{{"data":"{}"}}"#, "x".repeat(1_000 - 11));
    for (limit, kept) in [(4_001, 2), (4_000, 2), (3_999, 1), (1, 1)] {
        let limits = Limits::default().with_max_finished_bytes(limit);
        let server = serve("append", limits, scripted(vec![Script::returns(&[])])).await;
        let peer = &peers(server.url())[1];
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(peer.send(&Say::parts([&*part])).await.string("id"));
        }
        for (number, id) in ids.iter().enumerate() {
            let known = is_known(peer, id).await;
            assert_eq!(known, number >= 3 - kept, "{number} at {limit}");
        }
    }
}

#[tokio::test]
async fn a_task_that_is_not_finished_never_goes() {
    let limits = Limits::default().with_max_finished_tasks(1);
    let server = serve("append", limits, async |turn: Turn| {
        if turn.query() == "wait" {
            return Ok(Answer::input_required("for what?")?);
        }
        Ok(Answer::completed(())?)
    })
    .await;
    let peer = &peers(server.url())[0];
    let waiting = peer.send(&Say::text("wait")).await.string("id");
    for _ in 0..3 {
        peer.send(&Say::text("go")).await;
    }
    assert!(is_known(peer, &waiting).await);
    let done = peer.send(&Say::text("go").in_task(&waiting)).await;
    assert_eq!(done.string("status.state"), "TASK_STATE_COMPLETED");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_follows_a_task_that_goes_gets_its_last_event() {
    // More than a connection holds, so that the follower is in the midst when the task goes.
    const CHUNKS: usize = 24;
    for wire in WIRES {
        let gate = Gate::new();
        let open = gate.clone();
        let limits = Limits::default().with_max_finished_tasks(1);
        let server = serve("append", limits, move |turn: Turn| {
            let gate = gate.clone();
            async move {
                if turn.query() == "large" {
                    turn.emit("begun").await?;
                    gate.pass().await;
                    for _ in 0..CHUNKS {
                        turn.emit("x".repeat(1 << 20)).await?;
                    }
                }
                Ok(Answer::completed(())?)
            }
        })
        .await;
        let peer = Peer::new(server.url(), wire);
        let say = Say::text("large").with(&[r#"{"data":"up"}"#]);
        let (id, mut sender) = peer.begin(&say).await;
        sender.until("artifactUpdate").await;
        let follower = peer.open(Op::Subscribe(&id)).await.unwrap();
        open.open();
        until(|| async {
            let state = peer.get(&id).await.string("status.state");
            (state == "TASK_STATE_COMPLETED").then_some(())
        })
        .await;
        peer.send(&Say::text("another")).await;
        assert!(!is_known(&peer, &id).await, "it is gone");
        for events in [sender, follower] {
            let events = events.rest().await;
            let all: String = events.iter().map(|event| event.text()).collect();
            assert!(all.contains(r#"{"data":"up"}"#));
            assert!(all.len() > CHUNKS << 20);
            let last = events.last().unwrap();
            assert_eq!(
                last.string("statusUpdate.status.state"),
                "TASK_STATE_COMPLETED"
            );
        }
    }
}
