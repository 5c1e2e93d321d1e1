use llamon_core::Limits;
use llamon_core::a2a::TaskState;

use super::Make;
use super::bench::{Bench, Pen, answer, asks, chunk, key, message, receiver, status, take};
use crate::backend::{
    Commit, Committed, Fence, Generation, NewWork, Position, ReadFrom, StoreError,
};

async fn refused(bench: &Bench, id: &str, commit: Commit) -> StoreError {
    let committed = bench.commit(&bench.scope, id, commit).await;
    committed.expect_err("the commit is refused")
}

fn work(bench: &Bench) -> NewWork {
    NewWork {
        record: "again".to_owned(),
        claimed_by: Some(bench.worker.id().clone()),
    }
}

pub(super) async fn errors_come_in_their_order(make: &Make) {
    let limits = Limits::default().with_max_push_configs_per_task(1);
    let bench = make.bench_with(limits).await;
    let mut new = bench.new_task("a");
    new.once = Some(key("m", 1));
    new.push = Some(receiver("first"));
    let mut pen = bench.create_new(new).await;
    pen.status(&bench, "a", TaskState::Working, 2_000).await;
    // Wrong in every way that there is; then one after the other is put right.
    let mut commit = Commit {
        expect: Generation(99),
        fence: Some(Fence(99)),
        message: None,
        events: vec![status("a", TaskState::Completed, 3_000)],
        work: None,
        push: Some(receiver("second")),
        once: Some(key("m", 2)),
    };
    let error = bench.commit(&bench.scope, "b", commit.clone()).await;
    assert_eq!(error.expect_err("no task"), StoreError::NotFound);
    assert_eq!(
        refused(&bench, "a", commit.clone()).await,
        StoreError::OtherMessage
    );
    commit.once = Some(key("m", 1));
    let repeated = bench.commit(&bench.scope, "a", commit.clone()).await;
    assert_eq!(repeated, Ok(Committed::Repeated));
    commit.once = None;
    assert_eq!(
        refused(&bench, "a", commit.clone()).await,
        StoreError::Fenced
    );
    bench
        .request_cancel(&bench.scope, "a")
        .await
        .expect("a cancel");
    assert_eq!(
        refused(&bench, "a", commit.clone()).await,
        StoreError::Fenced
    );
    commit.fence = Some(pen.fence);
    assert_eq!(
        refused(&bench, "a", commit.clone()).await,
        StoreError::CancelRequested
    );
    commit.events = vec![status("a", TaskState::Canceled, 3_000)];
    assert_eq!(
        refused(&bench, "a", commit.clone()).await,
        StoreError::Conflict
    );
    commit.expect = pen.generation;
    let full = StoreError::Full {
        limit: "max_push_configs_per_task",
        allowed: 1,
    };
    assert_eq!(refused(&bench, "a", commit.clone()).await, full);
    // A receiver in the place of the one that there is.
    commit.push = Some(receiver("first"));
    let committed = bench.commit(&bench.scope, "a", commit.clone()).await;
    committed.expect("nothing is wrong any more");
    // And what has ended has ended, whatever else is wrong.
    commit.fence = Some(Fence(99));
    assert_eq!(
        refused(&bench, "a", commit.clone()).await,
        StoreError::Terminal
    );
    commit.once = Some(key("m", 2));
    assert_eq!(
        refused(&bench, "a", commit.clone()).await,
        StoreError::OtherMessage
    );
    commit.once = Some(key("m", 1));
    let repeated = bench.commit(&bench.scope, "a", commit).await;
    assert_eq!(repeated, Ok(Committed::Repeated));
}

pub(super) async fn the_first_terminal_state_wins(make: &Make) {
    let bench = make.bench().await;
    let ends = TaskState::ALL
        .into_iter()
        .filter(|state| state.is_terminal());
    for (number, first) in ends.enumerate() {
        let id = format!("t{number}");
        let mut pen = bench.begin(&id).await;
        pen.status(&bench, &id, first, 2_000).await;
        for second in TaskState::ALL {
            let events = vec![status(&id, second, 3_000)];
            let commit = Commit::events(pen.generation, Some(pen.fence), events);
            assert_eq!(refused(&bench, &id, commit).await, StoreError::Terminal);
        }
        for event in [chunk(&id, "late", false), answer("late")] {
            let commit = Commit::events(pen.generation, None, vec![event]);
            assert_eq!(refused(&bench, &id, commit).await, StoreError::Terminal);
        }
        let ended = bench.read(&id).await;
        assert_eq!(ended.status.state, first);
        assert!(ended.artifacts.is_empty());
    }
}

