use std::sync::Arc;

use futures_util::future::{join_all, poll_immediate};
use llamon_core::Limits;
use llamon_core::a2a::{StreamEvent, Task, TaskState};

use super::Make;
use super::bench::{Bench, Pen, answer, asks, chunk, message, status};
use crate::backend::{Commit, Committed, NewWork, Settled, StoreError, Visibility};

fn task_of(settled: Result<Settled, StoreError>) -> Arc<Task> {
    match settled {
        Ok(Settled::Task(task)) => task,
        other => panic!("the task has settled: {other:?}"),
    }
}

pub(super) async fn a_settled_task_is_returned_at_once(make: &Make) {
    let bench = make.bench().await;
    bench.finished("a", 2_000).await;
    let settled = task_of(bench.settled(&bench.scope, "a").await);
    assert_eq!(*settled, bench.read("a").await);
    let mut pen = bench.begin("b").await;
    pen.write(&bench, "b", vec![asks("b", "which?", 2_000)])
        .await;
    let settled = task_of(bench.settled(&bench.scope, "b").await);
    assert_eq!(*settled, bench.read("b").await);
}

/// Waits in a task of its own, which has begun to wait when this returns.
async fn wait(bench: &Bench, id: &str) -> tokio::task::JoinHandle<Result<Settled, StoreError>> {
    let (backend, scope, id) = (
        Arc::clone(&bench.backend),
        bench.scope.clone(),
        id.to_owned(),
    );
    let (begun, waits) = tokio::sync::oneshot::channel();
    let waiter = tokio::spawn(async move {
        let mut settled = backend.settled(&scope, &id);
        let first = poll_immediate(&mut settled).await;
        let _ = begun.send(());
        match first {
            Some(settled) => settled,
            None => settled.await,
        }
    });
    waits.await.expect("the waiter runs");
    waiter
}

pub(super) async fn who_waits_is_woken_by_every_settled_state(make: &Make) {
    let bench = make.bench().await;
    let settled = TaskState::ALL
        .into_iter()
        .filter(|state| state.is_settled());
    for (number, state) in settled.enumerate() {
        let id = format!("t{number}");
        let mut pen = bench.begin(&id).await;
        let waiter = wait(&bench, &id).await;
        pen.status(&bench, &id, TaskState::Working, 2_000).await;
        pen.write(&bench, &id, vec![chunk(&id, "x", false)]).await;
        assert!(!waiter.is_finished(), "a running task has not settled");
        pen.status(&bench, &id, state, 3_000).await;
        let settled = task_of(waiter.await.expect("the waiter"));
        assert_eq!(*settled, bench.read(&id).await, "{state}");
    }
}

pub(super) async fn who_waits_gets_a_direct_answer(make: &Make) {
    let bench = make.bench().await;
    for visibility in [Visibility::Hidden, Visibility::Visible] {
        let id = format!("{visibility:?}");
        let mut new = bench.new_task(&id);
        new.visibility = visibility;
        let pen = bench.create_new(new).await;
        let waiters = [wait(&bench, &id).await, wait(&bench, &id).await];
        bench
            .try_commit(&id, pen, vec![answer("yes")])
            .await
            .expect("answered");
        for waiter in waiters {
            let settled = waiter.await.expect("the waiter");
            let Ok(Settled::Message(message)) = settled else {
                panic!("answered directly: {settled:?}");
            };
            assert_eq!(StreamEvent::Message(message), answer("yes"));
        }
    }
}

pub(super) async fn who_waits_for_a_hidden_task_is_woken(make: &Make) {
    let bench = make.bench().await;
    let mut new = bench.new_task("a");
    new.visibility = Visibility::Hidden;
    let mut pen = bench.create_new(new).await;
    let waiter = wait(&bench, "a").await;
    pen.status(&bench, "a", TaskState::Rejected, 2_000).await;
    let settled = task_of(waiter.await.expect("the waiter"));
    assert_eq!(*settled, bench.read("a").await);
}

pub(super) async fn who_waits_gets_a_task_that_is_removed_right_after(make: &Make) {
    let limits = Limits::default().with_max_finished_tasks(1);
    let bench = make.bench_with(limits).await;
    let mut pen = bench.begin("a").await;
    let mut settled = bench.settled(&bench.scope, "a");
    assert!(poll_immediate(&mut settled).await.is_none());
    pen.status(&bench, "a", TaskState::Completed, 2_000).await;
    for number in 0..5 {
        bench.finished(&format!("b{number}"), 3_000).await;
    }
    bench.sweep_all().await;
    let gone = bench.get(&bench.scope, "a").await;
    assert_eq!(gone.expect_err("it went"), StoreError::NotFound);
    let settled = task_of(settled.await);
    assert_eq!(settled.status.state, TaskState::Completed);
    let late = bench.settled(&bench.scope, "a").await;
    assert_eq!(late.expect_err("it is not there"), StoreError::NotFound);
}

pub(super) async fn many_who_wait_are_all_woken(make: &Make) {
    let bench = make.bench().await;
    let mut pens = Vec::new();
    let mut waiters = Vec::new();
    for number in 0..20 {
        let id = format!("t{number}");
        pens.push(bench.begin(&id).await);
        for _ in 0..25 {
            waiters.push(wait(&bench, &id).await);
        }
    }
    let settle = |(number, pen): (usize, Pen)| {
        let bench = &bench;
        async move {
            let id = format!("t{number}");
            let events = vec![status(&id, TaskState::Completed, 2_000)];
            bench.try_commit(&id, pen, events).await.expect("completed");
        }
    };
    join_all(pens.into_iter().enumerate().map(settle)).await;
    for waiter in waiters {
        let settled = task_of(waiter.await.expect("the waiter"));
        assert_eq!(settled.status.state, TaskState::Completed);
    }
}

pub(super) async fn a_question_and_its_answer_settle_twice(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    pen.write(&bench, "a", vec![asks("a", "which?", 2_000)])
        .await;
    task_of(bench.settled(&bench.scope, "a").await);
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
    let waiter = wait(&bench, "a").await;
    assert!(!waiter.is_finished(), "the task runs again");
    let mut pen = Pen { generation, fence };
    pen.status(&bench, "a", TaskState::Completed, 4_000).await;
    let settled = task_of(waiter.await.expect("the waiter"));
    assert_eq!(settled.status.state, TaskState::Completed);
}
