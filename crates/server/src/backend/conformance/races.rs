use std::sync::Arc;

use futures_util::future::{join_all, poll_immediate};
use llamon_core::a2a::{ListTasksRequest, TaskState};

use super::Make;
use super::bench::{Bench, Pen, chunk, key, state_of, status, to_end};
use crate::backend::{Commit, Committed, Generation, Position, ReadFrom, Seen, StoreError};

/// Commits at the same time, from tasks of their own. Returns what came of each.
async fn race(bench: &Bench, id: &str, commits: Vec<Commit>) -> Vec<Result<Committed, StoreError>> {
    let run = |commit: Commit| {
        let (backend, scope) = (Arc::clone(&bench.backend), bench.scope.clone());
        let id = id.to_owned();
        tokio::spawn(async move { backend.commit(&scope, &id, commit).await })
    };
    let running: Vec<_> = commits.into_iter().map(run).collect();
    let done = join_all(running).await;
    done.into_iter()
        .map(|done| done.expect("a commit"))
        .collect()
}

pub(super) async fn one_of_many_commits_wins_each_generation(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    let (_, mut log) = bench.follow_from("a", ReadFrom::Now).await;
    for round in 0..5 {
        let commit = |number: usize| {
            let events = vec![chunk("a", &format!("{round}.{number} "), round > 0)];
            Commit::events(pen.generation, Some(pen.fence), events)
        };
        let done = race(&bench, "a", (0..1_000).map(commit).collect()).await;
        let won: Vec<_> = done.iter().filter_map(|done| done.as_ref().ok()).collect();
        let [Committed::New { generation, fence }] = won[..] else {
            panic!("one wins, not {}", won.len());
        };
        let lost = done.iter().filter_map(|done| done.as_ref().err());
        assert!(lost.into_iter().all(|lost| *lost == StoreError::Conflict));
        assert_eq!(bench.generation("a").await, *generation);
        pen = Pen {
            generation: *generation,
            fence: *fence,
        };
    }
    pen.status(&bench, "a", TaskState::Completed, 2_000).await;
    assert_eq!(
        to_end(&mut log).await.len(),
        6,
        "one event of each generation"
    );
}

pub(super) async fn one_terminal_state_wins_a_race(make: &Make) {
    let bench = make.bench().await;
    for round in 0..25 {
        let id = format!("t{round}");
        let pen = bench.begin(&id).await;
        let (_, mut log) = bench.follow_from(&id, ReadFrom::Now).await;
        let ends = [
            TaskState::Completed,
            TaskState::Failed,
            TaskState::Canceled,
            TaskState::Rejected,
        ];
        let commit = |number: usize| {
            let events = vec![status(&id, ends[(number + round) % 4], 2_000)];
            Commit::events(pen.generation, Some(pen.fence), events)
        };
        let done = race(&bench, &id, (0..8).map(commit).collect()).await;
        let winner = done.iter().position(Result::is_ok).expect("one wins");
        let lost = done.iter().filter_map(|done| done.as_ref().err());
        let lost: Vec<_> = lost.collect();
        assert_eq!(lost.len(), 7);
        assert!(
            lost.iter().all(|lost| **lost == StoreError::Terminal),
            "{lost:?}"
        );
        let won = ends[(winner + round) % 4];
        assert_eq!(bench.read(&id).await.status.state, won);
        assert_eq!(state_of(&to_end(&mut log).await), [won]);
    }
}

pub(super) async fn one_of_many_workers_claims_a_turn(make: &Make) {
    let bench = make.bench().await;
    for number in 0..40 {
        let mut new = bench.new_task(&format!("t{number}"));
        new.work.claimed_by = None;
        bench.create_new(new).await;
    }
    let workers = join_all((0..8).map(|_| bench.enlist())).await;
    let claims = workers.into_iter().map(|worker| {
        let backend = Arc::clone(&bench.backend);
        tokio::spawn(async move {
            let worker = worker.expect("a worker");
            let mut mine = Vec::new();
            loop {
                let claimed = backend.claim(&worker, 3).await.expect("a claim");
                if claimed.is_empty() {
                    break;
                }
                mine.extend(claimed.iter().map(|claimed| claimed.task.id.to_string()));
            }
            (worker, mine)
        })
    });
    let claimed: Vec<_> = join_all(claims.collect::<Vec<_>>())
        .await
        .into_iter()
        .map(|claimed| claimed.expect("a worker"))
        .collect();
    let mut all: Vec<_> = claimed.iter().flat_map(|(_, ids)| ids.clone()).collect();
    all.sort();
    let before = all.len();
    all.dedup();
    assert_eq!((before, all.len()), (40, 40), "each turn once");
}

