//! Order and completeness under load and with failures by chance.

use std::collections::HashSet;

use llamon_itest::receiver::{Answer, Got, Receiver};
use llamon_itest::say::Say;
use llamon_itest::wire::peers;
use proptest::prelude::*;

use crate::support::{COMPLETED, notifying_at_once, options, serve, url};

/// The chunk's number in each artifact update.
fn chunks(got: &[Got]) -> Vec<u32> {
    let text = |got: &Got| got.event().find("artifactUpdate.artifact.parts.0.text");
    let texts = got.iter().filter_map(text);
    let number = |text: String| text.trim_matches(['"', ' ']).parse().ok();
    texts
        .filter_map(|text| number(text.text().to_owned()))
        .collect()
}

#[tokio::test]
async fn five_thousand_events_come_in_order() {
    let server = serve().await;
    let [peer, _] = peers(server.url());
    let receiver = Receiver::start().await;
    let say = notifying_at_once(Say::text("emit 5000"), &url(&receiver.url));
    peer.send(&say).await;
    let got = receiver.wait_for(|got| got.is_state(COMPLETED)).await;
    assert_eq!(chunks(&got), (0..5000).collect::<Vec<_>>());
    assert_eq!(got.len(), 5002);
}

#[tokio::test]
async fn many_tasks_share_a_receiver() {
    let server = serve().await;
    let [peer, _] = peers(server.url());
    let receiver = Receiver::start().await;
    let mut tasks = Vec::new();
    for _ in 0..50 {
        let say = notifying_at_once(Say::text("emit 40"), &url(&receiver.url));
        tasks.push(peer.send(&say).await.string("id"));
    }
    let got = receiver.wait(50 * 42).await;
    for task in tasks {
        let of_task: Vec<Got> = got
            .iter()
            .filter(|got| got.body.contains(&task))
            .cloned()
            .collect();
        assert_eq!(chunks(&of_task), (0..40).collect::<Vec<_>>());
        assert!(of_task.last().unwrap().is_state(COMPLETED));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_sent_twice_where_nothing_fails() {
    let server = serve().await;
    let [peer, _] = peers(server.url());
    let receiver = Receiver::start().await;
    for _ in 0..500 {
        let say = notifying_at_once(Say::text("emit 3"), &url(&receiver.url));
        peer.send(&say).await;
    }
    // All that is under way is sent before the server has stopped.
    server.stop().await.unwrap();
    let got = receiver.got();
    let ids: HashSet<_> = got.iter().map(|got| got.header("webhook-id")).collect();
    assert_eq!((ids.len(), got.len()), (500 * 5, 500 * 5));
}

/// What a receiver does with a request.
fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        5 => Just(Answer::Status(200)),
        2 => Just(Answer::Status(503)),
        1 => Just(Answer::Status(429)),
        1 => Just(Answer::Status(302)),
        1 => Just(Answer::Close),
        1 => Just(Answer::Header(200, "Connection", "close".to_owned())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_event_arrives_and_first_arrivals_are_in_order(
        receivers in prop::collection::vec(prop::collection::vec(answer(), 1..40), 1..4),
        events in 0_u32..30,
    ) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(run(receivers, events));
    }
}

async fn run(receivers: Vec<Vec<Answer>>, events: u32) {
    use llamon_agent::server::create_server;
    use llamon_itest::agents::{card, start};
    let options = options().max_attempts(u32::MAX);
    let server =
        start(create_server(card("agent"), crate::support::agent).push_notifications(options))
            .await;
    let [peer, _] = peers(server.url());
    let task = crate::support::waiting_task(&peer).await;
    let mut started = Vec::new();
    for answers in receivers {
        // After what chance has chosen, everything is taken.
        let answer =
            move |n: usize, _: &Got| answers.get(n).cloned().unwrap_or(Answer::Status(200));
        let receiver = Receiver::answering(answer).await;
        crate::support::create(&peer, &task, &url(&receiver.url)).await;
        started.push(receiver);
    }
    let say = Say::text(&format!("emit {events}")).in_task(&task);
    let streamed = peer.stream(&say).await.rest().await;
    for receiver in &started {
        let got = receiver.wait_for(|got| got.is_state(COMPLETED)).await;
        let mut first = Vec::new();
        for got in &got {
            let id = got.header("webhook-id").expect("an id");
            if !first.iter().any(|(known, _)| *known == id) {
                first.push((id, got.event()));
            }
        }
        let first: Vec<_> = first.into_iter().map(|(_, event)| event).collect();
        assert_eq!(crate::support::without_working(&first), &streamed[1..]);
    }
}
