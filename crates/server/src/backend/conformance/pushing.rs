use std::sync::Arc;

use llamon_core::Limits;
use llamon_core::a2a::{PushConfig, TaskState};

use super::Make;
use super::bench::{Bench, Pen, chunk, fold, receiver, take, to_end};
use crate::backend::{
    Commit, Committed, Position, PushProgress, PushTarget, ReadFrom, StoreError, Worker,
};

async fn configs(bench: &Bench, id: &str) -> Vec<Arc<PushConfig>> {
    let mut configs = bench
        .push_configs(&bench.scope, id)
        .await
        .expect("the receivers");
    configs.sort_by(|one, two| one.id.cmp(&two.id));
    configs
}

async fn claim(bench: &Bench, worker: &Worker) -> Vec<(String, u64)> {
    let targets = bench.claim_push(worker, 100).await.expect("a claim");
    let name = |target: PushTarget| {
        let id = target.config.id.clone().expect("an id");
        (format!("{}/{id}", target.task_id), target.delivered.0)
    };
    let mut names: Vec<_> = targets.into_iter().map(name).collect();
    names.sort();
    names
}

fn due<const N: usize>(due: [(&str, u64); N]) -> Vec<(String, u64)> {
    due.map(|(name, delivered)| (name.to_owned(), delivered))
        .into()
}

async fn note(bench: &Bench, id: &str, config: &str, progress: PushProgress) {
    let noted = bench.note_push(&bench.worker, id, config, progress).await;
    noted.expect("noted");
}

async fn put(bench: &Bench, id: &str, config: Arc<PushConfig>) {
    let put = bench.put_push(&bench.scope, id, config).await;
    put.expect("there is room");
}

pub(super) async fn receivers_are_put_read_and_deleted(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    assert!(configs(&bench, "a").await.is_empty());
    put(&bench, "a", receiver("two")).await;
    put(&bench, "a", receiver("one")).await;
    let expected = [receiver("one"), receiver("two")];
    assert_eq!(configs(&bench, "a").await, expected, "with their secrets");
    bench
        .delete_push(&bench.scope, "a", "never")
        .await
        .expect("nothing to do");
    bench
        .delete_push(&bench.scope, "a", "two")
        .await
        .expect("deleted");
    assert_eq!(configs(&bench, "a").await, [receiver("one")]);
    pen.status(&bench, "a", TaskState::Completed, 2_000).await;
    assert_eq!(
        configs(&bench, "a").await,
        [receiver("one")],
        "also after the end"
    );
    bench
        .delete_push(&bench.scope, "a", "one")
        .await
        .expect("deleted");
    assert!(configs(&bench, "a").await.is_empty());
    assert!(claim(&bench, &bench.worker).await.is_empty());
}

pub(super) async fn a_receiver_of_the_same_id_is_replaced(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    put(&bench, "a", receiver("r")).await;
    pen.write(&bench, "a", vec![chunk("a", "x", false)]).await;
    assert_eq!(claim(&bench, &bench.worker).await, due([("a/r", 0)]));
    note(&bench, "a", "r", PushProgress::GivenUp).await;
    let other = Arc::new(PushConfig::new("https://example.com/other").with_id("r"));
    put(&bench, "a", Arc::clone(&other)).await;
    assert_eq!(configs(&bench, "a").await, [other]);
    assert!(claim(&bench, &bench.worker).await.is_empty(), "from now on");
    pen.write(&bench, "a", vec![chunk("a", "y", true)]).await;
    assert_eq!(
        claim(&bench, &bench.worker).await,
        due([("a/r", 1)]),
        "served again"
    );
}

