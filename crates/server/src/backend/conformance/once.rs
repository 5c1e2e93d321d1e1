use std::sync::Arc;

use futures_util::future::join_all;
use llamon_core::Limits;
use llamon_core::a2a::{ListTasksRequest, StreamEvent, TaskState};

use super::Make;
use super::bench::{Bench, answer, asks, key, message, status};
use crate::backend::{
    Commit, Committed, Created, MessageKey, NewWork, Seen, StoreError, Visibility,
};
use crate::scope::Scope;

async fn create(bench: &Bench, id: &str, key: MessageKey) -> Result<Created, StoreError> {
    let mut new = bench.new_task(id);
    new.once = Some(key);
    bench.create(&bench.scope, new).await
}

fn task_of(created: Result<Created, StoreError>) -> Arc<str> {
    match created {
        Ok(Created::Repeated(Seen::Task(id))) => id,
        other => panic!("the message came before: {other:?}"),
    }
}

pub(super) async fn a_message_creates_one_task(make: &Make) {
    let bench = make.bench().await;
    let first = create(&bench, "a", key("m", 1)).await;
    assert!(matches!(first, Ok(Created::New { .. })), "{first:?}");
    for id in ["b", "a"] {
        assert_eq!(*task_of(create(&bench, id, key("m", 1)).await), *"a");
    }
    let gone = bench.get(&bench.scope, "b").await;
    assert_eq!(gone.expect_err("it was not created"), StoreError::NotFound);
    let seen = bench.seen(&bench.scope, &key("m", 1)).await;
    assert!(matches!(seen, Ok(Some(Seen::Task(id))) if *id == *"a"));
    let unseen = bench.seen(&bench.scope, &key("n", 1)).await;
    assert!(matches!(unseen, Ok(None)));
    // Without a key a message is always new.
    bench.begin("c").await;
    bench.begin("d").await;
}

pub(super) async fn a_message_is_committed_once(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    pen.write(&bench, "a", vec![asks("a", "which?", 2_000)])
        .await;
    let commit = Commit {
        message: Some(message("reply", "that one")),
        work: Some(NewWork {
            record: String::new(),
            claimed_by: Some(bench.worker.id().clone()),
        }),
        once: Some(key("reply", 1)),
        ..Commit::events(
            pen.generation,
            None,
            vec![status("a", TaskState::Working, 3_000)],
        )
    };
    let first = bench.commit(&bench.scope, "a", commit.clone()).await;
    let Ok(Committed::New { generation, fence }) = first else {
        panic!("accepted: {first:?}");
    };
    let again = bench.commit(&bench.scope, "a", commit.clone()).await;
    assert_eq!(
        again,
        Ok(Committed::Repeated),
        "though its generation is old"
    );
    let now = bench.read("a").await;
    assert_eq!(now.history.len(), 3, "said once");
    assert_eq!(bench.generation("a").await, generation);
    // The id is the whole scope's.
    assert_eq!(*task_of(create(&bench, "b", key("reply", 1)).await), *"a");
    let mut pen = super::bench::Pen { generation, fence };
    pen.status(&bench, "a", TaskState::Completed, 4_000).await;
    let again = bench.commit(&bench.scope, "a", commit).await;
    assert_eq!(again, Ok(Committed::Repeated), "also after the end");
}

pub(super) async fn a_message_id_with_another_content_is_refused(make: &Make) {
    let bench = make.bench().await;
    create(&bench, "a", key("m", 1)).await.expect("created");
    let other = create(&bench, "b", key("m", 2)).await;
    assert_eq!(
        other.expect_err("another message"),
        StoreError::OtherMessage
    );
    let seen = bench.seen(&bench.scope, &key("m", 2)).await;
    assert_eq!(seen.err(), Some(StoreError::OtherMessage));
    let pen = bench.begin("c").await;
    let commit = Commit {
        once: Some(key("m", 2)),
        ..Commit::events(pen.generation, Some(pen.fence), Vec::new())
    };
    let other = bench.commit(&bench.scope, "c", commit).await;
    assert_eq!(
        other.expect_err("another message"),
        StoreError::OtherMessage
    );
}

pub(super) async fn message_ids_of_scopes_are_apart(make: &Make) {
    let bench = make.bench().await;
    create(&bench, "a", key("m", 1)).await.expect("created");
    let other = Scope::new("tenant", "somebody else");
    let seen = bench.seen(&other, &key("m", 2)).await;
    assert!(matches!(seen, Ok(None)));
    let mut new = bench.new_task("b");
    new.once = Some(key("m", 2));
    let created = bench.create(&other, new).await;
    assert!(matches!(created, Ok(Created::New { .. })), "{created:?}");
    assert_eq!(*task_of(create(&bench, "c", key("m", 1)).await), *"a");
}

pub(super) async fn a_direct_answer_is_remembered(make: &Make) {
    let bench = make.bench().await;
    let mut new = bench.new_task("a");
    new.visibility = Visibility::Hidden;
    new.once = Some(key("m", 1));
    let pen = bench.create_new(new).await;
    bench
        .try_commit("a", pen, vec![answer("yes")])
        .await
        .expect("answered");
    let again = create(&bench, "b", key("m", 1)).await;
    let Ok(Created::Repeated(Seen::Message(message))) = again else {
        panic!("answered before: {again:?}");
    };
    assert_eq!(StreamEvent::Message(message), answer("yes"));
    let seen = bench.seen(&bench.scope, &key("m", 1)).await;
    assert!(matches!(seen, Ok(Some(Seen::Message(_)))), "{seen:?}");
    let other = bench.seen(&bench.scope, &key("m", 2)).await;
    assert_eq!(other.err(), Some(StoreError::OtherMessage));
}

pub(super) async fn a_message_id_goes_with_its_task(make: &Make) {
    let limits = Limits::default().with_max_finished_tasks(1);
    let bench = make.bench_with(limits).await;
    for number in 0..4 {
        let mut new = bench.new_task(&format!("t{number}"));
        new.once = Some(key(&format!("m{number}"), 1));
        let mut pen = bench.create_new(new).await;
        let id = format!("t{number}");
        pen.status(&bench, &id, TaskState::Completed, 2_000 + number)
            .await;
    }
    bench.sweep_all().await;
    assert_eq!(*task_of(create(&bench, "x", key("m3", 1)).await), *"t3");
    let again = create(&bench, "again", key("m0", 2)).await;
    assert!(matches!(again, Ok(Created::New { .. })), "{again:?}");
}

pub(super) async fn one_of_many_equal_messages_creates_the_task(make: &Make) {
    let bench = make.bench().await;
    for round in 0..10 {
        let message = format!("m{round}");
        let creates = (0..20).map(|number| {
            let id = format!("t{round}.{number}");
            let (bench, message) = (&bench, &message);
            async move { (id.clone(), create(bench, &id, key(message, 1)).await) }
        });
        let created = join_all(creates).await;
        let new: Vec<_> = created
            .iter()
            .filter(|(_, created)| matches!(created, Ok(Created::New { .. })))
            .collect();
        assert_eq!(new.len(), 1, "one is new");
        let winner = &new[0].0;
        let repeated = created.iter().filter(|(_, created)| {
            matches!(created, Ok(Created::Repeated(Seen::Task(id))) if **id == **winner)
        });
        assert_eq!(repeated.count(), 19, "the others are told which");
    }
    let page = bench
        .list(&bench.scope, &ListTasksRequest::default(), 50)
        .await;
    assert_eq!(page.expect("a page").total, 10);
}
