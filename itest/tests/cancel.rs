//! CancelTask: durable first, cooperative second, and one terminal state only.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use llamon_agent::core::Limits;
use llamon_agent::server::{AgentError, Answer, Turn, create_server};
use llamon_itest::agents::{End, Gate, Script, card, serve, serve_scripts, start};
use llamon_itest::matrix::is_settled;
use llamon_itest::outcome::Outcome;
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, Refusal, WIRES, peers};

const CANCELED: &str = "TASK_STATE_CANCELED";

fn say() -> Say {
    Say::text("go").with(&[r#"{"data":"up"}"#])
}

async fn cancel(peer: &Peer, id: &str) -> Result<Raw, Refusal> {
    peer.call(Op::Cancel(id)).await
}

fn assert_not_cancelable(peer: &Peer, canceled: Result<Raw, Refusal>) {
    let refusal = canceled.expect_err("a refusal");
    assert_eq!(refusal.reason, "TASK_NOT_CANCELABLE");
    let code = match peer.wire {
        llamon_itest::wire::Wire::JsonRpc => -32002,
        llamon_itest::wire::Wire::Rest => 400,
    };
    assert_eq!(refusal.code, code);
}

/// Notes that it was dropped.
struct Noted(Arc<AtomicBool>);

impl Drop for Noted {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_cooperative_agent_is_told_and_ends() {
    for wire in WIRES {
        let told = Arc::new(AtomicBool::new(false));
        let was_told = Arc::clone(&told);
        let agent = move |turn: Turn| {
            let told = Arc::clone(&told);
            async move {
                turn.emit("begun").await?;
                turn.cancelled().await;
                assert!(turn.is_cancelled());
                // It may still say something before it goes.
                turn.emit(" and ended").await?;
                told.store(true, Ordering::SeqCst);
                Ok::<_, AgentError>(Answer::completed("never seen")?)
            }
        };
        // With the default grace of five seconds: the test would be slow if it was waited for.
        let server = start(create_server(card("agent"), agent)).await;
        let peer = Peer::new(server.url(), wire);
        let (id, mut events) = peer.begin(&say()).await;
        events.until("artifactUpdate").await;
        let task = Outcome::of_task(&cancel(&peer, &id).await.unwrap());
        assert!(
            was_told.load(Ordering::SeqCst),
            "the run has really stopped"
        );
        assert_eq!(task.state, CANCELED);
        assert_eq!(task.content().text, "begun and ended");
        let rest = events.rest().await;
        let last = rest.last().unwrap();
        assert_eq!(last.string("statusUpdate.status.state"), CANCELED);
    }
}

#[tokio::test]
async fn an_uncooperative_agent_is_dropped_after_the_grace() {
    for wire in WIRES {
        let dropped = Arc::new(AtomicBool::new(false));
        let was_dropped = Arc::clone(&dropped);
        let server = serve("append", Limits::default(), move |turn: Turn| {
            let noted = Noted(Arc::clone(&dropped));
            async move {
                let _noted = noted;
                turn.emit("begun").await?;
                pending().await
            }
        })
        .await;
        let peer = Peer::new(server.url(), wire);
        let (id, events) = peer.begin(&say()).await;
        let task = Outcome::of_task(&cancel(&peer, &id).await.unwrap());
        assert!(
            was_dropped.load(Ordering::SeqCst),
            "the run has really stopped"
        );
        assert_eq!((&*task.state, &*task.content().text), (CANCELED, "begun"));
        assert_eq!(last_state(events.rest().await), CANCELED);
    }
}

fn last_state(events: Vec<Raw>) -> String {
    let last = events.last().expect("an event");
    last.string("statusUpdate.status.state")
}

#[tokio::test]
async fn an_agent_that_goes_on_emitting_is_dropped_after_the_grace() {
    let server = serve("append", Limits::default(), async |turn: Turn| {
        loop {
            // It does not care whether anybody hears it.
            let _ = turn.status("and on").await;
        }
    })
    .await;
    for peer in peers(server.url()) {
        let (id, events) = peer.begin(&say()).await;
        let canceled = cancel(&peer, &id).await.unwrap();
        assert_eq!(canceled.string("status.state"), CANCELED);
        drop(events);
        assert_eq!(peer.get(&id).await.string("status.state"), CANCELED);
    }
}

#[tokio::test]
async fn an_agent_that_panics_when_it_is_dropped_is_canceled_all_the_same() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let server = serve("append", Limits::default(), async |turn: Turn| {
        let _bomb = Bomb;
        if turn.query() == "go" {
            pending::<()>().await;
        }
        Ok(Answer::completed("never seen")?)
    })
    .await;
    for peer in peers(server.url()) {
        let (id, events) = peer.begin(&say()).await;
        let canceled = cancel(&peer, &id).await.unwrap();
        assert_eq!(canceled.string("status.state"), CANCELED);
        assert_eq!(last_state(events.rest().await), CANCELED);
    }
}

#[tokio::test]
async fn who_waits_for_the_answer_gets_the_canceled_task() {
    for wire in WIRES {
        let begun = Gate::new();
        let has_begun = begun.clone();
        let server = serve("append", Limits::default(), move |turn: Turn| {
            let begun = begun.clone();
            async move {
                begun.open();
                turn.cancelled().await;
                Err(AgentError::public("canceled, and that wins"))
            }
        })
        .await;
        let peer = Peer::new(server.url(), wire);
        let sending = tokio::spawn({
            let peer = peer.clone();
            async move { peer.send(&say().in_context("c")).await }
        });
        has_begun.pass().await;
        let listed = peer.call(Op::List(&[("contextId", "c")])).await.unwrap();
        let id = listed.string("tasks.0.id");
        let canceled = cancel(&peer, &id).await.unwrap();
        assert_eq!(sending.await.unwrap(), canceled);
        assert_eq!(canceled.string("status.state"), CANCELED);
        assert_eq!(canceled.find("status.message"), None);
    }
}

#[tokio::test]
async fn a_task_that_waits_for_its_client_is_canceled() {
    for end in [End::InputRequired("which?"), End::AuthRequired("who?")] {
        for wire in WIRES {
            let script = Script::new(end.clone()).emitting(&[r#"{"text":"so far"}"#]);
            let server = serve_scripts("append", vec![script]).await;
            let peer = Peer::new(server.url(), wire);
            let id = peer.send(&say()).await.string("id");
            let follower = peer.open(Op::Subscribe(&id)).await.unwrap();
            let task = Outcome::of_task(&cancel(&peer, &id).await.unwrap());
            assert_eq!((&*task.state, &*task.content().text), (CANCELED, "so far"));
            assert_eq!(last_state(follower.rest().await), CANCELED);
            let refused = peer.call(Op::Send(&Say::text("this").in_task(&id))).await;
            assert_eq!(refused.unwrap_err().reason, "UNSUPPORTED_OPERATION");
        }
    }
}

#[tokio::test]
async fn a_finished_task_is_not_cancelable() {
    let ends = [
        (End::Completed(Vec::new()), "TASK_STATE_COMPLETED"),
        (End::Failed("broken"), "TASK_STATE_FAILED"),
        (End::Rejected("no"), "TASK_STATE_REJECTED"),
        (End::InputRequired("which?"), CANCELED),
    ];
    for (end, state) in ends {
        let server = serve_scripts("append", vec![Script::new(end)]).await;
        for peer in peers(server.url()) {
            let id = peer.send(&say()).await.string("id");
            if state == CANCELED {
                cancel(&peer, &id).await.unwrap();
            }
            let before = peer.get(&id).await;
            assert_eq!(before.string("status.state"), state);
            assert_not_cancelable(&peer, cancel(&peer, &id).await);
            assert_eq!(peer.get(&id).await, before);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_that_races_completion_leaves_one_terminal_state() {
    const RACES: usize = 1_000;
    let gates: Arc<Vec<Gate>> = Arc::new((0..RACES).map(|_| Gate::new()).collect());
    let of_agent = Arc::clone(&gates);
    let agent = move |turn: Turn| {
        let gates = Arc::clone(&of_agent);
        async move {
            turn.emit("own").await?;
            let number: usize = turn.query().parse()?;
            tokio::select! {
                () = gates[number].pass() => {}
                () = turn.cancelled() => {}
            }
            Ok::<_, AgentError>(Answer::completed(())?)
        }
    };
    let builder = create_server(card("agent"), agent).upstream_parts_policy("append");
    let server = start(builder.cancel_grace(Duration::from_secs(60))).await;
    for (number, gate) in gates.iter().enumerate() {
        let peer = Peer::new(server.url(), WIRES[number % 2]);
        let say = Say::text(&number.to_string()).with(&[r#"{"data":"up"}"#]);
        let (id, events) = peer.begin(&say).await;
        let first = peer.get(&id).await;
        let reading = tokio::spawn(events.rest());
        let opening = tokio::spawn({
            let gate = gate.clone();
            async move {
                for _ in 0..number % 50 {
                    tokio::task::yield_now().await;
                }
                gate.open();
            }
        });
        let canceled = cancel(&peer, &id).await;
        opening.await.unwrap();
        let rest = reading.await.unwrap();

        let stored = peer.get(&id).await;
        let outcome = Outcome::of_task(&stored);
        let (state, data): (_, &[&str]) = match canceled {
            Ok(task) => {
                assert_eq!(task, stored);
                (CANCELED, &[])
            }
            refused => {
                assert_not_cancelable(&peer, refused);
                ("TASK_STATE_COMPLETED", &[r#""up""#])
            }
        };
        assert_eq!(outcome.state, state);
        assert_eq!(outcome.content().text, "own");
        assert_eq!(outcome.content().data, data);
        // The stream says the same, and says it once.
        let mut streamed = Outcome::of_task(&first);
        streamed.artifacts.clear();
        let mut ends = 0;
        for event in &rest {
            streamed.apply(event);
            ends += usize::from(is_settled(&streamed.state));
        }
        assert_eq!((streamed.state.as_str(), ends), (state, 1), "{rest:?}");
        assert_eq!(streamed.content(), outcome.content());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_cancels_at_once_agree() {
    let server = serve("append", Limits::default(), async |turn: Turn| {
        turn.cancelled().await;
        Ok(Answer::completed("never seen")?)
    })
    .await;
    for _ in 0..20 {
        let [first, second] = peers(server.url());
        let (id, events) = first.begin(&say()).await;
        let results = tokio::join!(
            cancel(&first, &id),
            cancel(&second, &id),
            cancel(&first, &id)
        );
        assert_eq!(last_state(events.rest().await), CANCELED);
        let results: [Result<Raw, Refusal>; 3] = results.into();
        assert!(results.iter().any(Result::is_ok));
        for (result, peer) in results.into_iter().zip([&first, &second, &first]) {
            match result {
                Ok(task) => assert_eq!(task.string("status.state"), CANCELED),
                refused => assert_not_cancelable(peer, refused),
            }
        }
    }
}

#[tokio::test]
async fn a_second_turn_can_be_canceled_like_the_first() {
    let scripts = vec![
        Script::new(End::InputRequired("which?")),
        Script::new(End::AwaitCancel(Vec::new())).emitting(&[r#"{"text":"second"}"#]),
    ];
    let server = serve_scripts("append", scripts).await;
    for peer in peers(server.url()) {
        let id = peer.send(&say()).await.string("id");
        let mut events = peer.stream(&say().in_task(&id)).await;
        events.until("artifactUpdate").await;
        let task = Outcome::of_task(&cancel(&peer, &id).await.unwrap());
        assert_eq!((&*task.state, &*task.content().text), (CANCELED, "second"));
        assert_eq!(last_state(events.rest().await), CANCELED);
    }
}

#[tokio::test]
async fn a_message_to_a_task_that_works_is_refused() {
    let server = serve_scripts("append", vec![Script::new(End::AwaitCancel(Vec::new()))]).await;
    for peer in peers(server.url()) {
        let (id, events) = peer.begin(&say()).await;
        let more = Say::text("and this").in_task(&id);
        for op in [Op::Send(&more), Op::Stream(&more)] {
            let refusal = match op {
                Op::Stream(_) => peer.open(op).await.unwrap_err(),
                _ => peer.call(op).await.unwrap_err(),
            };
            assert_eq!(refusal.reason, "UNSUPPORTED_OPERATION");
        }
        cancel(&peer, &id).await.unwrap();
        assert_eq!(last_state(events.rest().await), CANCELED);
        assert_eq!(peer.get(&id).await.list("history").len(), 1);
    }
}
