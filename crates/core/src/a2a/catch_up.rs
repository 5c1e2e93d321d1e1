//! What a reader has missed: from the events that it has seen to the task as it stands.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Artifact, ArtifactUpdate, StatusUpdate, StreamEvent, Task, TaskFold};
use crate::Part;

impl TaskFold {
    /// The events that lead from what was folded to `now`, the same task at a later time: for
    /// each artifact what it has grown by, or one update that replaces it where it did not
    /// only grow; then the status, if it is another one.
    ///
    /// An artifact that `now` does not have is left alone: no event of the protocol removes
    /// one. Texts count as what they are when they are joined, since some servers keep the
    /// chunks of a text apart in the task that they join in the stream.
    pub fn events_to(&self, now: &Task) -> Vec<StreamEvent> {
        let known = self.snapshot();
        let artifacts: HashMap<&str, &Artifact> = known
            .artifacts
            .iter()
            .map(|artifact| (&*artifact.artifact_id, artifact))
            .collect();
        let (task_id, context_id) = self.ids();
        let mut events: Vec<StreamEvent> = now
            .artifacts
            .iter()
            .filter_map(|artifact| {
                let (artifact, append) = match artifacts.get(&*artifact.artifact_id) {
                    None => (artifact.clone(), false),
                    Some(before) => match change(before, artifact) {
                        Change::None => return None,
                        Change::Growth(growth) => (growth, true),
                        Change::Other => (artifact.clone(), false),
                    },
                };
                let mut update =
                    ArtifactUpdate::new(Arc::clone(task_id), Arc::clone(context_id), artifact);
                update.append = append;
                Some(StreamEvent::Artifact(update))
            })
            .collect();
        if now.status != known.status {
            events.push(StreamEvent::Status(StatusUpdate::new(
                Arc::clone(task_id),
                Arc::clone(context_id),
                now.status.clone(),
            )));
        }
        events
    }
}

enum Change {
    None,
    /// The chunk that appending gives the artifact as it stands.
    Growth(Artifact),
    /// What appending cannot say.
    Other,
}

fn change(before: &Artifact, now: &Artifact) -> Change {
    if before.extensions != now.extensions {
        return Change::Other;
    }
    let Some(parts) = rest(&before.parts, &now.parts) else {
        return Change::Other;
    };
    let mut growth = Artifact::new(Arc::clone(&now.artifact_id), parts);
    let described = now.name == before.name
        && now.description == before.description
        && now.metadata == before.metadata;
    if growth.parts.is_empty() {
        // An update without parts would be none for many readers.
        return if described {
            Change::None
        } else {
            Change::Other
        };
    }
    if !described {
        let loses = (before.name.is_some() && now.name.is_none())
            || (before.description.is_some() && now.description.is_none())
            || (before.metadata.is_some() && now.metadata.is_none());
        if loses {
            return Change::Other;
        }
        growth.name.clone_from(&now.name);
        growth.description.clone_from(&now.description);
        growth.metadata.clone_from(&now.metadata);
    }
    Change::Growth(growth)
}

/// The parts that follow `before` in `now`, if `now` begins with it. A text may end within a part
/// of the other side.
fn rest(before: &[Part], now: &[Part]) -> Option<Vec<Part>> {
    let mut rest = Rest { parts: now, at: 0 };
    for part in before {
        if part.is_plain_text() {
            rest.pass_text(part.escaped_text())?;
        } else {
            rest.pass_part(part)?;
        }
    }
    rest.close_text();
    rest.pass_empty_texts();
    let mut parts = Vec::with_capacity(rest.parts.len());
    let mut others = rest.parts;
    if rest.at > 0 {
        let (first, more) = others.split_first()?;
        // Both sides begin with whole characters and escapes, so the rest does, too.
        let text = first.escaped_text().get(rest.at..)?;
        parts.push(Part::text_of_escaped(text));
        others = more;
    }
    parts.extend_from_slice(others);
    Some(parts)
}

/// What is left of a list of parts; of its first one, a text, the first bytes are passed already.
struct Rest<'a> {
    parts: &'a [Part],
    at: usize,
}

