use std::sync::Arc;

use llamon_core::a2a::{ListTasksRequest, StreamEvent, TaskState};

use super::Make;
use super::bench::{
    Pen, answer, artifact, asking_for, asks, at, chunk, ids, key, receiver, status, take, to_end,
};
use super::content::{large_part, odd_parts};
use crate::backend::{
    Commit, Created, Durability, Position, PushProgress, ReadFrom, Seen, StoreError, Visibility,
};
use crate::scope::Scope;

pub(super) async fn tasks_survive(make: &Make) {
    let bench = make.bench().await;
    assert_eq!(bench.durability(), Durability::Durable);
    let mut running = bench.begin("running").await;
    running
        .write(&bench, "running", vec![chunk("running", "x", false)])
        .await;
    let mut waiting = bench.begin("waiting").await;
    waiting
        .write(&bench, "waiting", vec![asks("waiting", "which?", 2_000)])
        .await;
    bench.finished("ended", 3_000).await;
    let direct = bench.begin("direct").await;
    bench
        .try_commit("direct", direct, vec![answer("yes")])
        .await
        .expect("answered");
    let mut before = Vec::new();
    for id in ["running", "waiting", "ended"] {
        before.push(bench.get(&bench.scope, id).await.expect("it is found"));
    }
    let bench = bench.reopen().await;
    for (task, generation) in before {
        let found = bench
            .get(&bench.scope, &task.id)
            .await
            .expect("it is still found");
        assert_eq!(found, (task, generation));
    }
    let gone = bench.get(&bench.scope, "direct").await;
    assert_eq!(gone.expect_err("it was answered"), StoreError::NotFound);
    let foreign = bench.get(&Scope::anonymous(), "ended").await;
    assert_eq!(foreign.expect_err("not theirs"), StoreError::NotFound);
    bench
        .settled(&bench.scope, "waiting")
        .await
        .expect("it has settled");
}

pub(super) async fn logs_and_positions_survive(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    let mut events = Vec::new();
    for number in 0..20 {
        let event = chunk("a", &number.to_string(), number > 0);
        events.push(Arc::new(event.clone()));
        pen.write(&bench, "a", vec![event]).await;
    }
    let bench = bench.reopen().await;
    let (_, mut log) = bench.follow_from("a", ReadFrom::After(Position(7))).await;
    assert_eq!(take(&mut log, 20).await, events[7..]);
    let claimed = bench.claim(&bench.worker, 1).await.expect("a claim");
    let mut pen = Pen {
        generation: claimed[0].generation,
        fence: claimed[0].fence,
    };
    pen.status(&bench, "a", TaskState::Completed, 2_000).await;
    assert_eq!(to_end(&mut log).await.len(), 1);
    assert_eq!(log.position(), Position(21));
    let bench = bench.reopen().await;
    let (task, mut log) = bench.follow_from("a", ReadFrom::After(Position(21))).await;
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(log.next().await.expect("the log can be read"), None);
}

pub(super) async fn hidden_tasks_survive_hidden(make: &Make) {
    let bench = make.bench().await;
    let mut new = bench.new_task("a");
    new.visibility = Visibility::Hidden;
    bench.create_new(new).await;
    let bench = bench.reopen().await;
    let hidden = bench.get(&bench.scope, "a").await;
    assert_eq!(hidden.expect_err("hidden"), StoreError::NotFound);
    let claimed = bench.claim(&bench.worker, 10).await.expect("a claim");
    assert_eq!(claimed.len(), 1, "its turn is not lost");
    let mut pen = Pen {
        generation: claimed[0].generation,
        fence: claimed[0].fence,
    };
    pen.status(&bench, "a", TaskState::Working, 2_000).await;
    assert_eq!(bench.list_all(&ListTasksRequest::default()).await.len(), 1);
}