pub(super) async fn receivers_are_limited(make: &Make) {
    let limits = Limits::default().with_max_push_configs_per_task(2);
    let bench = make.bench_with(limits).await;
    let mut new = bench.new_task("a");
    new.push = Some(receiver("first"));
    let pen = bench.create_new(new).await;
    put(&bench, "a", receiver("second")).await;
    let full = StoreError::Full {
        limit: "max_push_configs_per_task",
        allowed: 2,
    };
    let third = bench.put_push(&bench.scope, "a", receiver("third")).await;
    assert_eq!(third.expect_err("there are two"), full);
    let commit = Commit {
        push: Some(receiver("third")),
        ..Commit::events(pen.generation, Some(pen.fence), Vec::new())
    };
    let third = bench.commit(&bench.scope, "a", commit).await;
    assert_eq!(third.expect_err("there are two"), full);
    put(&bench, "a", receiver("second")).await;
    bench.begin("b").await;
    put(&bench, "b", receiver("third")).await;
    bench
        .delete_push(&bench.scope, "a", "first")
        .await
        .expect("deleted");
    put(&bench, "a", receiver("third")).await;
}

pub(super) async fn a_receiver_gets_events_from_when_it_came(make: &Make) {
    let bench = make.bench().await;
    let mut new = bench.new_task("a");
    new.push = Some(receiver("created"));
    let mut pen = bench.create_new(new).await;
    assert!(
        claim(&bench, &bench.worker).await.is_empty(),
        "there are no events yet"
    );
    pen.write(&bench, "a", vec![chunk("a", "1", false)]).await;
    put(&bench, "a", receiver("put")).await;
    assert_eq!(claim(&bench, &bench.worker).await, due([("a/created", 0)]));
    let commit = Commit {
        push: Some(receiver("said")),
        ..Commit::events(pen.generation, Some(pen.fence), vec![chunk("a", "2", true)])
    };
    let committed = bench.commit(&bench.scope, "a", commit).await;
    assert!(
        matches!(committed, Ok(Committed::New { .. })),
        "{committed:?}"
    );
    // It gets what its own commit brings.
    let expected = due([("a/created", 0), ("a/put", 1), ("a/said", 1)]);
    assert_eq!(claim(&bench, &bench.worker).await, expected);
    let targets = bench.claim_push(&bench.worker, 100).await.expect("a claim");
    for target in targets {
        assert_eq!(target.scope, bench.scope);
        let id = target.config.id.as_deref().expect("an id");
        assert_eq!(target.config, receiver(id));
    }
}

pub(super) async fn a_receiver_is_claimed_until_it_has_everything(make: &Make) {
    let bench = make.bench().await;
    let mut new = bench.new_task("a");
    new.push = Some(receiver("r"));
    let mut pen = bench.create_new(new).await;
    for _ in 0..3 {
        pen.write(&bench, "a", vec![chunk("a", "x", false)]).await;
    }
    for _ in 0..2 {
        assert_eq!(claim(&bench, &bench.worker).await, due([("a/r", 0)]));
    }
    note(&bench, "a", "r", PushProgress::Delivered(Position(2))).await;
    assert_eq!(claim(&bench, &bench.worker).await, due([("a/r", 2)]));
    note(&bench, "a", "r", PushProgress::Delivered(Position(1))).await;
    assert_eq!(
        claim(&bench, &bench.worker).await,
        due([("a/r", 2)]),
        "never back"
    );
    note(&bench, "a", "r", PushProgress::Delivered(Position(3))).await;
    assert!(claim(&bench, &bench.worker).await.is_empty());
    pen.status(&bench, "a", TaskState::Completed, 2_000).await;
    assert_eq!(claim(&bench, &bench.worker).await, due([("a/r", 3)]));
    note(&bench, "a", "r", PushProgress::Delivered(Position(4))).await;
    assert!(claim(&bench, &bench.worker).await.is_empty());
    for number in 0..10 {
        let mut new = bench.new_task(&format!("t{number}"));
        new.push = Some(receiver("r"));
        let mut pen = bench.create_new(new).await;
        pen.status(&bench, &format!("t{number}"), TaskState::Completed, 2_000)
            .await;
    }
    let few = bench.claim_push(&bench.worker, 3).await.expect("a claim");
    assert_eq!(few.len(), 3, "no more than asked for");
    assert_eq!(claim(&bench, &bench.worker).await.len(), 10);
}

