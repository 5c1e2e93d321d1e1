//! Events that are stored together fold to what they fold to one by one.

use std::sync::Arc;

use llamon_core::a2a::{
    Artifact, ArtifactUpdate, EventGather, StatusUpdate, StreamEvent, Task, TaskFold, TaskState,
    TaskStatus,
};
use llamon_core::{Part, Timestamp};
use proptest::prelude::*;

fn part() -> impl Strategy<Value = Part> {
    let texts = prop_oneof![Just(""), Just("a"), Just("\n\"b\u{2028}"), Just("ü")];
    prop_oneof![
        6 => texts.prop_map(Part::text),
        1 => Just(Part::text("with a name").with_filename("x.txt")),
        2 => Just(Part::from_json(r#"{"data":{"n":1.0}}"#).expect("a part")),
    ]
}

fn artifact() -> impl Strategy<Value = StreamEvent> {
    let id = prop_oneof![3 => Just("response"), 1 => Just("artifact-1-1")];
    let name = prop_oneof![4 => Just(None), 1 => Just(Some("n")), 1 => Just(Some("m"))];
    let parts = prop::collection::vec(part(), 1..3);
    let flags = (prop::bool::weighted(0.85), prop::bool::weighted(0.1));
    (id, name, parts, flags).prop_map(|(id, name, parts, (append, last))| {
        let mut artifact = Artifact::new(id, parts);
        artifact.name = name.map(Into::into);
        let mut update = ArtifactUpdate::new("task".into(), "context".into(), artifact);
        update.append = append;
        update.last_chunk = last;
        StreamEvent::Artifact(update)
    })
}

fn status() -> impl Strategy<Value = StreamEvent> {
    Just(()).prop_map(|()| {
        let status = TaskStatus::new(TaskState::Working, Timestamp::from_micros(0));
        let update = StatusUpdate::new("task".into(), "context".into(), status);
        StreamEvent::Status(update)
    })
}

fn task() -> Task {
    let status = TaskStatus::new(TaskState::Working, Timestamp::from_micros(0));
    Task::new(Arc::from("task"), Arc::from("context"), status)
}

fn fold<'a>(events: impl IntoIterator<Item = &'a StreamEvent>) -> Task {
    let mut fold = TaskFold::new(task());
    for event in events {
        fold.apply(event);
    }
    fold.into_task()
}

proptest! {
    #[test]
    fn gathered_events_fold_to_the_same_task(
        events in prop::collection::vec(prop_oneof![5 => artifact(), 1 => status()], 0..40),
        cuts in prop::collection::vec(any::<bool>(), 40),
    ) {
        let mut gather = EventGather::default();
        let mut stored = Vec::new();
        for (event, cut) in events.iter().zip(cuts) {
            gather.push(event.clone());
            if cut {
                stored.extend(gather.take());
                prop_assert!(gather.is_empty() && gather.bytes() == 0);
            }
        }
        stored.extend(gather.take());
        prop_assert!(stored.len() <= events.len());
        prop_assert_eq!(fold(&stored), fold(&events));
    }
}

#[test]
fn a_thousand_tokens_become_one_chunk() {
    let mut gather = EventGather::default();
    for index in 0..1_000 {
        let artifact = Artifact::new("response", vec![Part::text("tok ")]);
        let mut update = ArtifactUpdate::new("task".into(), "context".into(), artifact);
        update.append = index > 0;
        gather.push(StreamEvent::Artifact(update));
    }
    let events = gather.take();
    assert_eq!(events.len(), 1);
    let task = fold(&events);
    assert_eq!(
        task.artifacts[0].parts[0].as_text().as_deref(),
        Some("tok ".repeat(1_000).as_str())
    );
}
