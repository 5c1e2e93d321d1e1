use std::sync::Arc;

use llamon_core::a2a::TaskState;

use super::Make;
use super::bench::{Bench, Pen, asks, chunk, message, status};
use crate::backend::{
    Claimed, Commit, Committed, Fence, Generation, Held, NewWork, StoreError, Worker, WorkerId,
};
use crate::scope::Scope;

async fn claim(bench: &Bench, worker: &Worker, limit: usize) -> Vec<Claimed> {
    bench.claim(worker, limit).await.expect("a claim")
}

fn task_ids(claimed: &[Claimed]) -> Vec<Arc<str>> {
    claimed
        .iter()
        .map(|claimed| Arc::clone(&claimed.task.id))
        .collect()
}

async fn create_unclaimed(bench: &Bench, id: &str) {
    let mut new = bench.new_task(id);
    new.work.claimed_by = None;
    bench.create_new(new).await;
}

pub(super) async fn a_turn_without_a_worker_is_claimed_once(make: &Make) {
    let bench = make.bench().await;
    create_unclaimed(&bench, "a").await;
    let scope = Scope::anonymous();
    let mut new = bench.new_task("b");
    new.work.claimed_by = None;
    new.work.record = "odd \u{0} record \u{2028} \"".to_owned();
    bench.create(&scope, new).await.expect("created");
    let other = bench.enlist().await.expect("a worker");
    let claimed = claim(&bench, &bench.worker, 10).await;
    assert_eq!(task_ids(&claimed), [Arc::from("a"), Arc::from("b")]);
    assert_eq!(claimed[0].scope, bench.scope);
    assert_eq!(claimed[0].record, "record of a");
    assert_eq!(*claimed[0].task, bench.read("a").await);
    assert_eq!(claimed[0].generation, Generation(0));
    assert!(!claimed[0].cancel_requested);
    assert_eq!(claimed[1].scope, scope, "whoever the task belongs to");
    assert_eq!(claimed[1].record, "odd \u{0} record \u{2028} \"");
    for scope in [Scope::of_tenant("tenant"), Scope::of_principal("somebody")] {
        let id = format!("{scope:?}");
        let mut new = bench.new_task(&id);
        new.work.claimed_by = None;
        bench.create(&scope, new).await.expect("created");
        let claimed = claim(&bench, &bench.worker, 10).await;
        assert_eq!(claimed[0].scope, scope);
    }
    assert!(claim(&bench, &other, 10).await.is_empty());
    assert!(claim(&bench, &bench.worker, 10).await.is_empty());
    assert!(claim(&bench, &other, 0).await.is_empty());
}

pub(super) async fn the_oldest_turns_are_claimed_first(make: &Make) {
    let bench = make.bench().await;
    for number in 0..10 {
        create_unclaimed(&bench, &format!("t{number}")).await;
    }
    let mut seen = Vec::new();
    for _ in 0..4 {
        let claimed = claim(&bench, &bench.worker, 3).await;
        assert!(claimed.len() <= 3);
        seen.extend(task_ids(&claimed));
    }
    let expected: Vec<Arc<str>> = (0..10).map(|number| format!("t{number}").into()).collect();
    assert_eq!(seen, expected);
}

