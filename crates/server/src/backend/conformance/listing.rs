use std::collections::HashSet;
use std::sync::Arc;

use llamon_core::Part;
use llamon_core::a2a::{ListTasksRequest, TaskState};

use super::Make;
use super::bench::{answer, artifact, asking_for, asks, at, chunk, ids};
use crate::backend::{StoreError, Visibility};

fn names<const N: usize>(names: [&str; N]) -> Vec<Arc<str>> {
    names.map(Arc::from).into()
}

pub(super) async fn the_newest_status_comes_first(make: &Make) {
    let bench = make.bench().await;
    let all = ListTasksRequest::default();
    let mut a = bench.begin("a").await;
    let mut b = bench.begin("b").await;
    let mut c = bench.begin("c").await;
    assert_eq!(
        bench.list_all(&all).await,
        names(["c", "b", "a"]),
        "of one moment, the last"
    );
    a.status(&bench, "a", TaskState::Working, 5_000).await;
    b.status(&bench, "b", TaskState::Working, 4_000).await;
    assert_eq!(bench.list_all(&all).await, names(["a", "b", "c"]));
    // A chunk is no status.
    b.write(&bench, "b", vec![chunk("b", "x", false)]).await;
    assert_eq!(bench.list_all(&all).await, names(["a", "b", "c"]));
    c.status(&bench, "c", TaskState::Completed, 5_000).await;
    assert_eq!(bench.list_all(&all).await, names(["c", "a", "b"]));
    // The status's own moment counts, not when it was stored.
    a.status(&bench, "a", TaskState::Working, 3_000).await;
    assert_eq!(bench.list_all(&all).await, names(["c", "b", "a"]));
}

pub(super) async fn pages_have_every_task_once(make: &Make) {
    let bench = make.bench().await;
    for number in 0..53 {
        // Many of one moment, so that a page ends among equals.
        bench
            .finished(&format!("t{number}"), 2_000 + number / 10)
            .await;
    }
    for size in [1, 7, 53, 100] {
        let mut request = ListTasksRequest::default();
        let mut seen = Vec::new();
        loop {
            let page = bench
                .list(&bench.scope, &request, size)
                .await
                .expect("a page");
            assert_eq!(page.total, 53, "the total is of all pages");
            assert!(page.tasks.len() <= size);
            seen.extend(ids(&page.tasks));
            if page.next_page_token.is_empty() {
                break;
            }
            assert_eq!(page.tasks.len(), size, "only the last page is shorter");
            request.page_token = Some(page.next_page_token);
        }
        assert_eq!(seen.len(), 53, "pages of {size}");
        assert_eq!(seen.iter().collect::<HashSet<_>>().len(), 53);
        assert_eq!(*seen[0], *"t52");
    }
    // Tasks that come between two pages move nothing.
    let page = bench
        .list(&bench.scope, &ListTasksRequest::default(), 10)
        .await
        .expect("a page");
    bench.finished("new", 9_000).await;
    let request = asking_for(|request| {
        request.page_token = Some(page.next_page_token);
    });
    let second = bench
        .list(&bench.scope, &request, 10)
        .await
        .expect("a page");
    assert_eq!(*second.tasks[0].id, *"t42");
}

pub(super) async fn a_page_token_of_nobody_is_refused(make: &Make) {
    let bench = make.bench().await;
    bench.finished("a", 2_000).await;
    for token in [
        "x",
        "!!!",
        "AAAA",
        "MTIz",
        "\u{e4}",
        "' OR 1=1 --",
        &"A".repeat(10_000),
    ] {
        let request = asking_for(|request| {
            request.page_token = Some(token.to_owned());
        });
        let page = bench.list(&bench.scope, &request, 50).await;
        assert_eq!(
            page.expect_err("no token"),
            StoreError::PageToken,
            "{token}"
        );
    }
}

