use std::sync::Arc;

use llamon_core::Limits;
use llamon_core::a2a::{ListTasksRequest, TaskState};

use super::Make;
use super::bench::{Bench, answer, asks, chunk, key, message, receiver, to_end};
use crate::backend::{
    Commit, Created, Fence, Generation, Position, PushProgress, ReadFrom, StoreError, Swept,
    Visibility,
};
use crate::scope::Scope;

pub(super) async fn a_created_task_is_found_with_all_it_has(make: &Make) {
    let bench = make.bench().await;
    let mut new = bench.new_task("a");
    new.task.metadata = Some(r#"{"b":1.0e+5,"a":null}"#.to_owned());
    new.task.history.push(message("second", "and that"));
    let expected = new.task.clone();
    let created = bench.create(&bench.scope, new).await;
    let Ok(Created::New { generation, fence }) = created else {
        panic!("it is new: {created:?}");
    };
    assert_eq!(generation, Generation(0), "nothing was committed yet");
    assert_eq!(fence, Fence(1), "the first turn");
    let (found, found_generation) = bench.get(&bench.scope, "a").await.expect("it is found");
    assert_eq!(*found, expected);
    assert_eq!(found_generation, generation);
}

/// Every method that a request can reach, with a task that must not be there for it.
async fn every_method_misses(bench: &Bench, scope: &Scope, id: &str) {
    let missing = StoreError::NotFound;
    let commit = Commit::events(Generation(0), None, vec![chunk(id, "x", false)]);
    let committed = bench.commit(scope, id, commit).await;
    assert_eq!(committed.expect_err("commit"), missing);
    assert_eq!(bench.get(scope, id).await.expect_err("get"), missing);
    for from in [ReadFrom::Now, ReadFrom::After(Position(0))] {
        let followed = bench.follow(scope, id, from).await;
        assert_eq!(followed.err().expect("follow"), missing);
    }
    assert_eq!(
        bench.settled(scope, id).await.expect_err("settled"),
        missing
    );
    let canceled = bench.request_cancel(scope, id).await;
    assert_eq!(canceled.expect_err("request_cancel"), missing);
    let put = bench.put_push(scope, id, receiver("r")).await;
    assert_eq!(put.expect_err("put_push"), missing);
    let configs = bench.push_configs(scope, id).await;
    assert_eq!(configs.expect_err("push_configs"), missing);
    let deleted = bench.delete_push(scope, id, "r").await;
    assert_eq!(deleted.expect_err("delete_push"), missing);
    let listed = bench.list(scope, &ListTasksRequest::default(), 50).await;
    assert_eq!(listed.expect("list").total, 0, "list");
    let seen = bench.seen(scope, &key(id, 1)).await;
    assert!(seen.expect("seen").is_none(), "seen");
}

pub(super) async fn an_unknown_task_is_not_found_by_any_method(make: &Make) {
    let bench = make.bench().await;
    every_method_misses(&bench, &bench.scope, "nothing").await;
    every_method_misses(&bench, &Scope::anonymous(), "").await;
}

pub(super) async fn a_task_of_another_scope_is_not_found_by_any_method(make: &Make) {
    let bench = make.bench().await;
    let mut new = bench.new_task("a");
    new.once = Some(key("a", 1));
    new.push = Some(receiver("r"));
    let mut pen = bench.create_new(new).await;
    for other in [
        Scope::anonymous(),
        Scope::of_tenant("tenant"),
        Scope::of_principal("somebody"),
        Scope::new("tenant", "somebody else"),
        Scope::new("other tenant", "somebody"),
        Scope::new("somebody", "tenant"),
    ] {
        every_method_misses(&bench, &other, "a").await;
    }
    pen.status(&bench, "a", TaskState::Completed, 2_000).await;
    every_method_misses(&bench, &Scope::anonymous(), "a").await;
    let configs = bench.push_configs(&bench.scope, "a").await;
    assert_eq!(configs.expect("still there").len(), 1);
}

pub(super) async fn agents_and_tenants_do_not_mix_up_their_names(make: &Make) {
    let bench = make.bench().await;
    // Names that would be one text if they were joined carelessly.
    let scopes = [
        Scope::anonymous(),
        Scope::new("", ""),
        Scope::of_tenant(""),
        Scope::of_principal(""),
        Scope::of_tenant("a"),
        Scope::of_principal("a"),
        Scope::new("a", "b\",\"c"),
        Scope::new("a\",\"b", "c"),
        Scope::new("a,b", "c"),
        Scope::new("a", "b,c"),
        Scope::new("null", "null"),
        Scope::new("a\u{0}b", "c"),
        Scope::new("a", "\u{0}b c"),
    ];
    for (number, scope) in scopes.iter().enumerate() {
        let created = bench
            .create(scope, bench.new_task(&number.to_string()))
            .await;
        created.expect("created");
    }
    for (number, scope) in scopes.iter().enumerate() {
        let page = bench.list(scope, &ListTasksRequest::default(), 50).await;
        let page = page.expect("a page");
        assert_eq!(page.total, 1, "{scope:?}");
        assert_eq!(*page.tasks[0].id, *number.to_string(), "{scope:?}");
    }
}

pub(super) async fn a_hidden_task_appears_with_its_first_events(make: &Make) {
    let bench = make.bench().await;
    let mut new = bench.new_task("a");
    new.visibility = Visibility::Hidden;
    let mut pen = bench.create_new(new).await;
    let missing = StoreError::NotFound;
    let get = bench.get(&bench.scope, "a").await;
    assert_eq!(get.expect_err("get"), missing);
    let canceled = bench.request_cancel(&bench.scope, "a").await;
    assert_eq!(canceled.expect_err("request_cancel"), missing);
    let put = bench.put_push(&bench.scope, "a", receiver("r")).await;
    assert_eq!(put.expect_err("put_push"), missing);
    let configs = bench.push_configs(&bench.scope, "a").await;
    assert_eq!(configs.expect_err("push_configs"), missing);
    let deleted = bench.delete_push(&bench.scope, "a", "r").await;
    assert_eq!(deleted.expect_err("delete_push"), missing);
    assert!(
        bench
            .list_all(&ListTasksRequest::default())
            .await
            .is_empty()
    );
    pen.write(&bench, "a", vec![chunk("a", "x", false)]).await;
    assert_eq!(bench.read("a").await.artifacts.len(), 1);
    assert_eq!(bench.list_all(&ListTasksRequest::default()).await.len(), 1);
    pen.status(&bench, "a", TaskState::Completed, 2_000).await;
    let page = bench
        .list(&bench.scope, &ListTasksRequest::default(), 50)
        .await;
    assert_eq!(page.expect("a page").total, 1);
}

pub(super) async fn a_direct_answer_removes_the_task(make: &Make) {
    let bench = make.bench().await;
    let mut new = bench.new_task("a");
    new.visibility = Visibility::Hidden;
    let pen = bench.create_new(new).await;
    let (first, mut log) = bench.follow_from("a", ReadFrom::Now).await;
    assert_eq!(*first.id, *"a");
    let committed = bench.try_commit("a", pen, vec![answer("yes")]).await;
    committed.expect("the answer is accepted");
    every_method_misses(&bench, &bench.scope, "a").await;
    let events = to_end(&mut log).await;
    assert_eq!(events, [Arc::new(answer("yes"))]);
    let held = bench.held(&bench.worker).await.expect("what is held");
    assert!(held.is_empty(), "the turn has ended");
}

pub(super) async fn open_tasks_are_limited_and_finishing_makes_room(make: &Make) {
    let limits = Limits::default().with_max_open_tasks(2);
    let bench = make.bench_with(limits).await;
    let mut first = bench.begin("a").await;
    let mut new = bench.new_task("b");
    new.visibility = Visibility::Hidden;
    let second = bench.create_new(new).await;
    let full = StoreError::Full {
        limit: "max_open_tasks",
        allowed: 2,
    };
    let third = bench.create(&bench.scope, bench.new_task("c")).await;
    assert_eq!(third.expect_err("there are two"), full);
    assert_eq!(
        bench.get(&bench.scope, "c").await.expect_err("refused"),
        StoreError::NotFound
    );
    // A task that waits for its client is not finished.
    first
        .write(&bench, "a", vec![asks("a", "which?", 2_000)])
        .await;
    let third = bench.create(&bench.scope, bench.new_task("c")).await;
    assert_eq!(third.expect_err("there are still two"), full);
    let answered = bench.try_commit("b", second, vec![answer("yes")]).await;
    answered.expect("answered directly");
    let mut third = bench.begin("c").await;
    third.status(&bench, "c", TaskState::Failed, 2_000).await;
    bench.begin("d").await;
}

pub(super) async fn finished_tasks_go_oldest_first_and_live_ones_never(make: &Make) {
    let limits = Limits::default().with_max_finished_tasks(3);
    let bench = make.bench_with(limits).await;
    let mut waiting = bench.begin("waiting").await;
    waiting
        .write(&bench, "waiting", vec![asks("waiting", "which?", 1)])
        .await;
    bench.begin("running").await;
    for number in 0..20 {
        bench.finished(&format!("f{number}"), 2_000 + number).await;
    }
    bench.sweep_all().await;
    let expected: Vec<Arc<str>> = ["f19", "f18", "f17", "running", "waiting"]
        .map(Arc::from)
        .into();
    assert_eq!(bench.list_all(&ListTasksRequest::default()).await, expected);
    let page = bench
        .list(&bench.scope, &ListTasksRequest::default(), 1)
        .await;
    assert_eq!(page.expect("a page").total, 5);
    assert_eq!(
        bench.get(&bench.scope, "f16").await.expect_err("it went"),
        StoreError::NotFound
    );
    let note = PushProgress::Delivered(Position(1));
    bench
        .note_push(&bench.worker, "f16", "r", note)
        .await
        .expect("nothing to do");
}

pub(super) async fn health_is_good_and_sweeping_ends(make: &Make) {
    let bench = make.bench().await;
    bench.health().await.expect("it can be written");
    bench.finished("a", 2_000).await;
    bench.sweep_all().await;
    let swept = bench.sweep(&bench.worker).await.expect("a sweep");
    assert_eq!(swept, Swept::Clean);
    assert_eq!(bench.read("a").await.status.state, TaskState::Completed);
}