pub(super) async fn message_ids_and_direct_answers_survive(make: &Make) {
    let bench = make.bench().await;
    let mut new = bench.new_task("a");
    new.once = Some(key("m", 1));
    bench.create_new(new).await;
    let mut new = bench.new_task("b");
    new.once = Some(key("n", 1));
    let pen = bench.create_new(new).await;
    bench
        .try_commit("b", pen, vec![answer("yes")])
        .await
        .expect("answered");
    let bench = bench.reopen().await;
    let mut new = bench.new_task("c");
    new.once = Some(key("m", 1));
    let again = bench.create(&bench.scope, new).await;
    assert!(matches!(again, Ok(Created::Repeated(Seen::Task(id))) if *id == *"a"));
    let seen = bench.seen(&bench.scope, &key("n", 1)).await;
    let Ok(Some(Seen::Message(message))) = seen else {
        panic!("answered before: {seen:?}");
    };
    assert_eq!(StreamEvent::Message(message), answer("yes"));
    let other = bench.seen(&bench.scope, &key("m", 2)).await;
    assert_eq!(other.err(), Some(StoreError::OtherMessage));
}

pub(super) async fn receivers_survive_with_their_progress_and_secrets(make: &Make) {
    let bench = make.bench().await;
    let mut new = bench.new_task("a");
    new.push = Some(receiver("one"));
    let mut pen = bench.create_new(new).await;
    for id in ["two", "three"] {
        bench
            .put_push(&bench.scope, "a", receiver(id))
            .await
            .expect("there is room");
    }
    for number in 0..4 {
        pen.write(&bench, "a", vec![chunk("a", "x", number > 0)])
            .await;
    }
    assert_eq!(
        bench
            .claim_push(&bench.worker, 10)
            .await
            .expect("a claim")
            .len(),
        3
    );
    for (id, progress) in [
        ("one", PushProgress::Delivered(Position(1))),
        ("two", PushProgress::GivenUp),
        ("three", PushProgress::Delivered(Position(4))),
    ] {
        bench
            .note_push(&bench.worker, "a", id, progress)
            .await
            .expect("noted");
    }
    let bench = bench.reopen().await;
    let configs = bench
        .push_configs(&bench.scope, "a")
        .await
        .expect("the receivers");
    assert_eq!(configs.len(), 3);
    for config in configs {
        let id = config.id.clone().expect("an id");
        assert_eq!(config, receiver(&id));
    }
    let due = bench.claim_push(&bench.worker, 10).await.expect("a claim");
    assert_eq!(due.len(), 1, "the others have everything or are given up");
    assert_eq!(due[0].config, receiver("one"));
    assert_eq!(due[0].delivered, Position(1));
}

pub(super) async fn an_accepted_cancel_survives(make: &Make) {
    let bench = make.bench().await;
    bench.begin("a").await;
    bench
        .request_cancel(&bench.scope, "a")
        .await
        .expect("a cancel");
    let bench = bench.reopen().await;
    let claimed = bench.claim(&bench.worker, 1).await.expect("a claim");
    assert!(claimed[0].cancel_requested);
    let pen = Pen {
        generation: claimed[0].generation,
        fence: claimed[0].fence,
    };
    let events = vec![status("a", TaskState::Completed, 2_000)];
    let completed = bench.try_commit("a", pen, events).await;
    assert_eq!(
        completed.expect_err("canceled"),
        StoreError::CancelRequested
    );
}

pub(super) async fn the_turns_of_a_process_that_died_are_claimed_again(make: &Make) {
    let mut bench = make.bench().await;
    bench.begin("a").await;
    bench.begin("b").await;
    for crashes in 1..4 {
        bench = bench.reopen().await;
        let claimed = bench.claim(&bench.worker, 10).await.expect("a claim");
        assert_eq!(claimed.len(), 2);
        assert_eq!(
            (claimed[0].attempt, claimed[0].crashes),
            (crashes + 1, crashes)
        );
        assert_eq!(claimed[0].record, "record of a");
        assert!(
            bench
                .claim(&bench.worker, 10)
                .await
                .expect("a claim")
                .is_empty()
        );
    }
    // Given back before the end, it is no crash.
    let held = bench.held(&bench.worker).await.expect("what is held");
    for held in held {
        let released = bench
            .release(&bench.worker, &held.task_id, held.fence)
            .await;
        released.expect("released");
    }
    let bench = bench.reopen().await;
    let claimed = bench.claim(&bench.worker, 10).await.expect("a claim");
    assert_eq!((claimed[0].attempt, claimed[0].crashes), (5, 3));
}