pub(super) async fn a_claim_raises_fence_and_attempt(make: &Make) {
    let bench = make.bench().await;
    let created = bench.begin("mine").await;
    bench
        .release(&bench.worker, "mine", created.fence)
        .await
        .expect("released");
    let claimed = claim(&bench, &bench.worker, 1).await;
    assert_eq!(
        (claimed[0].attempt, claimed[0].crashes),
        (2, 0),
        "begun once before"
    );
    assert!(claimed[0].fence > created.fence);
    let mut new = bench.new_task("free");
    new.work.claimed_by = None;
    let created = bench.create_new(new).await;
    let claimed = claim(&bench, &bench.worker, 1).await;
    assert_eq!(
        (claimed[0].attempt, claimed[0].crashes),
        (1, 0),
        "never begun before"
    );
    assert!(claimed[0].fence > created.fence);
    let mut pen = Pen {
        generation: claimed[0].generation,
        fence: claimed[0].fence,
    };
    pen.write(&bench, "free", vec![chunk("free", "x", false)])
        .await;
    bench
        .request_cancel(&bench.scope, "free")
        .await
        .expect("a cancel");
    bench
        .release(&bench.worker, "free", pen.fence)
        .await
        .expect("released");
    let claimed = claim(&bench, &bench.worker, 1).await;
    assert_eq!(claimed[0].attempt, 2);
    assert_eq!(claimed[0].generation, pen.generation);
    assert!(claimed[0].cancel_requested, "the next attempt is told");
    assert_eq!(*claimed[0].task, bench.read("free").await);
}

pub(super) async fn a_released_turn_is_claimed_again_without_a_crash(make: &Make) {
    let bench = make.bench().await;
    let pen = bench.begin("a").await;
    let other = bench.enlist().await.expect("a worker");
    assert!(claim(&bench, &other, 10).await.is_empty());
    bench
        .release(&bench.worker, "a", pen.fence)
        .await
        .expect("released");
    let late = Commit::events(
        pen.generation,
        Some(pen.fence),
        vec![chunk("a", "x", false)],
    );
    // Until somebody takes it over, its writer may still say its last words.
    let late = bench.commit(&bench.scope, "a", late).await;
    assert!(matches!(late, Ok(_) | Err(StoreError::Fenced)));
    let claimed = claim(&bench, &other, 10).await;
    assert_eq!((claimed[0].attempt, claimed[0].crashes), (2, 0));
    let held = bench.held(&bench.worker).await.expect("what is held");
    assert!(held.is_empty());
}

pub(super) async fn only_the_holder_releases_a_turn(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    let other = bench.enlist().await.expect("a worker");
    for (worker, id, fence) in [
        (&other, "a", pen.fence),
        (&bench.worker, "a", Fence(pen.fence.0 + 1)),
        (&bench.worker, "a", Fence(0)),
        (&bench.worker, "unknown", pen.fence),
    ] {
        let released = bench.release(worker, id, fence).await;
        assert_eq!(released.expect_err("it is not held"), StoreError::Fenced);
    }
    pen.status(&bench, "a", TaskState::Completed, 2_000).await;
    let released = bench.release(&bench.worker, "a", pen.fence).await;
    assert_eq!(released.expect_err("it has ended"), StoreError::Fenced);
}

pub(super) async fn a_dead_workers_turns_are_claimed_again_as_crashes(make: &Make) {
    let bench = make.bench().await;
    let mut fence = None;
    for crashes in 0..4_u32 {
        let mortal = bench.enlist().await.expect("a worker");
        if crashes == 0 {
            for id in ["a", "b"] {
                let mut new = bench.new_task(id);
                new.work.claimed_by = Some(mortal.id().clone());
                bench.create_new(new).await;
            }
        } else {
            let claimed = claim(&bench, &mortal, 10).await;
            assert_eq!(task_ids(&claimed), [Arc::from("a"), Arc::from("b")]);
            assert_eq!(claimed[0].crashes, crashes);
            assert_eq!(claimed[0].attempt, crashes + 1);
            assert!(
                Some(claimed[0].fence) > fence,
                "the dead one's fence is old"
            );
            fence = Some(claimed[0].fence);
        }
        assert!(
            claim(&bench, &bench.worker, 10).await.is_empty(),
            "it lives"
        );
        drop(mortal);
    }
    assert_eq!(claim(&bench, &bench.worker, 10).await.len(), 2);
}

