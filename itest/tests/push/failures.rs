//! Receivers that fail.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use llamon_agent::server::create_server;
use llamon_itest::agents::{card, start};
use llamon_itest::hooks::Hook;
use llamon_itest::receiver::{Answer, Got, Receiver};
use llamon_itest::say::Say;
use llamon_itest::wire::peers;

use crate::support::{COMPLETED, agent, create, notifying, options, serve, url, waiting_task};

fn ids(got: &[Got]) -> Vec<&str> {
    got.iter()
        .filter_map(|got| got.header("webhook-id"))
        .collect()
}

#[tokio::test]
async fn an_event_is_sent_again_until_it_is_taken_and_nothing_overtakes_it() {
    let server = serve().await;
    let [peer, _] = peers(server.url());
    for status in [500, 502, 503, 429, 408, 409, 425, 302, 301] {
        // Each event fails twice.
        let receiver = Receiver::answering(move |n, _| match n % 3 {
            2 => Answer::Status(204),
            _ => Answer::Status(status),
        })
        .await;
        let say = notifying(Say::text("emit 3"), &url(&receiver.url));
        let streamed = peer.stream(&say).await.rest().await;
        let got = receiver.wait((streamed.len() - 1) * 3).await;
        for (tries, event) in got.chunks(3).zip(&streamed[1..]) {
            assert!(tries.iter().all(|got| got.event() == *event), "{status}");
            assert_eq!(ids(tries), [ids(tries)[0]; 3]);
        }
    }
}

#[tokio::test]
async fn a_connection_that_is_closed_is_tried_again() {
    let server = serve().await;
    let [peer, _] = peers(server.url());
    let receiver = Receiver::answering(|n, _| match n {
        0 | 2 => Answer::Close,
        _ => Answer::Status(200),
    })
    .await;
    peer.send(&notifying(Say::text("emit 1"), &url(&receiver.url)))
        .await;
    let got = receiver.wait_for(|got| got.is_state(COMPLETED)).await;
    let ids = ids(&got);
    assert_eq!((ids[0], ids[2]), (ids[1], ids[3]));
}

#[tokio::test]
async fn a_receiver_can_ask_for_time() {
    let options = options().backoff(Duration::from_millis(1), Duration::from_secs(60));
    let server = start(create_server(card("agent"), agent).push_notifications(options)).await;
    let [peer, _] = peers(server.url());
    for status in [429, 503] {
        let receiver = Receiver::answering(move |n, _| match n {
            0 => Answer::Header(status, "Retry-After", "1".to_owned()),
            _ => Answer::Status(200),
        })
        .await;
        let begun = Instant::now();
        peer.send(&notifying(Say::text("emit 0"), &url(&receiver.url)))
            .await;
        receiver.wait(2).await;
        assert!(begun.elapsed() >= Duration::from_secs(1));
    }
}

#[tokio::test]
async fn a_receiver_cannot_ask_for_more_than_the_longest_pause() {
    let server = serve().await;
    let [peer, _] = peers(server.url());
    for wish in ["86400", "Fri, 31 Dec 2999 23:59:59 GMT", "soon"] {
        let receiver = Receiver::answering(move |n, _| match n {
            0 => Answer::Header(503, "Retry-After", wish.to_owned()),
            _ => Answer::Status(200),
        })
        .await;
        peer.send(&notifying(Say::text("emit 0"), &url(&receiver.url)))
            .await;
        receiver.wait_for(|got| got.is_state(COMPLETED)).await;
    }
}

#[tokio::test]
async fn a_receiver_is_given_up_after_so_many_attempts() {
    let options = options().max_attempts(3);
    let server = start(create_server(card("agent"), agent).push_notifications(options)).await;
    for peer in peers(server.url()) {
        for (status, attempts) in [(500, 3), (404, 1), (400, 1), (401, 1), (410, 1)] {
            let dead = Receiver::answering(move |_, _| Answer::Status(status)).await;
            let task = waiting_task(&peer).await;
            let id = create(&peer, &task, &url(&dead.url)).await;
            let alive = Receiver::start().await;
            create(&peer, &task, &url(&alive.url)).await;
            peer.send(&Say::text("ask").in_task(&task)).await;
            dead.wait(attempts).await;
            let say = Say::text("emit 5").in_task(&task);
            peer.send(&say).await;
            alive.wait_for(|got| got.is_state(COMPLETED)).await;
            let got = dead.got();
            assert_eq!(got.len(), attempts, "{status}");
            assert!(ids(&got).iter().all(|id| *id == ids(&got)[0]));
            // It can be read, and begins anew when it is given again.
            assert!(Hook::Get(&task, &id).call(&peer).await.is_ok());
        }
    }
}

#[tokio::test]
async fn a_receiver_that_was_given_up_can_be_given_again() {
    let options = options().max_attempts(1);
    let server = start(create_server(card("agent"), agent).push_notifications(options)).await;
    let [peer, _] = peers(server.url());
    let task = waiting_task(&peer).await;
    let receiver = Receiver::answering(|n, _| Answer::Status(if n == 0 { 500 } else { 200 })).await;
    create(&peer, &task, &url(&receiver.url)).await;
    peer.send(&Say::text("ask").in_task(&task)).await;
    receiver.wait(1).await;
    create(&peer, &task, &url(&receiver.url)).await;
    peer.send(&Say::text("emit 0").in_task(&task)).await;
    receiver.wait_for(|got| got.is_state(COMPLETED)).await;
}

#[tokio::test]
async fn a_receiver_that_never_answers_slows_nobody() {
    let server = serve().await;
    for peer in peers(server.url()) {
        let dead = Receiver::answering(|_, _| Answer::Never).await;
        let alive = Receiver::start().await;
        let task = waiting_task(&peer).await;
        create(&peer, &task, &url(&dead.url)).await;
        create(&peer, &task, &url(&alive.url)).await;
        let events = peer
            .stream(&Say::text("emit 50").in_task(&task))
            .await
            .rest()
            .await;
        let got = alive.wait_for(|got| got.is_state(COMPLETED)).await;
        assert_eq!(got.len(), events.len());
        assert_eq!(dead.wait(1).await.len(), 1);
    }
}

#[tokio::test]
async fn receivers_that_are_tried_again_leave_places_for_others() {
    // So many at one host that they would take all of its places, and for longer than a test lasts.
    let options = options()
        .timeout(Duration::from_secs(3600))
        .max_requests(4)
        .max_requests_per_host(2);
    let server = start(create_server(card("agent"), agent).push_notifications(options)).await;
    let [peer, _] = peers(server.url());
    let tried = Mutex::new(HashSet::new());
    let receiver = Receiver::answering(move |_, got| {
        let is_first = tried.lock().expect("a lock").insert(got.path.clone());
        match (got.path.starts_with("/hook/dead"), is_first) {
            (true, true) => Answer::Status(500),
            (true, false) => Answer::Never,
            (false, _) => Answer::Status(200),
        }
    })
    .await;
    for dead in 0..10 {
        let hook = url(&format!("{}/dead{dead}", receiver.url));
        peer.send(&notifying(Say::text("emit 0"), &hook)).await;
    }
    // One of the ten is tried again, and keeps its place.
    receiver.wait(11).await;
    for _ in 0..10 {
        let alive = format!("{}/alive", receiver.url);
        let say = notifying(Say::text("emit 5"), &url(&alive));
        let task = peer.send(&say).await.string("id");
        let is_end = |got: &Got| got.is_state(COMPLETED) && got.body.contains(&task);
        receiver.wait_for(is_end).await;
    }
}
