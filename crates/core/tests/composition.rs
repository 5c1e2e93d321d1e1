//! Composition as a property, and the fold of events against a plain reference.

use std::sync::Arc;

use llamon_core::a2a::{
    Artifact, ArtifactUpdate, StreamEvent, Task, TaskFold, TaskState, TaskStatus,
};
use llamon_core::{Part, PartKind, Payload, Timestamp, Upstream, UpstreamPartsPolicy, compose};
use proptest::prelude::*;

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        "[a-c\n\"]{0,3}".prop_map(Part::text),
        (0..4_u8).prop_map(|n| Part::data(&n).expect("a number is JSON")),
        (0..4_u8).prop_map(|n| Part::file_url(format!("x:{n}"))),
        "[a-c]{0,3}".prop_map(|text| Part::text(text).with_filename("named")),
    ]
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    prop::collection::vec(part(), 0..6)
}

fn of_kind(parts: &[Part], keep: impl Fn(PartKind) -> bool) -> Vec<&str> {
    let kept = parts.iter().filter(|part| keep(part.kind()));
    kept.map(Part::json).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn replace_is_current(current in parts(), message in parts()) {
        let upstream = Upstream::of(&message);
        let response = compose(current.clone().into(), &upstream, UpstreamPartsPolicy::Replace);
        prop_assert_eq!(response.parts(), &current[..]);
    }

    #[test]
    fn append_is_current_then_upstream_data_and_files_in_arrival_order(current in parts(), message in parts()) {
        let upstream = Upstream::of(&message);
        let response = compose(current.clone().into(), &upstream, UpstreamPartsPolicy::Append);
        let mut expected = of_kind(&current, |_| true);
        expected.extend(of_kind(&message, |kind| kind != PartKind::Text));
        prop_assert_eq!(of_kind(response.parts(), |_| true), expected);
        // Text is current's alone, data and files are lists of their own.
        let own = Payload::from(current.clone());
        prop_assert_eq!(response.text(), own.text());
        for list in [PartKind::Data, PartKind::Url] {
            let mut expected = of_kind(&current, |kind| kind == list);
            expected.extend(of_kind(&message, |kind| kind == list));
            prop_assert_eq!(of_kind(response.parts(), |kind| kind == list), expected);
        }
    }

    #[test]
    fn the_fold_is_the_reference(chunks in prop::collection::vec((0..3_u8, any::<bool>(), prop::collection::vec(part(), 1..4)), 0..12)) {
        let mut fold = TaskFold::new(task());
        let mut reference = Reference::default();
        for (id, append, parts) in chunks {
            let update = update(id, append, parts.clone());
            fold.apply(&StreamEvent::Artifact(update));
            reference.apply(id, append, parts);
        }
        let task = fold.snapshot();
        prop_assert_eq!(&task, &fold.clone().into_task());
        prop_assert_eq!(task.artifacts.len(), reference.artifacts.len());
        for (artifact, (id, parts)) in task.artifacts.iter().zip(&reference.artifacts) {
            prop_assert_eq!(&*artifact.artifact_id, &id.to_string());
            let ours = Payload::from(artifact.parts.clone());
            let theirs = Payload::from(parts.clone());
            prop_assert_eq!(ours.text(), theirs.text());
            prop_assert_eq!(ours.data().collect::<Vec<_>>(), theirs.data().collect::<Vec<_>>());
            prop_assert_eq!(ours.files().collect::<Vec<_>>(), theirs.files().collect::<Vec<_>>());
            prop_assert_eq!(fold.artifact_bytes(&artifact.artifact_id), parts.iter().map(|part| part.json().len()).sum::<usize>());
        }
    }

    #[test]
    fn a_fold_that_begins_in_the_middle_ends_the_same(chunks in prop::collection::vec((any::<bool>(), prop::collection::vec(part(), 1..3)), 1..10), cut in any::<prop::sample::Index>()) {
        let events: Vec<_> = chunks.into_iter().map(|(append, parts)| StreamEvent::Artifact(update(0, append, parts))).collect();
        let mut whole = TaskFold::new(task());
        let cut = cut.index(events.len());
        let mut late = None;
        for (index, event) in events.iter().enumerate() {
            if index == cut {
                late = Some(TaskFold::new(whole.snapshot()));
            }
            whole.apply(event);
            if let Some(late) = &mut late {
                late.apply(event);
            }
        }
        let (late, whole) = (late.unwrap().into_task().payload(), whole.into_task().payload());
        prop_assert_eq!(late.text(), whole.text());
    }
}

#[test]
fn chunks_of_text_become_one_part_and_whole_texts_stay_apart() {
    let mut fold = TaskFold::new(task());
    let text = |text: &str| Part::text(text);
    fold.apply(&StreamEvent::Artifact(update(
        0,
        false,
        vec![text("a"), text("b")],
    )));
    fold.apply(&StreamEvent::Artifact(update(
        0,
        true,
        vec![text("c"), text("d")],
    )));
    fold.apply(&StreamEvent::Artifact(update(0, true, vec![text("e")])));
    let task = fold.into_task();
    let parts: Vec<_> = task.artifacts[0].parts.iter().map(Part::json).collect();
    assert_eq!(
        parts,
        [r#"{"text":"a"}"#, r#"{"text":"bc"}"#, r#"{"text":"de"}"#]
    );
}

#[derive(Default)]
struct Reference {
    artifacts: Vec<(u8, Vec<Part>)>,
}

impl Reference {
    fn apply(&mut self, id: u8, append: bool, parts: Vec<Part>) {
        match self.artifacts.iter_mut().find(|(known, _)| *known == id) {
            Some((_, known)) if append => known.extend(parts),
            Some((_, known)) => *known = parts,
            None => self.artifacts.push((id, parts)),
        }
    }
}

fn task() -> Task {
    let status = TaskStatus::new(TaskState::Working, Timestamp::from_micros(0));
    Task::new("task".into(), "context".into(), status)
}

fn update(id: u8, append: bool, parts: Vec<Part>) -> ArtifactUpdate {
    let artifact = Artifact::new(id.to_string(), parts);
    let mut update = ArtifactUpdate::new(Arc::from("task"), Arc::from("context"), artifact);
    update.append = append;
    update
}
