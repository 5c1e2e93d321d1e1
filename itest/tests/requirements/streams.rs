//! Sections 3.1.6 and 3.5.2: who reads along sees the same.

use llamon_itest::call::Caller;
use llamon_itest::raw::Raw;

use super::support::*;

/// A task that works until the gate opens, and has shown that it does.
async fn working(caller: &Caller) -> String {
    let mut events = caller
        .open("SendStreamingMessage", &say("wait"))
        .await
        .expect("a stream");
    let id = snapshot(events.next().await).string("id");
    while events
        .next()
        .await
        .expect("output")
        .find("artifactUpdate")
        .is_none()
    {}
    id
}

#[tokio::test]
async fn stream_order_001_events_come_in_the_order_in_which_they_were_made() {
    let served = serve().await;
    for caller in served.callers() {
        let events = caller.open("SendStreamingMessage", &say("chunks")).await;
        let events = events.expect("a stream").rest().await;
        let kinds: Vec<String> = events.iter().map(kind).collect();
        assert_eq!(
            kinds,
            ["task", "WORKING", "one ", "two", "COMPLETED"],
            "{:?}",
            caller.binding
        );
    }
}

fn kind(event: &Raw) -> String {
    if event.find("task").is_some() {
        return "task".to_owned();
    }
    match event.find("statusUpdate") {
        Some(update) => state(&update),
        None => event.string("artifactUpdate.artifact.parts.0.text"),
    }
}

/// What `count` readers of one task see of its end, after their snapshots.
async fn read_along(served: &Served, caller: &Caller, count: usize) -> Vec<Vec<Raw>> {
    let id = working(caller).await;
    let mut readers = Vec::new();
    for _ in 0..count {
        let mut events = caller
            .open("SubscribeToTask", &of(&id))
            .await
            .expect("a stream");
        snapshot(events.next().await);
        readers.push(events);
    }
    served.gate.open();
    let mut seen = Vec::new();
    for reader in readers {
        seen.push(reader.rest().await);
    }
    seen
}

#[tokio::test]
async fn stream_order_002_every_stream_of_a_task_gets_its_events() {
    for n in 0..3 {
        let served = serve().await;
        let caller = &served.callers()[n];
        for events in read_along(&served, caller, 3).await {
            let kinds: Vec<String> = events.iter().map(kind).collect();
            assert_eq!(kinds, [" done", "COMPLETED"], "{:?}", caller.binding);
        }
    }
}

#[tokio::test]
async fn stream_order_003_all_streams_of_a_task_are_the_same() {
    for n in 0..3 {
        let served = serve().await;
        let caller = &served.callers()[n];
        let seen = read_along(&served, caller, 4).await;
        assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{seen:?}");
        assert!(!seen[0].is_empty());
    }
}

#[tokio::test]
async fn stream_order_004_closing_a_stream_changes_nothing_for_others() {
    for n in 0..3 {
        let served = serve().await;
        let caller = &served.callers()[n];
        let id = working(caller).await;
        let mut one = caller
            .open("SubscribeToTask", &of(&id))
            .await
            .expect("a stream");
        let mut other = caller
            .open("SubscribeToTask", &of(&id))
            .await
            .expect("a stream");
        snapshot(one.next().await);
        snapshot(other.next().await);
        drop(one);
        served.gate.open();
        let kinds: Vec<String> = other.rest().await.iter().map(kind).collect();
        assert_eq!(kinds, [" done", "COMPLETED"], "{:?}", caller.binding);
        let got = caller.call("GetTask", &of(&id)).await.expect("the task");
        assert_eq!(state(&got), "COMPLETED", "whoever leaves cancels nothing");
    }
}

#[tokio::test]
async fn stream_sub_001_a_subscription_begins_with_the_task() {
    let served = serve().await;
    for caller in served.callers() {
        let waiting = task_id(&caller, "ask").await;
        let mut events = caller
            .open("SubscribeToTask", &of(&waiting))
            .await
            .expect("a stream");
        let first = snapshot(events.next().await);
        assert_eq!(
            (first.string("id"), state(&first)),
            (waiting, "INPUT_REQUIRED".to_owned())
        );

        let working = working(&caller).await;
        let mut events = caller
            .open("SubscribeToTask", &of(&working))
            .await
            .expect("a stream");
        let first = snapshot(events.next().await);
        assert_eq!(
            first.string("artifacts.0.parts.0.text"),
            "begun",
            "{:?}",
            caller.binding
        );
    }
}

#[tokio::test]
async fn stream_sub_002_a_subscription_ends_with_its_task_and_not_with_a_question() {
    let served = serve().await;
    for caller in served.callers() {
        let id = task_id(&caller, "ask").await;
        let mut events = caller
            .open("SubscribeToTask", &of(&id))
            .await
            .expect("a stream");
        snapshot(events.next().await);
        task(&caller, &say_in(&id, "ask")).await;
        task(&caller, &say_in(&id, "text")).await;
        let events = events.rest().await;
        let states: Vec<String> = events
            .iter()
            .filter_map(|event| event.find("statusUpdate"))
            .map(|s| state(&s))
            .collect();
        assert_eq!(
            states,
            ["WORKING", "INPUT_REQUIRED", "WORKING", "COMPLETED"],
            "{:?}",
            caller.binding
        );
        assert_eq!(kind(events.last().expect("events")), "COMPLETED");
    }
}

#[tokio::test]
async fn stream_sub_003_a_task_that_has_ended_is_not_subscribed_to() {
    let served = serve().await;
    for caller in served.callers() {
        let id = task_id(&caller, "text").await;
        let opened = caller.open("SubscribeToTask", &of(&id)).await;
        refused(&caller, opened, "UNSUPPORTED_OPERATION");
    }
}

#[tokio::test]
async fn stream_sub_004_a_task_that_does_not_exist_is_not_subscribed_to() {
    let served = serve().await;
    for caller in served.callers() {
        let opened = caller.open("SubscribeToTask", &of("no-such-task")).await;
        refused(&caller, opened, "TASK_NOT_FOUND");
    }
}