pub(super) async fn a_living_workers_turns_are_left_alone(make: &Make) {
    let bench = make.bench().await;
    bench.begin("a").await;
    let other = bench.enlist().await.expect("a worker");
    let dead = bench.enlist().await.expect("a worker");
    let again = Arc::clone(&dead);
    drop(dead);
    let mut new = bench.new_task("b");
    new.work.claimed_by = Some(again.id().clone());
    bench.create_new(new).await;
    assert!(
        claim(&bench, &other, 10).await.is_empty(),
        "one holder is left"
    );
    drop(again);
    let claimed = claim(&bench, &other, 10).await;
    assert_eq!(task_ids(&claimed), [Arc::from("b")]);
    assert_eq!(bench.held(&bench.worker).await.expect("held").len(), 1);
}

pub(super) async fn held_tells_what_the_store_has(make: &Make) {
    let bench = make.bench().await;
    let other = bench.enlist().await.expect("a worker");
    let a = bench.begin("a").await;
    let b = bench.begin("b").await;
    bench
        .request_cancel(&bench.scope, "b")
        .await
        .expect("a cancel");
    let mut held = bench.held(&bench.worker).await.expect("what is held");
    held.sort_by(|one, two| one.task_id.cmp(&two.task_id));
    let expected = [("a", a.fence, false), ("b", b.fence, true)];
    let expected = expected.map(|(id, fence, cancel_requested)| Held {
        task_id: id.into(),
        fence,
        cancel_requested,
    });
    assert_eq!(held, expected);
    assert!(bench.held(&other).await.expect("held").is_empty());
    bench
        .release(&bench.worker, "a", a.fence)
        .await
        .expect("released");
    let claimed = claim(&bench, &other, 10).await;
    let held = bench.held(&other).await.expect("what is held");
    assert_eq!(held.len(), 1);
    assert_eq!(held[0].fence, claimed[0].fence);
    assert_eq!(bench.held(&bench.worker).await.expect("held").len(), 1);
}

pub(super) async fn a_follow_up_counts_its_attempts_anew(make: &Make) {
    let bench = make.bench().await;
    let mortal = bench.enlist().await.expect("a worker");
    let mut new = bench.new_task("a");
    new.work.claimed_by = Some(mortal.id().clone());
    bench.create_new(new).await;
    drop(mortal);
    let claimed = claim(&bench, &bench.worker, 1).await;
    assert_eq!(claimed[0].crashes, 1);
    let mut pen = Pen {
        generation: claimed[0].generation,
        fence: claimed[0].fence,
    };
    pen.write(&bench, "a", vec![asks("a", "which?", 2_000)])
        .await;
    let commit = Commit {
        message: Some(message("reply", "that one")),
        work: Some(NewWork {
            record: "second turn".to_owned(),
            claimed_by: None,
        }),
        ..Commit::events(
            pen.generation,
            None,
            vec![status("a", TaskState::Submitted, 3_000)],
        )
    };
    let committed = bench.commit(&bench.scope, "a", commit).await;
    let Ok(Committed::New { fence, .. }) = committed else {
        panic!("accepted: {committed:?}");
    };
    let claimed = claim(&bench, &bench.worker, 1).await;
    assert_eq!((claimed[0].attempt, claimed[0].crashes), (1, 0));
    assert_eq!(claimed[0].record, "second turn");
    assert!(claimed[0].fence > fence);
    assert_eq!(claimed[0].task.history.len(), 3);
}

pub(super) async fn a_turn_of_a_worker_that_never_was_is_claimed(make: &Make) {
    let bench = make.bench().await;
    for name in ["nobody", "", "../../etc/passwd", "a/b", "\u{0}"] {
        let mut new = bench.new_task(&format!("of {name}"));
        new.work.claimed_by = Some(WorkerId(name.into()));
        bench.create_new(new).await;
    }
    // A backend may look for turns of the dead only when a worker has died.
    drop(bench.enlist().await.expect("a worker"));
    assert_eq!(claim(&bench, &bench.worker, 10).await.len(), 5);
}