pub(super) async fn a_fence_from_before_is_refused(make: &Make) {
    let bench = make.bench().await;
    let old = bench.begin("a").await;
    let bench = bench.reopen().await;
    let claimed = bench.claim(&bench.worker, 1).await.expect("a claim");
    assert!(claimed[0].fence > old.fence);
    let ghost = bench
        .try_commit("a", old, vec![chunk("a", "ghost", false)])
        .await;
    assert_eq!(ghost.expect_err("taken over"), StoreError::Fenced);
    let by_nobody = Commit::events(old.generation, None, vec![chunk("a", "ghost", false)]);
    let ghost = bench.commit(&bench.scope, "a", by_nobody).await;
    assert_eq!(ghost.expect_err("a turn is at work"), StoreError::Conflict);
}

pub(super) async fn large_and_odd_parts_survive(make: &Make) {
    let bench = make.bench().await;
    let mut parts = odd_parts();
    let large = large_part("raw", 300_000);
    parts.extend([large.clone(), large, large_part("text", 9_000)]);
    let mut live = bench.begin("live").await;
    live.write(
        &bench,
        "live",
        vec![artifact("live", "r", parts.clone(), false)],
    )
    .await;
    let mut ended = bench.begin("ended").await;
    ended
        .write(
            &bench,
            "ended",
            vec![artifact("ended", "r", parts.clone(), false)],
        )
        .await;
    ended
        .status(&bench, "ended", TaskState::Completed, 2_000)
        .await;
    let bench = bench.reopen().await;
    for id in ["live", "ended"] {
        assert_eq!(bench.read(id).await.artifacts[0].parts, parts, "{id}");
    }
    let (_, mut log) = bench
        .follow_from("live", ReadFrom::After(Position(0)))
        .await;
    let events = take(&mut log, 1).await;
    assert_eq!(*events[0], artifact("live", "r", parts, false));
}

pub(super) async fn lists_survive(make: &Make) {
    let bench = make.bench().await;
    for number in 0..25 {
        bench
            .finished(&format!("t{number}"), 2_000 + number / 3)
            .await;
    }
    let mut request = ListTasksRequest::default();
    let first = bench
        .list(&bench.scope, &request, 10)
        .await
        .expect("a page");
    let whole = bench
        .list(&bench.scope, &request, 100)
        .await
        .expect("a page");
    let bench = bench.reopen().await;
    let again = bench
        .list(&bench.scope, &request, 100)
        .await
        .expect("a page");
    assert_eq!(ids(&again.tasks), ids(&whole.tasks));
    request.page_token = Some(first.next_page_token);
    let second = bench
        .list(&bench.scope, &request, 10)
        .await
        .expect("a token stays good");
    assert_eq!(ids(&second.tasks), ids(&whole.tasks[10..20]));
    assert_eq!(second.total, 25);
    request = asking_for(|request| {
        request.status = Some(TaskState::Completed);
        request.status_timestamp_after = Some(at(2_005));
    });
    let filtered = bench
        .list(&bench.scope, &request, 10)
        .await
        .expect("a page");
    assert_eq!(filtered.total, 10);
    bench.finished("new", 9_000).await;
    let page = bench
        .list(&bench.scope, &ListTasksRequest::default(), 1)
        .await
        .expect("a page");
    assert_eq!((&*page.tasks[0].id, page.total), ("new", 26));
}

pub(super) async fn the_secret_of_page_tokens_survives(make: &Make) {
    let bench = make.bench().await;
    let before = bench.page_secret(&bench.worker).await.expect("a secret");
    let bench = bench.reopen().await;
    let after = bench.page_secret(&bench.worker).await.expect("a secret");
    assert_eq!(after, before);
}

pub(super) async fn what_a_turn_remembers_survives(make: &Make) {
    let bench = make.bench().await;
    let pen = bench.begin("a").await;
    let kept = bench.remember(&bench.scope, "a", pen.fence, "k", "v".to_owned());
    kept.await.expect("it is kept");
    let bench = bench.reopen().await;
    let found = bench.remembered(&bench.scope, "a").await;
    let expected = [("k".to_owned(), "v".to_owned())];
    assert_eq!(found.expect("it can be read"), expected);
}
