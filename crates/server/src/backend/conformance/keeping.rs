use std::sync::Arc;

use llamon_core::a2a::TaskState;

use super::Make;
use super::bench::{Bench, asks, at};
use crate::backend::{Lease, MAX_REMEMBERED, StoreError, Worker};
use crate::scope::Scope;

async fn remembered(bench: &Bench, id: &str) -> Vec<(String, String)> {
    let found = bench.remembered(&bench.scope, id).await;
    let mut found = found.expect("what is kept can be read");
    found.sort();
    found
}

async fn lease(bench: &Bench, worker: &Worker, task: &str) -> Lease {
    bench.lease(worker, "thread", task).await.expect("a lease")
}

pub(super) async fn what_a_turn_remembers_stays_with_its_task(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    bench.begin("b").await;
    let keep = async |key: &str, value: &str| {
        let kept = bench.remember(&bench.scope, "a", pen.fence, key, value.to_owned());
        kept.await.expect("it is kept");
    };
    keep("k", "1").await;
    keep("odd \" \u{2028} key", "odd \u{0} value").await;
    keep("k", "2").await;
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let expected = [
        pair("k", "2"),
        pair("odd \" \u{2028} key", "odd \u{0} value"),
    ];
    assert_eq!(remembered(&bench, "a").await, expected);
    assert!(remembered(&bench, "b").await.is_empty());
    // Settling does not forget, and the task shows nothing of it.
    pen.write(&bench, "a", vec![asks("a", "which?", 1_000)])
        .await;
    assert_eq!(remembered(&bench, "a").await, expected);
    for scope in [Scope::anonymous(), Scope::new("tenant", "another")] {
        let foreign = bench.remembered(&scope, "a").await;
        assert_eq!(foreign.expect_err("not theirs"), StoreError::NotFound);
    }
}

pub(super) async fn only_the_attempt_at_work_remembers(make: &Make) {
    let bench = make.bench().await;
    let pen = bench.begin("a").await;
    let try_it =
        async |fence, scope: &Scope| bench.remember(scope, "a", fence, "k", "v".to_owned()).await;
    let stranger = try_it(pen.fence, &Scope::anonymous()).await;
    assert_eq!(stranger.expect_err("not theirs"), StoreError::NotFound);
    bench
        .release(&bench.worker, "a", pen.fence)
        .await
        .expect("released");
    let claimed = bench.claim(&bench.worker, 1).await.expect("a claim");
    let old = try_it(pen.fence, &bench.scope).await;
    assert_eq!(old.expect_err("another attempt works"), StoreError::Fenced);
    try_it(claimed[0].fence, &bench.scope)
        .await
        .expect("it is kept");
    let mut pen = super::bench::Pen {
        generation: claimed[0].generation,
        fence: claimed[0].fence,
    };
    pen.status(&bench, "a", TaskState::Completed, 1_000).await;
    let late = try_it(pen.fence, &bench.scope).await;
    assert_eq!(late.expect_err("the turn has ended"), StoreError::Fenced);
}

pub(super) async fn what_is_remembered_is_limited(make: &Make) {
    let bench = make.bench().await;
    let pen = bench.begin("a").await;
    let keep = async |key: usize| {
        let value = "v".to_owned();
        bench
            .remember(&bench.scope, "a", pen.fence, &key.to_string(), value)
            .await
    };
    for key in 0..MAX_REMEMBERED {
        keep(key).await.expect("it is kept");
    }
    let over = keep(MAX_REMEMBERED).await.expect_err("one too many");
    assert!(
        matches!(
            over,
            StoreError::Full {
                allowed: MAX_REMEMBERED,
                ..
            }
        ),
        "{over:?}"
    );
    keep(0).await.expect("an old key takes a new value");
}

pub(super) async fn a_name_is_held_by_one_task_of_a_living_worker(make: &Make) {
    let bench = make.bench().await;
    let other = bench.enlist().await.expect("a worker");
    assert_eq!(lease(&bench, &bench.worker, "a").await, Lease::Taken);
    assert_eq!(
        lease(&bench, &bench.worker, "a").await,
        Lease::Taken,
        "again"
    );
    let held = Lease::HeldBy(Arc::from("a"));
    assert_eq!(lease(&bench, &bench.worker, "b").await, held);
    assert_eq!(lease(&bench, &other, "c").await, held);
    let another = bench.lease(&other, "another", "c").await;
    assert_eq!(another.expect("a lease"), Lease::Taken);
    // Only who has it gives it back.
    bench
        .end_lease(&other, "thread", "a")
        .await
        .expect("nothing");
    bench
        .end_lease(&bench.worker, "thread", "b")
        .await
        .expect("nothing");
    assert_eq!(lease(&bench, &other, "c").await, held);
    bench
        .end_lease(&bench.worker, "thread", "a")
        .await
        .expect("given back");
    assert_eq!(lease(&bench, &other, "c").await, Lease::Taken);
    drop(other);
    assert_eq!(
        lease(&bench, &bench.worker, "a").await,
        Lease::Taken,
        "its worker is gone"
    );
}

pub(super) async fn tasks_that_wait_are_found_by_how_long(make: &Make) {
    let bench = make.bench().await;
    for (id, millis) in [("young", 3_000), ("old", 1_000), ("older", 500)] {
        let mut pen = bench.begin(id).await;
        pen.write(&bench, id, vec![asks(id, "which?", millis)])
            .await;
    }
    bench.begin("running").await;
    bench.finished("ended", 100).await;
    let waiting = async |since, limit| {
        let found = bench.waiting(&bench.worker, at(since), limit).await;
        let found = found.expect("it can be read").into_iter();
        found
            .map(|waiting| (waiting.scope, waiting.task, waiting.generation))
            .collect::<Vec<_>>()
    };
    let found = waiting(2_000, 10).await;
    let ids: Vec<&str> = found.iter().map(|(_, task, _)| &*task.id).collect();
    assert_eq!(ids, ["older", "old"]);
    assert_eq!(found[0].0, bench.scope);
    assert_eq!(*found[0].1, bench.read("older").await);
    assert_eq!(found[0].2, bench.generation("older").await);
    assert_eq!(waiting(2_000, 1).await.len(), 1);
    assert!(waiting(400, 10).await.is_empty());
}
