use std::sync::Arc;

use futures_util::FutureExt as _;
use llamon_core::Limits;
use llamon_core::a2a::{StreamEvent, TaskState};

use super::Make;
use super::bench::{Pen, answer, asks, chunk, fold, message, next, state_of, status, take, to_end};
use crate::backend::{Commit, Committed, NewWork, Position, ReadFrom, StoreError, Visibility};

pub(super) async fn a_follower_sees_what_comes_from_now_on(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    pen.write(&bench, "a", vec![chunk("a", "before ", false)])
        .await;
    let (task, mut log) = bench.follow_from("a", ReadFrom::Now).await;
    assert_eq!(task, bench.read("a").await, "the task as it stands");
    assert_eq!(log.position(), Position(1), "after what was there");
    let event = chunk("a", "after", true);
    pen.write(&bench, "a", vec![event.clone()]).await;
    assert_eq!(next(&mut log).await, Some(vec![Arc::new(event)]));
    assert_eq!(log.position(), Position(2));
}

pub(super) async fn a_follower_goes_on_after_its_position(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    let mut events = Vec::new();
    for number in 0..10 {
        let two = vec![
            chunk("a", &format!("{number}"), number > 0),
            chunk("a", ",", true),
        ];
        events.extend(two.iter().cloned().map(Arc::new));
        pen.write(&bench, "a", two).await;
    }
    for from in [0, 1, 7, 8, 19, 20] {
        let (_, mut log) = bench
            .follow_from("a", ReadFrom::After(Position(from)))
            .await;
        assert_eq!(log.position(), Position(from));
        let read = take(&mut log, 20).await;
        assert_eq!(read, events[from as usize..], "after {from}");
    }
    // A place that does not exist is the end.
    let (_, mut log) = bench
        .follow_from("a", ReadFrom::After(Position(u64::MAX)))
        .await;
    assert_eq!(log.position(), Position(20));
    let last = status("a", TaskState::Completed, 2_000);
    pen.write(&bench, "a", vec![last.clone()]).await;
    assert_eq!(to_end(&mut log).await, [Arc::new(last)]);
}

pub(super) async fn all_followers_see_the_same_without_gaps(make: &Make) {
    const CHUNKS: u64 = 300;
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    let mut readers = Vec::new();
    for _ in 0..20 {
        let (_, mut log) = bench.follow_from("a", ReadFrom::After(Position(0))).await;
        readers.push(tokio::spawn(async move { to_end(&mut log).await }));
    }
    for number in 0..CHUNKS {
        let event = chunk("a", &format!("{number} "), number > 0);
        pen.write(&bench, "a", vec![event]).await;
    }
    pen.status(&bench, "a", TaskState::Completed, 2_000).await;
    let mut seen = Vec::new();
    for reader in readers {
        seen.push(reader.await.expect("a reader"));
    }
    let texts = |events: &[Arc<StreamEvent>]| -> Vec<String> {
        let text = |event: &Arc<StreamEvent>| match &**event {
            StreamEvent::Artifact(update) => update.artifact.parts[0].as_text().map(Into::into),
            _ => None,
        };
        events.iter().filter_map(text).collect()
    };
    let expected: Vec<String> = (0..CHUNKS).map(|number| format!("{number} ")).collect();
    for events in seen {
        assert_eq!(
            texts(&events),
            expected,
            "in order, none missing, none twice"
        );
        let ends = state_of(&events);
        assert_eq!(
            ends,
            [TaskState::Completed],
            "one terminal event, at the end"
        );
    }
}

