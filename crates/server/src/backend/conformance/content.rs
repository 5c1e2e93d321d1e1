use std::sync::Arc;

use llamon_core::Part;
use llamon_core::a2a::{
    Artifact, ArtifactUpdate, Message, Role, StatusUpdate, StreamEvent, TaskFold, TaskState,
    TaskStatus,
};

use super::Make;
use super::bench::{Bench, artifact, asks, at, chunk, message, status, take};
use crate::backend::{Commit, Committed, Position, ReadFrom};

/// Parts that a careless store would change.
pub(super) fn odd_parts() -> Vec<Part> {
    let deep = format!("{{\"data\":{}1{}}}", "[".repeat(90), "]".repeat(90));
    [
        r#"{"data":1.0e+5}"#,
        r#"{"data":[1E400,-0,-0.0,1.50,100000000000000000000000000001,0.1e-7]}"#,
        r#"{"data":{"b":1,"a":2,"b":3}}"#,
        r#"{"data":null}"#,
        r#"{"data":"\u0041\/\ud83d\ude00\u0000"}"#,
        r#"{"data":"\ud800"}"#,
        "{\"text\":\"a\u{2028}b\u{2029}c\u{0}d\u{feff}\u{1f600}\"}".replace('\u{0}', "\\u0000").as_str(),
        r#"{"text":""}"#,
        r#"{ "text" : "spaces" , "x-unknown" : [ 1 , { } ] }"#,
        r#"{"url":"https://example.com/?a=%2F&b='\"","mediaType":"text/plain","filename":"'; DROP TABLE tasks; --"}"#,
        r#"{"raw":"QUJD","metadata":{"z":1,"z":2.0}}"#,
        r#"{"text":"x","metadata":{}}"#,
        deep.as_str(),
    ]
    .into_iter()
    .map(|json| Part::from_json(json.to_owned()).expect("a part"))
    .collect()
}

/// A part of about so many bytes.
pub(super) fn large_part(kind: &str, bytes: usize) -> Part {
    let json = match kind {
        "raw" => format!("{{\"raw\":\"{}\"}}", "QUJD".repeat(bytes / 4)),
        "data" => format!("{{\"data\":[{}1.0e+5]}}", "1.50,".repeat(bytes / 5)),
        _ => format!("{{\"text\":\"{}\"}}", "\\u0041b".repeat(bytes / 7)),
    };
    Part::from_json(json).expect("a part")
}

/// Carries the parts in every place that has parts, and checks that they come back.
async fn carry(bench: &Bench, id: &str, parts: Vec<Part>) {
    let mut new = bench.new_task(id);
    new.task.history = vec![Message::new("m", Role::User, parts.clone())];
    let mut pen = bench.create_new(new.clone()).await;
    let mut fold = TaskFold::new(new.task);
    let (_, mut log) = bench.follow_from(id, ReadFrom::Now).await;
    let mut said = TaskStatus::new(TaskState::Working, at(2_000));
    said.message = Some(Message::new("s", Role::Agent, parts.clone()));
    let said = StatusUpdate::new(id.into(), "c".into(), said);
    let events = vec![
        artifact(id, "one", parts.clone(), false),
        StreamEvent::Status(said.clone()),
        artifact(id, "two", parts.clone(), false),
    ];
    pen.write(bench, id, events.clone()).await;
    let more = artifact(id, "two", parts.clone(), true);
    pen.write(bench, id, vec![more.clone()]).await;
    let read = take(&mut log, 4).await;
    let expected: Vec<Arc<StreamEvent>> = events.into_iter().chain([more]).map(Arc::new).collect();
    assert_eq!(read, expected, "live");
    let (_, mut again) = bench.follow_from(id, ReadFrom::After(Position(0))).await;
    assert_eq!(take(&mut again, 4).await, expected, "from the log");
    expected.iter().for_each(|event| fold.apply(event));
    assert_eq!(bench.read(id).await, fold.snapshot(), "while it runs");
    let last = status(id, TaskState::Completed, 3_000);
    pen.write(bench, id, vec![last.clone()]).await;
    fold.apply(&last);
    let ended = bench.read(id).await;
    assert_eq!(ended, fold.into_task(), "after the end");
    assert_eq!(ended.history[0].parts[..], parts[..]);
}

pub(super) async fn parts_come_back_token_for_token(make: &Make) {
    let bench = make.bench().await;
    carry(&bench, "a", odd_parts()).await;
}

pub(super) async fn large_parts_come_back_however_often_they_were_sent(make: &Make) {
    let bench = make.bench().await;
    let sizes = [8_100, 8_200, 20_000, 1_500_000];
    let mut parts = Vec::new();
    for size in sizes {
        for kind in ["raw", "data", "text"] {
            parts.push(large_part(kind, size));
        }
    }
    // The same part twice comes back twice, and small ones keep their places between.
    let again = parts.clone();
    parts.extend(odd_parts());
    parts.extend(again);
    carry(&bench, "a", parts.clone()).await;
    carry(&bench, "b", parts).await;
}