pub(super) async fn a_receiver_that_is_given_up_is_left_alone(make: &Make) {
    let bench = make.bench().await;
    let mut new = bench.new_task("a");
    new.push = Some(receiver("r"));
    let mut pen = bench.create_new(new).await;
    pen.write(&bench, "a", vec![chunk("a", "x", false)]).await;
    assert_eq!(claim(&bench, &bench.worker).await.len(), 1);
    note(&bench, "a", "r", PushProgress::GivenUp).await;
    assert!(claim(&bench, &bench.worker).await.is_empty());
    pen.status(&bench, "a", TaskState::Completed, 2_000).await;
    assert!(
        claim(&bench, &bench.worker).await.is_empty(),
        "also for what comes"
    );
    assert_eq!(
        configs(&bench, "a").await,
        [receiver("r")],
        "it can still be read"
    );
}

pub(super) async fn a_living_workers_receivers_are_left_alone(make: &Make) {
    let bench = make.bench().await;
    let mut new = bench.new_task("a");
    new.push = Some(receiver("r"));
    let mut pen = bench.create_new(new).await;
    pen.write(&bench, "a", vec![chunk("a", "x", false)]).await;
    let other = bench.enlist().await.expect("a worker");
    assert_eq!(claim(&bench, &other).await.len(), 1);
    assert!(claim(&bench, &bench.worker).await.is_empty());
    assert_eq!(claim(&bench, &other).await.len(), 1);
    drop(other);
    assert_eq!(
        claim(&bench, &bench.worker).await.len(),
        1,
        "the dead serve nobody"
    );
}

pub(super) async fn a_receiver_can_read_its_events_after_the_end(make: &Make) {
    let bench = make.bench().await;
    let mut new = bench.new_task("a");
    new.push = Some(receiver("slow"));
    let first = new.task.clone();
    let mut pen: Pen = bench.create_new(new).await;
    put(&bench, "a", receiver("quick")).await;
    let mut events = Vec::new();
    for number in 0..5 {
        let event = chunk("a", &number.to_string(), number > 0);
        events.push(Arc::new(event.clone()));
        pen.write(&bench, "a", vec![event]).await;
    }
    note(&bench, "a", "quick", PushProgress::Delivered(Position(5))).await;
    note(&bench, "a", "slow", PushProgress::Delivered(Position(2))).await;
    pen.status(&bench, "a", TaskState::Completed, 2_000).await;
    note(&bench, "a", "quick", PushProgress::Delivered(Position(6))).await;
    bench.sweep_all().await;
    assert_eq!(claim(&bench, &bench.worker).await, due([("a/slow", 2)]));
    let (_, mut log) = bench.follow_from("a", ReadFrom::After(Position(2))).await;
    let read = take(&mut log, 6).await;
    assert_eq!(read[..3], events[2..], "each event, not the task instead");
    let before = fold(first, &events[..2]);
    assert_eq!(fold(before, &read), bench.read("a").await);
    note(&bench, "a", "slow", PushProgress::Delivered(Position(6))).await;
    assert!(claim(&bench, &bench.worker).await.is_empty());
    let (_, mut log) = bench.follow_from("a", ReadFrom::After(Position(2))).await;
    to_end(&mut log).await;
    assert_eq!(bench.read("a").await.payload().text(), "01234");
}

pub(super) async fn notes_of_what_is_gone_do_nothing(make: &Make) {
    let bench = make.bench().await;
    let mut new = bench.new_task("a");
    new.push = Some(receiver("r"));
    let mut pen = bench.create_new(new).await;
    pen.status(&bench, "a", TaskState::Completed, 2_000).await;
    for (id, config) in [("a", "never"), ("never", "r")] {
        note(&bench, id, config, PushProgress::Delivered(Position(1))).await;
        note(&bench, id, config, PushProgress::GivenUp).await;
    }
    assert_eq!(claim(&bench, &bench.worker).await, due([("a/r", 0)]));
    bench
        .delete_push(&bench.scope, "a", "r")
        .await
        .expect("deleted");
    note(&bench, "a", "r", PushProgress::Delivered(Position(1))).await;
    assert!(configs(&bench, "a").await.is_empty());
}