pub(super) async fn a_slow_follower_loses_nothing(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    let (first, mut log) = bench.follow_from("a", ReadFrom::Now).await;
    let begin = next(&mut log).now_or_never();
    assert!(begin.is_none(), "there is nothing yet");
    // More than any backend keeps for a reader that does not read.
    for commit in 0..100 {
        let text = |event: usize| chunk("a", &format!("{commit}/{event}\n"), commit + event > 0);
        pen.write(&bench, "a", (0..200).map(text).collect()).await;
    }
    let read = take(&mut log, 20_000).await;
    assert_eq!(fold(first.clone(), &read), bench.read("a").await);
    let more = chunk("a", "more", true);
    pen.write(&bench, "a", vec![more.clone()]).await;
    assert_eq!(
        next(&mut log).await,
        Some(vec![Arc::new(more)]),
        "and goes on"
    );
    // One that never read at all still gets the end.
    let (_, mut late) = bench.follow_from("a", ReadFrom::After(Position(3))).await;
    pen.status(&bench, "a", TaskState::Completed, 2_000).await;
    let all = to_end(&mut late).await;
    let mut behind = first;
    for event in [
        chunk("a", "0/0\n", false),
        chunk("a", "0/1\n", true),
        chunk("a", "0/2\n", true),
    ] {
        behind = fold(behind, &[Arc::new(event)]);
    }
    assert_eq!(fold(behind, &all), bench.read("a").await);
}

pub(super) async fn a_log_ends_with_its_task(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    let (_, mut log) = bench.follow_from("a", ReadFrom::Now).await;
    pen.write(&bench, "a", vec![asks("a", "which?", 2_000)])
        .await;
    assert_eq!(take(&mut log, 1).await.len(), 1);
    // A task that waits for its client has not ended.
    assert!(next(&mut log).now_or_never().is_none());
    let commit = Commit::events(
        pen.generation,
        None,
        vec![status("a", TaskState::Canceled, 3_000)],
    );
    bench
        .commit(&bench.scope, "a", commit)
        .await
        .expect("canceled");
    assert_eq!(state_of(&to_end(&mut log).await), [TaskState::Canceled]);
    assert_eq!(next(&mut log).await, None, "and it stays ended");
    assert_eq!(log.position(), Position(2));
}

pub(super) async fn followers_are_limited_from_now_on_only(make: &Make) {
    let limits = Limits::default().with_max_subscribers_per_task(2);
    let bench = make.bench_with(limits).await;
    bench.begin("a").await;
    bench.begin("b").await;
    let (_, first) = bench.follow_from("a", ReadFrom::Now).await;
    let (_, second) = bench.follow_from("a", ReadFrom::Now).await;
    let third = bench.follow(&bench.scope, "a", ReadFrom::Now).await;
    let full = StoreError::Full {
        limit: "max_subscribers_per_task",
        allowed: 2,
    };
    assert_eq!(third.err().expect("there are two"), full);
    bench.follow_from("b", ReadFrom::Now).await;
    // The server's own readers are not refused.
    bench.follow_from("a", ReadFrom::After(Position(0))).await;
    drop(first);
    let (_, third) = bench.follow_from("a", ReadFrom::Now).await;
    drop((second, third));
}

pub(super) async fn a_follower_of_a_removed_task_gets_its_end(make: &Make) {
    let limits = Limits::default().with_max_finished_tasks(1);
    let bench = make.bench_with(limits).await;
    let mut pen = bench.begin("a").await;
    let (_, mut log) = bench.follow_from("a", ReadFrom::Now).await;
    let (_, mut unread) = bench.follow_from("a", ReadFrom::After(Position(0))).await;
    pen.write(&bench, "a", vec![chunk("a", "x", false)]).await;
    take(&mut log, 1).await;
    pen.status(&bench, "a", TaskState::Completed, 2_000).await;
    for number in 0..5 {
        bench.finished(&format!("b{number}"), 3_000).await;
    }
    bench.sweep_all().await;
    let gone = bench.get(&bench.scope, "a").await;
    assert_eq!(gone.expect_err("it went"), StoreError::NotFound);
    assert_eq!(state_of(&to_end(&mut log).await), [TaskState::Completed]);
    let all = to_end(&mut unread).await;
    assert_eq!(state_of(&all).last(), Some(&TaskState::Completed));
}