pub(super) async fn filters_choose_and_totals_count(make: &Make) {
    let bench = make.bench().await;
    for number in 0..30 {
        let id = format!("t{number}");
        let mut new = bench.new_task(&id);
        new.task.context_id = format!("c{}", number % 3).into();
        let mut pen = bench.create_new(new).await;
        let state = match number % 5 {
            0 => TaskState::Completed,
            1 => TaskState::Failed,
            2 => TaskState::InputRequired,
            3 => TaskState::Working,
            _ => continue,
        };
        pen.status(&bench, &id, state, 2_000 + number).await;
    }
    let states: [Option<TaskState>; 6] = [
        None,
        Some(TaskState::Completed),
        Some(TaskState::Failed),
        Some(TaskState::InputRequired),
        Some(TaskState::Submitted),
        Some(TaskState::Canceled),
    ];
    let contexts = [None, Some("c0"), Some("c2"), Some("unknown"), Some("")];
    let times = [None, Some(0), Some(2_010), Some(2_028), Some(9_000)];
    let mut combinations = Vec::new();
    for state in states {
        for context in contexts {
            combinations.extend(times.map(|since| (state, context, since)));
        }
    }
    for (state, context, since) in combinations {
        let expected: Vec<i64> = (0..30)
            .rev()
            .filter(|number| {
                let (has, millis) = match number % 5 {
                    0 => (TaskState::Completed, 2_000 + number),
                    1 => (TaskState::Failed, 2_000 + number),
                    2 => (TaskState::InputRequired, 2_000 + number),
                    3 => (TaskState::Working, 2_000 + number),
                    _ => (TaskState::Submitted, 1_000),
                };
                state.is_none_or(|state| state == has)
                    && context.is_none_or(|context| context == format!("c{}", number % 3))
                    && since.is_none_or(|since| millis >= since)
            })
            .collect();
        let mut request = asking_for(|request| {
            request.context_id = context.map(Into::into);
            request.status = state;
            request.status_timestamp_after = since.map(at);
        });
        let mut found = Vec::new();
        loop {
            let page = bench.list(&bench.scope, &request, 4).await.expect("a page");
            assert_eq!(page.total, expected.len(), "{request:?}");
            found.extend(ids(&page.tasks));
            if page.next_page_token.is_empty() {
                break;
            }
            request.page_token = Some(page.next_page_token);
        }
        let mut expected: Vec<Arc<str>> = expected
            .iter()
            .map(|number| format!("t{number}").into())
            .collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{request:?}");
    }
}

pub(super) async fn what_cannot_be_seen_is_not_listed(make: &Make) {
    let bench = make.bench().await;
    let mut new = bench.new_task("hidden");
    new.visibility = Visibility::Hidden;
    bench.create_new(new).await;
    let direct = bench.begin("direct").await;
    let mut asking = bench.begin("asking").await;
    asking
        .write(&bench, "asking", vec![asks("asking", "which?", 2_000)])
        .await;
    bench
        .try_commit("direct", direct, vec![answer("yes")])
        .await
        .expect("answered");
    for status in [
        None,
        Some(TaskState::Submitted),
        Some(TaskState::InputRequired),
    ] {
        let request = asking_for(|request| {
            request.status = status;
        });
        let page = bench
            .list(&bench.scope, &request, 50)
            .await
            .expect("a page");
        let expected = usize::from(status != Some(TaskState::Submitted));
        assert_eq!(
            (page.total, page.tasks.len()),
            (expected, expected),
            "{status:?}"
        );
    }
}

pub(super) async fn a_listed_task_has_what_was_asked_for(make: &Make) {
    let bench = make.bench().await;
    let large = |letter: &str| Part::text(letter.repeat(20_000));
    let mut new = bench.new_task("a");
    for number in 0..3 {
        let mut said = super::bench::message(&format!("m{number}"), "x");
        said.parts = vec![large("h"), Part::text(number.to_string()), large("i")].into();
        new.task.history.push(said);
    }
    let mut pen = bench.create_new(new).await;
    pen.write(
        &bench,
        "a",
        vec![artifact("a", "r", vec![large("a"), large("b")], false)],
    )
    .await;
    for state in [TaskState::Working, TaskState::Completed] {
        pen.status(&bench, "a", state, 2_000).await;
        let whole = bench.read("a").await;
        for (length, artifacts) in [
            (None, false),
            (Some(0), true),
            (Some(1), false),
            (Some(2), true),
            (Some(100), true),
        ] {
            let request = asking_for(|request| {
                request.history_length = length;
                request.include_artifacts = artifacts;
            });
            let page = bench
                .list(&bench.scope, &request, 50)
                .await
                .expect("a page");
            let listed = &page.tasks[0];
            assert_eq!(listed.status, whole.status);
            let asked = (length.unwrap_or(0) as usize).min(whole.history.len());
            let newest = &whole.history[whole.history.len() - asked..];
            assert!(listed.history.ends_with(newest), "{length:?}, {artifacts}");
            if artifacts {
                assert_eq!(listed.artifacts, whole.artifacts);
            }
        }
    }
}

pub(super) async fn page_tokens_have_one_secret(make: &Make) {
    let bench = make.bench().await;
    let first = bench.page_secret(&bench.worker).await.expect("a secret");
    let second = bench.page_secret(&bench.worker).await.expect("a secret");
    assert_eq!(first, second);
    let other = make.bench().await;
    let other = other.page_secret(&other.worker).await.expect("a secret");
    assert_ne!(first, other, "another store has another one");
}