pub(super) async fn a_dropped_create_happens_whole_or_not_at_all(make: &Make) {
    let bench = make.bench().await;
    for number in 0..100 {
        let id = format!("t{number}");
        let mut new = bench.new_task(&id);
        new.once = Some(key(&id, 1));
        new.push = Some(super::bench::receiver("r"));
        {
            let mut create = bench.create(&bench.scope, new);
            for _ in 0..number % 4 {
                if poll_immediate(&mut create).await.is_some() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        // What comes after it sees all of it or nothing.
        bench.begin(&format!("after {number}")).await;
        let found = bench.get(&bench.scope, &id).await;
        let seen = bench.seen(&bench.scope, &key(&id, 1)).await.expect("seen");
        let held = bench.held(&bench.worker).await.expect("what is held");
        let is_held = held.iter().any(|held| *held.task_id == *id);
        match found {
            Ok(_) => {
                assert!(matches!(seen, Some(Seen::Task(task)) if *task == *id));
                assert!(is_held);
                let receivers = bench.push_configs(&bench.scope, &id).await;
                assert_eq!(receivers.expect("the receivers").len(), 1);
            }
            Err(error) => {
                assert_eq!(error, StoreError::NotFound);
                assert!(seen.is_none());
                assert!(!is_held);
            }
        }
    }
    let mut total = 0;
    let mut request = ListTasksRequest::default();
    loop {
        let page = bench
            .list(&bench.scope, &request, 100)
            .await
            .expect("a page");
        total += page.tasks.len();
        if page.next_page_token.is_empty() {
            assert_eq!(page.total, total);
            break;
        }
        request.page_token = Some(page.next_page_token);
    }
}

pub(super) async fn a_dropped_commit_happens_whole_or_not_at_all(make: &Make) {
    let bench = make.bench().await;
    let mut pen = bench.begin("a").await;
    let mut happened = Vec::new();
    for number in 0..100_u64 {
        let text = format!("{number} ");
        let events = vec![
            chunk("a", &text, !happened.is_empty()),
            status("a", TaskState::Working, 2_000),
        ];
        {
            let commit = Commit::events(pen.generation, Some(pen.fence), events);
            let mut commit = bench.commit(&bench.scope, "a", commit);
            for _ in 0..number % 4 {
                if poll_immediate(&mut commit).await.is_some() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        bench.begin(&format!("after {number}")).await;
        let generation = bench.generation("a").await;
        if generation != pen.generation {
            assert_eq!(generation, Generation(pen.generation.0 + 1));
            happened.push(text);
            pen.generation = generation;
        }
    }
    assert_eq!(bench.read("a").await.payload().text(), happened.concat());
    let (_, log) = bench.follow_from("a", ReadFrom::Now).await;
    assert_eq!(log.position(), Position(2 * happened.len() as u64));
}

pub(super) async fn a_cancel_races_with_the_end(make: &Make) {
    let bench = make.bench().await;
    for round in 0..50 {
        let id = format!("t{round}");
        let pen = bench.begin(&id).await;
        let events = vec![status(&id, TaskState::Completed, 2_000)];
        let (canceled, completed) = tokio::join!(
            bench.request_cancel(&bench.scope, &id),
            bench.try_commit(&id, pen, events),
        );
        let state = bench.read(&id).await.status.state;
        match (canceled, completed) {
            (Ok(_), Err(StoreError::CancelRequested)) => assert!(!state.is_terminal()),
            (Err(StoreError::Terminal), Ok(_)) => assert_eq!(state, TaskState::Completed),
            other => panic!("one comes first and the other sees it: {other:?}"),
        }
    }
}