pub(super) async fn a_dropped_read_loses_nothing(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    let (_, mut log) = bench.follow_from("a", ReadFrom::Now).await;
    let mut read = Vec::new();
    for number in 0..50 {
        // A reading that is given up before, or just after, there is something to read.
        assert!(log.next().now_or_never().is_none());
        pen.write(
            &bench,
            "a",
            vec![chunk("a", &number.to_string(), number > 0)],
        )
        .await;
        if number % 2 == 0
            && let Some(ready) = log.next().now_or_never()
        {
            read.extend(ready.expect("the log can be read").expect("goes on"));
        }
        read.extend(take(&mut log, number + 1).await);
    }
    assert_eq!(read.len(), 50);
}

pub(super) async fn a_hidden_task_can_be_followed(make: &Make) {
    let bench = make.bench().await;
    let mut new = bench.new_task("a");
    new.visibility = Visibility::Hidden;
    let mut pen = bench.create_new(new).await;
    let (_, mut log) = bench.follow_from("a", ReadFrom::Now).await;
    pen.status(&bench, "a", TaskState::Working, 2_000).await;
    assert_eq!(state_of(&take(&mut log, 1).await), [TaskState::Working]);
    let mut new = bench.new_task("b");
    new.visibility = Visibility::Hidden;
    let pen = bench.create_new(new).await;
    let (_, mut log) = bench.follow_from("b", ReadFrom::Now).await;
    bench
        .try_commit("b", pen, vec![answer("yes")])
        .await
        .expect("answered");
    assert_eq!(to_end(&mut log).await, [Arc::new(answer("yes"))]);
}

pub(super) async fn an_interrupted_log_goes_on_with_the_next_turn(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    let (first, mut log) = bench.follow_from("a", ReadFrom::Now).await;
    pen.write(
        &bench,
        "a",
        vec![chunk("a", "one ", false), asks("a", "which?", 2_000)],
    )
    .await;
    let mut read = take(&mut log, 2).await;
    let commit = Commit {
        message: Some(message("reply", "that one")),
        work: Some(NewWork {
            record: String::new(),
            claimed_by: Some(bench.worker.id().clone()),
        }),
        ..Commit::events(
            pen.generation,
            None,
            vec![status("a", TaskState::Working, 3_000)],
        )
    };
    let committed = bench.commit(&bench.scope, "a", commit).await;
    let Ok(Committed::New { generation, fence }) = committed else {
        panic!("accepted: {committed:?}");
    };
    let mut pen = Pen { generation, fence };
    pen.write(&bench, "a", vec![chunk("a", "two", true)]).await;
    pen.status(&bench, "a", TaskState::Completed, 4_000).await;
    read.extend(to_end(&mut log).await);
    let ended = bench.read("a").await;
    let folded = fold(first, &read);
    assert_eq!(folded.artifacts, ended.artifacts);
    assert_eq!(folded.status, ended.status);
    assert_eq!(ended.payload().text(), "one two");
    assert_eq!(log.position(), Position(5));
}

pub(super) async fn a_late_follower_of_an_ended_task_gets_its_end(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    pen.write(&bench, "a", vec![chunk("a", "x", false)]).await;
    pen.status(&bench, "a", TaskState::Completed, 2_000).await;
    let ended = bench.read("a").await;
    let (task, mut log) = bench.follow_from("a", ReadFrom::Now).await;
    assert_eq!(task, ended);
    assert_eq!(next(&mut log).await, None, "there is nothing more");
    for from in 0..2 {
        let (_, mut log) = bench
            .follow_from("a", ReadFrom::After(Position(from)))
            .await;
        let events = to_end(&mut log).await;
        assert_eq!(state_of(&events).last(), Some(&TaskState::Completed));
        assert_eq!(log.position(), Position(2));
    }
}
