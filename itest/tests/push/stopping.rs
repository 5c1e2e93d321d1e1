//! Deleting, replacing, and the stop of a server.

use std::sync::Arc;
use std::time::Duration;

use llamon_agent::core::Limits;
use llamon_agent::server::backend::{Backend, MemoryBackend};
use llamon_agent::server::{AgentError, Answer as AgentAnswer, Turn, create_server};
use llamon_itest::agents::{Gate, card, start};
use llamon_itest::hooks::Hook;
use llamon_itest::receiver::{Answer, Got, Receiver};
use llamon_itest::say::Say;
use llamon_itest::wire::peers;

use crate::support::{
    COMPLETED, agent, create, notifying, notifying_at_once, options, serve, url, waiting_task,
};

/// Shows a chunk, waits at the gate, and shows more.
fn gated(gate: Gate) -> impl Fn(Turn) -> llamon_itest::agents::Running + Send + Sync + 'static {
    move |turn| {
        let gate = gate.clone();
        Box::pin(async move {
            turn.emit("first").await?;
            gate.pass().await;
            for n in 0..10 {
                turn.emit(format!("{n} ")).await?;
            }
            Ok::<_, AgentError>(AgentAnswer::completed(())?)
        })
    }
}

#[tokio::test]
async fn what_is_deleted_or_replaced_gets_nothing_more() {
    let gate = Gate::new();
    let builder = create_server(card("agent"), gated(gate.clone())).push_notifications(options());
    let server = start(builder).await;
    let [peer, other] = peers(server.url());
    let [deleted, replaced, kept] = [
        Receiver::start().await,
        Receiver::start().await,
        Receiver::start().await,
    ];
    let first = |receiver: &Receiver, id: &str| format!(r#"{},"id":"{id}""#, url(&receiver.url));
    let say = notifying_at_once(Say::text("a"), &first(&deleted, "d"));
    let task = peer.send(&say).await.string("id");
    deleted.wait(2).await;
    create(&other, &task, &first(&replaced, "r")).await;
    create(&other, &task, &first(&kept, "r")).await;
    Hook::Delete(&task, "d").call(&peer).await.unwrap();
    gate.open();
    let got = kept.wait_for(|got| got.is_state(COMPLETED)).await;
    assert_eq!(got.len(), 11);
    assert_eq!(deleted.got().len(), 2);
    assert!(replaced.got().is_empty());
}

#[tokio::test]
async fn a_receiver_that_does_not_answer_can_be_deleted_and_replaced() {
    // Nothing but the call itself ends a request within the test's patience.
    let options = options().timeout(Duration::from_secs(3600));
    let server = start(create_server(card("agent"), agent).push_notifications(options)).await;
    for peer in peers(server.url()) {
        let dead = Receiver::answering(|_, _| Answer::Never).await;
        let task = waiting_task(&peer).await;
        let [a, b] = ["a", "b"].map(|id| format!(r#"{},"id":"{id}""#, url(&dead.url)));
        create(&peer, &task, &a).await;
        create(&peer, &task, &b).await;
        peer.send(&Say::text("ask").in_task(&task)).await;
        dead.wait(2).await;
        Hook::Delete(&task, "a").call(&peer).await.unwrap();
        dead.wait_given_up(1).await;
        let alive = Receiver::start().await;
        create(&peer, &task, &format!(r#"{},"id":"b""#, url(&alive.url))).await;
        dead.wait_given_up(2).await;
        peer.send(&Say::text("emit 3").in_task(&task)).await;
        let got = alive.wait_for(|got| got.is_state(COMPLETED)).await;
        assert_eq!(got.len(), 5);
        assert_eq!(dead.got().len(), 2);
    }
}

#[tokio::test]
async fn a_server_in_memory_sends_what_it_has_before_it_stops() {
    let server = serve().await;
    let [peer, _] = peers(server.url());
    let receiver = Receiver::start().await;
    let dead = Receiver::answering(|_, _| Answer::Status(500)).await;
    let task = waiting_task(&peer).await;
    create(&peer, &task, &url(&receiver.url)).await;
    create(&peer, &task, &url(&dead.url)).await;
    peer.send(&Say::text("emit 200").in_task(&task)).await;
    server.stop().await.unwrap();
    assert_eq!(receiver.got().len(), 202);
}

#[tokio::test]
async fn another_server_on_the_same_store_goes_on_where_the_first_one_stopped() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new(Limits::default()));
    let builder = || {
        create_server(card("agent"), agent)
            .push_notifications(options().max_attempts(u32::MAX))
            .backend(Arc::clone(&backend))
    };
    let up = Gate::new();
    let answer = {
        let up = up.clone();
        move |n: usize, _: &Got| match n {
            0..3 => Answer::Status(200),
            _ if up.is_open() => Answer::Status(200),
            _ => Answer::Status(503),
        }
    };
    let receiver = Receiver::answering(answer).await;
    let first = start(builder()).await;
    let [peer, _] = peers(first.url());
    peer.send(&notifying(Say::text("emit 10"), &url(&receiver.url)))
        .await;
    receiver.wait(5).await;
    first.stop().await.unwrap();
    up.open();
    let second = start(builder()).await;
    let got = receiver.wait_for(|got| got.is_state(COMPLETED)).await;
    drop(second);
    let ids: Vec<_> = got
        .iter()
        .filter_map(|got| got.header("webhook-id"))
        .collect();
    let mut once = ids.clone();
    once.dedup();
    assert_eq!(once.len(), 12, "each event, in its order: {ids:?}");
    let position = |id: &str| id.rsplit('-').next().and_then(|n| n.parse::<u64>().ok());
    assert_eq!(
        once.iter()
            .filter_map(|id| position(id))
            .collect::<Vec<_>>(),
        (1..=12).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn a_server_stops_although_a_receiver_does_not_answer() {
    let builder = create_server(card("agent"), agent)
        .push_notifications(options())
        .shutdown_grace(Duration::from_millis(10));
    let server = start(builder).await;
    let [peer, _] = peers(server.url());
    let dead = Receiver::answering(|_, _| Answer::Never).await;
    peer.send(&notifying(Say::text("emit 1"), &url(&dead.url)))
        .await;
    dead.wait(1).await;
    llamon_itest::agents::patient(server.stop()).await.unwrap();
}