pub(super) async fn everything_of_a_task_comes_back(make: &Make) {
    let bench = make.bench().await;
    let mut new = bench.new_task("a");
    let mut said = message("m", "hello");
    said.context_id = Some("another context".into());
    said.task_id = Some("a".into());
    said.metadata = Some(r#"{"k":1.0e+5,"k":"\u2028"}"#.to_owned());
    said.extensions = vec!["https://example.com/x".to_owned(), "y".to_owned()];
    said.reference_task_ids = vec!["b".to_owned(), "c'\"".to_owned()];
    new.task.history.push(said.clone());
    new.task.metadata = Some(r#"{"t":[1e400]}"#.to_owned());
    let mut pen = bench.create_new(new.clone()).await;
    let mut fold = TaskFold::new(new.task);
    let mut made = Artifact::new("r", vec![Part::text("x")]);
    made.name = Some("a name".into());
    made.description = Some("a description \u{0}".to_owned());
    made.metadata = Some(r#"{"m":1.50}"#.to_owned());
    made.extensions = vec!["z".to_owned()];
    let mut update = ArtifactUpdate::new("a".into(), "c".into(), made);
    update.last_chunk = true;
    update.metadata = Some(r#"{"u":null}"#.to_owned());
    let mut working = StatusUpdate::new(
        "a".into(),
        "c".into(),
        TaskStatus::new(TaskState::Working, at(2_500)),
    );
    working.metadata = Some(r#"{"s":-0}"#.to_owned());
    let mut whole = bench.read("a").await;
    whole.metadata = Some(r#"{"w":[]}"#.to_owned());
    let events = vec![
        StreamEvent::Task(Arc::new(whole)),
        StreamEvent::Artifact(update),
        StreamEvent::Status(working),
        asks("a", "which?", 3_000),
    ];
    events.iter().for_each(|event| fold.apply(event));
    let (_, mut log) = bench.follow_from("a", ReadFrom::Now).await;
    pen.write(&bench, "a", events.clone()).await;
    let events: Vec<_> = events.into_iter().map(Arc::new).collect();
    assert_eq!(take(&mut log, 4).await, events);
    assert_eq!(bench.read("a").await, fold.snapshot());
    let commit = Commit {
        message: Some(said.clone()),
        ..Commit::events(
            pen.generation,
            None,
            vec![status("a", TaskState::Submitted, 4_000)],
        )
    };
    fold.push_message(said);
    fold.apply(&status("a", TaskState::Submitted, 4_000));
    let committed = bench.commit(&bench.scope, "a", commit).await;
    assert!(
        matches!(committed, Ok(Committed::New { .. })),
        "{committed:?}"
    );
    assert_eq!(bench.read("a").await, fold.snapshot());
}

pub(super) async fn the_task_is_the_fold_of_its_events(make: &Make) {
    let bench = make.bench().await;
    let new = bench.new_task("a");
    let mut fold = TaskFold::new(new.task.clone());
    let mut pen = bench.create_new(new).await;
    let texts = |texts: &[&str]| texts.iter().map(Part::text).collect::<Vec<_>>();
    let steps = [
        artifact("a", "one", texts(&["a", "b"]), false),
        artifact("a", "one", texts(&["c", "d"]), true),
        artifact("a", "two", texts(&["\"\\\u{2028}\n"]), false),
        artifact("a", "two", odd_parts(), true),
        artifact("a", "two", texts(&["e"]), true),
        artifact("a", "two", texts(&["f"]), true),
        artifact("a", "one", texts(&["new"]), false),
        artifact("a", "one", texts(&["er"]), true),
        artifact("a", "three", texts(&["appended to nothing"]), true),
        status("a", TaskState::Working, 2_000),
    ];
    for step in steps {
        fold.apply(&step);
        pen.write(&bench, "a", vec![step]).await;
        assert_eq!(bench.read("a").await, fold.snapshot());
    }
    let last = status("a", TaskState::Failed, 3_000);
    fold.apply(&last);
    pen.write(&bench, "a", vec![last]).await;
    assert_eq!(bench.read("a").await, fold.into_task());
}

pub(super) async fn long_text_in_small_chunks_is_one_part(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    let mut text = String::new();
    // A megabyte: a backend that keeps a log beside a snapshot writes the snapshot in between.
    for number in 0..64 {
        let piece = format!("{number} {}\u{e4}\n", "x".repeat(16_000));
        text.push_str(&piece);
        pen.write(&bench, "a", vec![chunk("a", &piece, number > 0)])
            .await;
        if number % 16 == 0 {
            assert_eq!(bench.read("a").await.payload().text(), text);
        }
    }
    pen.status(&bench, "a", TaskState::Completed, 2_000).await;
    let ended = bench.read("a").await;
    assert_eq!(ended.artifacts[0].parts, [Part::text(&text)], "one part");
}

pub(super) async fn an_empty_part_that_looks_stored_stays_what_it_is(make: &Make) {
    let bench = make.bench().await;
    let empty = Part::text("");
    let large = large_part("raw", 50_000);
    let parts = vec![
        empty.clone(),
        large.clone(),
        empty.clone(),
        empty.clone(),
        large,
        empty,
    ];
    carry(&bench, "a", parts).await;
}