pub(super) async fn a_commit_expects_its_generation(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    let first = pen;
    pen.write(&bench, "a", vec![chunk("a", "1", false)]).await;
    assert!(
        pen.generation > first.generation,
        "a commit is a generation"
    );
    for wrong in [first.generation, Generation(pen.generation.0 + 1)] {
        let commit = Commit::events(wrong, Some(pen.fence), vec![chunk("a", "2", true)]);
        assert_eq!(refused(&bench, "a", commit).await, StoreError::Conflict);
    }
    assert_eq!(bench.generation("a").await, pen.generation);
    pen.write(&bench, "a", Vec::new()).await;
    assert_eq!(bench.generation("a").await, pen.generation);
}

pub(super) async fn an_old_fence_is_refused(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    let old = pen;
    let released = bench.release(&bench.worker, "a", pen.fence).await;
    released.expect("it is held");
    let claimed = bench.claim(&bench.worker, 1).await.expect("a claim");
    assert_eq!(claimed.len(), 1, "the turn is claimed");
    pen.fence = claimed[0].fence;
    assert!(pen.fence > old.fence, "a claim raises the fence");
    for fence in [old.fence, Fence(pen.fence.0 + 1)] {
        let events = vec![chunk("a", "ghost", false)];
        let commit = Commit::events(pen.generation, Some(fence), events);
        assert_eq!(refused(&bench, "a", commit).await, StoreError::Fenced);
    }
    pen.write(&bench, "a", vec![chunk("a", "x", false)]).await;
}

pub(super) async fn without_a_fence_only_a_parked_task_changes(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    let cancel = |pen: Pen| {
        let events = vec![status("a", TaskState::Canceled, 9_000)];
        Commit::events(pen.generation, None, events)
    };
    assert_eq!(
        refused(&bench, "a", cancel(pen)).await,
        StoreError::Conflict
    );
    pen.write(&bench, "a", vec![asks("a", "which?", 2_000)])
        .await;
    let stale = Commit::events(pen.generation, Some(pen.fence), Vec::new());
    assert_eq!(refused(&bench, "a", stale).await, StoreError::Fenced);
    let canceled = bench.commit(&bench.scope, "a", cancel(pen)).await;
    canceled.expect("no turn is at work");
    assert_eq!(bench.read("a").await.status.state, TaskState::Canceled);
    // A turn that waits for a worker is at work as well.
    let mut new = bench.new_task("b");
    new.work.claimed_by = None;
    let pen = bench.create_new(new).await;
    let commit = Commit::events(pen.generation, None, vec![chunk("b", "x", false)]);
    assert_eq!(refused(&bench, "b", commit).await, StoreError::Conflict);
}

pub(super) async fn a_state_that_cannot_follow_is_a_conflict(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    pen.status(&bench, "a", TaskState::Working, 2_000).await;
    let events = vec![status("a", TaskState::Submitted, 3_000)];
    let commit = Commit::events(pen.generation, Some(pen.fence), events);
    assert_eq!(refused(&bench, "a", commit).await, StoreError::Conflict);
    pen.status(&bench, "a", TaskState::Working, 3_000).await;
}

pub(super) async fn after_a_cancel_only_canceled_settles_the_task(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    let (task, generation) = bench
        .request_cancel(&bench.scope, "a")
        .await
        .expect("a cancel");
    assert_eq!(
        task.status.state,
        TaskState::Submitted,
        "nothing has happened yet"
    );
    assert_eq!(generation, pen.generation, "asking is no commit");
    let again = bench.request_cancel(&bench.scope, "a").await;
    again.expect("asking twice is asking");
    // What does not settle the task goes on.
    pen.status(&bench, "a", TaskState::Working, 2_000).await;
    pen.write(&bench, "a", vec![chunk("a", "last words", false)])
        .await;
    for state in TaskState::ALL {
        if state.is_settled() && state != TaskState::Canceled {
            let events = vec![status("a", state, 3_000)];
            let commit = Commit::events(pen.generation, Some(pen.fence), events);
            assert_eq!(
                refused(&bench, "a", commit).await,
                StoreError::CancelRequested
            );
        }
    }
    let direct = Commit::events(pen.generation, Some(pen.fence), vec![answer("no")]);
    assert_eq!(
        refused(&bench, "a", direct).await,
        StoreError::CancelRequested
    );
    let turn = Commit {
        work: Some(work(&bench)),
        ..Commit::events(pen.generation, Some(pen.fence), Vec::new())
    };
    assert_eq!(
        refused(&bench, "a", turn).await,
        StoreError::CancelRequested
    );
    pen.status(&bench, "a", TaskState::Canceled, 3_000).await;
    assert_eq!(bench.read("a").await.artifacts.len(), 1);
}