impl Rest<'_> {
    fn pass_text(&mut self, mut text: &str) -> Option<()> {
        while !text.is_empty() {
            let (first, more) = self.parts.split_first()?;
            if !first.is_plain_text() {
                return None;
            }
            let left = first.escaped_text().get(self.at..)?;
            if left.is_empty() {
                (self.parts, self.at) = (more, 0);
                continue;
            }
            let both = left.len().min(text.len());
            if left.get(..both)? != text.get(..both)? {
                return None;
            }
            self.at += both;
            text = text.get(both..)?;
        }
        Some(())
    }

    fn pass_part(&mut self, part: &Part) -> Option<()> {
        self.close_text();
        self.pass_empty_texts();
        let (first, more) = self.parts.split_first()?;
        if self.at > 0 || first != part {
            return None;
        }
        self.parts = more;
        Some(())
    }

    /// A text that is empty on one side only is no difference.
    fn pass_empty_texts(&mut self) {
        while let Some((first, more)) = self.parts.split_first()
            && first.is_plain_text()
            && first.escaped_text().is_empty()
        {
            self.parts = more;
        }
    }

    /// Leaves a text that is passed to its end.
    fn close_text(&mut self) {
        if let Some((first, more)) = self.parts.split_first()
            && self.at > 0
            && self.at == first.escaped_text().len()
        {
            (self.parts, self.at) = (more, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use crate::a2a::{
        Artifact, ArtifactUpdate, Message, Role, StatusUpdate, StreamEvent, Task, TaskFold,
        TaskState, TaskStatus,
    };
    use crate::{Part, Timestamp};

    fn status(state: TaskState, micros: i64) -> TaskStatus {
        TaskStatus::new(state, Timestamp::from_micros(micros))
    }

    fn begin() -> Task {
        Task::new("t".into(), "c".into(), status(TaskState::Working, 0))
    }

    fn parts(json: &[&str]) -> Vec<Part> {
        json.iter()
            .map(|json| Part::from_json(*json).unwrap())
            .collect()
    }

    fn task(json: &[&str]) -> Task {
        let mut task = begin();
        task.artifacts.push(Artifact::new("a", parts(json)));
        task
    }

    /// The updates, as their append flag and the JSON of their parts.
    fn updates(events: &[StreamEvent]) -> Vec<(bool, Vec<String>)> {
        let update = |event: &StreamEvent| match event {
            StreamEvent::Artifact(update) => {
                let parts = update.artifact.parts.iter();
                (
                    update.append,
                    parts.map(|part| part.json().to_owned()).collect(),
                )
            }
            other => panic!("{other:?}"),
        };
        events.iter().map(update).collect()
    }

    #[test]
    fn what_has_grown_is_appended_and_what_has_changed_is_replaced() {
        type Case<'a> = (&'a [&'a str], &'a [&'a str], Option<(bool, &'a [&'a str])>);
        let (hel, hello, lo) = (
            r#"{"text":"Hel"}"#,
            r#"{"text":"Hello"}"#,
            r#"{"text":"lo"}"#,
        );
        let (one, two) = (r#"{"data":1e400}"#, r#"{"data":2}"#);
        let cases: &[Case<'_>] = &[
            (&[hello], &[hello], None),
            (&[hel], &[hello], Some((true, &[lo]))),
            (&[hel, one], &[hel, one, two], Some((true, &[two]))),
            (&[hel], &[hello, one], Some((true, &[lo, one]))),
            (&[one], &[one, hel], Some((true, &[hel]))),
            // A server that keeps the chunks apart.
            (&[hello], &[hel, lo], None),
            (&[hel], &[hel, lo], Some((true, &[lo]))),
            (&[hello, one], &[hel, lo, one], None),
            (
                &[r#"{"text":"He"}"#],
                &[hel, lo],
                Some((true, &[r#"{"text":"l"}"#, lo])),
            ),
            // Characters of several bytes, and escapes.
            (
                &[r#"{"text":"\u00e9\\"}"#],
                &[r#"{"text":"\u00e9\\n한"}"#],
                Some((true, &[r#"{"text":"n한"}"#])),
            ),
            (
                &[r#"{"text":"한"}"#],
                &[r#"{"text":"핡"}"#],
                Some((false, &[r#"{"text":"핡"}"#])),
            ),
            // What appending cannot say.
            (&[hello], &[hel], Some((false, &[hel]))),
            (&[one], &[two], Some((false, &[two]))),
            (&[hel, one], &[hello, one], Some((false, &[hello, one]))),
            (&[one, hel], &[one], Some((false, &[one]))),
            (
                &[r#"{"text":"Hel","x":1}"#],
                &[r#"{"text":"Hello","x":1}"#],
                Some((false, &[r#"{"text":"Hello","x":1}"#])),
            ),
        ];
        for (before, now, expected) in cases {
            let events = TaskFold::new(task(before)).events_to(&task(now));
            let expected: Vec<_> = expected
                .iter()
                .map(|(append, parts)| (*append, parts.iter().map(|p| (*p).to_owned()).collect()))
                .collect();
            assert_eq!(updates(&events), expected, "{before:?} {now:?}");
        }
    }

    #[test]
    fn a_description_is_said_with_what_is_new_and_replaces_where_nothing_is() {
        let named = |json: &[&str], name: Option<&str>, metadata: Option<&str>| {
            let mut task = task(json);
            task.artifacts[0].name = name.map(Into::into);
            task.artifacts[0].metadata = metadata.map(Into::into);
            task
        };
        let (one, two) = (r#"{"data":1}"#, r#"{"data":2}"#);
        let cases = [
            (
                named(&[one], None, None),
                named(&[one, two], Some("n"), None),
                true,
            ),
            (
                named(&[one], Some("n"), None),
                named(&[one, two], Some("m"), Some("{}")),
                true,
            ),
            (
                named(&[one], None, None),
                named(&[one], Some("n"), None),
                false,
            ),
            (
                named(&[one], Some("n"), None),
                named(&[one, two], None, None),
                false,
            ),
        ];
        for (before, now, append) in cases {
            let mut fold = TaskFold::new(before);
            let events = fold.events_to(&now);
            assert_eq!(updates(&events)[0].0, append);
            events.iter().for_each(|event| fold.apply(event));
            assert_eq!(fold.snapshot(), now);
        }
    }

    #[test]
    fn an_artifact_that_is_not_there_stays_and_a_new_status_comes_last() {
        let mut now = begin();
        now.status = status(TaskState::Completed, 1);
        now.artifacts
            .push(Artifact::new("b", parts(&[r#"{"data":2}"#])));
        let mut fold = TaskFold::new(task(&[r#"{"data":1}"#]));
        let events = fold.events_to(&now);
        assert_eq!(events.len(), 2);
        assert!(matches!(&events[1], StreamEvent::Status(update) if update.status == now.status));
        events.iter().for_each(|event| fold.apply(event));
        assert_eq!(fold.artifact_count(), 2);
        assert!(fold.events_to(&now).is_empty());
    }

    // === any history, broken anywhere ===

    fn any_part() -> impl Strategy<Value = Part> {
        let text = prop_oneof![
            4 => "[a-c한🦙\\n\"]{0,4}".prop_map(|text| Part::text(&text)),
            1 => Just(Part::from_json(r#"{"text":"\u00e9\ud83d\ude00"}"#).unwrap()),
            1 => Just(Part::from_json(r#"{"text":"a","filename":"f"}"#).unwrap()),
        ];
        prop_oneof![
            4 => text,
            1 => (0..3_u8).prop_map(|n| Part::data(&n).unwrap()),
            1 => Just(Part::from_json(r#"{"data":{"n":1e400,"n":1.0}}"#).unwrap()),
        ]
    }

    fn any_event() -> impl Strategy<Value = StreamEvent> {
        let name = prop_oneof![4 => Just(None), 1 => "[xy]".prop_map(Some)];
        let artifact = (
            "[a-c]",
            prop::collection::vec(any_part(), 1..4),
            name,
            any::<bool>(),
        )
            .prop_map(|(id, parts, name, append)| {
                let mut artifact = Artifact::new(id, parts);
                artifact.name = name.map(Into::into);
                let mut update = ArtifactUpdate::new("t".into(), "c".into(), artifact);
                update.append = append;
                StreamEvent::Artifact(update)
            });
        let status = (0..5_i64, any::<bool>()).prop_map(|(micros, says)| {
            let mut status = status(TaskState::Working, micros);
            status.message =
                says.then(|| Message::new("m", Role::Agent, [Part::text(micros.to_string())]));
            StreamEvent::Status(StatusUpdate::new("t".into(), "c".into(), status))
        });
        prop_oneof![5 => artifact, 1 => status]
    }

    /// The server's task as a server has it that does not join chunks.
    fn unjoined(seen: &[StreamEvent], task: &mut Task) {
        task.artifacts.clear();
        for event in seen {
            let StreamEvent::Artifact(update) = event else {
                continue;
            };
            let id = &update.artifact.artifact_id;
            let known = task.artifacts.iter_mut().find(|one| one.artifact_id == *id);
            match known {
                None => task.artifacts.push(update.artifact.clone()),
                Some(known) if update.append => {
                    known.parts.extend(update.artifact.parts.iter().cloned());
                    known.name = update.artifact.name.clone().or(known.name.take());
                }
                Some(known) => *known = update.artifact.clone(),
            }
        }
    }

    /// The artifacts with each run of plain texts as one.
    fn joined(mut task: Task) -> Vec<Artifact> {
        for artifact in &mut task.artifacts {
            let mut parts: Vec<Part> = Vec::new();
            for part in artifact.parts.drain(..) {
                match parts.last_mut() {
                    Some(last) if last.is_plain_text() && part.is_plain_text() => {
                        let text = format!("{}{}", last.escaped_text(), part.escaped_text());
                        *last = Part::text_of_escaped(&text);
                    }
                    _ => parts.push(part),
                }
            }
            parts.retain(|part| !part.is_plain_text() || !part.escaped_text().is_empty());
            artifact.parts = parts;
        }
        task.artifacts
    }

    /// What somebody who prints texts as they come has printed of the artifacts.
    fn text_len(event: &StreamEvent) -> usize {
        let StreamEvent::Artifact(update) = event else {
            return 0;
        };
        let texts = update.artifact.parts.iter().filter(|p| p.is_plain_text());
        texts.map(|part| part.escaped_text().len()).sum()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_history_that_breaks_anywhere_folds_to_the_same_task(
            replaces in any::<bool>(),
            joins in any::<bool>(),
            (events, fates) in (0..30_usize).prop_flat_map(|n| (
                prop::collection::vec(any_event(), n),
                prop::collection::vec(0..3_u8, n),
            )),
        ) {
            let events: Vec<StreamEvent> = events
                .into_iter()
                .map(|event| match event {
                    StreamEvent::Artifact(mut update) if !replaces => {
                        update.append = true;
                        let is_empty = |p: &Part| p.is_plain_text() && p.escaped_text().is_empty();
                        if update.artifact.parts.iter().all(is_empty) {
                            // A name alone cannot be appended.
                            update.artifact.name = None;
                        }
                        StreamEvent::Artifact(update)
                    }
                    event => event,
                })
                .collect();
            let mut server = TaskFold::new(begin());
            let mut client = TaskFold::new(begin());
            let mut shown = 0;
            let mut is_connected = true;
            let mut give = |client: &mut TaskFold, event: &StreamEvent| {
                if !replaces
                    && let StreamEvent::Artifact(update) = event
                {
                    let is_new = !client.has_artifact(&update.artifact.artifact_id);
                    assert!(update.append || is_new, "{event:?} repeats what was there");
                }
                shown += text_len(event);
                client.apply(event);
            };
            let snapshot = |server: &TaskFold, seen: &[StreamEvent]| {
                let mut now = server.snapshot();
                if !joins {
                    unjoined(seen, &mut now);
                }
                now
            };
            for (index, (event, fate)) in events.iter().zip(fates).enumerate() {
                server.apply(event);
                match fate {
                    // The event is lost, and the connection with it.
                    0 => is_connected = false,
                    _ if is_connected => give(&mut client, event),
                    1 => {}
                    _ => {
                        let now = snapshot(&server, &events[..=index]);
                        for event in client.events_to(&now) {
                            give(&mut client, &event);
                        }
                        is_connected = true;
                    }
                }
            }
            let now = snapshot(&server, &events);
            for event in client.events_to(&now) {
                give(&mut client, &event);
            }
            prop_assert_eq!(client.status(), server.status());
            let artifacts = joined(client.snapshot());
            prop_assert_eq!(&artifacts, &joined(server.snapshot()));
            prop_assert!(client.events_to(&now).is_empty(), "caught up, there is nothing more");
            if !replaces {
                let texts = artifacts.iter().flat_map(|artifact| &artifact.parts);
                let texts = texts.filter(|part| part.is_plain_text());
                let whole: usize = texts.map(|part| part.escaped_text().len()).sum();
                prop_assert_eq!(shown, whole, "no text came twice");
            }
        }
    }

    #[test]
    fn ids_are_those_of_the_task() {
        let events = TaskFold::new(begin()).events_to(&task(&[r#"{"data":1}"#]));
        let [StreamEvent::Artifact(update)] = &events[..] else {
            panic!("{events:?}");
        };
        assert_eq!((&*update.task_id, &*update.context_id), ("t", "c"));
        assert_eq!(update.task_id, Arc::from("t"));
    }
}