pub(super) async fn a_cancel_of_an_ended_task_is_refused(make: &Make) {
    let bench = make.bench().await;
    bench.finished("a", 2_000).await;
    let canceled = bench.request_cancel(&bench.scope, "a").await;
    assert_eq!(canceled.expect_err("it has ended"), StoreError::Terminal);
    let mut pen = bench.begin("b").await;
    pen.write(&bench, "b", vec![asks("b", "which?", 2_000)])
        .await;
    let canceled = bench.request_cancel(&bench.scope, "b").await;
    let (task, _) = canceled.expect("a task that waits can be canceled");
    assert_eq!(task.status.state, TaskState::InputRequired);
    // No turn begins after that.
    let turn = Commit {
        work: Some(work(&bench)),
        ..Commit::events(
            pen.generation,
            None,
            vec![status("b", TaskState::Submitted, 3_000)],
        )
    };
    assert_eq!(
        refused(&bench, "b", turn).await,
        StoreError::CancelRequested
    );
}

pub(super) async fn settling_ends_the_turn(make: &Make) {
    let bench = make.bench().await;
    for (number, state) in TaskState::ALL.into_iter().enumerate() {
        let id = format!("t{number}");
        let mut pen = bench.begin(&id).await;
        pen.status(&bench, &id, state, 2_000).await;
        let held = bench.held(&bench.worker).await.expect("what is held");
        let is_held = held.iter().any(|held| *held.task_id == *id);
        assert_eq!(is_held, !state.is_settled(), "{state}");
        if state.is_interrupted() {
            let late = Commit::events(pen.generation, Some(pen.fence), Vec::new());
            assert_eq!(
                refused(&bench, &id, late).await,
                StoreError::Fenced,
                "{state}"
            );
        }
    }
}

pub(super) async fn a_follow_up_begins_a_turn_and_joins_the_history(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    let before = pen.fence;
    pen.write(&bench, "a", vec![asks("a", "which?", 2_000)])
        .await;
    let commit = Commit {
        message: Some(message("reply", "that one")),
        work: Some(work(&bench)),
        ..Commit::events(
            pen.generation,
            None,
            vec![status("a", TaskState::Submitted, 3_000)],
        )
    };
    let committed = bench.commit(&bench.scope, "a", commit).await;
    let Ok(Committed::New { generation, fence }) = committed else {
        panic!("accepted: {committed:?}");
    };
    assert!(fence > before, "a turn has a fence of its own");
    let said: Vec<String> = bench
        .read("a")
        .await
        .history
        .iter()
        .map(|m| m.query())
        .collect();
    assert_eq!(said, ["do it", "which?", "that one"]);
    let mut pen = Pen { generation, fence };
    pen.status(&bench, "a", TaskState::Completed, 4_000).await;
    let ended = bench.read("a").await;
    assert_eq!(ended.history.len(), 3);
    assert_eq!(ended.status.message, None);
}

pub(super) async fn a_refused_commit_changes_nothing(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    pen.write(&bench, "a", vec![chunk("a", "x", false)]).await;
    let before = bench.read("a").await;
    let (_, mut log) = bench.follow_from("a", ReadFrom::Now).await;
    let commit = Commit {
        expect: Generation(pen.generation.0 + 1),
        fence: Some(pen.fence),
        message: Some(message("m", "never said")),
        events: vec![
            chunk("a", "never seen", true),
            status("a", TaskState::Working, 2_000),
        ],
        work: Some(work(&bench)),
        push: Some(receiver("never")),
        once: Some(key("never", 1)),
    };
    assert_eq!(refused(&bench, "a", commit).await, StoreError::Conflict);
    assert_eq!(bench.read("a").await, before);
    assert_eq!(bench.generation("a").await, pen.generation);
    let configs = bench.push_configs(&bench.scope, "a").await;
    assert!(configs.expect("the receivers").is_empty());
    let seen = bench.seen(&bench.scope, &key("never", 1)).await;
    assert!(seen.expect("seen").is_none());
    // The next event that a reader gets is the next one that was accepted.
    let place = log.position();
    let event = chunk("a", "seen", true);
    pen.write(&bench, "a", vec![event.clone()]).await;
    let events = take(&mut log, place.0 + 1).await;
    assert_eq!(*events[0], event);
}

pub(super) async fn many_events_of_one_commit_are_one_step(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    let (_, mut log) = bench.follow_from("a", ReadFrom::Now).await;
    assert_eq!(log.position(), Position(0));
    let events = vec![
        status("a", TaskState::Working, 2_000),
        chunk("a", "one ", false),
        chunk("a", "two", true),
        status("a", TaskState::Completed, 3_000),
    ];
    let before = pen.generation;
    pen.write(&bench, "a", events).await;
    assert!(pen.generation > before);
    take(&mut log, 4).await;
    let ended = bench.read("a").await;
    assert_eq!(ended.payload().text(), "one two");
    assert_eq!(ended.status.state, TaskState::Completed);
}
